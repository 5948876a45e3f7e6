// Textures that the page makes: one layer a kind of ground, tileable, and the table of materials.

import * as THREE from "three";
import type { Material } from "./messages";

export const LAYERS = 8;
const SIZE = 256;

/** Which layer a material has, by words in its name. */
const WORDS: [string, number][] = [
  ["grass", 0], ["leaf", 0], ["moss", 0],
  ["ground", 1], ["mud", 1], ["soil", 1], ["dirt", 1],
  ["sandstone", 3], ["sand", 2], ["salt", 2],
  ["rock", 3], ["slate", 3], ["basalt", 3], ["lime", 3], ["granite", 3], ["stone", 3], ["lava", 3],
  ["snow", 4], ["ice", 4], ["glacier", 4],
  ["wood", 5], ["plank", 5],
  ["brick", 6], ["cobble", 6], ["pavement", 6],
];

export function layerOf(name: string): number {
  const lower = name.toLowerCase();
  return WORDS.find(([word]) => lower.includes(word))?.[1] ?? 7;
}

/** Colours in the first row; layers and smoothness in the second. */
export function paletteOf(materials: Material[]): THREE.DataTexture {
  const bytes = new Uint8Array(256 * 2 * 4);
  for (let id = 0; id < 256; id++) {
    const material = materials[id] ?? { name: "", kind: "Solid", colour: [128, 128, 128] };
    bytes.set([...material.colour, 255], id * 4);
    const layer = layerOf(material.name);
    bytes.set([layer, layer === 4 ? 200 : 40, 0, 255], (256 + id) * 4);
  }
  const texture = new THREE.DataTexture(bytes, 256, 2, THREE.RGBAFormat);
  texture.needsUpdate = true;
  return texture;
}

/** Repeating value noise on a lattice of `cells` cells, at positions that are not negative. */
function noise(seed: number, cells: number): (x: number, y: number) => number {
  const values = new Float32Array(cells * cells);
  let state = seed * 2654435761;
  for (let i = 0; i < values.length; i++) {
    state = Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917;
    state ^= state >>> 13;
    values[i] = (state >>> 0) / 4294967296;
  }
  const at = (x: number, y: number) => values[(y % cells) * cells + (x % cells)]!;
  return (u, v) => {
    const [x, y] = [u * cells, v * cells];
    const [x0, y0] = [x | 0, y | 0];
    const fade = (t: number) => t * t * t * (t * (t * 6 - 15) + 10);
    const [s, t] = [fade(x - x0), fade(y - y0)];
    const top = at(x0, y0) * (1 - s) + at(x0 + 1, y0) * s;
    const low = at(x0, y0 + 1) * (1 - s) + at(x0 + 1, y0 + 1) * s;
    return top * (1 - t) + low * t;
  };
}

function fractal(seed: number, cells: number, octaves: number) {
  const parts = Array.from({ length: octaves }, (_, i) => noise(seed + i * 17, cells << i));
  return (u: number, v: number) => {
    let [sum, weight, total] = [0, 1, 0];
    for (const part of parts) {
      sum += weight * part(u, v);
      total += weight;
      weight *= 0.55;
    }
    return sum / total;
  };
}

/** Distance to the nearest and the second nearest of points that repeat. */
function cracks(seed: number, cells: number) {
  const [px, py] = [noise(seed, cells), noise(seed + 99, cells)];
  const points = Array.from({ length: cells * cells }, (_, i) => [(i % cells) / cells, Math.floor(i / cells) / cells]);
  const shiftX = Float64Array.from(points, ([u, v]) => px(u!, v!));
  const shiftY = Float64Array.from(points, ([u, v]) => py(u!, v!));
  return (u: number, v: number): number => {
    const [x, y] = [u * cells, v * cells];
    const [x0, y0] = [Math.floor(x), Math.floor(y)];
    let [first, second] = [9, 9];
    for (let cy = y0 - 1; cy <= y0 + 1; cy++) {
      const row = ((cy + cells) % cells) * cells;
      for (let cx = x0 - 1; cx <= x0 + 1; cx++) {
        const point = row + ((cx + cells) % cells);
        const [dx, dy] = [cx + shiftX[point]! - x, cy + shiftY[point]! - y];
        const d = Math.sqrt(dx * dx + dy * dy);
        if (d < first) [first, second] = [d, first];
        else if (d < second) second = d;
      }
    }
    return second - first;
  };
}

/** Heights of each layer, 0 to 1. */
function layers(): ((u: number, v: number) => number)[] {
  const [fine, soft, rough] = [fractal(3, 32, 3), fractal(5, 4, 4), fractal(7, 8, 5)];
  const blades = fractal(11, 64, 2);
  const [crack, stones] = [cracks(13, 9), cracks(19, 7)];
  const warp = fractal(23, 4, 3);
  return [
    // Grass: blades over patches.
    (u, v) => 0.55 * blades(u * 1, v * 0.5 + 0.25 * Math.round(2 * warp(u, v)) / 2) + 0.45 * soft(u, v),
    // Soil.
    (u, v) => 0.6 * rough(u, v) + 0.4 * fine(u, v) ** 2,
    // Sand: ripples.
    (u, v) => 0.5 + 0.12 * Math.sin(2 * Math.PI * (9 * v + 1.2 * warp(u, v))) + 0.3 * (fine(u, v) - 0.5),
    // Rock: cracks and strata.
    (u, v) => 0.55 * rough(u, v) + 0.3 * Math.min(1, 5 * crack(u, v)) + 0.15 * soft(u, v),
    // Snow and ice.
    (u, v) => 0.75 + 0.25 * soft(u, v),
    // Wood: grain.
    (u, v) => {
      const plank = Math.min(1, 24 * Math.abs((((v * 6) % 1) + 1) % 1 - 0.5));
      return plank * (0.6 + 0.4 * Math.sin(40 * warp(u * 0.5, v) + 3 * fine(u, v * 4)));
    },
    // Stones in mortar.
    (u, v) => Math.min(1, 6 * stones(u, v)) * (0.7 + 0.3 * rough(u, v)),
    // Plain.
    (u, v) => 0.7 + 0.3 * fine(u, v),
  ];
}

/** The texture array: brightness, and the slope of the surface along u and v. */
export function groundTextures(): THREE.DataArrayTexture {
  const bytes = new Uint8Array(SIZE * SIZE * 4 * LAYERS);
  const heights = new Float32Array(SIZE * SIZE);
  layers().forEach((height, layer) => {
    for (let y = 0; y < SIZE; y++) {
      for (let x = 0; x < SIZE; x++) heights[y * SIZE + x] = height(x / SIZE, y / SIZE);
    }
    const at = (x: number, y: number) => heights[((y + SIZE) % SIZE) * SIZE + ((x + SIZE) % SIZE)]!;
    for (let y = 0; y < SIZE; y++) {
      for (let x = 0; x < SIZE; x++) {
        const i = ((layer * SIZE + y) * SIZE + x) * 4;
        const slope = (d: number) => Math.max(0, Math.min(255, 128 + 420 * d));
        bytes[i] = Math.max(0, Math.min(255, 255 * at(x, y)));
        bytes[i + 1] = slope(at(x - 1, y) - at(x + 1, y));
        bytes[i + 2] = slope(at(x, y - 1) - at(x, y + 1));
        bytes[i + 3] = 255;
      }
    }
  });
  const texture = new THREE.DataArrayTexture(bytes, SIZE, SIZE, LAYERS);
  texture.format = THREE.RGBAFormat;
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.minFilter = THREE.LinearMipmapLinearFilter;
  texture.magFilter = THREE.LinearFilter;
  texture.generateMipmaps = true;
  texture.anisotropy = 4;
  texture.needsUpdate = true;
  return texture;
}
