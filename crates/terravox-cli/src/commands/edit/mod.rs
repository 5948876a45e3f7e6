//! `edit`: applies operations to a world, and undoes and redoes them.
//!
//! The world is read whole, edited in memory and written at the end, so an invalid operation leaves
//! the file as it was. Of a world that grows, all that is stored is read, and the chunks that an
//! operation needs are generated. The history is stored beside the cells in the world file and
//! written with them in one transaction.

mod parser;

#[cfg(feature = "server")]
pub use parser::parse as parse_operation;

use crate::args::EditArgs;
use crate::console::Console;
use crate::failure::{CliResult, Failure, damaged_parts};
use crate::growth::Growth;
use crate::lod_view;
use crate::report::{Report, size};
use crate::world::{check_placement, store_failure};
use crate::world_store;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Instant;
use terravox::edit::{EditError, EditLimits, EditOp, Editor, History, ValueOp, Volume};
use terravox::terrain::{TerrainError, UnsavedChanges};
use terravox::voxel::{ChannelGrid, MaterialTable, Region, VoxelGrid};
use terravox_store::{LoadedWorld, MAX_EXTRA_BYTES, MAX_LOADED_BYTES, Store, WorldInfo};

/// Limit of the history in a world file, bytes: what a game keeps by default, so that none of it is
/// dropped here.
const HISTORY_BYTES: usize = MAX_EXTRA_BYTES;

/// Maximum number of cells that the pastes of a command may hold, all together: 1 GiB.
const MAX_PASTED_CELLS: usize = 1 << 29;

/// Limit of a script, bytes.
const MAX_SCRIPT_BYTES: u64 = 64 << 20;

/// Maximum number of operations of a command; each takes a few hundred bytes of memory, besides
/// pasted cells.
const MAX_OPERATIONS: usize = 1 << 18;

/// What a line of a script begins with that changes values of a channel.
const VALUES: &str = "\"values\"";

/// Characters of an operation that are repeated in an error.
const MAX_QUOTED_CHARS: usize = 80;

/// Characters of what is wrong with it, of which words of the operation are a part.
const MAX_REASON_CHARS: usize = 400;

pub fn run(args: &EditArgs, console: &Console) -> CliResult<Report> {
    if args.operations.is_empty() && args.script.is_none() && args.undo == 0 && args.redo == 0 {
        let what = "nothing to do; give an operation, such as 'dig ball 10,20,30 r=6', or --undo 1";
        return Err(Failure::new(what));
    }
    let store = world_store::open(&args.world)?;
    let info = store.info();
    check_placement(&args.world, &info)?;
    let operations = read_operations(args, &info)?;
    let growth = Growth::of(&store)?;
    let LoadedWorld { grid, channels, .. } = load(&store, &args.world, console)?;
    let mut world = EditedWorld { grid, channels, growth, history: read_history(&store)? };
    let start = Instant::now();
    let mut totals = EditTotals::default();
    step_through_history(args, &mut world, &mut totals)?;
    apply(args, &info, &operations, &mut world, &mut totals, console)?;
    let EditedWorld { mut grid, channels, growth, history } = world;
    // What was generated only to be looked at is not in the file.
    growth.into_iter().for_each(|mut growth| growth.forget(&mut grid));
    let edited = start.elapsed();
    let start = Instant::now();
    let digest = grid.digest().map_err(Failure::at(&args.world))?;
    let is_changed = save(&store, &grid, &channels, &history)?;
    let mut report = match is_changed {
        true => Report::of_change("edit", &args.world),
        false => Report::new("edit"),
    };
    report.text_line("world", "world", store.path().display().to_string());
    totals.add_to(&info, grid.materials(), &mut report);
    let stats = history.stats();
    report.count("can_undo", "can undo", stats.undoable as u64);
    report.count("can_redo", "can redo", stats.redoable as u64);
    if stats.dropped > 0 {
        report.count("dropped", "dropped", stats.dropped);
    }
    report.bytes("history_bytes", "history", history.to_bytes().len() as u64);
    report.text_line("digest", "digest", format!("{digest:032x}"));
    report.time("edit_ms", "edit", edited);
    report.time("save_ms", "save", start.elapsed());
    Ok(report)
}

/// A world in memory, and what was done to it.
struct EditedWorld {
    grid: VoxelGrid,
    channels: ChannelGrid,
    /// The generator of a world that grows.
    growth: Option<Growth>,
    history: History,
}

/// The changes of all operations.
#[derive(Default)]
struct EditTotals {
    undone: u32,
    redone: u32,
    operations: u64,
    region: Region,
    removed: Volume,
    added: Volume,
}

fn load(store: &Store, path: &Path, console: &Console) -> CliResult<LoadedWorld> {
    let bar = console.bar("loading", 1);
    let progress = |done, all| bar.set(done, all);
    let loaded = store.load_with(MAX_LOADED_BYTES, progress).map_err(store_failure)?;
    match loaded.bad.first() {
        None => Ok(loaded),
        Some(first) => {
            let count = damaged_parts(loaded.bad.len());
            let what = format!(
                "{first} ({count} in all); a damaged world cannot be edited: \
                         run `terravox repair` first"
            );
            Err(Failure::of(path, what))
        }
    }
}

fn read_history(store: &Store) -> CliResult<History> {
    let history = store.history(HISTORY_BYTES).map_err(store_failure)?;
    Ok(history.unwrap_or_else(|| History::new(HISTORY_BYTES)))
}

/// Writes the changed chunks and values and the history, and returns whether there were any.
fn save(
    store: &Store,
    grid: &VoxelGrid,
    channels: &ChannelGrid,
    history: &History,
) -> CliResult<bool> {
    let chunks = grid.unsaved();
    if chunks.is_empty() && channels.is_saved() {
        return Ok(false);
    }
    let seeded = lod_view::generator_of(store).map_err(store_failure)?;
    let unsaved =
        UnsavedChanges::from(chunks).with_channels(channels.unsaved()).with_history(history);
    let saved = store.save(&unsaved, |request| match &seeded {
        Some(seeded) => {
            let mip = request.block().mip;
            seeded.fill(request.cells(), mip);
        }
        None => request.set_missing(),
    });
    saved.map(|_| true).map_err(store_failure)
}

/// An operation in voxels.
struct SourcedOperation {
    source: OperationSource,
    op: ScriptOp,
}

/// What an operation changes.
enum ScriptOp {
    Cells(EditOp),
    /// Values of a channel.
    Values(ValueOp),
}

impl ScriptOp {
    /// Returns the regions of cells that have to be there.
    fn cells_needed(&self, editor: &Editor, grid: &VoxelGrid) -> Result<Vec<Region>, EditError> {
        match self {
            ScriptOp::Cells(op) => editor.cells_needed(grid, op),
            ScriptOp::Values(op @ ValueOp::Brush { materials, .. }) if !materials.is_empty() => {
                Ok(vec![op.region()?])
            }
            ScriptOp::Values(_) => Ok(Vec::new()),
        }
    }
}

/// Where an operation was given.
#[derive(Clone, Copy)]
enum OperationSource {
    /// Index of the argument.
    Argument(usize),
    /// Number of the line of the script, from 1.
    Line(usize),
}

impl OperationSource {
    /// Returns a name for error messages.
    fn name(self, args: &EditArgs) -> String {
        match self {
            OperationSource::Argument(index) => {
                format!("operation {:?}", shortened(&args.operations[index], MAX_QUOTED_CHARS))
            }
            OperationSource::Line(number) => {
                let script = args.script.as_deref().unwrap_or(Path::new("script"));
                format!("{}: line {number}", script.display())
            }
        }
    }
}

/// Returns the start of a text of more characters than `most`.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} …", &text[..end]).into(),
        None => text.into(),
    }
}

/// Parses all operations before any is applied.
fn read_operations(args: &EditArgs, info: &WorldInfo) -> CliResult<Vec<SourcedOperation>> {
    let (mut operations, mut pasted) = (Vec::new(), 0);
    let mut add = |source: OperationSource, text: &str| {
        let is_json = matches!(source, OperationSource::Line(_)) && text.starts_with('{');
        let op = match is_json {
            true => from_json(text, info),
            false => parser::parse(text, info).map(ScriptOp::Cells),
        };
        let op = op.map_err(|what| {
            let what = shortened(&what, MAX_REASON_CHARS);
            Failure::new(format!("{}: {what}", source.name(args)))
        })?;
        if operations.len() == MAX_OPERATIONS {
            let what = format!("more than {MAX_OPERATIONS} operations; give them in parts");
            return Err(Failure::new(format!("{}: {what}", source.name(args))));
        }
        if let ScriptOp::Cells(EditOp::Paste(paste)) = &op {
            pasted += paste.clip.cells().materials().len();
        }
        if pasted > MAX_PASTED_CELLS {
            let what = format!("pastes of more than {MAX_PASTED_CELLS} cells; give them in parts");
            return Err(Failure::new(format!("{}: {what}", source.name(args))));
        }
        operations.push(SourcedOperation { source, op });
        Ok(())
    };
    for (index, text) in args.operations.iter().enumerate() {
        add(OperationSource::Argument(index), text)?;
    }
    let Some(script) = &args.script else { return Ok(operations) };
    let file = open_script(script)?;
    // Pipes may be endless: one byte more than the limit tells that it was reached.
    let mut lines = BufReader::new(file.take(MAX_SCRIPT_BYTES + 1));
    let (mut line, mut bytes, mut number) = (String::new(), 0, 0);
    loop {
        line.clear();
        let read = lines.read_line(&mut line).map_err(Failure::at(script))?;
        (bytes, number) = (bytes + read as u64, number + 1);
        if bytes > MAX_SCRIPT_BYTES {
            let most = size(MAX_SCRIPT_BYTES);
            return Err(Failure::of(script, format!("longer than {most}; give it in parts")));
        }
        if read == 0 {
            return Ok(operations);
        }
        let text = line.trim();
        if !text.is_empty() && !text.starts_with('#') {
            add(OperationSource::Line(number), text)?;
        }
    }
}

/// Opens a script. It is read once, so a pipe will do.
fn open_script(script: &Path) -> CliResult<File> {
    let unreadable =
        |error| Failure::of(script, format!("cannot be read: {error}; check the name"));
    let file = File::open(script).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    match (metadata.is_dir(), metadata.is_file() && metadata.len() == 0) {
        (true, _) => Err(Failure::of(script, "is a folder; give a file")),
        (_, true) => Err(Failure::of(script, "the file is empty; get another copy")),
        _ => Ok(file),
    }
}

/// Parses an operation in metres, as JSON.
fn from_json(line: &str, info: &WorldInfo) -> Result<ScriptOp, String> {
    let wrong = |error| format!("{error}; see terravox edit --help for an operation as JSON");
    let Some(rest) = line.trim_start_matches('{').trim_start().strip_prefix(VALUES) else {
        let op: EditOp = serde_json::from_str(line).map_err(wrong)?;
        return Ok(ScriptOp::Cells(in_voxels(&op, info)));
    };
    let inner = rest.trim_start().strip_prefix(':').and_then(|rest| rest.strip_suffix('}'));
    let inner = inner.ok_or("write it as {\"values\": …}")?;
    let op: ValueOp = serde_json::from_str(inner).map_err(wrong)?;
    Ok(ScriptOp::Values(info.placement().value_op_in_voxels(&op)))
}

/// Converts an operation from metres to voxels.
fn in_voxels(op: &EditOp, info: &WorldInfo) -> EditOp {
    info.placement().op_in_voxels(op)
}

/// Formats why an operation was refused, with lengths and positions in metres.
fn in_metres(reason: EditError, info: &WorldInfo, limit_factor: u32) -> String {
    match reason {
        EditError::OutOfRange { .. } | EditError::BeyondLimits(_) | EditError::TooLarge { .. } => {
            TerrainError::new(reason, info.placement()).to_string()
        }
        EditError::TooCostly { .. } => {
            format!("{reason}, or pass a --limit-factor above {limit_factor}")
        }
        reason => reason.to_string(),
    }
}

/// Undoes or redoes the operations that the arguments ask for.
fn step_through_history(
    args: &EditArgs,
    EditedWorld { grid, channels, history, .. }: &mut EditedWorld,
    totals: &mut EditTotals,
) -> CliResult<()> {
    let stats = history.stats();
    check_steps("undo", args.undo, stats.undoable).map_err(Failure::at(&args.world))?;
    check_steps("redo", args.redo, stats.redoable).map_err(Failure::at(&args.world))?;
    for step in 0..args.undo + args.redo {
        let region = match step < args.undo {
            true => history.undo_with(grid, channels),
            false => history.redo_with(grid, channels),
        };
        let region = region.map_err(Failure::at(&args.world))?;
        totals.region = totals.region.union(region.unwrap_or_default());
        let [removed, added] = history.take_last_volumes();
        totals.removed.add_all(&removed);
        totals.added.add_all(&added);
    }
    (totals.undone, totals.redone) = (args.undo, args.redo);
    Ok(())
}

/// Refuses more steps than the history has.
fn check_steps(command: &str, steps: u32, available: usize) -> Result<(), String> {
    let operations = match available {
        _ if steps as usize <= available => return Ok(()),
        0 => "no operation".to_owned(),
        1 => "only 1 operation".to_owned(),
        _ => format!("only {available} operations"),
    };
    Err(format!("--{command} {steps}: the history has {operations} to {command}"))
}

fn apply(
    args: &EditArgs,
    info: &WorldInfo,
    operations: &[SourcedOperation],
    EditedWorld { grid, channels, growth, history }: &mut EditedWorld,
    totals: &mut EditTotals,
    console: &Console,
) -> CliResult<()> {
    let mut editor = Editor::new(EditLimits::default().times(args.limit_factor));
    let bar = console.bar("editing", operations.len());
    for SourcedOperation { source, op } in operations {
        let refused = |error| {
            let what = in_metres(error, info, args.limit_factor);
            Failure::new(format!("{}: {what}", source.name(args)))
        };
        if let ScriptOp::Values(op) = op {
            // Making cells may take minutes.
            editor.check_values(channels, op).map_err(refused)?;
        }
        if let Some(growth) = growth {
            let needed = op.cells_needed(&editor, grid).map_err(refused)?;
            growth.make(grid, &needed, console)?;
        }
        let region = match op {
            ScriptOp::Values(op) => {
                editor.apply_values(grid, channels, op, &mut *history).map_err(refused)?
            }
            ScriptOp::Cells(op) => {
                let edited = editor.apply(grid, op, &mut *history).map_err(refused)?;
                totals.removed.add_all(&edited.removed);
                totals.added.add_all(&edited.added);
                edited.region
            }
        };
        totals.region = totals.region.union(region);
        totals.operations += 1;
        bar.step();
    }
    Ok(())
}

impl EditTotals {
    fn add_to(&self, info: &WorldInfo, materials: &MaterialTable, report: &mut Report) {
        for (key, label, count) in
            [("undone", "undone", self.undone), ("redone", "redone", self.redone)]
        {
            if count > 0 {
                report.count(key, label, count.into());
            }
        }
        report.count("operations", "operations", self.operations);
        let text = match self.region.is_empty() {
            true => "nothing".to_owned(),
            false => format!("voxels {}", self.region),
        };
        let corners = [self.region.min, self.region.max].map(|p| p.to_array());
        report.line("region", "changed", text, json!({ "min": corners[0], "max": corners[1] }));
        let voxel = info.voxel_size_m.powi(3);
        for (key, label, volume) in
            [("removed_m3", "removed", &self.removed), ("added_m3", "added", &self.added)]
        {
            let amount = |units: u64| (units as f64 / 256.0 * voxel * 1e3).round() / 1e3;
            let parts: Vec<(String, f64)> =
                volume.iter().map(|(id, units)| (materials.name(id), amount(units))).collect();
            let text: Vec<String> =
                parts.iter().map(|(name, amount)| format!("{amount} m³ {name}")).collect();
            let text = if text.is_empty() { "nothing".to_owned() } else { text.join(", ") };
            let value = parts.into_iter().map(|(name, amount)| (name, json!(amount)));
            report.line(key, label, text, Value::Object(value.collect::<Map<_, _>>()));
        }
    }
}
