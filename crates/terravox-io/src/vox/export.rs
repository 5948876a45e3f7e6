//! Exporting a grid as a scene.
//!
//! The world is cut into boxes of at most 256³ voxels, aligned to multiples of 256, each of which
//! becomes a model as small as its voxels allow, placed by a node of the scene graph.

use super::chunks::MAGIC;
use super::error::VoxExportError;
use std::collections::BTreeMap;
use std::io::{Cursor, Seek, SeekFrom, Write};
use terravox::voxel::{Cell, ChunkPos, Kind, MaterialTable, Snapshot, VoxelPos};

/// Version of the format: of 2016, with the scene graph.
const VERSION: u32 = 150;
/// Log2 of the chunks along the edge of a model.
const MODEL_LOG2_CHUNKS: u32 = 3;
/// Voxels along its edge.
const MODEL_EDGE: i32 = 256;
/// Stored occupancy of a cell that is half full.
const HALF_FULL: u8 = 127;
/// Longest content of MAIN: lengths are signed.
const MAX_BYTES: u64 = i32::MAX as u64 - (1 << 20);
/// Bytes of a model besides its voxels, in all chunks: an upper bound.
const MODEL_BYTES: u64 = 256;

/// A model, with Z up.
struct ExportedModel {
    /// The lowest voxel of the model in the world.
    min: [i32; 3],
    size: [i32; 3],
    /// x, y, z from `min`, and material.
    voxels: Vec<[u8; 4]>,
}

/// Encodes the cells of a grid that are at least half full as a MagicaVoxel scene, Z up. A colour
/// of the palette has the id of its material as index; materials that the table lacks are grey.
/// Liquids are glass: [`import()`](super::import()) into a grid whose table has a liquid of that
/// colour gives them back. Water in solid cells, names and how full a cell is are lost. A world of
/// full cells of the default materials is imported again with the same digest.
///
/// Takes about 4 bytes of memory a voxel; [`write()`] holds one model.
///
/// # Errors
/// If no cell is half full, a listed chunk is not held at mip 0, or the file would have 2 GB, which
/// is known before any of it is made.
pub fn export(grid: &Snapshot) -> Result<Vec<u8>, VoxExportError> {
    let mut file = Cursor::new(Vec::new());
    write(grid, &mut file)?;
    Ok(file.into_inner())
}

/// Writes what [`export()`] returns. Holds the voxels of one model, at most 64 MiB. `out` should be
/// buffered.
///
/// # Errors
/// As [`export()`], and if `out` fails.
pub fn write(grid: &Snapshot, out: &mut (impl Write + Seek)) -> Result<(), VoxExportError> {
    let mut models: BTreeMap<[i32; 3], Vec<ChunkPos>> = BTreeMap::new();
    for chunk in grid.chunks() {
        let model = [chunk.x, chunk.y, chunk.z].map(|v| v >> MODEL_LOG2_CHUNKS);
        models.entry(model).or_default().push(chunk);
    }
    let bytes = 4 * voxel_count(grid)? + MODEL_BYTES * models.len() as u64;
    if bytes > MAX_BYTES {
        return Err(VoxExportError::TooLong { most: MAX_BYTES / 4 });
    }
    let begin = out.stream_position()?;
    let mut part = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
    // Its length is known at the end.
    put_header(&mut part, b"MAIN", 0, 0);
    let head = part.len() as u64;
    let mut places: Vec<[i32; 3]> = Vec::new();
    let mut is_used = [false; 256];
    for (model, chunks) in models {
        let Some(model) = model_of(grid, model.map(|v| v * MODEL_EDGE), &chunks)? else { continue };
        model.voxels.iter().for_each(|voxel| is_used[usize::from(voxel[3])] = true);
        put_model_head(&mut part, &model);
        out.write_all(&part)?;
        out.write_all(model.voxels.as_flattened())?;
        part.clear();
        // A model turns about the middle of its size, so that is what is placed.
        places.push(std::array::from_fn(|i| model.min[i] + model.size[i] / 2));
    }
    if places.is_empty() {
        return Err(VoxExportError::Empty);
    }
    put_scene(&mut part, &places);
    put_palette(&mut part, grid.materials(), &is_used);
    out.write_all(&part)?;
    let end = out.stream_position()?;
    out.seek(SeekFrom::Start(begin + head - 4))?;
    out.write_all(&((end - begin - head) as u32).to_le_bytes())?;
    out.seek(SeekFrom::Start(end))?;
    Ok(())
}

/// Whether a cell becomes a voxel.
fn is_voxel(cell: Cell, kinds: &[Kind; 256]) -> bool {
    kinds[usize::from(cell.material)] != Kind::Air && cell.occupancy >= HALF_FULL
}

/// Returns the number of voxels of the file.
fn voxel_count(grid: &Snapshot) -> Result<u64, VoxExportError> {
    let kinds = grid.materials().kinds();
    let mut count = 0;
    for chunk in grid.chunks() {
        let view = grid.chunk(chunk)?;
        count += match view.uniform_material() {
            Some(material) if kinds[usize::from(material)] == Kind::Air => 0,
            Some(_) => 32 * 32 * 32,
            None => local_positions()
                .filter(|&(y, z, x)| is_voxel(view.cell(x, y, z), kinds))
                .count() as u64,
        };
    }
    Ok(count)
}

/// Returns the voxels of some chunks, which lie in a box from `corner` on; `None` if there are
/// none.
fn model_of(
    grid: &Snapshot,
    corner: [i32; 3],
    chunks: &[ChunkPos],
) -> Result<Option<ExportedModel>, VoxExportError> {
    let kinds = grid.materials().kinds();
    let mut voxels: Vec<[u8; 4]> = Vec::new();
    let (mut low, mut high) = ([u8::MAX; 3], [0; 3]);
    for &chunk in chunks {
        let view = grid.chunk(chunk)?;
        if view.uniform_material().is_some_and(|id| kinds[usize::from(id)] == Kind::Air) {
            continue;
        }
        let from = chunk.min_voxel() - VoxelPos::from(corner);
        for (y, z, x) in local_positions() {
            let cell = view.cell(x, y, z);
            if !is_voxel(cell, kinds) {
                continue;
            }
            let [x, y, z] = [from.x + x as i32, from.y + y as i32, from.z + z as i32];
            // South is −y in MagicaVoxel.
            let at = [x, MODEL_EDGE - 1 - z, y].map(|v| v as u8);
            low = std::array::from_fn(|i| low[i].min(at[i]));
            high = std::array::from_fn(|i| high[i].max(at[i]));
            voxels.push([at[0], at[1], at[2], cell.material]);
        }
    }
    if voxels.is_empty() {
        return Ok(None);
    }
    for voxel in &mut voxels {
        (0..3).for_each(|i| voxel[i] -= low[i]);
    }
    let corner = [corner[0], -corner[2] - MODEL_EDGE, corner[1]];
    Ok(Some(ExportedModel {
        min: std::array::from_fn(|i| corner[i] + i32::from(low[i])),
        size: std::array::from_fn(|i| i32::from(high[i]) - i32::from(low[i]) + 1),
        voxels,
    }))
}

/// All cells of a chunk: y, z and x, which is fastest.
fn local_positions() -> impl Iterator<Item = (usize, usize, usize)> {
    (0..32).flat_map(|y| (0..32).flat_map(move |z| (0..32).map(move |x| (y, z, x))))
}

fn put_header(out: &mut Vec<u8>, id: &[u8; 4], content: usize, below: usize) {
    out.extend(id);
    out.extend((content as u32).to_le_bytes());
    out.extend((below as u32).to_le_bytes());
}

fn put_chunk(out: &mut Vec<u8>, id: &[u8; 4], content: &[u8]) {
    put_header(out, id, content.len(), 0);
    out.extend(content);
}

/// All of a model up to its voxels.
fn put_model_head(out: &mut Vec<u8>, model: &ExportedModel) {
    let size = model.size.map(i32::to_le_bytes);
    put_chunk(out, b"SIZE", size.as_flattened());
    put_header(out, b"XYZI", 4 + 4 * model.voxels.len(), 0);
    out.extend((model.voxels.len() as u32).to_le_bytes());
}

fn numbers(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn dictionary(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut out = numbers(&[entries.len() as u32]);
    for text in entries.iter().flat_map(|(key, value)| [key, value]) {
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(text.as_bytes());
    }
    out
}

/// A root, a group, and for each model a transform with a shape.
fn put_scene(out: &mut Vec<u8>, places: &[[i32; 3]]) {
    // Of all transforms: an id that is reserved, a layer, and one frame.
    let transform = |out: &mut Vec<u8>, [id, child, layer]: [u32; 3], frame: &[(&str, &str)]| {
        let head = [numbers(&[id]), dictionary(&[]), numbers(&[child, u32::MAX, layer, 1])];
        put_chunk(out, b"nTRN", &[head.concat(), dictionary(frame)].concat());
    };
    let first = |model: usize| 2 + 2 * model as u32;
    transform(out, [0, 1, u32::MAX], &[]);
    let children: Vec<u32> = (0..places.len()).map(first).collect();
    let head = [numbers(&[1]), dictionary(&[]), numbers(&[children.len() as u32])];
    put_chunk(out, b"nGRP", &[head.concat(), numbers(&children)].concat());
    for (model, [x, y, z]) in places.iter().enumerate() {
        let id = first(model);
        transform(out, [id, id + 1, 0], &[("_t", &format!("{x} {y} {z}"))]);
        let shape = [numbers(&[id + 1]), dictionary(&[]), numbers(&[1, model as u32])];
        put_chunk(out, b"nSHP", &[shape.concat(), dictionary(&[])].concat());
    }
    put_chunk(out, b"LAYR", &[numbers(&[0]), dictionary(&[]), numbers(&[u32::MAX])].concat());
}

fn put_palette(out: &mut Vec<u8>, table: &MaterialTable, is_used: &[bool; 256]) {
    let colour = |index: u16| match index {
        256 => [0; 4],
        _ => {
            let [r, g, b] = table.colour(index as u8);
            [r, g, b, 255]
        }
    };
    let colours: Vec<[u8; 4]> = (1..=256).map(colour).collect();
    put_chunk(out, b"RGBA", colours.as_flattened());
    for id in (1..=255_u8).filter(|id| is_used[usize::from(*id)]) {
        if table.kind(id) == Kind::Liquid {
            let glass = dictionary(&[("_type", "_glass"), ("_alpha", "0.5"), ("_ior", "0.3")]);
            put_chunk(out, b"MATL", &[numbers(&[id.into()]), glass].concat());
        }
    }
}
