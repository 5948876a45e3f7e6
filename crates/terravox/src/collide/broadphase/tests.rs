//! The masks against their slow twin and against what the mesher makes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::naive::{self, NaiveBlock};
use super::*;
use crate::collide::{Surfaces, schedule::splitmix};
use crate::math::{Aabb, DebugLines};
use crate::mesh::{BlockMesh, Mesher, PAD, Shores, Surface};
use crate::voxel::{
    Cell, ChangeCursor, DenseBox, GridOptions, Kind, LIMIT, Material, MaterialTable, VoxelGrid,
    VoxelPos,
};

/// One change of a world.
#[derive(Clone, Debug)]
enum Edit {
    /// A box: corner, edges, materials to pick from, share of cells, seed.
    Noise([i32; 3], [i32; 3], Vec<u8>, f64, u64),
    /// A whole chunk of one material.
    Chunk([i32; 3], u8),
    /// A chunk goes.
    Forget([i32; 3]),
    /// A chunk is known coarsely only.
    Coarse([i32; 3], u8),
}

/// A box of random cells; a quarter of the solid ones hold water if water is in it.
fn noise(region: Region, materials: &[u8], share: f64, seed: u64, old: &Snapshot) -> DenseBox {
    let mut cells = DenseBox::new(region);
    let mut seed = seed;
    if old.read(region, 0, &mut cells).is_err() {
        cells.reset(region);
    }
    for at in region.voxels() {
        let bits = splitmix(&mut seed);
        if (bits % 1000) as f64 >= 1000.0 * share {
            continue;
        }
        let material = materials[bits as usize / 1000 % materials.len()];
        let occupancy = if bits >> 40 & 1 == 0 { 255 } else { (bits >> 48) as u8 };
        cells.set(at, Cell::new(material, occupancy));
        if material > 1 && materials.contains(&1) && bits >> 42 & 3 == 0 {
            cells.set_water(at, Some((bits >> 50) as u8));
        }
    }
    cells
}

fn chunk_at(origin: VoxelPos, at: [i32; 3]) -> ChunkPos {
    let base = origin.chunk();
    ChunkPos::new(base.x + at[0], base.y + at[1], base.z + at[2])
}

/// Makes an edit, if what it needs is known; the region that it wrote.
fn apply(grid: &mut VoxelGrid, origin: VoxelPos, edit: &Edit) -> Region {
    match edit {
        Edit::Noise(min, size, materials, share, seed) => {
            let min = origin + VoxelPos::from(*min);
            let region = Region { min, max: min + VoxelPos::from(*size) };
            let cells = noise(region, materials, *share, *seed, grid.as_snapshot());
            // In a world of unknown parts some are refused.
            let _ = grid.write(&cells);
            region
        }
        Edit::Chunk(at, material) => {
            let region = chunk_at(origin, *at).region();
            let mut cells = DenseBox::new(region);
            cells.fill(*material);
            assert_eq!(grid.write(&cells), Ok(()));
            region
        }
        Edit::Forget(at) => {
            grid.mark_saved(&grid.unsaved());
            grid.forget(chunk_at(origin, *at));
            chunk_at(origin, *at).region()
        }
        Edit::Coarse(at, mip) => {
            let region = chunk_at(origin, *at).region();
            let mut cells = DenseBox::new(region.coarser((*mip).into()));
            cells.fill(3);
            grid.mark_saved(&grid.unsaved());
            grid.forget(chunk_at(origin, *at));
            grid.write_mip(*mip, &cells);
            region
        }
    }
}

fn arb_materials() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(vec![0, 8]),
        Just(vec![0, 1, 8]),
        Just(vec![1]),
        Just(vec![2, 3]),
        Just(vec![0]),
        proptest::collection::vec(0u8..6, 1..4),
    ]
}

fn arb_edit() -> impl Strategy<Value = Edit> {
    let corner = proptest::array::uniform3(-18i32..14);
    let size = prop_oneof![
        proptest::array::uniform3(1i32..4),
        proptest::array::uniform3(1i32..20),
        Just([34, 3, 34]),
    ];
    let noise = (corner, size, arb_materials(), 0.0..1.0f64, any::<u64>());
    let chunk = || proptest::array::uniform3(-1i32..1);
    prop_oneof![
        6 => noise.prop_map(|(c, s, m, share, seed)| {
            // Often all cells, which makes whole blocks of one kind.
            Edit::Noise(c, s, m, (share * 1.6).min(1.0), seed)
        }),
        2 => (chunk(), prop_oneof![Just(0u8), Just(1), Just(8)]).prop_map(|(c, m)| Edit::Chunk(c, m)),
        1 => chunk().prop_map(Edit::Forget),
        1 => (chunk(), 1u8..6).prop_map(|(c, m)| Edit::Coarse(c, m)),
    ]
}

fn arb_origin() -> impl Strategy<Value = VoxelPos> {
    // Where chunks, and where pages meet, on both sides of zero.
    let coordinate = prop_oneof![Just(0), Just(-32), Just(32), Just(-256), Just(512)];
    proptest::array::uniform3(coordinate).prop_map(VoxelPos::from)
}

fn new_grid(unknown: bool) -> VoxelGrid {
    let unlisted = if unknown { UnlistedChunks::Unknown } else { UnlistedChunks::Air };
    VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() })
}

fn rebuilt(snapshot: &Snapshot) -> Broadphase {
    let mut broadphase = Broadphase::new();
    broadphase.update(snapshot, &Changes::Everything);
    broadphase
}

fn assert_same(a: &Broadphase, b: &Broadphase) {
    let mut positions: Vec<_> = a.page_positions().chain(b.page_positions()).collect();
    positions.sort();
    for page in positions {
        assert!(a.page(page) == b.page(page), "page {page}");
    }
}

fn owned(masks: BlockMasks<'_>) -> NaiveBlock {
    NaiveBlock {
        solid: masks.solid.copied(),
        wet: masks.wet.copied(),
        all_solid: masks.all_solid,
        all_liquid: masks.all_liquid,
        shows_liquid: masks.shows_liquid,
        unknown: masks.unknown,
    }
}

fn assert_as_naive(broadphase: &Broadphase, snapshot: &Snapshot, region: Region) {
    for block in region.blocks::<3>() {
        let mut fast = owned(broadphase.block(block));
        let slow = naive::block(snapshot, block);
        naive::assert_wet(snapshot, block, &fast, &slow);
        (fast.wet, fast.shows_liquid) = (slow.wet, slow.shows_liquid);
        assert_eq!(fast, slow, "block {block}");
    }
}

/// All blocks of a broadphase that a box touches, sorted; panics on doubles.
fn touched(
    broadphase: &Broadphase,
    aabb: &Aabb,
    surfaces: Surfaces,
) -> BTreeMap<CollisionBlock, BlockOverlap> {
    let mut found = BTreeMap::new();
    broadphase.blocks_in(aabb, surfaces, |block, touch| {
        assert_eq!(found.insert(block, touch), None, "{block} twice");
        assert!(touch.solid || touch.liquid);
    });
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn masks_follow_edits_as_if_made_anew_and_as_the_slow_twin_has_them(
        origin in arb_origin(),
        unknown in proptest::bool::weighted(0.3),
        edits in proptest::collection::vec((arb_edit(), any::<bool>()), 1..8),
    ) {
        let mut grid = new_grid(unknown);
        if unknown {
            apply(&mut grid, origin, &Edit::Chunk([-1, 0, 0], 0));
            apply(&mut grid, origin, &Edit::Chunk([0, 0, 0], 8));
        }
        let (mut broadphase, mut cursor) = (Broadphase::new(), ChangeCursor::default());
        broadphase.update(grid.as_snapshot(), &grid.changes_since(&mut cursor));
        let mut written = Region::default();
        for (edit, pause) in &edits {
            written = apply(&mut grid, origin, edit);
            if !pause {
                broadphase.update(grid.as_snapshot(), &grid.changes_since(&mut cursor));
            }
        }
        broadphase.update(grid.as_snapshot(), &grid.changes_since(&mut cursor));
        assert_same(&broadphase, &rebuilt(grid.as_snapshot()));
        let corner = Region { min: origin, max: origin }.grow(9);
        let part = written.intersect(corner).grow(1);
        assert_as_naive(&broadphase, grid.as_snapshot(), if part.is_empty() { corner } else { part });
    }

    #[test]
    fn boxes_visit_the_blocks_that_brute_force_finds(
        origin in arb_origin(),
        edits in proptest::collection::vec(arb_edit(), 1..5),
        boxes in proptest::collection::vec(
            (proptest::array::uniform3(-20.0..20.0f64), proptest::array::uniform3(0.0..9.0f64), 0..3u8),
            1..12,
        ),
    ) {
        let mut grid = new_grid(false);
        for edit in &edits {
            apply(&mut grid, origin, edit);
        }
        let broadphase = rebuilt(grid.as_snapshot());
        let all: Vec<_> = Region { min: origin, max: origin }.grow(40).blocks::<3>().collect();
        let naive: Vec<_> = all.iter().map(|&block| owned(broadphase.block(block))).collect();
        for (centre, half, rounding) in boxes {
            // Some on whole and quarter cells, where touching counts.
            let round = |v: f64| match rounding {
                0 => v,
                1 => v.round(),
                _ => (v * 4.0).round() / 4.0,
            };
            let centre = [0, 1, 2].map(|i| round(centre[i]) + f64::from(origin.to_array()[i]));
            let aabb = Aabb::around(centre, half.map(round));
            for surfaces in [Surfaces::Solid, Surfaces::Liquid, Surfaces::Both] {
                let brute = all.iter().zip(&naive).map(|(&block, of)| {
                    (block, naive::touch(of, block, &aabb, surfaces))
                });
                let brute: BTreeMap<_, _> =
                    brute.filter(|(_, touch)| touch.solid || touch.liquid).collect();
                prop_assert_eq!(touched(&broadphase, &aabb, surfaces), brute);
            }
        }
    }

    #[test]
    fn no_triangle_of_the_mesher_is_missed(
        origin in arb_origin(),
        edits in proptest::collection::vec(arb_edit(), 1..5),
        boxes in proptest::collection::vec(
            (proptest::array::uniform3(-14.0..14.0f64), proptest::array::uniform3(0.0..2.0f64)),
            12,
        ),
    ) {
        let mut grid = new_grid(false);
        let edits = edits.iter().filter(|edit| !matches!(edit, Edit::Coarse(..)));
        for edit in edits {
            apply(&mut grid, origin, edit);
        }
        let broadphase = rebuilt(grid.as_snapshot());
        let boxes: Vec<Aabb> = boxes.into_iter().map(|(centre, half)| {
            let centre = [0, 1, 2].map(|i| centre[i] + f64::from(origin.to_array()[i]));
            Aabb::around(centre, half)
        }).collect();
        let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
        let (mut shores, mut cells) = (Shores::default(), DenseBox::default());
        for block in (Region { min: origin, max: origin }).grow(17).blocks::<3>() {
            let region = block.region().grow(PAD);
            prop_assert_eq!(shores.read(grid.as_snapshot(), region, 0, &mut cells), Ok(()));
            mesher.mesh(&cells, grid.materials(), &mut mesh);
            let masks = broadphase.block(block);
            prop_assert!(mesh.solid.is_empty() == masks.solid.is_none());
            prop_assert!(mesh.liquid.is_empty() || masks.shows_liquid);
            for (of, surfaces) in [(&mesh.solid, Surfaces::Solid), (&mesh.liquid, Surfaces::Liquid)] {
                let triangles = triangle_boxes(of, block);
                // Boxes that just touch a triangle are the hardest to see.
                let touching = triangles.iter().step_by(7).enumerate().map(|(i, t)| touching(t, i));
                for aabb in boxes.iter().copied().chain(touching) {
                    if triangles.iter().any(|triangle| triangle.meets(aabb)) {
                        let found = touched(&broadphase, &aabb, surfaces);
                        prop_assert!(found.contains_key(&block), "{aabb:?} misses {block}");
                    }
                }
            }
        }
    }
}

/// Exact boxes of the triangles of a block's surface.
fn triangle_boxes(surface: &Surface, block: CollisionBlock) -> Vec<Aabb> {
    let origin = block.min_voxel().to_array().map(f64::from);
    let point = |v: u32| {
        let p = surface.positions[v as usize];
        [0, 1, 2].map(|i| origin[i] + f64::from(p[i]))
    };
    let aabb = |t: [u32; 3]| {
        let [a, b, c] = t.map(|v| Aabb::new(point(v), point(v)));
        a.union(b).union(c)
    };
    surface.triangles().map(aabb).collect()
}

/// A small box that shares only a side, an edge or a corner with `of`.
fn touching(of: &Aabb, number: usize) -> Aabb {
    let (mut aabb, up) = (*of, number.is_multiple_of(2));
    for axis in (0..3).filter(|axis| (number % 7 + 1) >> axis & 1 == 1) {
        let beyond = if up { of.max[axis] } else { of.min[axis] };
        let far = if up { beyond + 0.25 } else { beyond - 0.25 };
        (aabb.min[axis], aabb.max[axis]) = (beyond.min(far), beyond.max(far));
    }
    aabb
}

fn filled(region: Region, material: u8) -> VoxelGrid {
    let mut grid = new_grid(false);
    let mut cells = DenseBox::new(region);
    cells.fill(material);
    assert_eq!(grid.write(&cells), Ok(()));
    grid
}

#[test]
fn an_empty_world_has_no_blocks_in_any_box() {
    let broadphase = rebuilt(new_grid(false).as_snapshot());
    assert_eq!(touched(&broadphase, &Aabb::around([0.0; 3], [1e300; 3]), Surfaces::Both).len(), 0);
    assert_eq!(
        owned(broadphase.block(CollisionBlock::new(1 << 26, 0, -(1 << 26)))),
        NaiveBlock::default()
    );
    assert_eq!(broadphase.stats(), BroadphaseStats::default());
}

#[test]
fn one_cell_owns_one_bit_and_is_seen_from_its_reach_and_no_farther() {
    let at = VoxelPos::new(-1, 7, 8);
    let broadphase = rebuilt(filled(Region::one(at), 8).as_snapshot());
    let block = CollisionBlock::new(-1, 0, 1);
    assert_eq!(broadphase.block(block).solid, Some(&[0, 0, 0, 0, 0, 0, 0, 1 << 7]));
    assert_eq!(broadphase.stats().masks, 1);
    let point = |p: [f64; 3]| touched(&broadphase, &Aabb::new(p, p), Surfaces::Solid).len();
    assert_eq!(point([-0.5, 8.75, 8.5]), 1);
    assert_eq!(point([-0.5, 8.76, 8.5]), 0);
    assert_eq!(point([0.75, 6.25, 9.75]), 1);
    assert_eq!(point([-1.751, 7.5, 8.5]), 0);
    assert_eq!(touched(&broadphase, &Aabb::new([-1.0; 3], [9.0; 3]), Surfaces::Liquid).len(), 0);
}

#[test]
fn full_blocks_are_tagged_and_the_inside_of_rock_stores_nothing() {
    let grid = filled(Region::new([-64; 3], [64; 3]), 8);
    let broadphase = rebuilt(grid.as_snapshot());
    assert!(broadphase.block(CollisionBlock::new(0, 0, 0)).all_solid);
    assert_eq!(broadphase.block(CollisionBlock::new(0, 0, 0)).solid, None);
    assert!(broadphase.block(CollisionBlock::new(-8, 0, 0)).all_solid);
    assert!(broadphase.block(CollisionBlock::new(-8, 0, 0)).solid.is_some());
    let chunk = |x: i32| {
        broadphase.page(PagePos::new(x >> 3, 0, 0)).map(|page| {
            (
                page.chunk(ChunkPos::new(x, 0, 0)).is_some(),
                page.words(ChunkPos::new(x, 0, 0)).all_solid,
            )
        })
    };
    assert_eq!(chunk(0), Some((false, u64::MAX)));
    assert_eq!(chunk(1), Some((true, u64::MAX)));
    assert_eq!(chunk(2), Some((false, 0)));
    let stats = broadphase.stats();
    assert_eq!((stats.chunks, stats.tagged_blocks), (64 - 8, 16 * 16 * 16));
    assert_eq!(stats.surface_blocks, 16 * 16 * 16 - 14 * 14 * 14);
}

#[test]
fn a_lake_needs_no_wet_masks_and_is_found_as_water() {
    let broadphase = rebuilt(filled(Region::new([-32; 3], [96; 3]), 1).as_snapshot());
    assert_eq!(broadphase.stats().masks, 0);
    let inside = Aabb::around([30.0, 31.9, 40.5], [0.1; 3]);
    let found = touched(&broadphase, &inside, Surfaces::Both);
    assert!(found.values().all(|&touch| touch == BlockOverlap { solid: false, liquid: true }));
    assert_eq!(found.len(), 4);
    let all = touched(&broadphase, &Aabb::around([0.0; 3], [1e9; 3]), Surfaces::Liquid);
    assert_eq!(all.len(), 16 * 16 * 16);
    assert!(touched(&broadphase, &inside, Surfaces::Solid).is_empty());
    assert!(broadphase.block(CollisionBlock::new(0, 11, 0)).shows_liquid);
    assert!(!broadphase.block(CollisionBlock::new(0, 10, 0)).shows_liquid);
}

#[test]
fn solid_cells_that_hold_water_are_wet_in_blocks_of_rock_too() {
    let mut grid = filled(Region::new([0; 3], [96; 3]), 8);
    let at = VoxelPos::new(40, 45, 50);
    let mut cells = DenseBox::new(Region::one(at));
    cells.fill(8);
    cells.set_water(at, Some(99));
    assert_eq!(grid.write(&cells), Ok(()));
    let broadphase = rebuilt(grid.as_snapshot());
    let block = broadphase.block(at.block());
    assert_eq!((block.all_solid, block.solid, block.shows_liquid), (true, None, false));
    assert_eq!(block.wet.map(|mask| mask[5]), Some(1 << (2 * 8)));
    let found = touched(&broadphase, &Aabb::around([40.5, 45.5, 50.5], [0.2; 3]), Surfaces::Both);
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        [(at.block(), BlockOverlap { solid: false, liquid: true },)]
    );
}

#[test]
fn unknown_neighbours_leave_faces_open_and_unknown_chunks_say_so() {
    let mut grid = new_grid(true);
    apply(&mut grid, VoxelPos::ZERO, &Edit::Chunk([0, 0, 0], 8));
    let broadphase = rebuilt(grid.as_snapshot());
    assert!(broadphase.is_unknown(ChunkPos::new(1, 0, 0)));
    assert!(broadphase.is_unknown(ChunkPos::new(99, 0, 0)));
    assert!(!broadphase.is_unknown(ChunkPos::new(0, 0, 0)));
    assert_eq!(broadphase.stats().masks, 64 - 8);
    assert!(broadphase.block(CollisionBlock::new(4, 0, 0)).unknown);
}

#[test]
fn a_page_of_known_air_is_not_taken_for_unknown() {
    let mut grid = new_grid(true);
    let page = Region::new([-1, 0, 0], [0, 1, 1]).finer(8);
    let (mut broadphase, mut cursor) = (Broadphase::new(), ChangeCursor::default());
    broadphase.update(grid.as_snapshot(), &grid.changes_since(&mut cursor));
    let mut cells = DenseBox::new(page);
    cells.fill(0);
    assert_eq!(grid.write(&cells), Ok(()));
    broadphase.update(grid.as_snapshot(), &grid.changes_since(&mut cursor));
    for of in [&broadphase, &rebuilt(grid.as_snapshot())] {
        assert!(page.blocks::<5>().all(|chunk| !of.is_unknown(chunk)));
        assert!(of.is_unknown(ChunkPos::new(0, 0, 0)));
    }
}

#[test]
fn chunks_that_are_forgotten_leave_nothing() {
    let mut grid = filled(Region::new([-3; 3], [3; 3]), 8);
    let (mut broadphase, mut cursor) = (Broadphase::new(), ChangeCursor::default());
    broadphase.update(grid.as_snapshot(), &grid.changes_since(&mut cursor));
    assert_eq!(broadphase.stats().chunks, 8);
    grid.mark_saved(&grid.unsaved());
    assert!(grid.chunks().into_iter().all(|chunk| grid.forget(chunk)));
    broadphase.update(grid.as_snapshot(), &grid.changes_since(&mut cursor));
    assert_eq!(BroadphaseStats { bytes: 0, ..broadphase.stats() }, BroadphaseStats::default());
}

#[test]
fn the_ends_of_the_world_are_in_reach() {
    for end in [-LIMIT, LIMIT - 4] {
        let region = Region { min: VoxelPos::splat(end), max: VoxelPos::splat(end + 4) };
        let grid = filled(region, 8);
        let (mut broadphase, mut cursor) = (Broadphase::new(), ChangeCursor::default());
        broadphase.update(grid.as_snapshot(), &Changes::Regions(vec![region]));
        broadphase.update(grid.as_snapshot(), &Changes::Regions(vec![]));
        grid.changes_since(&mut cursor);
        assert_same(&broadphase, &rebuilt(grid.as_snapshot()));
        let blocks = |aabb: Aabb| touched(&broadphase, &aabb, Surfaces::Both).len();
        assert_eq!(blocks(Aabb::around([f64::from(end) + 2.0; 3], [0.5; 3])), 1);
        assert_eq!(blocks(Aabb::new([f64::MIN; 3], [f64::MAX; 3])), 1);
        assert_eq!(blocks(Aabb::around([-f64::from(end); 3], [100.0; 3])), 0);
    }
}

#[test]
fn invalid_boxes_meet_nothing() {
    let broadphase = rebuilt(filled(Region::new([-9; 3], [9; 3]), 8).as_snapshot());
    for (axis, bad) in
        (0..3).flat_map(|a| [f64::NAN, f64::INFINITY, -f64::INFINITY].map(|v| (a, v)))
    {
        for low in [false, true] {
            let mut aabb = Aabb::around([0.0; 3], [20.0; 3]);
            (if low { &mut aabb.min } else { &mut aabb.max })[axis] = bad;
            assert!(touched(&broadphase, &aabb, Surfaces::Both).is_empty(), "{aabb:?}");
        }
    }
    let inside_out = Aabb::new([1.0, 0.0, 0.0], [0.0, 1.0, 1.0]);
    assert!(touched(&broadphase, &inside_out, Surfaces::Both).is_empty());
}

#[test]
fn another_table_of_kinds_is_followed() {
    let kinds = [Kind::Air, Kind::Liquid, Kind::Solid, Kind::Liquid];
    let material = |kind| Material { kind, ..Material::default() };
    let materials = MaterialTable::new(kinds.map(material).to_vec());
    let mut grid = VoxelGrid::new(GridOptions { materials, ..GridOptions::default() });
    let region = Region::new([-10; 3], [10; 3]);
    let edit = Edit::Noise([-10; 3], [20; 3], vec![0, 1, 2, 3], 0.8, 7);
    apply(&mut grid, VoxelPos::ZERO, &edit);
    assert_as_naive(&rebuilt(grid.as_snapshot()), grid.as_snapshot(), region.grow(8));
}

#[test]
fn masks_are_drawn_as_runs_and_tags_as_blocks() {
    let mut grid = filled(Region::new([0; 3], [3, 1, 2]), 8);
    let mut lines = DebugLines::default();
    let near = Aabb::new([0.0; 3], [1.0; 3]);
    rebuilt(grid.as_snapshot()).lines(&near, &mut lines);
    assert_eq!(lines.lines.len(), 12 * 2);
    apply(&mut grid, VoxelPos::ZERO, &Edit::Chunk([0, 0, 0], 1));
    lines.lines.clear();
    rebuilt(grid.as_snapshot()).lines(&Aabb::around([4.0; 3], [1.0; 3]), &mut lines);
    assert_eq!(lines.lines.len(), 12, "a block of water");
    lines.lines.clear();
    rebuilt(grid.as_snapshot()).lines(&Aabb::new([f64::NAN; 3], [1.0; 3]), &mut lines);
    assert!(lines.lines.is_empty());
}
