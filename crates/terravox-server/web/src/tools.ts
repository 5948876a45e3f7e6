// What the player does to the ground: operations as docs/editing.md has them, in metres.

import type { Aim } from "./messages";

type V3 = [number, number, number];

export interface Brush {
  kind: "brush";
  name: string;
  colour: V3;
  usesMaterial: boolean;
  /** How far its centre lies above the ground, in radii. */
  lift: number;
  /** What it does, with the material of the palette. */
  action(aim: Aim, material: number): unknown;
}

/** What is done once for a click. */
export interface Act {
  kind: "copy" | "cut" | "paste" | "ball" | "crate";
  name: string;
  usesMaterial: false;
  /** Whether it is thrown, which only some servers let fall. */
  isThrown?: boolean;
}

export type Tool = Brush | Act;

/** The centre of a brush at what the player aims at, with a radius in metres. */
export function centreOf(brush: Brush, aim: Aim, radius: number): V3 {
  return aim.point.map((v, i) => v + aim.normal[i]! * brush.lift * radius) as V3;
}

/** The operation of a brush. */
export function operationOf(brush: Brush, aim: Aim, radius: number, material: number): unknown {
  const ball = { centre: centreOf(brush, aim, radius), radius };
  return { brush: { brush: { ball }, action: brush.action(aim, material) } };
}

const BRUSHES: Brush[] = [
  {
    kind: "brush",
    name: "Dig",
    colour: [1, 0.85, 0.4],
    usesMaterial: false,
    lift: -0.35,
    action: () => "dig",
  },
  {
    kind: "brush",
    name: "Build",
    colour: [0.5, 1, 0.6],
    usesMaterial: true,
    lift: 0.3,
    action: (_, material) => ({ fill: { material } }),
  },
  {
    kind: "brush",
    name: "Paint",
    colour: [0.6, 0.8, 1],
    usesMaterial: true,
    lift: 0,
    action: (_, material) => ({ paint: { material } }),
  },
  {
    kind: "brush",
    name: "Smooth",
    colour: [1, 0.7, 1],
    usesMaterial: false,
    lift: 0,
    action: () => "smooth",
  },
  {
    kind: "brush",
    name: "Flatten",
    colour: [1, 0.6, 0.5],
    usesMaterial: false,
    lift: 0,
    action: (aim) => ({ flatten: { point: aim.point, normal: [0, 1, 0], material: null } }),
  },
];

export const TOOLS: Tool[] = [
  ...BRUSHES,
  { kind: "copy", name: "Copy", usesMaterial: false },
  { kind: "cut", name: "Cut", usesMaterial: false },
  { kind: "paste", name: "Paste", usesMaterial: false },
  { kind: "ball", name: "Ball", usesMaterial: false, isThrown: true },
  { kind: "crate", name: "Crate", usesMaterial: false, isThrown: true },
];

/** The voxels of a cube around a point: the lowest, and one past the highest; at most 32 along an edge. */
export function cubeAround(centre: number[], half: number): { from: number[]; to: number[] } {
  const reach = Math.max(1, Math.min(16, Math.round(half)));
  const from = centre.map((v) => Math.round(v) - reach);
  return { from, to: from.map((v) => v + 2 * reach) };
}

/** Where the lowest voxel of a copy goes, so that its middle is at a point after some quarter turns. */
export function pasteAt(centre: number[], size: number[], turns: number): [number, number, number] {
  const [sx, sy, sz] = turns % 2 === 0 ? size : [size[2]!, size[1]!, size[0]!];
  return [sx!, sy!, sz!].map((edge, i) => Math.round(centre[i]! - edge / 2)) as [number, number, number];
}
