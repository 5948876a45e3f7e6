//! Meshes the ground of a world from the nodes of its octrees.

use crate::args::ClusterArgs;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::report::{Report, grouped};
use rayon::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use terravox::mesh::{BlockMesh, Surface};
use terravox::octree::{Contourer, Detail, Octree, OctreeBuilder, OctreePos, Octrees};
use terravox::voxel::{DenseBox, NotHeld, Region, Snapshot};

/// Size of an octree and of its mesh.
pub struct OctreeStats {
    /// Leaves of the octree.
    leaves: usize,
    /// Triangles of the mesh.
    triangles: usize,
    /// Triangles of a mesh of the leaves.
    fine_triangles: usize,
}

/// Builds the octrees of a world's ground and meshes them, without liquids: a mesh for each piece
/// of ground whose blocks touch no other piece, relative to the min corner of its octree.
///
/// # Errors
/// If the world does not hold a cell that is needed, or a piece is too wide.
pub fn bake(
    snapshot: &Snapshot,
    clusters: ClusterArgs,
    path: &Path,
    console: &Console,
) -> CliResult<(Vec<BlockMesh>, OctreeStats)> {
    let blocks = Octrees::blocks(snapshot);
    let bar = console.bar("octrees", blocks.len());
    let build = |(builder, cells): &mut (OctreeBuilder, DenseBox), block: &OctreePos| {
        snapshot.read(Octree::cells_needed(block.region()), 0, cells)?;
        bar.step();
        Ok((*block, builder.cells(cells, snapshot.materials())))
    };
    let octrees: Result<Vec<(OctreePos, Octree)>, NotHeld> =
        blocks.par_iter().map_init(Default::default, build).collect();
    drop(bar);
    let mut octrees = octrees.map_err(Failure::at(path))?;
    octrees.retain(|(_, octree)| !octree.is_empty());
    let octrees: BTreeMap<OctreePos, Octree> = octrees.into_iter().collect();
    let _busy = console.busy("contouring");
    let mut stats = OctreeStats { leaves: 0, triangles: 0, fine_triangles: 0 };
    let (mut meshes, mut contourer) = (Vec::new(), Contourer::new());
    for piece in pieces(octrees.keys()) {
        check_width(&piece).map_err(Failure::at(path))?;
        let parts: Vec<&Octree> = piece.iter().map(|block| &octrees[block]).collect();
        let octree = Octree::joined(&parts);
        // The root may extend far beyond the world.
        let (min, max) = (octree.min(), octree.region().max.min(snapshot.bounds().max));
        let mut mesh = BlockMesh { block: Region { min, max }, ..BlockMesh::default() };
        let mut fine = Surface::default();
        contourer.contour(&octree, &Detail::size(1), &mut fine);
        let detail = Detail { size: clusters.cluster, error: clusters.error.map(|e| e as f32) };
        contourer.contour(&octree, &detail, &mut mesh.solid);
        stats.leaves += octree.leaf_count();
        stats.triangles += mesh.solid.triangle_count();
        stats.fine_triangles += fine.triangle_count();
        meshes.push(mesh);
    }
    Ok((meshes, stats))
}

/// Groups blocks such that those which touch, at a corner at least, are in one group.
fn pieces<'a>(blocks: impl Iterator<Item = &'a OctreePos>) -> Vec<Vec<OctreePos>> {
    let mut left: BTreeSet<OctreePos> = blocks.copied().collect();
    let mut pieces = Vec::new();
    while let Some(first) = left.pop_first() {
        let (mut piece, mut next) = (vec![first], 0);
        while let Some(&block) = piece.get(next) {
            next += 1;
            for step in Region::new([-1; 3], [2; 3]).voxels() {
                let beside = OctreePos::new(block.x + step.x, block.y + step.y, block.z + step.z);
                if left.remove(&beside) {
                    piece.push(beside);
                }
            }
        }
        piece.sort_unstable();
        pieces.push(piece);
    }
    pieces
}

/// Refuses a piece of ground that is too wide for one octree.
fn check_width(piece: &[OctreePos]) -> Result<(), String> {
    let bounds = piece.iter().fold(Region::default(), |all, block| all.union(block.region()));
    let widest = bounds.size().into_iter().max().unwrap_or(0);
    match widest <= Octree::MAX_JOINED_CELLS as usize {
        true => Ok(()),
        false => Err(format!(
            "{widest} voxels of ground are connected; --octree meshes at most {}, so leave it out",
            Octree::MAX_JOINED_CELLS
        )),
    }
}

impl OctreeStats {
    /// Adds leaves and triangles to a report.
    pub fn add_to(&self, report: &mut Report) {
        report.count("leaves", "leaves", self.leaves as u64);
        let share = self.triangles as f64 / self.fine_triangles.max(1) as f64;
        let text =
            format!("{:.1} % of {} triangles", share * 100.0, grouped(self.fine_triangles as u64));
        let value = json!({ "share": share, "fine_triangles": self.fine_triangles });
        report.line("kept", "kept", text, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_touch_are_one_piece() {
        let block = OctreePos::new;
        let far = (1 << 24) - 1;
        let blocks = [block(0, 0, 0), block(far, 0, 0), block(-far, far, 0), block(1, 1, 1)];
        let found = pieces(blocks.iter());
        let touching = vec![block(0, 0, 0), block(1, 1, 1)];
        assert_eq!(found, [vec![block(-far, far, 0)], touching, vec![block(far, 0, 0)]]);
        let wide: Vec<OctreePos> = (0..2049).map(|x| block(x, 0, 0)).collect();
        assert!(check_width(&wide[..2048]).is_ok());
        assert!(check_width(&wide).is_err_and(|what| what.contains("131136 voxels")));
    }
}
