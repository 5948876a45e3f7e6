//! The Python package `terravox`: worlds as NumPy arrays.
//!
//! Each method checks what Python gave, releases the interpreter lock, works on plain slices and
//! values, and turns failures into named Python exceptions. `docs/python.md` is the guide,
//! `python/terravox/_native.pyi` the types that editors see.

mod arrays;
mod brush;
mod cells;
mod edits;
mod failure;
mod fill;
mod materials;
mod merge;
mod mesh;
mod opened;
mod rays;
mod world;

use pyo3::prelude::*;

/// The compiled part of the package `terravox`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<world::World>()?;
    module.add_class::<brush::Brush>()?;
    module.add_class::<cells::Cells>()?;
    module.add_class::<edits::EditSummary>()?;
    module.add_class::<edits::Mask>()?;
    module.add_class::<materials::Material>()?;
    module.add_class::<mesh::Mesh>()?;
    module.add_class::<rays::RayHits>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("HAS_POSTGRES", cfg!(feature = "postgres"))?;
    module.add("LIMIT", terravox::voxel::LIMIT)?;
    failure::add_exceptions(module)
}
