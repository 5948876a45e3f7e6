//! Where a vertex lies that touches another mip: on the surface of the coarsest one.
//!
//! With m the coarsest mip at a corner: where the corner lies on the lattice of mip m, at
//! the vertex that cells of mip m alone would have there; else at the mean of those of
//! the lattice's corners around, by distance, that have one. So the finer side of a seam
//! ends on the coarser one's surface, and faces between the two have next to no area.
//! What the cells of mip m have no surface near stays at the corner.

use rustc_hash::FxHashMap;

use crate::mesh::BlockMesh;
use crate::mesh::cells::Cells;
use crate::mesh::corner::Corner;
use crate::mesh::fast::{Fast, Part, PlacedCorners, Standing};
use crate::mesh::morph::MorphTargets;
use crate::mesh::place::{Placed, unit_normal};
use crate::mesh::plane::Plane;
use crate::mesh::vertex::{Ids, Site};
use crate::voxel::{MaterialTable, VoxelPos};

use super::around::Features;
use super::boxes::{Boxes, COARSER, View};
use super::frame::{Frame, QUANTA, round};

/// A vertex: quanta from the block's min corner, and its unit normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub position: [i32; 3],
    pub normal: [f32; 3],
}

impl Point {
    /// Appends it as where a vertex of a level `step` mips coarser than the block lies one
    /// level up.
    pub(super) fn push_to(&self, frame: &Frame<'_>, step: u8, targets: &mut MorphTargets) {
        let scale = 1.0 / frame.quanta() as f32;
        targets.push(self.position.map(|p| p as f32 * scale), self.normal, step);
    }
}

/// A corner of a mip's lattice and the vertices that its own cells give it.
#[derive(Clone, Copy, Debug)]
struct LevelCorner {
    corner: Corner,
    placed: [Option<Placed>; 4],
}

/// What was looked up of the cells of all mips at a block's hull.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// By mips coarser than the block's less 1: what was placed beforehand.
    placed: [PlacedCorners; COARSER],
    /// By mips coarser than the block's, and corner, packed: number in `corners`.
    numbers: FxHashMap<u64, u32>,
    corners: Vec<LevelCorner>,
    /// By mips coarser and cell, packed: number of its first plane, and whether it is thin.
    planes: FxHashMap<u64, (u32, bool)>,
    /// One for a cell, or eight for a thin one.
    list: Vec<Plane>,
}

impl Levels {
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.corners.clear();
        self.planes.clear();
        self.list.clear();
    }

    /// Places, of one of the two surfaces, the vertices at corners on some features by cells
    /// 1, 2, 3, 4 mips coarser than the block's; `mesh` is meshed into.
    pub(super) fn prepare(
        &mut self,
        fast: &mut Fast,
        boxes: &Boxes,
        part: Part,
        place: &Place<'_>,
        features: [Features; COARSER],
        mesh: &mut BlockMesh,
    ) {
        for ((step, features), placed) in (1..).zip(features).zip(&mut self.placed) {
            placed.forget();
            if !features.is_empty() {
                mesh.block.min = place.origin.coarser(step.into());
                let cells = (boxes.padded(step), place.table);
                fast.place_corners(features, part, cells, mesh, placed);
            }
        }
    }

    /// Where the vertex of a sheet lies at the corner `at`, of whose octants the finest
    /// and the coarsest mip are given, if it faces `direction`.
    pub(super) fn point<C: Cells>(
        &mut self,
        by: (&View<'_, C>, &Fast),
        place: &Place<'_>,
        at: [i32; 3],
        mips: [u8; 2],
        direction: [f32; 3],
    ) -> Point {
        self.on_level(by, place, at, mips, || direction).unwrap_or_else(|| {
            let normal = unit_normal([0.0; 3], direction);
            Point { position: at.map(|a| a * QUANTA), normal }
        })
    }

    /// Where a vertex at the corner `at` lies on the surface of the mip `level`, in whole
    /// quanta of the mip `finest`, if there is any around; `direction` says where it faces.
    pub(super) fn on_level<C: Cells>(
        &mut self,
        by: (&View<'_, C>, &Fast),
        place: &Place<'_>,
        at: [i32; 3],
        [finest, level]: [u8; 2],
        direction: impl Fn() -> [f32; 3],
    ) -> Option<Point> {
        let frame = by.0.frame;
        let size = frame.size(level);
        let base = at.map(|a| a & !(size - 1));
        let share = [0, 1, 2].map(|axis| at[axis] - base[axis]);
        let (mut sum, mut count, mut normal) = ([0i64; 3], 0, [0.0f32; 3]);
        let between = (0..3).map(|axis| u8::from(share[axis] != 0) << axis).sum::<u8>();
        for number in (0..8u8).filter(|number| number & !between == 0) {
            let high = [0, 1, 2].map(|axis| number >> axis & 1 == 1);
            let corner = [0, 1, 2].map(|axis| base[axis] + if high[axis] { size } else { 0 });
            let part = |axis: usize| if high[axis] { share[axis] } else { size - share[axis] };
            let weight = part(0) * part(1) * part(2);
            let Some(placed) = self.placed(by, place, corner, level, &direction) else {
                continue;
            };
            count += i64::from(weight);
            for axis in 0..3 {
                // Doubled offsets are multiples of 1/2048 of a cell.
                let offset = (placed.offset[axis] * 2048.0) as i32 * size;
                sum[axis] += i64::from(weight) * i64::from(corner[axis] * QUANTA + offset);
                normal[axis] += weight as f32 * placed.normal[axis];
            }
        }
        if count == 0 {
            return None;
        }
        let unit = i64::from(frame.size(finest));
        let square = (normal[0] * normal[0] + normal[1] * normal[1]) + normal[2] * normal[2];
        let normal = match between == 0 {
            true => normal.map(|n| n / count as f32),
            false if square > 0.0 => unit_normal(normal, [0.0; 3]),
            false => unit_normal([0.0; 3], direction()),
        };
        Some(Point { position: sum.map(|sum| round(sum, count, unit)), normal })
    }

    /// The vertex that the cells of a mip give a corner of their lattice; of several, of
    /// the sheet that faces `direction` most, the first on a tie.
    fn placed<C: Cells>(
        &mut self,
        (view, flat): (&View<'_, C>, &Fast),
        place: &Place<'_>,
        at: [i32; 3],
        mip: u8,
        direction: impl Fn() -> [f32; 3],
    ) -> Option<Placed> {
        let step = mip - view.frame.mip;
        let corner_at = at.map(|a| a >> view.frame.shift(mip));
        let standing = match step {
            0 => flat.standing(corner_at),
            _ => self.placed[usize::from(step) - 1].at(corner_at),
        };
        match standing {
            Standing::Nothing => return None,
            Standing::One(placed) => return Some(placed),
            Standing::ByRules => {}
        }
        let site = place.site(view, mip);
        let number = *self
            .numbers
            .entry(u64::from(step) << 32 | u64::from(packed(at)))
            .or_insert_with(|| {
                let corner = site.corner(corner_at);
                self.corners.push(LevelCorner { corner, placed: [None; 4] });
                self.corners.len() as u32 - 1
            }) as usize;
        let LevelCorner { corner, placed } = &self.corners[number];
        if corner.count == 0 {
            return None;
        }
        let sheet = facing(corner, direction())?;
        if let Some(placed) = placed[usize::from(sheet)] {
            return Some(placed);
        }
        let corner = *corner;
        let (placed, _) = self.vertex(&site, step, corner_at, &corner, sheet);
        self.corners[number].placed[usize::from(sheet)] = Some(placed);
        Some(placed)
    }

    /// [`Site::vertex`] with the planes of cells `step` mips coarser than the block's.
    pub(super) fn vertex<C: Cells>(
        &mut self,
        site: &Site<'_, C>,
        step: u8,
        at: [i32; 3],
        corner: &Corner,
        sheet: u8,
    ) -> (Placed, Ids) {
        site.vertex(at, corner, sheet, |i, octant, plane| {
            let list = &mut self.list;
            let (first, thin) =
                *self.planes.entry(u64::from(step) << 32 | i as u64).or_insert_with(|| {
                    let first = list.len() as u32;
                    (first, site.planes(i, list))
                });
            *plane = list[first as usize + if thin { 7 ^ octant } else { 0 }];
            thin
        })
    }
}

/// A corner of the hull as one number: coordinates are less than 1024.
#[inline]
pub(super) fn packed(at: [i32; 3]) -> u32 {
    (at[0] | at[1] << 10 | at[2] << 20) as u32
}

/// The sheet of a corner that faces a direction most, the first on a tie.
pub(super) fn facing(corner: &Corner, direction: [f32; 3]) -> Option<u8> {
    if corner.count < 2 {
        return (corner.count == 1).then_some(0);
    }
    let facing = |sheet: u8| {
        let d = corner.sheet(sheet).direction;
        (d[0] * direction[0] + d[1] * direction[1]) + d[2] * direction[2]
    };
    (0..corner.count).reduce(|best, sheet| if facing(sheet) > facing(best) { sheet } else { best })
}

/// What vertices are placed by besides cells.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub table: &'a MaterialTable,
    /// The block's min corner, in its cells.
    pub origin: VoxelPos,
}

impl<'a> Place<'a> {
    /// Cells of a mip, no finer than the block's, as vertices are placed by them.
    pub(super) fn site<'b, C>(&self, view: &'b View<'_, C>, mip: u8) -> Site<'b, C>
    where
        C: Cells,
        'a: 'b,
    {
        let step = mip - view.frame.mip;
        let origin = self.origin.coarser(step.into());
        Site { cells: view.padded(step), table: self.table, origin }
    }
}
