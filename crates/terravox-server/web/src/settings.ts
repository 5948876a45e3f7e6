// Settings that stay in this browser.

export interface Settings {
  name: string;
  view: number;
  /** Render scale along each axis, 1 for the pixels of the device; 0 to adapt it to frame times. */
  scale: number;
  shadows: boolean;
}

const KEY = "terravox";

export function loadSettings(): Settings {
  const settings: Settings = { name: "", view: 2000, scale: 0, shadows: true };
  try {
    Object.assign(settings, JSON.parse(localStorage.getItem(KEY) ?? "{}"));
  } catch {
    // Without storage, or with other data in it, the defaults do.
  }
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
