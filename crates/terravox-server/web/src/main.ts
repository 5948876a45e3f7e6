// The page: input, what is drawn, and what is said. The world is in the worker.

import * as THREE from "three";
import { Controls } from "./controls";
import type { Aim, FromWorker, Material, Stats, ToWorker } from "./messages";
import { loadSettings, saveSettings } from "./settings";
import { Graph } from "./graph";
import { TOOLS, centreOf, cubeAround, operationOf, pasteAt, type Brush } from "./tools";
import { View } from "./view";
import { addressOf, download, importFile, leaveNotes, listWorlds, newWorker, takeNotes } from "./worlds";
import { textOf } from "./text";

/** How far the terrain reaches, in view distances: there, haze has hidden all but 3 % of it. */
const TERRAIN_REACH = 2.5;
/**
 * LodOptions.detail: a block is split when the eye is nearer than this many of its edges. Hills with caves then
 * have 1.5 million triangles, as many as modest graphics cards draw.
 */
const DETAIL = 1.5;
/** Strokes a second while the button is held. */
const STROKES = 8;
/** The status until there is ground. */
const LOADING = "Loading the ground …";
/** Where a visit begins: over the ground, which is not known yet. */
const START = [0, 90, 0];

const byId = (id: string) => document.getElementById(id)!;
const settings = loadSettings();
const query = new URLSearchParams(location.search);

let view: View;
let worker: Worker;
let controls: Controls;
const graph = new Graph(byId("graph") as HTMLCanvasElement);
let joined = false;
let materials: Material[] = [];
let voxel = 1;
let origin = [0, 0, 0];
let eye: [number, number, number] = [START[0]!, START[1]!, START[2]!];
let aim: Aim | null = null;
let tool = 0;
let material = 8;
let radius = 3;
let hour = hourOf(query.get("time"));
let lastStroke = 0;
let lastFrame = performance.now();
let stats: Stats | null = null;
let showsStats = query.has("stats");
/** What is shown over the ground: nothing, levels, borders of blocks, collision. */
let overlay = 0;
const OVERLAYS = ["", "colours: levels of detail", "lines: borders of blocks", "lines: what bodies collide with"];
let collisionAsked = 0;
let hasServer = false;
let isStatic = false;
/** Whether the server lets fall what is thrown. */
let letsThrow = false;
/** The file of the world of one's own that is shown. */
let ownName: string | null = null;
/** Whether the worker has yet to answer a frame, and seconds that it was not told of. */
let isAsked = false;
let untold = 0;
/** Size of what was copied, voxels, and quarter turns of the next paste. */
let clip: [number, number, number] | null = null;
let turns = 0;
/** Lines of news at one time. */
const MOST_NEWS = 4;
/** Speed of what is thrown, metres per second. */
const THROW = 16;
/** Milliseconds from clicks until the mesh was in the scene, and of this thread's scripts for each frame. */
const seenAfter: number[] = [];
const frameTimes: number[] = [];
/** Milliseconds of messages since the last frame. */
let messageTime = 0;

/** Returns the hour of the address, or 10 if it is none. */
function hourOf(text: string | null): number {
  const hour = Number(text ?? 10);
  return Number.isFinite(hour) ? hour : 10;
}

function tell(message: ToWorker) {
  worker.postMessage(message);
}

/** Shows a line of news: progress until it is removed, others for some seconds. */
function say(text: string, kind: "note" | "error" | "progress" = "note"): HTMLElement {
  const news = byId("news");
  const line = document.createElement("p");
  line.textContent = text;
  line.className = kind;
  // The same again is no news.
  if (news.lastElementChild?.textContent === text) news.lastElementChild.remove();
  news.append(line);
  while (news.childElementCount > MOST_NEWS) news.firstElementChild!.remove();
  if (kind !== "progress") setTimeout(() => line.remove(), 6000);
  return line;
}

function status(text: string) {
  byId("status").textContent = text;
}

/** Whether nothing of the ground has been shown yet. */
function isLoading() {
  return byId("status").textContent === LOADING;
}

/** The place in the link: x, y, z, yaw and pitch in degrees. */
function placeOf(hash: string): number[] | null {
  const numbers = hash.replace(/^#/, "").split(",").map(Number);
  return numbers.length >= 3 && numbers.every(Number.isFinite) ? numbers : null;
}

/** Turns to a place; returns where the feet are there. */
function lookFrom(place: number[]): [number, number, number] {
  const [x, y, z, yaw = 0, pitch = 0] = place as [number, number, number, number?, number?];
  controls.yaw = THREE.MathUtils.degToRad(yaw);
  controls.pitch = THREE.MathUtils.degToRad(pitch);
  eye = [x, y, z];
  return [x, y - 1.65, z];
}

function goTo(place: number[]) {
  tell({ type: "teleport", feet: lookFrom(place) });
}

/** Whether a terravox server answers; sets `isStatic` if something else serves this site. */
async function isServed(): Promise<boolean> {
  try {
    const response = await fetch(new URL("healthz", location.href));
    const text = await response.text();
    const isOurs = /^(ok|.*stopped)/.test(text);
    letsThrow = response.headers.get("terravox-throws") === "yes";
    isStatic = !isOurs && response.status < 500 && response.status !== 429;
    return isOurs;
  } catch {
    return false;
  }
}

/** The WebSocket of the server that this page came from; null where there is none. */
async function findServer(): Promise<string | null> {
  if (query.has("seed") || query.has("file")) return null;
  while (!(await isServed())) {
    if (isStatic) return null;
    status("The server does not answer; trying again …");
    await new Promise((done) => setTimeout(done, 2000));
  }
  const link = new URL(`link/${encodeURIComponent(query.get("world") ?? "")}`.replace(/\/$/, ""), location.href);
  link.protocol = link.protocol.replace("http", "ws");
  [link.search, link.hash] = ["", ""];
  return link.href;
}

function received(message: FromWorker) {
  switch (message.type) {
    case "joined":
      joined = true;
      [materials, voxel, origin] = [message.materials, message.voxel, message.origin];
      view.setMaterials(materials, message.ranges, voxel);
      // Body numbers of an earlier link are invalid now.
      view.moveBodies(new Float64Array(), voxel, origin);
      showPalette();
      return status(view.terrain.count === 0 ? LOADING : "");
    case "frame":
      isAsked = false;
      [eye, aim, stats] = [message.eye, message.aim, message.stats];
      view.moveBodies(message.bodies, voxel, origin);
      view.setCursors(message.cursors, voxel, origin);
      // A world of air has nothing to show.
      if (stats.settled && isLoading()) status("");
      return;
    case "wait":
      isAsked = false;
      return;
    case "swap":
      view.terrain.swap(message.removed, message.added);
      if (view.terrain.count > 0 && isLoading()) status("");
      if (overlay === 1) view.setOverlay(1);
      for (const at of message.edits) seenAfter.push(performance.now() - at);
      seenAfter.splice(0, seenAfter.length - 200);
      return;
    case "piece":
      return view.addPiece(message.body, message.meshes);
    case "figure":
      return view.addFigure(message.body, message.name, voxel);
    case "clip":
      clip = message.size;
      turns = 0;
      view.setGhost(message.meshes);
      return command("tool", TOOLS.findIndex((one) => one.kind === "paste"));
    case "collision": {
      const at = overlay === 3 ? voxelsOf(message.at) : null;
      return view.setCollision(at, message.corners, voxel);
    }
    case "file":
      return download(message.name, new Blob([message.bytes as Uint8Array<ArrayBuffer>]));
    case "news":
      return void say(message.text.replace(/^refused: /, "Not done: "), "error");
    case "lost":
      return lost(message.text, message.final);
  }
}

function lost(text: string, isFinal: boolean) {
  if (!isFinal) return status(`${text}; trying again …`);
  joined = false;
  const kept = ownName === null ? "" : " What is kept of it can be downloaded or deleted in the menu (?).";
  status(`${text}. Reload the page to try again.${kept}`);
  ownName = null;
}

/** A point in metres as voxels. */
function voxelsOf(point: ArrayLike<number>): THREE.Vector3 {
  return new THREE.Vector3(...[0, 1, 2].map((i) => (point[i]! - origin[i]!) / voxel));
}

/** The tools that there are. */
function tools() {
  return TOOLS.filter((one) => one.kind === "brush" || !one.isThrown || (hasServer && letsThrow));
}

function nextOverlay() {
  overlay = (overlay + 1) % OVERLAYS.length;
  view.setOverlay(overlay === 3 ? 0 : overlay);
  if (overlay !== 3) view.setCollision(null, new Float32Array(), voxel);
  byId("overlay").textContent = OVERLAYS[overlay]!;
}

function command(name: string, by: number) {
  const count = tools().length;
  if (name === "undo" || name === "redo") tell({ type: name });
  // Keys of tools that are missing here do nothing.
  if (name === "tool" && by < count) tool = by >= 0 ? by : (tool + (by === -1 ? count - 1 : 1)) % count;
  if (name === "turn") turns = (turns + by) % 4;
  if (name === "size") radius = Math.max(1, Math.min(12, radius + by * (radius < 4 ? 0.5 : 1)));
  if (name === "material") cycleMaterial(by);
  if (name === "overlay") nextOverlay();
  if (name === "time") view.setTime((hour = (hour + 1.5) % 24));
  if (name === "stats") showsStats = !showsStats;
  if (name === "help") openHelp();
  if (name === "link") copyLink();
  showTools();
}

function solids(): number[] {
  return materials.flatMap((one, id) => (one.kind === "Solid" ? [id] : []));
}

function cycleMaterial(by: number) {
  const ids = solids();
  material = ids[(ids.indexOf(material) + by + ids.length) % ids.length] ?? material;
  showPalette();
}

/** Puts the place into the address. */
function notePlace() {
  const degrees = (radians: number) => Math.round(THREE.MathUtils.radToDeg(radians));
  const place = [...eye.map((v) => v.toFixed(1)), degrees(controls.yaw), degrees(controls.pitch)];
  history.replaceState(null, "", `#${place.join(",")}`);
}

function copyLink() {
  notePlace();
  // The token of an invitation is not passed on.
  const link = new URL(location.href);
  link.searchParams.delete("token");
  void navigator.clipboard?.writeText(link.href).then(() => say("The link to this place is copied."));
}

function showTools() {
  const buttons = tools().map((one, index) => {
    const button = document.createElement("button");
    button.textContent = `${(index + 1) % 10} ${one.name}`;
    button.setAttribute("aria-pressed", String(index === tool));
    button.onclick = () => command("tool", index);
    return button;
  });
  byId("tools").replaceChildren(...buttons);
  buttons[tool]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  byId("palette").hidden = !TOOLS[tool]!.usesMaterial;
}

function showPalette() {
  const buttons = solids().map((id) => {
    const { name, colour } = materials[id]!;
    const button = document.createElement("button");
    button.style.setProperty("background", `rgb(${colour.join(" ")})`);
    button.title = name;
    button.setAttribute("role", "option");
    button.setAttribute("aria-label", name);
    button.setAttribute("aria-selected", String(id === material));
    button.onclick = () => {
      material = id;
      showPalette();
    };
    return button;
  });
  byId("palette").replaceChildren(...buttons);
  showTools();
}

function openHelp() {
  document.exitPointerLock?.();
  (byId("name") as HTMLInputElement).value = settings.name;
  (byId("distance") as HTMLSelectElement).value = String(settings.view);
  (byId("scale") as HTMLSelectElement).value = String(settings.scale);
  (byId("shadows") as HTMLInputElement).checked = settings.shadows;
  void listWorlds(byId("kept"), ownName, (text) => say(text, "error"));
  document.querySelectorAll<HTMLElement>(".throws").forEach((line) => (line.hidden = !(hasServer && letsThrow)));
  const help = byId("help") as HTMLDialogElement;
  help.showModal();
  // Not into the first field, which takes what is typed.
  help.focus();
  help.scrollTop = 0;
}

function takeSettings() {
  const before = JSON.stringify(settings);
  settings.name = (byId("name") as HTMLInputElement).value.trim() || settings.name;
  settings.view = Number((byId("distance") as HTMLSelectElement).value);
  settings.scale = Number((byId("scale") as HTMLSelectElement).value);
  settings.shadows = (byId("shadows") as HTMLInputElement).checked;
  saveSettings(settings);
  if (JSON.stringify(settings) !== before) {
    notePlace();
    location.reload();
  }
}

function sayOutOfReach() {
  if (!isLoading()) say("No ground is within reach: go nearer.");
}

/** What a tool does for a click. */
function act(kind: string, direction: THREE.Vector3, now: number) {
  if (kind === "ball" || kind === "crate") {
    const from = direction.toArray().map((v, i) => eye[i]! + v * 1.2);
    const velocity = direction.toArray().map((v) => v * THROW);
    return tell({ type: "throw", thing: kind, from, velocity });
  }
  if (!aim) return sayOutOfReach();
  const centre = voxelsOf(aim.point).toArray();
  if (kind !== "paste") return tell({ type: "copy", ...cubeAround(centre, radius / voxel), cut: kind === "cut", at: now });
  if (!clip) return void say("Copy or cut something first.");
  tell({ type: "paste", voxel: pasteAt(centre, clip, turns), turns, at: now });
}

/** Shows what the tool would change. */
function showTool() {
  const one = TOOLS[tool]!;
  const centre = aim && voxelsOf(aim.point).toArray();
  const at = one.kind === "brush" && aim ? centreOf(one, aim, radius) : null;
  const colour = one.kind === "brush" ? one.colour : ([1, 1, 1] as [number, number, number]);
  view.setBrush(at && voxelsOf(at).sub(view.terrain.origin), radius / voxel, colour);
  const cube = centre && (one.kind === "copy" || one.kind === "cut") ? cubeAround(centre, radius / voxel) : null;
  const paste = centre && one.kind === "paste" && clip ? pasteAt(centre, clip, turns) : null;
  const [sx, sy, sz] = clip ?? [0, 0, 0];
  const size = turns % 2 === 0 ? [sx, sy, sz] : [sz, sy, sx];
  if (paste) view.setBox(paste, paste.map((low, i) => low + size[i]!));
  else view.setBox(cube?.from ?? null, cube?.to ?? []);
  view.placeGhost(paste, clip ?? [0, 0, 0], turns);
}

/** What a click does. */
function click() {
  if (!joined) return;
  const [one, now] = [TOOLS[tool]!, performance.now()];
  if (one.kind !== "brush") return act(one.kind, turnCamera(), now);
  if (aim) return stroke(one, aim, now);
  sayOutOfReach();
}

/** Goes on with a brush while the button is held. */
function useTool(now: number) {
  const one = TOOLS[tool]!;
  const isDue = controls.using && now - lastStroke >= 1000 / STROKES;
  if (isDue && one.kind === "brush" && aim) stroke(one, aim, now);
}

function stroke(one: Brush, aim: Aim, now: number) {
  lastStroke = now;
  tell({ type: "edit", op: operationOf(one, aim, radius, material), at: now });
  const struck = one.usesMaterial ? material : aim.material;
  const colour = materials[struck]?.colour ?? [120, 110, 100];
  view.burst(voxelsOf(aim.point), new THREE.Vector3(...aim.normal), colour, voxel);
}

function showStats(seconds: number) {
  const { triangles, count } = view.terrain;
  const kib = (bytes: number) => `${(bytes / 1024).toFixed(0)} KiB`;
  byId("stats").textContent = showsStats && stats
    ? `${(1 / seconds).toFixed(0)} frames/s   ${view.millis.toFixed(1)} ms here, ${stats.longest.toFixed(0)} ms in the worker\n` +
      `${(triangles / 1000).toFixed(0)} k triangles, ${count} meshes   ${kib(stats.received)} in, ${kib(stats.sent)} out\n` +
      `${(stats.cells / 1048576).toFixed(0)} MiB of cells, ${(stats.memory / 1048576).toFixed(0)} MiB in the worker\n` +
      `${eye.map((v) => v.toFixed(0)).join(", ")}   ${view.others} others`
    : "";
}

/** Turns the camera as the player looks; returns the direction. */
function turnCamera(): THREE.Vector3 {
  view.camera.quaternion.setFromEuler(new THREE.Euler(controls.pitch, controls.yaw, 0, "YXZ"));
  return new THREE.Vector3(0, 0, -1).applyQuaternion(view.camera.quaternion);
}

function frame(now: number) {
  requestAnimationFrame(frame);
  const seconds = Math.min(0.25, Math.max(1e-4, (now - lastFrame) / 1000));
  lastFrame = now;
  const start = performance.now();
  const steering = controls.steering(seconds);
  const direction = turnCamera();
  const { x, y, z, w } = view.camera.quaternion;
  // The worker is asked again when it has answered.
  untold += seconds;
  if (!isAsked) {
    isAsked = true;
    tell({ type: "frame", seconds: untold, steering, direction: direction.toArray(), rotation: [x, y, z, w] });
    untold = 0;
  }
  if (joined) {
    showTool();
    useTool(now);
  }
  if (overlay === 3 && now - collisionAsked > 500) {
    collisionAsked = now;
    tell({ type: "collision" });
  }
  view.draw(voxelsOf(eye), now / 1000, seconds, voxel);
  showStats(seconds);
  graph.note(seconds * 1000, stats?.received ?? 0);
  graph.draw(showsStats);
  frameTimes.push(performance.now() - start + messageTime);
  frameTimes.splice(0, frameTimes.length - 600);
  messageTime = 0;
}

/** Returns the seed that was typed, or 7 if that is not a safe integer. */
function seedOf(text: string): number {
  const seed = Math.trunc(Math.abs(Number(text)));
  return Number.isSafeInteger(seed) ? seed : 7;
}

/** The file of a world of one's own. */
function ownFile(seed: number): string {
  return query.get("file") ?? `hills ${seed}.tvx`;
}

async function dropped(event: DragEvent) {
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (!file) return;
  const progress = say(`Opening ${file.name} …`, "progress");
  try {
    const { name, start, notes } = await importFile(file);
    if (hasServer) notes.forEach((note) => say(note));
    if (hasServer) return void say(`“${name}” is kept in this browser: open it from the menu (?).`);
    leaveNotes(notes);
    location.href = addressOf(name, start);
  } catch (error) {
    say(textOf(error), "error");
  } finally {
    progress.remove();
  }
}

function listen() {
  addEventListener("hashchange", () => {
    const place = placeOf(location.hash);
    if (place) goTo(place);
  });
  addEventListener("resize", () => view.resize());
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => void dropped(event));
  // The last moment that a page hears of for certain.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) tell({ type: "save" });
    // While it was hidden, no frame was slow.
    lastFrame = performance.now();
  });
  addEventListener("pagehide", () => tell({ type: "save" }));
  byId("menu").onclick = openHelp;
  byId("export").onclick = () => tell({ type: "export" });
  byId("glb").onclick = () => tell({ type: "glb" });
  (byId("help") as HTMLDialogElement).addEventListener("close", takeSettings);
}

/** Tells the worker which world to open: that of a link, or one of its own. */
function join(link: string | null) {
  hasServer = link !== null;
  byId("where").textContent = hasServer
    ? "Everyone here digs in one world. What you do stays."
    : "A world of your own, kept in this browser. Drop a world (.tvx), a Roblox place, a scene of MagicaVoxel (.vox) or a grey heightmap (.png) here to open it.";
  byId("export").hidden = hasServer;
  const seed = seedOf(query.get("seed") ?? "7");
  const { name } = settings;
  const distance = TERRAIN_REACH * settings.view;
  const feet = lookFrom(placeOf(location.hash) ?? [...START, 215, -12]);
  const file = link === null ? ownFile(seed) : null;
  ownName = file;
  const token = query.get("token") ?? "";
  const mayCreate = !query.has("file");
  tell({ type: "start", link, file, mayCreate, token, seed, view: distance, detail: DETAIL, name, feet });
  takeNotes().forEach((note) => say(note));
}

async function begin() {
  status("Joining …");
  // The worker loads its module, and the server is asked, while the view makes its textures.
  worker = newWorker();
  const server = findServer();
  try {
    view = new View(byId("view") as HTMLCanvasElement, settings);
  } catch {
    worker.terminate();
    return status("This browser cannot draw the world: it has no WebGL 2. Try another one, or turn hardware acceleration on.");
  }
  view.renderer.domElement.addEventListener("webglcontextlost", () => status("The graphics card was lost; it comes back in a moment."));
  view.renderer.domElement.addEventListener("webglcontextrestored", () => location.reload());
  view.setTime(hour);
  controls = new Controls(view.renderer.domElement, command, click);
  worker.onerror = (event) => status(`The world has stopped: ${event.message || "its worker cannot be loaded"}. Reload the page.`);
  worker.onmessage = (event: MessageEvent<FromWorker>) => {
    const start = performance.now();
    received(event.data);
    messageTime += performance.now() - start;
  };
  join(await server);
  listen();
  showTools();
  requestAnimationFrame(frame);
}

// What tests and the console look at.
Object.assign(globalThis, {
  terravox: {
    state: () => ({ joined, eye, aim, stats, triangles: view.terrain.triangles, meshes: view.terrain.count, others: view.others, seenAfter, frameTimes }),
    tell: (message: ToWorker) => tell(message),
    look: (yaw: number, pitch: number) => ([controls.yaw, controls.pitch] = [yaw, pitch]),
    fly: (on: boolean) => (controls.flying = on),
    goTo,
  },
});

void begin();
