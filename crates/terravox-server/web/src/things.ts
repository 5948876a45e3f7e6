// What the server shows besides ground: balls and crates that were thrown.

import * as THREE from "three";

/** Kinds of the server's game. */
const BALL = 1;
const CRATE = 2;

/** The picture of a crate: planks in a frame. */
function planks(): THREE.Texture {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const context = canvas.getContext("2d")!;
  context.fillStyle = "#9a6b3c";
  context.fillRect(0, 0, 64, 64);
  for (let y = 0; y < 64; y += 16) {
    context.fillStyle = y % 32 === 0 ? "#a97845" : "#8d6035";
    context.fillRect(0, y + 1, 64, 14);
  }
  context.strokeStyle = "#6d4824";
  context.lineWidth = 10;
  context.strokeRect(4, 4, 56, 56);
  return new THREE.CanvasTexture(canvas);
}

/** A thing of a kind of the game, in metres; null if this page does not know it. */
export function thingOf(kind: number): THREE.Object3D | null {
  if (kind === BALL) {
    const geometry = new THREE.SphereGeometry(0.35, 20, 14);
    return new THREE.Mesh(geometry, new THREE.MeshLambertMaterial({ map: stripes() }));
  }
  if (kind === CRATE) {
    return new THREE.Mesh(new THREE.BoxGeometry(0.8, 0.8, 0.8), new THREE.MeshLambertMaterial({ map: planks() }));
  }
  return null;
}

function stripes(): THREE.Texture {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [96, 8];
  const context = canvas.getContext("2d")!;
  for (let i = 0; i < 6; i++) {
    context.fillStyle = i % 2 === 0 ? "#d8412f" : "#f3ead8";
    context.fillRect(i * 16, 0, 16, 8);
  }
  return new THREE.CanvasTexture(canvas);
}
