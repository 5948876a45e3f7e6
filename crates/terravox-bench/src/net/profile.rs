//! Where the bytes of a join go: by mip, as runs and as refinements of the coarser cells.

use super::session::Session;
use crate::report::{AreaReport, detail};
use std::time::Instant;
use terravox::codec::{BitRle, Refinement};
use terravox::voxel::{DenseBox, Region};

/// Blocks of one mip.
#[derive(Clone, Copy, Default)]
struct MipBytes {
    blocks: usize,
    runs: usize,
    refined: usize,
}

/// Blocks of all worlds, by mip.
#[derive(Default)]
pub struct JoinProfile {
    mips: [MipBytes; 13],
    seconds: f64,
}

impl JoinProfile {
    /// Adds what a guest holds, if that is not air.
    pub fn add(&mut self, session: &Session) {
        let guest = &session.players[0].guest;
        let Some(grid) = guest.grid() else { return };
        let kinds = grid.materials().kinds();
        let (mut cells, mut over) = (DenseBox::default(), DenseBox::default());
        let mut code = Vec::new();
        for block in guest.blocks() {
            let is_read = guest.read(block, |request| request.set_missing(), &mut cells);
            if !is_read || cells.materials().iter().all(|&material| material == 0) {
                continue;
            }
            let entry = &mut self.mips[usize::from(block.mip)];
            entry.blocks += 1;
            code.clear();
            BitRle { kinds }.encode_box(&cells, &mut code);
            let runs = code.len();
            entry.runs += runs;
            code.clear();
            if guest.read(block.parent(), |request| request.set_missing(), &mut over) {
                let start = Instant::now();
                Refinement { kinds }.encode_box(&cells, &over, &mut code);
                self.seconds += start.elapsed().as_secs_f64();
                let mut again = DenseBox::new(Region::default());
                again.reset(cells.region());
                Refinement { kinds }.decode_box(&code, &over, &mut again);
                assert!(again == cells, "a block is read as it was written");
                entry.refined += code.len();
            } else {
                entry.refined += runs;
            }
        }
    }

    /// A line for each mip.
    pub fn report(&self, report: &mut AreaReport) {
        let blocks: usize = self.mips.iter().map(|mip| mip.blocks).sum();
        report.details(
            "refinement",
            vec![detail("encode", self.seconds * 1e6 / blocks.max(1) as f64, "µs a block")],
        );
        for (mip, bytes) in self.mips.iter().enumerate().filter(|entry| entry.1.blocks > 0) {
            report.details(
                format!("join, mip {mip}"),
                vec![
                    detail("blocks", bytes.blocks as f64, ""),
                    detail("refined", bytes.refined as f64 / 1e3, "kB")
                        .beside(bytes.runs as f64 / 1e3),
                ],
            );
        }
    }
}
