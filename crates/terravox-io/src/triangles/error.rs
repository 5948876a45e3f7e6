//! Errors of mesh files. Every message is one line: what is wrong, where, and what to do.

use crate::import_budget::BudgetError;
use terravox::voxel::LIMIT;

/// Why a mesh cannot be imported.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// The bytes violate the format.
    #[error("{location}: {what}; the file is damaged or cut short, get another copy")]
    Damaged {
        /// The line, byte or element of the error.
        location: String,
        /// What is wrong.
        what: String,
    },
    /// The file uses a part of the format that is not supported.
    #[error("{what}")]
    Unsupported {
        /// What it uses, and what to do.
        what: String,
    },
    /// A vertex of a triangle is NaN or infinite.
    #[error("vertex {vertex} is not finite; repair the mesh in a modelling program")]
    NotFinite {
        /// Number of the vertex, from 0.
        vertex: usize,
    },
    /// The file is valid but has no triangles.
    #[error("the file has no triangles; points and lines enclose nothing")]
    NoTriangles,
    /// An option is out of range.
    #[error("voxels_per_unit is {found}; give a finite number above 0")]
    VoxelsPerUnit {
        /// The value.
        found: f64,
    },
    /// The material is air.
    #[error("material {found} is air or not in the table; give another one")]
    Material {
        /// Its id.
        found: u8,
    },
    /// The mesh is too large.
    #[error("the mesh would be {} voxels long, at most {most}; choose larger voxels", plain_number(*voxels))]
    TooLong {
        /// Longest side of its bounding box, voxels.
        voxels: f64,
        /// The longest side allowed.
        most: u32,
    },
    /// The mesh lies beyond the limits of a grid.
    #[error(
        "the mesh would reach voxel {} of the world, but only ±{LIMIT} are possible; move it nearer to \
         the origin",
        plain_number(*voxel)
    )]
    BeyondLimits {
        /// The farthest coordinate on an axis that is too far.
        voxel: f64,
    },
    /// The file would cost more than its [`ImportBudget`](crate::ImportBudget).
    #[error("{0}; raise the limits if you trust the file")]
    OverBudget(#[from] BudgetError),
}

impl MeshError {
    /// Damage at a byte.
    pub(super) fn at_byte(offset: usize, what: impl Into<String>) -> MeshError {
        MeshError::Damaged { location: format!("byte {offset}"), what: what.into() }
    }

    /// Damage in a line, from 1.
    pub(super) fn in_line(line: usize, what: impl Into<String>) -> MeshError {
        MeshError::Damaged { location: format!("line {line}"), what: what.into() }
    }
}

/// A number of voxels as text: without three hundred digits.
pub(super) fn plain_number(voxels: f64) -> String {
    if voxels.abs() < 1e15 { format!("{voxels:.0}") } else { format!("{voxels:e}") }
}

/// The start of a word of a file, for messages.
pub(super) fn shown(word: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(word).chars().take(40).collect();
    format!("{text:?}")
}
