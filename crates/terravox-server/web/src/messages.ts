// What the page and its worker tell each other.

/** A surface in the layout of docs/gpu.md. */
export interface PartData {
  vertices: Uint8Array;
  targets: Uint8Array;
  indices: Uint8Array;
  longIndices: boolean;
  triangles: number;
}

export interface MeshData {
  key: string;
  mip: number;
  /** The voxel at the corner of the mesh. */
  min: Float64Array;
  /** Lowest and highest corner, voxels. */
  bounds: Float64Array;
  solid: PartData | null;
  liquid: PartData | null;
}

export interface Material {
  name: string;
  kind: "Air" | "Liquid" | "Solid";
  colour: [number, number, number];
}

export interface Steering {
  x: number;
  z: number;
  climb: number;
  jumps: boolean;
  fast: boolean;
  flying: boolean;
}

/** Where a ray from the eye meets the ground, metres. */
export interface Aim {
  point: [number, number, number];
  normal: [number, number, number];
  distance: number;
  material: number;
}

export interface Stats {
  received: number;
  sent: number;
  pending: number;
  settled: boolean;
  /** Whether all edits of a local world are written; in memory, whether they were downloaded. */
  saved: boolean;
  /** Bytes of cells and messages, and of all WebAssembly memory. */
  cells: number;
  memory: number;
  /** The longest step of the worker since the last frame. */
  longestStepMs: number;
}

export type ToWorker =
  | {
      type: "start";
      /** The WebSocket of the server; without it the world is made here. */
      link: string | null;
      token: string;
      seed: number;
      /** The file of a local world, and whether a new one may be made; null if it is not kept. */
      file: string | null;
      mayCreate: boolean;
      view: number;
      detail: number;
      name: string;
      feet: [number, number, number];
    }
  | {
      type: "frame";
      seconds: number;
      steering: Steering;
      /** Where the player looks: a unit vector, and as a quaternion. */
      direction: [number, number, number];
      rotation: [number, number, number, number];
    }
  | { type: "edit"; op: unknown; at: number }
  /** Voxels, from the lowest to one past the highest. */
  | { type: "copy"; from: number[]; to: number[]; cut: boolean; at: number }
  | { type: "paste"; voxel: [number, number, number]; turns: number; at: number }
  | { type: "throw"; thing: "ball" | "crate"; from: number[]; velocity: number[] }
  | { type: "undo" | "redo" | "save" | "export" | "glb" | "collision" }
  | { type: "name"; name: string }
  /** Asks for all that is shown again: the graphics card was lost. */
  | { type: "meshes" }
  /** To a worker without a world: makes one of a file, and keeps it. */
  | { type: "open"; name: string; bytes: Uint8Array }
  | { type: "teleport"; feet: [number, number, number] };

export type FromWorker =
  /** `isKept`: whether it is a local world in a file of this browser. */
  | { type: "joined"; materials: Material[]; voxel: number; origin: number[]; ranges: Float32Array; isKept: boolean }
  | {
      type: "frame";
      eye: [number, number, number];
      onGround: boolean;
      inWater: boolean;
      aim: Aim | null;
      /** Nine numbers a body: number, kind, position, rotation. */
      bodies: Float64Array;
      /** Four numbers for each other player who looks at ground: body, point. */
      cursors: Float64Array;
      stats: Stats;
    }
  /** The reply to a frame while there is no world. */
  | { type: "wait" }
  /** All meshes so far are of another world, or come again. */
  | { type: "reset" }
  /** `edits`: click times of the edits that it shows. */
  | { type: "swap"; removed: string[]; added: MeshData[]; edits: number[] }
  | { type: "piece"; body: number; meshes: MeshData[] }
  | { type: "avatar"; body: number; name: string }
  /** What was copied, and its size in voxels. */
  | { type: "clip"; meshes: MeshData[]; size: [number, number, number] }
  /** Corners of triangles, metres from a point. */
  | { type: "collision"; at: number[]; corners: Float32Array }
  /** The world, to be downloaded. */
  | { type: "file"; name: string; bytes: Uint8Array }
  /** A file was kept as a world under a name: where a visit begins, metres, and notes about the import. */
  | { type: "opened"; name: string; start: number[]; notes: string[] }
  | { type: "news"; text: string }
  | { type: "lost"; text: string; final: boolean };
