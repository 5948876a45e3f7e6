// What is drawn: ground, water, sky, shadows, bodies and avatars. One unit is a voxel; positions are
// from the drawing origin, a voxel that stays near the eye.

import * as THREE from "three";
import * as glsl from "./shaders";
import { CASTS, TerrainMeshes, dispose, pieceOf } from "./terrain";
import { Debris } from "./debris";
import { colourOf, avatarOf, rename, standUpright } from "./avatars";
import { Resolution, rendererOf } from "./resolution";
import { groundTextures, paletteOf } from "./textures";
import { thingOf } from "./things";
import type { Material, MeshData } from "./messages";

const SHADOW_SIZE = 2048;
/** Half of the width that has shadows, voxels. */
const SHADOW_REACH = 110;
const SUN = new THREE.Vector3();
/** From here to there is drawn, metres. */
const [NEAR, FAR] = [0.1, 40000];
/** Avatars nearer to the eye than this are hidden, metres. */
const AVATAR_NEAR = 2;

export interface ViewOptions {
  shadows: boolean;
  /** Render scale along each axis, 1 for the pixels of the device; 0 to adapt it to frame times. */
  scale: number;
  /** How far is seen, metres. */
  view: number;
}

export class View {
  readonly camera = new THREE.PerspectiveCamera(72, 1, NEAR, FAR);
  readonly renderer: THREE.WebGLRenderer;
  readonly terrain: TerrainMeshes;
  /** Milliseconds of the last frame in this thread. */
  millis = 0;
  private resolution: Resolution;
  private scene = new THREE.Scene();
  private waterScene = new THREE.Scene();
  private skyScene = new THREE.Scene();
  private screenScene = new THREE.Scene();
  private uniforms: Record<string, THREE.IUniform>;
  private pieceMaterial: THREE.RawShaderMaterial;
  private depthMaterial: THREE.RawShaderMaterial;
  private target: THREE.WebGLRenderTarget;
  private shadowTarget: THREE.WebGLRenderTarget;
  private shadowCamera = new THREE.OrthographicCamera(-1, 1, 1, -1, 0, 1);
  private bodies = new Map<number, THREE.Object3D>();
  private names = new Map<number, string>();
  private frames = 0;
  /** All that shade by our own shaders. */
  private shaders: THREE.RawShaderMaterial[] = [];
  /** Pixels of the device for one of the page, as of the last resize. */
  private deviceRatio = 0;
  private debris = new Debris();
  /** What lights things and avatars, as the shaders light the ground. */
  private sunlight = new THREE.DirectionalLight();
  private skylight = new THREE.HemisphereLight();
  private cursors = new Map<number, THREE.Mesh>();
  private ghost: THREE.Object3D | null = null;
  private ghostMaterial: THREE.RawShaderMaterial;
  private box = new THREE.LineSegments(
    new THREE.EdgesGeometry(new THREE.BoxGeometry(1, 1, 1)),
    new THREE.LineBasicMaterial({ color: 0xffd98a, depthTest: false }),
  );
  private collision = new THREE.LineSegments(
    new THREE.BufferGeometry(),
    new THREE.LineBasicMaterial({ color: 0x1de9ff }),
  );
  /** The point around which collision is shown, voxels. */
  private collisionAt = new THREE.Vector3();

  constructor(
    canvas: HTMLCanvasElement,
    private options: ViewOptions,
  ) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: false, powerPreference: "high-performance" });
    this.renderer.autoClear = false;
    this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace;
    this.resolution = new Resolution(options.scale, rendererOf(this.renderer.getContext()));
    const blank = new THREE.DataTexture(new Uint8Array(4), 1, 1);
    this.target = this.newTarget(1, 1);
    this.shadowTarget = new THREE.WebGLRenderTarget(SHADOW_SIZE, SHADOW_SIZE);
    const depth = new THREE.DepthTexture(SHADOW_SIZE, SHADOW_SIZE, THREE.UnsignedIntType);
    depth.compareFunction = THREE.LessEqualCompare;
    depth.minFilter = depth.magFilter = THREE.LinearFilter;
    this.shadowTarget.depthTexture = depth;
    this.uniforms = {
      sun: { value: SUN },
      sunColour: { value: new THREE.Vector3() },
      zenith: { value: new THREE.Vector3() },
      horizon: { value: new THREE.Vector3() },
      ambient: { value: new THREE.Vector3() },
      haze: { value: 1 / options.view },
      textures: { value: groundTextures() },
      palette: { value: blank },
      ranges: { value: Array.from({ length: 16 }, () => new THREE.Vector4(1e30, 2e30, 1e30, 2e30)) },
      morphEye: { value: new THREE.Vector3() },
      morphs: { value: false },
      eye: { value: new THREE.Vector3() },
      brush: { value: new THREE.Vector4() },
      brushColour: { value: new THREE.Vector3(1, 0.85, 0.4) },
      overlay: { value: 0 },
      mip: { value: 0 },
      shadowMatrix: { value: new THREE.Matrix4() },
      shadowMap: { value: depth },
      hasShadows: { value: options.shadows },
      sceneDepth: { value: this.target.depthTexture },
      screen: { value: new THREE.Vector2() },
      nearFar: { value: new THREE.Vector2(this.camera.near, this.camera.far) },
      seconds: { value: 0 },
    };
    const ground = this.shader(glsl.GROUND_VERTEX, glsl.GROUND_FRAGMENT);
    const liquid = this.shader(glsl.WATER_VERTEX, glsl.WATER_FRAGMENT);
    liquid.transparent = true;
    liquid.side = THREE.DoubleSide;
    this.depthMaterial = this.shader(glsl.DEPTH_VERTEX, glsl.DEPTH_FRAGMENT);
    this.depthMaterial.side = THREE.DoubleSide;
    // Pieces do not morph.
    this.pieceMaterial = this.shader(glsl.GROUND_VERTEX, glsl.GROUND_FRAGMENT);
    this.pieceMaterial.uniforms = { ...this.uniforms, morphs: { value: false } };
    this.ghostMaterial = this.pieceMaterial.clone();
    this.ghostMaterial.uniforms = this.pieceMaterial.uniforms;
    this.shaders.push(this.ghostMaterial);
    this.ghostMaterial.defines = { ...this.pieceMaterial.defines, GHOST: 1 };
    Object.assign(this.ghostMaterial, {
      transparent: true,
      blending: THREE.CustomBlending,
      blendSrc: THREE.ConstantAlphaFactor,
      blendDst: THREE.OneMinusConstantAlphaFactor,
      blendAlpha: 0.65,
    });
    this.terrain = new TerrainMeshes(ground, liquid);
    for (const object of [this.box, this.collision]) {
      object.frustumCulled = object.visible = false;
      this.scene.add(object);
    }
    this.scene.add(this.debris.points, this.sunlight, this.skylight);
    this.scene.add(this.terrain.group);
    this.waterScene.add(this.terrain.water);
    const sky = this.shader(glsl.SKY_VERTEX, glsl.SKY_FRAGMENT);
    sky.depthWrite = false;
    sky.side = THREE.BackSide;
    const dome = new THREE.Mesh(new THREE.IcosahedronGeometry(1, 3), sky);
    dome.frustumCulled = false;
    this.skyScene.add(dome);
    this.screenScene.add(this.screenFiller());
    this.setTime(10);
    this.resize();
  }

  private shader(vertexShader: string, fragmentShader: string): THREE.RawShaderMaterial {
    const { uniforms } = this;
    const defines = this.options.shadows ? { SHADOWS: 1 } : {};
    const glslVersion = THREE.GLSL3;
    const made = new THREE.RawShaderMaterial({ vertexShader, fragmentShader, uniforms, defines, glslVersion });
    this.shaders.push(made);
    return made;
  }

  /** Turns shadows on or off. */
  setShadows(on: boolean) {
    this.options.shadows = on;
    this.uniforms["hasShadows"]!.value = on;
    for (const shader of this.shaders) {
      if (on) shader.defines["SHADOWS"] = 1;
      else delete shader.defines["SHADOWS"];
      shader.needsUpdate = true;
    }
  }

  /** Sets the render scale along each axis; 0 to adapt it to frame times. */
  setScale(scale: number) {
    this.resolution = new Resolution(scale, rendererOf(this.renderer.getContext()));
    this.resize();
  }

  /** Lets go of the canvas, for another view on it. */
  release() {
    this.renderer.dispose();
  }

  private newTarget(width: number, height: number): THREE.WebGLRenderTarget {
    // Below the full resolution, the device is too slow for smooth edges.
    const target = new THREE.WebGLRenderTarget(width, height, { samples: this.resolution.scale < 1 ? 0 : 4 });
    target.depthTexture = new THREE.DepthTexture(width, height, THREE.UnsignedIntType);
    return target;
  }

  /** Copies the picture of the ground and its depth to the screen. */
  private screenFiller(): THREE.Mesh {
    const material = new THREE.RawShaderMaterial({
      glslVersion: THREE.GLSL3,
      depthFunc: THREE.AlwaysDepth,
      uniforms: { picture: { value: null }, depth: { value: null } },
      vertexShader: `in vec3 position; out vec2 at;
        void main() { at = position.xy * 0.5 + 0.5; gl_Position = vec4(position.xy, 0.0, 1.0); }`,
      fragmentShader: `precision highp float; in vec2 at; out vec4 fragment;
        uniform sampler2D picture; uniform sampler2D depth;
        void main() { fragment = texture(picture, at); gl_FragDepth = texture(depth, at).r; }`,
    });
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array([-1, -1, 0, 3, -1, 0, -1, 3, 0]), 3));
    const mesh = new THREE.Mesh(geometry, material);
    mesh.frustumCulled = false;
    return mesh;
  }

  /** Takes what the world says of itself; `voxel` is the size of a voxel in metres. */
  setMaterials(materials: Material[], ranges: Float32Array, voxel: number) {
    this.uniforms["haze"]!.value = voxel / this.options.view;
    [this.camera.near, this.camera.far] = [NEAR / voxel, FAR / voxel];
    this.camera.updateProjectionMatrix();
    (this.uniforms["nearFar"]!.value as THREE.Vector2).set(this.camera.near, this.camera.far);
    (this.uniforms["palette"]!.value as THREE.Texture).dispose();
    this.uniforms["palette"]!.value = paletteOf(materials);
    const vectors = this.uniforms["ranges"]!.value as THREE.Vector4[];
    for (let mip = 0; mip * 2 < ranges.length; mip++) {
      const vector = vectors[mip >> 1]!;
      const [start, end] = [ranges[2 * mip]!, ranges[2 * mip + 1]!];
      if (mip % 2 === 0) [vector.x, vector.y] = [start, end];
      else [vector.z, vector.w] = [start, end];
    }
    this.uniforms["morphs"]!.value = true;
  }

  /** Sets sun and sky by the hour, 0 to 24. */
  setTime(hour: number) {
    const angle = ((hour - 6) / 12) * Math.PI;
    SUN.set(Math.cos(angle) * 0.8, Math.sin(angle), 0.45).normalize();
    const day = THREE.MathUtils.smoothstep(SUN.y, -0.08, 0.25);
    const low = 1 - THREE.MathUtils.smoothstep(SUN.y, 0.02, 0.4);
    const set = (name: string, r: number, g: number, b: number) =>
      (this.uniforms[name]!.value as THREE.Vector3).set(r, g, b);
    set("sunColour", 1.75 * day, (1.65 - 0.7 * low) * day, (1.48 - 1.0 * low) * day);
    set("zenith", 0.02 + 0.16 * day, 0.03 + 0.33 * day, 0.07 + 0.75 * day);
    set("horizon", 0.04 + (0.55 + 0.42 * low) * day, 0.05 + (0.68 - 0.1 * low) * day, 0.09 + (0.80 - 0.5 * low) * day);
    set("ambient", 0.06 + 0.24 * day, 0.08 + 0.31 * day, 0.13 + 0.40 * day);
    this.lightThings(day);
  }

  /** Lights what three.js shades; `day` is 0 at night. */
  private lightThings(day: number) {
    const vector = (name: string) => this.uniforms[name]!.value as THREE.Vector3;
    const { x, y, z } = vector("sunColour");
    this.sunlight.position.copy(SUN);
    this.sunlight.color.setRGB(x, y, z);
    // In units of three.js a white surface that faces a light of intensity π is white.
    this.sunlight.intensity = 0.35 * Math.PI;
    const ambient = vector("ambient");
    // Materials of three.js have no tone curve; this comes close to that of our shaders.
    this.skylight.color.setRGB(ambient.x ** 0.45, ambient.y ** 0.45, ambient.z ** 0.45);
    this.skylight.groundColor.copy(this.skylight.color).multiplyScalar(0.5);
    this.skylight.intensity = 0.8 * Math.PI;
    this.debris.setLight(0.15 + 0.85 * day);
  }

  setBrush(centre: THREE.Vector3 | null, radius: number, colour: [number, number, number]) {
    const brush = this.uniforms["brush"]!.value as THREE.Vector4;
    if (!centre) brush.set(0, 0, 0, 0);
    else brush.set(centre.x, centre.y, centre.z, radius);
    (this.uniforms["brushColour"]!.value as THREE.Vector3).set(...colour);
  }

  /** Shows the ground as it is (0), by level (1), or with the borders of blocks (2). */
  setOverlay(overlay: number) {
    this.uniforms["overlay"]!.value = overlay;
    this.terrain.group.children.forEach((mesh) => {
      mesh.onBeforeRender = overlay === 1
        ? () => {
            this.uniforms["mip"]!.value = mesh.userData["mip"];
            ((mesh as THREE.Mesh).material as THREE.RawShaderMaterial).uniformsNeedUpdate = true;
          }
        : () => {};
    });
  }

  /** Throws specks off the ground at a point, in voxels of the world. */
  burst(at: THREE.Vector3, normal: THREE.Vector3, colour: [number, number, number], voxel: number) {
    const [r, g, b] = colour;
    const tint = new THREE.Color(r / 255, g / 255, b / 255);
    this.debris.burst(at.clone().sub(this.terrain.origin), normal, tint, voxel);
  }

  /** Shows a box, in voxels of the world, or none. */
  setBox(from: number[] | null, to: number[]) {
    this.box.visible = from !== null;
    if (!from) return;
    const { x, y, z } = this.terrain.origin;
    const low = [from[0]! - x, from[1]! - y, from[2]! - z];
    const size = from.map((v, i) => to[i]! - v) as [number, number, number];
    this.box.position.set(low[0]! + size[0] / 2, low[1]! + size[1] / 2, low[2]! + size[2] / 2);
    this.box.scale.set(...size);
  }

  /** Takes what was copied, to be shown where it would be pasted. */
  setGhost(meshes: MeshData[]) {
    if (this.ghost) dispose(this.ghost);
    this.ghost = pieceOf(meshes, this.ghostMaterial);
    this.ghost.visible = false;
    this.scene.add(this.ghost);
  }

  /** Shows the copy with its lowest voxel at a point, after quarter turns about the vertical axis. */
  placeGhost(at: [number, number, number] | null, size: [number, number, number], turns: number) {
    if (!this.ghost) return;
    this.ghost.visible = at !== null;
    if (!at) return;
    const [sx, , sz] = size;
    const off = [[0, 0], [0, sx], [sx, sz], [sz, 0]][turns % 4]!;
    this.ghost.rotation.y = (turns % 4) * (Math.PI / 2);
    this.ghost.position.set(at[0] + off[0]!, at[1], at[2] + off[1]!).sub(this.terrain.origin);
  }

  /** Shows the triangles that bodies collide with, as edges around a point in voxels; null for none. */
  setCollision(at: THREE.Vector3 | null, corners: Float32Array, voxel: number) {
    this.collision.visible = at !== null;
    if (!at) return;
    const lines = new Float32Array(corners.length * 2);
    for (let triangle = 0; triangle * 9 < corners.length; triangle++) {
      for (let edge = 0; edge < 6; edge++) {
        const corner = triangle * 9 + 3 * [0, 1, 1, 2, 2, 0][edge]!;
        for (let i = 0; i < 3; i++) lines[triangle * 18 + edge * 3 + i] = corners[corner + i]! / voxel;
      }
    }
    this.collision.geometry.dispose();
    this.collision.geometry = new THREE.BufferGeometry();
    this.collision.geometry.setAttribute("position", new THREE.BufferAttribute(lines, 3));
    this.collisionAt.copy(at);
  }

  /** Shows where others point: number and place, four numbers each. */
  setCursors(cursors: Float64Array, voxel: number, worldOrigin: number[]) {
    const seen = new Set<number>();
    for (let at = 0; at < cursors.length; at += 4) {
      const number = cursors[at]!;
      seen.add(number);
      let cursor = this.cursors.get(number);
      if (!cursor) {
        const material = new THREE.MeshBasicMaterial({ color: colourOf(this.names.get(number) ?? "") });
        cursor = new THREE.Mesh(new THREE.TorusGeometry(0.28, 0.06, 8, 24), material);
        cursor.scale.setScalar(1 / voxel);
        this.cursors.set(number, cursor);
        this.scene.add(cursor);
      }
      const place = (i: number) => (cursors[at + 1 + i]! - worldOrigin[i]!) / voxel;
      cursor.position.set(place(0), place(1), place(2)).sub(this.terrain.origin);
      cursor.lookAt(this.camera.position);
    }
    for (const [number, cursor] of this.cursors) {
      if (seen.has(number)) continue;
      dispose(cursor);
      this.cursors.delete(number);
    }
  }

  addPiece(body: number, meshes: MeshData[]) {
    this.names.delete(body);
    this.replace(body, pieceOf(meshes, this.pieceMaterial));
  }

  /** Shows another player, or the new name of one; `voxel` is the size of a voxel in metres. */
  addAvatar(body: number, name: string, voxel: number) {
    const known = this.names.has(body) ? this.bodies.get(body) : undefined;
    this.names.set(body, name);
    if (known) return rename(known, name, this.renderer);
    const avatar = avatarOf(name, this.renderer);
    avatar.scale.setScalar(1 / voxel);
    this.replace(body, avatar);
  }

  private replace(body: number, object: THREE.Object3D): THREE.Object3D {
    const old = this.bodies.get(body);
    if (old) dispose(old);
    this.bodies.set(body, object);
    this.scene.add(object);
    return object;
  }

  /** Number of avatars of others. */
  get others() {
    return this.names.size;
  }

  /** Moves bodies to where they are now; nine numbers each. */
  moveBodies(bodies: Float64Array, voxel: number, worldOrigin: number[]) {
    const seen = new Set<number>();
    const { origin } = this.terrain;
    for (let at = 0; at < bodies.length; at += 9) {
      const number = bodies[at]!;
      seen.add(number);
      const kind = bodies[at + 1]!;
      const shown = this.bodies.get(number)?.userData["thing"] as number | undefined;
      // A number may have become that of a body of another kind.
      if ((this.names.has(number) && kind !== -2) || (shown !== undefined && shown !== kind)) this.forget(number);
      if (kind >= 0 && shown !== kind) {
        const thing = thingOf(kind);
        thing?.scale.setScalar(1 / voxel);
        if (thing) this.replace(number, thing).userData["thing"] = kind;
        else this.forget(number);
      }
      const object = this.bodies.get(number);
      if (!object) continue;
      const place = (i: number) => (bodies[at + 2 + i]! - worldOrigin[i]!) / voxel;
      object.position.set(place(0) - origin.x, place(1) - origin.y, place(2) - origin.z);
      object.quaternion.set(bodies[at + 5]!, bodies[at + 6]!, bodies[at + 7]!, bodies[at + 8]!);
      if (this.names.has(number)) standUpright(object);
    }
    for (const number of this.bodies.keys()) if (!seen.has(number)) this.forget(number);
  }

  private forget(number: number) {
    const object = this.bodies.get(number);
    if (object) dispose(object);
    this.bodies.delete(number);
    this.names.delete(number);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    this.deviceRatio = devicePixelRatio;
    const ratio = Math.min(devicePixelRatio, 2) * this.resolution.scale;
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
    this.target.dispose();
    this.target = this.newTarget(Math.max(1, Math.floor(width * ratio)), Math.max(1, Math.floor(height * ratio)));
    this.uniforms["sceneDepth"]!.value = this.target.depthTexture;
    (this.uniforms["screen"]!.value as THREE.Vector2).set(this.target.width, this.target.height);
  }

  /** Draws a frame from an eye in voxels of the world. */
  draw(eye: THREE.Vector3, seconds: number, elapsed: number, voxel: number) {
    const start = performance.now();
    // The window may have moved to another screen.
    if (this.resolution.note(elapsed) || devicePixelRatio !== this.deviceRatio) this.resize();
    const before = this.terrain.origin.clone();
    if (this.terrain.follow(eye)) this.debris.shift(this.terrain.origin.clone().sub(before));
    this.debris.move(elapsed, voxel);
    this.collision.position.copy(this.collisionAt).sub(this.terrain.origin);
    const { renderer, camera, uniforms } = this;
    camera.position.copy(eye).sub(this.terrain.origin);
    camera.updateMatrixWorld();
    this.hideNearAvatars(voxel);
    (uniforms["eye"]!.value as THREE.Vector3).copy(camera.position);
    (uniforms["morphEye"]!.value as THREE.Vector3).copy(camera.position);
    uniforms["seconds"]!.value = seconds % 10000;
    if (this.options.shadows && this.frames++ % 2 === 0) this.drawShadows();
    renderer.setRenderTarget(this.target);
    renderer.clear();
    renderer.render(this.scene, camera);
    renderer.render(this.skyScene, camera);
    renderer.setRenderTarget(null);
    renderer.clear();
    const filler = (this.screenScene.children[0] as THREE.Mesh).material as THREE.RawShaderMaterial;
    filler.uniforms["picture"]!.value = this.target.texture;
    filler.uniforms["depth"]!.value = this.target.depthTexture;
    renderer.render(this.screenScene, camera);
    renderer.render(this.waterScene, camera);
    this.millis = performance.now() - start;
  }

  /** Hides others who are so near that they would cover the view. */
  private hideNearAvatars(voxel: number) {
    for (const number of this.names.keys()) {
      const avatar = this.bodies.get(number);
      if (avatar) avatar.visible = avatar.position.distanceTo(this.camera.position) * voxel >= AVATAR_NEAR;
    }
  }

  private drawShadows() {
    const { shadowCamera, uniforms, renderer } = this;
    const hasSun = SUN.y > 0.05;
    uniforms["hasShadows"]!.value = hasSun;
    if (!hasSun) return;
    const step = (2 * SHADOW_REACH) / SHADOW_SIZE;
    const centre = this.camera.position.clone();
    const camera = shadowCamera;
    camera.left = camera.bottom = -SHADOW_REACH;
    camera.right = camera.top = SHADOW_REACH;
    [camera.near, camera.far] = [0, 500];
    camera.position.copy(SUN).multiplyScalar(250).add(centre);
    camera.lookAt(centre);
    camera.updateMatrixWorld();
    // Whole texels, so that edges do not crawl.
    const at = centre.clone().applyMatrix4(camera.matrixWorldInverse);
    const off = new THREE.Vector3(at.x % step, at.y % step, 0).applyQuaternion(camera.quaternion);
    camera.position.sub(off);
    camera.updateMatrixWorld();
    camera.updateProjectionMatrix();
    camera.layers.set(CASTS);
    (uniforms["shadowMatrix"]!.value as THREE.Matrix4)
      .copy(camera.projectionMatrix)
      .multiply(camera.matrixWorldInverse);
    this.scene.overrideMaterial = this.depthMaterial;
    renderer.setRenderTarget(this.shadowTarget);
    renderer.clear();
    renderer.render(this.scene, camera);
    this.scene.overrideMaterial = null;
  }
}
