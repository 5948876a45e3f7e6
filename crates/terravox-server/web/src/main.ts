// The page: input, what is drawn, and what is said. The world is in the worker.

import * as THREE from "three";
import { hasToken, hourOf, notePlace, placeOf, query, seedOf, takeToken } from "./address";
import { Controls } from "./controls";
import { Graph } from "./graph";
import { openMenu, takeSettings, type ShownWorld } from "./menu";
import type { Aim, FromWorker, Material, Stats, ToWorker } from "./messages";
import { currentStatus, failFor, say, sayNotes, status } from "./news";
import { fileOfSeed } from "./opfs";
import { findServer } from "./server";
import { loadSettings } from "./settings";
import { errorMessage } from "./text";
import { TOOLS, centreOf, cubeAround, operationOf, pasteAt, type Brush } from "./tools";
import { View } from "./view";
import { addressOf, download, importFile, leaveNotes, newWorker, takeNotes } from "./worlds";

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
/** Milliseconds that the browser has to bring a graphics card back. */
const MAX_LOSS_MS = 10_000;
/** Where a visit begins: over the ground, which is not known yet. */
const START = [0, 90, 0];

const byId = (id: string) => document.getElementById(id)!;
const settings = loadSettings();

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
/** The world that is shown. */
const shown: ShownWorld = { hasServer: null, letsThrow: false, localName: null, isKept: true, isPersistent: null };
let hasAskedToPersist = false;
/** Whether the graphics card is lost, and since how many losses. */
let isLost = false;
let losses = 0;
/** Whether the worker has yet to reply to a frame, and seconds that it was not told of. */
let isFramePending = false;
let unsentSeconds = 0;
/** Size of what was copied, voxels, and quarter turns of the next paste. */
let clip: [number, number, number] | null = null;
let turns = 0;
/** Speed of what is thrown, metres per second. */
const THROW = 16;
/** Milliseconds from clicks until the mesh was in the scene, and of this thread's scripts for each frame. */
const seenAfter: number[] = [];
const frameTimes: number[] = [];
/** Milliseconds of messages since the last frame. */
let messageTime = 0;

function tell(message: ToWorker) {
  worker.postMessage(message);
}

/** Whether nothing of the ground has been shown yet. */
function isLoading() {
  return currentStatus() === LOADING;
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

function received(message: FromWorker) {
  switch (message.type) {
    case "joined":
      joined = true;
      shown.isKept = message.isKept;
      [materials, voxel, origin] = [message.materials, message.voxel, message.origin];
      view.setMaterials(materials, message.ranges, voxel);
      // Body numbers of an earlier link are invalid now.
      view.moveBodies(new Float64Array(), voxel, origin);
      // Another world may have other materials.
      if (!solids().includes(material)) material = solids()[0] ?? material;
      showPalette();
      return status(view.terrain.count === 0 ? LOADING : "");
    case "frame":
      isFramePending = false;
      [eye, aim, stats] = [message.eye, message.aim, message.stats];
      view.moveBodies(message.bodies, voxel, origin);
      view.setCursors(message.cursors, voxel, origin);
      // A world of air has nothing to show.
      if (stats.settled && isLoading()) status("");
      return;
    case "wait":
      isFramePending = false;
      return;
    case "reset":
      // Of another world, what was copied is gone, too.
      clip = null;
      return view.terrain.clear();
    case "swap":
      view.terrain.swap(message.removed, message.added);
      if (view.terrain.count > 0 && isLoading()) status("");
      if (overlay === 1) view.setOverlay(1);
      for (const at of message.edits) seenAfter.push(performance.now() - at);
      seenAfter.splice(0, seenAfter.length - 200);
      return;
    case "piece":
      return view.addPiece(message.body, message.meshes);
    case "avatar":
      return view.addAvatar(message.body, message.name, voxel);
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
  const edits = shown.hasServer ? (stats?.pending ?? 0) : 0;
  const unsent = edits > 0 ? ` ${edits} edits were not confirmed by the server and may be lost.` : "";
  const kept = shown.localName !== null && shown.isKept ? " What is kept of it can be downloaded or deleted in the menu (?)." : "";
  failFor(`${text}. Reload the page to try again.${unsent}${kept}`);
  // There is nothing more to download.
  [shown.localName, stats] = [null, null];
  byId("glb").hidden = true;
}

/** A point in metres as voxels. */
function voxelsOf(point: ArrayLike<number>): THREE.Vector3 {
  return new THREE.Vector3(...[0, 1, 2].map((i) => (point[i]! - origin[i]!) / voxel));
}

/** The tools that there are. */
function tools() {
  return TOOLS.filter((one) => one.kind === "brush" || !one.isThrown || (shown.hasServer && shown.letsThrow));
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
  if (name === "help") openMenu(settings, shown);
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
function noteWhere() {
  notePlace(eye, THREE.MathUtils.radToDeg(controls.yaw), THREE.MathUtils.radToDeg(controls.pitch));
}

function copyLink() {
  noteWhere();
  // Browsers have it over HTTPS and on this machine only.
  if (!navigator.clipboard) return void say("The address of the page is the link to this place now: copy it from there.");
  const said = navigator.clipboard.writeText(location.href).then(() => "The link to this place is copied.");
  void said.catch((error) => `The link is not copied: ${errorMessage(error)}.`).then((text) => say(text));
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

/** Applies what was changed in the menu; another view distance needs another world in the worker. */
function applySettings() {
  const changed = takeSettings(settings);
  if (changed.has("name")) tell({ type: "name", name: settings.name });
  if (changed.has("shadows")) view.setShadows(settings.shadows);
  if (changed.has("scale")) view.setScale(settings.scale);
  if (!changed.has("view")) return;
  noteWhere();
  // The browser asks first where something would be lost.
  location.reload();
}

/** Whether edits would be lost with the page. */
function hasUnsaved() {
  return stats !== null && (stats.pending > 0 || !stats.saved);
}

/** Asks whether the browser keeps the files of this page until they are deleted. */
async function seeIfPersistent() {
  shown.isPersistent = (await navigator.storage?.persisted?.().catch(() => false)) ?? false;
}

/** Asks the browser to do so, once they hold an edit or a dropped file. */
async function askToPersist() {
  if (hasAskedToPersist || shown.isPersistent) return;
  hasAskedToPersist = true;
  shown.isPersistent = (await navigator.storage?.persist?.().catch(() => false)) ?? false;
}

/** The same for an edit of a world that is kept. */
function askToPersistEdit() {
  if (!shown.hasServer && shown.isKept) void askToPersist();
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
  if (kind === "cut") askToPersistEdit();
  if (kind !== "paste") return tell({ type: "copy", ...cubeAround(centre, radius / voxel), cut: kind === "cut", at: now });
  if (!clip) return void say("Copy or cut something first.");
  askToPersistEdit();
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
  askToPersistEdit();
  tell({ type: "edit", op: operationOf(one, aim, radius, material), at: now });
  const struck = one.usesMaterial ? material : aim.material;
  const colour = materials[struck]?.colour ?? [120, 110, 100];
  view.burst(voxelsOf(aim.point), new THREE.Vector3(...aim.normal), colour, voxel);
}

function showStats(seconds: number) {
  const { triangles, count } = view.terrain;
  const kib = (bytes: number) => `${(bytes / 1024).toFixed(0)} KiB`;
  byId("stats").textContent = showsStats && stats
    ? `${(1 / seconds).toFixed(0)} frames/s   ${view.millis.toFixed(1)} ms here, ${stats.longestStepMs.toFixed(0)} ms in the worker\n` +
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
  if (isLost) return;
  const start = performance.now();
  const steering = controls.steering(seconds);
  const direction = turnCamera();
  const { x, y, z, w } = view.camera.quaternion;
  // The worker gets the next frame when it has replied to this one.
  unsentSeconds += seconds;
  if (!isFramePending) {
    isFramePending = true;
    tell({ type: "frame", seconds: unsentSeconds, steering, direction: direction.toArray(), rotation: [x, y, z, w] });
    unsentSeconds = 0;
    controls.noteSteered();
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

/** The file of a local world. */
function localFile(seed: number): string {
  return query.get("file") ?? fileOfSeed(seed);
}

async function dropped(event: DragEvent) {
  event.preventDefault();
  const [file, ...others] = event.dataTransfer?.files ?? [];
  if (!file) return;
  if (others.length > 0) say(`Only ${file.name} is opened: drop one file at a time.`);
  const progress = say(`Opening ${file.name} …`, "progress");
  try {
    const { name, start, notes } = await importFile(file);
    void askToPersist();
    // Where a server is, or may still respond, its world stays in view.
    if (shown.hasServer !== false) sayNotes(notes);
    if (shown.hasServer !== false) return void say(`“${name}” is kept in this browser: open it from the menu (?).`);
    leaveNotes(notes);
    location.href = addressOf(name, start);
  } catch (error) {
    say(errorMessage(error), "error");
  } finally {
    progress.remove();
  }
}

function listen() {
  addEventListener("hashchange", () => {
    // An invitation that was opened in this tab.
    if (hasToken()) return location.reload();
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
  addEventListener("beforeunload", (event) => hasUnsaved() && event.preventDefault());
  byId("menu").onclick = () => openMenu(settings, shown);
  byId("export").onclick = () => tell({ type: "export" });
  byId("glb").onclick = () => tell({ type: "glb" });
  (byId("help") as HTMLDialogElement).addEventListener("close", applySettings);
}

/** Tells the worker which world to open: that of a link, or one of its own. */
function join(link: string | null, token: string) {
  const seed = seedOf(query.get("seed") ?? "7");
  const { name } = settings;
  const distance = TERRAIN_REACH * settings.view;
  const feet = lookFrom(placeOf(location.hash) ?? [...START, 215, -12]);
  const file = link === null ? localFile(seed) : null;
  shown.localName = file;
  void seeIfPersistent();
  const mayCreate = !query.has("file");
  tell({ type: "start", link, file, mayCreate, token, seed, view: distance, detail: DETAIL, name, feet });
  sayNotes(takeNotes());
}

/** Draws on the canvas of the page. */
function newView(): View {
  const made = new View(byId("view") as HTMLCanvasElement, settings);
  made.setTime(hour);
  made.setOverlay(overlay === 3 ? 0 : overlay);
  return made;
}

/** The graphics card is gone: what was in it is sent again when it is back. */
function loseCard(event: Event) {
  // Else the browser does not bring it back.
  event.preventDefault();
  isLost = true;
  const loss = ++losses;
  view.release();
  status("The graphics card was lost; waiting for it …");
  setTimeout(() => {
    if (isLost && loss === losses) status("The graphics card was lost. Reload the page.");
  }, MAX_LOSS_MS);
}

function restoreCard() {
  try {
    view = newView();
  } catch {
    return status("The graphics card was lost. Reload the page.");
  }
  isLost = false;
  // The worker has the copy, this page its picture no more.
  clip = null;
  status(joined ? LOADING : "");
  tell({ type: "meshes" });
}

async function begin() {
  status("Joining …");
  const token = takeToken();
  // The worker loads its module, and the server is asked, while the view makes its textures.
  worker = newWorker();
  const site = findServer(() => status("The server does not respond; trying again …"));
  try {
    view = newView();
  } catch {
    worker.terminate();
    return failFor("This browser cannot draw the world: it has no WebGL 2. Try another one, or turn hardware acceleration on.");
  }
  const canvas = view.renderer.domElement;
  canvas.addEventListener("webglcontextlost", loseCard);
  canvas.addEventListener("webglcontextrestored", restoreCard);
  controls = new Controls(canvas, command, click);
  worker.onerror = (event) => failFor(`The world has stopped: ${event.message || "its worker cannot be loaded"}. Reload the page.`);
  worker.onmessage = (event: MessageEvent<FromWorker>) => {
    const start = performance.now();
    received(event.data);
    messageTime += performance.now() - start;
  };
  listen();
  const { link, letsThrow } = await site;
  [shown.hasServer, shown.letsThrow] = [link !== null, letsThrow];
  join(link, token);
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
