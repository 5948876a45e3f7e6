//! Meshes of regions, block by block, joined without double vertices.

use crate::arrays::{Voxel, region_between, to_mip, to_voxel};
use crate::failure::{Failure, Outcome, bad_value};
use crate::opened::Reader;
use crate::world::World;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use std::collections::HashMap;
use terravox::mesh::{BlockMesh, Mesher, PAD, Shores, Surface, VertexKey};
use terravox::voxel::{DenseBox, MaterialTable, Region};

/// Edge of the blocks that are meshed one by one, cells.
const BLOCK_BITS: u32 = 5;

/// A triangle mesh. It is open where the region ends.
#[pyclass(frozen, module = "terravox")]
pub struct Mesh {
    /// Positions, float32, shape (n, 3): metres from `origin_m`.
    #[pyo3(get)]
    vertices: Py<PyArray2<f32>>,
    /// Unit normals out of the ground or water, float32, shape (n, 3).
    #[pyo3(get)]
    normals: Py<PyArray2<f32>>,
    /// Vertices of each triangle, uint32, shape (m, 3), counter-clockwise seen from outside.
    #[pyo3(get)]
    triangles: Py<PyArray2<u32>>,
    /// The material behind each triangle, uint8, shape (m,).
    #[pyo3(get)]
    triangle_materials: Py<PyArray1<u8>>,
    /// Up to four materials of each vertex, uint8, shape (n, 4); 0 where the weight is 0.
    #[pyo3(get)]
    materials: Py<PyArray2<u8>>,
    /// Weights of `materials`, uint8, shape (n, 4); they sum to 255.
    #[pyo3(get)]
    weights: Py<PyArray2<u8>>,
    /// Where the min corner of the region lies, metres.
    #[pyo3(get)]
    origin_m: (f64, f64, f64),
    counts: [usize; 2],
}

#[pymethods]
impl Mesh {
    fn __repr__(&self) -> String {
        let [vertices, triangles] = self.counts;
        format!("<terravox.Mesh {vertices} vertices, {triangles} triangles>")
    }
}

/// The joined meshes of blocks: flat arrays.
#[derive(Default)]
struct Joined {
    vertices: Vec<f32>,
    normals: Vec<f32>,
    triangles: Vec<u32>,
    triangle_materials: Vec<u8>,
    materials: Vec<u8>,
    weights: Vec<u8>,
    /// Vertices on the sides of blocks, which other blocks have, too.
    shared: HashMap<VertexKey, u32>,
    /// By vertex of the block at hand: its number here.
    numbers: Vec<u32>,
}

impl Joined {
    /// Adds the mesh of a block; positions become metres from the min corner of the region.
    fn add(&mut self, surface: &Surface, block: Region, from: Region, cell_m: f64) -> Outcome<()> {
        let offset = (block.min - from.min).to_array().map(f64::from);
        self.numbers.clear();
        for (vertex, key) in surface.keys.iter().enumerate() {
            let number = u32::try_from(self.vertices.len() / 3);
            let Ok(number) = number else {
                return bad_value("the mesh has more than 2^32 vertices; mesh a smaller region");
            };
            if is_on_side(key, block) {
                let known = *self.shared.entry(*key).or_insert(number);
                if known != number {
                    self.numbers.push(known);
                    continue;
                }
            }
            self.numbers.push(number);
            let position = surface.positions[vertex];
            let metres = |i: usize| ((f64::from(position[i]) + offset[i]) * cell_m) as f32;
            self.vertices.extend([0, 1, 2].map(metres));
            self.normals.extend(surface.normals[vertex]);
            self.materials.extend(surface.materials[vertex]);
            self.weights.extend(surface.weights[vertex]);
        }
        let numbers = &self.numbers;
        for triangle in surface.triangles() {
            self.triangles.extend(triangle.map(|vertex| numbers[vertex as usize]));
        }
        self.triangle_materials.extend(surface.triangle_materials());
        Ok(())
    }
}

/// Whether a vertex belongs to a corner on a side of its block.
fn is_on_side(key: &VertexKey, block: Region) -> bool {
    let corner = key.corner.to_array();
    let [min, max] = [block.min, block.max].map(|v| v.to_array());
    (0..3).any(|axis| corner[axis] <= min[axis] || corner[axis] >= max[axis])
}

/// What is meshed.
struct Request<'a> {
    region: Region,
    mip: u8,
    is_liquid: bool,
    cell_m: f64,
    table: &'a MaterialTable,
}

impl Request<'_> {
    fn mesh(&self, reader: &Reader<'_>) -> Outcome<Joined> {
        let mut joined = Joined::default();
        let (mut mesher, mut shores) = (Mesher::new(), Shores::default());
        let (mut cells, mut mesh) = (DenseBox::default(), BlockMesh::new());
        for at in self.region.coarser(BLOCK_BITS).voxels() {
            let block = Region::one(at).finer(BLOCK_BITS).intersect(self.region);
            let around = block.grow(PAD);
            match reader {
                Reader::Loaded(snapshot) if self.is_liquid => {
                    shores.read(snapshot, around, self.mip, &mut cells)?;
                }
                _ => reader.read(around, self.mip, &mut cells)?,
            }
            if is_uniform(&cells) {
                continue;
            }
            mesher.mesh_keyed(&cells, self.table, &mut mesh);
            let surface = if self.is_liquid { &mesh.liquid } else { &mesh.solid };
            joined.add(surface, block, self.region, self.cell_m)?;
        }
        Ok(joined)
    }
}

/// Whether all cells are full cells of one material, so that there is no surface.
fn is_uniform(cells: &DenseBox) -> bool {
    let (materials, occupancies) = (cells.materials(), cells.occupancies());
    match (materials.first(), occupancies.first()) {
        (Some(material), Some(occupancy)) => {
            materials.iter().all(|m| m == material)
                && occupancies.iter().all(|o| o == occupancy)
                && (*material == 0 || *occupancy == 255)
        }
        _ => true,
    }
}

#[pymethods]
impl World {
    /// Meshes the surface between `min` and `max`: (x, y, z), in cells of `mip`, which are 2**mip
    /// voxels wide. `surface` is `"solid"` or `"liquid"`. Neighbouring regions have the same
    /// vertices where they meet.
    #[pyo3(signature = (min, max, mip = 0, *, surface = "solid"))]
    fn mesh(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = to_voxel)] min: Voxel,
        #[pyo3(from_py_with = to_voxel)] max: Voxel,
        #[pyo3(from_py_with = to_mip)] mip: u8,
        surface: &str,
    ) -> PyResult<Mesh> {
        let is_liquid = match surface {
            "solid" => false,
            "liquid" => true,
            _ => bad_value(format!("surface is {surface:?}; it must be \"solid\" or \"liquid\""))?,
        };
        let region = region_between(min, max, mip)?;
        let (joined, origin_m) = self.look(py, |opened| {
            let info = opened.info();
            let reader = opened.reader()?;
            if let (Reader::Stored(_), true) = (&reader, is_liquid) {
                let what = "a liquid surface needs the cells in memory, and the world was opened \
                            with load=False";
                return Err(Failure::World(what.to_owned()));
            }
            let voxels_a_cell = f64::from(1u32 << mip);
            let cell_m = info.voxel_size_m * voxels_a_cell;
            let request = Request { region, mip, is_liquid, cell_m, table: &info.materials };
            let corner = region.min.to_array().map(|v| f64::from(v) * voxels_a_cell);
            Ok((request.mesh(&reader)?, info.placement().world_from_voxel(corner)))
        })?;
        let counts = [joined.vertices.len() / 3, joined.triangles.len() / 3];
        Ok(Mesh {
            vertices: rows(py, joined.vertices, 3)?,
            normals: rows(py, joined.normals, 3)?,
            triangles: rows(py, joined.triangles, 3)?,
            triangle_materials: PyArray1::from_vec(py, joined.triangle_materials).unbind(),
            materials: rows(py, joined.materials, 4)?,
            weights: rows(py, joined.weights, 4)?,
            origin_m: origin_m.into(),
            counts,
        })
    }
}

/// An array of rows, of memory that Rust gave.
pub fn rows<T: numpy::Element>(
    py: Python<'_>,
    values: Vec<T>,
    width: usize,
) -> PyResult<Py<PyArray2<T>>> {
    let length = values.len() / width;
    Ok(PyArray1::from_vec(py, values).reshape([length, width])?.unbind())
}
