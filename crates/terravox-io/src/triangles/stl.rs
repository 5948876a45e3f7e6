//! Reads STL, binary and text.
//!
//! Source: 3D Systems, "StereoLithography Interface Specification", 1989. Its triangles have no
//! vertices in common: those at one place become one when a mesh is voxelised.

use super::error::{MeshError, shown};
use super::file_mesh::{FileMesh, MeshCollector};
use super::text::{three, words};
use crate::budget::ImportBudget;

/// Bytes before the triangles of a binary file: a title, and how many there are.
const HEADER_BYTES: usize = 84;
/// Bytes of a triangle: a normal, three corners, two bytes of attributes, which are ignored.
const TRIANGLE_BYTES: usize = 50;
/// Units of work of a byte of text.
const BYTE_WORK: u64 = 4;

/// Reads a file.
pub(super) fn read(bytes: &[u8], budget: &mut ImportBudget) -> Result<FileMesh, MeshError> {
    let count = bytes.get(HEADER_BYTES - 4..HEADER_BYTES).and_then(<[u8]>::first_chunk);
    let count = count.map(|count| u32::from_le_bytes(*count));
    let length = |count: u32| HEADER_BYTES as u64 + TRIANGLE_BYTES as u64 * u64::from(count);
    let is_text = bytes.trim_ascii_start().starts_with(b"solid");
    match count {
        // Titles of binary files may start with the same word.
        Some(count) if length(count) == bytes.len() as u64 => read_binary(bytes, budget),
        _ if is_text => read_text(bytes, budget),
        Some(count) if length(count) <= bytes.len() as u64 => {
            read_binary(&bytes[..length(count) as usize], budget)
        }
        Some(count) => Err(MeshError::at_byte(
            HEADER_BYTES - 4,
            format!(
                "{count} triangles take {} bytes, but there are {}",
                length(count),
                bytes.len()
            ),
        )),
        None => Err(MeshError::at_byte(
            0,
            "an STL file has at least 84 bytes, or starts with \"solid\"",
        )),
    }
}

fn read_binary(bytes: &[u8], budget: &mut ImportBudget) -> Result<FileMesh, MeshError> {
    let mut mesh = MeshCollector::new(budget);
    let (triangles, _) = bytes[HEADER_BYTES..].as_chunks::<TRIANGLE_BYTES>();
    for triangle in triangles {
        let (floats, _) = triangle.as_chunks::<4>();
        let first = mesh.vertex_count() as u32;
        for corner in floats[3..12].as_chunks::<3>().0 {
            mesh.vertex(corner.map(|float| f32::from_le_bytes(float).into()))?;
        }
        mesh.triangle([first, first + 1, first + 2])?;
    }
    mesh.finish()
}

fn read_text(bytes: &[u8], budget: &mut ImportBudget) -> Result<FileMesh, MeshError> {
    budget.spend_work("its lines", BYTE_WORK.saturating_mul(bytes.len() as u64))?;
    let mut mesh = MeshCollector::new(budget);
    // Vertices before the current facet.
    let mut before = 0;
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let damaged = |what: String| MeshError::in_line(number, what);
        let mut words = words(line);
        match words.next() {
            Some(b"vertex") => mesh.vertex(three(&mut words).map_err(damaged)?)?,
            Some(b"endfacet") => {
                let corners = mesh.vertex_count() - before;
                if corners != 3 {
                    return Err(damaged(format!("a facet has {corners} corners instead of 3")));
                }
                let first = before as u32;
                mesh.triangle([first, first + 1, first + 2])?;
                before = mesh.vertex_count();
            }
            Some(b"solid" | b"facet" | b"outer" | b"endloop" | b"endsolid") | None => {}
            Some(word) => {
                return Err(damaged(format!("{} is not a word of STL", shown(word))));
            }
        }
    }
    if mesh.vertex_count() != before {
        let what = "the last facet does not end".to_owned();
        return Err(MeshError::Damaged { location: "the end".to_owned(), what });
    }
    mesh.finish()
}
