//! What files cost that were built to cost much: time and memory of a process that reads one.

use super::child::{self, ProcessCost};
use super::folder::BenchFolder;
use super::forged;
use super::importers::imports;
use super::importers::shapes::{HostileShape, Importer, shapes};
use crate::report::{AreaReport, ReportRow, detail};
use crate::worlds::places;
use std::io::Read;
use std::path::Path;
use terravox::terrain::UnsavedChanges;
use terravox::voxel::{ChunkPos, DenseBox, Region, VoxelGrid};
use terravox_io::triangles::MeshFormat;
use terravox_io::{ImportBudget, ImportLimits};
use terravox_store::{Store, StoreError};

/// Longest file.
const MAX_BYTES: usize = 10_000_000;

/// Largest size of a shape: some pack to next to nothing.
const MAX_SIZE: usize = 1 << 24;

/// Limit on the cells of a hostile world in memory, as a careful game sets it.
const LOADED_BYTES: u64 = 64 << 20;

/// Runs of each file, unless the first is long: the one that took least time counts.
const RUNS: usize = 2;

/// Runs as long as this are not repeated.
const LONG_SECONDS: f64 = 1.0;

/// What is done with a world, each in a process of its own and with a new file.
const OPERATIONS: [&str; 6] = ["info", "load", "verify", "edit", "compact", "repair"];

/// Shorter times say nothing about how they grow.
const LEAST_SECONDS: f64 = 0.05;

/// A file that was read.
struct HostileRun {
    name: String,
    bytes: usize,
    cost: ProcessCost,
    said: String,
}

/// Measures `hostile_peak_mib`, `hostile_seconds` and `hostile_growth`.
pub fn run(report: &mut AreaReport) {
    if let Err(why) = measure(report) {
        for id in ["hostile_peak_mib", "hostile_seconds", "hostile_growth"] {
            report.not_measured(id, &why);
        }
    }
}

fn measure(report: &mut AreaReport) -> Result<(), String> {
    let folder = BenchFolder::in_memory("hostile").map_err(|error| error.to_string())?;
    let path = folder.file("hostile");
    let mut runs = known(&path)?;
    let known_count = runs.len();
    let (mut growths, mut shape_count) = (Vec::new(), 0);
    for HostileShape { name, importer, n, file } in shapes() {
        let kind = format!("{importer:?}");
        let n = largest(n, &file);
        let [half, whole] = [n / 2, n].map(|n| read(&name, &["import", &kind], &path, &file(n)));
        let (half, whole) = (half?, whole?);
        growths.extend(growth(&half, &whole).map(|growth| (growth, name)));
        runs.extend([half, whole]);
        shape_count += 1;
    }
    for (name, file) in forged::SHAPES {
        let n = largest(64, file);
        let files = [n / 2, n].map(file);
        for operation in OPERATIONS {
            let name = format!("{name}, {operation}");
            let [half, whole] =
                [0, 1].map(|i| read(&name, &["store", operation], &path, &files[i]));
            let (half, whole) = (half?, whole?);
            growths.extend(growth(&half, &whole).map(|growth| (growth, name)));
            runs.extend([half, whole]);
        }
        shape_count += 1;
    }
    growths.sort_by(|a, b| b.0.total_cmp(&a.0));
    let note = format!("{known_count} known files, {shape_count} shapes of two sizes");
    report_all(report, runs, &growths, &note);
    Ok(())
}

fn report_all(
    report: &mut AreaReport,
    mut runs: Vec<HostileRun>,
    growths: &[(f64, String)],
    note: &str,
) {
    let row = |run: &HostileRun, value, unit| -> ReportRow {
        let name = format!("{}, {:.2} MB", run.name, run.bytes as f64 / 1e6);
        detail(name, value, unit).note(run.said.chars().take(90).collect::<String>())
    };
    runs.sort_by(|a, b| b.cost.seconds.total_cmp(&a.cost.seconds));
    let slowest: Vec<_> = runs.iter().take(8).map(|run| row(run, run.cost.seconds, "s")).collect();
    let worst = format!("{}; {note}", runs[0].name);
    report.set("hostile_seconds", runs[0].cost.seconds, worst);
    runs.sort_by(|a, b| b.cost.peak_mib.total_cmp(&a.cost.peak_mib));
    let largest: Vec<_> =
        runs.iter().take(8).map(|run| row(run, run.cost.peak_mib, "MiB")).collect();
    report.set("hostile_peak_mib", runs[0].cost.peak_mib, format!("{}; {note}", runs[0].name));
    let steepest = growths.first().map_or("", |(_, name)| name);
    let note = format!("{steepest}; of {} that take {LEAST_SECONDS} s or more", growths.len());
    report.set("hostile_growth", growths.first().map_or(0.0, |(growth, _)| *growth), note);
    report.details("the slowest hostile files", slowest);
    report.details("hostile files by memory", largest);
    let steep = growths.iter().take(8).map(|(growth, name)| detail(name, *growth, "×")).collect();
    report.details("twice the size: time", steep);
}

/// Time of twice the size, beside that of the size; as if files were twice as long. `None` if it
/// is too short to say.
fn growth(half: &HostileRun, whole: &HostileRun) -> Option<f64> {
    let longer = (whole.bytes as f64 / half.bytes as f64).max(2.0) / 2.0;
    let growth = whole.cost.seconds / half.cost.seconds.max(1e-9) / longer;
    (whole.cost.seconds >= LEAST_SECONDS).then_some(growth)
}

/// The largest size, by doubling, whose file is not too long.
fn largest(mut n: usize, file: impl Fn(usize) -> Vec<u8>) -> usize {
    while 2 * n <= MAX_SIZE && file(2 * n).len() <= MAX_BYTES {
        n *= 2;
    }
    n
}

/// The files of `hostile` in the real data.
fn known(path: &Path) -> Result<Vec<HostileRun>, String> {
    let folder = places::folder().and_then(|places| Some(places.parent()?.join("hostile")));
    let mut runs = Vec::new();
    for entry in folder.into_iter().flat_map(std::fs::read_dir).flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let uses: Vec<[&str; 2]> = match name.rsplit_once('.') {
            Some((_, "tvx")) => OPERATIONS.map(|operation| ["store", operation]).to_vec(),
            Some((_, "rbxm")) => vec![["import", "Roblox"]],
            _ => continue,
        };
        let bytes = std::fs::read(entry.path()).map_err(|error| format!("{name}: {error}"))?;
        for arguments in uses {
            runs.push(read(&name, &arguments, path, &bytes)?);
        }
    }
    Ok(runs)
}

/// Reads a file in other processes.
fn read(name: &str, arguments: &[&str], path: &Path, file: &[u8]) -> Result<HostileRun, String> {
    let arguments: Vec<&str> = arguments.iter().copied().chain(path.to_str()).collect();
    let mut best: Option<(ProcessCost, String)> = None;
    for _ in 0..RUNS {
        // Anew each time: reading a world may write.
        std::fs::write(path, file).map_err(|error| error.to_string())?;
        let mut child = child::start(&arguments).map_err(|error| error.to_string())?;
        let mut text = String::new();
        if let Some(mut out) = child.stdout.take() {
            out.read_to_string(&mut text).map_err(|error| error.to_string())?;
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        let cost = child::cost_of(&text).filter(|_| status.success());
        let (cost, said) = cost.ok_or_else(|| format!("{name}: {status}: {text}"))?;
        let is_long = cost.seconds >= LONG_SECONDS;
        if best.as_ref().is_none_or(|(best, _)| cost.seconds < best.seconds) {
            best = Some((cost, said.to_owned()));
        }
        if is_long {
            break;
        }
    }
    let (cost, said) = best.ok_or("no runs")?;
    Ok(HostileRun { name: name.to_owned(), bytes: file.len(), cost, said })
}

/// Does one of [`OPERATIONS`] with a world; returns what that said first.
pub fn use_world(operation: &str, path: &Path) -> String {
    let used = match operation {
        "info" | "load" | "verify" => Store::open_read_only(path)
            .map_err(|error| error.to_string())
            .and_then(|store| read_world(operation, &store)),
        "edit" => edit_world(path).map_err(|error| error.to_string()),
        "compact" => {
            let compacted = Store::open(path).and_then(|mut store| store.compact());
            compacted.map_err(|error| error.to_string())
        }
        _ => {
            let repaired = Store::repair(path, |request| request.set_missing());
            let backup = repaired.as_ref().ok().and_then(|report| report.backup.clone());
            backup.into_iter().for_each(|backup| drop(std::fs::remove_file(backup)));
            repaired.map_err(|error| error.to_string()).and_then(|report| match &report.lost[..] {
                [] => Ok(()),
                [first, ..] => Err(format!("{} lost parts: {first}", report.lost.len())),
            })
        }
    };
    used.err().unwrap_or("nothing wrong".to_owned())
}

fn read_world(operation: &str, store: &Store) -> Result<(), String> {
    let mut first_error = None;
    let mut note = |result: Result<(), StoreError>| {
        if let Err(error) = result {
            first_error.get_or_insert(error.to_string());
        }
    };
    match operation {
        "info" => {
            note(store.stats().map(drop));
            note(store.extra_names().map(drop));
            note(store.chunks().map(drop));
            note(store.bodies().map(drop));
            note(store.history(32 << 20).map(drop));
        }
        "load" => {
            let mut cells = DenseBox::default();
            note(store.cells(Region::new([-64; 3], [64; 3]), 0, &mut cells));
            note(store.load_with(LOADED_BYTES, |_, _| {}).map(drop));
        }
        _ => {
            let found = store.verify().map_err(|error| error.to_string())?;
            if let (Some(first), Some(last)) = (found.bad.first(), found.bad.last()) {
                return Err(format!("{} bad parts: {first}; {last}", found.bad.len()));
            }
        }
    }
    first_error.map_or(Ok(()), Err)
}

/// Saves a chunk of rock, twice: the first time finds the free space.
fn edit_world(path: &Path) -> Result<(), StoreError> {
    let store = Store::open(path)?;
    let mut grid = VoxelGrid::default();
    for material in [8, 9] {
        let mut cells = DenseBox::new(ChunkPos::new(0, 0, 0).region());
        cells.fill(material);
        let Ok(()) = grid.write(&cells) else { unreachable!("a whole chunk") };
        let unsaved = UnsavedChanges::from(grid.unsaved());
        store.save(&unsaved, |request| request.set_missing())?;
        grid.mark_saved(&unsaved.chunks);
    }
    Ok(())
}

/// Imports a file; returns what that said.
pub fn import(kind: &str, path: &Path) -> String {
    let importers = [
        Importer::Roblox,
        Importer::SmoothGrid,
        Importer::Png,
        Importer::RawHeights,
        Importer::Metadata,
        Importer::Vox,
        Importer::Mesh(MeshFormat::Obj),
        Importer::Mesh(MeshFormat::Stl),
        Importer::Mesh(MeshFormat::Ply),
        Importer::Mesh(MeshFormat::Glb),
    ];
    let Some(&importer) = importers.iter().find(|own| format!("{own:?}") == kind) else {
        return format!("no importer {kind}");
    };
    let file = match std::fs::read(path) {
        Ok(file) => file,
        Err(error) => return error.to_string(),
    };
    let mut budget = ImportBudget::new(ImportLimits::for_input(file.len()));
    imports::import(importer, &file, &mut budget).err().unwrap_or("imported".to_owned())
}
