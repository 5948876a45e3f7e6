// What the player does to the ground: operations as docs/editing.md has them, in metres.

import type { Aim } from "./messages";

type V3 = [number, number, number];

export interface Brush {
  kind: "brush";
  name: string;
  colour: V3;
  usesMaterial: boolean;
  /** The operation at what the player aims at, with a radius in metres. */
  op(aim: Aim, radius: number, material: number): unknown;
  /** The centre of the brush. */
  centre(aim: Aim, radius: number): V3;
}

/** What is done once for a click. */
export interface Act {
  kind: "copy" | "cut" | "paste" | "ball" | "crate";
  name: string;
  usesMaterial: false;
  /** Whether only a server has what it needs. */
  needsServer?: boolean;
}

export type Tool = Brush | Act;

const along = (aim: Aim, by: number): V3 => [0, 1, 2].map((i) => aim.point[i]! + aim.normal[i]! * by) as V3;
const ball = (centre: V3, radius: number, action: unknown) => ({ brush: { brush: { ball: { centre, radius } }, action } });

const BRUSHES: Brush[] = [
  {
    kind: "brush",
    name: "Dig",
    colour: [1, 0.85, 0.4],
    usesMaterial: false,
    centre: (aim, radius) => along(aim, -0.35 * radius),
    op: (aim, radius) => ball(along(aim, -0.35 * radius), radius, "dig"),
  },
  {
    kind: "brush",
    name: "Build",
    colour: [0.5, 1, 0.6],
    usesMaterial: true,
    centre: (aim, radius) => along(aim, 0.3 * radius),
    op: (aim, radius, material) => ball(along(aim, 0.3 * radius), radius, { fill: { material } }),
  },
  {
    kind: "brush",
    name: "Paint",
    colour: [0.6, 0.8, 1],
    usesMaterial: true,
    centre: (aim) => aim.point,
    op: (aim, radius, material) => ball(aim.point, radius, { paint: { material } }),
  },
  {
    kind: "brush",
    name: "Smooth",
    colour: [1, 0.7, 1],
    usesMaterial: false,
    centre: (aim) => aim.point,
    op: (aim, radius) => ball(aim.point, radius, "smooth"),
  },
  {
    kind: "brush",
    name: "Flatten",
    colour: [1, 0.6, 0.5],
    usesMaterial: false,
    centre: (aim) => aim.point,
    op: (aim, radius) => ball(aim.point, radius, { flatten: { point: aim.point, normal: [0, 1, 0], material: null } }),
  },
];

export const TOOLS: Tool[] = [
  ...BRUSHES,
  { kind: "copy", name: "Copy", usesMaterial: false },
  { kind: "cut", name: "Cut", usesMaterial: false },
  { kind: "paste", name: "Paste", usesMaterial: false },
  { kind: "ball", name: "Ball", usesMaterial: false, needsServer: true },
  { kind: "crate", name: "Crate", usesMaterial: false, needsServer: true },
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
