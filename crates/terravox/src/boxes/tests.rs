//! Boxes against their slow twins, and what a sink is told while cells are edited.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::math::{Aabb, DebugLines};
use crate::voxel::{
    Cell, ChangeCursor, ChunkPos, DenseBox, GridOptions, Kind, LIMIT, Material, MaterialTable,
    Region, UnlistedChunks, VoxelGrid, VoxelPos,
};

/// The next number of a stream, by the first half of SplitMix64's finaliser.
fn splitmix(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 29)
}

/// A kind of ground to fill a region with.
#[derive(Clone, Copy, Debug)]
enum Ground {
    /// A share of single cells, of 16.
    Noise(u8),
    /// Steps, by a hash of the column in steps of so many voxels.
    Steps(u8),
    Full,
    Air,
    Checkerboard,
}

fn ground() -> impl Strategy<Value = Ground> {
    prop_oneof![
        (1u8..16).prop_map(Ground::Noise),
        (1u8..6).prop_map(Ground::Steps),
        Just(Ground::Full),
        Just(Ground::Air),
        Just(Ground::Checkerboard),
    ]
}

fn filled(region: Region, ground: Ground, seed: u64) -> DenseBox {
    let mut cells = DenseBox::new(region);
    let mut seed = seed;
    for at in region.voxels() {
        let solid = match ground {
            Ground::Noise(share) => splitmix(&mut seed) % 16 < u64::from(share),
            Ground::Steps(step) => {
                let step = i32::from(step);
                let column = [at.x, at.z].map(|v| v.div_euclid(step) as u64);
                let mut hash = seed ^ column[0] << 32 ^ column[1];
                i64::from(at.y) < i64::from(region.min.y) + (splitmix(&mut hash) % 24) as i64
            }
            Ground::Full => true,
            Ground::Air => false,
            Ground::Checkerboard => (at.x + at.y + at.z) & 1 == 0,
        };
        // Water, and cells that are hardly there: kinds count, nothing else.
        let other = if splitmix(&mut seed).is_multiple_of(4) { Cell::new(1, 9) } else { Cell::AIR };
        let kind = Cell::new(2 + (splitmix(&mut seed) % 3) as u8, splitmix(&mut seed) as u8);
        cells.set(at, if solid { kind } else { other });
    }
    cells
}

fn grid_of(cells: &DenseBox) -> VoxelGrid {
    let mut grid = VoxelGrid::default();
    grid.write(cells).expect("all of it is known");
    grid
}

fn octree_of(grid: &VoxelGrid, cube: Region) -> SolidOctree {
    let mut octree = SolidOctree::default();
    octree.read(grid.as_snapshot(), cube).expect("all of it is known");
    octree
}

fn sorted(boxes: impl IntoIterator<Item = Region>) -> Vec<Region> {
    let mut boxes: Vec<_> = boxes.into_iter().collect();
    boxes.sort_unstable_by_key(|b| (b.min, b.max));
    boxes
}

/// That boxes lie in `cube`, do not overlap and cover `cells` exactly.
fn assert_covers(boxes: &[Region], cells: &BTreeSet<VoxelPos>, cube: Region) {
    assert!(boxes.iter().all(|b| !b.is_empty() && cube.contains_region(*b)));
    let volume: u64 = boxes.iter().map(|b| b.volume()).sum();
    let covered: BTreeSet<_> = boxes.iter().flat_map(|b| b.voxels()).collect();
    assert_eq!(volume, covered.len() as u64, "boxes overlap");
    assert_eq!(&covered, cells);
}

/// That octree and boxes of a cube are right in every way.
fn assert_right(grid: &VoxelGrid, cube: Region) {
    let octree = octree_of(grid, cube);
    let cells = naive::solid_cells(grid.as_snapshot(), cube);
    assert_eq!(octree.solid_cells(), cells.len() as u64);
    assert_eq!(sorted(octree.volumes()), sorted(naive::volumes(&cells, cube)));
    let boxes = sorted(SolidBoxes::of(&octree).iter());
    assert_covers(&boxes, &cells, cube);
    assert_eq!(boxes, sorted(naive::boxes(&cells, cube)));
    assert!(boxes.len() <= octree.volumes().count());
}

fn cube_at(at: [i32; 3], log2: u32) -> Region {
    Region::one(VoxelPos::from(at)).finer(log2)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn boxes_and_volumes_are_those_of_the_slow_twins(
        at in proptest::array::uniform3(-2i32..2), log2 in 3u32..5, ground in ground(), seed: u64,
    ) {
        let cube = cube_at(at, log2);
        assert_right(&grid_of(&filled(cube.grow(1), ground, seed)), cube);
    }

    #[test]
    fn large_cubes_are_covered_exactly(
        at in proptest::array::uniform3(-2i32..2), log2 in 5u32..7, ground in ground(), seed: u64,
    ) {
        let cube = cube_at(at, log2);
        let part = Region { min: cube.min + VoxelPos::new(5, -3, 0), max: cube.max };
        let grid = grid_of(&filled(part, ground, seed));
        let octree = octree_of(&grid, cube);
        let cells = naive::solid_cells(grid.as_snapshot(), cube);
        assert_covers(&octree.volumes().collect::<Vec<_>>(), &cells, cube);
        assert_covers(&SolidBoxes::of(&octree).iter().collect::<Vec<_>>(), &cells, cube);
    }
}

#[test]
fn single_cells_are_boxes_wherever_they_are() {
    for at in [[0, 0, 0], [7, 7, 7], [8, 31, 16], [31, 31, 31], [-1, -1, -1], [-32, -9, -8]] {
        let at = VoxelPos::from(at);
        let mut cells = DenseBox::new(Region::one(at));
        cells.fill(8);
        let grid = grid_of(&cells);
        let octree = octree_of(&grid, at.chunk().region());
        assert_eq!(octree.volumes().collect::<Vec<_>>(), [Region::one(at)]);
        assert_eq!(SolidBoxes::of(&octree).iter().collect::<Vec<_>>(), [Region::one(at)]);
    }
}

#[test]
fn a_full_cube_is_one_box_at_the_ends_of_the_world() {
    for (min, log2) in [([-LIMIT; 3], 6), ([LIMIT - 64; 3], 6), ([LIMIT - 8, -LIMIT, 0], 3)] {
        let edge = VoxelPos::splat(1 << log2);
        let cube = Region { min: min.into(), max: VoxelPos::from(min) + edge };
        let grid = grid_of(&filled(cube, Ground::Full, 1));
        let octree = octree_of(&grid, cube);
        assert_eq!(octree.volumes().collect::<Vec<_>>(), [cube]);
        assert_eq!(SolidBoxes::of(&octree).iter().collect::<Vec<_>>(), [cube]);
    }
}

#[test]
fn flat_ground_is_one_box_a_chunk() {
    let grid = grid_of(&filled(Region::new([-32, -32, -32], [32, -11, 32]), Ground::Full, 1));
    for chunk in grid.chunks() {
        let boxes = SolidBoxes::of(&octree_of(&grid, chunk.region()));
        assert_eq!(boxes.len(), 1, "{chunk}");
    }
}

#[test]
fn what_is_not_held_is_named_and_all_else_is_read() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let held = ChunkPos::new(1, 0, 0);
    let mut cells = DenseBox::new(held.region());
    cells.fill(8);
    grid.write(&cells).expect("whole chunks can be written");
    let mut octree = SolidOctree::default();
    let missing = octree.read(grid.as_snapshot(), cube_at([0; 3], 6)).unwrap_err();
    assert_eq!(missing.chunk, ChunkPos::new(0, 0, 0));
    assert_eq!(octree.volumes().collect::<Vec<_>>(), [held.region()]);
    assert!(octree.read(grid.as_snapshot(), cube_at([-1; 3], 4)).is_err());
    assert_eq!(octree.volumes().count(), 0);
}

#[test]
fn materials_say_what_is_solid() {
    let mut materials: Vec<Material> = MaterialTable::default().materials().to_vec();
    materials[8].kind = Kind::Liquid;
    let materials = MaterialTable::new(materials);
    let mut grid = VoxelGrid::new(GridOptions { materials, ..GridOptions::default() });
    let mut cells = DenseBox::new(Region::new([0; 3], [16, 16, 16]));
    for at in cells.region().voxels() {
        cells.set(at, Cell::full([2, 8][(at.x & 1) as usize]));
    }
    grid.write(&cells).expect("all of it is known");
    assert_right(&grid, cube_at([0; 3], 4));
    assert_eq!(octree_of(&grid, cube_at([0; 3], 4)).solid_cells(), 2048);
}

/// A sink that checks on every call that what it was told to watch is covered.
#[derive(Default)]
struct Watched {
    boxes: Vec<Option<Region>>,
    /// Cells that must be covered at any moment.
    solid: BTreeSet<VoxelPos>,
    removing: bool,
}

impl Watched {
    fn boxes(&self) -> Vec<Region> {
        sorted(self.boxes.iter().flatten().copied())
    }

    /// Begins an update; cells that are solid before and after it must stay covered.
    fn watch(&mut self, solid: BTreeSet<VoxelPos>) {
        (self.solid, self.removing) = (solid, false);
        self.assert_covered();
    }

    fn assert_covered(&self) {
        let covered = |at: &VoxelPos| self.boxes.iter().flatten().any(|b| b.contains(*at));
        assert!(self.solid.iter().all(covered), "a solid cell has no box");
    }
}

impl BoxSink for Watched {
    type Handle = usize;

    fn add(&mut self, region: Region) -> usize {
        assert!(!self.removing, "additions come first");
        assert!(!region.is_empty());
        self.boxes.push(Some(region));
        self.boxes.len() - 1
    }

    fn remove(&mut self, handle: usize) {
        let gone = self.boxes[handle].take().expect("a handle is removed once");
        self.removing = true;
        let under = |at: &&VoxelPos| gone.contains(**at);
        for at in self.solid.iter().filter(under) {
            assert!(self.boxes.iter().flatten().any(|b| b.contains(*at)), "{at} has no box");
        }
    }
}

/// One change of a world.
#[derive(Clone, Debug)]
enum Edit {
    Fill([i32; 3], [i32; 3], Ground),
    Cell([i32; 3], bool),
    Forget([i32; 3]),
    Coarse([i32; 3]),
    Cover(Vec<([i32; 3], [i32; 3])>),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = || proptest::array::uniform3(-40i32..40);
    let size = || proptest::array::uniform3(1i32..20);
    let chunk = || proptest::array::uniform3(-1i32..1);
    prop_oneof![
        3 => (at(), size(), ground()).prop_map(|(at, size, ground)| Edit::Fill(at, size, ground)),
        5 => (at(), any::<bool>()).prop_map(|(at, solid)| Edit::Cell(at, solid)),
        1 => chunk().prop_map(Edit::Forget),
        1 => chunk().prop_map(Edit::Coarse),
        1 => proptest::collection::vec((at(), size()), 0..3).prop_map(Edit::Cover),
    ]
}

fn plus(at: [i32; 3], size: [i32; 3]) -> Region {
    Region::new(at, [at[0] + size[0], at[1] + size[1], at[2] + size[2]])
}

fn apply(grid: &mut VoxelGrid, cover: &mut Vec<Region>, edit: &Edit, seed: u64) {
    let chunk = |[x, y, z]: [i32; 3]| ChunkPos::new(x, y, z);
    match edit {
        Edit::Fill(at, size, ground) => {
            // Parts of chunks that are not held are left alone.
            let _ = grid.write(&filled(plus(*at, *size), *ground, seed));
        }
        Edit::Cell(at, solid) => {
            let ground = if *solid { Ground::Full } else { Ground::Air };
            let _ = grid.write(&filled(Region::one(VoxelPos::from(*at)), ground, seed));
        }
        Edit::Forget(at) => {
            grid.mark_saved(&grid.unsaved());
            grid.forget(chunk(*at));
        }
        Edit::Coarse(at) => {
            grid.mark_saved(&grid.unsaved());
            grid.forget(chunk(*at));
            let mut cells = DenseBox::new(chunk(*at).region().coarser(2));
            cells.fill(8);
            grid.write_mip(2, &cells);
        }
        Edit::Cover(regions) => {
            *cover = regions.iter().map(|&(at, size)| plus(at, size)).collect();
        }
    }
}

/// The boxes of the covered cubes of a world, from nothing.
fn fresh_boxes(grid: &VoxelGrid, cover: &[Region], log2: u32) -> Vec<Region> {
    let around = Region::new([-64; 3], [64; 3]).coarser(log2);
    let cubes = around.voxels().map(|at| Region::one(at).finer(log2));
    let cubes = cubes.filter(|cube| cover.iter().any(|c| !c.intersect(*cube).is_empty()));
    let mut octree = SolidOctree::default();
    sorted(cubes.flat_map(|cube| {
        let _ = octree.read(grid.as_snapshot(), cube);
        SolidBoxes::of(&octree).iter().collect::<Vec<_>>()
    }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn colliders_follow_edits_and_solid_cells_are_covered_at_every_moment(
        log2 in 3u32..7,
        edits in proptest::collection::vec((proptest::collection::vec(edit(), 0..3), any::<u64>()), 1..10),
    ) {
        let mut grid = grid_of(&filled(Region::new([-20, -20, -9], [9, 7, 14]), Ground::Steps(3), 5));
        let mut cover = vec![Region::new([-LIMIT; 3], [LIMIT; 3])];
        let (mut colliders, mut sink) = (BoxColliders::new(log2), Watched::default());
        let mut cursor = ChangeCursor::default();
        let mut old = BTreeSet::new();
        for (edits, seed) in &edits {
            edits.iter().for_each(|edit| apply(&mut grid, &mut cover, edit, *seed));
            let fresh = fresh_boxes(&grid, &cover, log2);
            let new: BTreeSet<VoxelPos> = fresh.iter().flat_map(|b| b.voxels()).collect();
            sink.watch(old.intersection(&new).copied().collect());
            colliders.cover(&cover);
            let done = colliders.update(grid.as_snapshot(), &grid.changes_since(&mut cursor), &mut sink);
            prop_assert_eq!(sink.boxes(), fresh);
            prop_assert_eq!(sink.removing, done.removed > 0);
            prop_assert_eq!(colliders.len(), sink.boxes().len());
            prop_assert!(colliders.iter().all(|(region, &handle)| sink.boxes[handle] == Some(region)));
            old = new;
        }
        sink.watch(BTreeSet::new());
        colliders.clear(&mut sink);
        prop_assert!(sink.boxes().is_empty() && colliders.is_empty());
    }
}

/// Colliders of a grid, in a list.
struct Followed {
    grid: VoxelGrid,
    cursor: ChangeCursor,
    colliders: BoxColliders<u32>,
    list: BoxList,
}

impl Followed {
    fn new(cells: &DenseBox) -> Followed {
        let mut followed = Followed {
            grid: grid_of(cells),
            cursor: ChangeCursor::default(),
            colliders: BoxColliders::new(5),
            list: BoxList::default(),
        };
        followed.update();
        followed
    }

    fn update(&mut self) -> BoxUpdate {
        let changes = self.grid.changes_since(&mut self.cursor);
        self.colliders.update(self.grid.as_snapshot(), &changes, &mut self.list)
    }

    fn set(&mut self, at: [i32; 3], ground: Ground) -> BoxUpdate {
        self.grid.write(&filled(Region::one(at.into()), ground, 3)).expect("all of it is known");
        self.update()
    }
}

#[test]
fn the_sink_is_not_called_when_nothing_changed() {
    let steps = filled(Region::new([-40; 3], [40, 0, 40]), Ground::Steps(4), 9);
    let mut followed = Followed::new(&steps);
    assert!(followed.list.len() > 100);
    assert_eq!(followed.update(), BoxUpdate::default());
    // A write of the same cells, another material, a new cursor.
    followed.grid.write(&steps).expect("all of it is known");
    assert_eq!(followed.update(), BoxUpdate::default());
    followed.cursor = ChangeCursor::default();
    assert_eq!(followed.update(), BoxUpdate::default());
}

#[test]
fn an_edit_of_one_cell_and_its_undoing_keep_all_other_boxes() {
    let mut followed =
        Followed::new(&filled(Region::new([-32; 3], [32, 0, 32]), Ground::Steps(4), 9));
    let before = sorted(followed.list.iter());
    let at = [-5, -31, 9];
    let done = followed.set(at, Ground::Air);
    assert!(done.removed > 0 && 20 * done.removed < before.len(), "{done:?} of {}", before.len());
    let back = followed.set(at, Ground::Full);
    assert_eq!((back.added, back.removed), (done.removed, done.added));
    assert_eq!(sorted(followed.list.iter()), before);
}

#[test]
fn a_cell_in_the_air_gets_a_box_and_loses_it() {
    let mut followed = Followed::new(&DenseBox::new(Region::new([0; 3], [8; 3])));
    assert!(followed.list.is_empty() && followed.colliders.is_empty());
    let done = followed.set([-1, 40, -33], Ground::Full);
    assert_eq!((done.added, done.removed, followed.list.len()), (1, 0, 1));
    let done = followed.set([-1, 40, -33], Ground::Air);
    assert_eq!((done.added, done.removed, followed.list.len()), (0, 1, 0));
    assert!(followed.colliders.is_empty());
}

#[test]
fn what_is_not_covered_has_no_boxes() {
    let mut followed = Followed::new(&filled(Region::new([-64; 3], [64; 3]), Ground::Full, 9));
    assert_eq!(followed.list.len(), 64);
    let near = Region::new([-1, -1, 3], [1, 1, 5]);
    followed.colliders.cover(&[near, Region::new([i32::MIN; 3], [i32::MIN + 5; 3])]);
    assert_eq!(followed.update().removed, 60);
    assert!(followed.list.iter().all(|b| !b.intersect(near).is_empty()));
    assert_eq!(followed.set([-40, 3, 3], Ground::Air), BoxUpdate::default());
    followed.colliders.cover(&[]);
    assert_eq!(followed.update().removed, 4);
    followed.colliders.cover(&[Region::new([i32::MIN; 3], [i32::MAX; 3])]);
    let done = followed.update();
    assert!(done.added > 64 && done.removed == 0);
}

#[test]
fn unknown_chunks_lose_their_boxes_and_are_counted() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let mut cells = DenseBox::new(Region::new([0; 3], [64, 32, 32]));
    cells.fill(8);
    grid.write(&cells).expect("whole chunks can be written");
    let (mut colliders, mut list) = (BoxColliders::new(5), BoxList::default());
    let mut cursor = ChangeCursor::default();
    colliders.update(grid.as_snapshot(), &grid.changes_since(&mut cursor), &mut list);
    grid.mark_saved(&grid.unsaved());
    assert!(grid.forget(ChunkPos::new(0, 0, 0)));
    let done = colliders.update(grid.as_snapshot(), &grid.changes_since(&mut cursor), &mut list);
    assert_eq!(done, BoxUpdate { added: 0, removed: 1, not_held: 1 });
    assert_eq!(list.iter().collect::<Vec<_>>(), [ChunkPos::new(1, 0, 0).region()]);
}

#[test]
fn a_set_takes_boxes_of_any_source_and_keeps_those_that_match() {
    let grid = grid_of(&filled(Region::new([0; 3], [32; 3]), Ground::Steps(2), 4));
    let octree = octree_of(&grid, cube_at([0; 3], 5));
    let (mut set, mut list) = (BoxSet::default(), BoxList::default());
    let [added, removed] = set.replace(octree.volumes(), &mut list);
    assert_eq!((added, removed, set.len()), (octree.volumes().count(), 0, list.len()));
    // Another source, upside down, with some of the same boxes.
    let mut other: Vec<Region> = octree.volumes().skip(5).collect();
    other.push(Region::new([-9, 4, 4], [0, 5, 5]));
    other.reverse();
    assert_eq!(set.replace(other.iter().copied(), &mut list), [1, 5]);
    assert_eq!(sorted(list.iter()), sorted(other));
    assert_eq!(set.replace([], &mut list), [0, added - 4]);
    assert!(list.is_empty() && set.is_empty());
}

#[test]
fn boxes_can_be_drawn_and_counted() {
    let followed = Followed::new(&filled(Region::new([-32; 3], [32; 3]), Ground::Full, 9));
    let mut lines = DebugLines::default();
    followed.colliders.box_lines(&Aabb::around([5.0; 3], [1.0; 3]), &mut lines);
    assert_eq!(lines.lines.len(), 12);
    assert_eq!(followed.colliders.len(), 8);
    assert!((500..20_000).contains(&followed.colliders.bytes()));
}
