// Settings that stay in this browser.

export interface Settings {
  name: string;
  view: number;
  /** Pixels of the picture for each pixel of the page; 0 for as many as frames have time for. */
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
