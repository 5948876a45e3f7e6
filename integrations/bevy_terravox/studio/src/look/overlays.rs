//! Overlays: what the terrain is made of, as lines.

use bevy::math::Isometry3d;
use bevy::prelude::*;
use bevy_terravox::avian::GroundCollider;
use bevy_terravox::prelude::*;
use bevy_terravox::{TerrainChunk, terravox};
use terravox::voxel::Region;

use crate::StudioSystems;
use crate::action::Switch;
use crate::camera::StudioCamera;
use crate::open::Session;
use crate::pointer::Pointer;
use crate::settings::Settings;

/// Blocks farther away than this many of their edges are not outlined.
const REACH_EDGES: f32 = 9.0;
/// Voxels around the cursor.
const GRID_VOXELS: i32 = 4;
/// Most boxes of an overlay.
const MAX_BOXES: usize = 3000;

/// Lines that the ground hides.
#[derive(Default, Reflect, GizmoConfigGroup)]
struct OverlayLines;

pub(super) struct OverlayPlugin;

impl Plugin for OverlayPlugin {
    fn build(&self, app: &mut App) {
        app.init_gizmo_group::<OverlayLines>()
            .add_systems(Startup, configure)
            .add_systems(Update, draw.in_set(StudioSystems::Draw));
    }
}

fn configure(mut store: ResMut<GizmoConfigStore>) {
    let (config, _) = store.config_mut::<OverlayLines>();
    config.line.width = 1.5;
    config.depth_bias = -0.002;
}

/// The colour of a level of detail.
pub fn mip_colour(mip: u8) -> Color {
    Color::hsl(f32::from(mip) * 47.0 % 360.0, 0.85, 0.6)
}

fn draw(
    mut gizmos: Gizmos<OverlayLines>,
    settings: Res<Settings>,
    session: Option<Res<Session>>,
    terrains: Query<&Terrain>,
    chunks: Query<(&TerrainChunk, &InheritedVisibility)>,
    colliders: Query<&GroundCollider>,
    camera: Single<&StudioCamera>,
    pointer: Res<Pointer>,
) {
    let Some(session) = session else { return };
    let Ok(terrain) = terrains.get(session.terrain) else { return };
    let placement = terrain.placement();
    let corner =
        |at: [i32; 3]| Vec3::from(placement.world_from_voxel(at.map(f64::from)).map(|v| v as f32));
    let mut outline = |region: Region, shrink: f32, colour: Color| {
        let (min, max) = (corner(region.min.to_array()), corner(region.max.to_array()));
        let size = (max - min) * (1.0 - shrink);
        let transform = Transform::from_translation((min + max) / 2.0).with_scale(size);
        gizmos.cube(transform, colour);
    };
    if settings.is_on(Switch::Levels) {
        for (chunk, visibility) in
            chunks.iter().filter(|(chunk, _)| !chunk.is_liquid).take(MAX_BOXES)
        {
            let region = chunk.block.cells().finer(u32::from(chunk.block.mip));
            let (min, max) = (corner(region.min.to_array()), corner(region.max.to_array()));
            let is_near =
                camera.position.distance((min + max) / 2.0) < REACH_EDGES * (max.x - min.x);
            if visibility.get() && is_near {
                outline(region, 0.01, mip_colour(chunk.mip));
            }
        }
    }
    if settings.is_on(Switch::Unsaved) {
        for chunk in terrain.unsaved_chunks().iter().take(MAX_BOXES) {
            outline(chunk.region(), 0.02, Color::srgb(1.0, 0.4, 0.2));
        }
    }
    if settings.is_on(Switch::Colliders) {
        for collider in colliders.iter().take(MAX_BOXES) {
            outline(collider.block.region(), 0.03, Color::srgb(0.3, 1.0, 0.6));
        }
    }
    if let Some(hit) = pointer.hit.filter(|_| settings.is_on(Switch::Grid)) {
        let size_m = placement.voxel_size_m as f32;
        let voxel = hit.in_terrain.voxel;
        outline(Region::one(voxel), 0.0, Color::WHITE);
        let middle = Vec3::from(placement.voxel_centre(voxel).map(|v| v as f32));
        let turn = Quat::from_rotation_arc(Vec3::Z, largest_axis(hit.normal));
        let count = UVec2::splat(2 * GRID_VOXELS as u32 + 1);
        let at = Isometry3d::new(middle + largest_axis(hit.normal) * size_m * 0.5, turn);
        gizmos
            .grid(at, count, Vec2::splat(size_m), Color::srgba(1.0, 1.0, 1.0, 0.35))
            .outer_edges();
        gizmos.line(hit.point, hit.point + hit.normal * size_m * 2.0, Color::srgb(1.0, 0.9, 0.3));
    }
}

/// The axis that a direction is nearest to.
fn largest_axis(direction: Vec3) -> Vec3 {
    let a = direction.abs();
    match () {
        () if a.y >= a.x && a.y >= a.z => Vec3::Y * direction.y.signum(),
        () if a.x >= a.z => Vec3::X * direction.x.signum(),
        () => Vec3::Z * direction.z.signum(),
    }
}
