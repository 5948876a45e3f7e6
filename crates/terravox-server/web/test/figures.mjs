// Measures the page in Chromium: a line of JSON for each figure, which `terravox-bench page --values` reads.
// scripts/web-figures builds what this needs and runs it:
//
//   node figures.mjs PARTS MINUTES      parts: size, picture, flight, edits, growth, with commas between
//
// WebGL runs on the CPU here; figures about scripts skip drawing.

import { flyRound, heapOfWorker, holdings } from "./growth.mjs";
import { Visit, endShared } from "./visitor.mjs";

const [parts, minutes] = [process.argv[2].split(","), Number(process.argv[3])];

/** As the page is set up for a new visitor. */
const SETTINGS = { view: 2000, scale: 0, shadows: true };
const WINDOW = { width: 960, height: 540 };
/** Visits until the first picture, metres per second and seconds of flight, and digs. */
const [VISITS, SPEED, FLIGHT_S, DIGS] = [5, 30, 30, 24];

const round = (value, digits = 1) => Number(value.toFixed(digits));
const percentile = (values, share) => values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))];
const put = (id, value, note) => console.log(JSON.stringify({ id, value, note }));

async function visit(path, options = {}) {
  const one = await Visit.prepare({ settings: SETTINGS, viewport: WINDOW, ...options });
  await one.begin(path, options);
  return one;
}

/** All that a first visit loads. */
async function size() {
  const one = await Visit.prepare({ settings: SETTINGS, viewport: WINDOW });
  const sizes = [];
  one.context.on("requestfinished", (request) => sizes.push(request.sizes()));
  await one.begin("/?world=hills-7", {});
  const bytes = (await Promise.all(sizes)).map((one) => one.responseBodySize);
  await one.leave();
  put("page_kib", round(bytes.reduce((a, b) => a + b) / 1024), `${bytes.length} files, Brotli`);
}

/** Runs in a page before its scripts: notes when a frame of the whole view was drawn, and read back. */
function noteWholeView() {
  seen.draws = true;
  const { Worker } = globalThis;
  const copy = () => {
    const context = new OffscreenCanvas(1, 1).getContext("2d");
    context.drawImage(document.getElementById("view"), 0, 0, 1, 1);
    context.getImageData(0, 0, 1, 1);
    seen.whole = performance.now();
  };
  globalThis.Worker = class extends Worker {
    constructor(...args) {
      super(...args);
      let isWhole = false;
      this.addEventListener("message", ({ data }) => {
        // Until the tiling covers the whole view, only chunks near the player are shown, all of mip 0.
        if (isWhole || data.type !== "swap" || !data.added.some((mesh) => mesh.mip > 0)) return;
        isWhole = true;
        // The frame that the page asked for before is drawn first.
        requestAnimationFrame(() => requestAnimationFrame(copy));
      });
    }
  };
}

/** From navigation until the whole view was drawn, at some level of detail. */
async function picture() {
  const seconds = [];
  for (let i = 0; i < VISITS; i++) {
    const one = await visit("/?world=hills-7#0,60,0,215,-12", { waits: false, script: noteWholeView });
    seconds.push((await one.until("the whole view is there", () => seen.whole)) / 1000);
    await one.leave();
  }
  const all = seconds.map((value) => value.toFixed(2)).join(", ");
  const note = `median of ${VISITS} first visits (${all}), view 2 km, ${WINDOW.width} × ${WINDOW.height}`;
  put("page_first_picture_s", round(percentile(seconds, 0.5), 2), note);
}

/** Flies straight on within the page; returns milliseconds of script by frame, and of whole frames. */
function fly({ speed, seconds }) {
  return new Promise((resolve) => {
    const [script, whole] = [[], []];
    const start = performance.now();
    let last = start;
    const step = (now) => {
      script.push(terravox.state().frameTimes.at(-1));
      whole.push(now - last);
      last = now;
      terravox.goTo([0, 140, (-speed * (now - start)) / 1000, 0, -15]);
      if (now - start < seconds * 1000) requestAnimationFrame(step);
      else resolve({ script, whole, triangles: terravox.state().triangles });
    };
    requestAnimationFrame(step);
  });
}

/**
 * Script of the main thread by frame, while the world streams in. Calls that draw do nothing: with them, a
 * frame takes seconds, and is given the meshes of seconds.
 */
async function flight() {
  const one = await visit("/?world=hills-7#0,140,0,0,-15");
  const { script, whole, triangles } = await one.get(fly, { speed: SPEED, seconds: FLIGHT_S });
  await one.leave();
  const [p50, p99] = [percentile(script, 0.5), percentile(script, 0.99)];
  put("page_frame_js_ms", round(percentile(script, 0.95), 2), `p50 ${round(p50, 2)}, p99 ${round(p99)}; ${script.length} frames ` +
    `of ${round(percentile(whole, 0.5))} ms in ${FLIGHT_S} s, ${round(triangles / 1e6)} million triangles; without drawing`);
}

/** Runs in a page before its scripts: notes clicks and swaps. */
function noteSwaps() {
  seen.swaps = [];
  addEventListener("mousedown", (event) => (seen.clicked = event.timeStamp), true);
  const { Worker } = globalThis;
  globalThis.Worker = class extends Worker {
    set onmessage(handle) {
      super.onmessage = (event) => {
        handle(event);
        const { data } = event;
        if (data.type !== "swap") return;
        const bounds = data.added.filter((mesh) => mesh.mip === 0).map((mesh) => [...mesh.bounds]);
        seen.swaps.push({ time: performance.timeOrigin + performance.now(), edits: data.edits, bounds });
        seen.swaps.splice(0, seen.swaps.length - 200);
      };
    }
  };
}

/** Waits until nothing of the meshes has changed for a while: they are joined some time after an edit. */
function rests() {
  const { timeOrigin } = performance;
  const last = seen.swaps.at(-1)?.time ?? 0;
  return seen.frame.stats.settled && seen.frame.stats.pending === 0 && timeOrigin + performance.now() - last > 1200;
}

/** Where one stands 15 m above the ground at x and z, which is looked at from above. */
async function above(one, x, z) {
  for (const y of [70, 20, 120]) {
    await one.goTo(x, y, z, 0, -89);
    const ground = await one.get(() => seen.frame.aim?.point[1]);
    if (ground !== undefined) return ground + 15;
  }
  throw new Error(`no ground at ${x}, ${z}`);
}

/** From clicks of one visitor until the meshes are in the scenes of both. */
async function edits() {
  const settings = { ...SETTINGS, view: 1000 };
  // Two windows in front, so that neither is slowed down.
  const one = await visit("/?world=hills-7", { settings, script: noteSwaps, viewport: { width: 480, height: 320 } });
  const two = await visit("/?world=hills-7", { settings, script: noteSwaps, viewport: { width: 480, height: 320 } });
  const [self, other] = [[], []];
  for (let dig = 0; dig < DIGS; dig++) {
    const [x, z] = [24 * (dig % 8), 24 * Math.floor(dig / 8)];
    const y = await above(one, x, z);
    for (const visitor of [one, two]) {
      await visitor.goTo(x, y, z, 0, -89);
      await visitor.until("the meshes rest", rests);
    }
    const [ax, ay, az] = await one.get(() => seen.frame.aim.point);
    const before = await two.get(() => performance.timeOrigin + performance.now());
    await one.useTool();
    const clicked = await one.get(() => performance.timeOrigin + seen.clicked);
    const seenBySelf = () => seen.swaps.find((swap) => swap.edits.length > 0 && swap.time > performance.timeOrigin + seen.clicked)?.time;
    self.push((await one.until("the dig is seen", seenBySelf)) - clicked);
    const seenByOther = ([point, before]) => seen.swaps.find(({ time, bounds }) =>
      time > before && bounds.some((box) => point.every((v, i) => box[i] - 4 < v && v < box[i + 3] + 4)))?.time;
    other.push((await two.until("the dig of the other is seen", seenByOther, [[ax, ay, az], before])) - clicked);
  }
  await Promise.all([one.leave(), two.leave()]);
  for (const [id, times] of [["edit_seen_self_ms", self], ["edit_seen_other_ms", other]]) {
    const note = `p95 of ${times.length} digs, p50 ${round(percentile(times, 0.5))}; without drawing`;
    put(id, round(percentile(times, 0.95)), note);
  }
}

/** What the page and its worker hold after minutes of flight and digging, beside what they held in the middle. */
async function growth() {
  // Cheap to draw: many rounds are flown.
  const settings = { ...SETTINGS, view: 80, scale: 0.5, shadows: false };
  const one = await visit("/?world=hills-7", { settings });
  const session = await one.context.newCDPSession(one.page);
  const workerHeap = await heapOfWorker(session);
  const began = performance.now();
  const held = [];
  let digs = 0;
  while (held.length < 3 || performance.now() - began < minutes * 60_000) {
    digs += await one.get(flyRound, { steps: 400, radius: 150 });
    held.push(await holdings(one, session, workerHeap));
  }
  await one.leave();
  const bytes = ({ heap, workerHeap, wasm }) => heap + workerHeap + wasm;
  const [first, middle, last] = [held[0], held[(held.length - 1) >> 1], held.at(-1)];
  const mib = (one) => round(bytes(one) / 2 ** 20);
  const note = `${mib(middle)} MiB after half of ${round((performance.now() - began) / 60_000)} minutes, ${mib(last)} at the end ` +
    `(${mib(first)} after the first of ${held.length} rounds); ${digs} digs; beside that, in ${middle.Buffer} and ${last.Buffer} ` +
    `buffers of the graphics card ${round(middle.bufferBytes / 2 ** 20)} and ${round(last.bufferBytes / 2 ** 20)} MiB; ` +
    `view ${settings.view} m, ${WINDOW.width} × ${WINDOW.height} at scale ${settings.scale}`;
  put("page_memory_growth", round(bytes(last) / bytes(middle), 3), note);
}

const measures = { size, picture, flight, edits, growth };
try {
  for (const part of parts) await measures[part]();
} finally {
  await endShared();
}
