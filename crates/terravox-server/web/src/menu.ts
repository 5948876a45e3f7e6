// The menu: help, worlds that are kept, and settings.

import { say } from "./news";
import { saveSettings, type Settings } from "./settings";
import { listWorlds } from "./worlds";

/** What the menu says of the world that is shown. */
export interface ShownWorld {
  /** Whether a server has it; null until that is known. */
  hasServer: boolean | null;
  letsThrow: boolean;
  /** The name of a local world, and whether it is in a file of this browser, as far as that is known. */
  localName: string | null;
  isKept: boolean;
  /** Whether the browser keeps files until they are deleted; null while that is not known. */
  isPersistent: boolean | null;
}

const byId = (id: string) => document.getElementById(id)!;
const input = (id: string) => byId(id) as HTMLInputElement;

const DROP =
  "Drop a world (.tvx), a Roblox place, a scene of MagicaVoxel (.vox) or a grey heightmap (.png) here to open it.";

/** Where a world is, and for how long. */
function whereabouts({ hasServer, localName, isKept, isPersistent }: ShownWorld): string {
  if (hasServer) return "Everyone here digs in one world. What you do stays.";
  if (localName === null) return DROP;
  if (!isKept) return `A world of your own, in memory only: download it before you leave. ${DROP}`;
  const caution = " The browser may delete it when the disk is full: download what you want to keep.";
  return `A world of your own, kept in this browser.${isPersistent === false ? caution : ""} ${DROP}`;
}

export function openMenu(settings: Settings, shown: ShownWorld) {
  document.exitPointerLock?.();
  input("name").value = settings.name;
  (byId("distance") as HTMLSelectElement).value = String(settings.view);
  (byId("scale") as HTMLSelectElement).value = String(settings.scale);
  input("shadows").checked = settings.shadows;
  byId("where").textContent = whereabouts(shown);
  byId("export").hidden = shown.hasServer !== false || shown.localName === null;
  void listWorlds(byId("kept"), shown.localName, (text) => say(text, "error"));
  const throws = shown.hasServer === true && shown.letsThrow;
  document.querySelectorAll<HTMLElement>(".throws").forEach((line) => (line.hidden = !throws));
  const help = byId("help") as HTMLDialogElement;
  help.showModal();
  // Not into the first field, which takes what is typed.
  help.focus();
  help.scrollTop = 0;
}

/** Reads the settings of the menu, and keeps them; returns which ones are new. */
export function takeSettings(settings: Settings): Set<keyof Settings> {
  const select = (id: string, before: number) => {
    const { value } = byId(id) as HTMLSelectElement;
    // A value that the menu does not have leaves the field empty.
    return value === "" ? before : Number(value);
  };
  const taken: Settings = {
    name: input("name").value.trim() || settings.name,
    view: select("distance", settings.view),
    scale: select("scale", settings.scale),
    shadows: input("shadows").checked,
  };
  const names = Object.keys(taken) as (keyof Settings)[];
  const changed = new Set(names.filter((name) => taken[name] !== settings[name]));
  Object.assign(settings, taken);
  if (changed.size > 0) saveSettings(settings);
  return changed;
}
