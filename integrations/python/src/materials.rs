//! Materials, and the ways to name one.

use crate::arrays::{bounded, check_length};
use crate::failure::{Failure, Outcome, bad_value};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use terravox::voxel::{self, Kind, MaterialTable, SurfaceShape};

/// A material of a world: its name, and what it is.
#[pyclass(frozen, eq, from_py_object, module = "terravox")]
#[derive(Clone, PartialEq)]
pub struct Material {
    inner: voxel::Material,
}

const KINDS: [(&str, Kind); 3] =
    [("air", Kind::Air), ("liquid", Kind::Liquid), ("solid", Kind::Solid)];

const SHAPES: [(&str, SurfaceShape); 5] = [
    ("default", SurfaceShape::Default),
    ("smooth", SurfaceShape::Smooth),
    ("sharp", SurfaceShape::Sharp),
    ("blocky", SurfaceShape::Blocky),
    ("rubble", SurfaceShape::Rubble),
];

/// The value of a name in a table of few.
fn named<T: Copy>(what: &str, given: &str, table: &[(&str, T)]) -> Outcome<T> {
    match table.iter().find(|(name, _)| *name == given) {
        Some(&(_, value)) => Ok(value),
        None => {
            let names: Vec<_> = table.iter().map(|(name, _)| *name).collect();
            bad_value(format!("{what} is {given:?}; it must be one of {}", names.join(", ")))
        }
    }
}

/// The name of a value in a table of few.
fn name_of<T: PartialEq>(value: &T, table: &[(&'static str, T)]) -> &'static str {
    table.iter().find(|entry| entry.1 == *value).map_or("", |entry| entry.0)
}

/// Extracts a colour.
fn to_colour(given: &Bound<'_, PyAny>) -> PyResult<[u8; 3]> {
    bounded(given, "colour", "three numbers from 0 to 255")
}

#[pymethods]
impl Material {
    #[new]
    #[pyo3(signature = (
        name, *, kind = "solid", shape = "default", colour = [128; 3],
        friction = 0.6, restitution = 0.1, density = 2000.0, hardness = 1.0
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        name: String,
        kind: &str,
        shape: &str,
        #[pyo3(from_py_with = to_colour)] colour: [u8; 3],
        friction: f32,
        restitution: f32,
        density: f32,
        hardness: f32,
    ) -> PyResult<Material> {
        let (kind, shape) = (named("kind", kind, &KINDS)?, named("shape", shape, &SHAPES)?);
        let inner =
            voxel::Material { name, kind, shape, colour, friction, restitution, density, hardness };
        Ok(Material { inner })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// `"air"`, `"liquid"` or `"solid"`.
    #[getter]
    fn kind(&self) -> &'static str {
        name_of(&self.inner.kind, &KINDS)
    }

    /// The shape of its surface: `"default"`, `"smooth"`, `"sharp"`, `"blocky"` or `"rubble"`.
    #[getter]
    fn shape(&self) -> &'static str {
        name_of(&self.inner.shape, &SHAPES)
    }

    /// Its sRGB colour, 0 to 255 each.
    #[getter]
    fn colour(&self) -> (u8, u8, u8) {
        let [r, g, b] = self.inner.colour;
        (r, g, b)
    }

    /// Coulomb friction coefficient.
    #[getter]
    fn friction(&self) -> f32 {
        self.inner.friction
    }

    /// Restitution, 0 to 1.
    #[getter]
    fn restitution(&self) -> f32 {
        self.inner.restitution
    }

    /// Kilograms per cubic metre.
    #[getter]
    fn density(&self) -> f32 {
        self.inner.density
    }

    /// How long digging takes, relative to ground at 1.
    #[getter]
    fn hardness(&self) -> f32 {
        self.inner.hardness
    }

    fn __repr__(&self) -> String {
        format!("Material({:?}, kind={:?})", self.inner.name, self.kind())
    }
}

/// The materials of a table, by id.
pub fn materials_of(table: &MaterialTable) -> Vec<Material> {
    table.materials().iter().map(|inner| Material { inner: inner.clone() }).collect()
}

/// A table of what Python gave; the default one for `None`.
pub fn table_of(materials: Option<&Bound<'_, PyAny>>) -> PyResult<MaterialTable> {
    let Some(materials) = materials else { return Ok(MaterialTable::default()) };
    check_length(materials, "materials", 256)?;
    let materials = materials.extract::<Vec<Material>>()?;
    let materials: Vec<_> = materials.into_iter().map(|material| material.inner).collect();
    let table = MaterialTable::try_from(materials);
    Ok(table.map_err(|error| Failure::Value(error.to_string()))?)
}

/// A material as Python gives it: an id or a name.
#[derive(Clone)]
pub enum MaterialRef {
    /// An id.
    Id(u8),
    /// A name; ASCII case is ignored.
    Name(String),
}

impl FromPyObject<'_, '_> for MaterialRef {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<MaterialRef> {
        if let Ok(name) = given.extract::<String>() {
            return Ok(MaterialRef::Name(name));
        }
        given.extract().map(MaterialRef::Id).map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(given.py()) {
                let what = format!("material {} does not exist; ids are 0 to 255", &*given);
                return Failure::Value(what).into();
            }
            let what = match given.get_type().name() {
                Ok(name) => format!("a material is a {name}; it must be an id or a name"),
                Err(error) => return error,
            };
            Failure::Type(what).into()
        })
    }
}

impl MaterialRef {
    /// The id, if the world has such a material.
    pub fn id(&self, table: &MaterialTable) -> Outcome<u8> {
        match self {
            MaterialRef::Id(id) => Ok(*id),
            MaterialRef::Name(name) => match table.find(name) {
                Some(id) => Ok(id),
                None => {
                    let names: Vec<_> = table.materials().iter().map(|m| m.name.as_str()).collect();
                    bad_value(format!(
                        "the world has no material {name:?}; it has {}",
                        names.join(", ")
                    ))
                }
            },
        }
    }
}
