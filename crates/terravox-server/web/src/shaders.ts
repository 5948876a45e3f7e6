// Shaders of ground, water and sky. Positions are voxels from the drawing origin.

/** Colour of the sky in a direction, and what distance does to colours. */
export const SKY = /* glsl */ `
uniform vec3 sun;        // unit vector to it
uniform vec3 sunColour;
uniform vec3 zenith;
uniform vec3 horizon;
uniform float haze;      // per voxel

vec3 skyColour(vec3 d) {
  float up = clamp(d.y, 0.0, 1.0);
  vec3 sky = mix(horizon, zenith, pow(up, 0.45));
  float toSun = max(dot(d, sun), 0.0);
  sky += sunColour * 0.22 * pow(toSun, 12.0) * (1.0 - up * 0.6);
  return sky;
}

vec3 inHaze(vec3 colour, vec3 fromEye) {
  float far = length(fromEye);
  vec3 d = fromEye / max(far, 1e-3);
  float clear = exp(-pow(far * haze, 1.4));
  return mix(skyColour(normalize(vec3(d.x, max(d.y, 0.02), d.z))), colour, clear);
}

// Close to what film does; in, out: linear, sRGB.
vec3 shown(vec3 c) {
  c = (c * (2.51 * c + 0.03)) / (c * (2.43 * c + 0.59) + 0.14);
  return pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2));
}
`;

/** The beginning of all vertex shaders of meshes: it reads the vertices of docs/gpu.md. */
const VERTEX = /* glsl */ `
precision highp float;
precision highp int;
in vec4 place;
uniform mat4 modelMatrix;
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
in uvec4 packedVertex;
in uvec3 packedGoal;
uniform vec4 ranges[16];  // by mip, two to a vector: where vertices start to morph, and arrive
uniform vec3 morphEye;
uniform bool morphs;

vec3 positionOf(uvec3 w) { return vec3(w & 0x3fffffu) * 0.000030517578125 - 32.0; }

vec3 normalOf(uvec2 w) {
  vec2 flat2 = vec2(w >> 22u) - 511.0;
  float y = 511.0 - abs(flat2.x) - abs(flat2.y);
  float fold = max(-y, 0.0);
  vec2 turned = vec2(flat2.x >= 0.0 ? -fold : fold, flat2.y >= 0.0 ? -fold : fold);
  return normalize(vec3(flat2.x + turned.x, y, flat2.y + turned.y));
}

vec4 weightsOf(uint w) {
  uvec4 n = uvec4(((w >> 22u) & 7u) + 1u, (w >> 25u) & 7u, (w >> 28u) & 3u, w >> 30u);
  return vec4(n) / float(n.x + n.y + n.z + n.w);
}

vec2 rangeOf(uint vertexMip) {
  vec4 two = ranges[vertexMip >> 1u];
  return (vertexMip & 1u) == 0u ? two.xy : two.zw;
}

// Position in voxels, and normal, of this vertex as it is shown from the eye.
void unpackVertex(vec4 place, out vec3 position, out vec3 normal) {
  position = positionOf(packedVertex.xyz) * place.w + place.xyz;
  normal = normalOf(packedVertex.xy);
  if (morphs) {
    uint step = packedGoal.z >> 22u;
    vec2 range = rangeOf(uint(log2(place.w) + 0.5) + step);
    float factor = clamp((distance(position, morphEye) - range.x) / (range.y - range.x), 0.0, 1.0);
    vec3 goal = positionOf(packedGoal) * place.w + place.xyz;
    position = mix(position, goal, factor);
    normal = normalize(mix(normal, normalOf(packedGoal.xy), factor));
  }
}
`;

export const GROUND_VERTEX = /* glsl */ `
${VERTEX}
uniform mat4 shadowMatrix;
uniform sampler2D palette;
out vec3 vPosition;
out vec3 vTexture;
out vec3 vNormal;
out vec3 vTextureNormal;
out vec3 vColour;
out vec4 vLayersA;
out vec4 vLayersB;
out vec4 vShadow;
out vec3 vInBlock;

void main() {
  vec3 position, normal;
  vInBlock = positionOf(packedVertex.xyz);
  unpackVertex(place, position, normal);
  vec4 weights = weightsOf(packedVertex.z);
  vec3 colour = vec3(0.0);
  float[8] layers = float[8](0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
  for (int i = 0; i < 4; i++) {
    if (weights[i] <= 0.0) continue;
    int id = int((packedVertex.w >> uint(8 * i)) & 255u);
    int layer = int(texelFetch(palette, ivec2(id, 1), 0).r * 255.0 + 0.5);
    vec3 own = texelFetch(palette, ivec2(id, 0), 0).rgb;
    if (id == 255) {
      // Ground without a material: by slope.
      bool steep = normal.y < 0.72;
      layer = steep ? 3 : 0;
      own = steep ? vec3(0.45, 0.43, 0.41) : vec3(0.35, 0.46, 0.22);
    }
    colour += weights[i] * pow(own, vec3(2.2));
    layers[layer] += weights[i];
  }
  vColour = colour;
  vLayersA = vec4(layers[0], layers[1], layers[2], layers[3]);
  vLayersB = vec4(layers[4], layers[5], layers[6], layers[7]);
  // Textures turn with a body, and do not move when the origin does.
  vTexture = position;
  vTextureNormal = normal;
  vec4 world = modelMatrix * vec4(position, 1.0);
  vPosition = world.xyz;
  vNormal = mat3(modelMatrix) * normal;
  vShadow = shadowMatrix * world;
  gl_Position = projectionMatrix * (viewMatrix * world);
#ifdef GHOST
  // In front of everything, in its own order: part of it may lie in the ground.
  gl_Position.z = mix(-gl_Position.w, gl_Position.z, 0.1);
#endif
}
`;

export const GROUND_FRAGMENT = /* glsl */ `
precision highp float;
precision highp sampler2DArray;
precision highp sampler2DShadow;
${SKY}
uniform sampler2DArray textures;
#ifdef SHADOWS
uniform sampler2DShadow shadowMap;
uniform bool hasShadows;
#endif
uniform vec3 eye;
uniform vec3 ambient;
uniform vec4 brush;      // centre and radius of the tool, 0 if none
uniform vec3 brushColour;
uniform int overlay;     // 1: mips; 2: borders of blocks
uniform float mip;
in vec3 vPosition;
in vec3 vTexture;
in vec3 vNormal;
in vec3 vTextureNormal;
in vec3 vColour;
in vec4 vLayersA;
in vec4 vLayersB;
in vec4 vShadow;
in vec3 vInBlock;
out vec4 fragment;

vec3 look(vec2 at, float layer) { return texture(textures, vec3(at, layer)).rgb; }

// Brightness and slopes of one layer, along the three axes.
void addLayer(float layer, float share, vec3 w, inout float light, inout vec3 bump) {
  if (share < 0.02) return;
  vec3 x = w.x > 0.02 ? look(vTexture.zy / 8.0, layer) : vec3(0.5);
  vec3 y = w.y > 0.02 ? look(vTexture.xz / 8.0, layer) : vec3(0.5);
  vec3 z = w.z > 0.02 ? look(vTexture.xy / 8.0, layer) : vec3(0.5);
  // A second, larger scale hides that the texture repeats.
  float large = look(vTexture.xz / 64.0 + vTexture.y / 97.0, layer).r;
  float near = dot(w, vec3(x.r, y.r, z.r));
  light += share * (0.62 * near + 0.38 * large);
  bump += share * (w.x * vec3(0.0, x.z - 0.5, x.y - 0.5)
    + w.y * vec3(y.y - 0.5, 0.0, y.z - 0.5)
    + w.z * vec3(z.y - 0.5, z.z - 0.5, 0.0));
}

float sunlight() {
#ifdef SHADOWS
  if (!hasShadows) return 1.0;
  vec3 at = vShadow.xyz / vShadow.w * 0.5 + 0.5;
  vec2 edge = abs(at.xy - 0.5);
  if (max(edge.x, edge.y) > 0.49 || at.z > 1.0) return 1.0;
  float texel = 1.0 / 2048.0, lit = 0.0;
  for (int y = -1; y <= 1; y++)
    for (int x = -1; x <= 1; x++)
      lit += texture(shadowMap, vec3(at.xy + vec2(x, y) * 1.2 * texel, at.z - 0.0012));
  float fade = smoothstep(0.40, 0.49, max(edge.x, edge.y));
  return mix(lit / 9.0, 1.0, fade);
#else
  return 1.0;
#endif
}

void main() {
  vec3 n = normalize(vNormal);
  vec3 a = pow(abs(normalize(vTextureNormal)), vec3(4.0));
  vec3 w = a / (a.x + a.y + a.z);
  float light = 0.0;
  vec3 bump = vec3(0.0);
  addLayer(0.0, vLayersA.x, w, light, bump);
  addLayer(1.0, vLayersA.y, w, light, bump);
  addLayer(2.0, vLayersA.z, w, light, bump);
  addLayer(3.0, vLayersA.w, w, light, bump);
  addLayer(4.0, vLayersB.x, w, light, bump);
  addLayer(5.0, vLayersB.y, w, light, bump);
  addLayer(6.0, vLayersB.z, w, light, bump);
  addLayer(7.0, vLayersB.w, w, light, bump);
  vec3 fromEye = vPosition - eye;
  float far = length(fromEye);
  float detail = 1.0 - smoothstep(60.0, 500.0, far);
  vec3 albedo = vColour * mix(1.0, 0.45 + 1.0 * light, 0.35 + 0.65 * detail);
  n = normalize(n + bump * 0.9 * detail);
  float toSun = max(dot(n, sun), 0.0);
  float lit = toSun > 0.0 ? sunlight() : 0.0;
  vec3 sky = mix(0.45 * horizon, ambient, 0.5 + 0.5 * n.y);
  vec3 colour = albedo * (sunColour * toSun * lit + sky);
  if (brush.w > 0.0) {
    float ring = abs(distance(vPosition, brush.xyz) - brush.w);
    float wide = max(fwidth(ring), 0.02) * 2.0;
    float inside = 1.0 - smoothstep(brush.w - 0.3, brush.w, distance(vPosition, brush.xyz));
    colour = mix(colour, brushColour, 0.75 * (1.0 - smoothstep(0.0, wide, ring)) + 0.12 * inside);
  }
  if (overlay == 2) {
    vec3 border = min(abs(vInBlock), abs(vInBlock - 32.0)) + 8.0 * pow(abs(vTextureNormal), vec3(8.0));
    vec3 line = 1.0 - smoothstep(vec3(0.0), fwidth(vInBlock) * 1.6 + 0.02, border);
    colour = mix(colour, vec3(0.1, 1.6, 1.9), 0.8 * max(line.x, max(line.y, line.z)));
  }
  if (overlay == 1) {
    vec3 hue = 0.5 + 0.5 * cos(6.2832 * (mip / 9.0 + vec3(0.0, 0.33, 0.67)));
    colour = mix(colour, hue, 0.45);
  }
  fragment = vec4(shown(inHaze(colour, fromEye)), 1.0);
}
`;

export const DEPTH_VERTEX = /* glsl */ `
${VERTEX}
void main() {
  vec3 position, normal;
  unpackVertex(place, position, normal);
  gl_Position = projectionMatrix * (viewMatrix * (modelMatrix * vec4(position, 1.0)));
}
`;

export const DEPTH_FRAGMENT = /* glsl */ `
precision highp float;
out vec4 fragment;
void main() { fragment = vec4(1.0); }
`;

export const WATER_VERTEX = /* glsl */ `
${VERTEX}
out vec3 vPosition;
out vec3 vNormal;
void main() {
  vec3 position, normal;
  unpackVertex(place, position, normal);
  vec4 world = modelMatrix * vec4(position, 1.0);
  vPosition = world.xyz;
  vNormal = normal;
  gl_Position = projectionMatrix * (viewMatrix * world);
}
`;

export const WATER_FRAGMENT = /* glsl */ `
precision highp float;
precision highp sampler2DArray;
${SKY}
uniform sampler2DArray textures;
uniform sampler2D sceneDepth;
uniform vec2 screen;
uniform vec2 nearFar;
uniform vec3 eye;
uniform vec3 ambient;
uniform float seconds;
in vec3 vPosition;
in vec3 vNormal;
out vec4 fragment;

float distanceOf(float depth) {
  float n = nearFar.x, f = nearFar.y;
  return n * f / (f - depth * (f - n));
}

void main() {
  vec3 fromEye = vPosition - eye;
  float far = length(fromEye);
  vec3 d = fromEye / far;
  vec2 at = vPosition.xz;
  vec2 wave = texture(textures, vec3(at / 11.0 + seconds * vec2(0.021, 0.013), 1.0)).gb
    + texture(textures, vec3(at.yx / 29.0 - seconds * vec2(0.011, 0.017), 1.0)).gb - 1.0;
  float calm = 1.0 / (1.0 + far * 0.012);
  // Where levels of detail meet, normals of calm water lean a little, and would glint as lines.
  vec3 level = mix(vNormal, vec3(0.0, 1.0, 0.0), smoothstep(0.6, 0.9, vNormal.y));
  vec3 n = normalize(level + vec3(wave.x, 0.0, wave.y) * 0.16 * calm * step(0.5, vNormal.y));
  bool below = dot(n, d) > 0.0;
  if (below) n = -n;
  // How far the view passes through water.
  float behind = distanceOf(texture(sceneDepth, gl_FragCoord.xy / screen).r);
  float here = distanceOf(gl_FragCoord.z);
  float through = max(behind - here, 0.0) * far / max(here, 1e-3);
  float fresnel = 0.02 + 0.98 * pow(1.0 - max(dot(-d, n), 0.0), 5.0);
  vec3 r = reflect(d, n);
  vec3 mirror = skyColour(normalize(vec3(r.x, abs(r.y) + 0.02, r.z)));
  float glint = pow(max(dot(r, sun), 0.0), 380.0) * 6.0;
  vec3 deep = vec3(0.015, 0.10, 0.13) * (0.35 + 0.9 * ambient + 0.5 * sunColour * max(sun.y, 0.0));
  float clear = exp(-through * 0.22);
  float foam = (1.0 - smoothstep(0.0, 0.5, through)) * 0.35;
  vec3 colour = mix(deep, mirror, below ? 0.2 : fresnel) + sunColour * glint + foam * ambient;
  float alpha = below ? 0.55 : max(max(1.0 - clear, fresnel), foam);
  fragment = vec4(shown(inHaze(colour, fromEye)), clamp(alpha, 0.0, 0.98));
}
`;

export const SKY_VERTEX = /* glsl */ `
precision highp float;
in vec3 position;
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
out vec3 vDirection;
void main() {
  vDirection = position;
  vec4 clip = projectionMatrix * vec4(mat3(viewMatrix) * position, 1.0);
  gl_Position = clip.xyww;
}
`;

export const SKY_FRAGMENT = /* glsl */ `
precision highp float;
${SKY}
in vec3 vDirection;
out vec4 fragment;
float hash(vec3 p) { return fract(sin(dot(p, vec3(12.9898, 78.233, 37.719))) * 43758.5453); }
void main() {
  vec3 d = normalize(vDirection);
  vec3 colour = skyColour(normalize(vec3(d.x, max(d.y, 0.0), d.z)));
  colour += sunColour * smoothstep(0.99955, 0.9998, dot(d, sun)) * 8.0;
  float night = smoothstep(0.05, -0.15, sun.y);
  if (night > 0.0 && d.y > 0.0) {
    vec3 cell = floor(d * 160.0);
    float star = step(0.9975, hash(cell)) * smoothstep(0.5, 0.1, length(fract(d * 160.0) - 0.5));
    colour += night * star * d.y;
  }
  fragment = vec4(shown(colour), 1.0);
}
`;
