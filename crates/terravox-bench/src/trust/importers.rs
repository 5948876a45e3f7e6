//! The hostile files of the importers' own tests.

#[path = "../../../terravox-io/tests/hostile/files.rs"]
mod files;
#[path = "../../../terravox-io/tests/hostile/imports.rs"]
pub mod imports;
#[path = "../../../terravox-io/tests/hostile/meshes.rs"]
mod meshes;
#[path = "../../../terravox-io/tests/hostile/shape_list.rs"]
mod shape_list;
#[path = "../../../terravox-io/tests/hostile/shapes.rs"]
pub mod shapes;
