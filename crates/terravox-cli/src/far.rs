//! What is shown of a world from a place, fine nearby and coarse far away, streamed block
//! by block: of a world file or a generator no more is read or made than what shows.

use crate::args::{Levels, Morph, Reading};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::world::{self, store_failure};
use glam::DVec3;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use terravox::generate::Hills;
use terravox::lod::{LodOptions, Morph as Ways};
use terravox::mesh::BlockMesh;
use terravox::terrain::{Budget, FillRequest, ShownMesh, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{LIMIT, MAX_MIP, MipBlock, Snapshot};
use terravox_render::Viewpoint;
use terravox_store::{Store, StoreError, WorldInfo};

/// What names a generated world without a file; a seed follows.
pub const HILLS: &str = "hills:";

/// Where hills are seen from if nobody says: above the highest one, metres.
pub const CAMERA: [f64; 3] = [0.0, 140.0, 0.0];

/// And which way: degrees clockwise from north, and above the horizon.
pub const BEARING: [f64; 2] = [40.0, -8.0];

/// Blocks that are filled or meshed between two looks at how far it is.
const AT_ONCE: usize = 64;

/// What is shown of a world.
pub struct Far {
    /// Scale and origin.
    pub info: WorldInfo,
    /// The cells that were needed.
    pub snapshot: Snapshot,
    /// From where.
    pub viewpoint: Viewpoint,
    /// The meshes, sorted by block.
    pub meshes: Vec<ShownMesh>,
    /// Blocks that are shown, be it without a surface.
    pub blocks: usize,
    /// Blocks whose cells were read or made.
    pub filled: usize,
    /// What a user should know, a line each.
    pub notes: Vec<String>,
}

/// Where cells come from.
enum Source {
    Hills(Hills),
    /// A file, and what makes the blocks that it does not have.
    Store(Box<Store>, Option<Hills>),
    /// An imported world, whole in memory.
    Grid(Snapshot),
}

/// What went wrong while cells were read.
#[derive(Default)]
struct Faults {
    count: AtomicUsize,
    first: Mutex<Option<StoreError>>,
}

/// Shows a world, a file that can be imported, or `hills:SEED`, from a point in metres.
///
/// # Errors
/// If there is no such file, it is damaged, or the camera is beyond the world.
pub fn show(
    path: &Path,
    camera_m: [f64; 3],
    levels: Levels,
    reading: Reading,
    console: &Console,
) -> Outcome<Far> {
    let (source, info, mut notes) = source(path, reading, console)?;
    let size = info.voxel_size_m;
    let viewpoint = Viewpoint {
        eye: (DVec3::from(camera_m) - DVec3::from(info.origin_m)) / size,
        distance: levels.distance / size,
        detail: levels.detail.into(),
    };
    if viewpoint.eye.abs().max_element() >= f64::from(LIMIT) {
        let reach = f64::from(LIMIT) * size;
        let what = format!("--camera is beyond the world, which reaches {reach} m from its origin");
        return Err(Failure::new(what));
    }
    let faults = Faults::default();
    let filled = AtomicUsize::new(0);
    // Whole roots are shown: of those that are larger than the view most would not be seen.
    let max_mip = (viewpoint.distance / 64.0).log2().clamp(0.0, MAX_MIP.into()) as u8;
    // In voxels: the file's own scale is applied last.
    let mut terrain = Terrain::new(TerrainOptions {
        materials: info.materials.clone(),
        lod: LodOptions {
            detail: levels.detail,
            max_mip,
            morph: levels.morph.is_some(),
            simplify: levels.simplify.map(|error| error as f32),
            ..LodOptions::default()
        },
        ..TerrainOptions::default()
    });
    let position_m = viewpoint.eye.to_array();
    let viewer = Viewer { position_m, distance_m: viewpoint.distance };
    let bar = console.counter("showing", "blocks");
    let update = |terrain: &mut Terrain| {
        let before = filled.load(Ordering::Relaxed);
        terrain.update(&[viewer], Budget::Blocks(AT_ONCE), |request| {
            source.fill(request, reading, &faults);
            filled.fetch_add(1, Ordering::Relaxed);
            bar.step();
        });
        filled.load(Ordering::Relaxed) == before && !terrain.lod().is_planned()
    };
    let mut drawn = BTreeMap::new();
    loop {
        let idle = update(&mut terrain);
        let changed = take_swaps(&mut terrain, &mut drawn);
        let rests = levels.simplify.is_none() || terrain.lod().is_at_rest();
        if faults.fail(reading) || (idle && !changed && rests) {
            break;
        }
    }
    drop(bar);
    notes.extend(faults.answer(path, reading)?);
    let lod = terrain.lod();
    if levels.simplify.is_none() {
        // Block by block, however many updates it took.
        let shown = |block: MipBlock| {
            let mesh = lod.mesh(block)?.clone();
            Some((block, ShownMesh { block, mip: block.mip, mesh }))
        };
        drawn = lod.meshed_blocks().into_iter().filter_map(shown).collect();
    }
    let move_by = |by: Morph| {
        for shown in drawn.values_mut() {
            let mesh = Arc::make_mut(&mut shown.mesh);
            move_vertices(mesh, shown.mip, by, lod.morph(), viewpoint.eye);
        }
    };
    levels.morph.filter(|by| *by != Morph::Targets).into_iter().for_each(move_by);
    Ok(Far {
        meshes: drawn.into_values().collect(),
        blocks: lod.blocks().len(),
        filled: filled.into_inner(),
        snapshot: terrain.grid().snapshot(),
        info,
        viewpoint,
        notes,
    })
}

/// Brings what is drawn up to date; says whether it changed.
fn take_swaps(terrain: &mut Terrain, drawn: &mut BTreeMap<MipBlock, ShownMesh>) -> bool {
    let mut changed = false;
    for swap in terrain.mesh_swaps() {
        swap.removed.iter().for_each(|block| drop(drawn.remove(block)));
        drawn.extend(swap.added.into_iter().map(|shown| (shown.block, shown)));
        changed = true;
    }
    changed
}

/// Moves the vertices of a mesh toward the next coarser level as they are seen from `eye`,
/// in voxels.
fn move_vertices(mesh: &mut BlockMesh, mip: u8, by: Morph, ways: Ways, eye: DVec3) {
    let min = DVec3::from(mesh.block.min.to_array().map(f64::from));
    let size = f64::from(1_u32 << mip);
    let factor = |_, position: [f32; 3], step: u8| match by {
        Morph::All(factor) => factor,
        Morph::Targets => 0.0,
        Morph::ByDistance => {
            let voxel = (min + DVec3::from(position.map(f64::from))) * size;
            ways.factor(mip + step, voxel.distance(eye) as f32)
        }
    };
    mesh.solid.morph(factor);
    mesh.liquid.morph(factor);
}

/// Where the cells of a world come from, its description, and what a user should know.
fn source(
    path: &Path,
    reading: Reading,
    console: &Console,
) -> Outcome<(Source, WorldInfo, Vec<String>)> {
    if let Some(seed) = path.to_str().and_then(|text| text.strip_prefix(HILLS)) {
        let seed = seed.parse().map_err(|_| Failure::of(path, "give a seed, as hills:7"))?;
        return Ok((Source::Hills(Hills::new(seed)), WorldInfo::default(), Vec::new()));
    }
    if let Some(store) = world::open_store(path)? {
        let info = (*store.info()).clone();
        let hills = grows_from(&store).map_err(store_failure)?;
        return Ok((Source::Store(Box::new(store), hills), info, Vec::new()));
    }
    let world = world::open(path, &Default::default(), reading, console)?;
    Ok((Source::Grid(world.grid.snapshot()), world.info, world.notes))
}

/// Whether a path names hills without a file.
pub fn is_hills(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with(HILLS))
}

/// The hills that a world grows from, if it grows.
pub fn grows_from(store: &Store) -> Result<Option<Hills>, StoreError> {
    let info = store.info();
    let Some(generator) = info.generator.as_ref().filter(|_| info.grows()) else {
        return Ok(None);
    };
    store.check_generator(Hills::NAME, Hills::VERSION, generator.seed)?;
    Ok(Some(Hills::new(generator.seed)))
}

impl Source {
    /// Gives a block its cells; notes what cannot be read.
    fn fill(&self, request: &mut FillRequest<'_>, reading: Reading, faults: &Faults) {
        let block = request.block();
        let filled = match self {
            Source::Hills(hills) => {
                hills.fill(request.cells(), block.mip);
                Ok(())
            }
            Source::Store(store, hills) => store.block(block, request.cells()).map(|stored| {
                if let (false, Some(hills)) = (stored, hills) {
                    hills.fill(request.cells(), block.mip);
                }
            }),
            Source::Grid(snapshot) => {
                snapshot.read_known(block.cells(), block.mip, request.cells());
                Ok(())
            }
        };
        if let Err(error) = filled {
            faults.note(error);
            // What is left out is air, as it is in a world that is read whole.
            request.cells().reset(block.cells());
            if !reading.skip_damaged {
                request.set_missing();
            }
        }
    }
}

impl Faults {
    fn note(&self, error: StoreError) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(|broken| broken.into_inner());
        first.get_or_insert(error);
    }

    /// Whether it makes no sense to go on.
    fn fail(&self, reading: Reading) -> bool {
        !reading.skip_damaged && self.count.load(Ordering::Relaxed) > 0
    }

    /// A note about what is left out.
    ///
    /// # Errors
    /// If something is damaged and that is not to be skipped.
    fn answer(self, path: &Path, reading: Reading) -> Outcome<Option<String>> {
        let first = self.first.into_inner().unwrap_or_else(|broken| broken.into_inner());
        let Some(first) = first else { return Ok(None) };
        let count = self.count.into_inner();
        if !reading.skip_damaged {
            let what = format!("{first}; --skip-damaged goes on without what is damaged");
            return Err(Failure::of(path, what));
        }
        Ok(Some(format!("{count} damaged parts are left out, first {first}")))
    }
}
