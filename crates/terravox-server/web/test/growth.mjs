// Flight and digging, and what a page holds.

/** Where a round begins and ends. */
const HOME = [0, 60, 0, 0, -70];

/** Flies a round within the page: digs where the eyes look, and undoes that at the next step. */
export async function flyRound({ steps, radius }) {
  // The server takes 120 operations a second.
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

/**
 * How much more is held at the last of some rounds than at the first one, as the line through all of them has it: a
 * share of the mean. The first half of the rounds does not count: caches fill.
 */
export function growthOf(rounds) {
  const late = rounds.slice(rounds.length >> 1);
  const mean = (values) => values.reduce((a, b) => a + b) / values.length;
  const [middle, level] = [(late.length - 1) / 2, mean(late)];
  const slope = mean(late.map((value, i) => (i - middle) * (value - level))) / mean(late.map((_, i) => (i - middle) ** 2));
  return level === 0 ? 0 : (slope * (late.length - 1)) / level;
}

/** Bytes of a heap of JavaScript: objects, and what arrays hold, which is outside of it. The memory of WebAssembly is neither. */
const bytesOf = ({ usedSize, backingStorageSize }) => usedSize + backingStorageSize;

/** Connects to the worker of a page, which has a heap of its own; returns a function that measures it. */
export async function heapOfWorker(session) {
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
    return bytesOf(await ask("Runtime.getHeapUsage"));
  };
}

/** What the page holds at home when all is shown, and no block changes any more. */
export async function holdings(one, session, workerHeap) {
  await one.goTo(...HOME);
  // What was seen once is held by the graphics card.
  for (let yaw = 0; yaw < 360; yaw += 60) {
    await one.get((yaw) => terravox.look(yaw, -0.5), (yaw / 180) * Math.PI);
    await one.frames(2);
  }
  await one.until("the picture rests", () => seen.still > 60);
  await session.send("HeapProfiler.collectGarbage");
  const heap = bytesOf(await session.send("Runtime.getHeapUsage"));
  const held = await one.get(() => {
    const { stats } = seen.frame;
    const { triangles, meshes } = terravox.state();
    const nodes = document.querySelectorAll("*").length;
    return { triangles, meshes, ...seen.gpu, wasm: stats.memory, cells: stats.cells, nodes };
  });
  return { ...held, heap, workerHeap: await workerHeap() };
}
