//! The grid against a hash map of cells, step by step.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Every cell that is not air, and the water that solid ones hold.
type Model = HashMap<VoxelPos, (Cell, Option<u8>)>;

fn mean_rounded_up(shares: f64) -> u8 {
    ((shares / 8.0 * 256.0).ceil() as u32 - 1) as u8
}

/// The coarser cells of a model, by the words of the rule.
fn coarser_model(fine: &Model, materials: &MaterialTable) -> Model {
    let mut families: HashMap<VoxelPos, Vec<(Cell, Option<u8>)>> = HashMap::new();
    for (pos, &cell) in fine {
        families.entry(pos.coarser(1)).or_default().push(cell);
    }
    let coarser = |children: Vec<(Cell, Option<u8>)>| {
        let mut sums: BTreeMap<(bool, u8), f64> = BTreeMap::new();
        let mut wet = 0.0;
        for (cell, water) in children {
            let solid = materials.kind(cell.material) == Kind::Solid;
            let share = f64::from(cell.fraction());
            *sums.entry((solid, cell.material)).or_default() += share;
            wet += match (solid, water) {
                (true, Some(water)) => (f64::from(water) + 1.0) / 256.0,
                (true, None) => 0.0,
                (false, _) => share,
            };
        }
        let of_kind = |solid| sums.iter().filter(move |((s, _), _)| *s == solid);
        let most = |solid| {
            of_kind(solid)
                .fold(
                    (0, 0.0),
                    |best, (&(_, material), &sum)| {
                        if sum > best.1 { (material, sum) } else { best }
                    },
                )
                .0
        };
        let solids: f64 = of_kind(true).map(|(_, sum)| sum).sum();
        let water = (wet > 0.0).then(|| mean_rounded_up(wet));
        if solids > 0.0 {
            (Cell { material: most(true), occupancy: mean_rounded_up(solids) }, water)
        } else {
            (Cell { material: most(false), occupancy: mean_rounded_up(wet) }, None)
        }
    };
    families.into_iter().map(|(pos, children)| (pos, coarser(children))).collect()
}

#[derive(Clone, Debug)]
enum Content {
    Full(u8),
    Random(u64),
    Sparse(Vec<(u8, u8, Option<u8>, u32)>),
}

#[derive(Clone, Debug)]
struct Write {
    region: Region,
    content: Content,
}

fn arb_material() -> impl Strategy<Value = u8> {
    prop_oneof![Just(AIR), Just(WATER), Just(4u8), Just(7), Just(23)]
}

fn arb_content() -> impl Strategy<Value = Content> {
    let entry = (arb_material(), any::<u8>(), proptest::option::of(any::<u8>()), any::<u32>());
    prop_oneof![
        arb_material().prop_map(Content::Full),
        any::<u64>().prop_map(Content::Random),
        proptest::collection::vec(entry, 1..6).prop_map(Content::Sparse),
    ]
}

fn arb_write(corner: VoxelPos) -> impl Strategy<Value = Write> {
    let near = || -6..6i32;
    let size = || prop_oneof![3 => 1..8i32, 1 => Just(1), 1 => 20..40i32];
    let any_box =
        ((near(), near(), near()), (size(), size(), size())).prop_map(move |(at, size)| {
            let min = corner + VoxelPos::new(at.0, at.1, at.2);
            Region { min, max: min + VoxelPos::new(size.0, size.1, size.2) }
        });
    let chunk = (-1..1i32, -1..1i32, -1..1i32).prop_map(move |(x, y, z)| {
        let at = corner.chunk();
        ChunkPos::new(at.x + x, at.y + y, at.z + z).region()
    });
    (prop_oneof![4 => any_box, 1 => chunk], arb_content())
        .prop_map(|(region, content)| Write { region, content })
}

fn apply(write: &Write, model: &mut Model, cells: &mut DenseBox, materials: &MaterialTable) {
    cells.reset(write.region);
    match &write.content {
        Content::Full(material) => cells.fill(*material),
        Content::Random(seed) => {
            let mut state = *seed | 1;
            for pos in write.region.voxels() {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let [a, b, c, d, ..] = (state >> 16).to_le_bytes();
                cells.set(pos, Cell::new([AIR, WATER, 4, 7, 23][usize::from(a % 5)], b));
                if c < 20 {
                    cells.set_water(pos, Some(d));
                }
            }
        }
        Content::Sparse(entries) => {
            for &(material, occupancy, water, at) in entries {
                let pos = write.region.voxels().nth(at as usize % cells.len()).unwrap();
                cells.set(pos, Cell::new(material, occupancy));
                cells.set_water(pos, water);
            }
        }
    }
    for pos in write.region.voxels() {
        let cell = cells.cell(pos);
        let solid = materials.kind(cell.material) == Kind::Solid;
        let water = cells.water_at(pos).filter(|_| solid);
        match cell.is_air() {
            true => model.remove(&pos),
            false => model.insert(pos, (cell, water)),
        };
    }
}

/// All mips over `region` and its surroundings against the model's.
fn assert_matches(grid: &Snapshot, model: &Model, region: Region) -> Result<(), TestCaseError> {
    let mut of_mip = model.clone();
    let mut cells = DenseBox::default();
    for mip in 0..=MAX_MIP {
        let region = region.coarser(mip.into()).grow(if mip == 0 { 0 } else { 1 });
        grid.read(region, mip, &mut cells).unwrap();
        for pos in region.voxels() {
            let expected = of_mip.get(&pos).copied().unwrap_or((Cell::AIR, None));
            prop_assert_eq!(cells.cell(pos), expected.0, "mip {} at {}", mip, pos);
            prop_assert_eq!(cells.water_at(pos), expected.1, "water, mip {} at {}", mip, pos);
        }
        of_mip = coarser_model(&of_mip, grid.materials());
    }
    Ok(())
}

fn corners() -> impl Strategy<Value = VoxelPos> {
    prop_oneof![
        Just(VoxelPos::ZERO),
        Just(VoxelPos::new(-256, 32, 512)),
        Just(VoxelPos::new(-40, -32, 17)),
        Just(VoxelPos::new(LIMIT - 64, -LIMIT + 64, 10_000_000)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_grid_equals_a_hash_map_of_cells_after_every_write(
        writes in corners().prop_flat_map(|corner| {
            proptest::collection::vec(arb_write(corner), 1..7)
        })
    ) {
        let mut grid = VoxelGrid::default();
        let mut model = Model::new();
        let mut cells = DenseBox::default();
        let mut cursor = ChangeCursor::default();
        let mut late = ChangeCursor::default();
        grid.changes_since(&mut cursor);
        grid.changes_since(&mut late);
        let mut listed = BTreeSet::new();
        for write in &writes {
            let before = grid.snapshot();
            let before_model = model.clone();
            apply(write, &mut model, &mut cells, before.materials());
            grid.write(&cells).unwrap();
            listed.extend(write.region.blocks::<5>());
            prop_assert_eq!(grid.chunks(), listed.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(grid.changes_since(&mut cursor), Changes::Regions(vec![write.region]));
            assert_matches(grid.as_snapshot(), &model, write.region)?;
            assert_matches(&before, &before_model, write.region)?;
        }
        let all = writes.iter().map(|w| w.region).collect();
        prop_assert_eq!(grid.changes_since(&mut late), Changes::Regions(all));

        // Equal cells, equal digest and equal bytes, whatever the history.
        let mut fresh = VoxelGrid::default();
        for &chunk in &listed {
            grid.read(chunk.region(), 0, &mut cells).unwrap();
            fresh.write(&cells).unwrap();
        }
        prop_assert_eq!(fresh.digest().unwrap(), grid.digest().unwrap());
        let exact = |m: GridMemory| (m.stored_rows, m.mip_0, m.mips, m.uniform_chunks);
        prop_assert_eq!(exact(fresh.memory()), exact(grid.memory()));
        for (pos, (cell, water)) in model {
            prop_assert_eq!(grid.cell(pos).unwrap(), cell);
            prop_assert_eq!(grid.water(pos).unwrap(), water);
        }
    }
}

#[test]
fn a_reader_on_a_snapshot_never_sees_half_an_edit() {
    let region = Region::new([-40, -40, -40], [40, 40, 40]);
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(region);
    cells.fill(2);
    grid.write(&cells).unwrap();
    let (send, receive) = std::sync::mpsc::sync_channel::<Snapshot>(1);
    let reader = std::thread::spawn(move || {
        let mut cells = DenseBox::default();
        let mut seen = 0;
        for snapshot in receive {
            for mip in 0..=MAX_MIP {
                snapshot.read(region.coarser(mip.into()), mip, &mut cells).unwrap();
                let inside = |v: &&u8| **v != AIR;
                let first = *cells.materials().iter().find(inside).unwrap();
                assert!(cells.materials().iter().filter(inside).all(|&m| m == first));
                seen += 1;
            }
        }
        seen
    });
    for step in 0..40 {
        cells.fill(2 + step % 9);
        grid.write(&cells).unwrap();
        send.send(grid.snapshot()).unwrap();
    }
    drop(send);
    assert_eq!(reader.join().unwrap(), 40 * 9);
}

#[test]
fn unknown_chunks_are_refused_until_they_are_held() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let chunk = ChunkPos::new(-1, 2, 0);
    let mut cells = DenseBox::new(Region::one(chunk.min_voxel()));
    let error = grid.write(&cells).unwrap_err();
    assert_eq!(error, NotHeld { chunk, mip: 0, held: ChunkState::Unknown });
    assert_eq!(error.to_string(), "chunk (-1, 2, 0) is not held; mip 0 of it is needed");
    assert!(grid.cell(chunk.min_voxel()).is_err());
    assert!(grid.chunks().is_empty(), "a refused write lists nothing");

    let mut whole = DenseBox::new(chunk.region());
    whole.fill(4);
    grid.write(&whole).unwrap();
    assert_eq!(grid.held(chunk), ChunkState::Mip(0));
    grid.write(&cells).unwrap();
    assert_eq!(grid.cell(chunk.min_voxel()), Ok(Cell::AIR));
    for mip in 0..=5 {
        grid.read(chunk.region().coarser(mip), mip as u8, &mut cells).unwrap();
    }
    let page = Region::one(VoxelPos::new(-1, 0, 0));
    assert_eq!(grid.read(page, 8, &mut cells).unwrap_err().held, ChunkState::Unknown);
    assert!(!grid.forget(chunk), "it has unsaved changes");
    grid.mark_saved(&grid.unsaved());
    assert!(grid.forget(chunk));
    assert_eq!(grid.held(chunk), ChunkState::Unknown);
}

#[test]
fn what_is_forgotten_leaves_no_page_behind() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let chunks = [0, 1, 7, 8].map(|x| ChunkPos::new(x, -1, 3));
    for chunk in chunks {
        let mut cells = DenseBox::new(chunk.region());
        cells.fill(2);
        cells.set(chunk.min_voxel(), Cell::AIR);
        grid.load(&cells);
    }
    assert_eq!(grid.memory().pages, 2);
    let before = grid.snapshot();
    for (chunk, pages) in chunks.into_iter().zip([2, 2, 1, 0]) {
        grid.forget(chunk);
        assert_eq!(grid.memory().pages, pages, "after {chunk}");
    }
    assert_eq!(before.memory().pages, 2);
}

#[test]
fn a_chunk_held_coarsely_serves_coarse_reads_only() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let chunk = ChunkPos::new(3, -5, 1);
    let mut out = DenseBox::default();
    for held in (1..=5u8).rev() {
        let region = chunk.region().coarser(held.into());
        let mut cells = DenseBox::new(region);
        cells.fill(6);
        let lowest = region.min;
        cells.set(lowest, Cell::new(9, held));
        cells.set_water(lowest, Some(70));
        grid.write_mip(held, &cells);
        assert_eq!(grid.held(chunk), ChunkState::Mip(held));
        for mip in 0..held {
            let error = grid.read(chunk.region().coarser(mip.into()), mip, &mut out).unwrap_err();
            assert_eq!(error, NotHeld { chunk, mip, held: ChunkState::Mip(held) });
        }
        for mip in held..=5 {
            grid.read(chunk.region().coarser(mip.into()), mip, &mut out).unwrap();
            assert!(out.materials().iter().all(|&m| m == 6 || m == 9), "mip {mip}");
        }
        grid.read(region, held, &mut out).unwrap();
        assert_eq!(out, cells);
    }
    let mut fine = DenseBox::new(chunk.region());
    fine.fill(2);
    grid.write(&fine).unwrap();
    let mut coarse = DenseBox::new(chunk.region().coarser(2));
    coarse.fill(3);
    grid.write_mip(2, &coarse);
    assert_eq!(grid.held(chunk), ChunkState::Mip(0), "finer data stays");
    assert_eq!(grid.cell(chunk.min_voxel()), Ok(Cell::full(2)));
}

#[test]
fn a_chunk_held_only_coarsely_keeps_its_cells_when_a_neighbour_is_written() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    for held in 4..=5u8 {
        let mut grid = VoxelGrid::new(options.clone());
        let far = ChunkPos::new(-1, 2, 5);
        let mut given = DenseBox::new(far.region().coarser(held.into()));
        for (i, pos) in given.region().voxels().enumerate() {
            given.set(pos, Cell::new(9, 40 + i as u8));
            given.set_water(pos, Some(7 + i as u8));
        }
        grid.write_mip(held, &given);
        // Chunks that share a row or a coarser cell with it; whole, then in part.
        for near in Region::new([-2, 1, 4], [1, 4, 7]).voxels() {
            let near = ChunkPos::new(near.x, near.y, near.z);
            if near == far {
                continue;
            }
            let mut cells = DenseBox::new(near.region());
            cells.fill(4);
            grid.write(&cells).unwrap();
            grid.write(&DenseBox::new(Region::one(near.min_voxel()))).unwrap();
            let mut read = DenseBox::default();
            grid.read(given.region(), held, &mut read).unwrap();
            assert_eq!(read, given, "mip {held} after a write of {near}");
            grid.mark_saved(&grid.unsaved());
            assert!(grid.forget(near));
            grid.read(given.region(), held, &mut read).unwrap();
            assert_eq!(read, given, "mip {held} after {near} is forgotten");
        }
    }
}

#[test]
#[should_panic(expected = "beyond the limits of the grid")]
fn writes_beyond_the_limits_panic() {
    let region = Region::new([LIMIT - 1, 0, 0], [LIMIT + 1, 1, 1]);
    let _ = VoxelGrid::default().write(&DenseBox::new(region));
}

#[test]
fn tiny_writes_keep_rows_packed() {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(Region::new([0; 3], [32; 3]));
    cells.fill(4);
    grid.write(&cells).unwrap();
    for step in 0..2 {
        for pos in Region::new([3, 3, 3], [9, 9, 9]).voxels() {
            let mut one = DenseBox::new(Region::one(pos));
            one.set(pos, if step == 0 { Cell::new(4, 9) } else { Cell::full(4) });
            grid.write(&one).unwrap();
        }
        assert_eq!(grid.memory().mixed_rows, [36, 0][step]);
        assert_eq!(grid.memory().stored_rows, [1, 0][step], "they are all alike");
    }
    assert_eq!(grid.memory().uniform_chunks, 1);
}
