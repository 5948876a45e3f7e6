// Servers of worlds for the tests, and a relay before one, which can break or twist what it carries.

import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** `terravox`, with the server in it. */
const program = process.env.TERRAVOX_PROGRAM;
if (!program) throw new Error("TERRAVOX_PROGRAM must be the path of terravox; scripts/test-page sets it");

/** A world of 64 m, quick to draw: a hill of 45 m in the north-west, water 7 m deep at x = z = 28. */
export const ISLAND = { name: "island", seed: 29, water: [28, 28], waterLevel: 4 };

/** Programs that run. An interrupted test leaves none behind. */
const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill()));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

/** A running `terravox serve`, with a folder of its own for its worlds. */
export class Server {
  #folder = mkdtempSync(join(tmpdir(), "terravox-page-"));
  #args;
  #child = null;
  port = 0;
  log = "";

  /** Starts a server of the island and, beside it, of other worlds. */
  static async start({ worlds = [], args = [] } = {}) {
    const server = new Server();
    const file = `${ISLAND.name}.tvx`;
    execFileSync(program, ["generate", file, "--seed", String(ISLAND.seed), "--size", "64"], {
      cwd: server.#folder,
      stdio: "pipe",
    });
    server.#args = ["serve", file, ...worlds, ...args];
    await server.begin();
    return server;
  }

  get origin() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts the program, again if it was stopped; waits until it listens. */
  async begin() {
    const child = spawn(program, [...this.#args, "--port", "0"], {
      cwd: this.#folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    running.add(child);
    child.once("exit", () => running.delete(child));
    const listens = new Promise((resolve, reject) => {
      createInterface({ input: child.stderr }).on("line", (line) => {
        this.log += `${line}\n`;
        const port = /\b(?:ws|http):\/\/[^\s:]+:(\d+)/.exec(line)?.[1];
        if (port) resolve(Number(port));
      });
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${this.log}`)));
    });
    this.port = await listens;
  }

  /** Ends the program as a user would; its worlds stay. */
  async stop() {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }

  /** Ends the program and removes its worlds. */
  async remove() {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Carries connections to a server. */
export class Relay {
  #sockets = new Set();
  #listener = net.createServer((socket) => this.#accept(socket));
  /** Whether connections are broken, and no more are taken. */
  isCut = false;
  /** Changes what a browser sends: a function of the bytes of each read after the head. */
  twist = null;
  /** Says something else in the place of the server's link: the bytes of a binary message. */
  answer = null;
  #noteAnswer = () => {};
  /** Refuses links as a proxy does that has nothing to do with the server: the head of a response. */
  refusal = null;
  /** Connections of which nothing more is carried to the server, or from it, though they stay open. */
  #mutedUp = new Set();
  #mutedDown = new Set();

  constructor(port) {
    this.target = port;
  }

  /** Waits until it has said that. */
  answered() {
    return new Promise((resolve) => (this.#noteAnswer = resolve));
  }

  static async before(server) {
    const relay = new Relay(server.port);
    relay.#listener.listen(0, "127.0.0.1");
    await once(relay.#listener, "listening");
    return relay;
  }

  get origin() {
    return `http://127.0.0.1:${this.#listener.address().port}`;
  }

  cut() {
    this.isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Carries nothing more on the connections that there are: `up` to the server, or `down` from it. */
  mute(direction) {
    for (const socket of this.#sockets) (direction === "up" ? this.#mutedUp : this.#mutedDown).add(socket);
  }

  mend(port = this.target) {
    this.target = port;
    this.isCut = false;
  }

  async close() {
    this.cut();
    this.#listener.close();
    await once(this.#listener, "close");
  }

  #accept(socket) {
    this.#keep(socket);
    if (this.isCut) return socket.destroy();
    // All requests of a page fit into one read.
    socket.once("data", (head) => {
      const key = /^sec-websocket-key: (\S+)/im.exec(head.toString("latin1"))?.[1];
      if (key && this.answer) return socket.write(acceptance(key, this.answer), () => this.#noteAnswer());
      if (this.refusal && head.includes("/link")) return socket.end(this.refusal);
      const server = net.connect(this.target, "127.0.0.1");
      this.#keep(server);
      server.write(head);
      socket.on("data", (bytes) => {
        if (!this.#mutedUp.has(socket)) server.write(this.twist ? this.twist(bytes) : bytes);
      });
      server.on("data", (bytes) => this.#mutedDown.has(server) || socket.write(bytes));
      server.on("end", () => this.#mutedDown.has(server) || socket.end());
      for (const [one, other] of [[socket, server], [server, socket]]) one.on("close", () => other.destroy());
    });
  }

  #keep(socket) {
    this.#sockets.add(socket);
    // What breaks is closed next.
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
  }
}

/** The response that opens a WebSocket, and a first message of fewer than 126 bytes. */
function acceptance(key, message) {
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const head = [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept}`,
  ];
  const frame = Buffer.from([0x82, message.length]);
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), frame, message]);
}
