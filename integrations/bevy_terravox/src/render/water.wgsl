// Water: colour by depth, shore, waves, a sky that is reflected.

#import bevy_pbr::{
    forward_io::{VertexOutput, FragmentOutput},
    mesh_functions,
    pbr_fragment::pbr_input_from_standard_material,
    pbr_functions::{apply_pbr_lighting, main_pass_post_lighting_processing},
    mesh_view_bindings::{view, globals},
    view_transformations::{position_world_to_clip, depth_ndc_to_view_z},
}
#ifdef DEPTH_PREPASS
#import bevy_pbr::prepass_utils::prepass_depth
#endif
#import terravox::vertex::{Morph, Moved, morphed}

struct Water {
    shallow: vec4<f32>,     // w: metres after which a third of the light is left
    deep: vec4<f32>,        // w: strength of waves
    horizon: vec4<f32>,     // w: width of the foam in metres
    zenith: vec4<f32>,      // w: depth without a depth prepass, metres
}

@group(#{MATERIAL_BIND_GROUP}) @binding(100) var<uniform> water: Water;
#ifdef TERRAVOX_MORPH
@group(#{MATERIAL_BIND_GROUP}) @binding(110) var<storage, read> morph: Morph;
#endif
@group(#{MATERIAL_BIND_GROUP}) @binding(111) var<uniform> voxel: vec4<f32>;

struct TerrainVertex {
    @builtin(instance_index) instance_index: u32,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
#ifdef TERRAVOX_MORPH
    @location(12) goal: vec4<f32>,
    @location(13) goal_normal: vec3<f32>,
#endif
}

struct TerrainFragment {
    @builtin(position) position: vec4<f32>,
    @location(0) world_position: vec4<f32>,
    @location(1) world_normal: vec3<f32>,
    @location(6) @interpolate(flat) instance_index: u32,
}

@vertex
fn vertex(in: TerrainVertex) -> TerrainFragment {
    var out: TerrainFragment;
    let world_from_local = mesh_functions::get_world_from_local(in.instance_index);
    var moved = Moved(in.position, in.normal);
#ifdef TERRAVOX_MORPH
    moved = morphed(morph, world_from_local, voxel.x, moved, in.goal, in.goal_normal);
#endif
    out.world_position = mesh_functions::mesh_position_local_to_world(
        world_from_local, vec4<f32>(moved.position, 1.0));
    out.position = position_world_to_clip(out.world_position.xyz);
    out.world_normal = mesh_functions::mesh_normal_local_to_world(moved.normal, in.instance_index);
    out.instance_index = in.instance_index;
    return out;
}

// Height and its slope along x and z, of waves that run in many directions.
fn waves(at: vec2<f32>, seconds: f32, far: f32) -> vec3<f32> {
    var sum = vec3<f32>(0.0);
    var length_m = 5.3;
    var turn = 0.4;
    for (var i = 0; i < 6; i++) {
        let k = 6.2832 / length_m;
        let way = vec2<f32>(cos(turn), sin(turn));
        // The neighbouring crests are not parallel, or it would look like corduroy.
        let bend = 0.9 * sin(dot(at, vec2<f32>(-way.y, way.x)) * k * 0.37 + turn * 5.0);
        let phase = dot(at, way) * k + bend + seconds * sqrt(9.81 * k);
        let fade = exp(-far * k * 0.012);
        sum += fade * length_m * 0.011 * vec3<f32>(sin(phase), way * k * cos(phase));
        length_m *= 0.62;
        turn += 2.1;
    }
    return sum;
}

fn sky(d: vec3<f32>) -> vec3<f32> {
    return mix(water.horizon.rgb, water.zenith.rgb, pow(clamp(d.y, 0.0, 1.0), 0.5));
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
    let eye_to = in.world_position.xyz - view.world_position;
    let far = length(eye_to);
    let d = eye_to / max(far, 1e-3);
    let wave = waves(in.world_position.xz, globals.time, far);
    // Where levels of detail meet, normals of calm water lean a little, and would glint as lines.
    let mesh_normal = normalize(pbr_input.world_normal);
    let calm = normalize(mix(mesh_normal, vec3<f32>(0.0, 1.0, 0.0), smoothstep(0.6, 0.9, mesh_normal.y)));
    let n = normalize(calm - water.deep.w * vec3<f32>(wave.y, 0.0, wave.z) * step(0.5, mesh_normal.y));
    let is_below = d.y > 0.0;

    var through = water.zenith.w;
#ifdef DEPTH_PREPASS
    let behind = -depth_ndc_to_view_z(prepass_depth(in.position, 0u));
    let here = -depth_ndc_to_view_z(in.position.z);
    through = max(behind - here, 0.0) * far / max(here, 1e-3);
    // Nothing behind: open sea.
    if (prepass_depth(in.position, 0u) <= 0.0) { through = 1e4; }
#endif
    let depth_m = through * max(abs(d.y), 0.05);
    let facing = max(dot(-d, select(n, -n, is_below)), 0.0);
    let fresnel = 0.02 + 0.98 * pow(1.0 - facing, 5.0);
    let clear = exp(-through / water.shallow.w);
    let lap = 0.5 + 0.5 * sin(globals.time * 0.9 + wave.x * 9.0 + in.world_position.x * 0.31);
#ifdef DEPTH_PREPASS
    let edge = water.horizon.w * (0.6 + 0.4 * lap);
    let foam = (1.0 - smoothstep(0.15 * edge, edge, depth_m)) * smoothstep(0.0, 0.04, depth_m)
        * (0.45 + 4.0 * abs(wave.x));
#else
    let foam = 0.0;
#endif
    let body = mix(water.deep.rgb, water.shallow.rgb, exp(-depth_m / (1.5 * water.shallow.w)));
    pbr_input.material.base_color = vec4<f32>(mix(body, vec3<f32>(0.85), clamp(foam, 0.0, 0.8)), 1.0);
    pbr_input.material.perceptual_roughness = mix(0.12, 0.3, saturate(far / 600.0));
    pbr_input.N = n;
    let lit = apply_pbr_lighting(pbr_input);
    let r = reflect(d, n);
    let mirror = sky(normalize(vec3<f32>(r.x, abs(r.y) + 0.02, r.z)));
    let shine = select(fresnel, 0.1, is_below);
    let alpha = select(clamp(max(max(1.0 - clear, fresnel), foam), 0.0, 0.98), 0.6, is_below);
    // At the very edge water fades out, so that it has no hard line.
    let shore = select(1.0, smoothstep(0.0, 0.06, depth_m), !is_below);
    var out: FragmentOutput;
    out.color = vec4<f32>(mix(lit.rgb, mirror, shine), alpha * shore);
    out.color = main_pass_post_lighting_processing(pbr_input, out.color);
    return out;
}
