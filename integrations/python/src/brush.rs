//! Shapes of brushes.

use crate::arrays::{Numbers, RowLimit, copied, triples};
use crate::failure::{Outcome, bad_value};
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use terravox::edit;

/// The shape of an edit, in world metres.
///
/// Make one with `Brush.ball`, `Brush.box`, `Brush.cylinder`, `Brush.wedge`, `Brush.capsule`,
/// `Brush.path`, `Brush.mesh` or `Brush.heights`. Invalid shapes raise when the edit is applied.
#[pyclass(frozen, eq, module = "terravox")]
#[derive(PartialEq)]
pub struct Brush {
    pub inner: edit::Brush,
}

/// As many as an edit takes.
const POINTS: RowLimit = RowLimit { rows: 4096, text: "a path takes 4096" };
/// As many as an edit takes.
const TRIANGLES: RowLimit = RowLimit { rows: 1 << 20, text: "a mesh takes 1048576 (2^20)" };
/// More than so many triangles have.
const VERTICES: RowLimit = RowLimit { rows: 1 << 22, text: "a mesh takes 4194304 (2^22)" };
/// Most samples of heights: the columns of a world that one edit may change.
const MAX_SAMPLES: usize = 1 << 26;

#[pymethods]
impl Brush {
    /// A ball.
    #[staticmethod]
    fn ball(centre: [f64; 3], radius: f64) -> Brush {
        Brush { inner: edit::Brush::Ball { centre, radius } }
    }

    /// A box, of half the length of its edges. Rotations are quaternions (x, y, z, w).
    #[staticmethod]
    #[pyo3(name = "box", signature = (centre, half, rotation = edit::Brush::NO_ROTATION))]
    fn box_(centre: [f64; 3], half: [f64; 3], rotation: [f64; 4]) -> Brush {
        Brush { inner: edit::Brush::Box { centre, half, rotation } }
    }

    /// A cylinder, upright before its rotation.
    #[staticmethod]
    #[pyo3(signature = (centre, radius, half_height, rotation = edit::Brush::NO_ROTATION))]
    fn cylinder(centre: [f64; 3], radius: f64, half_height: f64, rotation: [f64; 4]) -> Brush {
        Brush { inner: edit::Brush::Cylinder { centre, radius, half_height, rotation } }
    }

    /// A ramp that rises with z: the lower half of a box.
    #[staticmethod]
    #[pyo3(signature = (centre, half, rotation = edit::Brush::NO_ROTATION))]
    fn wedge(centre: [f64; 3], half: [f64; 3], rotation: [f64; 4]) -> Brush {
        Brush { inner: edit::Brush::Wedge { centre, half, rotation } }
    }

    /// Everything within a distance of a line: a cylinder with round ends.
    #[staticmethod]
    fn capsule(start: [f64; 3], end: [f64; 3], radius: f64) -> Brush {
        Brush { inner: edit::Brush::Path { points: vec![start, end], radius } }
    }

    /// Everything within a distance of a polyline of 1 to 4,096 points, shape (n, 3).
    #[staticmethod]
    fn path(points: &Bound<'_, PyAny>, radius: f64) -> PyResult<Brush> {
        let points = triples(points, "points", Numbers::Real, &POINTS)?;
        Ok(Brush { inner: edit::Brush::Path { points, radius } })
    }

    /// The inside of a closed triangle mesh: vertices of shape (n, 3), triangles of shape (m, 3),
    /// integers, counter-clockwise seen from outside; at most 2^20 triangles.
    #[staticmethod]
    fn mesh(vertices: &Bound<'_, PyAny>, triangles: &Bound<'_, PyAny>) -> PyResult<Brush> {
        let vertices: Vec<[f64; 3]> = triples(vertices, "vertices", Numbers::Real, &VERTICES)?;
        let indices = triples(triangles, "triangles", Numbers::Integer, &TRIANGLES)?;
        let vertex = |index: i64| match u32::try_from(index) {
            Ok(vertex) if (vertex as usize) < vertices.len() => Ok(vertex),
            _ => bad_value(format!(
                "triangles has the index {index}, and there are {} vertices; indices begin at 0",
                vertices.len()
            )),
        };
        let triangles = indices.iter().map(|&[a, b, c]| Ok([vertex(a)?, vertex(b)?, vertex(c)?]));
        let triangles = triangles.collect::<Outcome<Vec<_>>>()?;
        Ok(Brush { inner: edit::Brush::Mesh { vertices, triangles } })
    }

    /// Ground below a grid of heights above `corner`, shape (z, x), samples `spacing` apart; at most
    /// 2^26 samples.
    #[staticmethod]
    fn heights(corner: [f64; 3], spacing: f64, heights: &Bound<'_, PyAny>) -> PyResult<Brush> {
        let heights = copied(heights, "heights", Numbers::Real, |[depth, width]| {
            match width > MAX_SAMPLES || depth.saturating_mul(width) > MAX_SAMPLES {
                true => bad_value(format!(
                    "heights has the shape [{depth}, {width}]; a brush takes {MAX_SAMPLES} samples \
                     (2^26), so use several"
                )),
                false => Ok(()),
            }
        })?;
        let (width, heights) = (heights.shape()[1] as u32, heights.as_slice()?.to_vec());
        Ok(Brush { inner: edit::Brush::Heights { corner, spacing, width, heights } })
    }

    fn __repr__(&self) -> String {
        match &self.inner {
            edit::Brush::Ball { centre, radius } => format!("Brush.ball({centre:?}, {radius})"),
            edit::Brush::Path { points, radius } => {
                format!("Brush.path({} points, {radius})", points.len())
            }
            edit::Brush::Mesh { triangles, .. } => {
                format!("Brush.mesh({} triangles)", triangles.len())
            }
            edit::Brush::Heights { heights, .. } => {
                format!("Brush.heights({} samples)", heights.len())
            }
            other => format!("Brush({other:?})"),
        }
    }
}
