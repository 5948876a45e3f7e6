// Flight and digging for long: what the page holds at two returns to the same place.
//
// Minutes of it by TERRAVOX_PAGE_MINUTES; else five short rounds.

import assert from "node:assert/strict";
import { flyRound, heapOfWorker, holdings } from "./growth.mjs";
import { visitTest } from "./visit.mjs";

const minutes = Number(process.env.TERRAVOX_PAGE_MINUTES ?? 0);
/** Steps of a round, which is a circle around the home. */
const STEPS = minutes > 0 ? 400 : 60;
const RADIUS = 150;

/**
 * What may be more at a later return: caches fill, and where a level of detail ends depends on the way.
 * The memory of WebAssembly never shrinks, so it is that of the busiest moment.
 */
const ALLOWED = {
  triangles: 1.05,
  meshes: 1.1,
  Buffer: 1.15,
  VertexArray: 1.15,
  cells: 1.15,
  heap: 1.15,
  workerHeap: 1.15,
  wasm: 1.25,
};

visitTest("flight and digging for long take no more memory", async (visit, context) => {
  const one = await visit("/?world=hills-7");
  const session = await one.context.newCDPSession(one.page);
  const workerHeap = await heapOfWorker(session);
  const began = performance.now();
  const held = [];
  while (held.length < 5 || performance.now() - began < minutes * 60_000) {
    const digs = await one.get(flyRound, { steps: STEPS, radius: RADIUS });
    assert(digs > STEPS / 4, `only ${digs} digs in ${STEPS} steps`);
    held.push(await holdings(one, session, workerHeap));
    context.diagnostic(JSON.stringify(held.at(-1)));
  }
  assert.deepEqual(await one.get(() => seen.news), []);
  // Till the middle, caches fill: with all that was ever dug on the way. What is held at a return depends
  // on what was just joined or is about to be; what leaks never falls below what there was.
  const half = (held.length >> 1) + 1;
  const [before, after] = [held.slice(0, half), held.slice(half)];
  for (const [name, share] of Object.entries(ALLOWED)) {
    const most = Math.max(...before.map((one) => one[name]));
    const least = Math.min(...after.map((one) => one[name]));
    assert(least <= most * share, `${name} grew from ${most} to ${least}`);
  }
  for (const name of ["Texture", "Framebuffer", "Program", "nodes"]) {
    assert.equal(after.at(-1)[name], before.at(-1)[name], name);
  }
}, { timeout: (minutes + 20) * 60_000 });
