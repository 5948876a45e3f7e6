// Browsers that lack what the page needs are told so.

import { visitTest } from "./visit.mjs";

visitTest("without WebGL 2, the page says what is missing", async (visit) => {
  const script = () => {
    const { getContext } = HTMLCanvasElement.prototype;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
      return kind === "webgl2" ? null : getContext.call(this, kind, ...rest);
    };
  };
  const one = await visit("/", { script, waits: false, errors: /WebGL/ });
  await one.says(/no WebGL 2\. Try another/);
});

visitTest("without WebAssembly, the page says what is missing", async (visit) => {
  // There is none where no code may be made while a program runs.
  const one = await visit("/", { flags: ["--js-flags=--jitless"], waits: false });
  await one.says(/WebAssembly/);
});

visitTest("without the SIMD instructions of WebAssembly, the page says what is missing", async (visit) => {
  const one = await visit("/", { flags: ["--js-flags=--no-enable-sse4-1"], waits: false });
  await one.says(/cannot run the world: .*SIMD/i);
});
