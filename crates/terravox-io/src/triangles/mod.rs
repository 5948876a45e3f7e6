//! Imports closed meshes: OBJ, STL, PLY and binary glTF.
//!
//! [`read`] reads a file of any of these formats into one list of triangles, and [`voxelise`] makes
//! cells of what they enclose. Materials, textures, bones and animations are not read: the cells
//! are of one material.
//!
//! A mesh should be closed. Each hole is closed by a fan of triangles around the mean of its rim;
//! parts that do not share vertices are closed separately. Parts may overlap, and a part may face
//! inward as a whole; a part inside another that faces the other way makes a hollow. Parts thinner
//! than a voxel become faint, and parts thinner than half a voxel may vanish between the centres of
//! cells.
//!
//! ```
//! use terravox::voxel::VoxelGrid;
//! use terravox_io::ImportBudget;
//! use terravox_io::obj::UpAxis;
//! use terravox_io::triangles::{self, MeshFormat, VoxeliseOptions};
//!
//! // A tetrahedron.
//! let file = b"v 0 0 0\nv 3 0 0\nv 0 3 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
//! let mut budget = ImportBudget::for_input(file.len());
//! let mesh = triangles::read(file, MeshFormat::Obj, &mut budget).unwrap();
//! assert_eq!(mesh.volume(), 4.5);
//! let options = VoxeliseOptions { voxels_per_unit: 10.0, up: UpAxis::Y, material: 8 };
//! let mut grid = VoxelGrid::default();
//! let made = triangles::voxelise(&mesh, &options, &mut budget, &mut grid, |_, _| ()).unwrap();
//! assert!((made.volume_voxels - 4500.0).abs() < 45.0);
//! ```

mod error;
mod file_mesh;
mod glb;
mod glb_nodes;
mod glb_views;
mod holes;
mod obj;
mod ply;
mod ply_header;
mod stl;
mod text;
mod voxelise;

pub use error::MeshError;
pub use file_mesh::FileMesh;
pub use voxelise::{VoxeliseOptions, VoxelisedMesh, voxelise};

use crate::import_budget::ImportBudget;

/// The format of a mesh file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshFormat {
    /// Wavefront OBJ.
    Obj,
    /// STL, binary or text.
    Stl,
    /// PLY, binary or text.
    Ply,
    /// Binary glTF 2.0.
    Glb,
}

impl MeshFormat {
    /// Detects the format by the lower-case extension of a file and its first bytes; `None` if it
    /// is another kind of file. OBJ and STL are known by their extensions only.
    pub fn of(extension: &str, start: &[u8]) -> Option<MeshFormat> {
        match extension {
            "obj" => Some(MeshFormat::Obj),
            "stl" => Some(MeshFormat::Stl),
            "ply" => Some(MeshFormat::Ply),
            "glb" => Some(MeshFormat::Glb),
            _ if start.starts_with(glb::MAGIC) => Some(MeshFormat::Glb),
            _ if start.starts_with(b"ply\n") || start.starts_with(b"ply\r\n") => {
                Some(MeshFormat::Ply)
            }
            _ => None,
        }
    }
}

/// Reads the triangles of a file. Memory and work are spent from `budget`.
///
/// # Errors
/// If the bytes are damaged, use an unsupported part of the format, hold no triangle or exceed the
/// budget.
pub fn read(
    bytes: &[u8],
    format: MeshFormat,
    budget: &mut ImportBudget,
) -> Result<FileMesh, MeshError> {
    match format {
        MeshFormat::Obj => obj::read(bytes, budget),
        MeshFormat::Stl => stl::read(bytes, budget),
        MeshFormat::Ply => ply::read(bytes, budget),
        MeshFormat::Glb => glb::read(bytes, budget),
    }
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
