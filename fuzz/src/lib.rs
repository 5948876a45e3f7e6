//! What the fuzz targets check; see `README.md`.

pub mod checks;
pub mod mesh_checks;
pub mod region_checks;
pub mod value_checks;
pub mod worlds;
