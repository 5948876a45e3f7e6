// Local worlds: files that become one, the list of those that are kept, and downloads.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";
import { visitTest } from "./visit.mjs";

/** A PNG of a slope of 64 × 64 samples, from black in the west to white in the east. */
function slope() {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body) >>> 0);
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(64, 0);
  head.writeUInt32BE(64, 4);
  // Eight bits of grey.
  head[8] = 8;
  const rows = Array.from({ length: 64 }, () => [0, ...Array.from({ length: 64 }, (_, x) => x * 4)]).flat();
  const magic = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.from(rows))), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([magic, ...parts]);
}

/** Drops a file on the page. */
function drop(one, name, bytes) {
  return one.get(({ name, bytes }) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([new Uint8Array(bytes)], name));
    dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
  }, { name, bytes: [...bytes] });
}

const news = (one, pattern) => one.until(`the page says ${pattern}`, (source) =>
  new RegExp(source).test(document.getElementById("news").textContent), pattern.source);
const line = (one, name) => one.page.locator("#kept li", { hasText: name });

async function downloaded(one, click) {
  const [download] = await Promise.all([one.page.waitForEvent("download"), click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

visitTest("a dropped heightmap becomes a world that is kept, listed, downloaded and deleted", async (visit) => {
  const one = await visit("/?seed=7#0,40,0,0,-80", { waits: false });
  const { page } = one;
  await one.until("there is ground", () => seen.frame?.aim);
  await drop(one, "story.rbxl", Buffer.from("Once there was no place."));
  await news(one, /story\.rbxl: no world, place, scene or heightmap/);
  assert.equal(await page.locator("#news .progress").count(), 0, "what follows takes its place");
  await drop(one, "slope.png", slope());
  await page.waitForURL(/file=slope\.tvx/);
  await one.until("the land is there", () => globalThis.seen?.frame?.stats.settled && terravox.state().joined);
  const height = async (x) => {
    await one.goTo(x, 40, 32, 0, -89);
    return 40 - (await one.aim());
  };
  const rise = (await height(60)) - (await height(4));
  assert(Math.abs(rise - 7) < 0.5, `rises by ${rise} m`);
  await page.locator("#menu").click();
  assert(!(await page.locator("#help .throws").first().isVisible()), "nothing is thrown without a server");
  const glb = await downloaded(one, () => page.locator("#glb").click());
  assert.equal(glb.name, "slope.glb");
  assert.equal(glb.bytes.subarray(0, 4).toString(), "glTF");
  assert.equal(glb.bytes.readUInt32LE(8), glb.bytes.length);
  const world = await downloaded(one, () => page.locator("#export").click());
  assert.equal(world.name, "slope.tvx");
  await line(one, "slope").getByText("shown here").waitFor();
  // From the page of another world, it is one of several.
  await page.goto(`${one.origin}/?seed=7#0,40,0,0,-80`);
  await page.locator("#menu").click();
  const kept = await downloaded(one, () => line(one, "slope").getByText("Download").click());
  assert(kept.bytes.equals(world.bytes));
  await line(one, "slope").getByText("Delete", { exact: true }).click();
  await line(one, "slope").getByText("Delete for good?").click();
  await line(one, "slope").waitFor({ state: "detached" });
  await page.goto(`${one.origin}/?file=slope.tvx`);
  await one.says(/there is no world “slope\.tvx” in this browser/);
});

visitTest("a dropped file does not take the place of the world of a seed", async (visit) => {
  const one = await visit("/?seed=7#0,40,0,0,-80", { waits: false });
  const { page } = one;
  await one.until("there is ground", () => seen.frame?.aim);
  // Without a number it would get one where there is another.
  for (const [name, file] of [["hills 5.png", "imported hills 5"], ["Hills.png", "imported Hills"]]) {
    await drop(one, name, slope());
    await page.waitForURL((url) => url.searchParams.get("file") === `${file}.tvx`);
    await one.until("the land is there", () => globalThis.seen?.frame?.stats.settled && terravox.state().joined);
  }
  await page.goto(`${one.origin}/?seed=5#0,40,0,0,-80`);
  await one.until("there are hills", () => globalThis.seen?.frame?.stats.settled && terravox.state().triangles > 100_000);
});

/** Browsers that keep files for good once they are asked, and how often they were. */
function persistsWhenAsked() {
  globalThis.asked = 0;
  const storage = StorageManager.prototype;
  storage.persisted = () => Promise.resolve(localStorage.getItem("persistent") !== null);
  storage.persist = () => {
    globalThis.asked++;
    return Promise.resolve((localStorage.setItem("persistent", ""), true));
  };
}

visitTest("the menu says from the start whether the browser may delete worlds, until it may not", async (visit) => {
  const one = await visit("/?seed=7#0,40,0,0,-80", { waits: false, script: persistsWhenAsked });
  const { page } = one;
  const says = async () => {
    await page.locator("#menu").click();
    const text = await page.locator("#where").textContent();
    await page.keyboard.press("Escape");
    return text;
  };
  await one.until("there is ground", () => seen.frame?.aim);
  assert.match(await says(), /kept in this browser\. The browser may delete it/);
  // A cut is an edit.
  await page.keyboard.press("Digit7");
  await one.useClick("copy");
  await one.until("the browser is asked", () => asked > 0);
  await one.get(() => document.exitPointerLock());
  assert(!/may delete/.test(await says()));
  await page.reload();
  await one.until("there is ground again", () => globalThis.seen?.frame?.aim);
  assert(!/may delete/.test(await says()));
  assert.equal(await one.get(() => asked), 0, "it is not asked again");
});

visitTest("a browser is asked to keep a file that was dropped", async (visit) => {
  const one = await visit("/", { script: persistsWhenAsked });
  await drop(one, "house.png", slope());
  await news(one, /house.*is kept in this browser/);
  await one.until("the browser is asked", () => asked === 1);
});

visitTest("a kept world that cannot be opened can be downloaded and deleted", async (visit) => {
  const one = await visit("/?seed=7#0,40,0,0,-80", { waits: false });
  const { page } = one;
  await one.until("there is ground", () => seen.frame?.aim);
  await one.get(async () => {
    const folder = await navigator.storage.getDirectory();
    const writable = await (await folder.getFileHandle("broken.tvx", { create: true })).createWritable();
    await writable.write("This was a world.");
    await writable.close();
  });
  await page.goto(`${one.origin}/?file=broken.tvx`);
  await one.says(/cannot be opened: .*broken\.tvx.*menu/);
  await page.locator("#menu").click();
  const kept = await downloaded(one, () => line(one, "broken").getByText("Download").click());
  assert.equal(kept.bytes.toString(), "This was a world.");
  await line(one, "broken").getByText("Delete", { exact: true }).click();
  await line(one, "broken").getByText("Delete for good?").click();
  await line(one, "broken").waitFor({ state: "detached" });
  await page.goto(`${one.origin}/?file=${encodeURIComponent("a/b.tvx")}`);
  await one.says(/cannot be the name of a file/);
});

visitTest("an empty file is no world, and is not made one", async (visit) => {
  const one = await visit("/?seed=7#0,40,0,0,-80", { waits: false });
  const { page } = one;
  await one.until("there is ground", () => seen.frame?.aim);
  await one.get(async () => {
    const folder = await navigator.storage.getDirectory();
    await folder.getFileHandle("hills 5.tvx", { create: true });
  });
  const size = () => one.get(async () => {
    const folder = await navigator.storage.getDirectory();
    return (await (await folder.getFileHandle("hills 5.tvx")).getFile()).size;
  });
  await page.goto(`${one.origin}/?file=${encodeURIComponent("hills 5.tvx")}`);
  await one.says(/cannot be opened: .*hills 5\.tvx.*no world in it/);
  assert.equal(await size(), 0);
  // By its seed it may be made.
  await page.goto(`${one.origin}/?seed=5#0,40,0,0,-80`);
  await one.until("there is ground", () => globalThis.seen?.frame?.aim);
  assert((await size()) > 0);
});

/** Of workers: the disk fails once the world is here, and the steps of each second are counted. */
const UNREADABLE = `{
  const { postMessage } = self;
  const [files, ports] = [FileSystemSyncAccessHandle.prototype, MessagePort.prototype];
  const [read, send] = [files.read, ports.postMessage];
  let [isBad, count] = [false, 0];
  self.postMessage = (message, ...rest) => {
    isBad ||= message.type === "joined";
    postMessage.call(self, message, ...rest);
  };
  files.read = function (out, options) {
    const length = read.call(this, out, options);
    if (isBad) out[0] ^= 1;
    return length;
  };
  ports.postMessage = function (...message) {
    count++;
    send.apply(this, message);
  };
  setInterval(() => {
    postMessage.call(self, { type: "counted", count });
    count = 0;
  }, 1000);
}`;

visitTest("a local world with a part that cannot be read says so once, and rests", async (visit) => {
  const one = await visit("/?seed=17#0,40,0,0,-89", { waits: false });
  await one.until("there is ground", () => seen.frame?.aim);
  await one.useTool();
  await one.until("it is written", () => seen.frame.stats.saved && seen.frame.stats.pending === 0);
  await one.runInWorkers(UNREADABLE);
  await one.page.reload();
  await news(one, /cannot be read and is missing/);
  // Without rest there are thousands in each second.
  await one.until("the worker rests", () => seen.counted < 300);
  assert.equal(await one.get(() => seen.news.filter((text) => /cannot be read/.test(text)).length), 1);
  assert(!(await one.get(() => seen.frame.stats.settled)));
});

/** Of workers, as in browsers that keep no files for pages, and in those of 2022. */
const NO_FILES = "StorageManager.prototype.getDirectory = () => Promise.reject(new Error('no files'))";
const PROMISED_SIZES = `const { getSize } = FileSystemSyncAccessHandle.prototype;
  FileSystemSyncAccessHandle.prototype.getSize = async function () { return getSize.call(this); }`;
const leaves = () => !dispatchEvent(new Event("beforeunload", { cancelable: true }));

for (const [what, workerScript] of [["keeps no files", NO_FILES], ["promises sizes of files", PROMISED_SIZES]]) {
  visitTest(`where the browser ${what}, a world is in memory, and the page says so`, async (visit) => {
    const one = await visit("/?seed=7#0,40,0,0,-80", { waits: false, workerScript });
    const { page } = one;
    await one.until("there is ground", () => seen.frame?.aim);
    await news(one, /keeps no files for pages/);
    assert(!(await one.get(leaves)), "nothing would be lost yet");
    await one.useTool();
    await one.until("the browser asks before the world is lost", leaves);
    // The pointer is caught.
    await page.keyboard.press("?");
    assert.match(await page.locator("#where").textContent(), /in memory only/);
    assert(!(await page.locator("#kept").isVisible()), "an empty file is listed");
    const world = await downloaded(one, () => page.locator("#export").click());
    assert.equal(world.bytes.subarray(1, 4).toString(), "TVX");
    await one.until("it is had", () => seen.frame.stats.saved);
    assert(!(await one.get(leaves)));
    await page.goto(`${one.origin}/?file=mine.tvx`);
    await one.says(/mine\.tvx/);
  });
}

visitTest("what is dug last before a page is left is kept", async (visit) => {
  const one = await visit("/?seed=11#0,40,0,0,-89", { waits: false });
  const whole = await one.until("there is ground", () => seen.frame?.stats.settled && seen.frame.aim?.distance);
  assert(!(await one.get(leaves)));
  // Edited and saved before the worker takes another step.
  await one.get(() => {
    const centre = seen.frame.aim.point;
    const op = { brush: { brush: { ball: { centre, radius: 4 } }, action: "dig" } };
    terravox.tell({ type: "edit", op, at: performance.now() });
    dispatchEvent(new Event("pagehide"));
  });
  await one.page.reload();
  await one.until("the hole is there", (at) => globalThis.seen?.frame?.aim?.distance > at + 1, whole);
});
