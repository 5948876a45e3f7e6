//! Reads Wavefront OBJ: vertices and faces; everything else is skipped.
//!
//! Source: "Object Files (.obj)", Wavefront's Advanced Visualizer manual, appendix B1.

use super::error::{MeshError, shown};
use super::file_mesh::{FileMesh, MeshCollector, PolygonFan};
use super::text::{number, three, words};
use crate::import_budget::ImportBudget;

/// Units of work of a byte.
const BYTE_WORK: u64 = 4;

/// Reads a file.
pub(super) fn read(bytes: &[u8], budget: &mut ImportBudget) -> Result<FileMesh, MeshError> {
    budget.spend_work("its lines", BYTE_WORK.saturating_mul(bytes.len() as u64))?;
    let mut mesh = MeshCollector::new(budget);
    let (mut rest, mut number) = (bytes, 1);
    while !rest.is_empty() {
        let (line, lines);
        (line, rest, lines) = split_line(rest);
        let mut words = words(line);
        match words.next() {
            Some(b"v") => {
                let position =
                    three(&mut words).map_err(|what| MeshError::in_line(number, what))?;
                mesh.vertex(position)?;
            }
            Some(b"f") => {
                let mut fan = PolygonFan::default();
                // A comment may follow.
                for word in words.take_while(|word| !word.starts_with(b"#")) {
                    let vertex = vertex(word, mesh.vertex_count())
                        .map_err(|what| MeshError::in_line(number, what))?;
                    fan.push(vertex, &mut mesh)?;
                }
            }
            _ => {}
        }
        number += lines;
    }
    mesh.finish()
}

/// Splits off a line, which continues after a backslash at its end unless it is a comment. Returns it,
/// the rest, and the number of lines that it takes.
fn split_line(bytes: &[u8]) -> (&[u8], &[u8], usize) {
    let mut lines = 1;
    let is_comment = bytes.trim_ascii_start().starts_with(b"#");
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        let line = &bytes[..at];
        if !is_comment && line.strip_suffix(b"\r").unwrap_or(line).ends_with(b"\\") {
            lines += 1;
            continue;
        }
        return (line, &bytes[at + 1..], lines);
    }
    (bytes, &[], lines)
}

/// Reads a corner of a face, such as `7`, `7/1`, `7//3` or `-1`; `count` vertices came before.
fn vertex(word: &[u8], count: usize) -> Result<u32, String> {
    let first = word.split(|byte| *byte == b'/').next().unwrap_or(word);
    let index = number::<i64>(first);
    let vertex = match index {
        Some(index) if index > 0 => index - 1,
        Some(index) if index < 0 => count as i64 + index,
        _ => -1,
    };
    u32::try_from(vertex).map_err(|_| format!("{} is not a vertex", shown(word)))
}
