// The world, in a thread of its own: the link to the server, the cells, the meshes, the player.

import init, { WebWorld, import_world, type Mesh, type Swap } from "./wasm/terravox.js";
import { keepFile, openFile, type SyncHandle } from "./opfs";
import { textOf } from "./text";
import type { Aim, FromWorker, Material, MeshData, PartData, Steering, ToWorker } from "./messages";

/** Milliseconds of work between two looks at messages. */
const SLICE = 8;
/** Milliseconds between two looks when there is nothing to do. */
const REST = 10;
/** Milliseconds that what the server sent may wait for the meshes of edits. */
const LINK_WAIT = 100;
/** Milliseconds before a lost link is tried again: at first, and at most. */
const RETRY = [500, 8000] as const;
/** How far the player can reach, metres. */
const REACH = 60;
/** An edit without a mesh change after this many milliseconds is no longer awaited. */
const AWAITED = 5000;
/** Milliseconds from an edit of a world of one's own until it is written. */
const SAVE_AFTER = 300;
/** How far around the eye collision is shown, metres. */
const COLLISION_REACH = 14;

/** The WebSocket close code of a refusal, and the reasons after which it is tried again. */
const REFUSED_CODE = 1008;
const MAY_RETURN = ["the server ends", "nothing that was sent was taken in time"];

/** The module loads before it is needed; where it cannot, whoever waits for it is told. */
const loading = init();
loading.catch(() => {});

let world: WebWorld | null = null;
let memory: WebAssembly.Memory;
let link: WebSocket | null = null;
let settings: Extract<ToWorker, { type: "start" }>;
let retry: number = RETRY[0];
let isOpen = false;
let isOver = false;
let hasJoined = false;
let received = 0;
let sent = 0;
let longest = 0;
/** When what the server sent was applied last. */
let updated = 0;
let lastSent = 0;
const pieces = new Set<number>();
const figures = new Map<number, string>();
/** When the first edit was made that is not written yet, and when writing failed last. */
let unsavedSince: number | null = null;
let saveFailed = -Infinity;
/** Edits whose meshes are not there yet: when they were clicked, and the voxels that they may change. */
let edits: { at: number; region: Int32Array }[] = [];
/** The file of a world of one's own. */
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

/** Ends the world. Edits that a server or the file already has stay; others are lost. */
function end(text: string) {
  isOver = true;
  link?.close();
  link = null;
  // Others may read, download or delete it now.
  file?.close();
  file = null;
  post({ type: "lost", text, final: true });
}

/** Why a server refuses a link, which a WebSocket does not tell; null if it does not, or does not answer. */
async function refusal(address: string): Promise<string | null> {
  const url = new URL(address);
  url.protocol = url.protocol.replace("ws", "http");
  try {
    const response = await fetch(url, { cache: "no-store" });
    return [403, 404].includes(response.status) ? (await response.text()).trim() : null;
  } catch {
    return null;
  }
}

function connect() {
  if (settings.link === null || isOver) return;
  const socket = new WebSocket(settings.link);
  socket.binaryType = "arraybuffer";
  link = socket;
  isOpen = false;
  socket.onopen = () => {
    isOpen = true;
  };
  socket.onmessage = (event) => {
    if (!(event.data instanceof ArrayBuffer)) return;
    const unit = new Uint8Array(event.data);
    received += unit.byteLength;
    // An empty unit is a sign of life.
    if (unit.byteLength === 0 || !world || socket !== link) return;
    try {
      world.receive(unit, performance.now());
    } catch (error) {
      end(textOf(error));
    }
  };
  socket.onclose = (event) => void closed(socket, event);
}

async function closed(socket: WebSocket, event: CloseEvent) {
  if (socket !== link || isOver) return;
  const refused = isOpen ? null : await refusal(socket.url);
  if (socket !== link || isOver) return;
  link = null;
  if (refused) return end(refused);
  const mayReturn = event.code !== REFUSED_CODE || MAY_RETURN.includes(event.reason);
  if (!mayReturn) return end(event.reason || "the server refused this connection");
  post({ type: "lost", text: event.reason || "the link is broken", final: false });
  setTimeout(() => {
    world?.reconnect();
    pieces.clear();
    figures.clear();
    connect();
  }, retry);
  retry = Math.min(2 * retry, RETRY[1]);
}

function exchange(now: number) {
  if (!world || !link || !isOpen) return;
  // What the socket cannot send yet stays with the guest, so that edits overtake cells.
  while (link.bufferedAmount < 65536) {
    const unit = world.transmit(now);
    if (!unit) break;
    link.send(unit as Uint8Array<ArrayBuffer>);
    sent += unit.byteLength;
    lastSent = now;
  }
  if (now - lastSent > 2000) {
    link.send(new Uint8Array(0));
    lastSent = now;
  }
}

function tellNews() {
  if (!world) return;
  for (let news = world.next_news(); news !== undefined; news = world.next_news()) {
    if (news !== "joined") {
      post({ type: "news", text: news });
      continue;
    }
    retry = RETRY[0];
    hasJoined = true;
    const materials = JSON.parse(world.materials()) as Material[];
    const origin = Array.from(world.origin_m());
    const ranges = world.morph_ranges();
    post({ type: "joined", materials, voxel: world.voxel_m(), origin, ranges });
  }
}

function tellSwaps() {
  if (!world) return;
  for (let swap = world.next_swap(); swap; swap = world.next_swap()) {
    const transfer: Transferable[] = [];
    const shown = edits.filter((edit) => swap.touches(edit.region));
    const [removed, added] = [swap.removed(), meshesOf(swap, transfer)];
    swap.free();
    post({ type: "swap", removed, added, edits: shown.map((edit) => edit.at) }, transfer);
    edits = edits.filter((edit) => !shown.includes(edit));
  }
  const oldest = performance.now() - AWAITED;
  edits = edits.filter((edit) => edit.at > oldest);
}

function tellBodies(): Float64Array {
  if (!world) return new Float64Array();
  const bodies = world.bodies();
  const seen = new Set<number>();
  for (let at = 0; at < bodies.length; at += 9) {
    const [body, kind] = [bodies[at]!, bodies[at + 1]!];
    seen.add(body);
    if (kind === -1 && !pieces.has(body)) {
      pieces.add(body);
      const swap = world.loose_mesh(body);
      if (!swap) continue;
      const transfer: Transferable[] = [];
      post({ type: "piece", body, meshes: meshesOf(swap, transfer) }, transfer);
      swap.free();
    } else if (kind === -2) {
      const name = new TextDecoder().decode(world.body_bytes(body) ?? new Uint8Array());
      if (figures.get(body) === name) continue;
      figures.set(body, name);
      post({ type: "figure", body, name });
    }
  }
  for (const body of [...pieces, ...figures.keys()]) {
    if (!seen.has(body)) {
      pieces.delete(body);
      figures.delete(body);
    }
  }
  return bodies;
}

/** Writes a world of one's own, soon after an edit or at once. */
function save(now: number, atOnce: boolean) {
  if (!world || world.is_saved()) {
    unsavedSince = null;
    return;
  }
  unsavedSince ??= now;
  if (!atOnce && (now - unsavedSince < SAVE_AFTER || now - saveFailed < 10_000)) return;
  try {
    world.save();
    unsavedSince = null;
  } catch (error) {
    // After a fault of its own, the world is in no state that can be saved.
    if (error instanceof WebAssembly.RuntimeError) {
      return end(`The world has stopped while it was saved (${textOf(error)}); edits since the last save are lost`);
    }
    saveFailed = now;
    post({ type: "news", text: `Not saved: ${textOf(error)}. Download the world from the menu before you close this page.` });
  }
}

/** Does what there is to do, and shows it. */
function advance() {
  if (!world || isOver) return;
  const now = performance.now();
  try {
    if (edits.length > 0 && now - updated < LINK_WAIT) {
      world.update_terrain(SLICE);
    } else {
      world.update(now, SLICE);
      updated = now;
    }
  } catch (error) {
    const text = textOf(error);
    if (!MAY_RETURN.includes(text)) return end(text);
    link?.close();
  }
  exchange(now);
  tellNews();
  tellSwaps();
  save(now, false);
  longest = Math.max(longest, performance.now() - now);
}

/** Brings the next step after the messages that wait; a timer would wait 4 ms. */
const next = new MessageChannel();
next.port1.onmessage = step;

function step() {
  advance();
  if (isOver) return;
  if (world?.is_settled()) setTimeout(step, REST);
  else next.port2.postMessage(null);
}

function frame(message: Extract<ToWorker, { type: "frame" }>) {
  if (!world || !hasJoined) return post({ type: "wait" });
  const { x, z, climb, jumps, fast, flying }: Steering = message.steering;
  world.steer(message.seconds, x, z, climb, jumps, fast, flying);
  world.show_figure(new Float64Array(message.rotation), new TextEncoder().encode(settings.name));
  const [ex, ey, ez, ground, water] = world.eye() as unknown as [number, number, number, number, number];
  const hit = world.ray(ex, ey, ez, ...message.direction, REACH);
  const aim: Aim | null =
    hit.length === 0
      ? null
      : {
          point: [hit[0]!, hit[1]!, hit[2]!],
          normal: [hit[3]!, hit[4]!, hit[5]!],
          distance: hit[6]!,
          material: hit[7]!,
        };
  const bodies = tellBodies();
  const stats = {
    received,
    sent,
    pending: world.pending_edits(),
    settled: world.is_settled(),
    saved: world.is_saved(),
    cells: world.memory(),
    memory: memory.buffer.byteLength,
    longest,
  };
  longest = 0;
  const eye: [number, number, number] = [ex, ey, ez];
  const cursors = world.cursors(200);
  post({ type: "frame", cursors, eye, onGround: ground === 1, inWater: water === 1, aim, bodies, stats });
}

/** The world in a file of this browser, or in memory where that has no files. */
async function ownWorld(message: Extract<ToWorker, { type: "start" }>): Promise<WebWorld> {
  const { file: name, mayCreate, seed, view, detail } = message;
  if (name === null) return WebWorld.alone(seed, view, detail);
  file = await openFile(name, mayCreate);
  if (!file) {
    post({ type: "news", text: "This browser keeps no files for pages: download the world from the menu before you leave." });
    return WebWorld.alone(seed, view, detail);
  }
  return WebWorld.stored(file as never, name, seed, view, detail);
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
    end(error instanceof WebAssembly.RuntimeError ? `${name}: too large for this browser` : textOf(error));
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

function showCollision() {
  const [x, y, z] = world!.eye() as unknown as [number, number, number];
  const corners = world!.collision_near(x, y, z, COLLISION_REACH);
  post({ type: "collision", at: [x, y, z], corners }, [corners.buffer as ArrayBuffer]);
}

/** What is done at once, before more of the world is loaded. */
function editWith(at: number, edit: () => Int32Array) {
  edits.push({ at, region: edit() });
  advance();
}

async function start(message: Extract<ToWorker, { type: "start" }>) {
  settings = message;
  try {
    memory = (await loading).memory;
  } catch (error) {
    return end(`this browser cannot run the world: ${textOf(error)}`);
  }
  try {
    const token = new TextEncoder().encode(message.token);
    world = message.link === null ? await ownWorld(message) : WebWorld.join(token, message.view, message.detail);
    world.teleport(...message.feet);
  } catch (error) {
    return end(`This world cannot be opened: ${textOf(error)}`);
  }
  connect();
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
        return void world.send_message(new TextEncoder().encode(request));
      }
      case "collision":
        return showCollision();
      case "save":
        return save(performance.now(), true);
      case "export": {
        save(performance.now(), true);
        if (isOver) return;
        const bytes = world.bytes();
        return bytes && post({ type: "file", name: settings.file ?? "world.tvx", bytes }, [bytes.buffer as ArrayBuffer]);
      }
      case "glb": {
        const bytes = world.glb();
        const name = (settings.file ?? "world.tvx").replace(/\.tvx$/i, ".glb");
        return post({ type: "file", name, bytes }, [bytes.buffer as ArrayBuffer]);
      }
      case "undo":
        return world.undo();
      case "redo":
        return world.redo();
      case "teleport":
        return world.teleport(...message.feet);
    }
  } catch (error) {
    // After a fault of its own, the world is in no state that can be trusted.
    if (error instanceof WebAssembly.RuntimeError) return end(`the world has stopped: ${textOf(error)}`);
    post({ type: "news", text: textOf(error) });
    if (message.type === "frame") post({ type: "wait" });
  }
};
