//! Shapes of brushes.

use crate::failure::{Outcome, bad_value};
use numpy::{AllowTypeChange, PyArrayLike2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use terravox::edit;

/// The shape of an edit, in world metres.
///
/// Make one with `Brush.ball`, `Brush.box`, `Brush.cylinder`, `Brush.wedge`, `Brush.capsule`,
/// `Brush.path`, `Brush.mesh` or `Brush.heights`. Numbers that make no shape are refused by the
/// edit.
#[pyclass(frozen, eq, module = "terravox")]
#[derive(PartialEq)]
pub struct Brush {
    pub inner: edit::Brush,
}

/// Points as Python gives them: anything that numpy makes an array of shape (n, 3) of.
type Points<'py> = PyArrayLike2<'py, f64, AllowTypeChange>;

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
    fn path(points: Points<'_>, radius: f64) -> PyResult<Brush> {
        Ok(Brush { inner: edit::Brush::Path { points: triples("points", &points)?, radius } })
    }

    /// The inside of a closed triangle mesh: vertices of shape (n, 3), triangles of shape (m, 3),
    /// counter-clockwise seen from outside.
    #[staticmethod]
    fn mesh(
        vertices: Points<'_>,
        triangles: PyArrayLike2<'_, i64, AllowTypeChange>,
    ) -> PyResult<Brush> {
        let vertices = triples("vertices", &vertices)?;
        let indices = triples("triangles", &triangles)?;
        let vertex = |index: i64| match u32::try_from(index) {
            Ok(index) => Ok(index),
            Err(_) => bad_value(format!("triangles has the index {index}; it must be 0 or more")),
        };
        let triangles = indices.iter().map(|&[a, b, c]| Ok([vertex(a)?, vertex(b)?, vertex(c)?]));
        let triangles = triangles.collect::<Outcome<Vec<_>>>()?;
        Ok(Brush { inner: edit::Brush::Mesh { vertices, triangles } })
    }

    /// Ground below a grid of heights above `corner`, shape (z, x), samples `spacing` apart.
    #[staticmethod]
    fn heights(
        corner: [f64; 3],
        spacing: f64,
        heights: PyArrayLike2<'_, f32, AllowTypeChange>,
    ) -> PyResult<Brush> {
        let Ok(width) = u32::try_from(heights.shape()[1]) else {
            return Ok(bad_value("the rows of the heights are too long")?);
        };
        let heights = heights.as_array().iter().copied().collect();
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

/// The rows of an array of shape (n, 3).
fn triples<T: numpy::Element + Copy>(
    name: &str,
    array: &PyArrayLike2<'_, T, AllowTypeChange>,
) -> Outcome<Vec<[T; 3]>> {
    if array.shape()[1] != 3 {
        return bad_value(format!("{name} has the shape {:?}; it must be (n, 3)", array.shape()));
    }
    Ok(array.as_array().rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect())
}
