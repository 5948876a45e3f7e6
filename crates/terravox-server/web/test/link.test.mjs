// The link to the server: it breaks, comes back, is refused, or leads to something else.

import assert from "node:assert/strict";
import { after } from "node:test";
import { Relay, Server } from "./server.mjs";
import { visitTest } from "./visit.mjs";
import { mainServer } from "./visitor.mjs";

/** Where there is no server, the browser says so on the console. */
const NO_LINK = /WebSocket connection to|net::ERR_/;
/** The same where the server has no such world. */
const NOT_FOUND = /WebSocket connection to|status of 404/;

const closing = [];
after(() => Promise.all(closing.map((one) => one.close?.() ?? one.remove())));
const relay = async (server) => {
  const made = await Relay.before(server);
  closing.push(made);
  return made;
};
let secured;
/** A server that needs tokens. */
const securedServer = () => {
  secured ??= Server.start({ args: ["--token", "edit:shovel", "--token", "look:glasses"] }).then((made) => {
    closing.push(made);
    return made;
  });
  return secured;
};

visitTest("the link breaks and comes back, and what was dug meanwhile is dug", async (visit) => {
  const server = await mainServer();
  const between = await relay(server);
  const one = await visit("/", { origin: between.origin, errors: NO_LINK });
  await one.goTo(14, 30, 8, 0, -89);
  const whole = await one.aim();
  between.cut();
  await one.says(/broken.*trying again/);
  assert((await one.useClick("edit")) > 0);
  await one.until("the hole is seen without a link", (at) => seen.frame.aim?.distance > at + 1, whole);
  between.mend();
  await one.says(/^$/);
  const dug = await one.aim();
  assert(dug > whole + 1, `${whole} m to the ground, ${dug} m after the link came back`);
  const two = await visit();
  await two.goTo(14, 30, 8, 0, -89);
  assert(Math.abs((await two.aim()) - dug) < 0.02, "another visitor does not see it");
  assert.deepEqual(await one.get(() => seen.news), []);
});

visitTest("the server ends and begins again, and nothing is lost", async (visit) => {
  const server = await Server.start();
  closing.push(server);
  const between = await relay(server);
  const one = await visit("/", { origin: between.origin, errors: NO_LINK });
  await one.goTo(14, 30, 8, 0, -89);
  const whole = await one.aim();
  await one.useTool();
  const dug = await one.aim();
  assert(dug > whole + 1);
  await server.stop();
  await one.says(/the server ends.*trying again/);
  await server.begin();
  between.mend(server.port);
  await one.says(/^$/);
  assert(Math.abs((await one.aim()) - dug) < 0.02, "the hole is gone");
  await one.useTool();
  assert((await one.aim()) > dug + 1, "one cannot dig on");
});

for (const [direction, what] of [["up", "the server hears"], ["down", "the page hears"]]) {
  visitTest(`a link on which ${what} nothing more is made again, and no edit is lost`, async (visit) => {
    const between = await relay(await mainServer());
    const one = await visit("/", { origin: between.origin, errors: NO_LINK });
    await one.goTo(10, 40, 14, 0, -89);
    const whole = await one.aim();
    between.mute(direction);
    await one.useClick("edit");
    await one.says(/(silent|nothing came).*trying again/);
    await one.says(/^$/);
    await one.until("the server has decided", () => seen.frame.stats.pending === 0);
    const dug = await one.aim();
    assert(dug > whole + 1, `${whole} m to the ground, ${dug} m after the link came back`);
    const two = await visit();
    await two.goTo(10, 40, 14, 0, -89);
    assert(Math.abs((await two.aim()) - dug) < 0.02, "another visitor does not see it");
  });
}

visitTest("what a proxy refuses is tried again, and not taken for a word of the server", async (visit) => {
  const between = await relay(await mainServer());
  between.refusal = `HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\nConnection: close\r\n\r\n<b>no</b>`;
  const one = await visit("/", { origin: between.origin, waits: false, errors: /WebSocket connection to|status of 403/ });
  await one.says(/broken.*trying again/);
  between.refusal = null;
  await one.until("the world is there", () => terravox.state().joined);
});

/** What the server answers over HTTP, as a relay says it in its place. */
const refusedWith = (status, text) =>
  `HTTP/1.1 ${status}\r\nterravox-server: 0\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`;
const REFUSED = /WebSocket connection to|net::ERR_|status of 40[34]/;

visitTest("a world that is not served for a while is waited for, and what was dug meanwhile is dug", async (visit) => {
  const between = await relay(await mainServer());
  const one = await visit("/", { origin: between.origin, errors: REFUSED });
  await one.goTo(-20, 40, 14, 0, -89);
  const whole = await one.aim();
  between.refusal = refusedWith("404 Not Found", "there is no world of this name here");
  between.cut();
  between.mend();
  await one.says(/no world of this name here; trying again/);
  assert((await one.useClick("edit")) > 0);
  await one.until("the hole is seen", (at) => seen.frame.aim?.distance > at + 1, whole);
  const asks = () => one.get(() => !dispatchEvent(new Event("beforeunload", { cancelable: true })));
  assert(await asks(), "the browser does not ask before edits are lost");
  between.refusal = null;
  await one.says(/^$/);
  await one.until("the server has decided", () => seen.frame.stats.pending === 0);
  assert((await one.aim()) > whole + 1);
  assert(!(await asks()));
});

visitTest("a link that ends for good tells how many edits may be lost with it", async (visit) => {
  const between = await relay(await mainServer());
  const one = await visit("/", { origin: between.origin, errors: REFUSED });
  await one.goTo(-20, 40, 4, 0, -89);
  between.cut();
  await one.says(/trying again/);
  assert((await one.useClick("edit")) > 0);
  await one.until("it waits", () => seen.frame.stats.pending > 0);
  between.refusal = refusedWith("403 Forbidden", "visitors are asked to leave");
  between.mend();
  await one.says(/asked to leave\. Reload the page.* [1-9]\d* edits were not confirmed .*may be lost/);
});

visitTest("what is thrown on a link on which the server has not let one in yet is refused with a sentence", async (visit) => {
  const between = await relay(await mainServer());
  const one = await visit("/", { origin: between.origin, errors: NO_LINK });
  await one.frames();
  // A link that opens, and on which nothing is said.
  between.answer = Buffer.alloc(0);
  between.cut();
  between.mend();
  await between.answered();
  await one.frames(10);
  await one.get(() => terravox.tell({ type: "throw", thing: "ball", from: [0, 60, 0], velocity: [0, 1, 0] }));
  await one.frames(3);
  const news = await one.get(() => seen.news);
  assert(news.length === 1 && /nothing can be thrown/.test(news[0]), news.join());
});

/** For a worker: it has a fault when its link breaks, and tells of each link that it opens then. */
const FAULT_AT_BREAK = `{
  const { postMessage, performance, WebSocket } = self;
  const now = performance.now.bind(performance);
  let isBroken = false;
  self.postMessage = (message, ...rest) => {
    isBroken ||= message.type === "lost";
    postMessage.call(self, message, ...rest);
  };
  performance.now = () => {
    if (isBroken) throw new WebAssembly.RuntimeError("unreachable");
    return now();
  };
  self.WebSocket = class extends WebSocket {
    constructor(address) {
      super(address);
      if (isBroken) postMessage.call(self, { type: "news", text: "a link was opened" });
    }
  };
}`;

visitTest("a world that has stopped opens no more links, and what is said of it stays", async (visit) => {
  const between = await relay(await mainServer());
  const options = { origin: between.origin, errors: /WebSocket connection to|net::ERR_|WebGL|CONTEXT_LOST/i };
  const one = await visit("/", options);
  for (const worker of one.page.workers()) await worker.evaluate(FAULT_AT_BREAK);
  between.cut();
  await one.says(/stopped by a fault/);
  await one.get(async () => {
    const card = document.getElementById("view").getContext("webgl2").getExtension("WEBGL_lose_context");
    const restored = new Promise((done) => addEventListener("webglcontextrestored", done, true));
    card.loseContext();
    await new Promise((done) => setTimeout(done, 100));
    card.restoreContext();
    await restored;
    // The first retry comes after 625 ms at most.
    await new Promise((done) => setTimeout(done, 1500));
  });
  assert.match(await one.status(), /stopped by a fault/);
  assert.deepEqual(await one.get(() => seen.news), []);
});

visitTest("a token in the fragment is taken out of the address, and stays for the tab", async (visit) => {
  const { origin } = await securedServer();
  const one = await visit("/?token=old&stats#0,30,0,0,-89&token=shovel", { origin });
  assert.equal(one.page.url(), `${origin}/?stats#0,30,0,0,-89`);
  await one.page.reload();
  await one.until("the world is there again", () => terravox.state().joined);
  // An invitation that is opened in the same tab.
  await one.page.goto(`${origin}/?stats#token=wrong`);
  await one.says(/this token is not known here/);
  assert(!one.page.url().includes("wrong"));
});

visitTest("a token that is not known is refused with a sentence", async (visit) => {
  const { origin } = await securedServer();
  const one = await visit("/?token=wrong", { origin, waits: false });
  await one.says(/this token is not known here.*[Rr]eload/);
  const two = await visit("/", { origin, waits: false });
  await two.says(/a token is needed here/);
});

visitTest("a token lets in, with its right", async (visit) => {
  const { origin } = await securedServer();
  const one = await visit("/?token=shovel", { origin });
  await one.goTo(0, 30, 0, 0, -89);
  const whole = await one.aim();
  await one.useTool();
  const dug = await one.aim();
  assert(dug > whole + 1);
  const two = await visit("/?token=glasses", { origin });
  await two.goTo(0, 30, 0, 0, -89);
  assert(Math.abs((await two.aim()) - dug) < 0.02);
  await two.useTool();
  const isRefused = () => /^Not done: .+/.test(document.getElementById("news").textContent);
  await two.until("the page says that it is not allowed", isRefused);
  assert(Math.abs((await two.aim()) - dug) < 0.02, "who may only look has dug");
});

/** Changes the version in the first message of a browser, which ends with it and an empty token. */
function otherVersion(bytes) {
  // A frame of a WebSocket: two bytes of head, four of a mask, then what is masked.
  bytes[6 + (bytes[1] & 127) - 2] ^= 0x40;
  this.twist = null;
  return bytes;
}

visitTest("a server of another version is named in a sentence", async (visit) => {
  const between = await relay(await mainServer());
  between.twist = otherVersion;
  const one = await visit("/", { origin: between.origin, waits: false });
  await one.says(/version \d+ is not supported.*[Rr]eload/);
});

visitTest("what is no terravox at the other end is told in a sentence", async (visit) => {
  const between = await relay(await mainServer());
  between.answer = Buffer.from("Here is another program.");
  const one = await visit("/", { origin: between.origin, waits: false });
  const said = await one.says(/.+ [Rr]eload the page/);
  assert(said);
});

visitTest("a world that is not served is told in a sentence", async (visit) => {
  const one = await visit("/?world=nowhere", { waits: false, errors: NOT_FOUND });
  await one.says(/there is no world of this name here.*[Rr]eload/);
});

visitTest("things are thrown only where they fall", async (visit) => {
  const tools = (one) => one.page.locator("#tools button").allTextContents();
  assert((await tools(await visit("/"))).some((text) => text.includes("Crate")));
  const server = await Server.start({ args: ["--pieces-stay"] });
  closing.push(server);
  const found = await tools(await visit("/", { origin: server.origin }));
  assert(found.length === 8 && !found.some((text) => /Ball|Crate/.test(text)), found.join());
});
