// The world is seen and dug, alone and with others.

import assert from "node:assert/strict";
import { changed, visitTest } from "./visit.mjs";

/** Brushes lie in whole voxels only by chance. */
const CLOSE = 0.02;

visitTest("joins, and shows terrain below a sky", async (visit) => {
  const one = await visit("/?world=hills-7#0,40,40,0,-30", { waits: false });
  await one.until("there is ground", () => terravox.state().joined && terravox.state().triangles > 200_000);
  assert.equal(await one.status(), "");
  const ground = await one.picture();
  const colours = new Set(ground.map((colour) => colour.map((value) => value >> 3).join()));
  assert(colours.size > 20, `only ${colours.size} colours`);
  await one.get(() => terravox.look(0, 1.4));
  const sky = await one.picture();
  assert(changed(ground, sky) > 128, "the ground looks like the sky");
});

visitTest("a dig makes a hole, undo fills it, redo digs it again", async (visit) => {
  const one = await visit();
  await one.goTo(-4, 25, 4, 0, -70);
  const [whole, wholePicture] = [await one.aim(), await one.picture()];
  const strokes = await one.useTool();
  const [dug, dugPicture] = [await one.aim(), await one.picture()];
  assert(dug > whole + 1, `${whole} m to the ground, ${dug} m to the bottom of the hole`);
  assert(changed(wholePicture, dugPicture) > 4, "the hole is not seen");
  for (let i = 0; i < strokes; i++) await one.page.keyboard.press("KeyZ");
  await one.until("undo fills the hole", (at) => Math.abs(seen.frame.aim?.distance - at) < 0.02, whole);
  assert(changed(wholePicture, await one.picture()) <= 2, "what is undone is still seen");
  for (let i = 0; i < strokes; i++) await one.page.keyboard.press("KeyY");
  await one.until("redo digs the hole", (at) => Math.abs(seen.frame.aim?.distance - at) < 0.02, dug);
  assert(Math.abs((await one.aim()) - dug) < CLOSE);
});

visitTest("builds with the material of the palette", async (visit) => {
  const one = await visit();
  await one.goTo(10, 25, -10, 0, -80);
  const before = await one.aim();
  await one.page.keyboard.press("Digit2");
  await one.page.getByRole("option", { name: "Brick" }).click();
  await one.useTool();
  assert((await one.aim()) < before - 1, "nothing was built");
  const brick = await one.page.getByRole("option", { selected: true }).getAttribute("aria-label");
  assert.equal(brick, "Brick");
});

visitTest("another visitor sees the hole and the avatar of the first", async (visit) => {
  const one = await visit("/", { settings: { name: "Ada" } });
  const two = await visit("/", { settings: { name: "Bob" } });
  // Side by side, both above the same ground.
  await one.goTo(-14, 40, 12, 0, -89);
  await two.goTo(-14, 42, 12, 0, -89);
  const before = await two.aim();
  await two.until("the avatar of the first is there", () => terravox.state().others === 1);
  assert.deepEqual(await two.get(() => seen.avatars), ["Ada"]);
  assert.deepEqual(await one.get(() => [...new Set(seen.avatars)]), ["Bob"]);
  await one.useTool();
  await two.until("the hole of the first is there", (at) => seen.frame.aim?.distance > at + 1, before);
  assert(Math.abs((await two.aim()) - (await one.aim()) - 2) < CLOSE, "both see the same ground");
  await one.leave();
  await two.until("who left is seen no more", () => terravox.state().others === 0);
});

visitTest("with a seed, the page makes a world of its own, and keeps it", async (visit) => {
  const one = await visit("/?seed=7#0,30,0,0,-89", { waits: false });
  const before = await one.until("there is ground", () => seen.frame?.aim?.distance);
  const asked = await one.get(() => performance.getEntriesByType("resource").map((one) => one.name));
  assert(!asked.some((name) => name.endsWith("healthz")), "a world of its own needs no server");
  await one.useTool();
  const isHole = (at) => seen.frame?.aim?.distance > at + 1;
  await one.until("there is a hole", isHole, before);
  await one.until("it is written", () => seen.frame.stats.saved && seen.frame.stats.pending === 0);
  await one.page.reload();
  await one.until("the hole is there again", isHole, before);
  const second = await one.page.context().newPage();
  await second.goto(one.page.url());
  await second.getByText("is open in another tab").waitFor();
  await second.close();
});
