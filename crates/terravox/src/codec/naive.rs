//! The coder one cell and one byte at a time: what the fast paths are tested against.

use super::rle::{DecodeError, DecodeErrorKind, Dialect, ESCAPE, Rle};
use crate::voxel::{AIR, Cell, Kind};

/// A cell as the format sees it: air without occupancy, water only in solid cells.
#[derive(Clone, Copy, PartialEq)]
struct CodedRun {
    cell: Cell,
    water: Option<u8>,
}

pub(super) fn encode(
    rle: Rle<'_>,
    material: &[u8],
    occupancy: &[u8],
    water: &[(u32, u8)],
) -> Vec<u8> {
    let cells: Vec<CodedRun> = (0..material.len())
        .map(|i| CodedRun {
            cell: Cell::new(material[i], occupancy[i]),
            water: water
                .iter()
                .find(|entry| entry.0 as usize == i)
                .filter(|_| rle.kinds[usize::from(material[i])] == Kind::Solid)
                .map(|entry| entry.1),
        })
        .collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < cells.len() {
        let first = cells[at];
        let mut run = 1;
        while first.water.is_none() && run < 256 && cells.get(at + run) == Some(&first) {
            run += 1;
        }
        write_run(rle, first, run, &mut out);
        at += run;
    }
    out
}

fn write_run(rle: Rle<'_>, CodedRun { cell, water }: CodedRun, run: usize, out: &mut Vec<u8>) {
    let wide = rle.dialect == Dialect::Wide && cell.material >= ESCAPE;
    let partial = cell.material != AIR && cell.occupancy != 255;
    let counted = water.is_some() || run > 1;
    let lead = if wide { ESCAPE } else { cell.material };
    out.push(lead + if partial { 64 } else { 0 } + if counted { 128 } else { 0 });
    if wide {
        out.push(cell.material);
    }
    if partial {
        out.push(cell.occupancy);
    }
    match water {
        Some(water) => out.extend([0, water]),
        None if counted => out.push((run - 1) as u8),
        None => {}
    }
}

/// Cells, water and the bytes read.
pub(super) type Decoded = (Vec<Cell>, Vec<(u32, u8)>, usize);

pub(super) fn decode(rle: Rle<'_>, bytes: &[u8], cells: usize) -> Result<Decoded, DecodeError> {
    let (mut out, mut water) = (Vec::new(), Vec::new());
    let mut rest = bytes.iter().copied();
    while out.len() < cells {
        let offset = bytes.len() - rest.len();
        let left = cells - out.len();
        let error = |kind| DecodeError { offset, cell: cells - left, kind };
        let mut next = || rest.next().ok_or(error(DecodeErrorKind::Truncated { missing: left }));
        let lead = next()?;
        let mut material = lead % 64;
        if material == 63 && rle.dialect == Dialect::Wide {
            material = next()?;
        }
        let occupancy = if lead & 64 != 0 { next()? } else { 255 };
        let count = if lead & 128 != 0 { Some(next()?) } else { None };
        let held = if count == Some(0) { Some(next()?) } else { None };
        let run = usize::from(count.unwrap_or(0)) + 1;
        if run > left {
            return Err(error(DecodeErrorKind::RunTooLong { run, left }));
        }
        if let Some(held) = held {
            if rle.kinds[usize::from(material)] != Kind::Solid {
                return Err(error(DecodeErrorKind::WaterNotInSolid { material }));
            }
            water.push((out.len() as u32, held));
        }
        out.extend((0..run).map(|_| Cell::new(material, occupancy)));
    }
    Ok((out, water, bytes.len() - rest.len()))
}
