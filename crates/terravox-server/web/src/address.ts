// What the address of the page says: the world, the place, the token of an invitation.

/** Where the token is kept while the tab is open. */
const TOKEN = "terravox token";
/** The grid of a world ends 2^30 voxels from its origin. */
const MAX_COORDINATE_M = 2 ** 30;

export const query = new URLSearchParams(location.search);

/** Returns the hour of the address, or 10 if it is none. */
export function hourOf(text: string | null): number {
  const hour = Number(text ?? 10);
  return Number.isFinite(hour) ? ((hour % 24) + 24) % 24 : 10;
}

/** Returns the seed that was typed, or 7 if that is not a safe integer. */
export function seedOf(text: string): number {
  const seed = Math.trunc(Math.abs(Number(text)));
  return Number.isSafeInteger(seed) ? seed : 7;
}

/** The place in the link: x, y, z, yaw and pitch in degrees; null if there is none, or it is invalid. */
export function placeOf(hash: string): number[] | null {
  const place = hash.replace(/^#/, "").split("&")[0]!;
  const numbers = place.split(",").map((text) => (text.trim() === "" ? NaN : Number(text)));
  const isValid = numbers.length >= 3 && numbers.length <= 5 && numbers.every(Number.isFinite);
  if (!isValid || numbers.slice(0, 3).some((v) => Math.abs(v) > MAX_COORDINATE_M)) return null;
  const [x, y, z, yaw = 0, pitch = 0] = numbers as [number, number, number, number?, number?];
  return [x, y, z, yaw % 360, Math.max(-89, Math.min(89, pitch))];
}

/** Parts of a fragment or a query: those of a name, decoded, and the rest as it is. */
function partsOf(text: string, name: string): { values: string[]; rest: string } {
  const parts = text.slice(1).split("&");
  const isNamed = (part: string) => part.startsWith(`${name}=`);
  const values = parts.filter(isNamed).map((part) => {
    const value = part.slice(name.length + 1);
    try {
      return decodeURIComponent(value);
    } catch {
      return value;
    }
  });
  const rest = parts.filter((part) => !isNamed(part)).join("&");
  return { values, rest: rest && text[0] + rest };
}

/**
 * The token of `#token=WORD`, which browsers do not send; it is removed from the address at once, and kept until
 * the tab is closed. A token in the query, as in old links, is in the logs of proxies by now, but goes from the history.
 */
export function takeToken(): string {
  const [fragment, search] = [partsOf(location.hash, "token"), partsOf(location.search, "token")];
  const given = fragment.values[0] ?? search.values[0];
  try {
    if (given === undefined) return sessionStorage.getItem(TOKEN) ?? "";
    sessionStorage.setItem(TOKEN, given);
  } catch {
    // Without storage, the next visit needs it in the address.
    return given ?? "";
  }
  history.replaceState(null, "", `${location.pathname}${search.rest}${fragment.rest}`);
  return given;
}

/** Whether the address has the token of an invitation. */
export function hasToken(): boolean {
  return partsOf(location.hash, "token").values.length > 0;
}

/** Puts a place into the address: the eye in metres, yaw and pitch in degrees. */
export function notePlace(eye: number[], yaw: number, pitch: number) {
  const place = [...eye.map((v) => v.toFixed(1)), Math.round(yaw) % 360, Math.round(pitch)];
  history.replaceState(null, "", `#${place.join(",")}`);
}
