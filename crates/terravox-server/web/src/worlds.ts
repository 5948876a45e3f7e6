// Worlds that this browser keeps: a list with what can be done with each, and files that become one.

import type { FromWorker, ToWorker } from "./messages";
import { errorMessage } from "./text";
import { keptFile, keptWorlds, removeFile } from "./opfs";

/** Largest file that is opened, MiB. */
const MAX_MIB = 128;
/** Where notes of an import wait until its world is shown. */
const NOTES = "terravox notes";

/** The thread of a world. */
export function newWorker(): Worker {
  return new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
}

/** Offers bytes as a download. */
export function download(name: string, bytes: Blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The address of a kept world; `start` is where a visit begins, metres. */
export function addressOf(name: string, start: number[] = []): string {
  const place = start.length === 3 ? `#${start.map((v) => v.toFixed(1)).join(",")},0,-20` : "";
  return `${location.pathname}?file=${encodeURIComponent(name)}${place}`;
}

/** Remembers where visits of a kept world begin, metres; without a point, forgets it. */
function setStart(name: string, start: number[]) {
  try {
    if (start.length === 3) localStorage.setItem(`start ${name}`, JSON.stringify(start));
    else localStorage.removeItem(`start ${name}`);
  } catch {
    // Without storage, visits begin in the middle.
  }
}

function startOf(name: string): number[] {
  try {
    return JSON.parse(localStorage.getItem(`start ${name}`) ?? "[]") as number[];
  } catch {
    return [];
  }
}

/** Makes a kept world of a file; in a thread of its own, whose memory is freed afterwards. */
export async function importFile(file: File): Promise<Extract<FromWorker, { type: "opened" }>> {
  const mib = Math.ceil(file.size / 2 ** 20);
  if (mib > MAX_MIB) throw new Error(`${file.name} has ${mib} MiB; this page opens up to ${MAX_MIB} MiB`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  const worker = newWorker();
  try {
    return await new Promise((resolve, reject) => {
      worker.onerror = (event) => reject(new Error(event.message || "the file cannot be read"));
      worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
        if (data.type === "opened") {
          setStart(data.name, data.start);
          resolve(data);
        }
        if (data.type === "lost") reject(new Error(data.text));
      };
      worker.postMessage({ type: "open", name: file.name, bytes } satisfies ToWorker, [bytes.buffer]);
    });
  } finally {
    worker.terminate();
  }
}

/** Keeps notes of an import for the page that shows its world. */
export function leaveNotes(notes: string[]) {
  try {
    sessionStorage.setItem(NOTES, JSON.stringify(notes));
  } catch {
    // Without storage they are lost.
  }
}

/** Takes the notes that the page before left. */
export function takeNotes(): string[] {
  try {
    const notes = JSON.parse(sessionStorage.getItem(NOTES) ?? "[]") as string[];
    sessionStorage.removeItem(NOTES);
    return notes;
  } catch {
    return [];
  }
}

function button(text: string, act: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.onclick = act;
  return made;
}

/** Removes a world with a second click. */
function removal(name: string, removed: () => void, say: (text: string) => void): HTMLButtonElement {
  const made = button("Delete", () => {
    made.textContent = "Delete for good?";
    made.onclick = () => void removeFile(name).then(() => (setStart(name, []), removed()), (error) => say(errorMessage(error)));
  });
  return made;
}

/** Lists the kept worlds; `open` is the name of the one that this page shows. */
export async function listWorlds(panel: HTMLElement, open: string | null, say: (text: string) => void) {
  const again = () => void listWorlds(panel, open, say);
  const worlds = await keptWorlds().catch(() => []);
  const lines = worlds.map(({ name, bytes }) => {
    const line = document.createElement("li");
    const title = document.createElement("span");
    title.textContent = `${name.replace(/\.tvx$/i, "")} (${Math.ceil(bytes / 1024)} KiB)`;
    line.append(title);
    const save = () => void keptFile(name).then((file) => download(name, file), (error) => say(errorMessage(error)));
    if (name === open) line.append("shown here");
    else line.append(
      button("Open", () => (location.href = addressOf(name, startOf(name)))),
      button("Download", save),
      removal(name, again, say),
    );
    return line;
  });
  panel.querySelector("ul")!.replaceChildren(...lines);
  panel.hidden = lines.length === 0;
}
