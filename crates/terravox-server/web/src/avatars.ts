// Other players: a body with a head, and a name above.

import * as THREE from "three";
import { dispose } from "./terrain";

/** The colour of a player. */
export function colourOf(name: string): THREE.Color {
  let hash = 7;
  for (const c of name) hash = (hash * 31 + c.charCodeAt(0)) % 360;
  return new THREE.Color().setHSL(hash / 360, 0.6, 0.55);
}

/** Lets only the head of an avatar look up and down: the pose is that of the eyes. */
export function standUpright(avatar: THREE.Object3D) {
  const { x: pitch, y: yaw } = new THREE.Euler().setFromQuaternion(avatar.quaternion, "YXZ");
  avatar.rotation.set(0, yaw, 0, "YXZ");
  avatar.getObjectByName("head")!.rotation.x = pitch;
}

/** Another player: a body with a head, and a name above. */
export function avatarOf(name: string, renderer: THREE.WebGLRenderer): THREE.Group {
  const group = new THREE.Group();
  const material = new THREE.MeshLambertMaterial();
  const dark = new THREE.MeshLambertMaterial();
  const body = new THREE.Mesh(new THREE.CapsuleGeometry(0.3, 0.8, 4, 12), dark);
  body.position.y = -0.95;
  const head = new THREE.Mesh(new THREE.SphereGeometry(0.24, 16, 12), material);
  const nose = new THREE.Mesh(new THREE.ConeGeometry(0.07, 0.2, 8), dark);
  nose.rotation.x = -Math.PI / 2;
  nose.position.z = -0.28;
  [head.name, body.name] = ["head", "body"];
  head.add(nose);
  group.add(head, body);
  rename(group, name, renderer);
  return group;
}

/** Gives an avatar a name, and the colour of that. */
export function rename(avatar: THREE.Object3D, name: string, renderer: THREE.WebGLRenderer) {
  const label = avatar.getObjectByName("label");
  if (label) dispose(label);
  const colour = colourOf(name);
  for (const [part, share] of [["head", 1], ["body", 0.6]] as const) {
    const { material } = avatar.getObjectByName(part) as THREE.Mesh<THREE.BufferGeometry, THREE.MeshLambertMaterial>;
    material.color.copy(colour).multiplyScalar(share);
  }
  if (name) avatar.add(labelOf(name, renderer));
}

function labelOf(name: string, renderer: THREE.WebGLRenderer): THREE.Sprite {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [512, 96];
  const context = canvas.getContext("2d")!;
  context.font = "600 52px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 10;
  context.strokeStyle = "rgba(0, 0, 0, 0.7)";
  context.strokeText(name, 256, 48, 500);
  context.fillStyle = "white";
  context.fillText(name, 256, 48, 500);
  const texture = new THREE.CanvasTexture(canvas);
  texture.anisotropy = Math.min(4, renderer.capabilities.getMaxAnisotropy());
  const sprite = new THREE.Sprite(new THREE.SpriteMaterial({ map: texture, transparent: true }));
  sprite.scale.set(2.4, 0.45, 1);
  sprite.position.y = 0.62;
  sprite.name = "label";
  return sprite;
}
