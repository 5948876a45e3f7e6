//! Cells from runs, total on any bytes.
//!
//! A run is read from a window of five bytes, the longest that a run can be, so that
//! its fields need no check each; the last bytes are copied into a padded window. A
//! run is written in whole blocks where there is room behind it: the cells behind are
//! overwritten by the runs that follow.
//!
//! Source: Roblox's "Voxel Terrain: Storage" (2017), "Disk format", as [`super`] says.

use super::rle::{DecodeError, DecodeErrorKind, Dialect, ESCAPE, HAS_COUNT, HAS_OCCUPANCY, Rle};
use crate::voxel::{AIR, DenseBox, Kind};

/// Longest run: lead, material, occupancy, count, water.
const WINDOW: usize = 5;

/// Cells written in one store.
const BLOCK: usize = 32;

impl Rle<'_> {
    /// Fills `material` and `occupancy` from the runs at the start of `bytes`, replaces
    /// `water` with the water held by solid cells, ascending, and returns how many bytes
    /// the runs took. Cells come in the order of the box: x fastest, then z, then y. Safe for
    /// untrusted input: any bytes return cells or an error. Memory grows by at most 8 bytes for
    /// every 3 bytes read. An occupancy byte on air is read and dropped.
    ///
    /// # Errors
    /// If the bytes end early, a run does not fit what is left of the arrays, or water
    /// follows air or a liquid. The arrays then hold unspecified cells.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn decode(
        self,
        bytes: &[u8],
        material: &mut [u8],
        occupancy: &mut [u8],
        water: &mut Vec<(u32, u8)>,
    ) -> Result<usize, DecodeError> {
        decode(self, bytes, material, occupancy, water)
    }

    /// Fills all cells of a box, as large as it is, from the runs at the start of
    /// `bytes`; [`Rle::decode`] with its arrays.
    ///
    /// # Errors
    /// As [`Rle::decode`].
    pub fn decode_box(self, bytes: &[u8], cells: &mut DenseBox) -> Result<usize, DecodeError> {
        let mut water = std::mem::take(cells.water_mut());
        let (material, occupancy) = cells.arrays_mut();
        let read = self.decode(bytes, material, occupancy, &mut water);
        *cells.water_mut() = water;
        read
    }
}

impl Rle<'_> {
    /// The material, if the runs at the start of `bytes` are `cells` full cells of one, without
    /// water, and end where `bytes` do; without writing cells. `None` says nothing: other runs may
    /// be uniform or invalid, too.
    pub fn uniform(self, bytes: &[u8], cells: usize) -> Option<u8> {
        let escape = self.dialect == Dialect::Wide;
        let (mut at, mut rest) = (0, bytes);
        let first = read_run(window(rest), escape).material;
        while at < cells {
            let run = read_run(window(rest), escape);
            let is_full = run.material == first && (first == AIR || run.occupancy == 255);
            if run.water.is_some() || !is_full || run.cells > cells - at {
                return None;
            }
            (at, rest) = (at + run.cells, rest.get(run.bytes..)?);
        }
        (cells > 0 && rest.is_empty()).then_some(first)
    }
}

fn decode(
    rle: Rle<'_>,
    bytes: &[u8],
    material: &mut [u8],
    occupancy: &mut [u8],
    water: &mut Vec<(u32, u8)>,
) -> Result<usize, DecodeError> {
    assert_eq!(material.len(), occupancy.len(), "one occupancy a material");
    assert!(material.len() <= u32::MAX as usize, "cells are numbered by 32 bits");
    water.clear();
    let escape = rle.dialect == Dialect::Wide;
    let (mut at, mut offset) = (0, 0);
    while at < material.len() {
        let left = material.len() - at;
        let rest = &bytes[offset..];
        let run = read_run(window(rest), escape);
        let error = |kind| Err(DecodeError { offset, cell: at, kind });
        if run.bytes > rest.len() {
            return error(DecodeErrorKind::Truncated { missing: left });
        }
        if run.cells > left {
            return error(DecodeErrorKind::RunTooLong { run: run.cells, left });
        }
        if let Some(stored) = run.water {
            if rle.kinds[usize::from(run.material)] != Kind::Solid {
                return error(DecodeErrorKind::WaterNotInSolid { material: run.material });
            }
            water.push((at as u32, stored));
        }
        put(&mut material[at..], run.cells, run.material);
        put(&mut occupancy[at..], run.cells, run.occupancy);
        at += run.cells;
        offset += run.bytes;
    }
    Ok(offset)
}

struct DecodedRun {
    material: u8,
    occupancy: u8,
    water: Option<u8>,
    cells: usize,
    /// Bytes that the run takes, perhaps more than there are.
    bytes: usize,
}

/// The next bytes, zeros behind their end.
#[inline]
fn window(rest: &[u8]) -> [u8; WINDOW] {
    if let Some(window) = rest.first_chunk() {
        return *window;
    }
    let mut window = [0; WINDOW];
    window[..rest.len()].copy_from_slice(rest);
    window
}

#[inline]
fn read_run(window: [u8; WINDOW], escape: bool) -> DecodedRun {
    let lead = window[0];
    let mut bytes = 1;
    let mut material = lead & 63;
    if escape && material == ESCAPE {
        material = window[1];
        bytes = 2;
    }
    let has_occupancy = lead & HAS_OCCUPANCY != 0;
    let stored = if has_occupancy { window[bytes] } else { 255 };
    let occupancy = if material == AIR { 0 } else { stored };
    bytes += usize::from(has_occupancy);
    let mut run = DecodedRun { material, occupancy, water: None, cells: 1, bytes };
    if lead & HAS_COUNT != 0 {
        let count = window[bytes];
        run.bytes += 1;
        if count == 0 {
            run.water = Some(window[bytes + 1]);
            run.bytes += 1;
        } else {
            run.cells = usize::from(count) + 1;
        }
    }
    run
}

/// Writes `value` to the first `run` bytes of `to`, and perhaps to some behind them.
#[inline]
fn put(to: &mut [u8], run: usize, value: u8) {
    let whole = run.next_multiple_of(BLOCK);
    if whole > to.len() {
        to[..run].fill(value);
        return;
    }
    for block in to[..whole].chunks_exact_mut(BLOCK) {
        block.copy_from_slice(&[value; BLOCK]);
    }
}
