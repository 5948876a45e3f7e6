//! Flying, digging and late data: after every step the view is complete, closed and equal to a
//! rebuild.

use super::draft::PlanDraft;
use super::shown_mesh::triangle_count;
use super::*;
use crate::mesh::{BlockMesh, VertexKey, Welded};
use crate::simplify::Simplifier;
use crate::voxel::{
    Cell, DenseBox, GridOptions, MipBlock, Region, UnlistedChunks, VoxelGrid, VoxelPos, WATER,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

mod edits_ahead;
mod looks_at;
mod missing_roots;
mod moving;

/// Returns the cells of hills with a plate above them and water between.
fn cells_of(block: MipBlock) -> DenseBox {
    let wave = |v: f32| (v / 7.0 - (v / 7.0).floor() - 0.5).abs();
    let mut cells = DenseBox::new(block.cells());
    let (Region { min, max }, size) = (block.cells(), (1 << block.mip) as f32);
    let centre = |v: i32| (v as f32 + 0.5) * size;
    for (z, x) in (min.z..max.z).flat_map(|z| (min.x..max.x).map(move |x| (z, x))) {
        let [x_voxels, z_voxels] = [x, z].map(centre);
        let hills =
            9.0 + 14.0 * wave(x_voxels * 0.11 + z_voxels * 0.03) + 9.0 * wave(z_voxels * 0.19);
        for y in min.y..max.y {
            let y_voxels = centre(y);
            let plate = 1.2 - (y_voxels - 27.0 - 0.1 * x_voxels).abs();
            let distance = (hills - y_voxels).max(plate);
            let units = ((0.5 + distance / size) * 256.0).clamp(0.0, 256.0) as u32;
            if units > 0 {
                let material = if y_voxels < 12.0 { 3 } else { 8 };
                cells.set(VoxelPos::new(x, y, z), Cell { material, occupancy: (units - 1) as u8 });
            } else if y < 16 >> block.mip {
                cells.set(VoxelPos::new(x, y, z), Cell::full(WATER));
            }
        }
    }
    cells
}

/// A world, its view, and the meshes a renderer would have.
struct Scene {
    grid: VoxelGrid,
    lod: LodView,
    drawn: BTreeMap<MipBlock, Arc<BlockMesh>>,
    published: usize,
}

impl Scene {
    fn new(options: LodOptions) -> Scene {
        let grid = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
        Scene {
            grid: VoxelGrid::new(grid),
            lod: LodView::new(options),
            drawn: BTreeMap::new(),
            published: 0,
        }
    }

    /// Supplies at most `most` blocks and publishes one plan. Returns whether anything was done.
    fn step(&mut self, viewer: LodViewer, most: usize) -> bool {
        let wanted = self.lod.take_wanted(self.grid.as_snapshot(), most);
        let mut busy = !wanted.is_empty();
        for block in wanted {
            self.lod.supply(block, cells_of(block));
        }
        let jobs = self.lod.plan(&mut self.grid, &[viewer]);
        if self.lod.is_planned() {
            busy = true;
            let mut scratch = MeshScratch::keyed();
            let results = jobs.iter().map(|job| job.run(&mut scratch)).collect();
            let swap = self.lod.publish(results);
            self.draw(swap);
            self.published += 1;
            // All are closed; checking each is slow.
            if self.published.is_multiple_of(6) {
                self.assert_closed();
            }
        }
        busy || !self.lod.fills.is_idle()
    }

    fn draw(&mut self, swap: MeshSwap) {
        for block in swap.removed {
            assert!(self.drawn.remove(&block).is_some(), "{block} was not drawn");
        }
        for ShownMesh { block, mip, mesh } in swap.added {
            assert_eq!(mesh.block, block.cells().finer((block.mip - mip).into()));
            assert!(self.drawn.insert(block, mesh).is_none());
        }
    }

    /// Asserts that the ground is closed and manifold, except at the edge of what is shown.
    fn assert_closed(&self) {
        let mut welded = Welded::default();
        for (block, mesh) in &self.drawn {
            let mip = block.mip - u8::from(mesh.block.size()[0] > 32);
            welded.add(block.voxels().min, mip, &mesh.solid);
        }
        let covered = |p: VoxelPos| self.lod.tiling.leaf_over(MipBlock::holding(p, 0)).is_some();
        let outside = |key: &VertexKey| {
            let mut around = Region::one(key.corner - VoxelPos::splat(1))
                .union(Region::one(key.corner))
                .voxels();
            key.corner.to_array().iter().any(|v| v % 32 == 0) && !around.all(covered)
        };
        welded.assert_manifold(|edge| edge.iter().all(outside));
    }

    fn settle(&mut self, viewer: LodViewer) {
        for _ in 0..10_000 {
            if !self.step(viewer, 64) {
                return;
            }
        }
        panic!("the view does not settle");
    }

    /// Asserts that touching blocks differ by at most one mip and that no two overlap.
    fn assert_balanced(&self) {
        let tiling = &self.lod.tiling;
        for leaf in tiling.leaves() {
            tiling.touching(leaf, |other| {
                assert!(other.mip.abs_diff(leaf.mip) <= 1, "{leaf} beside {other}");
            });
            assert!(leaf.mip == tiling.top() || tiling.is_inner(leaf.parent()));
        }
    }

    /// Asserts that meshing everything again gives the drawn meshes.
    fn assert_rebuilt(&mut self) {
        let mut scratch = MeshScratch::keyed();
        let leaves = self.lod.blocks();
        let mut draft = PlanDraft::default();
        draft.rebuild.extend(leaves);
        let saved = (self.lod.active_plan.take(), self.lod.plan_count);
        let selector = self.lod.selector(&[], false);
        self.lod.active_plan = self.lod.new_plan(&self.grid, draft, &selector);
        let jobs = self.lod.jobs_of_plan();
        for job in &jobs {
            let made = job.run(&mut scratch).mesh;
            let drawn = self.drawn.get(&job.block);
            assert!(drawn == made.as_ref(), "{} differs from a rebuild", job.block);
        }
        (self.lod.active_plan, self.lod.plan_count) = saved;
        assert!(self.drawn.keys().copied().eq(self.lod.meshed_blocks()));
    }

    fn dig(&mut self, at: [i32; 3], reach: i32, new: Cell) {
        let region = Region::one(at.into()).grow(reach);
        for blocks in self.lod.missing(&mut self.grid, region) {
            for block in blocks {
                let cells = cells_of(block);
                self.lod.hold(&mut self.grid, block, cells);
            }
        }
        let mut cells = DenseBox::new(region);
        region.voxels().for_each(|voxel| cells.set(voxel, new));
        self.grid.write(&cells).unwrap();
    }
}

fn viewer(x: f64, y: f64, z: f64) -> LodViewer {
    LodViewer { position_voxels: [x, y, z], distance_voxels: 130.0 }
}

fn small() -> LodOptions {
    LodOptions { detail: 1.0, near_voxels: 16.0, max_mip: 2, ..LodOptions::default() }
}

#[test]
fn near_blocks_are_finer_and_the_whole_view_is_covered() {
    let mut scene = Scene::new(small());
    let eye = viewer(10.0, 30.0, -20.0);
    scene.settle(eye);
    scene.assert_balanced();
    let leaf = |x: i32, z: i32| {
        let over = MipBlock::holding(VoxelPos::new(x, 10, z), 0);
        scene.lod.tiling.leaf_over(over).unwrap().mip
    };
    assert_eq!(leaf(10, -20), 0);
    assert_eq!((leaf(100, -20), leaf(200, -20)), (0, 1));
    assert!(scene.drawn.len() > 50);
}

#[test]
fn idle_blocks_are_drawn_as_one_until_they_change() {
    let mut scene = Scene::new(small());
    let eye = viewer(10.0, 30.0, -20.0);
    scene.settle(eye);
    let apart = scene.drawn.len();
    for _ in 0..200 {
        let swap = scene.lod.join();
        scene.draw(swap);
    }
    let joined = scene.drawn.len();
    assert!(joined * 3 < apart * 2, "{apart} meshes, {joined} joined");
    scene.assert_closed();
    scene.dig([10, 10, -20], 4, Cell::AIR);
    scene.settle(eye);
    assert!(scene.drawn.len() > joined);
    scene.assert_closed();
}

/// Cells arrive only while nothing is to be meshed, as in `Terrain::update`: a step that is taken
/// and reverted would repeat forever.
#[test]
fn a_view_settles_when_cells_arrive_only_between_plans_slow() {
    for at in [0, 5] {
        let options = LodOptions { max_mip: 4, near_voxels: 64.0, ..small() };
        let mut scene = Scene::new(options);
        let eye = viewer(f64::from(at) * 13.0, 60.0 + f64::from(at), 0.0);
        let mut scratch = MeshScratch::default();
        let mut plans = 0;
        loop {
            let jobs = scene.lod.plan(&mut scene.grid, &[eye]);
            if scene.lod.is_planned() {
                plans += 1;
                assert!(plans < 1000, "the same steps are taken and reverted");
                scene.lod.publish(jobs.iter().map(|job| job.run(&mut scratch)).collect());
                continue;
            }
            let wanted = scene.lod.take_wanted(scene.grid.as_snapshot(), 8);
            if wanted.is_empty() {
                break;
            }
            wanted.into_iter().for_each(|block| scene.lod.supply(block, cells_of(block)));
        }
        assert!(plans > 3 && scene.lod.triangles() > 1000);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1))]

    #[test]
    fn flying_and_digging_slowly_always_shows_what_a_rebuild_shows(
        start in prop::array::uniform3(-100.0..100.0f64),
        moves in prop::collection::vec((prop::array::uniform3(-60.0..60.0f64), 1usize..40), 3..6),
        digs in prop::collection::vec((prop::array::uniform3(-60i32..60), 1i32..6, any::<bool>()), 6),
        morph in any::<bool>(),
    ) {
        fly_and_dig(start, &moves, &digs, LodOptions { jobs_per_plan: 20, morph, ..small() });
    }
}

/// For each move, flies its offset in six steps with at most that many blocks supplied in each,
/// then digs or fills.
fn fly_and_dig(
    start: [f64; 3],
    moves: &[([f64; 3], usize)],
    digs: &[([i32; 3], i32, bool)],
    options: LodOptions,
) {
    let mut scene = Scene::new(options);
    let mut at = start;
    for (&(step, most), &(dig, reach, fill)) in moves.iter().zip(digs) {
        for _ in 0..6 {
            at = [0, 1, 2].map(|i| at[i] + step[i] / 6.0);
            scene.step(viewer(at[0], at[1] * 0.2 + 20.0, at[2]), most);
        }
        let near = [0, 1, 2].map(|i| at[i] as i32 * i32::from(i != 1) + dig[i]);
        scene.dig(near, reach, if fill { Cell::full(4) } else { Cell::AIR });
        scene.step(viewer(at[0], at[1] * 0.2 + 20.0, at[2]), most);
        scene.assert_balanced();
        scene.assert_rebuilt();
    }
    let last = viewer(at[0], at[1] * 0.2 + 20.0, at[2]);
    scene.settle(last);
    scene.assert_closed();
    scene.assert_balanced();
    scene.assert_rebuilt();
}

mod simplified {
    use super::*;

    impl Scene {
        /// Runs rounds of simplification; jobs finish one round late. `out` are the unfinished
        /// ones.
        fn rest(&mut self, calls: usize, out: &mut Vec<SimplifyJob>) {
            let mut simplifier = Simplifier::new();
            for _ in 0..calls {
                let jobs = std::mem::replace(out, self.lod.plan_simplified(3));
                let done = jobs.into_iter().map(|job| job.run(&mut simplifier)).collect();
                let swap = self.lod.publish_simplified(done);
                self.draw(swap);
            }
        }

        /// Runs rounds until nothing is left to simplify.
        fn rest_all(&mut self, out: &mut Vec<SimplifyJob>) {
            while !self.lod.is_at_rest() || !out.is_empty() {
                self.rest(1, out);
            }
        }

        fn drawn_triangles(&self) -> usize {
            self.drawn.values().map(|mesh| triangle_count(mesh)).sum()
        }

        /// The weld compares morph targets, too, so shared vertices match at every factor.
        fn assert_simplified(&self, morph: bool) {
            self.assert_closed();
            let solid = self.drawn.values().filter(|mesh| !mesh.solid.is_empty());
            assert!(solid.clone().all(|mesh| mesh.solid.targets.is_empty() != morph));
            let [few, all] = [self.drawn_triangles(), self.lod.triangles()];
            assert!(few * 5 < all, "{few} of {all}");
            let mips = |mip: u8| self.lod.blocks().iter().filter(|b| b.mip == mip).count();
            assert!(mips(0) > 0 && mips(1) > 0);
        }
    }

    /// Returns a viewer with a smaller view distance.
    fn near(x: f64, y: f64, z: f64) -> LodViewer {
        LodViewer { distance_voxels: 40.0, ..viewer(x, y, z) }
    }

    fn near_scene(error: f32, morph: bool) -> Scene {
        let simplify = Some(error);
        Scene::new(LodOptions { simplify, morph, max_mip: 1, jobs_per_plan: 20, ..small() })
    }

    #[test]
    fn idle_meshes_are_simplified_and_edits_show_at_once_slow() {
        for morph in [false, true] {
            let mut scene = near_scene(0.3, morph);
            let eye = near(10.0, 30.0, -20.0);
            scene.settle(eye);
            let mut out = Vec::new();
            scene.rest(59, &mut out);
            assert_eq!(scene.drawn_triangles(), scene.lod.triangles());
            scene.rest_all(&mut out);
            scene.assert_simplified(morph);
            let before = scene.drawn.clone();
            scene.dig([10, 10, -20], 4, Cell::AIR);
            scene.settle(eye);
            scene.assert_closed();
            let dug = MipBlock::holding(VoxelPos::new(10, 10, -20), 0);
            assert!(Arc::ptr_eq(&scene.drawn[&dug], scene.lod.mesh(dug).unwrap()));
            // Nothing far from it changed.
            let same = |(block, mesh): &(&MipBlock, &Arc<BlockMesh>)| {
                before.get(block).is_some_and(|before| Arc::ptr_eq(before, mesh))
            };
            assert!(scene.drawn.iter().filter(same).count() > before.len() / 3);
            scene.rest_all(&mut out);
            scene.assert_simplified(morph);
        }
    }

    #[test]
    fn results_for_changed_meshes_are_ignored() {
        let mut scene = near_scene(0.3, false);
        let eye = near(10.0, 30.0, -20.0);
        scene.settle(eye);
        let mut jobs = Vec::new();
        while jobs.is_empty() {
            jobs = scene.lod.plan_simplified(1000);
        }
        scene.dig([10, 10, -20], 4, Cell::AIR);
        scene.settle(eye);
        let dug = MipBlock::holding(VoxelPos::new(10, 10, -20), 0);
        let mesh = scene.drawn[&dug].clone();
        let mut simplifier = Simplifier::new();
        let done = jobs.into_iter().map(|job| job.run(&mut simplifier)).collect();
        let swap = scene.lod.publish_simplified(done);
        assert!(!swap.is_empty());
        scene.draw(swap);
        assert!(Arc::ptr_eq(&scene.drawn[&dug], &mesh));
        scene.assert_closed();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1))]

        #[test]
        fn flying_and_digging_among_simplified_meshes_stays_closed_slow(
            start in prop::array::uniform3(-100.0..100.0f64),
            moves in prop::collection::vec(prop::array::uniform3(-30.0..30.0f64), 2),
            digs in prop::collection::vec(
                (prop::array::uniform3(-30i32..30), 1i32..6, any::<bool>()), 2),
            morph in any::<bool>(),
        ) {
            let mut scene = near_scene(0.4, morph);
            let (mut at, mut out) = (start, Vec::new());
            let eye = |at: [f64; 3]| near(at[0], at[1] * 0.2 + 20.0, at[2]);
            scene.settle(eye(at));
            scene.rest_all(&mut out);
            scene.assert_simplified(morph);
            for (&step, &(dig, reach, fill)) in moves.iter().zip(&digs) {
                for _ in 0..3 {
                    at = [0, 1, 2].map(|i| at[i] + step[i] / 3.0);
                    scene.step(eye(at), 30);
                    scene.rest(25, &mut out);
                    scene.assert_closed();
                    prop_assert!(scene.drawn_triangles() < scene.lod.triangles());
                }
                let near = [0, 1, 2].map(|i| at[i] as i32 * i32::from(i != 1) + dig[i]);
                scene.dig(near, reach, if fill { Cell::full(4) } else { Cell::AIR });
                scene.step(eye(at), 30);
                scene.rest(10, &mut out);
                scene.assert_closed();
                prop_assert!(scene.drawn_triangles() < scene.lod.triangles());
            }
            scene.settle(eye(at));
            scene.rest_all(&mut out);
            scene.assert_simplified(morph);
        }
    }
}
