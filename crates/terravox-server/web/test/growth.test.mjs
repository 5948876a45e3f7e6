// Flight and digging for long: what the page holds at returns to the same place.
//
// Minutes of it by TERRAVOX_PAGE_MINUTES; else some short rounds.

import assert from "node:assert/strict";
import { test } from "node:test";
import { flyRound, growthOf, heapOfWorker, holdings } from "./growth.mjs";
import { visitTest } from "./visit.mjs";

const minutes = Number(process.env.TERRAVOX_PAGE_MINUTES ?? 0);
/** Steps of a round, which is a circle around the home. */
const STEPS = minutes > 0 ? 400 : 40;
const RADIUS = 150;
const MIN_ROUNDS = 6;

/**
 * How much may be added from the middle to the end, as a share: caches fill, and where a level of detail ends
 * depends on the way. The memory of WebAssembly never shrinks, so it is that of the busiest moment.
 */
const ALLOWED = {
  triangles: 0.05,
  meshes: 0.1,
  Buffer: 0.15,
  bufferBytes: 0.15,
  VertexArray: 0.15,
  heap: 0.15,
  workerHeap: 0.15,
  wasm: 0.25,
};

test("a small leak in each round is growth, and what comes and goes is not", () => {
  const rounds = Array.from({ length: 8 }, (_, i) => i);
  const close = (value, expected) => assert(Math.abs(value - expected) < 1e-9, `${value}, not ${expected}`);
  close(growthOf(rounds.map((i) => 90 + 4 * i)), 12 / 112);
  close(growthOf(rounds.map((i) => 1000 - 10 * i)), -30 / 945);
  close(growthOf(rounds.map(() => 0)), 0);
  // Caches that fill in the first half, and then a return at which more is held.
  close(growthOf([10, 50, 80, 95, 100, 100, 100, 100]), 0);
  assert(Math.abs(growthOf([10, 50, 80, 95, 100, 112, 112, 100])) < 0.01);
  assert(growthOf(Array.from({ length: 100 }, (_, i) => 1000 + 4 * i)) > 0.15, "a leak of 0.4 % in each of many rounds");
});

visitTest("flight and digging for long take no more memory", async (visit, context) => {
  const one = await visit("/?world=hills-7");
  const session = await one.context.newCDPSession(one.page);
  const workerHeap = await heapOfWorker(session);
  const began = performance.now();
  const held = [];
  while (held.length < MIN_ROUNDS || performance.now() - began < minutes * 60_000) {
    const digs = await one.get(flyRound, { steps: STEPS, radius: RADIUS });
    assert(digs > STEPS / 4, `only ${digs} digs in ${STEPS} steps`);
    held.push(await holdings(one, session, workerHeap));
    context.diagnostic(JSON.stringify(held.at(-1)));
  }
  assert.deepEqual(await one.get(() => seen.news), []);
  for (const [name, share] of Object.entries(ALLOWED)) {
    const values = held.map((one) => one[name]);
    const growth = growthOf(values);
    assert(growth <= share, `${name} grew by ${(100 * growth).toFixed(1)} % from the middle to the end: ${values}`);
  }
  const [middle, last] = [held[held.length >> 1], held.at(-1)];
  // Many chunks are evicted at once: what leaks never falls below what there was.
  const cells = held.map((one) => one.cells);
  const half = cells.length >> 1;
  const [most, least] = [Math.max(...cells.slice(0, half)), Math.min(...cells.slice(half))];
  assert(least <= 1.15 * most, `cells grew from ${most} to ${least} bytes`);
  for (const name of ["Texture", "Framebuffer", "Program", "nodes"]) {
    assert.equal(last[name], middle[name], name);
  }
}, { timeout: (minutes + 20) * 60_000 });
