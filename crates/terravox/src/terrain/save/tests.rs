use super::*;
use crate::bodies::LooseOptions;
use crate::edit::EditOp;
use crate::terrain::{Budget, FillRequest, JobKind, JobScratch, Placement, Viewer};
use crate::voxel::{Cell, DenseBox, MipBlock, Region, VoxelGrid, VoxelPos};

fn ground(request: &mut FillRequest<'_>) {
    request.fill_sdf(8, |p| -p[1]);
}

/// A streamed world with ground near the origin.
fn held() -> Terrain {
    let mut terrain = Terrain::default();
    terrain.hold([-40.0; 3], [40.0; 3], ground).unwrap();
    terrain
}

fn dig(terrain: &mut Terrain, x: f64) {
    let dug = terrain.edit(&EditOp::dig_ball([x, 0.0, 0.0], 4.0)).unwrap();
    assert!(!dug.region.is_empty());
}

fn is_send<T: Send + Sync + 'static>() {}

/// Saves on no thread at all.
fn save(terrain: &mut Terrain) {
    let unsaved = terrain.unsaved();
    terrain.mark_saved(&unsaved);
}

#[test]
fn what_is_unsaved_is_plain_data() {
    is_send::<UnsavedChanges>();
}

#[test]
fn a_dig_is_unsaved_without_an_update() {
    let mut terrain = held();
    assert!(terrain.is_saved() && terrain.unsaved().is_empty());
    dig(&mut terrain, 3.0);
    assert!(!terrain.is_saved());
    let unsaved = terrain.unsaved();
    let chunk = VoxelPos::new(3, -1, 0).chunk();
    assert!(unsaved.chunks.chunks().any(|at| at == chunk) && unsaved.history.is_some());
    terrain.mark_saved(&unsaved);
    assert!(terrain.is_saved() && terrain.unsaved().is_empty());
}

#[test]
fn every_path_of_a_write_is_unsaved() {
    let mut terrain = held();
    type Write = fn(&mut Terrain);
    let writes: [(&str, Write); 8] = [
        ("edit", |t| dig(t, 3.0)),
        ("undo", |t| assert!(t.undo().unwrap().is_some())),
        ("redo", |t| assert!(t.redo().unwrap().is_some())),
        ("edit_cells", |t| {
            t.edit_cells([5.0, -3.0, 5.0], [7.0, -1.0, 7.0], |_, _| Cell::full(9)).unwrap();
        }),
        ("grid", |t| {
            let mut cells = DenseBox::new(Region::new([-9; 3], [-7; 3]));
            cells.fill(9);
            t.grid_mut().write(&cells).unwrap();
        }),
        ("materials", |t| {
            let mut materials = t.grid().materials().clone();
            materials.set_colour(8, [9, 9, 9]);
            t.grid_mut().set_materials(materials);
        }),
        ("cut loose", |t| {
            let tower = EditOp::fill_ball(8, [20.0, 20.0, 20.0], 3.0);
            t.edit(&tower).unwrap();
            let unsaved = t.unsaved();
            t.mark_saved(&unsaved);
            assert_eq!(t.cut_loose(&LooseOptions::floor(-16)).unwrap().bodies.len(), 1);
        }),
        ("write back", |t| {
            t.edit(&EditOp::fill_ball(8, [20.0, 20.0, 20.0], 3.0)).unwrap();
            let body = t.cut_loose(&LooseOptions::floor(-16)).unwrap().bodies.remove(0);
            save(t);
            let at = t.original_position_m(&body);
            t.write_back(&body, at, [0.0, 0.0, 0.0, 1.0]).unwrap();
        }),
    ];
    for (name, write) in writes {
        save(&mut terrain);
        assert!(terrain.is_saved(), "before {name}");
        write(&mut terrain);
        assert!(!terrain.is_saved(), "after {name}");
        assert!(!terrain.unsaved().chunks.is_empty(), "after {name}");
    }
}

#[test]
fn what_is_dug_while_it_is_saved_stays_unsaved() {
    let mut terrain = held();
    let viewers = [Viewer { position_m: [0.0, 4.0, 0.0], distance_m: 200.0 }];
    dig(&mut terrain, 3.0);
    let unsaved = terrain.unsaved();
    dig(&mut terrain, 5.0); // the same chunk
    terrain.update(&viewers, Budget::Blocks(40), ground);
    terrain.mark_saved(&unsaved);
    let second = terrain.unsaved();
    let chunk = VoxelPos::new(5, -1, 0).chunk();
    assert!(second.chunks.chunks().any(|at| at == chunk));
    assert_eq!(
        second.history.as_ref().unwrap().to_bytes(1 << 20),
        terrain.history_mut().to_bytes()
    );
    terrain.mark_saved(&unsaved);
    terrain.mark_saved(&second);
    assert!(terrain.is_saved());
    terrain.mark_saved(&unsaved);
    assert!(terrain.is_saved(), "a late mark of an older state does no harm");
}

#[test]
fn an_open_stroke_is_saved_and_stays_open() {
    let mut terrain = held();
    terrain.history_mut().begin_stroke();
    dig(&mut terrain, 3.0);
    let unsaved = terrain.unsaved();
    assert!(terrain.history_mut().is_stroke_open());
    let bytes = unsaved.history.as_ref().unwrap().to_bytes(1 << 20);
    assert_eq!(History::from_bytes(&bytes, 1 << 20).unwrap().stats().undoable, 1);
    terrain.mark_saved(&unsaved);
    assert!(terrain.is_saved());
    dig(&mut terrain, 5.0);
    assert!(terrain.unsaved().history.is_some());
    terrain.history_mut().end_stroke();
    terrain.undo().unwrap();
    assert_eq!(terrain.history_mut().stats().undoable, 0, "both digs were one stroke");
}

#[test]
fn another_history_is_unsaved_and_a_restored_one_is_not() {
    let mut terrain = held();
    dig(&mut terrain, 3.0);
    let unsaved = terrain.unsaved();
    *terrain.history_mut() = History::default();
    terrain.mark_saved(&unsaved);
    assert!(!terrain.is_saved(), "what is on disk is not what can be undone");
    let bytes = unsaved.history.unwrap().to_bytes(usize::MAX);
    terrain.restore_history(History::from_bytes(&bytes, 1 << 20).unwrap());
    assert!(terrain.is_saved());
    assert!(terrain.undo().unwrap().is_some());
    assert!(!terrain.is_saved());
}

#[test]
fn generated_chunks_are_unsaved_only_where_they_cannot_be_made_again() {
    let mut streamed = Terrain::default();
    streamed.fill([-10.0; 3], [10.0; 3], ground).unwrap();
    assert!(streamed.is_saved());
    let mut whole = Terrain::from_grid(VoxelGrid::default(), Placement::default());
    whole.fill([-10.0; 3], [10.0; 3], ground).unwrap();
    assert_eq!(whole.unsaved_chunks(), whole.grid().chunks());
    let grid = VoxelGrid::from_snapshot(whole.grid().as_snapshot());
    assert!(Terrain::from_grid(grid, Placement::default()).is_saved(), "as a store loads it");
}

#[test]
fn unsaved_chunks_stay_in_memory_and_leave_once_they_are_saved() {
    let mut options = crate::terrain::TerrainOptions::default();
    (options.lod.max_bytes, options.lod.max_mip, options.lod.near_voxels) = (0, 3, 32.0);
    options.lod.detail = 1.0;
    let mut terrain = Terrain::new(options);
    terrain.hold([-40.0; 3], [40.0; 3], ground).unwrap();
    dig(&mut terrain, 3.0);
    let dug = terrain.unsaved_chunks();
    let go = |terrain: &mut Terrain, x: f64| {
        for step in 0..3 {
            let position_m = [x + 500.0 * f64::from(step), 2.0, 0.0];
            let viewers = [Viewer { position_m, distance_m: 150.0 }];
            terrain.update(&viewers, Budget::Unlimited, ground);
        }
    };
    go(&mut terrain, 2000.0);
    assert!(dug.iter().all(|&chunk| terrain.grid().is_listed(chunk)));
    save(&mut terrain);
    go(&mut terrain, 8000.0);
    assert!(dug.iter().all(|&chunk| !terrain.grid().is_listed(chunk)), "what is saved may leave");
}

#[test]
fn cells_that_were_read_before_a_save_do_not_replace_what_was_saved() {
    let mut options = crate::terrain::TerrainOptions::default();
    options.lod.near_voxels = 40.0;
    let mut terrain = Terrain::new(options);
    let viewers = [Viewer { position_m: [0.0, 4.0, 0.0], distance_m: 100.0 }];
    let mut scratch = JobScratch::default();
    let place: MipBlock = VoxelPos::new(0, -1, 0).chunk().into();
    // Its cells are read before the edit, and come after it was saved.
    let stale = loop {
        let mut late = None;
        for job in terrain.take_jobs(&viewers, Budget::Unlimited, 8) {
            let is_late = (job.kind(), job.block()) == (JobKind::Fill, place);
            let done = job.run(&mut scratch, ground);
            match is_late {
                true => late = Some(done),
                false => terrain.finish_job(done),
            }
        }
        if let Some(late) = late {
            break late;
        }
    };
    terrain.hold([0.0, -8.0, 0.0], [8.0, -1.0, 8.0], ground).unwrap();
    let dug = terrain.edit(&EditOp::dig_ball([4.0, -4.0, 4.0], 3.0)).unwrap();
    save(&mut terrain);
    let chunk = dug.region.min.chunk();
    assert!(terrain.grid_mut().forget(chunk));
    terrain.finish_job(stale);
    for _ in 0..40 {
        for job in terrain.take_jobs(&viewers, Budget::Unlimited, 8) {
            // Asked for again, the block would come with the hole.
            if (job.kind(), job.block()) != (JobKind::Fill, place) {
                let done = job.run(&mut scratch, ground);
                terrain.finish_job(done);
            }
        }
    }
    let hole = terrain.grid().cell(VoxelPos::new(4, -4, 4));
    assert!(hole.is_err() || hole == Ok(Cell::AIR), "{hole:?}");
}
