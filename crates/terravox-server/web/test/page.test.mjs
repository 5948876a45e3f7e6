// The page around the picture: help, settings, narrow screens, and what it may load.

import assert from "node:assert/strict";
import { changed, visitTest, visitTests } from "./visit.mjs";

visitTest("help opens with ?, and settings stay after a reload", async (visit) => {
  const one = await visit();
  const { page } = one;
  await page.keyboard.press("?");
  await page.locator("#help[open]").waitFor();
  const state = () => [document.activeElement.id, document.getElementById("help").scrollTop];
  assert.deepEqual(await one.get(state), ["help", 0], "no field takes what is typed");
  await page.locator("#name").fill("Grace");
  await page.locator("#distance").selectOption("500");
  await page.locator("#shadows").check();
  const reloaded = page.waitForEvent("load");
  await page.locator("#go").click();
  await reloaded;
  await one.until("the world is there again", () => terravox.state().joined);
  await page.locator("#menu").click();
  assert.equal(await page.locator("#name").inputValue(), "Grace");
  assert.equal(await page.locator("#distance").inputValue(), "500");
  assert(await page.locator("#shadows").isChecked());
  assert.match(await page.locator("#where").textContent(), /Everyone here digs in one world/);
  await page.keyboard.press("Escape");
  await page.locator("#help").waitFor({ state: "hidden" });
});

/** Runs in a page before its scripts: lets the test say what the worker would. */
function speakForWorker() {
  const { Worker } = globalThis;
  globalThis.Worker = class extends Worker {
    set onmessage(handle) {
      seen.say = (data) => handle({ data });
      super.onmessage = (event) => {
        if (!seen.isHeld || event.data.type !== "frame") handle(event);
        else seen.held = event.data;
      };
    }
  };
}

visitTest("a body that becomes one of another kind is gone, and a new one is there", async (visit) => {
  const one = await visit("/", { script: speakForWorker });
  await one.get(() => (seen.isHeld = true));
  await one.until("a frame is held", () => seen.held !== undefined);
  const others = await one.get(() => {
    const counts = [];
    // An avatar, a piece, an avatar again, a ball, a crate, what this page does not know, and nothing.
    for (const kind of [-2, -1, -2, 1, 2, 9, -1, 1, -2, null]) {
      if (kind === -2) seen.say({ type: "avatar", body: 77, name: "Mallory" });
      if (kind === -1) seen.say({ type: "piece", body: 77, meshes: [] });
      const bodies = Float64Array.from(kind === null ? [] : [77, kind, 0, 40, 0, 0, 0, 0, 1]);
      for (let frame = 0; frame < 2; frame++) seen.say({ ...seen.held, bodies });
      counts.push(terravox.state().others);
    }
    return counts;
  });
  assert.deepEqual(others, [1, 0, 1, 0, 0, 0, 0, 0, 1, 0]);
});

/** How many colours a picture has, roughly. */
const coloursOf = (picture) => new Set(picture.map((colour) => colour.map((value) => value >> 3).join())).size;

visitTest("name, shadows and resolution change without a reload, and others see the name", async (visit) => {
  const [one, two] = [await visit("/", { settings: { name: "Eve" } }), await visit()];
  for (const visitor of [one, two]) await visitor.goTo(20, 40, -20, 0, -89);
  await two.until("the avatar is there", () => seen.avatars.includes("Eve"));
  await one.get(() => void (globalThis.isSame = true));
  await one.page.locator("#menu").click();
  await one.page.locator("#name").fill("Frances");
  await one.page.locator("#scale").selectOption("0.75");
  await one.page.locator("#shadows").check();
  await one.page.locator("#go").click();
  await two.until("the new name is there", () => seen.avatars.includes("Frances"));
  assert.equal(await two.get(() => terravox.state().others), 1);
  assert(await one.get(() => globalThis.isSame === true), "the page was loaded again");
  assert(coloursOf(await one.picture()) > 20, "the ground is not drawn any more");
});

visitTest("a lost graphics card is had again, with all that it showed", async (visit) => {
  const one = await visit("/", { errors: /WebGL|CONTEXT_LOST/i });
  await one.goTo(20, 40, 4, 0, -60);
  const before = await one.picture();
  await one.get(() => {
    globalThis.card = document.getElementById("view").getContext("webgl2").getExtension("WEBGL_lose_context");
    card.loseContext();
  });
  await one.says(/graphics card was lost/);
  await one.get(() => card.restoreContext());
  await one.says(/^$/);
  await one.settle();
  await one.until("the meshes are back", () => terravox.state().meshes > 10);
  const after = await one.picture();
  assert(coloursOf(after) > 20, "the ground is not drawn");
  assert(changed(before, after) < 64, "the picture is another");
});

visitTest("on a screen of 360 pixels, nothing is cut off or covered", async (visit) => {
  const one = await visit("/", { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true });
  // The buttons for fingers come with the first touch, the palette with the tool that builds.
  await one.page.locator("#tools button").nth(1).tap();
  await one.frames();
  const found = await one.get(() => {
    const wrongs = [];
    if (document.documentElement.scrollWidth > innerWidth) wrongs.push("the page is wider than the screen");
    const all = "#tools button, #palette button, #menu, #touch button, #stick";
    for (const button of document.querySelectorAll(all)) {
      const { left, right, top, bottom } = button.getBoundingClientRect();
      const name = button.textContent.trim() || button.ariaLabel || button.id;
      const scrolls = button.parentElement.scrollWidth > button.parentElement.clientWidth;
      if (top < 0 || bottom > innerHeight) wrongs.push(`${name} is cut off`);
      if (scrolls) continue;
      if (left < 0 || right > innerWidth) wrongs.push(`${name} is cut off at the side: ${left} to ${right}`);
      const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
      if (!button.contains(above)) wrongs.push(`${name} is covered by ${above?.id || above?.textContent}`);
    }
    return wrongs;
  });
  assert.deepEqual(found, []);
  await one.page.locator("#menu").tap();
  const { x, width } = await one.page.locator("#help").boundingBox();
  assert(x >= 0 && x + width <= 360, `help is ${width} wide at ${x}`);
});

visitTests("a visit by a link", { path: "/#10.0,40.0,-5.0,90,-30", errors: /Content.Security.Policy/i }, {
  async "begins at its place, and another link leads to another"(one) {
    const [x, y, z] = await one.get(() => seen.frame.eye);
    assert(Math.hypot(x - 10, y - 40, z + 5) < 0.1, `at ${[x, y, z]}`);
    await one.get(() => (location.hash = "#-10,45,5"));
    const isThere = () => seen.frame.eye[0] < -9 && seen.frame.eye[1] > 44;
    await one.until("the player is at the other place", isThere);
  },

  async "loads all from its server, and its policy forbids the rest"(one) {
    const loaded = await one.get(() => performance.getEntriesByType("resource").map((entry) => entry.name));
    assert(loaded.length >= 3, `only ${loaded}`);
    for (const url of loaded) assert.equal(new URL(url).origin, one.origin);
    // Nothing listens there; a request would be noted.
    const forbidden = await one.get(() => {
      const violated = new Promise((resolve) => {
        addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
      });
      fetch("http://127.0.0.2:9/").catch(() => {});
      return violated;
    });
    assert.equal(forbidden, "connect-src");
  },
});
