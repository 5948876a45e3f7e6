// Worlds of one's own: files of this browser (the origin private file system).

/** A file that is open for this worker alone; the types of TypeScript do not have it for workers yet. */
export type SyncHandle = {
  write(bytes: Uint8Array, options: { at: number }): number;
  flush(): void;
  close(): void;
};

interface SyncFile {
  createSyncAccessHandle(): Promise<SyncHandle>;
}

/** The name of a file for a name that a person gave it. */
export function fileNameOf(name: string): string {
  const plain = name.replace(/\.tvx$/i, "").replace(/[^\p{L}\p{N} _.-]/gu, "_").slice(0, 60).trim();
  return `${plain.replace(/^\.+/, "") || "world"}.tvx`;
}

/** Opens the file of a world; null if this browser keeps no files for this page. */
export async function openFile(name: string): Promise<SyncHandle | null> {
  // The page before this one may need a moment to let go of it.
  for (let attempt = 0; ; attempt++) {
    try {
      const folder = await navigator.storage.getDirectory();
      const file = (await folder.getFileHandle(name, { create: true })) as unknown as SyncFile;
      return await file.createSyncAccessHandle();
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "NoModificationAllowedError")) return null;
      if (attempt === 12) throw new Error(`“${name}” is open in another tab: close that one and reload this`);
    }
    await new Promise((done) => setTimeout(done, 250));
  }
}

/** Puts a world into a new file, whose name it returns; none that exists is replaced. */
export async function keepFile(name: string, bytes: Uint8Array): Promise<string> {
  const folder = await navigator.storage?.getDirectory?.().catch(() => null);
  if (!folder) throw new Error("this browser keeps no files for pages, so it cannot open one");
  const base = fileNameOf(name).replace(/\.tvx$/, "");
  for (let number = 1; ; number++) {
    const free = number === 1 ? `${base}.tvx` : `${base} ${number}.tvx`;
    const exists = await folder.getFileHandle(free).then(() => true, () => false);
    if (exists) continue;
    const handle = await openFile(free);
    if (!handle) throw new Error("this browser refuses a new file");
    try {
      if (handle.write(bytes, { at: 0 }) !== bytes.length) throw new Error("the disk is full: free some space");
      handle.flush();
    } catch (error) {
      handle.close();
      await folder.removeEntry(free).catch(() => {});
      throw error;
    }
    handle.close();
    return free;
  }
}
