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
const [BRICK, PLANKS, ROCK, SNOW, LAVA, COBBLE] = [5, 7, 8, 10, 15, 17];

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

/** Takes a picture of what is drawn; unless something moves, when nothing changes any more. */
async function take(one, name, { waits = true } = {}) {
  if (waits) await one.until("the picture rests", () => seen.still > 20);
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

/** The height of the ground at x and z. */
async function ground(one, x, z) {
  await one.goTo(x, 110, z, 0, -89);
  for (const y of [70, 30, 10]) {
    const height = await one.get(() => seen.frame.aim?.point[1]);
    if (height !== undefined) return height;
    await one.goTo(x, y, z, 0, -89);
  }
  throw new Error(`no ground at ${x}, ${z}`);
}

/** Uses tools by number, with keys. */
const tool = (one, number) => one.page.keyboard.press(`Digit${number % 10}`);

/** Throws things, one for each direction in degrees. */
async function throwAll(one, number, directions) {
  await tool(one, number);
  for (const [yaw, pitch] of directions) {
    await one.get((angles) => terravox.look(...angles), [yaw, pitch].map((v) => (v * Math.PI) / 180));
    await one.frames(2);
    await one.useClick("throw");
    // The server takes five a second.
    await one.page.waitForTimeout(250);
  }
}

const scenes = {
  /** From afar: levels of detail, haze, water, sky. */
  async horizon() {
    await take(await visit([-30, 120, 170, 0, -14]), "horizon");
  },

  /** Close by: shallow and deep water, sand, rock, shadows of the morning. */
  async shore() {
    await take(await visit([-8, 9, 128, 28, -9], { query: "&time=8.5" }), "shore");
  },

  /** A tunnel that was dug into a hill, from within. */
  async tunnel() {
    const one = await visit([17, 90, -76, 0, -30]);
    const y = (await ground(one, 17, -40)) + 1;
    for (let step = 0; step < 16; step++) {
      await one.edit(ball([17 + 2 * Math.sin(step / 3), y + 1.5 - 0.2 * step, -38 - 2.5 * step], 3.4), "dig");
      await one.frames(3);
    }
    await one.goTo(17, y + 1, -58, 176, -1);
    await take(one, "tunnel");
  },

  /** Materials by the palette: walls of brick, planks, cobble; a floor, a roof. */
  async materials() {
    const one = await visit([60, 60, 20, 0, -30], { query: "&time=15.5" });
    const [x, z] = [60, 0];
    const y = (await ground(one, x, z)) + 1;
    await one.edit(box([x, y - 6, z], [11, 6.5, 9]), fill(COBBLE));
    await one.edit(box([x, y + 4, z], [8, 4, 6]), fill(BRICK));
    await one.edit(box([x, y + 4, z], [6.8, 3.4, 4.8]), "dig");
    await one.edit(box([x, y + 3, z + 6], [1.6, 2.4, 2]), "dig");
    for (const side of [-5, 5]) await one.edit(box([x + side, y + 4.5, z + 6], [1.2, 1.2, 2]), "dig");
    await one.edit(box([x, y + 8.6, z], [9.4, 0.8, 7.4]), fill(PLANKS));
    await one.edit(ball([x - 9, y + 1.5, z + 7], 1.6), fill(SNOW));
    await one.edit(ball([x + 9, y + 1.5, z + 7], 1.6), fill(LAVA));
    await one.goTo(x + 10, y + 6, z + 24, 22, -8);
    await tool(one, 2);
    await take(one, "materials");
  },

  /** Two who dig at the same place: the avatar of the other, its name and where it points. */
  async together() {
    const one = await visit([-40, 60, 20, 0, -30]);
    const two = await visit([-40, 60, 20, 0, -30], { settings: { name: "Grace" }, viewport: { width: 320, height: 200 } });
    const [x, z] = [-44, 14];
    const y = await ground(one, x, z);
    for (const [dx, dz] of [[0, 0], [2.5, -1.5], [4, -4]]) await two.edit(ball([x + dx, y - 1, z + dz], 3), "dig");
    await two.goTo(x - 4.5, y + 2.6, z + 1, -70, -28);
    await one.goTo(x + 1, y + 3.2, z + 10, 14, -16);
    await one.until("the other is there", () => terravox.state().others === 1);
    await take(one, "together");
    await two.leave();
  },

  /** A bridge of which one pillar was cut has fallen. */
  async falling() {
    const one = await visit([110, 60, 60, 0, -30]);
    const [x, z] = [110, 40];
    const y = (await ground(one, x, z)) + 9;
    for (const side of [-10, 10]) await one.edit(box([x + side, y - 6, z], [1.6, 6.5, 1.6]), fill(ROCK));
    await one.edit(box([x, y, z], [12, 0.8, 2.2]), fill(PLANKS));
    await one.goTo(x + 5, y + 3, z + 24, 10, -14);
    await one.edit(box([x - 6.5, y, z], [1.2, 2, 3.2]), "dig");
    await one.edit(box([x + 6.5, y, z], [1.2, 2, 3.2]), "dig");
    await one.until("it falls", () => seen.bodies > 0);
    await one.until("it has fallen", (top) => seen.heights.some((height) => height < top), y - 4);
    await take(one, "falling", { waits: false });
  },

  /** Balls and crates that were thrown into a lake float. */
  async floating() {
    const one = await visit([-51, 12, 92, 0, -15]);
    await throwAll(one, 9, [[-10, 0], [0, 5], [12, -4]]);
    await throwAll(one, 10, [[-16, -6], [-4, -8], [6, -2], [18, 2]]);
    await one.page.waitForTimeout(5000);
    await one.get((angles) => terravox.look(...angles), [0, -0.2]);
    await take(one, "floating", { waits: false });
  },

  /** Late in the day: a low sun over hills and water. */
  async dusk() {
    await take(await visit([60, 34, 70, 118, -3], { query: "&time=17.4" }), "dusk");
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
