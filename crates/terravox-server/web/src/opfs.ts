// Local worlds: files of this browser (the origin private file system).

import { errorMessage } from "./text";

/** A file that is open for this worker alone; the types of TypeScript do not have it for workers yet. */
export type SyncHandle = {
  getSize(): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  flush(): void;
  close(): void;
};

interface SyncFile {
  createSyncAccessHandle?(): Promise<SyncHandle>;
}

/** A folder, with what the types of TypeScript lack. */
type Folder = FileSystemDirectoryHandle & { values(): AsyncIterable<FileSystemHandle> };

/** A world that is kept. */
export interface KeptWorld {
  name: string;
  bytes: number;
}

const EXTENSION = /\.tvx$/i;
/** A new file that is being written. */
const PART = /\.part$/;
/** Tries of a file that another tab has open, and milliseconds between them. */
const [TRIES, WAIT] = [12, 250];

/** Names of the worlds of seeds, and the one that would become such a name with a number behind it. */
const OF_SEEDS = /^hills( \d+)?$/i;

/** The file of the world of a seed. */
export function fileOfSeed(seed: number): string {
  return `hills ${seed}.tvx`;
}

/** The name of a file for a name that a person gave it; never that of a seed's world. */
export function fileNameOf(name: string): string {
  const safe = name.replace(/\.[a-z]{3,5}$/i, "").replace(/[^\p{L}\p{N} _.-]/gu, "_");
  // Whole characters: half of one cannot be in the name of a file.
  const plain = Array.from(safe).slice(0, 60).join("").trim();
  const base = plain.replace(/^\.+/, "").trim() || "world";
  return `${OF_SEEDS.test(base) ? "imported " : ""}${base}.tvx`;
}

/** The folder of worlds; null if this browser keeps no files for this page. */
async function folder(): Promise<Folder | null> {
  try {
    return (await navigator.storage.getDirectory()) as Folder;
  } catch {
    return null;
  }
}

/** What a refusal of the browser means for the file of a name. */
function explained(error: unknown, name: string): Error {
  const kind = error instanceof Error || error instanceof DOMException ? error.name : "";
  const known: Record<string, string> = {
    NoModificationAllowedError: `“${name}” is open in another tab: close that one and reload this`,
    NotFoundError: `there is no world “${name}” in this browser`,
    TypeError: `“${name}” cannot be the name of a file: give another one`,
    QuotaExceededError: "the disk is full, or the browser gives this page no more of it: free some space",
  };
  return new Error(known[kind] ?? `“${name}”: ${errorMessage(error)}`);
}

/** Opens a file; null where the browser cannot, or only as in 2022, when the functions returned promises. */
async function syncHandle(file: SyncFile): Promise<SyncHandle | null> {
  const handle = await file.createSyncAccessHandle?.();
  if (!handle) return null;
  const size: unknown = handle.getSize();
  if (typeof size === "number") return handle;
  await handle.close();
  return null;
}

/**
 * Opens the file of a world; null if this browser keeps no files for this page. A file that is not there is
 * made if it may be; else that is an error, like a name that no file can have and one that is in use.
 */
export async function openFile(name: string, mayCreate: boolean): Promise<SyncHandle | null> {
  const kept = await folder();
  if (!kept) return null;
  // The page before this one may need a moment to let go of it.
  for (let attempt = 1; ; attempt++) {
    try {
      const entry = await kept.getFileHandle(name, { create: mayCreate });
      const handle = await syncHandle(entry as unknown as SyncFile);
      // What was made for nothing is not listed as a world.
      if (!handle && mayCreate && (await entry.getFile()).size === 0) await kept.removeEntry(name);
      return handle;
    } catch (error) {
      const isInUse = error instanceof DOMException && error.name === "NoModificationAllowedError";
      if (!isInUse || attempt === TRIES) throw explained(error, name);
    }
    await new Promise((done) => setTimeout(done, WAIT));
  }
}

/** What a browser that can rename files has. */
interface Movable {
  move?(name: string): Promise<void>;
}

/** Removes what tabs that were closed meanwhile left of new files. One that another tab writes now stays. */
async function removeParts(kept: Folder) {
  const parts: string[] = [];
  for await (const entry of kept.values()) if (PART.test(entry.name)) parts.push(entry.name);
  for (const name of parts) await kept.removeEntry(name).catch(() => {});
}

/** A name that no file has. */
async function freeName(kept: Folder, base: string): Promise<string> {
  for (let number = 1; ; number++) {
    const name = number === 1 ? `${base}.tvx` : `${base} ${number}.tvx`;
    const exists = await kept.getFileHandle(name).then(() => true, () => false);
    if (!exists) return name;
  }
}

/** Writes a new file; one that cannot be written whole is removed. */
async function writeFile(kept: Folder, name: string, bytes: Uint8Array) {
  const handle = await openFile(name, true);
  if (!handle) throw new Error("this browser refuses a new file");
  try {
    if (handle.write(bytes, { at: 0 }) !== bytes.length) throw new Error("the disk is full: free some space");
    handle.flush();
  } catch (error) {
    handle.close();
    await kept.removeEntry(name).catch(() => {});
    throw error;
  }
  handle.close();
}

/**
 * Puts a world into a new file, whose name it returns; none that exists is replaced. It gets its name when all
 * of it is written, so that a tab that is closed meanwhile leaves no half world.
 */
export function keepFile(name: string, bytes: Uint8Array): Promise<string> {
  const keep = () => writeWorld(name, bytes);
  // Else two tabs may find the same name free, and one remove what the other writes.
  return navigator.locks ? navigator.locks.request("terravox import", keep) : keep();
}

async function writeWorld(name: string, bytes: Uint8Array): Promise<string> {
  const kept = await folder();
  if (!kept) throw new Error("this browser keeps no files for pages, so it cannot open one");
  const base = fileNameOf(name).replace(EXTENSION, "");
  await removeParts(kept);
  const part = `${base} ${crypto.randomUUID()}.part`;
  await writeFile(kept, part, bytes);
  const free = await freeName(kept, base);
  const file = (await kept.getFileHandle(part)) as unknown as Movable;
  if (file.move) {
    await file.move(free);
  } else {
    await kept.removeEntry(part);
    await writeFile(kept, free, bytes);
  }
  return free;
}

/** The worlds that this browser keeps, by name. */
export async function keptWorlds(): Promise<KeptWorld[]> {
  const kept = await folder();
  const worlds: KeptWorld[] = [];
  if (!kept) return worlds;
  for await (const entry of kept.values()) {
    if (entry.kind !== "file" || !EXTENSION.test(entry.name)) continue;
    // One that another tab is removing is gone.
    const file = await (entry as FileSystemFileHandle).getFile().catch(() => null);
    if (file) worlds.push({ name: entry.name, bytes: file.size });
  }
  return worlds.sort((a, b) => a.name.localeCompare(b.name));
}

/** A world as it was written last. */
export async function keptFile(name: string): Promise<File> {
  const kept = await folder();
  if (!kept) throw new Error("this browser keeps no files for pages");
  try {
    return await (await kept.getFileHandle(name)).getFile();
  } catch (error) {
    throw explained(error, name);
  }
}

/** Removes a world for good. */
export async function removeFile(name: string): Promise<void> {
  try {
    await (await folder())?.removeEntry(name);
  } catch (error) {
    throw explained(error, name);
  }
}
