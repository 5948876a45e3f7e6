//! The level-of-detail view of a world from a point, fine nearby and coarse far away. Only blocks
//! that are shown are read or generated.

use crate::args::{LevelArgs, MorphChoice, ReadArgs};
use crate::console::Console;
use crate::failure::{CliResult, Failure, damaged_parts};
use crate::growth::Extent;
use crate::world::{self, check_point, store_failure};
use glam::DVec3;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use terravox::generate::{Hills, Seeded, World};
use terravox::lod::{LodOptions, MorphRanges};
use terravox::mesh::BlockMesh;
use terravox::terrain::{
    Budget, FillRequest, Placement, ShownMesh, Terrain, TerrainOptions, Viewer,
};
use terravox::voxel::{MAX_MIP, MipBlock, Snapshot};
use terravox_render::Viewpoint;
use terravox_store::{Store, StoreError, WorldInfo};

/// Prefix of the name of a generated world without a file; a seed follows.
pub const HILLS_PREFIX: &str = "hills:";

/// Default camera over hills of voxels of a metre: above the highest one, metres.
pub const HILLS_CAMERA_M: [f64; 3] = [0.0, 140.0, 0.0];

/// Least height of the default camera over the ground of other generated worlds, voxels.
const MIN_CAMERA_HEIGHT: f64 = 60.0;

/// Default yaw and pitch over hills, degrees.
pub const HILLS_BEARING_DEGREES: [f64; 2] = [40.0, -8.0];

/// Updates without any change after which blocks that are missing are not waited for.
const MAX_IDLE_UPDATES: u32 = 16;

/// Blocks that are filled or meshed per update.
const BLOCKS_PER_UPDATE: usize = 64;

/// The view of a world from a point.
pub struct LodView {
    /// Scale and origin.
    pub info: WorldInfo,
    /// The cells that were needed.
    pub snapshot: Snapshot,
    /// Eye and view distance, voxels.
    pub viewpoint: Viewpoint,
    /// The meshes, sorted by block.
    pub meshes: Vec<ShownMesh>,
    /// Number of shown blocks, empty ones included.
    pub blocks: usize,
    /// Number of blocks whose cells were read or generated.
    pub filled: usize,
    /// Notes for the user, one line each.
    pub notes: Vec<String>,
}

/// Where cells come from.
enum CellSource {
    Seeded(Seeded),
    /// A file, and the generator of blocks that it does not hold.
    Store(Box<Store>, Option<Seeded>),
    /// An imported world in memory.
    Grid(Snapshot),
}

/// Errors while cells were read.
#[derive(Default)]
pub struct ReadFaults {
    count: AtomicUsize,
    first: Mutex<Option<StoreError>>,
}

/// Shows a world, a file that can be imported, or `hills:SEED` or `world:SEED:PRESET`, from a point
/// in metres.
///
/// # Errors
/// If the file is missing or damaged, or the camera is beyond the world.
pub fn show(
    path: &Path,
    camera_m: [f64; 3],
    levels: LevelArgs,
    reading: ReadArgs,
    console: &Console,
) -> CliResult<LodView> {
    let OpenWorld { source, info, mut notes } = open_world(path, reading, console)?;
    let viewpoint = viewpoint(&info, camera_m, levels)?;
    let faults = ReadFaults::default();
    let fill = |request: &mut FillRequest<'_>| {
        source.fill(request, reading, &faults);
        true
    };
    let is_over = || faults.is_fatal(reading);
    let mut view = show_filled(info, viewpoint, levels, console, fill, is_over);
    notes.extend(faults.into_note(path, reading)?);
    view.notes = notes;
    Ok(view)
}

/// Shows a world from a viewpoint. `fill` fills a block, or returns false if that is missing: then
/// the view ends with what is there. It ends at once when `is_over` returns true.
pub fn show_filled(
    info: WorldInfo,
    viewpoint: Viewpoint,
    levels: LevelArgs,
    console: &Console,
    fill: impl Fn(&mut FillRequest<'_>) -> bool + Sync,
    is_over: impl Fn() -> bool,
) -> LodView {
    let [filled, missing] = [0, 0].map(AtomicUsize::new);
    let bar = console.counter("showing", "blocks");
    let counted = |request: &mut FillRequest<'_>| {
        let count = if fill(request) { &filled } else { &missing };
        count.fetch_add(1, Ordering::Relaxed);
        bar.step();
    };
    let mut terrain = Terrain::new(terrain_options(&info, viewpoint, levels));
    let mut drawn = BTreeMap::new();
    let mut idle_updates = 0;
    loop {
        let before = filled.load(Ordering::Relaxed);
        let viewer =
            Viewer { position_m: viewpoint.eye.to_array(), distance_m: viewpoint.distance };
        terrain.update(&[viewer], Budget::Blocks(BLOCKS_PER_UPDATE), counted);
        let has_filled = filled.load(Ordering::Relaxed) > before;
        let has_changed = take_swaps(&mut terrain, &mut drawn);
        let is_idle = !has_filled && !has_changed;
        idle_updates = if is_idle { idle_updates + 1 } else { 0 };
        let is_at_rest = levels.simplify.is_none() || terrain.lod().is_at_rest();
        let is_stuck = missing.load(Ordering::Relaxed) > 0;
        let is_done = !terrain.lod().is_planned() && is_at_rest;
        let is_shown = is_idle && is_done || is_stuck && idle_updates > MAX_IDLE_UPDATES;
        if is_over() || is_shown {
            break;
        }
    }
    drop(bar);
    LodView {
        meshes: meshes_at_rest(&terrain, drawn, viewpoint, levels),
        blocks: terrain.lod().blocks().len(),
        filled: filled.into_inner(),
        snapshot: terrain.grid().snapshot(),
        info,
        viewpoint,
        notes: Vec::new(),
    }
}

/// The meshes of a view that is complete, of which `drawn` were shown.
fn meshes_at_rest(
    terrain: &Terrain,
    drawn: BTreeMap<MipBlock, ShownMesh>,
    viewpoint: Viewpoint,
    levels: LevelArgs,
) -> Vec<ShownMesh> {
    let lod = terrain.lod();
    let mut meshes: Vec<ShownMesh> = match levels.simplify {
        Some(_) => drawn.into_values().collect(),
        // Collected anew by block, so that the result does not depend on the number of updates.
        None => {
            let shown = |block: MipBlock| {
                let mesh = lod.mesh(block)?.clone();
                Some((block, ShownMesh { block, mip: block.mip, mesh }))
            };
            let all: BTreeMap<MipBlock, ShownMesh> =
                lod.meshed_blocks().into_iter().filter_map(shown).collect();
            all.into_values().collect()
        }
    };
    if let Some(choice) = levels.morph.filter(|choice| *choice != MorphChoice::Targets) {
        for shown in &mut meshes {
            let mesh = Arc::make_mut(&mut shown.mesh);
            morph_vertices(mesh, shown.mip, choice, lod.morph(), viewpoint.eye);
        }
    }
    meshes
}

/// Converts the camera and the view distance to voxels.
///
/// # Errors
/// If the camera is beyond the world.
pub fn viewpoint(info: &WorldInfo, camera_m: [f64; 3], levels: LevelArgs) -> CliResult<Viewpoint> {
    let size = info.voxel_size_m;
    check_point("--camera", camera_m, info)?;
    Ok(Viewpoint {
        eye: info.placement().voxel_from_world(camera_m).into(),
        distance: levels.distance / size,
        detail: levels.detail.into(),
    })
}

/// Options of a terrain in voxels; the file's own scale is applied last.
fn terrain_options(info: &WorldInfo, viewpoint: Viewpoint, levels: LevelArgs) -> TerrainOptions {
    // Roots are shown whole, so most of a root larger than the view would be out of sight.
    let max_mip = (viewpoint.distance / 64.0).log2().clamp(0.0, MAX_MIP.into()) as u8;
    TerrainOptions {
        materials: info.materials.clone(),
        lod: LodOptions {
            detail: levels.detail,
            max_mip,
            morph: levels.morph.is_some(),
            simplify: levels.simplify.map(|error| error as f32),
            ..LodOptions::default()
        },
        ..TerrainOptions::default()
    }
}

/// Updates the drawn meshes; returns whether they changed.
fn take_swaps(terrain: &mut Terrain, drawn: &mut BTreeMap<MipBlock, ShownMesh>) -> bool {
    let mut has_changed = false;
    for swap in terrain.mesh_swaps() {
        swap.removed.iter().for_each(|block| drop(drawn.remove(block)));
        drawn.extend(swap.added.into_iter().map(|shown| (shown.block, shown)));
        has_changed = true;
    }
    has_changed
}

/// Moves the vertices of a mesh towards the next coarser mip, for an eye in voxels.
fn morph_vertices(
    mesh: &mut BlockMesh,
    mip: u8,
    choice: MorphChoice,
    morph: MorphRanges,
    eye: DVec3,
) {
    let min = DVec3::from(mesh.block.min.to_array().map(f64::from));
    let size = f64::from(1_u32 << mip);
    let factor = |_, position: [f32; 3], step: u8| match choice {
        MorphChoice::All(factor) => factor,
        MorphChoice::Targets => 0.0,
        MorphChoice::ByDistance => {
            let voxel = (min + DVec3::from(position.map(f64::from))) * size;
            morph.factor(mip + step, voxel.distance(eye) as f32)
        }
    };
    mesh.solid.morph(factor);
    mesh.liquid.morph(factor);
}

/// A world whose cells can be read block by block.
struct OpenWorld {
    source: CellSource,
    info: WorldInfo,
    /// Notes for the user, one line each.
    notes: Vec<String>,
}

fn open_world(path: &Path, reading: ReadArgs, console: &Console) -> CliResult<OpenWorld> {
    if let Some(seeded) = seeded(path)? {
        let source = CellSource::Seeded(seeded);
        return Ok(OpenWorld { source, info: WorldInfo::default(), notes: Vec::new() });
    }
    if let Some(store) = world::open_store(path)? {
        let info = (*store.info()).clone();
        let seeded = generator_of(&store).map_err(store_failure)?;
        let source = CellSource::Store(Box::new(store), seeded);
        return Ok(OpenWorld { source, info, notes: Vec::new() });
    }
    let world = world::open(path, &Default::default(), reading, Extent::Stored, console)?;
    let source = CellSource::Grid(world.grid.snapshot());
    Ok(OpenWorld { source, info: world.info, notes: world.notes })
}

/// An endless world: a camera can be anywhere in it.
pub struct EndlessWorld {
    /// What makes it.
    seeded: Seeded,
    placement: Placement,
}

impl EndlessWorld {
    /// Returns the world that a path names or holds, if it is endless.
    ///
    /// # Errors
    /// If the seed or the options are not valid, the file is missing or damaged, or this program
    /// does not have its generator.
    pub fn find(path: &Path) -> CliResult<Option<EndlessWorld>> {
        if let Some(seeded) = seeded(path)? {
            return Ok(Some(EndlessWorld { seeded, placement: Placement::default() }));
        }
        let Some(store) = world::open_store(path)? else { return Ok(None) };
        let placement = store.info().placement();
        let seeded = generator_of(&store).map_err(store_failure)?;
        Ok(seeded.map(|seeded| EndlessWorld { seeded, placement }))
    }

    /// Returns a point above the ground, in metres: above the highest hill.
    pub fn camera_m(&self) -> [f64; 3] {
        let [x, y, z] = HILLS_CAMERA_M;
        let ground = match &self.seeded {
            Seeded::Hills(_) => f64::NEG_INFINITY,
            Seeded::World(world) => world.ground(x, z).0,
        };
        self.placement.world_from_voxel([x, y.max(ground + MIN_CAMERA_HEIGHT), z])
    }
}

/// Returns the generated world that a path names; `None` for other paths.
///
/// # Errors
/// If the seed or the options are not valid.
pub fn seeded(path: &Path) -> CliResult<Option<Seeded>> {
    match path.to_str().filter(|text| Seeded::is_named_by(text)) {
        Some(text) => text.parse().map(Some).map_err(Failure::at(path)),
        None => Ok(None),
    }
}

/// Fills a block as the generator of its world makes it; without one it is missing.
pub fn make_ground(seeded: Option<&Seeded>, request: &mut FillRequest<'_>) {
    match seeded {
        Some(seeded) => {
            let mip = request.mip();
            seeded.fill(request.cells(), mip);
        }
        None => request.set_missing(),
    }
}

/// Returns the generator of a world whose chunks are generated on demand.
///
/// # Errors
/// If the generator has another name or version than ours.
pub fn generator_of(store: &Store) -> Result<Option<Seeded>, StoreError> {
    let info = store.info();
    let Some(generator) = info.generator.as_ref().filter(|_| info.grows()) else {
        return Ok(None);
    };
    let seeded = generator.seeded();
    if seeded.is_none() {
        let seed = generator.seed;
        match Seeded::of_stored(&generator.name, World::VERSION, seed) {
            // Of another version: the error says both.
            Some(ours) => store.check_generator(&generator.name, ours.version(), seed)?,
            None => store.check_generator(Hills::NAME, Hills::VERSION, seed)?,
        }
    }
    Ok(seeded)
}

impl CellSource {
    /// Fills the cells of a block; records errors.
    fn fill(&self, request: &mut FillRequest<'_>, reading: ReadArgs, faults: &ReadFaults) {
        let block = request.block();
        let filled = match self {
            CellSource::Seeded(seeded) => {
                seeded.fill(request.cells(), block.mip);
                Ok(())
            }
            CellSource::Store(store, seeded) => store.block(block, request.cells()).map(|stored| {
                if let (false, Some(seeded)) = (stored, seeded) {
                    seeded.fill(request.cells(), block.mip);
                }
            }),
            CellSource::Grid(snapshot) => {
                snapshot.read_known(block.cells(), block.mip, request.cells());
                Ok(())
            }
        };
        if let Err(error) = filled {
            faults.add(error);
            // Damaged cells become air, as in a world that is read whole.
            request.cells().reset(block.cells());
            if !reading.skip_damaged {
                request.set_missing();
            }
        }
    }
}

impl ReadFaults {
    /// Records an error.
    pub fn add(&self, error: StoreError) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        first.get_or_insert(error);
    }

    /// Returns whether to stop.
    pub fn is_fatal(&self, reading: ReadArgs) -> bool {
        !reading.skip_damaged && self.count.load(Ordering::Relaxed) > 0
    }

    /// Returns a note about skipped errors.
    ///
    /// # Errors
    /// The first error, unless errors are skipped.
    pub fn into_note(self, path: &Path, reading: ReadArgs) -> CliResult<Option<String>> {
        let first = self.first.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(first) = first else { return Ok(None) };
        let count = self.count.into_inner();
        if !reading.skip_damaged {
            let what = format!("{first}; pass --skip-damaged to leave out damaged chunks");
            return Err(Failure::of(path, what));
        }
        Ok(Some(format!("left out {}; the first: {first}", damaged_parts(count))))
    }
}
