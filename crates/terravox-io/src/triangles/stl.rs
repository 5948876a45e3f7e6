//! Reads STL, binary and text.
//!
//! Source: 3D Systems, "StereoLithography Interface Specification", 1989. Its triangles have no
//! vertices in common: those at one place become one when a mesh is voxelised.

use super::error::{MeshError, shown};
use super::file_mesh::{FileMesh, MeshCollector};
use super::text::{three, words};
use crate::import_budget::ImportBudget;

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

#[cfg(test)]
mod tests {
    use super::super::sample::{cuboid, stl, stl_text};
    use super::*;

    fn read_file(bytes: &[u8]) -> Result<FileMesh, MeshError> {
        read(bytes, &mut ImportBudget::for_input(bytes.len()))
    }

    fn error(bytes: &[u8]) -> String {
        read_file(bytes).expect_err("an error").to_string()
    }

    fn corner() -> (Vec<[f64; 3]>, Vec<[u32; 3]>) {
        cuboid([-2.5, 0.0, 1024.0], [-1.0, 0.125, 1025.0])
    }

    #[test]
    fn binary_and_text_have_the_same_triangles_in_the_same_order() {
        let (positions, triangles) = corner();
        let [binary, text] = [stl(&positions, &triangles), stl_text(&positions, &triangles)]
            .map(|file| read_file(&file).expect("a mesh"));
        assert_eq!(binary, text);
        assert_eq!(binary.positions.len(), 3 * triangles.len());
        for (read, given) in binary.triangles.iter().zip(&triangles) {
            let [read, given] = [(read, &binary.positions), (given, &positions)]
                .map(|(triangle, positions)| triangle.map(|v| positions[v as usize]));
            assert_eq!(read, given);
        }
    }

    #[test]
    fn what_follows_the_triangles_of_a_binary_file_is_ignored() {
        let (positions, triangles) = corner();
        let mut file = stl(&positions, &triangles);
        let whole = read_file(&file).expect("a mesh");
        // With more bytes only the title says whether it is text.
        file[..5].copy_from_slice(b"Model");
        file.extend([0; 49]);
        assert_eq!(read_file(&file), Ok(whole));
        file.truncate(84 + 50 * triangles.len() - 1);
        assert!(error(&file).contains("12 triangles take 684 bytes, but there are 683"));
    }

    #[test]
    fn claimed_triangles_do_not_overflow_and_none_are_told() {
        let mut file = vec![b' '; 80];
        file.extend(u32::MAX.to_le_bytes());
        let line = error(&file);
        assert!(line.contains("4294967295 triangles take 214748364834 bytes"), "{line}");
        file[80..].fill(0);
        assert_eq!(read_file(&file), Err(MeshError::NoTriangles));
        assert_eq!(read_file(b"solid nothing\nendsolid nothing\n"), Err(MeshError::NoTriangles));
        assert!(error(b"").contains("at least 84 bytes"));
    }

    #[test]
    fn facets_of_text_have_three_corners() {
        let facet = |corners: usize| {
            let corners = " vertex 1 2 3\n".repeat(corners);
            format!("\n solid\nfacet normal 0 0 1\nouter loop\n{corners}endloop\nendfacet\n")
        };
        let mesh = read_file(facet(3).as_bytes()).expect("a mesh");
        assert_eq!(
            mesh,
            FileMesh { positions: vec![[1.0, 2.0, 3.0]; 3], triangles: vec![[0, 1, 2]] }
        );
        for corners in [0, 2, 4, 6] {
            let line = error(facet(corners).as_bytes());
            let what = format!("a facet has {corners} corners instead of 3");
            assert!(
                line.contains(&what) && line.contains(&format!("line {}", 6 + corners)),
                "{line}"
            );
        }
        // The second facet is counted from its own first corner, and has an end.
        let two = facet(3) + &facet(3).replace("endfacet", "");
        assert!(error(two.as_bytes()).contains("the last facet does not end"));
        assert!(error(facet(3).replace("1 2 3", "1 2").as_bytes()).contains("fewer than three"));
        let infinite = error(facet(3).replace("1 2 3", "1 inf 3").as_bytes());
        assert!(infinite.contains("vertex 0"), "{infinite}");
    }
}
