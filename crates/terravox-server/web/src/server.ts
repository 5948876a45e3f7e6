// The server that this page came from, if there is one.

import { query } from "./address";

/** Milliseconds that it may take to respond, and between two tries. */
const MAX_RESPONSE_MS = 5000;
const RETRY_MS = 2000;

/** What serves this site. */
export interface Site {
  /** The WebSocket of a terravox server; null where there is none. */
  link: string | null;
  /** Whether the server lets fall what is thrown. */
  letsThrow: boolean;
}

const NO_SERVER: Site = { link: null, letsThrow: false };

/** Asks for a server; undefined if nothing responds, or only a proxy without it. */
async function ask(): Promise<Site | undefined> {
  const signal = AbortSignal.timeout(MAX_RESPONSE_MS);
  const { headers, status } = await fetch(new URL("healthz", location.href), { cache: "no-store", signal });
  if (!headers.has("terravox-server")) return status < 500 && status !== 429 ? NO_SERVER : undefined;
  const world = encodeURIComponent(query.get("world") ?? "");
  const link = new URL(`link/${world}`.replace(/\/$/, ""), location.href);
  link.protocol = link.protocol.replace("http", "ws");
  [link.search, link.hash] = ["", ""];
  return { link: link.href, letsThrow: headers.get("terravox-throws") === "yes" };
}

/** Finds what serves this site; calls `waits` each time that it does not respond. */
export async function findServer(waits: () => void): Promise<Site> {
  if (query.has("seed") || query.has("file")) return NO_SERVER;
  for (;;) {
    const site = await ask().catch(() => undefined);
    if (site) return site;
    waits();
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}
