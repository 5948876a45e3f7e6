import { Visit, endShared } from "/work/main/crates/terravox-server/web/test/visitor.mjs";
const SETTINGS = { view: 2000, scale: 0, shadows: true };
function note() {
  seen.draws = true;
  seen.log = [];
  const log = (what) => seen.log.push(`${performance.now().toFixed(0)} ${what}`);
  globalThis.tlog = log;
  const { Worker } = globalThis;
  const copy = () => {
    log("copy begins");
    const context = new OffscreenCanvas(1, 1).getContext("2d");
    context.drawImage(document.getElementById("view"), 0, 0, 1, 1);
    context.getImageData(0, 0, 1, 1);
    log("copy ends");
    seen.whole = performance.now();
  };
  globalThis.Worker = class extends Worker {
    constructor(...args) {
      super(...args);
      log("worker");
      let isWhole = false;
      let count = {};
      this.addEventListener("message", ({ data }) => {
        count[data.type] = (count[data.type] ?? 0) + 1;
        if (data.type === "frame" && !isWhole) log(`f recv ${data.stats.received} longest ${data.stats.longest.toFixed(0)} cells ${data.stats.cells}`); else if (!isWhole) log(`${data.type} ${data.added ? data.added.length + " mips " + [...new Set(data.added.map((m) => m.mip))] : ""} ${data.text ?? ""}`);
        if (isWhole || data.type !== "swap" || !data.added.some((mesh) => mesh.mip > 0)) return;
        isWhole = true;
        requestAnimationFrame(() => requestAnimationFrame(copy));
      });
    }
  };
  let last = 0;
  const tick = (now) => { if (now - last > 100) log(`frame gap ${(now - last).toFixed(0)}`); last = now; requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
}
for (let i = 0; i < 6; i++) {
  const one = await Visit.prepare({ settings: SETTINGS, viewport: { width: 960, height: 540 }, script: note });
  await one.begin("/?world=hills-7#0,60,0,215,-12", { waits: false });
  const t = await one.until("whole", () => seen.whole);
  console.log("VISIT", i, t);
  console.log((await one.get(() => seen.log)).join("\n"));
  console.log(JSON.stringify(await one.get(() => performance.getEntriesByType("resource").map((r) => [r.name.split("/").pop(), Math.round(r.startTime), Math.round(r.responseEnd)]))));
  await one.leave();
}
await endShared();
