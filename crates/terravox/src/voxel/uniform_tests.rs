//! Chunks of one material without their cells, against the same ones with them.

use super::*;
use proptest::prelude::*;

/// What a chunk holds before the load.
#[derive(Clone, Copy, Debug)]
enum Before {
    Unlisted,
    /// Partly full cells with water; unsaved or not.
    Mixed {
        is_unsaved: bool,
    },
    Uniform(u8),
    /// Held only at this mip.
    Coarse(u8),
}

fn arb_before() -> impl Strategy<Value = Before> {
    prop_oneof![
        Just(Before::Unlisted),
        any::<bool>().prop_map(|is_unsaved| Before::Mixed { is_unsaved }),
        (0..4_u8).prop_map(Before::Uniform),
        (1..6_u8).prop_map(Before::Coarse),
    ]
}

/// Chunks around the corner of eight pages, and beside one side of a page.
fn arb_chunk() -> impl Strategy<Value = ChunkPos> {
    let axis = || prop_oneof![3 => -2..2_i32, 1 => -9..9_i32];
    (axis(), axis(), axis()).prop_map(|(x, y, z)| ChunkPos::new(x, y, z))
}

/// A wedge of rock in water, beside air.
fn wedge(region: Region) -> DenseBox {
    let mut cells = DenseBox::new(region);
    for pos in region.voxels() {
        let at = pos - region.min;
        match at.x - at.y {
            1.. => cells.set(pos, Cell::full(4)),
            0 => {
                cells.set(pos, Cell::new(7, 90));
                cells.set_water(pos, Some(40));
            }
            _ if at.z > 3 => cells.set(pos, Cell::full(WATER)),
            _ => {}
        }
    }
    cells
}

fn full(chunk: ChunkPos, material: u8) -> DenseBox {
    let mut cells = DenseBox::new(chunk.region());
    cells.fill(material);
    cells
}

fn prepared(unlisted: UnlistedChunks, chunks: &[(ChunkPos, Before)], far: bool) -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
    for mip in [1, 3, 5, 6].into_iter().filter(|_| far) {
        for x in [-1, 0] {
            let block = MipBlock { mip, pos: VoxelPos::new(x, 0, -1) };
            grid.write_far(block, &wedge(block.cells()));
        }
    }
    for &(chunk, before) in chunks {
        match before {
            Before::Unlisted => {}
            Before::Mixed { is_unsaved: true } => grid.write(&wedge(chunk.region())).unwrap(),
            Before::Mixed { is_unsaved: false } => drop(grid.load(&wedge(chunk.region()))),
            Before::Uniform(material) => drop(grid.load(&full(chunk, material))),
            Before::Coarse(mip) => grid.write_mip(mip, &wedge(chunk.region().coarser(mip.into()))),
        }
    }
    grid
}

/// All that can be read of both, at all mips.
fn assert_same(a: &VoxelGrid, b: &VoxelGrid) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.chunks(), b.chunks());
    prop_assert_eq!(a.unsaved_chunks(), b.unsaved_chunks());
    let exact = |m: GridMemory| (m.stored_rows, m.mip_0, m.mips, m.uniform_chunks);
    prop_assert_eq!(exact(a.memory()), exact(b.memory()));
    let (mut in_a, mut in_b) = (DenseBox::default(), DenseBox::default());
    for chunk in a.chunks() {
        prop_assert_eq!(a.held(chunk), b.held(chunk));
        for mip in 0..=MAX_MIP {
            let region = chunk.region().coarser(mip.into());
            let (held_a, held_b) = (a.read(region, mip, &mut in_a), b.read(region, mip, &mut in_b));
            prop_assert_eq!(held_a.is_ok(), held_b.is_ok());
            prop_assert!(held_a.is_err() || in_a == in_b, "mip {} of {}", mip, chunk);
        }
    }
    prop_assert_eq!(a.far_blocks(), b.far_blocks());
    for block in a.far_blocks() {
        a.read_known(block.cells(), block.mip, &mut in_a);
        b.read_known(block.cells(), block.mip, &mut in_b);
        prop_assert!(in_a == in_b, "{}", block);
    }
    prop_assert_eq!(a.digest().ok(), b.digest().ok());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn chunks_loaded_without_their_cells_are_the_same_as_with_them(
        before in proptest::collection::vec((arb_chunk(), arb_before()), 0..12),
        mut loaded in proptest::collection::vec((arb_chunk(), 0..4_u8), 1..40),
        is_sorted: bool,
        far: bool,
        is_complete: bool,
    ) {
        let unlisted = if is_complete { UnlistedChunks::Air } else { UnlistedChunks::Unknown };
        if is_sorted {
            loaded.sort_by_key(|entry| page_of(entry.0));
        }
        let (mut fast, mut slow) =
            (prepared(unlisted, &before, far), prepared(unlisted, &before, far));
        let (mut fast_cursor, mut slow_cursor) =
            (ChangeCursor::default(), ChangeCursor::default());
        fast.changes_since(&mut fast_cursor);
        slow.changes_since(&mut slow_cursor);
        let kept = fast.load_uniform(&loaded);
        let kept_slowly: usize =
            loaded.iter().map(|&(chunk, material)| slow.load(&full(chunk, material))).sum();
        prop_assert_eq!(kept, kept_slowly);
        assert_same(&fast, &slow)?;
        // Views look at least where they must.
        let (Changes::Regions(fast), Changes::Regions(slow)) =
            (fast.changes_since(&mut fast_cursor), slow.changes_since(&mut slow_cursor))
        else {
            panic!("the log is long enough");
        };
        for region in slow {
            prop_assert!(fast.iter().any(|logged| logged.contains_region(region)), "{}", region);
        }
    }
}

/// Cells of few or many materials, with water in solid ones and in others, where it does not count.
fn patchy(region: Region, seed: u64, is_sparse: bool) -> DenseBox {
    let mut cells = DenseBox::new(region);
    let mut state = seed | 1;
    let mut water = Vec::new();
    for index in 0..cells.len() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let [a, b, c, d, ..] = (state >> 16).to_le_bytes();
        let (materials, occupancies) = cells.arrays_mut();
        materials[index] = if is_sparse { 4 } else { [AIR, WATER, 4, 7, 23][usize::from(a % 5)] };
        // The occupancy of air counts for nothing.
        occupancies[index] = if is_sparse && a > 3 { 255 } else { b };
        if is_sparse && a > 250 {
            materials[index] = AIR;
        }
        if c < if is_sparse { 1 } else { 20 } {
            water.push((index as u32, d));
        }
    }
    cells.set_all_water(water);
    cells
}

proptest! {
    #[test]
    fn coarse_cells_of_a_box_are_those_of_the_rule(
        seed: u64,
        is_sparse: bool,
        corner in (-9..9_i32, -9..9_i32, -9..9_i32),
        size in prop_oneof![Just([16; 3]), Just([8, 4, 2]), (1..16_i32, 1..5_i32, 1..5_i32)
            .prop_map(|(x, y, z)| [x, y, z])],
    ) {
        let kinds = *MaterialTable::default().kinds();
        let min = VoxelPos::new(corner.0, corner.1, corner.2);
        let coarse = Region { min, max: min + VoxelPos::from(size) };
        let fine = patchy(coarse.finer(1), seed, is_sparse);
        let mut out = patchy(coarse.grow(1), seed ^ 99, false);
        let before = out.clone();
        out.coarsen_from(&fine, &kinds);
        for pos in out.region().voxels() {
            let (mut cell, mut water) = (before.cell(pos), before.water_at(pos));
            if coarse.contains(pos) {
                let mut octet: mips::Octet = [(Cell::AIR, 0); 8];
                for (child, at) in octet.iter_mut().zip(Region::one(pos).finer(1).voxels()) {
                    *child = (fine.cell(at), fine.water_at(at).map_or(0, |held| u32::from(held) + 1));
                }
                (cell, water) = mips::coarser_cell(&octet, &kinds);
            }
            prop_assert_eq!(out.cell(pos), cell, "{}", pos);
            prop_assert_eq!(out.water_at(pos), water, "{}", pos);
        }
        prop_assert!(out.water().is_sorted_by(|a, b| a.0 < b.0));
    }
}

#[test]
#[should_panic(expected = "beyond the limits of the grid")]
fn chunks_beyond_the_limits_are_refused() {
    VoxelGrid::default().load_uniform(&[(ChunkPos::new(LIMIT / 32, 0, 0), 8)]);
}
