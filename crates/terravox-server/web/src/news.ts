// What is said to the player: a line above the picture, and lines of news that go again.

/** Maximum number of lines of news. */
const MAX_NEWS = 4;
/** Milliseconds that a line of news stays. */
const NEWS_MS = 6000;

const byId = (id: string) => document.getElementById(id)!;
let hasFailed = false;

/** Shows a line of news: progress until it is removed, others for some seconds. */
export function say(text: string, kind: "note" | "error" | "progress" = "note"): HTMLElement {
  const news = byId("news");
  const line = document.createElement("p");
  line.textContent = text;
  line.className = kind;
  // The same again is no news.
  if (news.lastElementChild?.textContent === text) news.lastElementChild.remove();
  news.append(line);
  while (news.childElementCount > MAX_NEWS) news.firstElementChild!.remove();
  if (kind !== "progress") setTimeout(() => line.remove(), NEWS_MS);
  return line;
}

/** Says what an import left out or changed: the first lines as news, and all of them in the menu. */
export function sayNotes(notes: string[]) {
  const lines = notes.map((note) => {
    const line = document.createElement("li");
    line.textContent = note;
    return line;
  });
  byId("notes").querySelector("ul")!.replaceChildren(...lines);
  byId("notes").hidden = notes.length === 0;
  const shown = notes.length < MAX_NEWS ? notes : notes.slice(0, MAX_NEWS - 1);
  shown.forEach((note) => say(note));
  if (notes.length > shown.length) say(`All ${notes.length} notes about this file are in the menu (?).`);
}

/** Shows a line above the picture; nothing for an empty one. */
export function status(text: string) {
  if (!hasFailed) byId("status").textContent = text;
}

export function currentStatus(): string {
  return byId("status").textContent ?? "";
}

/** Shows a line that stays. */
export function failFor(text: string) {
  status(text);
  hasFailed = true;
}
