//! `verify`, `repair`, `compact`: the care of worlds.

use crate::args::{CheckArgs, WorldFileArgs};
use crate::console::Console;
use crate::failure::{CliResult, Failure, damaged_parts};
use crate::lod_view;
use crate::report::Report;
use crate::world::{check_file, check_world_path, store_failure};
use crate::world_store;
use serde_json::json;
use std::path::Path;
use terravox_store::{BadPart, Store, StoreError, StoredPart, ValueError, WorldInfo};

/// Damaged parts that an error names.
const NAMED_PARTS: usize = 3;

/// Reads a whole world and fails if anything in it is damaged.
pub fn verify(args: &CheckArgs, console: &Console) -> CliResult<Report> {
    let store = world_store::open_read_only(&args.world)?;
    let busy = console.busy("verifying");
    let mut found = store.verify_within(args.limit_factor).map_err(store_failure)?;
    drop(busy);
    let too_much = found.bad.pop_if(|bad| matches!(bad.what, ValueError::TooMuchWork { .. }));
    if let (Some(part), true) = (&too_much, found.bad.is_empty()) {
        let what = format!("no damage was found, but {}; {}", part.what, more_work(args));
        return Err(Failure::of(&args.world, what));
    }
    if !found.bad.is_empty() {
        let count = found.bad.len();
        let named: Vec<String> = found.bad[..count.min(NAMED_PARTS)]
            .iter()
            .map(|bad| named(bad, &store.info()))
            .collect();
        let more = if count > NAMED_PARTS { " and more" } else { "" };
        let mut what = format!(
            "{}: {}{more}{}",
            damaged_parts(count),
            named.join("; "),
            match world_store::is_address(&args.world) {
                true => "",
                false => "; terravox repair keeps all that is whole",
            }
        );
        if let Some(part) = &too_much {
            what += &format!("; {}; {}", part.what, more_work(args));
        }
        return Err(Failure::of(&args.world, what));
    }
    let mut report = Report::new("verify");
    report.text_line("world", "world", store.path().display().to_string());
    report.count("chunks", "chunks", found.chunks as u64);
    report.count("coarse_blocks", "coarse blocks", found.mip_blocks as u64);
    report.bytes("value_bytes", "cells", found.value_bytes);
    if found.channel_chunks > 0 {
        report.count("channel_chunks", "chunks of channels", found.channel_chunks as u64);
    }
    report.text_line("damage", "damage", "none");
    Ok(report)
}

/// Repairs a damaged world and names what is lost.
pub fn repair(args: &CheckArgs, console: &Console) -> CliResult<Report> {
    check(&args.world)?;
    let store = Store::open_read_only(&args.world).map_err(store_failure)?;
    let info = store.info();
    // Without the generator what it alone can make is reported as lost.
    let seeded = lod_view::generator_of(&store).unwrap_or_default();
    drop(store);
    let busy = console.busy("repairing");
    let repaired = Store::repair_within(&args.world, args.limit_factor, |request| {
        lod_view::make_ground(seeded.as_ref(), request);
    });
    drop(busy);
    let repaired = repaired.map_err(|error| match error {
        StoreError::TooMuchWork { .. } => {
            let what = "repairing it is more work than a file of its length may cost";
            Failure::of(&args.world, format!("{what}; {}", more_work(args)))
        }
        error => store_failure(error),
    })?;
    let mut report = match &repaired.backup {
        Some(_) => Report::of_change("repair", &args.world),
        None => Report::new("repair"),
    };
    report.text_line("world", "world", args.world.display().to_string());
    report.count("chunks", "chunks", repaired.chunks as u64);
    match &repaired.backup {
        Some(backup) => report.text_line("backup", "damaged file", backup.display().to_string()),
        None => report.text_line("damage", "damage", "none; nothing was written"),
    }
    report.count("rebuilt", "rebuilt blocks", repaired.rebuilt as u64);
    let lost: Vec<String> = repaired.lost.iter().map(|bad| named(bad, &info)).collect();
    report.hidden("lost", json!(lost));
    for part in &lost {
        // Only in the text: a JSON object has each key once.
        report.text_only("lost", part);
    }
    if lost.is_empty() {
        report.text_only("lost", "nothing");
    }
    Ok(report)
}

/// Rewrites a world without free space.
pub fn compact(args: &WorldFileArgs, console: &Console) -> CliResult<Report> {
    let busy = console.busy("collecting garbage");
    if let Some(done) = world_store::collect_garbage(&args.world)? {
        drop(busy);
        let mut report = Report::of_change("compact", &args.world);
        let world = world_store::shown(&args.world).display().to_string();
        report.text_line("world", "world", world);
        report.count("removed_objects", "removed objects", done.objects);
        report.bytes("removed_bytes", "removed", done.bytes);
        return Ok(report);
    }
    drop(busy);
    check(&args.world)?;
    let mut store = Store::open(&args.world).map_err(store_failure)?;
    let before = store.stats().map_err(store_failure)?;
    let busy = console.busy("compacting");
    store.compact().map_err(store_failure)?;
    drop(busy);
    let after = store.stats().map_err(|error| store_failure(error).after_change())?;
    let mut report = Report::of_change("compact", &args.world);
    report.text_line("world", "world", args.world.display().to_string());
    report.bytes("before_bytes", "before", before.file_bytes);
    report.bytes("after_bytes", "after", after.file_bytes);
    report.bytes("payload_bytes", "payload", after.payload_bytes);
    Ok(report)
}

/// How to allow more work.
fn more_work(args: &CheckArgs) -> String {
    match args.limit_factor {
        1000.. => "that is the largest --limit-factor".to_owned(),
        factor => format!("if you trust the file, pass --limit-factor {}", (factor * 8).min(1000)),
    }
}

fn check(world: &Path) -> CliResult<()> {
    check_world_path(world)?;
    check_file(world).map(drop)
}

/// A damaged part, and where it is in voxels and metres if it is a chunk.
fn named(bad: &BadPart, info: &WorldInfo) -> String {
    let StoredPart::Chunk(chunk) = bad.part else { return bad.to_string() };
    let voxels = chunk.region();
    let [low, high] = [voxels.min, voxels.max].map(|corner| {
        let corner = corner.to_array();
        let metres: Vec<String> = (0..3)
            .map(|i| f64::from(corner[i]) * info.voxel_size_m + info.origin_m[i])
            .map(|metres| ((metres * 1e3).round() / 1e3).to_string())
            .collect();
        metres.join(", ")
    });
    format!("{bad} (voxels {voxels}, metres {low} to {high})")
}
