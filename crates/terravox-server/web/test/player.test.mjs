// The player walks, falls, swims and flies, by keys and by touch.

import assert from "node:assert/strict";
import { ISLAND } from "./server.mjs";
import { visitTest, visitTests } from "./visit.mjs";

const ROCK = { fill: { material: 8 } };
/** From the feet to the eyes, and half the width, metres. */
const [EYES, RADIUS] = [1.65, 0.35];

visitTests("the player", {}, {
  async "falls, and stands on the ground"(one) {
    await one.goTo(0, 30, -4, 0, -89);
    await one.page.keyboard.press("KeyF");
    await one.until("the player has landed", () => seen.frame.onGround);
    await one.rest();
    const { distance, normal } = await one.get(() => seen.frame.aim);
    // On a slope the round foot touches beside the place below the eyes.
    const isAtFoot = distance > EYES - 0.1 && distance < EYES + 0.5;
    assert(isAtFoot, `the eyes are ${distance} m above ground of normal ${normal}`);
    await one.page.keyboard.press("KeyF");
    await one.hold("Space", () => one.until("the player flies up", () => seen.frame.eye[1] > 25));
  },

  async "a wall stops who walks, runs and jumps against it"(one) {
    const [face, floor] = [21, 20];
    await one.edit({ box: { centre: [16, floor / 2, -22], half: [8, floor / 2, 3] } }, ROCK);
    await one.edit({ box: { centre: [face + 1, floor + 3, -22], half: [1, 3, 3] } }, ROCK);
    await one.goTo(11, floor + 3, -22, -90);
    await one.get(() => terravox.fly(false));
    await one.until("the player stands on the floor", () => seen.frame.onGround);
    const jumped = await one.hold("KeyW", async () => {
      await one.until("the player walks", () => seen.frame.eye[0] > 13);
      const [x] = (await one.hold("ShiftLeft", () => one.rest())).at(-1).eye;
      assert(Math.abs(face - RADIUS - x) < 0.1, `walked to x = ${x}; the wall is at ${face}`);
      const isUp = (floor) => seen.frame.eye[1] > floor + 2.2;
      await one.hold("Space", () => one.until("the player jumps", isUp, floor));
      return one.rest();
    });
    const farthest = Math.max(...jumped.map((frame) => frame.eye[0]));
    assert(farthest < face - RADIUS + 0.1, `came to x = ${farthest}; the wall is at ${face}`);
  },

  async "swims: sinks slowly, rises to the surface, dives"(one) {
    const [x, z] = ISLAND.water;
    const level = ISLAND.waterLevel;
    await one.goTo(x, level + 5, z, 45);
    await one.page.keyboard.press("KeyF");
    await one.until("the player is in the water", () => seen.frame.inWater);
    const isDeep = (level) => seen.frame.inWater && seen.frame.eye[1] < level - 2;
    await one.hold("KeyC", () => one.until("the player dives", isDeep, level));
    await one.hold("Space", async () => {
      await one.until("the head comes out", (level) => seen.frame.eye[1] > level, level);
      await one.frames(60);
      const heights = (await one.get(() => seen.frames)).slice(-50).map((frame) => frame.eye[1] - level);
      const isAtSurface = Math.min(...heights) > -0.5 && Math.max(...heights) < 1.5;
      assert(isAtSurface, `does not stay at the surface: ${heights}`);
      const swims = () => one.until("the player swims", (x) => seen.frame.eye[0] < x - 2, x);
      await one.hold("KeyW", swims);
    });
  },
});

/** Shows the buttons for fingers; returns what puts fingers on places and lifts them, and middles. */
async function fingersOf(one) {
  await one.page.locator("#tools button").first().tap();
  const session = await one.context.newCDPSession(one.page);
  const touch = (type, ...touchPoints) =>
    session.send("Input.dispatchTouchEvent", { type, touchPoints });
  const middle = async (selector) => {
    const { x, y, width, height } = await one.page.locator(selector).boundingBox();
    return { x: x + width / 2, y: y + height / 2 };
  };
  return { touch, middle };
}

const TOUCH = { hasTouch: true, isMobile: true };

visitTests("fingers", TOUCH, {
  async "a finger on the stick moves, and lifted stops"(one) {
    await one.goTo(0, 40, 20);
    const { touch, middle } = await fingersOf(one);
    const { x, y } = await middle("#stick");
    await touch("touchStart", { x, y });
    await touch("touchMove", { x, y: y - 40 });
    await one.until("the player moves ahead", () => seen.frame.eye[2] < 17);
    await touch("touchEnd");
    await one.rest();
    assert(Math.abs(await one.get(() => seen.frame.eye[0])) < 0.5, "not straight ahead");
  },

  async "fingers fly, fall, undo, and change the size"(one) {
    await one.goTo(-8, 25, 20, 0, -89);
    const { touch, middle } = await fingersOf(one);
    const [before, eye] = [await one.aim(), await one.get(() => seen.frame.eye[1])];
    await touch("touchStart", await middle("#down"));
    await one.until("the player flies down", (y) => seen.frame.eye[1] < y - 1, eye);
    await touch("touchEnd");
    await one.goTo(-8, 25, 20, 0, -89);
    for (const selector of ["#smaller", "#smaller", "#larger"]) await one.page.locator(selector).tap();
    await one.page.locator("#use").tap();
    await one.until("there is a hole", (at) => seen.frame.aim?.distance > at + 0.5, before);
    const strokes = await one.get(() => seen.posts.edit);
    for (let i = 0; i < strokes; i++) await one.page.locator("#undo").tap();
    await one.until("the hole is filled", (at) => Math.abs(seen.frame.aim?.distance - at) < 0.02, before);
    await one.page.locator("#fly").tap();
    await one.until("the player has landed", () => seen.frame.onGround);
    await one.page.locator("#fly").tap();
  },

  async "a finger on the picture turns, another on the button digs"(one) {
    await one.goTo(4, 25, 20, 0, -89);
    const { touch, middle } = await fingersOf(one);
    const before = await one.aim();
    await touch("touchStart", await middle("#use"));
    await one.until("there is a hole", (at) => seen.frame.aim?.distance > at + 1, before);
    await touch("touchEnd");
    await touch("touchStart", { x: 240, y: 60 });
    await touch("touchMove", { x: 240, y: 260 });
    await touch("touchEnd");
    const hasTurned = (at) => !(seen.frame.aim?.distance < at + 0.5);
    await one.until("the eyes turn away from the hole", hasTurned, before);
  },
});

visitTest("a tap on the picture does not catch the pointer, as a click does", async (visit) => {
  const one = await visit("/", TOUCH);
  await one.goTo(0, 30, 0, 0, -89);
  const caught = () => one.get(() => document.pointerLockElement !== null);
  await one.page.touchscreen.tap(240, 60);
  await one.frames();
  assert(!(await caught()), "a finger needs no pointer lock; what it touches is then reported at 0, 0");
  await one.page.mouse.click(240, 60);
  await one.until("the pointer is caught", () => document.pointerLockElement !== null);
  await one.frames();
  assert.equal(await one.get(() => seen.posts.edit), undefined, "the click that catches the pointer digs");
  await one.useTool();
});
