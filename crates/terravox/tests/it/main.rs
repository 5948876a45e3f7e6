//! The library from outside. One binary, as each would link the library anew; `allocations` is
//! another, because its allocator counts what all of a process allocates.

mod far_out;
mod layering;
mod map;
mod mesh_agreement;
mod mesh_fixtures;
mod mesh_quality;
mod mesh_topology;
mod packed;
#[cfg(feature = "serde")]
mod serde;
mod shaders;
mod streaming;
