// Ground: triplanar textures, blended by the weights of the vertices and by height.

#import bevy_pbr::{
    forward_io::{VertexOutput, FragmentOutput},
    mesh_functions,
    pbr_fragment::pbr_input_from_standard_material,
    pbr_functions::{apply_pbr_lighting, main_pass_post_lighting_processing, alpha_discard},
    mesh_view_bindings::view,
    view_transformations::position_world_to_clip,
}
#import terravox::vertex::{Morph, Moved, morphed}

struct GroundTable {
    colours: array<vec4<f32>, 256>,     // by material: linear colour, roughness
    layers: array<vec4<u32>, 64>,       // by material, four in each
    kinds: array<vec4<f32>, 13>,        // by layer, then without one: mean colour and roughness
    means: array<vec4<f32>, 12>,        // by layer: mean of the texture
    slope: vec4<u32>,                   // unset, flat, steep material; 1 if there are textures
    between: vec4<f32>,                 // slopes from, to; repeats per voxel; metres per voxel
}

@group(#{MATERIAL_BIND_GROUP}) @binding(100) var<uniform> ground: GroundTable;
@group(#{MATERIAL_BIND_GROUP}) @binding(101) var colour_texture: texture_2d_array<f32>;
@group(#{MATERIAL_BIND_GROUP}) @binding(102) var repeating: sampler;
@group(#{MATERIAL_BIND_GROUP}) @binding(103) var surface_texture: texture_2d_array<f32>;
#ifdef TERRAVOX_MORPH
@group(#{MATERIAL_BIND_GROUP}) @binding(110) var<storage, read> morph: Morph;
#endif

struct TerrainVertex {
    @builtin(instance_index) instance_index: u32,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(10) materials: vec4<u32>,
    @location(11) weights: vec4<f32>,
#ifdef TERRAVOX_MORPH
    @location(12) goal: vec4<f32>,
    @location(13) goal_normal: vec3<f32>,
#endif
}

struct TerrainFragment {
    @builtin(position) position: vec4<f32>,
    @location(0) world_position: vec4<f32>,
    @location(1) world_normal: vec3<f32>,
    @location(2) colour: vec4<f32>,         // w: weight of ground without a material
    @location(3) layers_a: vec4<f32>,
    @location(4) layers_b: vec4<f32>,
    @location(5) layers_c: vec4<f32>,
    @location(6) @interpolate(flat) instance_index: u32,
    @location(7) @interpolate(flat) visibility_range_dither: i32,
    @location(8) voxels: vec3<f32>,         // from the min corner of the block
    @location(9) normal: vec3<f32>,         // of the mesh
}

@vertex
fn vertex(in: TerrainVertex) -> TerrainFragment {
    var out: TerrainFragment;
    let world_from_local = mesh_functions::get_world_from_local(in.instance_index);
    let voxel_size = ground.between.w;
    var moved = Moved(in.position, in.normal);
#ifdef TERRAVOX_MORPH
    moved = morphed(morph, world_from_local, voxel_size, moved, in.goal, in.goal_normal);
#endif
    var layers = array<f32, 13>();
    var colour = vec4<f32>(0.0);
    for (var i = 0u; i < 4u; i++) {
        let share = in.weights[i];
        let id = in.materials[i];
        if (share <= 0.0) { continue; }
        if (id == ground.slope.x) {
            colour.w += share;
            continue;
        }
        colour += vec4<f32>(share * ground.colours[id].rgb, 0.0);
        layers[ground.layers[id >> 2u][id & 3u]] += share;
    }
    out.colour = colour;
    out.layers_a = vec4<f32>(layers[0], layers[1], layers[2], layers[3]);
    out.layers_b = vec4<f32>(layers[4], layers[5], layers[6], layers[7]);
    out.layers_c = vec4<f32>(layers[8], layers[9], layers[10], layers[11]);
    out.world_position = mesh_functions::mesh_position_local_to_world(
        world_from_local, vec4<f32>(moved.position, 1.0));
    out.position = position_world_to_clip(out.world_position.xyz);
    out.world_normal = mesh_functions::mesh_normal_local_to_world(moved.normal, in.instance_index);
    // Blocks are a whole number of repeats wide: textures run on from one to the next.
    out.voxels = moved.position * (length(world_from_local[0].xyz) / voxel_size);
    out.normal = moved.normal;
    out.instance_index = in.instance_index;
#ifdef VISIBILITY_RANGE_DITHER
    out.visibility_range_dither = mesh_functions::get_visibility_range_dither_level(
        in.instance_index, world_from_local[3]);
#else
    out.visibility_range_dither = 0;
#endif
    return out;
}

fn hash(p: vec3<i32>) -> f32 {
    var h = u32(p.x) * 0x8da6b343u + u32(p.y) * 0xd8163841u + u32(p.z) * 0xcb1ab31fu;
    h = (h ^ (h >> 15u)) * 0x2c1b3c6du;
    h = (h ^ (h >> 12u)) * 0x297a2d39u;
    return f32((h ^ (h >> 15u)) >> 8u) / 16777216.0;
}

fn noise(at: vec3<f32>) -> f32 {
    let cell = floor(at);
    let i = vec3<i32>(cell);
    let f = at - cell;
    let s = f * f * (3.0 - 2.0 * f);
    let x00 = mix(hash(i), hash(i + vec3<i32>(1, 0, 0)), s.x);
    let x10 = mix(hash(i + vec3<i32>(0, 1, 0)), hash(i + vec3<i32>(1, 1, 0)), s.x);
    let x01 = mix(hash(i + vec3<i32>(0, 0, 1)), hash(i + vec3<i32>(1, 0, 1)), s.x);
    let x11 = mix(hash(i + vec3<i32>(0, 1, 1)), hash(i + vec3<i32>(1, 1, 1)), s.x);
    return mix(mix(x00, x10, s.y), mix(x01, x11, s.y), s.z);
}

fn steepness(n: vec3<f32>) -> f32 {
    return smoothstep(ground.between.x, ground.between.y, 1.0 - n.y);
}

// A point of the ground, and how it changes to the next pixel.
struct Place {
    voxels: vec3<f32>,
    dx: vec3<f32>,
    dy: vec3<f32>,
    world: vec3<f32>,       // in voxels
    world_dx: vec3<f32>,
    world_dy: vec3<f32>,
    normal: vec3<f32>,
    shares: vec3<f32>,      // of the projections
    near: f32,
}

// What is seen of one layer.
struct Look {
    tone: vec3<f32>,        // relative to the mean
    height: f32,
    bump: vec3<f32>,        // added to the normal of the mesh
    rough: f32,
    open: f32,
}

fn project(look: ptr<function, Look>, layer: u32, share: f32, at: vec2<f32>, dx: vec2<f32>,
    dy: vec2<f32>, u: vec3<f32>, up: vec3<f32>) {
    let r = ground.between.z;
    let colour = textureSampleGrad(colour_texture, repeating, at * r, layer, dx * r, dy * r);
    let surface = textureSampleGrad(surface_texture, repeating, at * r, layer, dx * r, dy * r);
    (*look).tone += share * colour.rgb / ground.means[layer].rgb;
    (*look).height += share * colour.a;
    (*look).bump += share * ((2.0 * surface.r - 1.0) * u + (2.0 * surface.g - 1.0) * up);
    (*look).rough += share * (2.0 * surface.b - 1.0);
    (*look).open += share * surface.a;
}

fn look_of(layer: u32, place: Place) -> Look {
    var look = Look(vec3<f32>(0.0), 0.0, vec3<f32>(0.0), 0.0, 0.0);
    let s = select(vec3<f32>(-1.0), vec3<f32>(1.0), place.normal >= vec3<f32>(0.0));
    let up = vec3<f32>(0.0, 1.0, 0.0);
    if (place.shares.x > 0.0) {
        let turn = vec2<f32>(-s.x, -1.0);
        project(&look, layer, place.shares.x, turn * place.voxels.zy, turn * place.dx.zy,
            turn * place.dy.zy, vec3<f32>(0.0, 0.0, -s.x), up);
    }
    if (place.shares.y > 0.0) {
        let turn = vec2<f32>(s.y, 1.0);
        project(&look, layer, place.shares.y, turn * place.voxels.xz, turn * place.dx.xz,
            turn * place.dy.xz, vec3<f32>(s.y, 0.0, 0.0), vec3<f32>(0.0, 0.0, -1.0));
    }
    if (place.shares.z > 0.0) {
        let turn = vec2<f32>(s.z, -1.0);
        project(&look, layer, place.shares.z, turn * place.voxels.xy, turn * place.dx.xy,
            turn * place.dy.xy, vec3<f32>(s.z, 0.0, 0.0), up);
    }
    // The same texture turned and nine times as large: it hides that the small one repeats.
    let slide = place.world.y * 0.37;
    let turned = mat2x2<f32>(vec2<f32>(0.0862, 0.0631), vec2<f32>(-0.0631, 0.0862)) * ground.between.z;
    let large = textureSampleGrad(colour_texture, repeating, turned * (place.world.xz + slide), layer,
        turned * place.world_dx.xz, turned * place.world_dy.xz).rgb / ground.means[layer].rgb;
    look.tone = look.tone * mix(vec3<f32>(1.0), large, 0.55);
    return look;
}

@fragment
fn fragment(in: TerrainFragment, @builtin(front_facing) is_front: bool) -> FragmentOutput {
    var standard: VertexOutput;
    standard.position = in.position;
    standard.world_position = in.world_position;
    standard.world_normal = in.world_normal;
#ifdef VERTEX_COLORS
    standard.color = vec4<f32>(1.0);
#endif
#ifdef VERTEX_OUTPUT_INSTANCE_INDEX
    standard.instance_index = in.instance_index;
#endif
    var pbr_input = pbr_input_from_standard_material(standard, is_front);

    let far = distance(in.world_position.xyz, view.world_position);
    let normal = normalize(in.normal);
    var place: Place;
    place.voxels = in.voxels;
    place.dx = dpdx(in.voxels);
    place.dy = dpdy(in.voxels);
    place.world = in.world_position.xyz / ground.between.w;
    place.world_dx = dpdx(place.world);
    place.world_dy = dpdy(place.world);
    place.normal = normal;
    let a = abs(normal) / max(max(abs(normal.x), abs(normal.y)), abs(normal.z));
    var shares = a * a * a * a;
    shares = max(shares - 0.02, vec3<f32>(0.0));
    place.shares = shares / (shares.x + shares.y + shares.z);
    place.near = 1.0 - smoothstep(40.0, 260.0, far);

    var weights = array<f32, 13>(
        in.layers_a.x, in.layers_a.y, in.layers_a.z, in.layers_a.w,
        in.layers_b.x, in.layers_b.y, in.layers_b.z, in.layers_b.w,
        in.layers_c.x, in.layers_c.y, in.layers_c.z, in.layers_c.w, 0.0);
    var total = in.colour.w;
    for (var i = 0u; i < 12u; i++) { total += weights[i]; }
    weights[12] = max(1.0 - total, 0.0);
    // Ground without a material: by slope, here, so that the border is as fine as the pixels.
    let fine = noise(place.world * 0.9);
    let steep = steepness(normalize(normal + vec3<f32>(0.0, 0.16 * (fine - 0.5), 0.0)));
    var colour = in.colour.rgb;
    if (in.colour.w > 0.0) {
        let flat_id = ground.slope.y;
        let steep_id = ground.slope.z;
        colour += in.colour.w * mix(ground.colours[flat_id].rgb, ground.colours[steep_id].rgb, steep);
        weights[ground.layers[flat_id >> 2u][flat_id & 3u]] += in.colour.w * (1.0 - steep);
        weights[ground.layers[steep_id >> 2u][steep_id & 3u]] += in.colour.w * steep;
    }

    // By height: the material that stands higher covers the other.
    var looks: array<Look, 4>;
    var chosen = vec4<u32>(12u);
    var strength = vec4<f32>(0.0);
    var mean = vec3<f32>(0.0);
    var count = 0u;
    var highest = 0.0;
    for (var layer = 0u; layer < 13u; layer++) {
        let weight = weights[layer];
        mean += weight * ground.kinds[layer].rgb;
        if (weight < 0.03 || count >= 4u) { continue; }
        if (layer < 12u && ground.slope.w == 1u) {
            looks[count] = look_of(layer, place);
        } else {
            looks[count] = Look(vec3<f32>(1.0), 0.5, vec3<f32>(0.0), 0.0, 1.0);
        }
        let raised = weight + 0.55 * looks[count].height * smoothstep(0.0, 0.3, weight);
        chosen[count] = layer;
        strength[count] = raised;
        highest = max(highest, raised);
        count++;
    }
    strength = max(strength - (highest - 0.16), vec4<f32>(0.0));
    strength = strength / max(strength.x + strength.y + strength.z + strength.w, 1e-4);
    var albedo = vec3<f32>(0.0);
    var bump = vec3<f32>(0.0);
    var roughness = 0.0;
    var open = 0.0;
    for (var i = 0u; i < count; i++) {
        let kind = ground.kinds[chosen[i]];
        albedo += strength[i] * kind.rgb * looks[i].tone;
        bump += strength[i] * looks[i].bump;
        roughness += strength[i] * (kind.w + 0.5 * looks[i].rough);
        open += strength[i] * looks[i].open;
    }
    // Materials that share a texture have colours of their own.
    albedo *= clamp(colour / max(mean, vec3<f32>(0.004)), vec3<f32>(0.2), vec3<f32>(5.0));

    // Variation far larger than any texture.
    if (ground.slope.w == 1u) {
        let broad = noise(place.world / 47.0) + 0.7 * noise(place.world / 163.0 + 7.0)
            + 0.45 * noise(place.world / 13.0) - 1.075;
        albedo *= 1.0 + 0.34 * broad;
        albedo *= vec3<f32>(1.0 + 0.07 * broad, 1.0, 1.0 - 0.1 * broad);
    }

    let world_from_local = mesh_functions::get_world_from_local(in.instance_index);
    let turn = mat3x3<f32>(normalize(world_from_local[0].xyz), normalize(world_from_local[1].xyz),
        normalize(world_from_local[2].xyz));
    var bent = pbr_input.N;
    bent = normalize(bent + turn * bump * 0.9 * place.near);
    pbr_input.N = bent;
    pbr_input.material.base_color = vec4<f32>(albedo, 1.0) ;
    pbr_input.material.perceptual_roughness = clamp(roughness, 0.08, 1.0);
    pbr_input.diffuse_occlusion *= mix(1.0, open, place.near);

    var out: FragmentOutput;
    pbr_input.material.base_color = alpha_discard(pbr_input.material, pbr_input.material.base_color);
    out.color = apply_pbr_lighting(pbr_input);
    out.color = main_pass_post_lighting_processing(pbr_input, out.color);
    return out;
}
