use super::*;
use crate::voxel::{Cell, DenseBox, GridOptions, MipBlock, UnlistedChunks, VoxelPos};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn chunk(x: i32, y: i32, z: i32) -> ChunkPos {
    ChunkPos::new(x, y, z)
}

fn grid(unlisted: UnlistedChunks) -> VoxelGrid {
    VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() })
}

fn cells(region: Region, material: u8) -> DenseBox {
    let mut cells = DenseBox::new(region);
    cells.fill(material);
    cells
}

#[test]
fn every_write_is_unsaved_without_any_view() {
    let mut grid = grid(UnlistedChunks::Air);
    assert!(grid.is_saved() && grid.unsaved().is_empty());
    let last = (1 << 30) - 1;
    let cell = |x: i32| Region::one(VoxelPos::new(x, -1, x));
    for x in [0, -1, last, -(1 << 30)] {
        grid.write(&cells(cell(x), 8)).unwrap();
    }
    let edge = 1 << 25;
    let all = [chunk(-edge, -1, -edge), chunk(-1, -1, -1), chunk(0, -1, 0)];
    assert_eq!(grid.unsaved_chunks()[..3], all);
    assert_eq!(grid.unsaved_chunks()[3], chunk(edge - 1, -1, edge - 1));
    // Across the corner of eight chunks; an empty box writes nothing.
    grid.mark_saved(&grid.unsaved());
    grid.write(&cells(Region::new([31; 3], [33; 3]), 8)).unwrap();
    grid.write(&DenseBox::default()).unwrap();
    assert_eq!(grid.unsaved_count(), 8);
}

#[test]
fn what_is_written_while_it_is_saved_stays_unsaved() {
    let mut grid = grid(UnlistedChunks::Air);
    grid.write(&cells(Region::new([0; 3], [64, 4, 4]), 8)).unwrap();
    let unsaved = grid.unsaved();
    grid.write(&cells(Region::new([0; 3], [4; 3]), 0)).unwrap();
    assert_eq!(unsaved.snapshot().cell(VoxelPos::default()), Ok(Cell::full(8)));
    grid.mark_saved(&unsaved);
    grid.mark_saved(&unsaved);
    assert_eq!(grid.unsaved_chunks(), [chunk(0, 0, 0)]);
    // A failed save is simply not marked; a late one of an older state changes nothing.
    let second = grid.unsaved();
    grid.mark_saved(&second);
    grid.write(&cells(Region::new([0; 3], [4; 3]), 8)).unwrap();
    grid.mark_saved(&second);
    grid.mark_saved(&unsaved);
    assert_eq!(grid.unsaved_chunks(), [chunk(0, 0, 0)]);
}

#[test]
fn what_was_taken_of_another_grid_marks_nothing() {
    let (mut one, mut two) = (grid(UnlistedChunks::Air), grid(UnlistedChunks::Air));
    one.write(&cells(Region::new([0; 3], [4; 3]), 8)).unwrap();
    two.write(&cells(Region::new([0; 3], [4; 3]), 9)).unwrap();
    one.mark_saved(&two.unsaved());
    assert!(!one.is_saved());
    let (first, second) = (one.unsaved(), one.unsaved());
    assert!(first.stamp().is_before(second.stamp()));
    assert!(!second.stamp().is_before(first.stamp()));
    assert!(!first.stamp().is_before(two.unsaved().stamp()));
}

#[test]
fn loaded_chunks_are_saved_and_never_replace_unsaved_ones() {
    let mut grid = grid(UnlistedChunks::Unknown);
    let both = Region::new([0; 3], [64, 32, 32]);
    assert_eq!(grid.load(&cells(both, 8)), 0);
    assert!(grid.is_saved());
    grid.write(&cells(Region::new([2; 3], [5; 3]), 0)).unwrap();
    assert_eq!(grid.load(&cells(both, 9)), 1);
    assert_eq!(grid.load(&cells(chunk(0, 0, 0).region(), 9)), 1);
    assert_eq!(grid.cell(VoxelPos::new(3, 3, 3)), Ok(Cell::AIR));
    assert_eq!(grid.cell(VoxelPos::new(9, 9, 9)), Ok(Cell::full(8)));
    assert_eq!(grid.cell(VoxelPos::new(40, 9, 9)), Ok(Cell::full(9)));
    assert_eq!(grid.unsaved_chunks(), [chunk(0, 0, 0)]);
}

#[test]
#[should_panic(expected = "takes whole chunks")]
fn parts_of_chunks_are_not_loaded() {
    grid(UnlistedChunks::Unknown).load(&cells(Region::new([0; 3], [32, 32, 31]), 8));
}

#[test]
fn unsaved_chunks_do_not_leave_memory_where_unlisted_is_unknown() {
    let mut grid = grid(UnlistedChunks::Unknown);
    grid.load(&cells(chunk(-1, 0, 0).region(), 8));
    grid.write(&cells(chunk(0, 0, 0).region(), 8)).unwrap();
    assert!(grid.forget(chunk(-1, 0, 0)) && grid.forget(chunk(7, 7, 7)));
    assert!(!grid.forget(chunk(0, 0, 0)));
    assert_eq!(grid.chunks(), [chunk(0, 0, 0)]);
    grid.mark_saved(&grid.unsaved());
    assert!(grid.forget(chunk(0, 0, 0)) && grid.is_saved());
}

#[test]
fn forgetting_where_unlisted_is_air_is_unsaved() {
    let mut grid = grid(UnlistedChunks::Air);
    grid.load(&cells(chunk(0, 0, 0).region(), 8));
    assert!(grid.forget(chunk(0, 0, 0)));
    assert_eq!(grid.unsaved_chunks(), [chunk(0, 0, 0)]);
    assert!(!grid.unsaved().snapshot().is_listed(chunk(0, 0, 0)));
}

#[test]
fn a_new_material_table_is_unsaved() {
    let mut grid = grid(UnlistedChunks::Air);
    let mut materials = grid.materials().clone();
    assert!(materials.set_colour(8, [1, 2, 3]));
    grid.set_materials(materials.clone());
    assert!(!grid.is_saved() && !grid.unsaved().is_empty());
    let unsaved = grid.unsaved();
    grid.set_materials(materials);
    grid.mark_saved(&unsaved);
    assert!(!grid.is_saved());
    grid.mark_saved(&grid.unsaved());
    assert!(grid.is_saved());
}

#[test]
fn coarse_knowledge_is_no_edit() {
    let mut grid = grid(UnlistedChunks::Unknown);
    let block = MipBlock::new(3, VoxelPos::new(-1, 0, 0));
    grid.write_far(block, &cells(block.cells(), 8));
    grid.write_mip(2, &cells(Region::new([0; 3], [8; 3]), 8));
    assert!(grid.is_saved());
}

#[test]
fn cells_that_were_read_before_a_save_are_told_apart() {
    let mut grid = grid(UnlistedChunks::Unknown);
    let asked = grid.version();
    grid.write(&cells(chunk(1, 0, 0).region(), 8)).unwrap();
    let far = MipBlock::new(4, VoxelPos::default()).voxels();
    assert!(!grid.saved_since(far, asked), "unsaved chunks look after themselves");
    grid.mark_saved(&grid.unsaved());
    assert!(grid.saved_since(far, asked) && grid.saved_since(chunk(1, 0, 0).region(), asked));
    assert!(!grid.saved_since(chunk(0, 0, 0).region(), asked));
    assert!(!grid.saved_since(far, grid.version()));
}

#[derive(Clone, Debug)]
enum Step {
    Write(i32, u8),
    Load(i32, u8),
    Forget(i32),
    Take,
    Save(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = -2..3;
    let step = prop_oneof![
        3 => (place.clone(), 0..3u8).prop_map(|(x, m)| Step::Write(x, m)),
        2 => (place.clone(), 0..3u8).prop_map(|(x, m)| Step::Load(x, m)),
        1 => place.prop_map(Step::Forget),
        2 => Just(Step::Take),
        2 => (0..6usize).prop_map(Step::Save),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    /// Whatever is written, loaded, forgotten, taken and saved in any order: what is in memory
    /// or on disk together is always the last that was written of each chunk.
    #[test]
    fn disk_and_unsaved_chunks_are_the_last_state(steps in steps(), air: bool) {
        let mut grid = grid(if air { UnlistedChunks::Air } else { UnlistedChunks::Unknown });
        // What each chunk was last, and what is on disk; none for a chunk that is listed no more.
        let (mut last, mut disk) = (BTreeMap::new(), BTreeMap::new());
        let mut taken: Vec<UnsavedChunks> = Vec::new();
        let mut newest: Option<SaveStamp> = None;
        for step in steps {
            match step {
                Step::Write(x, material) => {
                    let region = chunk(x, 0, 0).region();
                    grid.write(&cells(region, material)).unwrap();
                    last.insert(x, Some(material));
                }
                Step::Load(x, material) => {
                    let material = disk.get(&x).copied().flatten().unwrap_or(material);
                    // A generator gives the same cells each time.
                    let material = *last.entry(x).or_insert(Some(material));
                    let Some(material) = material else { continue };
                    grid.load(&cells(chunk(x, 0, 0).region(), material));
                    disk.entry(x).or_insert(Some(material));
                }
                Step::Forget(x) => {
                    if grid.forget(chunk(x, 0, 0)) && air {
                        last.insert(x, None);
                    }
                }
                Step::Take => taken.push(grid.unsaved()),
                Step::Save(i) => {
                    let Some(unsaved) = taken.get(i) else { continue };
                    if newest.as_ref().is_none_or(|newest| !unsaved.stamp().is_before(newest)) {
                        for at in unsaved.chunks() {
                            let cell = unsaved.snapshot().cell(at.min_voxel()).unwrap();
                            let listed = unsaved.snapshot().is_listed(at);
                            disk.insert(at.x, listed.then_some(cell.material));
                        }
                        newest = Some(unsaved.stamp().clone());
                    }
                    grid.mark_saved(unsaved);
                }
            }
            for (&x, &material) in &last {
                let at = chunk(x, 0, 0);
                if !grid.is_unsaved(at) {
                    let stored = disk.get(&x).copied().flatten();
                    prop_assert_eq!(stored.or(Some(0).filter(|_| air)),
                        material.or(Some(0).filter(|_| air)), "chunk {}", x);
                }
                if grid.is_listed(at) {
                    let cell = grid.cell(at.min_voxel()).unwrap();
                    prop_assert_eq!(Some(cell.material), material);
                }
            }
        }
    }
}
