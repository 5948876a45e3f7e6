//! Terrain from arrays: heights (one for each column) and distances (one for each cell).
//!
//! The cells are those that `FillRequest::fill_height_with` and `fill_sdf` of the library make of
//! the same numbers.

use crate::arrays::{
    Checked, Voxel, bounded, check_length, check_numbers, region_between, region_of_array, to_voxel,
};
use crate::cells::slabs;
use crate::failure::{Failure, Outcome, bad_value};
use crate::materials::MaterialRef;
use crate::world::World;
use numpy::PyUntypedArray;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use terravox::generate::{Deep, occupancy_units};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{AIR, Cell, DenseBox, Kind, MaterialTable, Region, VoxelGrid, WATER};

/// The ground that an array of heights describes, and where it goes.
struct Ground<'a> {
    /// What is replaced.
    region: Region,
    placement: Placement,
    /// Metres, x fastest, then z, with the apron.
    heights: &'a [f32],
    /// Samples along x, and along z.
    size: [usize; 2],
    /// The column of the first sample.
    first: [i64; 2],
    top: TopMaterials<'a>,
    /// What lies below the top: from which depth (metres, ascending) which material.
    layers: &'a [(f64, u8)],
    sea_level_m: Option<f64>,
}

/// The materials at the surface.
enum TopMaterials<'a> {
    One(u8),
    /// By sample.
    Map(&'a [u8]),
}

impl Ground<'_> {
    /// The sample at a column, or the nearest one.
    fn sample(&self, x: i64, z: i64) -> usize {
        let clamp = |v: i64, first: i64, size: usize| {
            v.saturating_sub(first).clamp(0, size as i64 - 1) as usize
        };
        clamp(x, self.first[0], self.size[0]) + self.size[0] * clamp(z, self.first[1], self.size[1])
    }

    /// The column of a point, metres.
    fn column(&self, x_m: f64, z_m: f64) -> usize {
        let Placement { voxel_size_m, origin_m } = self.placement;
        let voxel = |v: f64, axis: usize| ((v - origin_m[axis]) / voxel_size_m).floor() as i64;
        self.sample(voxel(x_m, 0), voxel(z_m, 2))
    }

    /// The lowest and the highest height in and beside a chunk.
    fn range(&self, chunk: Region) -> [f64; 2] {
        let mut range = [f32::INFINITY, f32::NEG_INFINITY];
        let around = chunk.grow(1);
        for z in around.min.z..around.max.z {
            let row = self.sample(around.min.x.into(), z.into());
            let last = self.sample(i64::from(around.max.x) - 1, z.into());
            for &height in &self.heights[row..=last] {
                range = [range[0].min(height), range[1].max(height)];
            }
        }
        range.map(f64::from)
    }

    /// Fills a chunk.
    fn fill(&self, request: &mut FillRequest<'_>) {
        let [low, high] = self.range(request.block().voxels());
        let height = |x: f64, z: f64| f64::from(self.heights[self.column(x, z)]);
        let deep = match (self.layers.last(), &self.top) {
            (Some(&(depth, material)), _) => Some(Deep { depth, material }),
            (None, TopMaterials::One(material)) => {
                Some(Deep { depth: f64::NEG_INFINITY, material: *material })
            }
            (None, TopMaterials::Map(_)) => None,
        };
        request.fill_height_with(low..=high, deep, height, |column| {
            let top = match &self.top {
                TopMaterials::One(material) => *material,
                TopMaterials::Map(materials) => materials[self.column(column.x, column.z)],
            };
            move |_y, depth| {
                let below = self.layers.iter().rev().find(|layer| depth >= layer.0);
                below.map_or(top, |layer| layer.1)
            }
        });
        if let Some(level) = self.sea_level_m {
            request.fill_air_below(WATER, level);
        }
    }

    /// Fills all of the region.
    fn write(&self, grid: &mut VoxelGrid) -> Outcome<()> {
        let (mut chunk, mut part) = (DenseBox::default(), DenseBox::default());
        for at in self.region.blocks::<5>() {
            let fill = |request: &mut FillRequest<'_>| self.fill(request);
            FillRequest::fill_block(&mut chunk, at.into(), self.placement, fill);
            // Air above the ground is not listed, however high the region reaches.
            if !grid.is_listed(at) && chunk.materials().iter().all(|&material| material == AIR) {
                continue;
            }
            let inside = self.region.intersect(at.region());
            if inside == at.region() {
                grid.write(&chunk)?;
            } else {
                part.reset(inside);
                part.copy_from(&chunk);
                grid.write(&part)?;
            }
        }
        Ok(())
    }
}

/// The voxel layer of a height, metres, rounded by `round`.
fn layer(placement: Placement, height_m: f64, round: fn(f64) -> f64) -> i64 {
    round((height_m - placement.origin_m[1]) / placement.voxel_size_m) as i64
}

/// Most layers below the surface.
const MAX_LAYERS: usize = 4096;

/// The layers below the surface, of which the depths ascend from above zero.
fn layers_of(world: &World, given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(f64, u8)>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    check_length(given, "below", MAX_LAYERS)?;
    let (mut layers, mut last) = (Vec::new(), 0.0);
    for (depth, material) in given.extract::<Vec<(f64, MaterialRef)>>()? {
        if !(depth > last && depth.is_finite()) {
            bad_value(format!(
                "below has the depth {depth} m after {last} m; depths must be finite, above 0 and ascend"
            ))?;
        }
        last = depth;
        layers.push((depth, world.material_id(given.py(), &material)?));
    }
    Ok(layers)
}

/// What the surface is made of, as Python gives it: a material, or an array of them.
enum TopArgument<'py> {
    One(u8),
    Map(Checked<'py, u8>),
}

impl<'py> TopArgument<'py> {
    /// Checks it; an array must have the `shape` of the array called `of`.
    fn new(
        world: &World,
        given: &Bound<'py, PyAny>,
        shape: &[usize],
        of: &str,
    ) -> PyResult<TopArgument<'py>> {
        let is_type_error = |error: &PyErr| error.is_instance_of::<PyTypeError>(given.py());
        match given.extract::<MaterialRef>() {
            Ok(material) => {
                return Ok(TopArgument::One(world.material_id(given.py(), &material)?));
            }
            Err(error) if !is_type_error(&error) => return Err(error),
            Err(_) if given.is_instance_of::<PyUntypedArray>() => {}
            Err(_) => {
                let given = given.get_type().name()?;
                let what = format!(
                    "material is a {given}; it must be an id, a name, or a numpy array of uint8 of \
                     the shape of {of}"
                );
                return Err(Failure::Type(what).into());
            }
        }
        let map = Checked::new(given, "material", shape.len())?;
        map.check_shape("material", shape, of)?;
        Ok(TopArgument::Map(map))
    }

    fn materials(&self) -> Outcome<TopMaterials<'_>> {
        Ok(match self {
            TopArgument::One(material) => TopMaterials::One(*material),
            TopArgument::Map(map) => TopMaterials::Map(map.slice()?),
        })
    }
}

/// Extracts a column (x, z).
fn to_column(given: &Bound<'_, PyAny>) -> PyResult<(i64, i64)> {
    bounded(given, "at", "within the limits of a world, ±1073741824 (2^30)")
}

/// Extracts a number of rows and columns.
fn to_apron(given: &Bound<'_, PyAny>) -> PyResult<usize> {
    bounded(given, "apron", "0 or more, and leave columns to fill")
}

/// The number of columns along x and z without the apron.
fn inner_size(shape: &[usize], apron: usize) -> Outcome<[i64; 2]> {
    let inner = |length: usize| length.checked_sub(apron.saturating_mul(2)).filter(|n| *n > 0);
    match (inner(shape[1]), inner(shape[0])) {
        (Some(width), Some(depth)) => Ok([width as i64, depth as i64]),
        _ => bad_value(format!(
            "heights of shape {shape:?} with an apron of {apron} have no columns to fill"
        )),
    }
}

/// Checks a height in metres that may be missing.
fn check_height(name: &str, height_m: Option<f64>) -> Outcome<()> {
    match height_m {
        Some(height) if !height.is_finite() => {
            bad_value(format!("{name} is {height}; it must be a finite height in metres"))
        }
        _ => Ok(()),
    }
}

/// Refuses a sea in a world without a liquid.
fn check_sea(table: &MaterialTable, sea_level_m: Option<f64>) -> Outcome<()> {
    if sea_level_m.is_none() || table.kind(WATER) == Kind::Liquid {
        return Ok(());
    }
    let what = match table.materials().get(usize::from(WATER)) {
        Some(material) => format!("{:?}, which is no liquid", material.name),
        None => "not there".to_owned(),
    };
    bad_value(format!(
        "sea_level_m fills with material {WATER}, and in this world that is {what}; leave \
         sea_level_m out, or make a world whose material {WATER} is a liquid"
    ))
}

/// The box that heights replace.
fn ground_region(
    placement: Placement,
    columns: [i64; 4],
    heights: &[f32],
    [bottom_m, top_m, sea_m]: [Option<f64>; 3],
) -> Outcome<Region> {
    let [x, z, width, depth] = columns;
    let highest = heights.iter().fold(f32::NEG_INFINITY, |high, &height| high.max(height));
    let highest = f64::from(highest).max(sea_m.unwrap_or(f64::NEG_INFINITY));
    let bottom = layer(placement, bottom_m.unwrap_or(0.0), f64::floor);
    // Half a cell above a column the ground beside it may still reach in.
    let top = match top_m {
        Some(top) => layer(placement, top, f64::ceil),
        None => layer(placement, highest, f64::ceil).saturating_add(1),
    };
    let end = |from: i64, length: i64| from.saturating_add(length);
    region_between([x, bottom, z], [end(x, width), top.max(bottom), end(z, depth)], 0)
}

#[pymethods]
impl World {
    /// Generates terrain from heights: float32, metres, shape (z, x), one for each column of voxels.
    ///
    /// `at` is the column (x, z) of the first height. Every cell of those columns from `bottom_m`
    /// up to `top_m` (by default, just above the highest height) is replaced: ground below the
    /// height, air above, water below `sea_level_m`. Nothing below `bottom_m` or above `top_m`
    /// changes.
    ///
    /// `material` is what the surface is made of: an id, a name, or a uint8 array of the shape of
    /// the heights. `below` lists what follows deeper down: (depth in metres, material), ascending.
    ///
    /// With `apron` = n the outer n rows and columns of the arrays are not filled: they only give
    /// the slopes at the border. So tiles with an apron of 1 give the same cells as one large
    /// array, whose `at` counts without the apron. `undo` does not undo this.
    #[pyo3(signature = (
        heights, *, bottom_m, at = (0, 0), material, below = None, apron = 0,
        sea_level_m = None, top_m = None
    ), text_signature = "($self, heights, *, bottom_m, at=(0, 0), material, below=(), apron=0, \
        sea_level_m=None, top_m=None)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn fill_heights(
        &self,
        py: Python<'_>,
        heights: &Bound<'_, PyAny>,
        bottom_m: f64,
        #[pyo3(from_py_with = to_column)] at: (i64, i64),
        material: &Bound<'_, PyAny>,
        below: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = to_apron)] apron: usize,
        sea_level_m: Option<f64>,
        top_m: Option<f64>,
    ) -> PyResult<()> {
        let heights = Checked::<f32>::new(heights, "heights", 2)?;
        let (shape, slice) = (heights.shape(), heights.slice()?);
        let [width, depth] = inner_size(shape, apron)?;
        check_height("bottom_m", Some(bottom_m))?;
        check_height("top_m", top_m)?;
        check_height("sea_level_m", sea_level_m)?;
        let layers = layers_of(self, below)?;
        let top = TopArgument::new(self, material, shape, "heights")?;
        let top = top.materials()?;
        self.change(py, |opened| {
            check_sea(&opened.materials(), sea_level_m)?;
            let terrain = opened.writable("fill_heights")?;
            check_numbers("heights", shape, slice, false)?;
            let placement = terrain.original_placement();
            let columns = [at.0, at.1, width, depth];
            let ends = [Some(bottom_m), top_m, sea_level_m];
            let region = ground_region(placement, columns, slice, ends)?;
            let first = [at.0, at.1].map(|v| v.saturating_sub(apron as i64));
            let ground = Ground {
                region,
                placement,
                heights: slice,
                size: [shape[1], shape[0]],
                first,
                top,
                layers: &layers,
                sea_level_m,
            };
            ground.write(&mut terrain.grid_mut())
        })
    }

    /// Generates terrain from signed distances: float32, metres, shape (y, z, x), positive inside,
    /// one for the centre of each voxel from `min` on. Only distances within one voxel of the
    /// surface need to be accurate. Every cell is replaced. `material` is an id, a name, or a uint8
    /// array of the same shape. `undo` does not undo this.
    #[pyo3(signature = (distances, *, min, material))]
    fn fill_distances(
        &self,
        py: Python<'_>,
        distances: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = to_voxel)] min: Voxel,
        material: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let distances = Checked::<f32>::new(distances, "distances", 3)?;
        let top = TopArgument::new(self, material, distances.shape(), "distances")?;
        let materials = top.materials()?;
        let region = region_of_array(min, distances.shape())?;
        let (shape, slice) = (distances.shape(), distances.slice()?);
        self.change(py, |opened| {
            let terrain = opened.writable("fill_distances")?;
            check_numbers("distances", shape, slice, true)?;
            let voxel_size_m = terrain.placement().voxel_size_m;
            let mut grid = terrain.grid_mut();
            let mut cells = DenseBox::default();
            for slab in slabs(region) {
                let first = slab.volume() as usize / slab.size()[1].max(1)
                    * (slab.min.y - region.min.y) as usize;
                cells.reset(slab);
                fill_slab(&mut cells, first, slice, &materials, voxel_size_m);
                grid.write(&cells)?;
            }
            Ok(())
        })
    }
}

/// Fills a box of distances; its first cell is that of index `first`.
fn fill_slab(
    cells: &mut DenseBox,
    first: usize,
    distances: &[f32],
    materials: &TopMaterials<'_>,
    voxel_size_m: f64,
) {
    let (to_material, to_occupancy) = cells.arrays_mut();
    let part = first..first + to_material.len();
    let to = to_material.iter_mut().zip(to_occupancy);
    for ((to_material, to_occupancy), at) in to.zip(part) {
        let units = occupancy_units(f64::from(distances[at]) / voxel_size_m);
        let material = match (units, materials) {
            (0, _) => AIR,
            (_, TopMaterials::One(material)) => *material,
            (_, TopMaterials::Map(map)) => map[at],
        };
        let cell = Cell::new(material, units.saturating_sub(1) as u8);
        (*to_material, *to_occupancy) = (cell.material, cell.occupancy);
    }
}
