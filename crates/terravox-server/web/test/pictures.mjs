// Takes the pictures of docs/web.md: eight scenes, drawn by the processor. scripts/web-pictures runs it:
//
//   node pictures.mjs FOLDER [WORD]      only those with a word in their names
//
// Each scene is set up by what visitors do, so the pictures show what they would see.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Server } from "./server.mjs";
import { Visit, endShared } from "./visitor.mjs";

const [folder, word = ""] = process.argv.slice(2);
const SETTINGS = { name: "Ada", view: 2000, scale: 1, shadows: true };
const WINDOW = { width: 800, height: 450 };
const [GRASS, ROCK, BRICK, WOOD] = [2, 8, 16, 5];

let server;
/** All scenes are in one world of hills; what one digs is far from the others. */
const hills = () => (server ??= Server.start({ worlds: ["hills:7"] }));

async function visit(place, { query = "", ...options } = {}) {
  const { origin } = await hills();
  const settings = { ...SETTINGS, ...options.settings };
  const one = await Visit.prepare({ origin, viewport: WINDOW, ...options, settings });
  await one.begin(`/?world=hills-7${query}#${place.join(",")}`, {});
  await one.settle();
  return one;
}

/** Takes a picture of what is drawn when nothing changes any more. */
async function take(one, name) {
  await one.until("the picture rests", () => seen.still > 20);
  await one.get(() => {
    document.getElementById("news").replaceChildren();
    return (seen.draws = true);
  });
  // Shadows are drawn every second frame.
  await one.frames(4);
  await one.page.screenshot({ path: join(folder, `web-${name}.png`) });
  await one.leave();
}

const ball = (centre, radius) => ({ ball: { centre, radius } });
const box = (centre, half) => ({ box: { centre, half } });
const fill = (material) => ({ fill: { material } });

const scenes = {
  /** From afar: levels of detail, haze, water, sky. */
  async horizon() {
    await take(await visit([-60, 150, 180, 25, -14]), "horizon");
  },
};

mkdirSync(folder, { recursive: true });
try {
  for (const [name, scene] of Object.entries(scenes)) {
    if (name.includes(word)) await scene();
  }
} finally {
  await endShared();
  await (await server)?.remove();
}
