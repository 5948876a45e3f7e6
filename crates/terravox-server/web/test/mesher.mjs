// Times the mesher in a worker of Chromium and natively, in turn, so that both see the same state of
// the machine. scripts/check-wasm mesher builds both and runs it:
//
//   node mesher.mjs digests.wasm digests
//
// Prints medians in milliseconds for a round of blocks, and the figure `wasm_mesh_vs_native`.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [wasmPath, nativePath] = process.argv.slice(2);

/** Timed samples of each side; the first ones are not counted. */
const SAMPLES = 25;
const WARM_UP = 15;
/** Rounds of blocks in a sample: some 40 ms, so that the clock's resolution does not matter. */
const ROUNDS = 8;

const worker = `
const { instance } = await WebAssembly.instantiateStreaming(fetch("/digests.wasm"));
const { mesh_rounds } = instance.exports;
mesh_rounds(1);
onmessage = ({ data }) => {
  const start = performance.now();
  const triangles = mesh_rounds(data);
  postMessage([performance.now() - start, triangles]);
};
postMessage([0, 0]);
`;
const files = {
  "/": ["text/html", "<!doctype html><title>mesher</title>"],
  "/worker.js": ["text/javascript", worker],
  "/digests.wasm": ["application/wasm", readFileSync(wasmPath)],
};

function serve() {
  const server = createServer((request, response) => {
    const [type, body] = files[request.url] ?? ["text/plain", ""];
    // Cross-origin isolation makes the clock finer.
    response.writeHead(request.url in files ? 200 : 404, {
      "Content-Type": type,
      "Cross-Origin-Opener-Policy": "same-origin",
      "Cross-Origin-Embedder-Policy": "require-corp",
    });
    response.end(body);
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

/** Returns a function that runs rounds natively: [milliseconds, triangles]. */
function native() {
  const child = spawn(nativePath, ["race"], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const run = async (rounds) => {
    child.stdin.write(`${rounds}\n`);
    return (await lines.next()).value.split(" ").map(Number);
  };
  return { run, end: () => child.stdin.end() };
}

/** As native, in a worker of a page. */
async function inBrowser(page) {
  await page.evaluate(() => {
    globalThis.reply = () =>
      new Promise((resolve, reject) => {
        globalThis.mesher.onmessage = ({ data }) => resolve(data);
        globalThis.mesher.onerror = (event) => reject(new Error(event.message));
      });
    globalThis.mesher = new Worker("/worker.js", { type: "module" });
    return globalThis.reply();
  });
  return (rounds) =>
    page.evaluate((rounds) => {
      globalThis.mesher.postMessage(rounds);
      return globalThis.reply();
    }, rounds);
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

const server = await serve();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const here = native();
try {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const there = await inBrowser(page);
  const times = { wasm: [], native: [] };
  for (let sample = 0; sample < WARM_UP + SAMPLES; sample++) {
    const [nativeMs, expected] = await here.run(ROUNDS);
    const [wasmMs, triangles] = await there(ROUNDS);
    if (triangles !== expected) throw new Error(`${triangles} triangles, ${expected} natively`);
    if (sample < WARM_UP) continue;
    times.native.push(nativeMs / ROUNDS);
    times.wasm.push(wasmMs / ROUNDS);
  }
  const [wasm_ms, native_ms] = [median(times.wasm), median(times.native)];
  const ratio = wasm_ms / native_ms;
  console.log(JSON.stringify({ wasm_ms, native_ms, ratio, samples: SAMPLES }));
  console.log(`wasm_mesh_vs_native ${ratio.toFixed(2)}`);
} finally {
  here.end();
  await browser.close();
  server.close();
}
