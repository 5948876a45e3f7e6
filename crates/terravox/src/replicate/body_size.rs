//! How much of bodies a guest may see: some kilobytes can hold millions of cells, which its game makes meshes
//! and colliders of.

use super::shared_body::{SharedBody, SharedBodyKind};
use super::wire::{Input, MessageError};
use std::fmt;

/// Maximum number of bytes of the bodies that one guest sees.
const MAX_SEEN_BYTES: usize = 16 << 20;

/// Maximum number of cells of the boxes in which the loose pieces lie that one guest sees: those of 64 pieces
/// of the most cells that [`SharedBody::loose`] takes.
pub(super) const MAX_SEEN_CELLS: u64 = 1 << 24;

/// What one body or several take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BodySize {
    bytes: usize,
    /// Cells of the boxes of a loose piece, one in each of its chunks, with the air in them.
    cells: u64,
}

/// Bodies take more than one guest may see.
#[derive(Debug)]
pub(super) struct BodiesTooLarge(BodySize);

impl BodySize {
    pub fn of(body: &SharedBody) -> BodySize {
        let mut cells = 0;
        if body.kind == SharedBodyKind::Loose {
            // Of an invalid piece, what comes before the fault is decoded.
            let _ = count_cells(&body.bytes, &mut cells);
        }
        BodySize { bytes: body.bytes.len(), cells }
    }

    pub fn bytes(self) -> usize {
        self.bytes
    }

    pub fn with(self, other: BodySize) -> BodySize {
        BodySize { bytes: self.bytes + other.bytes, cells: self.cells + other.cells }
    }

    /// What is left without a part of it.
    pub fn without(self, part: BodySize) -> BodySize {
        BodySize { bytes: self.bytes - part.bytes, cells: self.cells - part.cells }
    }

    /// Checks that one guest may see as much.
    pub fn check(self) -> Result<(), BodiesTooLarge> {
        match self.bytes <= MAX_SEEN_BYTES && self.cells <= MAX_SEEN_CELLS {
            true => Ok(()),
            false => Err(BodiesTooLarge(self)),
        }
    }
}

impl fmt::Display for BodiesTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BodySize { bytes, cells } = self.0;
        write!(
            f,
            "the host sent bodies of {bytes} bytes and {cells} cells in all; at most {MAX_SEEN_BYTES} and \
             {MAX_SEEN_CELLS}"
        )
    }
}

/// Counts the cells of the boxes of a loose piece, up to the first fault.
fn count_cells(bytes: &[u8], cells: &mut u64) -> Result<(), MessageError> {
    let mut input = Input::new(bytes);
    input.voxel()?;
    for _ in 0..input.count(10)? {
        let chunk = input.chunk()?;
        *cells += input.region_in(chunk)?.volume();
        input.bytes(SharedBody::MAX_BYTES)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::BodyPose;
    use crate::replicate::wire::put_varint;

    #[test]
    fn a_piece_beyond_the_limits_of_the_grid_has_no_cells() {
        for x in [(1 << 25) - 1, 1 << 25, (1 << 26) - 1, 1 << 26, 1 << 29, -(1 << 30)] {
            let mut bytes = vec![0, 0, 0, 1];
            put_varint(u64::from(((x << 1) ^ (x >> 31)) as u32), &mut bytes);
            bytes.extend([0, 0, 0, 0, 0, 32, 1, 1, 1, 0]);
            let pose = BodyPose { position_voxels: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] };
            let kind = SharedBodyKind::Loose;
            let size = BodySize::of(&SharedBody { kind, pose, bytes: bytes.into() });
            let cells = if (-(1 << 25)..1 << 25).contains(&x) { 32 } else { 0 };
            assert_eq!(size.cells, cells, "chunk {x}");
        }
    }
}
