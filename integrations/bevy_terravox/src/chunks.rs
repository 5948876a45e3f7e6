//! Chunks: the entities that draw a terrain, children of it, with their meshes.
//!
//! A swap of [`terravox::terrain::MeshSwap`] is shown as a whole, or holes would gape between
//! blocks. Its meshes are made hidden, as many in a frame as the upload budget allows; when the
//! last one is there, they are shown and the old ones hidden. Hidden entities are used again.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bevy::asset::RenderAssetUsages;
use bevy::camera::visibility::NoAutoAabb;
use bevy::prelude::*;
use terravox::mesh::Surface;
use terravox::terrain::{MeshSwap, Placement, ShownMesh};
use terravox::voxel::{MipBlock, VoxelPos};

use crate::made_mesh::{MadeMeshes, MeshStyle};
use crate::plugin::{TerravoxSettings, TerravoxStats, timed};
use crate::surface_mesh::{Colours, SurfaceMesh, part_from, surface_bytes};
use crate::terrain::Terrain;

/// Hidden entities of each kind that are kept, with their buffers, for the next meshes of a terrain.
const MAX_SPARE: usize = 64;

/// A part of a terrain that is drawn, or will be used again if it is hidden.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[require(Transform, Visibility)]
pub struct TerrainChunk {
    /// The terrain.
    pub terrain: Entity,
    /// The block of which it is the mesh, or a part of the mesh.
    pub block: MipBlock,
    /// The mip of its cells, each 2ⁿ voxels wide.
    pub mip: u8,
    /// Whether it is the surface of water.
    pub is_liquid: bool,
}

/// The entity and the mesh of a chunk.
#[derive(Clone, Debug)]
struct Chunk {
    entity: Entity,
    mesh: Handle<Mesh>,
    is_liquid: bool,
    /// Where its mesh begins.
    min_voxel: VoxelPos,
    /// That of [`TerrainChunks`] when it was made.
    generation: u32,
}

/// Hidden chunks: of ground, and of water. Neither becomes the other, since an entity whose material
/// changes its type may be drawn with the pipeline of one and the textures of the other (Bevy 0.19,
/// with draws that the graphics card batches).
#[derive(Default)]
struct SpareChunks([Vec<Chunk>; 2]);

impl SpareChunks {
    fn of(&mut self, is_liquid: bool) -> &mut Vec<Chunk> {
        &mut self.0[usize::from(is_liquid)]
    }

    fn push(&mut self, chunk: Chunk) {
        self.of(chunk.is_liquid).push(chunk);
    }
}

/// The swap that is being uploaded.
#[derive(Default)]
struct StagedSwap {
    swap: MeshSwap,
    /// The added mesh, the surface of it and the triangle that come next.
    next: (usize, usize, usize),
    chunks: Vec<(MipBlock, Chunk)>,
}

/// What is drawn of a terrain.
#[derive(Component, Default)]
pub struct TerrainChunks {
    shown: HashMap<MipBlock, Vec<Chunk>>,
    staged: Option<StagedSwap>,
    waiting: VecDeque<MeshSwap>,
    spare: SpareChunks,
    /// Chunks of earlier ones are not used again.
    generation: u32,
    /// Emptied vectors of `shown`.
    spare_lists: Vec<Vec<Chunk>>,
    /// Bytes of `waiting` and `staged` that are not uploaded yet.
    backlog_bytes: usize,
    /// That of the last frame; `None` before the first, and after the palette changed.
    style: Option<MeshStyle>,
    made: MadeMeshes,
    /// Where the meshes that are shown lie.
    placement: Placement,
}

impl TerrainChunks {
    /// Number of blocks that are drawn.
    pub fn shown_count(&self) -> usize {
        self.shown.len()
    }

    /// Hidden entities that will be used again.
    pub fn spare_count(&self) -> usize {
        self.spare.0.iter().map(Vec::len).sum()
    }

    /// Bytes that wait to be handed to the renderer.
    pub fn backlog_bytes(&self) -> usize {
        self.backlog_bytes
    }

    /// Whether all that the terrain shows is drawn.
    pub fn is_complete(&self) -> bool {
        self.staged.is_none() && self.waiting.is_empty()
    }

    /// How tasks make meshes; `None` if nothing is drawn.
    pub(crate) fn style(&self) -> Option<&MeshStyle> {
        self.style.as_ref()
    }

    /// Where tasks put the meshes that they made.
    pub(crate) fn made_mut(&mut self) -> &mut MadeMeshes {
        &mut self.made
    }

    /// Has all meshes made again, in the colours of today.
    pub(crate) fn restart(&mut self, everything: MeshSwap) {
        self.style = None;
        self.made.clear();
        self.waiting.clear();
        self.backlog_bytes = 0;
        // What is staged was never shown.
        let mut swap = everything;
        if let Some(staged) = self.staged.take() {
            staged.chunks.into_iter().for_each(|(_, chunk)| self.spare.push(chunk));
        }
        swap.removed.extend(self.shown.keys().copied());
        self.push(swap);
    }

    /// Has all entities made again, to be given materials of another type (see [`SpareChunks`]). Those that
    /// are shown stay until then.
    #[cfg(any(feature = "render", test))]
    pub(crate) fn respawn(&mut self, everything: MeshSwap, commands: &mut Commands) {
        self.restart(everything);
        self.generation = self.generation.wrapping_add(1);
        let spare = std::mem::take(&mut self.spare).0.into_iter().flatten();
        spare.for_each(|chunk| commands.entity(chunk.entity).try_despawn());
    }

    /// Removes everything that is drawn.
    fn clear(&mut self, commands: &mut Commands) {
        let old = std::mem::take(self);
        let staged = old.staged.into_iter().flat_map(|staged| staged.chunks);
        let staged = staged.map(|(_, chunk)| chunk);
        let spare = old.spare.0.into_iter().flatten();
        let all = old.shown.into_values().flatten().chain(staged).chain(spare);
        all.for_each(|chunk| commands.entity(chunk.entity).try_despawn());
    }

    fn push(&mut self, swap: MeshSwap) {
        self.backlog_bytes +=
            swap.added.iter().flat_map(surfaces).map(surface_bytes).sum::<usize>();
        self.waiting.push_back(swap);
    }
}

/// Both surfaces of a mesh.
fn surfaces(shown: &ShownMesh) -> [&Surface; 2] {
    [&shown.mesh.solid, &shown.mesh.liquid]
}

/// Removes what is drawn of a terrain that is replaced or removed.
pub(crate) fn on_discard(
    terrain: On<Discard, Terrain>,
    mut chunks: Query<&mut TerrainChunks>,
    mut commands: Commands,
) {
    if let Ok(mut chunks) = chunks.get_mut(terrain.entity) {
        chunks.clear(&mut commands);
    }
}

/// What chunks are made with.
struct Drawing<'a, 'cw, 'cs, 'qw, 'qs> {
    meshes: &'a mut Assets<Mesh>,
    commands: &'a mut Commands<'cw, 'cs>,
    parts: &'a mut Query<'qw, 'qs, ChunkParts, With<TerrainChunk>>,
    stats: &'a mut TerravoxStats,
    max_bytes: usize,
    usage: RenderAssetUsages,
}

/// The components of chunks that change.
type ChunkParts = (&'static mut Transform, &'static mut Visibility);

/// Takes the changes of all terrains and draws as much of them as the budget allows.
pub(crate) fn draw(
    mut terrains: Query<(Entity, &mut Terrain, &mut TerrainChunks)>,
    mut parts: Query<ChunkParts, With<TerrainChunk>>,
    mut meshes: ResMut<Assets<Mesh>>,
    settings: Res<TerravoxSettings>,
    mut stats: ResMut<TerravoxStats>,
    mut commands: Commands,
    mut first: Local<usize>,
) {
    let usage = match settings.keep_meshes {
        true => RenderAssetUsages::default(),
        false => RenderAssetUsages::RENDER_WORLD,
    };
    let mut draw_ms = 0.0;
    timed(&mut draw_ms, || {
        let mut drawing = Drawing {
            meshes: meshes.bypass_change_detection(),
            commands: &mut commands,
            parts: &mut parts,
            stats: &mut stats,
            max_bytes: settings.upload_bytes(),
            usage,
        };
        // In each frame another terrain is the first to get of the budget.
        *first = (*first + 1) % terrains.iter().count().max(1);
        for (skipped, most) in [(*first, usize::MAX), (0, *first)] {
            for (terrain, mut voxels, mut chunks) in terrains.iter_mut().skip(skipped).take(most) {
                let chunks = chunks.bypass_change_detection();
                drawing.follow(terrain, &mut voxels.bypass_change_detection().voxels, chunks);
            }
        }
    });
    stats.draw_ms += draw_ms;
}

impl Drawing<'_, '_, '_, '_, '_> {
    /// Draws what is new of a terrain, oldest first, within the budget.
    fn follow(
        &mut self,
        terrain: Entity,
        voxels: &mut terravox::Terrain,
        chunks: &mut TerrainChunks,
    ) {
        for swap in voxels.mesh_swaps() {
            chunks.push(swap);
        }
        chunks.made.forget_unused();
        let colours = match chunks.style.take() {
            Some(style) => style.colours,
            None => Arc::new(Colours::of(voxels.grid().materials())),
        };
        let style = MeshStyle { colours, max_bytes: self.max_bytes, usage: self.usage };
        chunks.style = Some(style);
        let placement = voxels.placement();
        let old = std::mem::replace(&mut chunks.placement, placement);
        if old.origin_m != placement.origin_m {
            self.follow_origin(chunks);
        }
        loop {
            if chunks.staged.is_none() {
                let Some(swap) = chunks.waiting.pop_front() else { return };
                chunks.staged = Some(StagedSwap { swap, ..StagedSwap::default() });
            }
            if !self.upload(terrain, voxels, chunks) {
                return;
            }
            self.show(chunks);
        }
    }

    /// Moves what is drawn with the origin of the world.
    fn follow_origin(&mut self, chunks: &TerrainChunks) {
        let staged = chunks.staged.iter().flat_map(|staged| &staged.chunks).map(|(_, chunk)| chunk);
        for chunk in chunks.shown.values().flatten().chain(staged) {
            if let Ok((mut transform, _)) = self.parts.get_mut(chunk.entity) {
                let corner = chunk.min_voxel.to_array().map(f64::from);
                let corner_m = chunks.placement.world_from_voxel(corner);
                transform.translation = Vec3::from(corner_m.map(|v| v as f32));
            }
        }
    }

    /// Makes the meshes of the staged swap; returns whether all are there.
    fn upload(
        &mut self,
        terrain: Entity,
        voxels: &terravox::Terrain,
        chunks: &mut TerrainChunks,
    ) -> bool {
        let TerrainChunks { staged, spare, generation, style, made, backlog_bytes, .. } = chunks;
        let Some(StagedSwap { swap, next, chunks }) = staged else { return true };
        let Some(style) = style else { return false };
        while let Some(shown) = swap.added.get(next.0) {
            let (which, triangle) = (next.1, next.2);
            let Some(surface) = surfaces(shown).get(which).copied() else {
                *next = (next.0 + 1, 0, 0);
                continue;
            };
            if surface.is_empty() {
                *next = (next.0, which + 1, 0);
                continue;
            }
            let left = self.max_bytes.saturating_sub(self.stats.uploaded_bytes);
            let rest = surface_bytes(surface);
            // A mesh is split only if it is too large for any frame.
            if left < self.max_bytes && (rest > left || triangle > 0) {
                return false;
            }
            let whole = made.take(&shown.mesh, which, style).map(|part| (part, None));
            let (part, rest) = whole.unwrap_or_else(|| part_from(surface, triangle, style));
            self.stats.uploaded_bytes += part.bytes;
            self.stats.uploaded_meshes += 1;
            *backlog_bytes = backlog_bytes.saturating_sub(part.bytes);
            *next = match rest {
                Some(triangle) => (next.0, which, triangle),
                None => (next.0, which + 1, 0),
            };
            let transform = shown.transform_from(&voxels.placement(), [0.0; 3]);
            let transform = Transform {
                translation: transform.translation.into(),
                scale: Vec3::splat(transform.scale),
                ..Transform::IDENTITY
            };
            let chunk =
                TerrainChunk { terrain, block: shown.block, mip: shown.mip, is_liquid: which == 1 };
            let spare = spare.of(which == 1).pop();
            let (entity, mesh) = self.place(chunk, transform, part, spare);
            let (is_liquid, min_voxel) = (which == 1, shown.min_voxel());
            let made = Chunk { entity, mesh, is_liquid, min_voxel, generation: *generation };
            chunks.push((shown.block, made));
        }
        true
    }

    /// Gives a hidden entity the mesh, the spare one if there is one. Returns both.
    fn place(
        &mut self,
        chunk: TerrainChunk,
        transform: Transform,
        SurfaceMesh { mesh, bounds, .. }: SurfaceMesh,
        spare: Option<Chunk>,
    ) -> (Entity, Handle<Mesh>) {
        if let Some(old) = spare {
            // Its mesh exists as long as its handle.
            if self.meshes.insert(&old.mesh, mesh).is_err() {
                error!("the mesh of a spare chunk is gone");
            }
            self.commands.entity(old.entity).try_insert((chunk, transform, bounds));
            return (old.entity, old.mesh);
        }
        let mesh = self.meshes.add(mesh);
        // Bevy's own bounds would lack what vertices move to.
        let parts = (chunk, transform, bounds, NoAutoAabb, Mesh3d(mesh.clone()));
        let entity = self.commands.spawn((parts, Visibility::Hidden, ChildOf(chunk.terrain))).id();
        (entity, mesh)
    }

    /// Shows the staged swap in place of what it replaces.
    fn show(&mut self, chunks: &mut TerrainChunks) {
        let Some(StagedSwap { swap, chunks: staged, .. }) = chunks.staged.take() else { return };
        for block in &swap.removed {
            let Some(mut old) = chunks.shown.remove(block) else { continue };
            for chunk in old.drain(..) {
                self.retire(chunk, &mut chunks.spare, chunks.generation);
            }
            chunks.spare_lists.push(old);
        }
        for (block, chunk) in staged {
            self.set_visibility(chunk.entity, Visibility::Inherited);
            let list = || chunks.spare_lists.pop().unwrap_or_default();
            chunks.shown.entry(block).or_insert_with(list).push(chunk);
        }
        chunks.spare_lists.truncate(MAX_SPARE);
    }

    /// Hides a chunk, and keeps it unless there are enough or it is of an earlier generation.
    fn retire(&mut self, chunk: Chunk, spare: &mut SpareChunks, generation: u32) {
        if chunk.generation == generation && spare.of(chunk.is_liquid).len() < MAX_SPARE {
            self.set_visibility(chunk.entity, Visibility::Hidden);
            spare.push(chunk);
        } else {
            self.commands.entity(chunk.entity).try_despawn();
        }
    }

    fn set_visibility(&mut self, entity: Entity, to: Visibility) {
        match self.parts.get_mut(entity) {
            Ok((_, mut visibility)) => *visibility = to,
            // It is spawned by a command of this very frame.
            Err(_) => {
                self.commands.entity(entity).try_insert(to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use bevy::ecs::system::RunSystemOnce;
    use bevy::mesh::MeshPlugin;
    use terravox::edit::EditOp;

    use super::*;
    use crate::{EditTerrain, TerrainViewer, TerravoxPlugin};

    fn app() -> App {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, TransformPlugin, AssetPlugin::default(), MeshPlugin));
        app.add_plugins(TerravoxPlugin::default());
        app.finish();
        app.cleanup();
        app.world_mut().spawn((TerrainViewer::new(60.0), Transform::from_xyz(0.0, 10.0, 0.0)));
        app
    }

    fn spawn_rough(app: &mut App) -> Entity {
        let rough = |x: f64, z: f64| 3.0 * (x * 1.9).sin() * (z * 1.7).cos();
        let terrain = Terrain::new(move |request| request.fill_height(2, -3.0..=3.0, rough));
        app.world_mut().spawn(terrain).id()
    }

    fn is_drawn(app: &App, terrain: Entity) -> bool {
        let world = app.world();
        world.get::<Terrain>(terrain).unwrap().is_settled()
            && world.get::<TerrainChunks>(terrain).unwrap().is_complete()
    }

    /// Draws frames until terrains are drawn.
    fn settle(app: &mut App, terrains: &[Entity]) {
        let start = Instant::now();
        while !terrains.iter().all(|&terrain| is_drawn(app, terrain)) {
            app.update();
            std::thread::sleep(Duration::from_millis(1));
            assert!(start.elapsed() < Duration::from_secs(60), "settling takes more than a minute");
        }
    }

    fn places(app: &mut App) -> Vec<(Entity, Vec3)> {
        let world = app.world_mut();
        let mut chunks = world.query_filtered::<(Entity, &Transform), With<TerrainChunk>>();
        chunks.iter(world).map(|(entity, at)| (entity, at.translation)).collect()
    }

    #[test]
    fn entities_of_an_earlier_generation_are_not_used_again() {
        let mut app = app();
        let terrain = spawn_rough(&mut app);
        settle(&mut app, &[terrain]);
        let before = places(&mut app);
        let respawn = |mut terrain: Single<(&mut Terrain, &mut TerrainChunks)>,
                       mut commands: Commands| {
            let everything = terrain.0.reset_mesh_swaps();
            terrain.1.respawn(everything, &mut commands);
        };
        app.world_mut().run_system_once(respawn).unwrap();
        assert!(app.world().get::<TerrainChunks>(terrain).unwrap().shown_count() > 0);
        settle(&mut app, &[terrain]);
        assert!(!before.is_empty() && !places(&mut app).is_empty());
        assert!(before.iter().all(|(entity, _)| app.world().get_entity(*entity).is_err()));
    }

    #[test]
    fn a_terrain_is_drawn_though_another_needs_the_whole_budget() {
        let mut app = app();
        let (busy, other) = (spawn_rough(&mut app), spawn_rough(&mut app));
        settle(&mut app, &[busy, other]);
        app.world_mut().resource_mut::<TerravoxSettings>().upload_bytes = 0;
        let dig = EditOp::dig_ball([0.0; 3], 4.0);
        app.world_mut().write_message(EditTerrain::new(other, dig));
        for frame in 0.. {
            let everything = app.world_mut().get_mut::<Terrain>(busy).unwrap().reset_mesh_swaps();
            app.world_mut().get_mut::<TerrainChunks>(busy).unwrap().restart(everything);
            app.update();
            std::thread::sleep(Duration::from_millis(1));
            assert!(!app.world().get::<TerrainChunks>(busy).unwrap().is_complete());
            if is_drawn(&app, other) {
                break;
            }
            assert!(frame < 5000, "it is never drawn");
        }
    }

    #[test]
    fn meshes_lie_where_their_voxels_do_after_the_origin_moved() {
        let mut app = app();
        let terrain = spawn_rough(&mut app);
        settle(&mut app, &[terrain]);
        let before = places(&mut app);
        let mut move_to = |origin_m: [f64; 3]| {
            app.world_mut().get_mut::<Terrain>(terrain).unwrap().set_origin(origin_m);
            app.world_mut().run_system_once(draw).unwrap();
            places(&mut app)
        };
        let far = move_to([3e7, 0.7, -0.1]);
        let shown = before.iter().zip(&far).filter(|(before, far)| before != far).count();
        assert!(shown > 0);
        assert_eq!(move_to([0.0; 3]), before, "nothing is rounded away");
    }
}
