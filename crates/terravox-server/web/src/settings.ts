// Settings that stay in this browser.

export interface Settings {
  name: string;
  view: number;
  /** Render scale along each axis, 1 for the pixels of the device; 0 to adapt it to frame times. */
  scale: number;
  shadows: boolean;
}

const KEY = "terravox";
const [MIN_VIEW_M, MAX_VIEW_M] = [50, 8000];
const MAX_NAME = 40;

/** Returns what was stored as far as it is valid. */
function validated(stored: unknown): Settings {
  const { name, view, scale, shadows } = (stored ?? {}) as Record<string, unknown>;
  const within = (value: unknown, low: number, high: number) => Number(value) >= low && Number(value) <= high;
  return {
    name: typeof name === "string" ? name.slice(0, MAX_NAME) : "",
    view: within(view, MIN_VIEW_M, MAX_VIEW_M) ? Number(view) : 2000,
    scale: within(scale, 0.25, 1) ? Number(scale) : 0,
    shadows: typeof shadows === "boolean" ? shadows : true,
  };
}

export function loadSettings(): Settings {
  let stored: unknown = null;
  try {
    stored = JSON.parse(localStorage.getItem(KEY) ?? "null");
  } catch {
    // Without storage, or with other data in it, the defaults do.
  }
  const settings = validated(stored);
  if (!settings.name) settings.name = `guest ${100 + Math.floor(Math.random() * 900)}`;
  return settings;
}

export function saveSettings(settings: Settings) {
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // Private windows may refuse.
  }
}
