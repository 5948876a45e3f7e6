//! Rays, many in one call.

use crate::arrays::{Numbers, RowLimit, triples};
use crate::failure::{Failure, Outcome, bad_value};
use crate::mesh::rows;
use crate::world::World;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use terravox::collide::{Filter, MissingData};
use terravox::terrain::{RayHit, RayOutcome, Terrain};

/// Most rays of a call: with what they hit, each takes about a hundred bytes.
const RAYS: RowLimit =
    RowLimit { rows: 1 << 22, text: "a call takes 4194304 (2^22), so split them" };

/// What rays hit: arrays with an entry for each ray.
#[pyclass(frozen, module = "terravox")]
pub struct RayHits {
    /// Whether it hit, bool, shape (n,).
    #[pyo3(get)]
    hit: Py<PyArray1<bool>>,
    /// Metres from the origin, float64, shape (n,); infinite for a miss.
    #[pyo3(get)]
    distance_m: Py<PyArray1<f64>>,
    /// Where, metres, float64, shape (n, 3); NaN for a miss.
    #[pyo3(get)]
    point_m: Py<PyArray2<f64>>,
    /// Unit normal of the surface, float32, shape (n, 3); 0 for a miss.
    #[pyo3(get)]
    normal: Py<PyArray2<f32>>,
    /// Material id, uint8, shape (n,); 0 for a miss.
    #[pyo3(get)]
    material: Py<PyArray1<u8>>,
    /// The voxel that was hit, int32, shape (n, 3); 0 for a miss.
    #[pyo3(get)]
    voxel: Py<PyArray2<i32>>,
    count: usize,
}

#[pymethods]
impl RayHits {
    fn __len__(&self) -> usize {
        self.count
    }

    fn __repr__(&self) -> String {
        format!("<terravox.RayHits of {} rays>", self.count)
    }
}

#[derive(Default)]
struct Found {
    hit: Vec<bool>,
    distance_m: Vec<f64>,
    point_m: Vec<f64>,
    normal: Vec<f32>,
    material: Vec<u8>,
    voxel: Vec<i32>,
}

/// What a cast has in common for all rays.
struct Cast {
    max_distance_m: f64,
    filter: Filter,
}

impl Cast {
    fn run(
        &self,
        terrain: &Terrain,
        origins: &[[f64; 3]],
        directions: &[[f64; 3]],
    ) -> Outcome<Found> {
        let mut found = Found::default();
        for (ray, (origin, direction)) in origins.iter().zip(directions).enumerate() {
            match terrain.ray_filtered(
                *origin,
                scaled(*direction),
                self.max_distance_m,
                &self.filter,
            ) {
                RayOutcome::Hit(hit) => found.push(Some(hit)),
                RayOutcome::Miss => found.push(None),
                RayOutcome::Unknown(missing) => return Err(unknown(ray, missing)),
            }
        }
        Ok(found)
    }
}

impl Found {
    fn push(&mut self, hit: Option<RayHit>) {
        self.hit.push(hit.is_some());
        self.distance_m.push(hit.map_or(f64::INFINITY, |hit| hit.distance_m));
        self.point_m.extend(hit.map_or([f64::NAN; 3], |hit| hit.point_m));
        self.normal.extend(hit.map_or([0.0; 3], |hit| hit.normal));
        self.material.push(hit.map_or(0, |hit| hit.material));
        self.voxel.extend(hit.map_or([0; 3], |hit| hit.voxel.to_array()));
    }
}

/// A direction of another length, whose largest component is 1: as `f32` it is neither zero nor
/// infinite.
fn scaled(direction: [f64; 3]) -> [f32; 3] {
    let largest = direction.iter().fold(0.0f64, |largest, v| largest.max(v.abs()));
    direction.map(|v| (v / largest) as f32)
}

/// Why a ray neither hits nor misses.
fn unknown(ray: usize, missing: MissingData) -> Failure {
    let chunk = match missing {
        MissingData::NotHeld(chunk) => chunk,
        MissingData::NotBuilt(block) => block.min_voxel().chunk(),
    };
    Failure::World(format!(
        "origins[{ray}]: before it hits anything, the ray reaches chunk {chunk}, which is not held; \
         the world grows from a generator, which is not part of it"
    ))
}

/// The rows of an array of shape (n, 3), all finite.
fn vectors(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<[f64; 3]>> {
    let vectors: Vec<[f64; 3]> = triples(given, name, Numbers::Real, &RAYS)?;
    if let Some(row) = vectors.iter().position(|v| !v.iter().all(|v| v.is_finite())) {
        bad_value(format!("{name}[{row}] is {:?}; it must be finite", vectors[row]))?;
    }
    Ok(vectors)
}

#[pymethods]
impl World {
    /// Casts rays from `origins` (metres) along `directions` (of any length), both of shape (n, 3);
    /// directions of shape (1, 3) are for all. Returns the first surface within `max_distance_m` of
    /// each. `surface` is `"solid"`, `"liquid"` or `"both"`. WorldError if one of them reaches what a
    /// world that grows has not stored.
    #[pyo3(signature = (origins, directions, max_distance_m = 1e4, *, surface = "solid"))]
    fn rays(
        &self,
        py: Python<'_>,
        origins: &Bound<'_, PyAny>,
        directions: &Bound<'_, PyAny>,
        max_distance_m: f64,
        surface: &str,
    ) -> PyResult<RayHits> {
        let filter = match surface {
            "solid" => Filter::SOLID,
            "liquid" => Filter::LIQUID,
            "both" => Filter::BOTH,
            _ => bad_value(format!(
                "surface is {surface:?}; it must be \"solid\", \"liquid\" or \"both\""
            ))?,
        };
        let origins = vectors(origins, "origins")?;
        let mut directions = vectors(directions, "directions")?;
        if let ([direction], true) = (&directions[..], origins.len() != 1) {
            directions = vec![*direction; origins.len()];
        }
        if origins.len() != directions.len() {
            bad_value(format!(
                "there are {} origins and {} directions",
                origins.len(),
                directions.len()
            ))?;
        }
        if let Some(ray) = directions.iter().position(|v| v.iter().all(|v| *v == 0.0)) {
            bad_value(format!("directions[{ray}] is zero; it must have a length"))?;
        }
        if max_distance_m.is_nan() || max_distance_m <= 0.0 {
            bad_value(format!("max_distance_m is {max_distance_m}; it must be above 0"))?;
        }
        let cast = Cast { max_distance_m, filter };
        let found =
            self.look(py, |opened| cast.run(opened.loaded("rays")?, &origins, &directions))?;
        Ok(RayHits {
            count: found.hit.len(),
            hit: PyArray1::from_vec(py, found.hit).unbind(),
            distance_m: PyArray1::from_vec(py, found.distance_m).unbind(),
            point_m: rows(py, found.point_m, 3)?,
            normal: rows(py, found.normal, 3)?,
            material: PyArray1::from_vec(py, found.material).unbind(),
            voxel: rows(py, found.voxel, 3)?,
        })
    }
}
