// What the player does to the ground: operations as docs/editing.md has them, in metres.

import type { Aim } from "./messages";

type V3 = [number, number, number];

export interface Tool {
  name: string;
  colour: V3;
  usesMaterial: boolean;
  /** The operation at what the player aims at, with a radius in metres. */
  op(aim: Aim, radius: number, material: number): unknown;
  /** The centre of the brush. */
  centre(aim: Aim, radius: number): V3;
}

const along = (aim: Aim, by: number): V3 => [0, 1, 2].map((i) => aim.point[i]! + aim.normal[i]! * by) as V3;
const ball = (centre: V3, radius: number, action: unknown) => ({ brush: { brush: { ball: { centre, radius } }, action } });

export const TOOLS: Tool[] = [
  {
    name: "Dig",
    colour: [1, 0.85, 0.4],
    usesMaterial: false,
    centre: (aim, radius) => along(aim, -0.35 * radius),
    op: (aim, radius) => ball(along(aim, -0.35 * radius), radius, "dig"),
  },
  {
    name: "Build",
    colour: [0.5, 1, 0.6],
    usesMaterial: true,
    centre: (aim, radius) => along(aim, 0.3 * radius),
    op: (aim, radius, material) => ball(along(aim, 0.3 * radius), radius, { fill: { material } }),
  },
  {
    name: "Paint",
    colour: [0.6, 0.8, 1],
    usesMaterial: true,
    centre: (aim) => aim.point,
    op: (aim, radius, material) => ball(aim.point, radius, { paint: { material } }),
  },
  {
    name: "Smooth",
    colour: [1, 0.7, 1],
    usesMaterial: false,
    centre: (aim) => aim.point,
    op: (aim, radius) => ball(aim.point, radius, "smooth"),
  },
  {
    name: "Flatten",
    colour: [1, 0.6, 0.5],
    usesMaterial: false,
    centre: (aim) => aim.point,
    op: (aim, radius) => ball(aim.point, radius, { flatten: { point: aim.point, normal: [0, 1, 0], material: null } }),
  },
];
