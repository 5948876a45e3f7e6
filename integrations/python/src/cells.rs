//! Cells as arrays: reading and writing regions.
//!
//! At mip 0, rows go from the packed chunks straight into the memory of the arrays.

use crate::arrays::{Checked, Voxel, region_between, region_of_array, shape_of, to_mip, to_voxel};
use crate::failure::{Outcome, bad_value};
use crate::materials::MaterialRef;
use crate::opened::Reader;
use crate::world::World;
use numpy::{
    PyArray1, PyArray3, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods, dtype, get_array_module,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Mutex, MutexGuard, PoisonError};
use terravox::voxel::{AIR, Cell, ChunkPos, ChunkView, DenseBox, NotHeld, Region, Row, Snapshot};

/// Cells of a region, as arrays indexed [y, z, x].
#[pyclass(frozen, module = "terravox")]
pub struct Cells {
    /// Material ids, uint8, shape (y, z, x); 0 is air.
    #[pyo3(get)]
    material: Py<PyArray3<u8>>,
    /// How full each cell is, uint8, shape (y, z, x): v means (v + 1) / 256; 0 in air.
    #[pyo3(get)]
    occupancy: Py<PyArray3<u8>>,
    /// What belongs to the cells that are in the arrays now. Never held while Python code may run.
    about: Mutex<About>,
}

/// What belongs to the cells in the arrays.
struct About {
    water_index: Py<PyArray1<i64>>,
    water: Py<PyArray1<u8>>,
    min: [i32; 3],
    mip: u8,
}

impl About {
    fn new(py: Python<'_>, water: &Water, min: [i32; 3], mip: u8) -> About {
        About {
            water_index: PyArray1::from_iter(py, water.iter().map(|w| i64::from(w.0))).unbind(),
            water: PyArray1::from_iter(py, water.iter().map(|w| w.1)).unbind(),
            min,
            mip,
        }
    }
}

impl Cells {
    fn about(&self) -> MutexGuard<'_, About> {
        self.about.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Cells {
    /// Where solid cells hold water (at shores): indices of the flattened arrays, ascending, int64.
    #[getter]
    fn water_index(&self, py: Python<'_>) -> Py<PyArray1<i64>> {
        self.about().water_index.clone_ref(py)
    }

    /// How much water those cells hold, uint8, as `occupancy`.
    #[getter]
    fn water(&self, py: Python<'_>) -> Py<PyArray1<u8>> {
        self.about().water.clone_ref(py)
    }

    /// The lowest cell, (x, y, z), in cells of `mip`.
    #[getter]
    fn min(&self) -> (i32, i32, i32) {
        self.about().min.into()
    }

    /// The mip: cells are 2**mip voxels wide.
    #[getter]
    fn mip(&self) -> u8 {
        self.about().mip
    }

    /// How full each cell is, float32: 0 for air, up to 1.
    fn fraction<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let (material, occupancy) = (self.material.bind(py), self.occupancy.bind(py));
        let fractions = PyArrayDyn::<f32>::zeros(py, material.shape(), false);
        {
            let (material, occupancy) = (material.try_readonly()?, occupancy.try_readonly()?);
            let mut out = fractions.try_readwrite()?;
            let (material, occupancy) = (material.as_slice()?, occupancy.as_slice()?);
            let out = out.as_slice_mut()?;
            py.detach(|| {
                for ((out, &material), &occupancy) in out.iter_mut().zip(material).zip(occupancy) {
                    *out = Cell { material, occupancy }.fraction();
                }
            });
        }
        Ok(fractions)
    }

    /// The shape of the arrays: (y, z, x).
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        // Whatever it is: NumPy lets users set the shape of an array.
        PyTuple::new(py, self.material.bind(py).shape())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let [y, z, x] = self.material.bind(py).shape() else {
            return "<terravox.Cells>".to_owned();
        };
        let (min, mip) = (self.min(), self.mip());
        format!("<terravox.Cells {x} x {y} x {z} from {min:?} at mip {mip}>")
    }
}

/// The water of a region: index in the arrays, amount.
type Water = Vec<(u32, u8)>;

/// Reads all cells of a region at mip 0 into arrays of its size.
fn read_fine(
    snapshot: &Snapshot,
    region: Region,
    material: &mut [u8],
    occupancy: &mut [u8],
) -> Result<Water, NotHeld> {
    let mut water = Water::new();
    let chunks = region.coarser(5);
    let mut views = Vec::with_capacity(chunks.size()[0]);
    for y in chunks.min.y..chunks.max.y {
        for z in chunks.min.z..chunks.max.z {
            views.clear();
            for x in chunks.min.x..chunks.max.x {
                let chunk = ChunkPos::new(x, y, z);
                let part = chunk.region().intersect(region);
                let view = snapshot.chunk(chunk)?;
                read_water(view, chunk, region, &mut water);
                views.push(Piece { view, x: local(part.min.x), width: part.size()[0] });
            }
            let part = ChunkPos::new(chunks.min.x, y, z).region().intersect(region);
            read_rows(&views, part, region, material, occupancy);
        }
    }
    water.sort_unstable_by_key(|entry| entry.0);
    Ok(water)
}

/// A chunk, and which of the cells along x are read of it.
struct Piece<'a> {
    view: ChunkView<'a>,
    x: usize,
    width: usize,
}

fn local(v: i32) -> usize {
    (v & 31) as usize
}

/// Reads the rows that chunks beside each other share; `part` has their y and z.
fn read_rows(
    pieces: &[Piece<'_>],
    part: Region,
    region: Region,
    material: &mut [u8],
    occupancy: &mut [u8],
) {
    let mut scratch = Row::uniform(AIR);
    let [width, _, depth] = region.size();
    for y in part.min.y..part.max.y {
        for z in part.min.z..part.max.z {
            let row = (z - region.min.z) as usize + depth * (y - region.min.y) as usize;
            let cells = row * width..(row + 1) * width;
            let (mut material, mut occupancy) =
                (&mut material[cells.clone()], &mut occupancy[cells]);
            for piece in pieces {
                let row = piece.view.row(local(y), local(z), &mut scratch);
                let (to_material, to_occupancy);
                (to_material, material) = material.split_at_mut(piece.width);
                (to_occupancy, occupancy) = occupancy.split_at_mut(piece.width);
                if piece.width == Row::CELLS {
                    // A known length needs no call of memcpy.
                    to_material[..Row::CELLS].copy_from_slice(&row.material);
                    to_occupancy[..Row::CELLS].copy_from_slice(&row.occupancy);
                } else {
                    let from = piece.x..piece.x + piece.width;
                    to_material.copy_from_slice(&row.material[from.clone()]);
                    to_occupancy.copy_from_slice(&row.occupancy[from]);
                }
            }
        }
    }
}

fn read_water(view: ChunkView<'_>, chunk: ChunkPos, region: Region, water: &mut Water) {
    for &(cell, held) in view.water() {
        let (x, z, y) = (cell & 31, cell >> 5 & 31, cell >> 10);
        let min = chunk.min_voxel();
        let [x, y, z] = [min.x + i32::from(x), min.y + i32::from(y), min.z + i32::from(z)];
        if region.contains([x, y, z].into()) {
            let [width, _, depth] = region.size();
            let [x, y, z] = [x - region.min.x, y - region.min.y, z - region.min.z];
            let at = x as usize + width * (z as usize + depth * y as usize);
            water.push((at as u32, held));
        }
    }
}

/// Reads all cells of a region into arrays of its size.
fn read_cells(
    reader: &Reader<'_>,
    region: Region,
    mip: u8,
    material: &mut [u8],
    occupancy: &mut [u8],
) -> Outcome<Water> {
    if let (Reader::Loaded(snapshot), 0) = (reader, mip) {
        return Ok(read_fine(snapshot, region, material, occupancy)?);
    }
    let mut cells = DenseBox::default();
    reader.read(region, mip, &mut cells)?;
    material.copy_from_slice(cells.materials());
    occupancy.copy_from_slice(cells.occupancies());
    Ok(cells.water().to_vec())
}

/// An array with unspecified bytes, for callers that write all of them. NumPy asks for huge pages
/// for what it does not clear itself.
fn empty<'py>(py: Python<'py>, shape: [usize; 3]) -> PyResult<Bound<'py, PyArray3<u8>>> {
    let [y, z, x] = shape;
    let array = get_array_module(py)?.call_method1("empty", ((y, z, x), dtype::<u8>(py)))?;
    Ok(array.cast_into()?)
}

/// Checks that an array that is to be written can hold cells of a shape.
fn check_out(array: &Bound<'_, PyArray3<u8>>, shape: [usize; 3]) -> Outcome<()> {
    if array.shape() != shape {
        return bad_value(format!(
            "out has arrays of shape {:?}; this region needs {shape:?}",
            array.shape()
        ));
    }
    match array.is_c_contiguous() {
        true => Ok(()),
        false => bad_value("out has arrays that are not in C order"),
    }
}

#[pymethods]
impl World {
    /// Reads the cells from `min` up to, not including, `max`: (x, y, z), in cells of `mip`, which
    /// are 2**mip voxels wide. Returns arrays of shape (y, z, x).
    ///
    /// `out` takes what an earlier read of the same shape returned: its arrays are written again,
    /// which saves the time to get new memory, and it is returned, with the water, `min` and `mip` of
    /// this read.
    #[pyo3(signature = (min, max, mip = 0, *, out = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = to_voxel)] min: Voxel,
        #[pyo3(from_py_with = to_voxel)] max: Voxel,
        #[pyo3(from_py_with = to_mip)] mip: u8,
        out: Option<Bound<'py, Cells>>,
    ) -> PyResult<Bound<'py, Cells>> {
        let region = region_between(min, max, mip)?;
        let shape = shape_of(region);
        let (material, occupancy) = match &out {
            None => (empty(py, shape)?, empty(py, shape)?),
            Some(out) => {
                let out = out.get();
                (out.material.bind(py).clone(), out.occupancy.bind(py).clone())
            }
        };
        check_out(&material, shape)?;
        check_out(&occupancy, shape)?;
        // Borrowed until all of `out` is of this read.
        let (mut to_material, mut to_occupancy) =
            (material.try_readwrite()?, occupancy.try_readwrite()?);
        let water = {
            let (material, occupancy) = (to_material.as_slice_mut()?, to_occupancy.as_slice_mut()?);
            self.look(py, |opened| read_cells(&opened.reader()?, region, mip, material, occupancy))?
        };
        let about = About::new(py, &water, region.min.to_array(), mip);
        if let Some(out) = out {
            // What was there goes only after the lock, since Python may watch it go.
            let _old = std::mem::replace(&mut *out.get().about(), about);
            return Ok(out);
        }
        let about = Mutex::new(about);
        let (material, occupancy) = (material.clone().unbind(), occupancy.clone().unbind());
        Bound::new(py, Cells { material, occupancy, about })
    }

    /// Replaces the cells from `min` on by arrays of shape (y, z, x): materials, and how full the
    /// cells are (all full if None). `water_index` and `water` are the water in solid cells, as
    /// `read` returns it. `undo` does not undo this; `paste` does the same as an edit.
    #[pyo3(signature = (min, material, occupancy = None, *, water_index = None, water = None))]
    fn write(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = to_voxel)] min: Voxel,
        material: &Bound<'_, PyAny>,
        occupancy: Option<&Bound<'_, PyAny>>,
        water_index: Option<&Bound<'_, PyAny>>,
        water: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let given = CellArrays::new(min, material, occupancy, [water_index, water])?;
        let (region, arrays) = given.slices()?;
        self.change(py, |opened| {
            let terrain = opened.writable("write")?;
            let mut grid = terrain.grid_mut();
            let mut cells = DenseBox::default();
            // Slabs of one layer of chunks, so that no copy of the arrays is in memory.
            for slab in slabs(region) {
                arrays.copy_slab(slab, region, &mut cells);
                grid.write(&cells)?;
            }
            Ok(())
        })
    }

    /// Fills the box from `min` up to, not including, `max` with full cells of a material; air
    /// empties it. `undo` does not undo this.
    fn fill_box(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = to_voxel)] min: Voxel,
        #[pyo3(from_py_with = to_voxel)] max: Voxel,
        material: MaterialRef,
    ) -> PyResult<()> {
        let region = region_between(min, max, 0)?;
        let material = self.material_id(py, &material)?;
        self.change(py, |opened| {
            let terrain = opened.writable("fill_box")?;
            let mut grid = terrain.grid_mut();
            let mut cells = DenseBox::default();
            for slab in slabs(region) {
                cells.reset(slab);
                cells.fill(material);
                grid.write(&cells)?;
            }
            Ok(())
        })
    }
}

/// Arrays of cells that Python gave, and where they are to go.
pub struct CellArrays<'py> {
    region: Region,
    material: Checked<'py, u8>,
    occupancy: Option<Checked<'py, u8>>,
    /// Indices and amounts.
    water: Option<(Checked<'py, i64>, Checked<'py, u8>)>,
}

/// The same as slices, for work without the interpreter lock.
pub struct CellSlices<'a> {
    material: &'a [u8],
    /// All cells are full if there is none.
    occupancy: Option<&'a [u8]>,
    water: Water,
}

impl<'py> CellArrays<'py> {
    pub fn new(
        min: Voxel,
        material: &Bound<'py, PyAny>,
        occupancy: Option<&Bound<'py, PyAny>>,
        water: [Option<&Bound<'py, PyAny>>; 2],
    ) -> PyResult<CellArrays<'py>> {
        let material = Checked::new(material, "material", 3)?;
        let occupancy = occupancy.map(|given| Checked::new(given, "occupancy", 3)).transpose()?;
        if let Some(occupancy) = &occupancy {
            occupancy.check_shape("occupancy", material.shape(), "material")?;
        }
        let water = match water {
            [None, None] => None,
            [Some(index), Some(water)] => {
                let index = Checked::new(index, "water_index", 1)?;
                let water = Checked::<u8>::new(water, "water", 1)?;
                water.check_shape("water", index.shape(), "water_index")?;
                Some((index, water))
            }
            _ => bad_value("water_index and water come together")?,
        };
        let region = region_of_array(min, material.shape())?;
        Ok(CellArrays { region, material, occupancy, water })
    }

    /// The region, and the slices over it.
    pub fn slices(&self) -> Outcome<(Region, CellSlices<'_>)> {
        let occupancy = self.occupancy.as_ref().map(Checked::slice).transpose()?;
        let mut water = Water::new();
        if let Some((index, amounts)) = &self.water {
            for (&index, &amount) in index.slice()?.iter().zip(amounts.slice()?) {
                let cell = u32::try_from(index).ok();
                match cell.filter(|&cell| u64::from(cell) < self.region.volume()) {
                    Some(cell) => water.push((cell, amount)),
                    None => {
                        return bad_value(format!(
                            "water_index has {index}; it must be 0 to {}",
                            self.region.volume().saturating_sub(1)
                        ));
                    }
                }
            }
            water.sort_by_key(|entry| entry.0);
        }
        Ok((self.region, CellSlices { material: self.material.slice()?, occupancy, water }))
    }
}

impl CellSlices<'_> {
    /// Makes `cells` the part of the arrays over `region` in a slab.
    fn copy_slab(&self, slab: Region, region: Region, cells: &mut DenseBox) {
        let [width, _, depth] = region.size();
        let first = width * depth * (slab.min.y - region.min.y) as usize;
        let part = first..first + slab.volume() as usize;
        cells.reset(slab);
        let (to_material, to_occupancy) = cells.arrays_mut();
        to_material.copy_from_slice(&self.material[part.clone()]);
        match self.occupancy {
            Some(occupancy) => to_occupancy.copy_from_slice(&occupancy[part.clone()]),
            // Writing clears that of air.
            None => to_occupancy.fill(255),
        }
        let after = |end: usize| self.water.partition_point(|entry| (entry.0 as usize) < end);
        let held = &self.water[after(part.start)..after(part.end)];
        cells.set_all_water(held.iter().map(|&(at, held)| (at - first as u32, held)).collect());
    }

    /// Makes a box of all of them; its occupancy of air is cleared.
    pub fn dense_box(&self, region: Region) -> DenseBox {
        let mut cells = DenseBox::default();
        self.copy_slab(region, region, &mut cells);
        let (material, occupancy) = cells.arrays_mut();
        for (occupancy, &material) in occupancy.iter_mut().zip(&*material) {
            *occupancy = Cell::new(material, *occupancy).occupancy;
        }
        cells
    }
}

/// The layers of chunks that a region crosses, each cut to it.
pub fn slabs(region: Region) -> impl Iterator<Item = Region> {
    let layers = if region.is_empty() { 0..0 } else { region.min.y >> 5..(region.max.y + 31) >> 5 };
    layers.map(move |layer| {
        let [mut min, mut max] = [region.min, region.max];
        min.y = min.y.max(layer << 5);
        max.y = max.y.min((layer << 5) + 32);
        Region { min, max }
    })
}
