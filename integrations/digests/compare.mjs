// Compares the digests of WebAssembly with those of this machine.
//
//   digests worlds 0 24 | node compare.mjs digests.wasm
//
// Prints the worlds that differ, with the steps, and the figure `wasm_digest_differences`.
import { readFileSync } from "node:fs";

const steps = ["ground", "edits", "cells", "meshes", "buffers", "history", "particles"];
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
// A trap leaves an instance in any state.
const instantiate = () => new WebAssembly.Instance(module, {}).exports;
let wasm = instantiate();

/** The digests of a world as the native program prints them. */
function digests(world) {
  const at = wasm.world_digests(world);
  const words = new DataView(wasm.memory.buffer, at, 16 * steps.length);
  const hexadecimal = (offset) => words.getBigUint64(offset, true).toString(16).padStart(16, "0");
  return steps.map((_, i) => hexadecimal(16 * i + 8) + hexadecimal(16 * i));
}

const line = wasm.main(0, 0);
if (line !== 0) {
  console.error(`wasm: line ${line} of the digests differs`);
  process.exitCode = 1;
}
let differences = 0;
const lines = readFileSync(0, "utf8").trim().split("\n");
for (const [world, ...expected] of lines.map((line) => line.split(" "))) {
  let wrong;
  try {
    const found = digests(Number(world));
    wrong = steps.filter((_, i) => found[i] !== expected[i]).join(", ");
  } catch (error) {
    wrong = String(error);
    wasm = instantiate();
  }
  if (wrong !== "") {
    console.error(`wasm: world ${world} differs: ${wrong}`);
    differences += 1;
  }
}
console.log(`wasm_digest_differences ${differences} of ${lines.length}`);
if (differences > 0) process.exitCode = 1;
