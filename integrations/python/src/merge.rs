//! Merging: all chunks of one world into another, for worlds that many processes made in parts.

use crate::failure::{Failure, Outcome};
use crate::opened::{Cells, Opened, open_store};
use crate::world::{World, text_of};
use pyo3::prelude::*;
use std::path::PathBuf;
use terravox::voxel::{DenseBox, VoxelGrid};
use terravox_store::LoadedWorld;

/// Reads a whole world that can be merged into `target`.
fn read_part(target: &Opened, path: &str) -> Outcome<VoxelGrid> {
    let part = open_store(path, true)?;
    let (info, own) = (part.info(), target.info());
    // An address without its password.
    let path = part.path().display().to_string();
    let differs = |what: &str, theirs: String, ours: String| {
        let text = format!("{path}: its {what} is {theirs}, that of this world is {ours}");
        Err(Failure::World(text))
    };
    if info.voxel_size_m != own.voxel_size_m {
        let sizes = [info.voxel_size_m, own.voxel_size_m].map(|size| format!("{size} m"));
        let [theirs, ours] = sizes;
        return differs("voxel size", theirs, ours);
    }
    if info.origin_m != own.origin_m {
        return differs("origin", format!("{:?}", info.origin_m), format!("{:?}", own.origin_m));
    }
    if info.materials != own.materials {
        return Err(Failure::World(format!("{path}: its materials are not those of this world")));
    }
    if info.grows() {
        return Err(Failure::World(format!("{path}: it grows from a generator")));
    }
    if !info.channels.is_empty() {
        return Err(Failure::World(format!("{path}: it has channels, which are not merged")));
    }
    let LoadedWorld { grid, bad, .. } = part.load()?;
    match bad.first() {
        None => Ok(grid),
        Some(bad) => Err(Failure::World(format!("{path}: {} is damaged: {}", bad.part, bad.what))),
    }
}

/// Writes all chunks of a grid to the store of a world, in transactions.
fn write_to_store(target: &Opened, part: &VoxelGrid) -> Outcome<usize> {
    let written = target.store()?.write_all(part.as_snapshot(), |_, _| {});
    Ok(target.written(written)?.written)
}

/// Writes all chunks of a grid to another one.
fn write_to_grid(grid: &mut VoxelGrid, part: &VoxelGrid) -> Outcome<usize> {
    let (chunks, mut cells) = (part.chunks(), DenseBox::default());
    for chunk in &chunks {
        part.read(chunk.region(), 0, &mut cells)?;
        grid.write(&cells)?;
    }
    Ok(chunks.len())
}

#[pymethods]
impl World {
    /// Writes all chunks of another world, in a file or database, over those of this one. Both need
    /// the same voxel size, origin and materials. Returns the number of chunks.
    ///
    /// In a world that was opened with `load=False` they are on disk when this returns, written in
    /// transactions of 2,048 chunks. A merge that was killed is repeated: its end is the same.
    fn merge(&self, py: Python<'_>, path: PathBuf) -> PyResult<usize> {
        let path = text_of(path)?;
        self.change(py, |opened| {
            opened.check_writable("merge")?;
            let part = read_part(opened, &path)?;
            match &mut opened.cells {
                Cells::Loaded(terrain) => write_to_grid(&mut terrain.grid_mut(), &part),
                Cells::Stored => write_to_store(opened, &part),
            }
        })
    }
}
