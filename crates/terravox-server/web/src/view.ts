// What is drawn: ground, water, sky, shadows, bodies and figures. One unit is a voxel; positions are
// from the origin of the frame, which stays near the eye.

import * as THREE from "three";
import type { Material } from "./messages";
import * as glsl from "./shaders";
import { CASTS, TerrainMeshes, dispose, pieceOf } from "./terrain";
import { groundTextures, paletteOf } from "./textures";
import type { MeshData } from "./messages";

const SHADOW_SIZE = 2048;
/** Half of the width that has shadows, voxels. */
const SHADOW_REACH = 110;
const SUN = new THREE.Vector3();

export interface ViewOptions {
  shadows: boolean;
  /** Pixels of the picture for each pixel of the page. */
  scale: number;
  view: number;
}

export class View {
  readonly camera = new THREE.PerspectiveCamera(72, 1, 0.1, 40000);
  readonly renderer: THREE.WebGLRenderer;
  readonly terrain: TerrainMeshes;
  /** Milliseconds of the last frame in this thread. */
  millis = 0;
  private scene = new THREE.Scene();
  private waterScene = new THREE.Scene();
  private skyScene = new THREE.Scene();
  private copyScene = new THREE.Scene();
  private uniforms: Record<string, THREE.IUniform>;
  private pieceMaterial: THREE.RawShaderMaterial;
  private depthMaterial: THREE.RawShaderMaterial;
  private target: THREE.WebGLRenderTarget;
  private shadowTarget: THREE.WebGLRenderTarget;
  private shadowCamera = new THREE.OrthographicCamera(-1, 1, 1, -1, 0, 1);
  private bodies = new Map<number, THREE.Object3D>();
  private names = new Map<number, string>();
  private frames = 0;

  constructor(
    canvas: HTMLCanvasElement,
    private options: ViewOptions,
  ) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: false, powerPreference: "high-performance" });
    this.renderer.autoClear = false;
    this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2) * options.scale);
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
    this.terrain = new TerrainMeshes(ground, liquid);
    this.scene.add(this.terrain.group);
    this.waterScene.add(this.terrain.water);
    const sky = this.shader(glsl.SKY_VERTEX, glsl.SKY_FRAGMENT);
    sky.depthWrite = false;
    sky.side = THREE.BackSide;
    const dome = new THREE.Mesh(new THREE.IcosahedronGeometry(1, 3), sky);
    dome.frustumCulled = false;
    this.skyScene.add(dome);
    this.copyScene.add(this.copier());
    this.setTime(10);
    this.resize();
  }

  private shader(vertexShader: string, fragmentShader: string): THREE.RawShaderMaterial {
    const { uniforms } = this;
    const defines = this.options.shadows ? { SHADOWS: 1 } : {};
    return new THREE.RawShaderMaterial({ vertexShader, fragmentShader, uniforms, defines, glslVersion: THREE.GLSL3 });
  }

  private newTarget(width: number, height: number): THREE.WebGLRenderTarget {
    // Who lowers the resolution has no time for smooth edges.
    const target = new THREE.WebGLRenderTarget(width, height, { samples: this.options.scale < 1 ? 0 : 4 });
    target.depthTexture = new THREE.DepthTexture(width, height, THREE.UnsignedIntType);
    return target;
  }

  /** Copies the picture of the ground and its depth to the screen. */
  private copier(): THREE.Mesh {
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

  setMaterials(materials: Material[], ranges: Float32Array) {
    this.uniforms["palette"]!.value = paletteOf(materials);
    const vectors = this.uniforms["ranges"]!.value as THREE.Vector4[];
    for (let level = 0; level * 2 < ranges.length; level++) {
      const vector = vectors[level >> 1]!;
      const [start, end] = [ranges[2 * level]!, ranges[2 * level + 1]!];
      if (level % 2 === 0) [vector.x, vector.y] = [start, end];
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
    set("sunColour", 2.6 * day, (2.45 - 1.0 * low) * day, (2.2 - 1.5 * low) * day);
    set("zenith", 0.02 + 0.16 * day, 0.03 + 0.33 * day, 0.07 + 0.75 * day);
    set("horizon", 0.04 + 0.55 * day + 0.25 * low * day, 0.05 + 0.68 * day, 0.09 + 0.80 * day - 0.25 * low * day);
    set("ambient", 0.06 + 0.36 * day, 0.08 + 0.46 * day, 0.13 + 0.60 * day);
  }

  setBrush(centre: THREE.Vector3 | null, radius: number, colour: [number, number, number]) {
    const brush = this.uniforms["brush"]!.value as THREE.Vector4;
    if (!centre) brush.set(0, 0, 0, 0);
    else brush.set(centre.x, centre.y, centre.z, radius);
    (this.uniforms["brushColour"]!.value as THREE.Vector3).set(...colour);
  }

  setOverlay(on: boolean) {
    this.uniforms["overlay"]!.value = on ? 1 : 0;
    this.terrain.group.children.forEach((mesh) => {
      mesh.onBeforeRender = on
        ? () => {
            this.uniforms["mip"]!.value = mesh.userData["mip"];
            ((mesh as THREE.Mesh).material as THREE.RawShaderMaterial).uniformsNeedUpdate = true;
          }
        : () => {};
    });
  }

  addPiece(body: number, meshes: MeshData[]) {
    this.replace(body, pieceOf(meshes, this.pieceMaterial));
  }

  /** Shows another player; `voxel` is the size of a voxel in metres. */
  addFigure(body: number, name: string, voxel: number) {
    if (this.names.get(body) === name && this.bodies.has(body)) return;
    this.names.set(body, name);
    const figure = figureOf(name, this.renderer);
    figure.scale.setScalar(1 / voxel);
    this.replace(body, figure);
  }

  private replace(body: number, object: THREE.Object3D) {
    const old = this.bodies.get(body);
    if (old) dispose(old);
    this.bodies.set(body, object);
    this.scene.add(object);
  }

  /** Number of figures of others. */
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
      const object = this.bodies.get(number);
      if (!object) continue;
      const place = (i: number) => (bodies[at + 2 + i]! - worldOrigin[i]!) / voxel;
      object.position.set(place(0) - origin.x, place(1) - origin.y, place(2) - origin.z);
      object.quaternion.set(bodies[at + 5]!, bodies[at + 6]!, bodies[at + 7]!, bodies[at + 8]!);
    }
    for (const [number, object] of this.bodies) {
      if (seen.has(number)) continue;
      dispose(object);
      this.bodies.delete(number);
      this.names.delete(number);
    }
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    const ratio = this.renderer.getPixelRatio();
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
    this.target.dispose();
    this.target = this.newTarget(Math.max(1, Math.floor(width * ratio)), Math.max(1, Math.floor(height * ratio)));
    this.uniforms["sceneDepth"]!.value = this.target.depthTexture;
    (this.uniforms["screen"]!.value as THREE.Vector2).set(this.target.width, this.target.height);
  }

  /** Draws a frame from an eye in voxels of the world. */
  draw(eye: THREE.Vector3, seconds: number) {
    const start = performance.now();
    this.terrain.follow(eye);
    const { renderer, camera, uniforms } = this;
    camera.position.copy(eye).sub(this.terrain.origin);
    camera.updateMatrixWorld();
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
    const copy = (this.copyScene.children[0] as THREE.Mesh).material as THREE.RawShaderMaterial;
    copy.uniforms["picture"]!.value = this.target.texture;
    copy.uniforms["depth"]!.value = this.target.depthTexture;
    renderer.render(this.copyScene, camera);
    renderer.render(this.waterScene, camera);
    this.millis = performance.now() - start;
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
    uniforms["hasShadows"]!.value = true;
    this.scene.overrideMaterial = this.depthMaterial;
    renderer.setRenderTarget(this.shadowTarget);
    renderer.clear();
    renderer.render(this.scene, camera);
    this.scene.overrideMaterial = null;
  }
}

/** Another player: a body with a head, and a name above. The pose is that of the eyes. */
function figureOf(name: string, renderer: THREE.WebGLRenderer): THREE.Group {
  const group = new THREE.Group();
  let hash = 7;
  for (const c of name) hash = (hash * 31 + c.charCodeAt(0)) % 360;
  const colour = new THREE.Color().setHSL(hash / 360, 0.6, 0.55);
  const material = new THREE.MeshBasicMaterial({ color: colour });
  const dark = new THREE.MeshBasicMaterial({ color: colour.clone().multiplyScalar(0.6) });
  const body = new THREE.Mesh(new THREE.CapsuleGeometry(0.3, 0.8, 4, 12), dark);
  body.position.y = -0.95;
  const head = new THREE.Mesh(new THREE.SphereGeometry(0.24, 16, 12), material);
  const nose = new THREE.Mesh(new THREE.ConeGeometry(0.07, 0.2, 8), dark);
  nose.rotation.x = -Math.PI / 2;
  nose.position.z = -0.28;
  group.add(head, nose, body);
  if (name) group.add(labelOf(name, renderer));
  return group;
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
  return sprite;
}
