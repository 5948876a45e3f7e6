// A visit of the page in Chromium: what a visitor does and sees.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { Server } from "./server.mjs";
import { watch } from "./watch.mjs";

/** Drawing is left to the processor: there may be no graphics card. */
const FLAGS = ["--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];
const MORE_FLAGS = process.env.TERRAVOX_CHROMIUM_FLAGS?.split(" ") ?? [];
/** After this long, something hangs. Nothing is judged by its time. */
export const PATIENCE = 120_000;
/** Cheap to draw. */
const SETTINGS = { name: "one", view: 80, scale: 0.5, shadows: false };

/** A browser with some more flags. */
export function launch(flags = []) {
  const executablePath = process.env.CHROMIUM ?? "chromium";
  return chromium.launch({ executablePath, args: [...FLAGS, ...MORE_FLAGS, ...flags], timeout: PATIENCE });
}

/** The script of the page's workers. */
const WORKER = /\/worker-[^/]*\.js$/;

/** Answers with a script of the server, and some more before it. */
async function prepend(route, text) {
  const response = await route.fetch();
  const headers = { ...response.headers() };
  delete headers["content-encoding"];
  delete headers["content-length"];
  await route.fulfill({ response, headers, body: `${text};\n${await response.text()}` });
}

const shared = {};
/** The browser of all visits that need no other. */
const browser = () => (shared.browser ??= launch());
/** The server of all visits that need no other: the island, and the hills of the documentation. */
export const mainServer = () => (shared.server ??= Server.start({ worlds: ["hills:7"] }));

/** Ends the browser and the server that visits share. */
export async function endShared() {
  await (await shared.browser)?.close();
  await (await shared.server)?.remove();
}

/**
 * A page in a browser. Options: `origin` of the server; `settings` in place of some of those above;
 * `waits`: whether until the world is there; `errors`: what may be on the console; `flags` of a browser of
 * its own; `script`: a function to run in the page before its scripts, `workerScript`: text to run in its workers
 * before theirs; else those of a context.
 */
export class Visit {
  static async prepare(options) {
    const { settings, waits: _, path: __, errors, flags, script, workerScript, ...rest } = options;
    const origin = options.origin ?? (await mainServer()).origin;
    const value = JSON.stringify({ ...SETTINGS, ...settings });
    const origins = [{ origin, localStorage: [{ name: "terravox", value }] }];
    const own = flags && (await launch(flags));
    const context = await (own ?? (await browser())).newContext({
      viewport: { width: 480, height: 320 },
      storageState: { cookies: [], origins },
      ...rest,
    });
    context.setDefaultTimeout(PATIENCE);
    await context.addInitScript(watch);
    if (script) await context.addInitScript(script);
    const visit = new Visit(context, await context.newPage(), origin, errors);
    if (workerScript) await visit.runInWorkers(workerScript);
    visit.leave = () => (own ?? context).close();
    return visit;
  }

  constructor(context, page, origin, errors) {
    [this.context, this.page, this.origin, this.wrongs] = [context, page, origin, []];
    const wrong = (text) => errors?.test(text) || this.wrongs.push(text);
    // What a worker writes to the console comes here, too.
    page.on("console", (message) => message.type() === "error" && wrong(message.text()));
    page.on("pageerror", (error) => wrong(String(error)));
    // The browser asks before a page with unsaved edits is left.
    page.on("dialog", (dialog) => dialog.accept());
    page.on("crash", () => wrong("the page crashed"));
    const ask = (url) => {
      const { protocol, host } = new URL(url);
      if (protocol !== "data:" && host !== new URL(origin).host) this.wrongs.push(`asked ${url}`);
    };
    context.on("request", (request) => ask(request.url()));
    page.on("websocket", (socket) => ask(socket.url()));
  }

  /** Runs a text in workers that begin from now on, before their scripts. */
  runInWorkers(text) {
    return this.context.route(WORKER, (route) => prepend(route, text));
  }

  async begin(path, { waits = true }) {
    await this.page.goto(this.origin + path);
    const isThere = () => terravox.state().joined && seen.frame?.stats.settled;
    if (waits) await this.until("the world is there", isThere);
  }

  /** Waits until a function in the page returns something that is true, and returns it. */
  async until(what, condition, argument) {
    try {
      const found = await this.page.waitForFunction(condition, argument, { polling: 30 });
      return await found.jsonValue();
    } catch (error) {
      throw new Error(`not so: ${what} (${error.message.split("\n")[0]})`);
    }
  }

  get(what, argument) {
    return this.page.evaluate(what, argument);
  }

  /** Waits for frames of the world that are asked for from now on. */
  async frames(count = 3) {
    const from = await this.get(() => seen.count);
    await this.until("frames go on", (at) => seen.count >= at, from + count);
  }

  /** Flies to a place and looks along angles in degrees; waits until it is shown. */
  async goTo(x, y, z, yaw = 0, pitch = 0) {
    await this.get((place) => {
      terravox.fly(true);
      terravox.goTo(place);
    }, [x, y, z, yaw, pitch]);
    await this.frames();
    await this.settle();
  }

  async settle() {
    const isShown = () => seen.frame.stats.settled && seen.frame.stats.pending === 0;
    await this.until("the world is shown", isShown);
    await this.frames();
  }

  /** Waits until the place of the eyes has been the same for some frames; returns all places so far. */
  async rest(count = 20) {
    await this.frames(count);
    await this.until("the player rests", (count) => {
      const heights = (i) => seen.frames.slice(-count).map((frame) => frame.eye[i]);
      return [0, 1, 2].every((i) => Math.max(...heights(i)) - Math.min(...heights(i)) < 0.01);
    }, count);
    return this.get(() => seen.frames);
  }

  /** Holds a key meanwhile. */
  async hold(key, body) {
    await this.page.keyboard.down(key);
    try {
      return await body();
    } finally {
      await this.page.keyboard.up(key);
    }
  }

  /** How far the eyes see until there is ground, metres. */
  async aim() {
    await this.settle();
    return this.get(() => seen.frame.aim?.distance ?? Infinity);
  }

  /** Applies an operation, as the tools do. */
  edit(brush, action) {
    const op = { brush: { brush, action } };
    return this.get((op) => terravox.tell({ type: "edit", op, at: performance.now() }), op);
  }

  /**
   * Uses the tool by a click in the middle; returns how many messages of a type to the worker that made. The first
   * click catches the pointer only, where that can be caught.
   */
  async useClick(type) {
    const { width, height } = this.page.viewportSize();
    const count = () => this.get((type) => seen.posts[type] ?? 0, type);
    const before = await count();
    await this.page.mouse.move(width / 2, height / 2);
    const isCaught = () => this.get(() => document.pointerLockElement !== null);
    if (!(await isCaught())) {
      await this.page.mouse.down();
      const isCaughtOrUsed = ([type, count]) => document.pointerLockElement !== null || seen.posts[type] > count;
      await this.until("the pointer is caught", isCaughtOrUsed, [type, before]);
      await this.page.mouse.up();
    }
    if ((await count()) === before) {
      await this.page.mouse.down();
      await this.until("the tool is used", ([type, count]) => (seen.posts[type] ?? 0) > count, [type, before]);
      await this.page.mouse.up();
    }
    return (await count()) - before;
  }

  /** Uses a tool that edits; returns how many strokes that were. */
  async useTool() {
    const strokes = await this.useClick("edit");
    await this.until("the server has decided", () => seen.frame.stats.pending === 0);
    return strokes;
  }

  status() {
    return this.page.locator("#status").textContent();
  }

  /** Waits for a sentence above the picture. */
  says(pattern) {
    const argument = [pattern.source, pattern.flags];
    const matches = ([source, flags]) =>
      new RegExp(source, flags).test(document.getElementById("status").textContent);
    return this.until(`the page says ${pattern}`, matches, argument);
  }

  /** The colours of a grid in the middle of the picture: 16 × 16 squares of one frame with ground. */
  async picture(squares = 16) {
    await this.frames(2);
    return this.get((squares) => new Promise((resolve) => {
      const copy = () => {
        seen.draws = false;
        const canvas = document.getElementById("view");
        const context = new OffscreenCanvas(squares, squares).getContext("2d");
        context.imageSmoothingQuality = "high";
        const [size, left] = [canvas.height, (canvas.width - canvas.height) / 2];
        context.drawImage(canvas, left, 0, size, size, 0, 0, squares, squares);
        const { data } = context.getImageData(0, 0, squares, squares);
        resolve(Array.from({ length: squares * squares }, (_, i) => [...data.slice(4 * i, 4 * i + 3)]));
      };
      // The page asked for its next frame before, so it has drawn when this copies.
      requestAnimationFrame(() => {
        seen.draws = true;
        requestAnimationFrame(copy);
      });
    }), squares);
  }

  async describe() {
    const state = () => {
      const status = document.getElementById("status")?.textContent;
      const { frame, news, lost } = seen;
      return JSON.stringify({ status, ...frame, news, lost });
    };
    return this.get(state).catch((error) => `no state: ${error.message}`);
  }

  /** Keeps what was seen when a test failed, where TERRAVOX_PICTURES says. */
  async keepPicture(name) {
    const folder = process.env.TERRAVOX_PICTURES;
    if (!folder) return;
    mkdirSync(folder, { recursive: true });
    await this.get(() => (seen.draws = true)).catch(() => {});
    await this.page.screenshot({ path: join(folder, `${name.replaceAll(/\W+/g, "-")}.png`) }).catch(() => {});
  }
}
