// The world, in a thread of its own: the link to the server, the cells, the meshes, the player.

import init, { WebWorld, import_world, type Mesh, type Swap } from "./wasm/terravox.js";
import { ServerLink } from "./link";
import { keepFile, openFile, removeFile, type SyncHandle } from "./opfs";
import { errorMessage } from "./text";
import type { Aim, FromWorker, Material, MeshData, PartData, Steering, ToWorker } from "./messages";

/** Milliseconds of work between two polls of messages. */
const SLICE_MS = 8;
/** Milliseconds of work on the mesh of an edit between two polls: most take less, so that it is shown at once. */
const EDIT_SLICE_MS = 24;
/** Milliseconds between two polls when there is nothing to do. */
const IDLE_DELAY_MS = 10;
/** After this many idle polls in a row, missing blocks of a local world count as unreadable. */
const MAX_IDLE_POLLS = 50;
/** Milliseconds that packets of the server may wait for the mesh of an edit. */
const MAX_LINK_DELAY_MS = 100;
/** How far the player can reach, metres. */
const REACH_M = 60;
/** An edit without a mesh change after this many milliseconds is no longer awaited. */
const MESH_TIMEOUT_MS = 5000;
/** Milliseconds from an edit of a local world until it is written, and between two tries. */
const SAVE_DELAY_MS = 300;
const SAVE_RETRY_MS = 10_000;
/** How far around the eye collision is shown, metres. */
const COLLISION_REACH_M = 14;
/** How far others' eyes are followed to the ground, metres, and milliseconds between two updates. */
const CURSOR_REACH_M = 200;
const CURSOR_INTERVAL_MS = 100;
/** Milliseconds between two changes of the name of another. */
const NAME_INTERVAL_MS = 1000;

/** The module loads before it is needed. Callers that await it get the error. */
const loading = init();
loading.catch(() => {});

let world: WebWorld | null = null;
let memory: WebAssembly.Memory;
/** The link to the server; null for a local world. */
let link: ServerLink | null = null;
let settings: Extract<ToWorker, { type: "start" }>;
let isOver = false;
let hasJoined = false;
let longestStepMs = 0;
/** When packets of the server were applied last. */
let lastUpdateMs = 0;
/** Whether something arrived since the last step. */
let hasMail = false;
/** Polls in a row that took little time and found nothing new. */
let idlePolls = 0;
const pieces = new Set<number>();
/** The names of others that the page has, and since when. */
const avatars = new Map<number, { name: string; since: number }>();
let cursors: { at: number; points: Float64Array } = { at: -Infinity, points: new Float64Array() };
/** When the first edit was made that is not written yet, and when writing failed last. */
let unsavedSince: number | null = null;
let lastSaveFailureMs = -Infinity;
/**
 * Edits whose meshes are not there yet: when they were clicked, by the clock of the page, since when they are here,
 * by that of this thread, and the voxels that they may change.
 */
let edits: { at: number; since: number; region: Int32Array }[] = [];
/** The file of a local world. */
let file: SyncHandle | null = null;

function post(message: FromWorker, transfer: Transferable[] = []) {
  (self as unknown as Worker).postMessage(message, transfer);
}

function partOf(mesh: Mesh, liquid: boolean, transfer: Transferable[]): PartData | null {
  const triangles = mesh.triangles(liquid);
  if (triangles === 0) return null;
  const part = {
    vertices: mesh.vertices(liquid),
    targets: mesh.targets(liquid),
    indices: mesh.indices(liquid),
    longIndices: mesh.has_long_indices(liquid),
    triangles,
  };
  transfer.push(part.vertices.buffer, part.targets.buffer, part.indices.buffer);
  return part;
}

function meshesOf(swap: Swap, transfer: Transferable[]): MeshData[] {
  const meshes: MeshData[] = [];
  for (let mesh = swap.next_added(); mesh; mesh = swap.next_added()) {
    const solid = partOf(mesh, false, transfer);
    const liquid = partOf(mesh, true, transfer);
    const [key, mip, min, bounds] = [mesh.key(), mesh.mip(), mesh.min_voxel(), mesh.bounds()];
    meshes.push({ key, mip, min, bounds, solid, liquid });
    mesh.free();
  }
  return meshes;
}

/** Ends the world, after a last save. After a fault of its own, it is in no state that can be saved. */
function end(text: string, isFault = false) {
  isOver = true;
  link?.close();
  try {
    if (file && !isFault) world?.save();
  } catch (error) {
    text += `; not saved: ${errorMessage(error)}`;
  }
  // Others may read, download or delete it now.
  file?.close();
  file = null;
  post({ type: "lost", text, final: true });
}

/** Ends the world after an error that it does not survive. */
function fail(error: unknown) {
  if (!(error instanceof WebAssembly.RuntimeError)) return end(errorMessage(error));
  const lost = link ? "" : "; edits since the last save are lost";
  end(`The world has stopped by a fault (${errorMessage(error)})${lost}`, true);
}

function connect(address: string) {
  let isAgain = false;
  link = new ServerLink(address, {
    opened() {
      if (isAgain) world!.reconnect();
      isAgain = true;
      pieces.clear();
      avatars.clear();
      wake();
    },
    received(packet) {
      try {
        world!.receive(packet, performance.now());
      } catch (error) {
        fail(error);
      }
      hasMail = true;
      wake();
    },
    broke(reason) {
      post({ type: "lost", text: reason, final: false });
      try {
        // So that edits which the server has confirmed are not sent again.
        world!.update(performance.now(), 0);
      } catch (error) {
        // Why the server ended the link is known.
        if (error instanceof WebAssembly.RuntimeError) fail(error);
      }
    },
    refused: end,
  });
}

function tellNews() {
  if (!world) return;
  for (let news = world.next_news(); news !== undefined; news = world.next_news()) {
    if (news !== "joined") {
      post({ type: "news", text: news });
      continue;
    }
    link?.noteJoined();
    hasJoined = true;
    tellJoined();
  }
}

function tellJoined() {
  if (!world) return;
  const materials = JSON.parse(world.materials()) as Material[];
  const origin = Array.from(world.origin_m());
  const ranges = world.morph_ranges();
  post({ type: "joined", materials, voxel: world.voxel_m(), origin, ranges, isKept: file !== null });
}

/** Returns whether there were any. */
function tellSwaps(): boolean {
  if (!world) return false;
  if (world.take_reset()) post({ type: "reset" });
  let count = 0;
  for (let swap = world.next_swap(); swap; swap = world.next_swap()) {
    count++;
    const transfer: Transferable[] = [];
    const shown = edits.filter((edit) => swap.touches(edit.region));
    const [removed, added] = [swap.removed(), meshesOf(swap, transfer)];
    swap.free();
    post({ type: "swap", removed, added, edits: shown.map((edit) => edit.at) }, transfer);
    edits = edits.filter((edit) => !shown.includes(edit));
  }
  // Digging in the air changes no mesh.
  const oldest = performance.now() - MESH_TIMEOUT_MS;
  edits = world.is_settled() ? [] : edits.filter((edit) => edit.since > oldest);
  return count > 0;
}

function tellBodies(now: number): Float64Array {
  if (!world) return new Float64Array();
  const bodies = world.bodies();
  const seen = new Set<number>();
  for (let at = 0; at < bodies.length; at += 9) {
    const [body, kind] = [bodies[at]!, bodies[at + 1]!];
    seen.add(body);
    // A number may have become that of a body of another kind.
    if (kind !== -1) pieces.delete(body);
    if (kind !== -2) avatars.delete(body);
    if (kind === -1 && !pieces.has(body)) {
      pieces.add(body);
      const swap = world.loose_mesh(body);
      if (!swap) continue;
      const transfer: Transferable[] = [];
      post({ type: "piece", body, meshes: meshesOf(swap, transfer) }, transfer);
      swap.free();
    } else if (kind === -2) {
      const known = avatars.get(body);
      if (known && now - known.since < NAME_INTERVAL_MS) continue;
      const name = new TextDecoder().decode(world.body_bytes(body) ?? new Uint8Array());
      if (known?.name === name) continue;
      avatars.set(body, { name, since: now });
      post({ type: "avatar", body, name });
    }
  }
  for (const body of [...pieces, ...avatars.keys()]) {
    if (!seen.has(body)) {
      pieces.delete(body);
      avatars.delete(body);
    }
  }
  return bodies;
}

/** Writes a local world to its file, soon after an edit or at once. One in memory has no file. */
function save(now: number, atOnce: boolean) {
  if (!world || !file) return;
  if (atOnce) passEditsOn(now);
  if (world.is_saved()) {
    unsavedSince = null;
    return;
  }
  unsavedSince ??= now;
  if (!atOnce && (now - unsavedSince < SAVE_DELAY_MS || now - lastSaveFailureMs < SAVE_RETRY_MS)) return;
  try {
    world.save();
    unsavedSince = null;
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return fail(error);
    lastSaveFailureMs = now;
    const text = `Not saved: ${errorMessage(error)}. Download the world from the menu before you close this page.`;
    post({ type: "news", text });
  }
}

/** Passes the edits that were just made to the host of a local world. */
function passEditsOn(now: number) {
  if (!link) world?.update(now, 0);
}

/** Does what there is to do, and shows it; returns whether there is nothing more to do for now. */
function advance(): boolean {
  if (!world || isOver) return true;
  const now = performance.now();
  const isDelayed = edits.some((edit) => now - edit.since < MAX_LINK_DELAY_MS) && now - lastUpdateMs < MAX_LINK_DELAY_MS;
  // Without a link, loaded cells are still meshed.
  if (isDelayed || link?.isOpen === false) {
    world.update_terrain(isDelayed ? EDIT_SLICE_MS : SLICE_MS);
  } else {
    update(now);
    lastUpdateMs = now;
  }
  if (isOver) return true;
  const took = performance.now() - now;
  const isSent = link?.send(() => world!.transmit(now)) ?? false;
  link?.keepAlive(now);
  tellNews();
  const isNew = tellSwaps() || isSent || hasMail;
  hasMail = false;
  save(now, false);
  longestStepMs = Math.max(longestStepMs, performance.now() - now);
  // With time left in the slice, what is missing has to come from the server.
  idlePolls = isNew || took >= SLICE_MS / 2 ? 0 : idlePolls + 1;
  return isOver || world.is_settled() || idlePolls > (link ? 0 : MAX_IDLE_POLLS);
}

/** Applies what arrived. Where the server ended the link, it is tried again or the world ends. */
function update(now: number) {
  try {
    world!.update(now, SLICE_MS);
  } catch (error) {
    const text = errorMessage(error);
    if (error instanceof WebAssembly.RuntimeError || !link?.mayRetry(text)) return fail(error);
    link.breakOff(text);
  }
}

/** Brings the next step after the messages that wait; a timer would wait 4 ms. */
const next = new MessageChannel();
next.port1.onmessage = step;
let idleTimer: ReturnType<typeof setTimeout> | null = null;

function step() {
  idleTimer = null;
  let isIdle = true;
  try {
    isIdle = advance();
  } catch (error) {
    fail(error);
  }
  if (isOver) return;
  if (isIdle) idleTimer = setTimeout(step, IDLE_DELAY_MS);
  else next.port2.postMessage(null);
}

/** Ends a pause between two steps. */
function wake() {
  if (idleTimer === null) return;
  clearTimeout(idleTimer);
  idleTimer = null;
  next.port2.postMessage(null);
}

/** Where others look at ground, as of a moment ago: a ray for each of them takes time. */
function lookAlong(now: number): Float64Array {
  if (world && now - cursors.at >= CURSOR_INTERVAL_MS) cursors = { at: now, points: world.cursors(CURSOR_REACH_M) };
  return cursors.points.slice();
}

function frame(message: Extract<ToWorker, { type: "frame" }>) {
  if (!world || !hasJoined) return post({ type: "wait" });
  const { x, z, climb, jumps, fast, flying }: Steering = message.steering;
  world.steer(message.seconds, x, z, climb, jumps, fast, flying);
  world.show_avatar(new Float64Array(message.rotation), new TextEncoder().encode(settings.name));
  const [ex, ey, ez, ground, water] = world.eye() as unknown as [number, number, number, number, number];
  const hit = world.ray(ex, ey, ez, ...message.direction, REACH_M);
  const aim: Aim | null =
    hit.length === 0
      ? null
      : {
          point: [hit[0]!, hit[1]!, hit[2]!],
          normal: [hit[3]!, hit[4]!, hit[5]!],
          distance: hit[6]!,
          material: hit[7]!,
        };
  const now = performance.now();
  const bodies = tellBodies(now);
  const stats = {
    received: link?.bytesReceived ?? 0,
    sent: link?.bytesSent ?? 0,
    pending: world.pending_edits(),
    settled: world.is_settled(),
    saved: world.is_saved(),
    cells: world.memory(),
    memory: memory.buffer.byteLength,
    longestStepMs,
  };
  longestStepMs = 0;
  const eye: [number, number, number] = [ex, ey, ez];
  post({ type: "frame", cursors: lookAlong(now), eye, onGround: ground === 1, inWater: water === 1, aim, bodies, stats });
}

/** Opens a local world: in a file of this browser, or in memory where that has no files. */
async function openLocalWorld(message: Extract<ToWorker, { type: "start" }>): Promise<WebWorld> {
  const { file: name, mayCreate, seed, view, detail } = message;
  if (name === null) return WebWorld.new_in_memory(seed, view, detail);
  file = await openFile(name, mayCreate);
  if (!file && !mayCreate) throw new Error(`this browser keeps no files for pages, so it cannot have “${name}”`);
  if (!file) {
    post({ type: "news", text: "This browser keeps no files for pages: download the world from the menu before you leave." });
    return WebWorld.new_in_memory(seed, view, detail);
  }
  const isNew = file.getSize() === 0;
  try {
    return WebWorld.open(file as never, name, mayCreate ? seed : null, view, detail);
  } catch (error) {
    file.close();
    file = null;
    // What was made for nothing is not listed as a world.
    if (isNew && mayCreate) await removeFile(name).catch(() => {});
    throw error;
  }
}

/** Makes a world of a file, and keeps it. */
async function open({ name, bytes }: Extract<ToWorker, { type: "open" }>) {
  try {
    await loading;
    const imported = import_world(name, bytes);
    const [world, start, notes] = [imported.bytes(), Array.from(imported.start()), imported.notes()];
    imported.free();
    post({ type: "opened", name: await keepFile(name, world), start, notes });
  } catch (error) {
    const isTrap = error instanceof WebAssembly.RuntimeError;
    // Most traps are allocations that fail.
    end(isTrap ? `${name}: the import failed (${errorMessage(error)}); it may be too large for this browser` : errorMessage(error));
  }
}

/** Copies or cuts; returns the voxels that may have changed. */
function copy(message: Extract<ToWorker, { type: "copy" }>): Int32Array {
  const transfer: Transferable[] = [];
  const swap = world!.copy(Int32Array.from(message.from), Int32Array.from(message.to), message.cut);
  const meshes = meshesOf(swap, transfer);
  swap.free();
  const size = message.from.map((low, i) => message.to[i]! - low) as [number, number, number];
  post({ type: "clip", meshes, size }, transfer);
  return Int32Array.from([...message.from, ...message.to]);
}

/** Offers a local world as a file. */
function exportWorld() {
  const now = performance.now();
  save(now, true);
  if (!world || isOver) return;
  // In memory, the download is all that is kept.
  passEditsOn(now);
  if (!file) world.save();
  const bytes = world.bytes();
  if (bytes) post({ type: "file", name: settings.file ?? "world.tvx", bytes }, [bytes.buffer as ArrayBuffer]);
}

/** Tells all again, for a page whose graphics card lost it. */
function tellAll() {
  if (!world || !hasJoined) return;
  world.reset_meshes();
  pieces.clear();
  avatars.clear();
  tellJoined();
  tellSwaps();
}

function showCollision() {
  const [x, y, z] = world!.eye() as unknown as [number, number, number];
  const corners = world!.collision_near(x, y, z, COLLISION_REACH_M);
  post({ type: "collision", at: [x, y, z], corners }, [corners.buffer as ArrayBuffer]);
}

/** What is done at once, before more of the world is loaded. */
function editWith(at: number, edit: () => Int32Array) {
  const since = performance.now();
  edits.push({ at, since, region: edit() });
  advance();
  wake();
}

async function start(message: Extract<ToWorker, { type: "start" }>) {
  settings = message;
  try {
    memory = (await loading).memory;
  } catch (error) {
    return end(`this browser cannot run the world: ${errorMessage(error)}`);
  }
  try {
    const token = new TextEncoder().encode(message.token);
    world = message.link === null ? await openLocalWorld(message) : WebWorld.join(token, message.view, message.detail);
    world.teleport(...message.feet);
  } catch (error) {
    return end(`This world cannot be opened: ${errorMessage(error)}`);
  }
  if (message.link !== null) connect(message.link);
  step();
}

self.onmessage = (event: MessageEvent<ToWorker>) => {
  const message = event.data;
  if (message.type === "start") return void start(message);
  if (message.type === "open") return void open(message);
  if (!world || isOver) return message.type === "frame" ? post({ type: "wait" }) : undefined;
  try {
    switch (message.type) {
      case "frame":
        return frame(message);
      case "edit":
        return editWith(message.at, () => world!.edit(JSON.stringify(message.op)));
      case "copy":
        if (message.cut) return editWith(message.at, () => copy(message));
        return void copy(message);
      case "paste":
        return editWith(message.at, () => world!.paste(...message.voxel, message.turns));
      case "throw": {
        const { thing, from, velocity } = message;
        const request = JSON.stringify({ throw: thing, from_m: from, velocity_m_s: velocity });
        // A link that is open may not be let in yet.
        const isSent = link?.isOpen !== false && world.send_message(new TextEncoder().encode(request));
        if (!isSent) throw new Error("no connection: nothing can be thrown until it is back");
        return;
      }
      case "collision":
        return showCollision();
      case "save":
        return save(performance.now(), true);
      case "export":
        return exportWorld();
      case "glb": {
        const bytes = world.glb();
        const name = (settings.file ?? "world.tvx").replace(/\.tvx$/i, ".glb");
        return post({ type: "file", name, bytes }, [bytes.buffer as ArrayBuffer]);
      }
      case "undo":
      case "redo":
        // It would be lost with the link.
        if (link?.isOpen === false) throw new Error("no connection: undo and redo wait until it is back");
        return message.type === "undo" ? world.undo() : world.redo();
      case "name":
        settings.name = message.name;
        return;
      case "meshes":
        return tellAll();
      case "teleport":
        return world.teleport(...message.feet);
    }
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return fail(error);
    post({ type: "news", text: errorMessage(error) });
    if (message.type === "frame") post({ type: "wait" });
  }
};
