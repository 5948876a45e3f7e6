// Flight and digging for long: what the page holds at two returns to the same place.
//
// Minutes of it by TERRAVOX_PAGE_MINUTES; else two rounds.

import assert from "node:assert/strict";
import { visitTest } from "./visit.mjs";

const minutes = Number(process.env.TERRAVOX_PAGE_MINUTES ?? 0);
/** Steps of a round, which is a circle around the home. */
const STEPS = minutes > 0 ? 400 : 100;
const RADIUS = 150;
const HOME = [0, 60, 0, 0, -70];

/** Flies a round within the page: digs where the eyes look, and undoes that at the next step. */
async function flyRound({ steps, radius }) {
  // The server takes 30 operations a second.
  const decided = () => {
    const from = seen.count;
    return new Promise((resolve) => {
      const look = () => {
        if (seen.count >= from + 2 && seen.frame.stats.pending === 0) resolve();
        else requestAnimationFrame(look);
      };
      look();
    });
  };
  let digs = 0;
  for (let step = 0; step < steps; step++) {
    const angle = (step / steps) * 2 * Math.PI;
    terravox.goTo([radius * Math.sin(angle), 60, radius * (Math.cos(angle) - 1), step % 360, -70]);
    await decided();
    const centre = seen.frame.aim?.point;
    if (step % 2 === 1) {
      if (seen.dug) terravox.tell({ type: "undo" });
    } else if ((seen.dug = !!centre)) {
      const op = { brush: { brush: { ball: { centre, radius: 4 } }, action: "dig" } };
      terravox.tell({ type: "edit", op, at: performance.now() });
      digs++;
    }
  }
  await decided();
  return digs;
}

/** Connects to the worker of a page, which has a heap of its own; returns a function that measures it. */
async function heapOfWorker(session) {
  const id = await new Promise((resolve) => {
    session.on("Target.attachedToTarget", ({ sessionId, targetInfo }) => {
      if (targetInfo.type === "worker") resolve(sessionId);
    });
    session.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
  });
  let last = 0;
  const ask = (method) =>
    new Promise((resolve) => {
      const number = ++last;
      const take = ({ sessionId, message }) => {
        const { id: answered, result } = JSON.parse(message);
        if (sessionId !== id || answered !== number) return;
        session.off("Target.receivedMessageFromTarget", take);
        resolve(result);
      };
      session.on("Target.receivedMessageFromTarget", take);
      const message = JSON.stringify({ id: number, method });
      session.send("Target.sendMessageToTarget", { sessionId: id, message });
    });
  return async () => {
    await ask("HeapProfiler.collectGarbage");
    return (await ask("Runtime.getHeapUsage")).usedSize;
  };
}

/** What the page holds at home when all is shown, and no block changes any more. */
async function holdings(one, session, workerHeap) {
  await one.goTo(...HOME);
  // What was seen once is held by the graphics card.
  for (let yaw = 0; yaw < 360; yaw += 60) {
    await one.get((yaw) => terravox.look(yaw, -0.5), (yaw / 180) * Math.PI);
    await one.frames(2);
  }
  await one.until("the picture rests", () => seen.still > 60);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  const held = await one.get(() => {
    const { stats } = seen.frame;
    const { triangles, meshes } = terravox.state();
    const nodes = document.querySelectorAll("*").length;
    return { triangles, meshes, ...seen.gpu, wasm: stats.memory, cells: stats.cells, nodes };
  });
  return { ...held, heap: usedSize, workerHeap: await workerHeap() };
}

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
  while (held.length < 2 || performance.now() - began < minutes * 60_000) {
    const digs = await one.get(flyRound, { steps: STEPS, radius: RADIUS });
    assert(digs > STEPS / 4, `only ${digs} digs in ${STEPS} steps`);
    held.push(await holdings(one, session, workerHeap));
    context.diagnostic(JSON.stringify(held.at(-1)));
  }
  assert.deepEqual(await one.get(() => seen.news), []);
  // Till the middle, caches fill: with all that was ever dug on the way.
  const [first, last] = [held[(held.length - 1) >> 1], held.at(-1)];
  for (const [name, share] of Object.entries(ALLOWED)) {
    assert(last[name] <= first[name] * share, `${name} grew from ${first[name]} to ${last[name]}`);
  }
  for (const name of ["Texture", "Framebuffer", "Program", "nodes"]) {
    assert.equal(last[name], first[name], name);
  }
}, { timeout: (minutes + 5) * 60_000 });
