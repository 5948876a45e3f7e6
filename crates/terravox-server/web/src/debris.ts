// Specks that fly when ground is dug.

import * as THREE from "three";

const MAX_SPECKS = 512;
/** Pieces of one stroke. */
const STROKE = 14;
const LIFE_S = 0.9;

/** Specks in the colour of the ground; positions are voxels from the drawing origin. */
export class Debris {
  readonly points: THREE.Points;
  private velocity = new Float32Array(MAX_SPECKS * 3);
  private left = new Float32Array(MAX_SPECKS);
  private next = 0;
  private light = 1;

  constructor() {
    const geometry = new THREE.BufferGeometry();
    // Out of sight.
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(MAX_SPECKS * 3).fill(-1e6), 3));
    geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(MAX_SPECKS * 3), 3));
    const material = new THREE.PointsMaterial({ size: 0.16, vertexColors: true });
    this.points = new THREE.Points(geometry, material);
    this.points.frustumCulled = false;
    this.points.visible = false;
  }

  /** Sets how bright specks are, 1 by day. */
  setLight(light: number) {
    this.light = light;
  }

  /** Throws specks off a point of the ground. */
  burst(at: THREE.Vector3, normal: THREE.Vector3, colour: THREE.Color, voxel: number) {
    const [position, tint] = [this.array("position"), this.array("color")];
    for (let i = 0; i < STROKE; i++) {
      const speck = this.next++ % MAX_SPECKS;
      const spread = () => (Math.random() - 0.5) * 5;
      const off = [spread() + normal.x * 4, spread() + normal.y * 4 + 2, spread() + normal.z * 4];
      const shade = this.light * (0.6 + 0.6 * Math.random());
      at.toArray(position, speck * 3);
      this.velocity.set(off.map((v) => v / voxel), speck * 3);
      tint.set([colour.r * shade, colour.g * shade, colour.b * shade], speck * 3);
      this.left[speck] = LIFE_S * (0.5 + Math.random());
    }
    this.points.geometry.getAttribute("color").needsUpdate = true;
    (this.points.material as THREE.PointsMaterial).size = 0.16 / voxel;
    this.points.visible = true;
  }

  move(seconds: number, voxel: number) {
    if (!this.points.visible) return;
    const position = this.array("position");
    let alive = false;
    for (let speck = 0; speck < MAX_SPECKS; speck++) {
      if (this.left[speck]! <= 0) continue;
      this.left[speck]! -= seconds;
      alive = true;
      this.velocity[speck * 3 + 1]! -= (12 / voxel) * seconds;
      for (let i = 0; i < 3; i++) position[speck * 3 + i]! += this.velocity[speck * 3 + i]! * seconds;
      // Out of sight.
      if (this.left[speck]! <= 0) position[speck * 3 + 1] = -1e6;
    }
    this.points.geometry.getAttribute("position").needsUpdate = true;
    this.points.visible = alive;
  }

  /** Follows the drawing origin. */
  shift(by: THREE.Vector3) {
    const position = this.array("position");
    for (let speck = 0; speck < MAX_SPECKS; speck++) {
      for (let i = 0; i < 3; i++) position[speck * 3 + i]! -= by.getComponent(i);
    }
  }

  private array(name: string): Float32Array {
    return this.points.geometry.getAttribute(name).array as Float32Array;
  }
}
