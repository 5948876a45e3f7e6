//! Filling, meshing and saving on threads of one's own: rayon's and a channel.
//!
//! `cargo run --release -p terravox-store --example own_threads`

use std::error::Error;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::terrain::{Budget, FillRequest, JobScratch, Placement, TerrainOptions, Viewer};
use terravox_store::{Generator, Overwrite, Store, WorldInfo};

fn generate(request: &mut FillRequest<'_>) {
    let mip = request.block().mip;
    Hills::new(7).fill(request.cells(), mip);
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("own_threads-{}.tvx", std::process::id()));
    let generator = Generator { name: Hills::NAME.into(), version: 1, ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    let store = Arc::new(Store::create(&path, &info, Overwrite::Yes)?.finish()?);
    let mut terrain = store.terrain(TerrainOptions::default())?;
    let (done, results) = mpsc::channel();
    let (saved, saves) = mpsc::channel();
    let mut eye = [0.0, 60.0, 0.0];
    let (mut jobs, mut dug, mut is_saving) = (0, 0, false);
    for _frame in 0..300 {
        eye[0] += 0.2;
        let viewer = Viewer { position_m: eye, distance_m: 1000.0 };
        for job in terrain.take_jobs(&[viewer], Budget::Millis(1.0), 8) {
            let (store, done) = (store.clone(), done.clone());
            rayon::spawn(move || {
                let fill = |request: &mut FillRequest<'_>| store.fill(request, generate);
                // The receiver is gone once the game has ended.
                let _ = done.send(job.run(&mut JobScratch::default(), fill));
            });
            jobs += 1;
        }
        if let Some(hit) = terrain.ray(eye, [0.0, -1.0, 0.0], 200.0).hit() {
            dug += usize::from(terrain.edit(&EditOp::dig_ball(hit.point_m, 2.0)).is_ok());
        }
        if !is_saving && !terrain.is_saved() {
            let (unsaved, store, saved) = (terrain.unsaved(), store.clone(), saved.clone());
            rayon::spawn(move || {
                let written = store.save(&unsaved, |request| store.fill(request, generate));
                let _ = saved.send(written.map(|_| unsaved));
            });
            is_saving = true;
        }
        if let Ok(result) = results.recv_timeout(Duration::from_millis(4)) {
            terrain.finish_job(result);
        }
        results.try_iter().for_each(|result| terrain.finish_job(result));
        for written in saves.try_iter() {
            is_saving = false;
            terrain.mark_saved(&written?); // an error leaves all of it unsaved
        }
        terrain.mesh_swaps().for_each(drop); // upload to the GPU
    }
    if is_saving {
        terrain.mark_saved(&saves.recv()??);
    }
    store.save(&terrain.unsaved(), |request| store.fill(request, generate))?;
    println!("{jobs} jobs on rayon's threads, {dug} holes, all of them saved");
    assert!(dug > 0);
    Ok(std::fs::remove_file(&path)?)
}
