//! The ghost of the brush at the cursor, the selection, mirrors and copies, as lines.

use bevy::math::{DVec3, Isometry3d};
use bevy::prelude::*;
use bevy_terravox::prelude::*;
use bevy_terravox::terravox;
use terravox::voxel::Region;

use super::brush::{Place, brush, shapes_of};
use super::stroke::{Stroke, in_plane, stays_in_plane, tool_with};
use super::{Clipboard, Selection, Symmetry};
use crate::action::{Field, Mode, Shape, Switch, Tool};
use crate::keys::Held;
use crate::open::Session;
use crate::pointer::Pointer;
use crate::settings::Settings;

/// Points of the ring on the ground.
const RING_POINTS: usize = 64;

/// Lines in front of the ground.
#[derive(Default, Reflect, GizmoConfigGroup)]
pub struct GhostLines;

/// Draws the ghost.
pub(crate) struct GhostPlugin;

impl Plugin for GhostPlugin {
    fn build(&self, app: &mut App) {
        app.init_gizmo_group::<GhostLines>()
            .add_systems(Startup, configure)
            .add_systems(Update, draw.in_set(crate::StudioSystems::Draw));
    }
}

fn configure(mut store: ResMut<GizmoConfigStore>) {
    let (config, _) = store.config_mut::<GhostLines>();
    config.line.width = 2.5;
    config.depth_bias = -0.9;
}

/// The colour of a tool.
fn colour(tool: Tool) -> Color {
    match tool {
        Tool::Dig | Tool::Erode => Color::srgb(1.0, 0.45, 0.25),
        Tool::Build | Tool::Grow => Color::srgb(0.45, 1.0, 0.45),
        Tool::Paint | Tool::Replace => Color::srgb(1.0, 0.85, 0.3),
        Tool::Flood | Tool::Drain => Color::srgb(0.35, 0.7, 1.0),
        Tool::Select | Tool::Paste => Color::srgb(0.9, 0.6, 1.0),
        _ => Color::srgb(0.95, 0.95, 1.0),
    }
}

fn draw(
    mut gizmos: Gizmos<GhostLines>,
    pointer: Res<Pointer>,
    settings: Res<Settings>,
    stroke: Res<Stroke>,
    symmetry: Res<Symmetry>,
    selection: Res<Selection>,
    clipboard: Res<Clipboard>,
    session: Option<Res<Session>>,
    keys: Res<ButtonInput<KeyCode>>,
    terrains: Query<&Terrain>,
    rays: Terrains,
    pictures: Option<Res<crate::pictures::Pictures>>,
) {
    let Some(session) = session else { return };
    let Ok(terrain) = terrains.get(session.terrain) else { return };
    let is_picture = pictures.is_some_and(|pictures| pictures.hides_panels());
    if settings.mode != Mode::Sculpt || is_picture {
        return;
    }
    let placement = terrain.placement();
    let corner = |at: terravox::voxel::VoxelPos| {
        Vec3::from(placement.world_from_voxel(at.to_array().map(f64::from)).map(|v| v as f32))
    };
    let mut outline = |region: Region, colour: Color| {
        let (min, max) = (corner(region.min), corner(region.max));
        gizmos.cube(Transform::from_translation((min + max) / 2.0).with_scale(max - min), colour);
    };
    if let Some(region) = selection.region.filter(|_| settings.tool == Tool::Select) {
        outline(region, colour(Tool::Select));
    }
    let Some(hit) = pointer.hit.filter(|_| !pointer.is_looking) else { return };
    if settings.tool == Tool::Paste {
        if let (Some(at), Some(size)) = (clipboard.corner(hit.in_terrain.voxel), clipboard.size()) {
            outline(Region { min: at, max: at + size.into() }, colour(Tool::Paste));
        }
        return;
    }
    let tool = stroke.tool.unwrap_or(tool_with(settings.tool, Held::of(&keys)));
    if shapes_of(tool).is_empty() {
        return;
    }
    let place = place(&settings, &pointer, &stroke, tool, &hit);
    for (i, place) in symmetry.places(&settings, place).iter().enumerate() {
        let colour = if i == 0 { colour(tool) } else { colour(tool).with_alpha(0.5) };
        outline_brush(&mut gizmos, &settings, tool, place, colour);
        if i == 0 {
            ring(&mut gizmos, &rays, place, settings.get(Field::Radius), colour);
        }
    }
    mirrors(&mut gizmos, &settings, &symmetry, hit.point);
}

/// Where the brush will be applied.
fn place(
    settings: &Settings,
    pointer: &Pointer,
    stroke: &Stroke,
    tool: Tool,
    hit: &TerrainHit,
) -> Place {
    let (mut at, mut normal) = (DVec3::from(hit.in_terrain.point_m), hit.normal.as_dvec3());
    if let Some(start) = stroke.start.filter(|_| stays_in_plane(settings, tool)) {
        at = in_plane(pointer, settings, &start).unwrap_or(at);
        normal = Vec3::from(start.normal).as_dvec3();
    }
    let level = stroke.start.map_or(at, |start| DVec3::from(start.point_m));
    let from = if settings.shape == Shape::Path { level } else { at };
    let turn = f64::from(settings.get(Field::Turn));
    Place { at, normal, from, level, level_normal: DVec3::Y, turn }
}

/// The outline of the brush, as it will be applied.
fn outline_brush(
    gizmos: &mut Gizmos<GhostLines>,
    settings: &Settings,
    tool: Tool,
    place: &Place,
    colour: Color,
) {
    use terravox::edit::Brush;
    let faint = colour.with_alpha(0.35 * colour.alpha());
    let point = |p: [f64; 3]| Vec3::from(p.map(|v| v as f32));
    let turn = |r: [f64; 4]| Quat::from_array(r.map(|v| v as f32));
    match brush(settings, tool, settings.shape, place) {
        Brush::Ball { centre, radius } => {
            gizmos
                .sphere(Isometry3d::from_translation(point(centre)), radius as f32, faint)
                .resolution(48);
        }
        Brush::Box { centre, half, rotation } => {
            let transform =
                Transform::from_translation(point(centre)).with_rotation(turn(rotation));
            gizmos.cube(transform.with_scale(point(half) * 2.0), faint);
        }
        Brush::Cylinder { centre, radius, half_height, rotation } => {
            let (at, turn) = (point(centre), turn(rotation));
            let flat = turn * Quat::from_rotation_x(std::f32::consts::FRAC_PI_2);
            let up = turn * Vec3::Y * half_height as f32;
            for end in [at - up, at + up] {
                gizmos.circle(Isometry3d::new(end, flat), radius as f32, faint).resolution(48);
            }
            for i in 0..8 {
                let side = turn * Quat::from_rotation_y(i as f32 * std::f32::consts::FRAC_PI_4);
                let side = side * Vec3::X * radius as f32;
                gizmos.line(at - up + side, at + up + side, faint);
            }
        }
        Brush::Wedge { centre, half, rotation } => {
            let at = |x: f32, y: f32, z: f32| {
                point(centre) + turn(rotation) * (Vec3::new(x, y, z) * point(half))
            };
            for x in [-1.0, 1.0] {
                let (low, under, high) = (at(x, -1.0, -1.0), at(x, -1.0, 1.0), at(x, 1.0, 1.0));
                gizmos.lineloop([low, under, high], faint);
            }
            for (y, z) in [(-1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)] {
                gizmos.line(at(-1.0, y, z), at(1.0, y, z), faint);
            }
        }
        Brush::Path { points, radius } => {
            for end in &points {
                gizmos
                    .sphere(Isometry3d::from_translation(point(*end)), radius as f32, faint)
                    .resolution(32);
            }
            gizmos.linestrip(points.iter().map(|p| point(*p)), colour);
        }
        Brush::Convex { .. } | Brush::Mesh { .. } | Brush::Heights { .. } => {}
    }
}

/// A ring on the ground, as far from the place as the brush reaches.
fn ring(
    gizmos: &mut Gizmos<GhostLines>,
    rays: &Terrains,
    place: &Place,
    radius: f32,
    colour: Color,
) {
    let (centre, normal) = (place.at.as_vec3(), place.normal.as_vec3());
    let turn = Quat::from_rotation_arc(Vec3::Y, normal);
    let Ok(down) = Dir3::new(-normal) else { return };
    let mut points: Vec<Vec3> = Vec::with_capacity(RING_POINTS + 1);
    for i in 0..=RING_POINTS {
        let angle = i as f32 / RING_POINTS as f32 * std::f32::consts::TAU;
        let flat = centre + turn * Vec3::new(angle.cos(), 0.0, angle.sin()) * radius;
        let ray = Ray3d::new(flat + normal * radius, down);
        let ground = rays.ray(ray, 2.0 * radius).map_or(flat, |hit| hit.point);
        points.push(ground + normal * 0.02 * radius);
    }
    gizmos.linestrip(points, colour);
    gizmos.line(centre, centre + normal * radius * 0.5, colour);
}

/// The mirrors near the cursor.
fn mirrors(gizmos: &mut Gizmos<GhostLines>, settings: &Settings, symmetry: &Symmetry, at: Vec3) {
    let colour = Color::srgba(0.9, 0.9, 1.0, 0.5);
    let size = 4.0 * settings.get(Field::Radius);
    let quarter = std::f32::consts::FRAC_PI_2;
    if settings.is_on(Switch::SymmetryX) {
        let at = Vec3::new(symmetry.x as f32, at.y, at.z);
        gizmos.rect(Isometry3d::new(at, Quat::from_rotation_y(quarter)), Vec2::splat(size), colour);
    }
    if settings.is_on(Switch::SymmetryZ) {
        let at = Vec3::new(at.x, at.y, symmetry.z as f32);
        gizmos.rect(Isometry3d::from_translation(at), Vec2::splat(size), colour);
    }
}
