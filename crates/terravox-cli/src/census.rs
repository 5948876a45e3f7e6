//! Counts the chunks, cells and materials of a world.

use crate::console::Console;
use crate::report::{Report, grouped, size};
use rayon::prelude::*;
use serde_json::json;
use terravox::voxel::{AIR, DenseBox, NotHeld, Snapshot};

/// Cells of a chunk.
const CHUNK_CELLS: u64 = 32 * 32 * 32;

/// Counts over all cells of a world at mip 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    /// Listed chunks.
    pub chunks: u64,
    /// Chunks of one material.
    pub uniform_chunks: u64,
    /// Cells that are not air.
    pub cells: u64,
    /// Solid cells that hold water.
    pub wet_cells: u64,
    /// Cells by material id; air is counted in listed chunks only.
    pub materials: Box<[u64; 256]>,
    /// Bytes in memory.
    pub memory_bytes: u64,
}

impl Default for Census {
    /// The counts of an empty world.
    fn default() -> Census {
        let materials = Box::new([0; 256]);
        Census { chunks: 0, uniform_chunks: 0, cells: 0, wet_cells: 0, materials, memory_bytes: 0 }
    }
}

/// The counts of one thread.
struct CellCounter {
    materials: Box<[u64; 256]>,
    wet_cells: u64,
    /// Scratch.
    cells: DenseBox,
}

impl Default for CellCounter {
    fn default() -> CellCounter {
        CellCounter { materials: Box::new([0; 256]), wet_cells: 0, cells: DenseBox::default() }
    }
}

impl Census {
    /// Adds the counts of another part of the world.
    pub fn add(&mut self, other: &Census) {
        self.chunks += other.chunks;
        self.uniform_chunks += other.uniform_chunks;
        self.cells += other.cells;
        self.wet_cells += other.wet_cells;
        self.memory_bytes += other.memory_bytes;
        self.materials.iter_mut().zip(other.materials.iter()).for_each(|(sum, own)| *sum += own);
    }

    /// Counts a world.
    ///
    /// # Errors
    /// [`NotHeld`] if a listed chunk is not held at mip 0.
    pub fn of(snapshot: &Snapshot, console: &Console) -> Result<Census, NotHeld> {
        let chunks = snapshot.chunks();
        let bar = console.bar("counting", chunks.len());
        let count = |mut counter: CellCounter, chunk: &_| {
            let view = snapshot.chunk(*chunk)?;
            match view.uniform_material() {
                Some(material) => counter.materials[usize::from(material)] += CHUNK_CELLS,
                None => {
                    let CellCounter { materials, wet_cells, cells } = &mut counter;
                    snapshot.read(chunk.region(), 0, cells)?;
                    cells.materials().iter().for_each(|&m| materials[usize::from(m)] += 1);
                    *wet_cells += cells.water().len() as u64;
                }
            }
            bar.step();
            Ok(counter)
        };
        let parts = chunks.par_iter().try_fold(CellCounter::default, count);
        let parts: Vec<CellCounter> = parts.collect::<Result<_, _>>()?;
        let mut materials = Box::new([0; 256]);
        let mut wet_cells = 0;
        for part in parts {
            materials.iter_mut().zip(*part.materials).for_each(|(sum, count)| *sum += count);
            wet_cells += part.wet_cells;
        }
        let memory = snapshot.memory();
        Ok(Census {
            chunks: memory.chunks as u64,
            uniform_chunks: memory.uniform_chunks as u64,
            cells: materials[1..].iter().sum(),
            wet_cells,
            materials,
            memory_bytes: memory.total() as u64,
        })
    }

    /// Returns bytes per cell that is not air.
    pub fn bytes_per_cell(&self, bytes: u64) -> f64 {
        bytes as f64 / self.cells.max(1) as f64
    }

    /// Adds chunks, cells and memory to a report.
    pub fn add_to(&self, report: &mut Report) {
        let chunks = format!("{}, {} uniform", grouped(self.chunks), grouped(self.uniform_chunks));
        report.line("chunks", "chunks", chunks, json!(self.chunks));
        report.hidden("uniform_chunks", self.uniform_chunks);
        report.count("cells", "cells", self.cells);
        report.hidden("wet_cells", self.wet_cells);
        self.add_bytes("memory", "in memory", self.memory_bytes, report);
    }

    /// Adds a number of bytes, and bytes per cell, to a report.
    pub fn add_bytes(&self, key: &str, label: &str, bytes: u64, report: &mut Report) {
        let per_cell = self.bytes_per_cell(bytes);
        let text = match self.cells {
            0 => size(bytes),
            _ => format!("{}, {per_cell:.3} bytes per cell", size(bytes)),
        };
        report.line(&format!("{key}_bytes"), label, text, json!(bytes));
        report.hidden(&format!("{key}_bytes_a_cell"), (per_cell * 1e4).round() / 1e4);
    }

    /// Adds the materials, most common first, to a report.
    pub fn add_materials(&self, snapshot: &Snapshot, report: &mut Report) {
        let mut counts: Vec<(u64, u8)> = (AIR + 1..=255)
            .map(|id| (self.materials[usize::from(id)], id))
            .filter(|entry| entry.0 > 0)
            .collect();
        counts.sort_by_key(|&(count, id)| (std::cmp::Reverse(count), id));
        let table = snapshot.materials();
        let text = counts
            .iter()
            .map(|&(count, id)| format!("{} {}", table.name(id), share(count, self.cells)));
        let text = text.collect::<Vec<_>>().join(", ");
        let text = if text.is_empty() { "none".to_owned() } else { text };
        let value = counts
            .iter()
            .map(|&(count, id)| json!({ "id": id, "name": table.name(id), "cells": count }));
        report.line("materials", "materials", text, value.collect());
    }
}

fn share(part: u64, all: u64) -> String {
    let percent = 100.0 * part as f64 / all.max(1) as f64;
    if percent < 0.1 { "<0.1 %".to_owned() } else { format!("{percent:.1} %") }
}
