//! Where the vertices of a block that touch no other mip lie one level up: on the surface of
//! its parent, by the rule of [`levels`](super::levels).

use crate::mesh::cells::Cells;
use crate::mesh::fast::Fast;
use crate::mesh::surface::Surface;
use crate::voxel::Region;

use super::around::{Features, Neighbours};
use super::boxes::{COARSER, View};
use super::frame::Frame;
use super::levels::{Levels, Place, Point};

/// By mips coarser than the block's less 1: at which corners vertices may be looked up when
/// nothing coarser than `top` is morphed to.
pub(super) fn wanted(frame: &Frame<'_>, neighbours: &Neighbours, top: u8) -> [Features; COARSER] {
    std::array::from_fn(|step| match step {
        _ if usize::from(frame.mip) + step >= top.into() => Features::NONE,
        0 => Features::ALL,
        _ => neighbours.levels(step as u8),
    })
}

/// Appends the targets of all vertices, none of which touches another mip. Their keys are
/// in cells; `own` is the block, in cells.
pub(super) fn push_flat<C: Cells>(
    by: (&View<'_, C>, &Fast),
    place: &Place<'_>,
    levels: &mut Levels,
    own: Region,
    top: u8,
    out: &mut Surface,
) {
    let frame = by.0.frame;
    let site = place.site(by.0, frame.mip);
    let corners = out.vertex_count() - out.inner.len();
    for i in 0..corners {
        let key = out.keys[i];
        let at = (key.corner - own.min).to_array();
        let direction = || site.corner(at).sheet(key.part).direction;
        let units = at.map(|a| a << frame.shift(frame.mip));
        let target: Option<Point> = match frame.mip < top {
            true => levels.on_level(by, place, units, [frame.mip, frame.mip + 1], direction),
            false => None,
        };
        match target {
            Some(target) => target.push_to(&frame, 0, &mut out.targets),
            None => out.targets.push(out.positions[i], out.normals[i], 0),
        }
    }
    for i in 0..out.inner.len() {
        out.push_inner_target(corners + i, out.inner[i]);
    }
}
