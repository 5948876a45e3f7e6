// The meshes of the terrain and of loose pieces, as geometry.

import * as THREE from "three";
import type { MeshData, PartData } from "./messages";

/** On this layer are the objects that cast shadows. */
export const CASTS = 1;

/** The drawing origin is a multiple of this many voxels, so that textures do not move. */
const ORIGIN_STEP = 1024;

interface TerrainMesh {
  meshes: THREE.Mesh[];
  min: Float64Array;
  mip: number;
  triangles: number;
}

function geometryOf(part: PartData): THREE.InstancedBufferGeometry {
  const geometry = new THREE.InstancedBufferGeometry();
  const words = (bytes: Uint8Array) => new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
  const add = (name: string, bytes: Uint8Array, size: number) => {
    const attribute = new THREE.BufferAttribute(words(bytes), size);
    attribute.gpuType = THREE.IntType;
    geometry.setAttribute(name, attribute);
  };
  add("packedVertex", part.vertices, 4);
  if (part.targets.byteLength > 0) add("packedGoal", part.targets, 3);
  const { buffer, byteOffset } = part.indices;
  const count = part.triangles * 3;
  geometry.setIndex(
    new THREE.BufferAttribute(
      part.longIndices ? new Uint32Array(buffer, byteOffset, count) : new Uint16Array(buffer, byteOffset, count),
      1,
    ),
  );
  geometry.instanceCount = 1;
  return geometry;
}

/** Frees the copies in memory once the graphics card has the buffers. */
function forget(geometry: THREE.BufferGeometry) {
  for (const name of ["packedVertex", "packedGoal"]) {
    const attribute = geometry.getAttribute(name);
    if (attribute instanceof THREE.BufferAttribute) attribute.onUpload(releaseArray);
  }
  geometry.index?.onUpload(releaseArray);
}

function releaseArray(this: THREE.BufferAttribute) {
  // Its length is still asked for.
  this.array = { length: this.array.length, BYTES_PER_ELEMENT: this.array.BYTES_PER_ELEMENT } as never;
}

export class TerrainMeshes {
  readonly group = new THREE.Group();
  readonly water = new THREE.Group();
  /** The voxel at the drawing origin. */
  origin = new THREE.Vector3();
  triangles = 0;
  private shown = new Map<string, TerrainMesh>();

  constructor(
    private ground: THREE.Material,
    private liquid: THREE.Material,
  ) {}

  get count() {
    return this.shown.size;
  }

  swap(removed: string[], added: MeshData[]) {
    for (const key of removed) this.remove(key);
    for (const data of added) this.add(data);
  }

  /** Drops all meshes. */
  clear() {
    for (const key of this.shown.keys()) this.remove(key);
  }

  private remove(key: string) {
    const old = this.shown.get(key);
    if (!old) return;
    for (const mesh of old.meshes) {
      mesh.removeFromParent();
      mesh.geometry.dispose();
    }
    this.triangles -= old.triangles;
    this.shown.delete(key);
  }

  private add(data: MeshData) {
    this.remove(data.key);
    const shown: TerrainMesh = { meshes: [], min: data.min, mip: data.mip, triangles: 0 };
    for (const [part, material, group] of [
      [data.solid, this.ground, this.group],
      [data.liquid, this.liquid, this.water],
    ] as const) {
      if (!part) continue;
      const geometry = geometryOf(part);
      geometry.setAttribute("place", new THREE.InstancedBufferAttribute(new Float32Array(4), 4));
      const bounds = data.bounds;
      const middle = [0, 1, 2].map((i) => (bounds[i]! + bounds[i + 3]!) / 2);
      const half = [0, 1, 2].map((i) => (bounds[i + 3]! - bounds[i]!) / 2);
      const mesh = new THREE.Mesh(geometry, material);
      mesh.userData = { middle, mip: data.mip };
      geometry.boundingSphere = new THREE.Sphere(new THREE.Vector3(), Math.hypot(...half));
      mesh.matrixAutoUpdate = false;
      if (group === this.group) mesh.layers.enable(CASTS);
      group.add(mesh);
      shown.meshes.push(mesh);
      shown.triangles += part.triangles;
    }
    for (const mesh of shown.meshes) forget(mesh.geometry);
    this.place(shown);
    this.triangles += shown.triangles;
    this.shown.set(data.key, shown);
  }

  private place(shown: TerrainMesh) {
    const { origin } = this;
    const at = [shown.min[0]! - origin.x, shown.min[1]! - origin.y, shown.min[2]! - origin.z, 2 ** shown.mip];
    for (const mesh of shown.meshes) {
      const place = mesh.geometry.getAttribute("place") as THREE.InstancedBufferAttribute;
      place.set(at);
      place.needsUpdate = true;
      const [x, y, z] = mesh.userData["middle"] as [number, number, number];
      mesh.geometry.boundingSphere!.center.set(x - origin.x, y - origin.y, z - origin.z);
    }
  }

  /** Moves the drawing origin near a voxel; returns whether it moved. */
  follow(eye: THREE.Vector3): boolean {
    const near = eye.clone().divideScalar(ORIGIN_STEP).round().multiplyScalar(ORIGIN_STEP);
    if (near.equals(this.origin)) return false;
    this.origin.copy(near);
    for (const shown of this.shown.values()) this.place(shown);
    return true;
  }
}

/** A loose piece: meshes in voxels of the body, under one object. */
export function pieceOf(meshes: MeshData[], ground: THREE.Material): THREE.Group {
  const group = new THREE.Group();
  for (const { solid, min } of meshes) {
    if (!solid) continue;
    const geometry = geometryOf(solid);
    const place = new Float32Array([min[0]!, min[1]!, min[2]!, 1]);
    geometry.setAttribute("place", new THREE.InstancedBufferAttribute(place, 4));
    const centre = new THREE.Vector3(min[0]! + 16, min[1]! + 16, min[2]! + 16);
    geometry.boundingSphere = new THREE.Sphere(centre, 28);
    const mesh = new THREE.Mesh(geometry, ground);
    mesh.layers.enable(CASTS);
    group.add(mesh);
  }
  return group;
}

/** Removes an object, and frees what it alone has. */
export function dispose(object: THREE.Object3D) {
  object.removeFromParent();
  object.traverse((part) => {
    if (!(part instanceof THREE.Mesh || part instanceof THREE.Sprite)) return;
    part.geometry.dispose();
    const { material } = part as { material: THREE.Material & { map?: THREE.Texture | null } };
    // Those of pieces are shared.
    if (material instanceof THREE.RawShaderMaterial) return;
    material.map?.dispose();
    material.dispose();
  });
}
