//! Jobs of edits come at once, and beside all others.

use super::*;
use crate::edit::EditOp;

fn ground(request: &mut FillRequest<'_>) {
    request.fill_sdf(ROCK, hills);
}

fn eye() -> Viewer {
    Viewer { position_m: [0.0, 10.0, 0.0], distance_m: 150.0 }
}

fn finish(terrain: &mut Terrain, jobs: Vec<Job>) {
    let mut scratch = JobScratch::default();
    jobs.into_iter().for_each(|job| terrain.finish_job(job.run(&mut scratch, ground)));
}

#[test]
fn a_dig_is_shown_when_its_own_jobs_are_back_however_many_others_are_out() {
    let lod = LodOptions { max_mip: 2, ..LodOptions::default() };
    let mut terrain =
        Terrain::new(TerrainOptions { lod: lod.clone(), ..TerrainOptions::default() });
    terrain.update(&[eye()], Budget::Unlimited, ground);
    terrain.mesh_swaps().for_each(drop);
    assert!(terrain.take_edit_jobs().is_empty(), "nothing was edited");

    // What streams in far away is not back yet.
    let far = Viewer { position_m: [150.0, 10.0, 0.0], ..eye() };
    let others = terrain.take_jobs(&[eye(), far], Budget::Unlimited, 8);
    assert_eq!(others.len(), 8);
    terrain.edit(&EditOp::dig_ball([-10.0, 0.0, -3.0], 6.0)).unwrap();
    let jobs = terrain.take_edit_jobs();
    assert!(jobs.len() > 4 && jobs.iter().all(|job| job.kind() == JobKind::Mesh), "{jobs:?}");
    assert!(terrain.take_edit_jobs().is_empty(), "no job is handed out twice");
    finish(&mut terrain, jobs);
    assert_eq!(terrain.mesh_swaps().count(), 1);

    finish(&mut terrain, others);
    terrain.update(&[eye(), far], Budget::Unlimited, ground);
    let mut plain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
    plain.update(&[eye()], Budget::Unlimited, ground);
    plain.edit(&EditOp::dig_ball([-10.0, 0.0, -3.0], 6.0)).unwrap();
    plain.update(&[eye(), far], Budget::Unlimited, ground);
    assert!(shown(&terrain) == shown(&plain));
}

#[test]
fn meshes_of_a_job_are_those_that_are_shown() {
    let mut terrain = small_world();
    let mut made = Vec::new();
    loop {
        let jobs = terrain.take_jobs(&[], Budget::Unlimited, usize::MAX);
        if jobs.is_empty() {
            break;
        }
        for job in jobs {
            let done = job.run(&mut JobScratch::default(), ground);
            made.extend_from_slice(done.meshes());
            terrain.finish_job(done);
        }
    }
    let swaps = terrain.mesh_swaps();
    let mut added: Vec<_> = swaps.flat_map(|swap| swap.added).map(|shown| shown.mesh).collect();
    assert!(added.len() > 4);
    added.retain(|mesh| made.iter().all(|made| !std::sync::Arc::ptr_eq(mesh, made)));
    assert!(added.is_empty(), "{} were copied", added.len());
}
