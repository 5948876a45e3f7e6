//! The targets of vertices that touch no other mip: on the surface of the block's parent, by the
//! rule of [`foreign_vertices`](super::foreign_vertices).

use crate::mesh::rules::boundary::BoundaryFeatures;
use crate::mesh::rules::cells::SurfaceCells;
use crate::mesh::surface::Surface;

use super::cells::MAX_COARSER_STEPS;
use super::foreign_vertices::{ForeignVertices, LatticePoint, MipSources};
use super::lattice::{LocalLattice, MipSpan};
use super::neighbours::BoundaryMips;

/// Returns, by mips coarser than the block's less 1, the features at whose corners vertices may
/// be looked up when vertices morph up to mip `top`.
pub(super) fn wanted(
    lattice: &LocalLattice<'_>,
    mips: &BoundaryMips,
    top: u8,
) -> [BoundaryFeatures; MAX_COARSER_STEPS] {
    std::array::from_fn(|step| match step {
        _ if usize::from(lattice.mip) + step >= top.into() => BoundaryFeatures::NONE,
        0 => BoundaryFeatures::ALL,
        _ => mips.where_coarsest(step as u8),
    })
}

/// Appends the targets of all vertices of `out`, none of which touches another mip. Their keys
/// are in cells.
pub(super) fn push_flat<C: SurfaceCells>(
    sources: &MipSources<'_, C>,
    vertices: &mut ForeignVertices,
    top: u8,
    out: &mut Surface,
) {
    let lattice = sources.cells.lattice;
    let block = sources.block_cells(lattice.mip);
    let corners = out.vertex_count() - out.inner.len();
    for i in 0..corners {
        let key = out.keys[i];
        let at = (key.corner - sources.origin).to_array();
        let direction = || block.corner(at).sheet(key.part).direction;
        let units = at.map(|a| a << lattice.cell_log2(lattice.mip));
        let mips = MipSpan { finest: lattice.mip, coarsest: lattice.mip + 1 };
        let target: Option<LatticePoint> = match lattice.mip < top {
            true => vertices.place_on_coarsest_mip(sources, units, mips, direction),
            false => None,
        };
        match target {
            Some(target) => target.push_to(&lattice, 0, &mut out.targets),
            None => out.targets.push(out.positions[i], out.normals[i], 0),
        }
    }
    for i in 0..out.inner.len() {
        out.push_inner_target(corners + i, out.inner[i]);
    }
}
