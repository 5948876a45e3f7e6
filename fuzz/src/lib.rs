//! What the fuzz targets check; see `README.md`.

pub mod checks;
