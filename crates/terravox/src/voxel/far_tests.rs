//! Far blocks against a dense pyramid that is settled anew, cell by cell, after every step.

use super::mips::{Octet, coarser_cell};
use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

type Held3 = (Cell, Option<u8>);

/// The far blocks of a grid, each as a dense box.
#[derive(Default)]
struct Naive(BTreeMap<MipBlock, DenseBox>);

fn at(cells: &DenseBox, pos: VoxelPos) -> Held3 {
    (cells.cell(pos), cells.water_at(pos))
}

fn put(cells: &mut DenseBox, pos: VoxelPos, (cell, water): Held3) {
    cells.set(pos, cell);
    cells.set_water(pos, water);
}

/// A cell of the grid itself.
fn grid_cell(grid: &Snapshot, pos: VoxelPos, mip: u8) -> Held3 {
    let mut one = DenseBox::default();
    grid.read(Region::one(pos), mip, &mut one).unwrap();
    at(&one, pos)
}

fn chunks_under(pos: VoxelPos, mip: u8) -> impl Iterator<Item = ChunkPos> {
    let chunks = match mip {
        0..=5 => Region::one(pos.coarser(5 - u32::from(mip))),
        _ => Region::one(pos).finer(u32::from(mip) - 5),
    };
    chunks.voxels().map(|p| ChunkPos::new(p.x, p.y, p.z))
}

/// The mip that a chunk is held at, if it is listed.
fn held(grid: &Snapshot, chunk: ChunkPos) -> Option<u8> {
    match grid.held(chunk) {
        ChunkState::Mip(mip) => Some(mip),
        ChunkState::Air | ChunkState::Unknown => None,
    }
}

impl Naive {
    fn cell(&self, pos: VoxelPos, mip: u8) -> Option<Held3> {
        self.0.get(&MipBlock { mip, pos: pos.coarser(5) }).map(|cells| at(cells, pos))
    }

    /// Makes every cell what it must be, finest blocks first.
    fn settle(&mut self, grid: &Snapshot) {
        let blocks: Vec<MipBlock> = self.0.keys().copied().collect();
        let chunks = grid.chunks();
        for block in blocks {
            let mip = block.mip;
            let mut cells = self.0[&block].clone();
            for child in block.children().into_iter().filter(|child| self.0.contains_key(child)) {
                for pos in child.cells().coarser(1).voxels() {
                    let mut octet: Octet = [(Cell::AIR, 0); 8];
                    for (to, from) in octet.iter_mut().zip(Region::one(pos).finer(1).voxels()) {
                        let (cell, water) = at(&self.0[&child], from);
                        *to = (cell, water.map_or(0, |held| u32::from(held) + 1));
                    }
                    put(&mut cells, pos, coarser_cell(&octet, grid.materials().kinds()));
                }
            }
            let known = |&&chunk: &&ChunkPos| held(grid, chunk).is_some_and(|held| held <= mip);
            for chunk in chunks.iter().filter(known).filter(|_| mip <= 5) {
                let part = chunk.region().coarser(mip.into()).intersect(block.cells());
                part.voxels().for_each(|pos| put(&mut cells, pos, grid_cell(grid, pos, mip)));
            }
            self.0.insert(block, cells);
        }
    }

    /// A cell as well as it is known, by the words of [`Snapshot::read_known`].
    fn known_cell(&self, grid: &Snapshot, pos: VoxelPos, mip: u8) -> (Held3, Knowledge) {
        if !Region::one(pos).finer(mip.into()).within_limits() {
            return ((Cell::AIR, None), Knowledge::AtMip);
        }
        if let Some(cell) = self.cell(pos, mip) {
            return (cell, Knowledge::AtMip);
        }
        let mut chunks = chunks_under(pos, mip);
        let air = grid.unlisted() == UnlistedChunks::Air;
        let of_grid = match mip {
            0..=5 => chunks.all(|chunk| held(grid, chunk).is_some_and(|held| held <= mip)),
            _ if air => chunks.any(|chunk| grid.is_listed(chunk)),
            _ => chunks.all(|chunk| grid.is_listed(chunk)),
        };
        if of_grid {
            return (grid_cell(grid, pos, mip), Knowledge::AtMip);
        }
        for coarser in mip + 1..=MAX_FAR_MIP {
            let over = pos.coarser(u32::from(coarser - mip));
            if let Some(cell) = self.cell(over, coarser) {
                return (cell, Knowledge::Coarser);
            }
            let chunk = chunks_under(over, coarser.min(5)).next().unwrap();
            if coarser <= 5 && held(grid, chunk) == Some(coarser) {
                return (grid_cell(grid, over, coarser), Knowledge::Coarser);
            }
        }
        ((Cell::AIR, None), if air { Knowledge::AtMip } else { Knowledge::Unknown })
    }
}

#[derive(Clone, Debug)]
enum Content {
    Full(u8),
    Floor(i32, u8),
    Random(u64),
}

#[derive(Clone, Debug)]
enum Step {
    Write([i32; 3], [i32; 3], Content),
    WriteChunk([i32; 3], u8, Content),
    Forget([i32; 3]),
    WriteFar(u8, [i32; 3], Content),
    ForgetFar(u8, [i32; 3]),
}

fn fill(cells: &mut DenseBox, content: &Content) {
    let region = cells.region();
    match *content {
        Content::Full(material) => cells.fill(material),
        Content::Floor(height, material) => {
            let top = region.min.y + height;
            for pos in region.voxels().filter(|pos| pos.y <= top) {
                let part = (pos.x & 7) as u8 * 30;
                cells.set(pos, Cell::new(material, if pos.y == top { part } else { 255 }));
            }
        }
        Content::Random(seed) => {
            let mut state = seed | 1;
            let mut water = Vec::new();
            for (i, pos) in region.voxels().enumerate() {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let [a, b, c, d, ..] = (state >> 16).to_le_bytes();
                let cell = Cell::new([AIR, AIR, WATER, 4, 7][usize::from(a % 5)], b);
                cells.set(pos, cell);
                if c < 9 && cell.material > WATER {
                    water.push((i as u32, d));
                }
            }
            cells.set_all_water(water);
        }
    }
}

fn arb_content() -> impl Strategy<Value = Content> {
    let material = prop_oneof![Just(AIR), Just(WATER), Just(4u8), Just(7)];
    prop_oneof![
        2 => material.prop_map(Content::Full),
        3 => (0..32i32, 2..9u8).prop_map(|(height, material)| Content::Floor(height, material)),
        2 => any::<u64>().prop_map(Content::Random),
    ]
}

fn arb_step() -> impl Strategy<Value = Step> {
    let near = || proptest::array::uniform3(-1..1i32);
    let mip = || prop_oneof![3 => 1..6u8, 2 => 6..=MAX_FAR_MIP];
    let offset = proptest::array::uniform3(-9..9i32);
    let size = proptest::array::uniform3(1..14i32);
    prop_oneof![
        4 => (offset, size, arb_content()).prop_map(|(at, size, c)| Step::Write(at, size, c)),
        3 => (near(), 0..6u8, arb_content()).prop_map(|(at, mip, c)| Step::WriteChunk(at, mip, c)),
        1 => near().prop_map(Step::Forget),
        7 => (mip(), near(), arb_content()).prop_map(|(mip, at, c)| Step::WriteFar(mip, at, c)),
        1 => (mip(), near()).prop_map(|(mip, at)| Step::ForgetFar(mip, at)),
    ]
}

fn corners() -> impl Strategy<Value = VoxelPos> {
    prop_oneof![
        Just(VoxelPos::ZERO),
        Just(VoxelPos::new(-256, 32, 512)),
        Just(VoxelPos::new(-40, -100_000, 17)),
        Just(VoxelPos::new(1 << 17, -1 << 16, 3 << 17)),
        Just(VoxelPos::new(LIMIT - 64, -LIMIT + 64, 10_000_000)),
    ]
}

fn block_near(corner: VoxelPos, mip: u8, offset: [i32; 3]) -> MipBlock {
    let MipBlock { pos, .. } = MipBlock::holding(corner, mip);
    MipBlock { mip, pos: pos + offset.into() }
}

/// Does a step to both.
fn apply(step: &Step, corner: VoxelPos, grid: &mut VoxelGrid, naive: &mut Naive) {
    let mut cells = DenseBox::default();
    match step {
        Step::Write(offset, size, content) => {
            let min = corner + (*offset).into();
            cells.reset(Region { min, max: min + (*size).into() });
            fill(&mut cells, content);
            // Refused where chunks are unknown.
            let _ = grid.write(&cells);
        }
        Step::WriteChunk(offset, mip, content) => {
            let voxels = block_near(corner, 0, *offset).voxels();
            cells.reset(voxels.coarser((*mip).into()));
            fill(&mut cells, content);
            match mip {
                0 => grid.write(&cells).unwrap(),
                mip => grid.write_mip(*mip, &cells),
            }
        }
        Step::Forget(offset) => {
            let VoxelPos { x, y, z } = block_near(corner, 0, *offset).pos;
            grid.mark_saved(&grid.unsaved());
            grid.forget(ChunkPos::new(x, y, z));
        }
        Step::WriteFar(mip, offset, content) => {
            let block = block_near(corner, *mip, *offset);
            if block.within_limits() {
                cells.reset(block.cells());
                fill(&mut cells, content);
                grid.write_far(block, &cells);
                naive.0.insert(block, cells);
            }
        }
        Step::ForgetFar(mip, offset) => {
            let block = block_near(corner, *mip, *offset);
            grid.forget_far(block);
            naive.0.remove(&block);
        }
    }
    naive.settle(grid.as_snapshot());
}

/// Every far block of the grid is that of the twin.
fn assert_settled(grid: &Snapshot, naive: &Naive) -> Result<(), TestCaseError> {
    let blocks: Vec<MipBlock> = naive.0.keys().copied().collect();
    prop_assert_eq!(grid.far_blocks(), blocks);
    let mut cells = DenseBox::default();
    for (&block, expected) in &naive.0 {
        prop_assert_eq!(grid.read_known(block.cells(), block.mip, &mut cells), Knowledge::AtMip);
        prop_assert!(&cells == expected, "{}", block);
        let uniform = Cell::full(cells.materials()[0]);
        let same = |pos| at(&cells, pos) == (uniform, None);
        let material = block.cells().voxels().all(same).then_some(uniform.material);
        prop_assert_eq!(grid.far_material(block), material);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn far_blocks_follow_what_is_known_finer(
        corner in corners(),
        unknown in any::<bool>(),
        steps in proptest::collection::vec(arb_step(), 1..14),
        reads in proptest::collection::vec(
            (0..=8u8, proptest::array::uniform3(-5..3i32), proptest::array::uniform3(1..6i32)), 6
        ),
    ) {
        let unlisted = if unknown { UnlistedChunks::Unknown } else { UnlistedChunks::Air };
        let mut grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
        let mut naive = Naive::default();
        let mut cursor = ChangeCursor::default();
        prop_assert_eq!(grid.far_changes_since(&mut cursor), FarChanges::Everything);
        for step in &steps {
            let before = grid.snapshot();
            let blocks_before = naive.0.clone();
            apply(step, corner, &mut grid, &mut naive);
            assert_settled(grid.as_snapshot(), &naive)?;

            let FarChanges::Blocks(told) = grid.far_changes_since(&mut cursor) else {
                return Err(TestCaseError::fail("nothing was lost"));
            };
            let told: BTreeSet<MipBlock> = told.into_iter().collect();
            let all = blocks_before.keys().chain(naive.0.keys()).copied();
            for block in all.filter(|block| !told.contains(block)) {
                prop_assert_eq!(blocks_before.get(&block), naive.0.get(&block), "{}", block);
            }
            assert_settled(&before, &Naive(blocks_before))?;
        }
        let mut cells = DenseBox::default();
        for &(mip, offset, size) in &reads {
            let min = corner.coarser(mip.into()) + offset.into();
            let region = Region { min, max: min + size.into() };
            let known = grid.read_known(region, mip, &mut cells);
            let mut worst = Knowledge::AtMip;
            for pos in region.voxels() {
                let (expected, known) = naive.known_cell(grid.as_snapshot(), pos, mip);
                prop_assert_eq!(at(&cells, pos), expected, "mip {} at {}", mip, pos);
                worst = worst.max(known);
            }
            prop_assert_eq!(known, worst);
        }
    }
}

#[test]
fn mips_above_the_page_come_from_pages_where_unlisted_is_air() {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::default();
    for (i, x) in [-700, -3, 300, 40_000].into_iter().enumerate() {
        cells.reset(Region::new([x, -300, 0], [x + 70, 40, 300]));
        cells.fill(4 + i as u8);
        grid.write(&cells).unwrap();
    }
    let region = Region::new([-16, -16, -16], [176, 16, 16]);
    grid.read(region, 8, &mut cells).unwrap();
    for mip in 9..=MAX_FAR_MIP {
        let mut coarser = DenseBox::new(cells.region().coarser(1));
        for pos in coarser.region().voxels() {
            let children = Region::one(pos).finer(1).voxels().map(|from| (cells.cell(from), 0));
            let octet: Vec<_> = children.collect();
            let octet: Octet = octet.try_into().unwrap();
            put(&mut coarser, pos, coarser_cell(&octet, grid.materials().kinds()));
        }
        let mut read = DenseBox::default();
        assert_eq!(grid.read_known(coarser.region(), mip, &mut read), Knowledge::AtMip);
        assert!(read.materials().iter().any(|&material| material != AIR));
        assert_eq!(read, coarser);
        cells = coarser;
    }
}

#[test]
fn far_blocks_are_counted_and_forgotten_whole() {
    let mut grid = VoxelGrid::default();
    let empty = grid.memory();
    let blocks = [MipBlock::new(3, [-1, 0, 7]), MipBlock::new(12, [0, -1, 0])];
    let mut cells = DenseBox::default();
    for block in blocks {
        cells.reset(block.cells());
        fill(&mut cells, &Content::Random(block.mip.into()));
        grid.write_far(block, &cells);
    }
    let memory = grid.memory();
    assert_eq!(memory.far_blocks, 2);
    assert!(memory.far > 2 * 65_536 && memory.total() == memory.far + memory.water);
    assert!(!grid.is_empty());
    blocks.iter().for_each(|&block| grid.forget_far(block));
    assert_eq!(GridMemory { far: 0, ..grid.memory() }, empty);
    assert!(grid.is_empty());
}

#[test]
fn an_edit_reaches_every_far_block_over_it() {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::default();
    for mip in 1..=MAX_FAR_MIP {
        cells.reset(MipBlock::new(mip, [0; 3]).cells());
        grid.write_far(MipBlock::new(mip, [0; 3]), &cells);
    }
    cells.reset(Region::new([5; 3], [6; 3]));
    cells.set(VoxelPos::splat(5), Cell::new(9, 0));
    grid.write(&cells).unwrap();
    for mip in 1..=MAX_FAR_MIP {
        let pos = VoxelPos::splat(5).coarser(mip.into());
        let known = grid.read_known(Region::one(pos), mip, &mut cells);
        assert_eq!((known, cells.cell(pos)), (Knowledge::AtMip, Cell::new(9, 0)), "mip {mip}");
    }
}
