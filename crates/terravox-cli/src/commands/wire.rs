//! Edges of triangles, as lines.

use rustc_hash::FxHashSet;
use terravox::math::DebugLines;
use terravox::mesh::Surface;
use terravox::terrain::ShownMesh;
use terravox::voxel::{NotHeld, Snapshot, VoxelPos};
use terravox_cli::meshing::{TileMeshOptions, mesh_tile, tiles_of};

/// Colours of edges of the ground and of liquids, sRGB.
const COLOURS: [[u8; 3]; 2] = [[24, 20, 18], [24, 60, 110]];

/// Returns the edges of meshes, in voxels.
pub fn of_meshes(meshes: &[ShownMesh]) -> DebugLines {
    let mut lines = DebugLines::default();
    for ShownMesh { mip, mesh, .. } in meshes {
        let surfaces = [&mesh.solid, &mesh.liquid];
        for (surface, colour) in surfaces.into_iter().zip(COLOURS) {
            add(surface, mesh.block.min, *mip, colour, &mut lines);
        }
    }
    lines
}

/// Returns the edges of the mesh of a world, in voxels.
///
/// # Errors
/// [`NotHeld`] if a needed cell is not held.
pub fn of_cells(snapshot: &Snapshot) -> Result<DebugLines, NotHeld> {
    let mut lines = DebugLines::default();
    for tile in tiles_of(snapshot, TileMeshOptions::default()) {
        for mesh in mesh_tile(snapshot, &tile, 0)? {
            for (surface, colour) in [&mesh.solid, &mesh.liquid].into_iter().zip(COLOURS) {
                add(surface, mesh.block.min, 0, colour, &mut lines);
            }
        }
    }
    Ok(lines)
}

fn add(surface: &Surface, min: VoxelPos, mip: u8, colour: [u8; 3], lines: &mut DebugLines) {
    let min = min.to_array();
    let to_voxels = |v: u32| {
        let p = surface.positions[v as usize];
        let size = f64::from(1_u32 << mip);
        [0, 1, 2].map(|axis| (f64::from(min[axis]) + f64::from(p[axis])) * size)
    };
    let mut drawn = FxHashSet::default();
    for triangle in surface.triangles() {
        for k in 0..3 {
            let (a, b) = (triangle[k], triangle[(k + 1) % 3]);
            if drawn.insert([a.min(b), a.max(b)]) {
                lines.line(to_voxels(a), to_voxels(b), colour);
            }
        }
    }
}
