//! Which two sides of quads are the same edge of the mesh.
//!
//! A side has the number `4 * quad + k`, the triangle at it half of that.

use crate::mesh::{Direction, Surface, face_corners};
use crate::voxel::Region;

/// No side in a slot.
const NONE: u32 = u32::MAX;

/// The slots of a face's sides, from that of the min corner of its cell on.
type SideSlots = [u32; 4];

/// Pairs the sides of a surface.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    /// For each corner of the block's cells, axis of the edge to the next corner and way
    /// along it, down or up: the side there. All none between two surfaces.
    slots: Vec<u32>,
    /// Edges of the block that the slots are for.
    size: [usize; 3],
    /// The slots of sides by direction of the face, and whether the quad begins at the
    /// second corner of the face.
    faces: [[SideSlots; 2]; 6],
    /// Sides without a partner.
    pub open: Vec<u32>,
    /// Open sides by their vertices, the lower first.
    by_vertices: Vec<(u64, u32)>,
}

impl Pairing {
    /// Makes slots for blocks of this size.
    fn set_size(&mut self, block: Region) {
        let size = block.size();
        if self.size == size {
            return;
        }
        self.size = size;
        let corners = size.iter().map(|edge| edge + 1).product::<usize>();
        self.slots.clear();
        self.slots.resize(6 * corners, NONE);
        let [dx, dy, dz] = self.steps();
        let slot = |from: [i32; 3], to: [i32; 3]| {
            let axis = (0..3).find(|&axis| from[axis] != to[axis]).unwrap_or(0);
            let up = from[axis] < to[axis];
            let [x, y, z] = if up { from } else { to }.map(|c| c as u32);
            x * dx + y * dy + z * dz + 2 * axis as u32 + u32::from(up)
        };
        for (slots, direction) in self.faces.iter_mut().zip(Direction::ALL) {
            let at = face_corners([0; 3], direction);
            for (first, slots) in slots.iter_mut().enumerate() {
                *slots =
                    std::array::from_fn(|k| slot(at[(k + first) % 4], at[(k + first + 1) % 4]));
            }
        }
    }

    /// Slots from a corner to the next one.
    fn steps(&self) -> [u32; 3] {
        let [x, _, z] = self.size.map(|edge| edge as u32 + 1);
        [6, 6 * x * z, 6 * x]
    }

    /// Pairs the sides of plain quads where both are. Calls for each quad, in order, with
    /// its number, its vertices, the sides across its own (`4 * quads` for missing ones)
    /// and four bits for each side that is open: without a partner.
    #[inline(always)]
    pub(super) fn plain(
        &mut self,
        surface: &Surface,
        block: Region,
        mut each: impl FnMut(usize, [usize; 4], [usize; 4], u16),
    ) {
        self.set_size(block);
        self.open.clear();
        let beyond = 4 * surface.quad_count() as u32;
        let quads = surface.indices.chunks_exact(6).zip(&surface.quad_faces);
        let quads = quads.take(surface.plain_quads).enumerate();
        for (quad, (indices, face)) in quads.clone() {
            for (k, slot) in self.slots_of(corners(indices), *face).into_iter().enumerate() {
                self.slots[slot] = (4 * quad + k) as u32;
            }
        }
        for (quad, (indices, face)) in quads {
            let at = corners(indices);
            let slots = self.slots_of(at, *face);
            // No other side uses these slots.
            let found = slots.map(|slot| std::mem::replace(&mut self.slots[slot ^ 1], NONE));
            let mut open = 0;
            if found.contains(&NONE) {
                for k in (0..4).filter(|&k| found[k] == NONE) {
                    open |= 15 << (4 * k);
                    self.slots[slots[k]] = NONE;
                    self.open.push((4 * quad + k) as u32);
                }
            }
            each(quad, at, found.map(|side| side.min(beyond) as usize), open);
        }
    }

    /// The slots of the sides of a plain quad.
    #[inline(always)]
    fn slots_of(&self, at: [usize; 4], face: [u8; 4]) -> [usize; 4] {
        let [dx, dy, dz] = self.steps();
        let [x, y, z, direction] = face.map(u32::from);
        let first = x * dx + y * dy + z * dz;
        // The face's first corner has the lowest number.
        let slots = &self.faces[direction as usize][usize::from(at[3] < at[0])];
        slots.map(|slot| (first + slot) as usize)
    }

    /// Adds the sides of all other quads to the open ones and pairs these by their
    /// vertices: calls with each two; the rest stays open.
    #[cold]
    pub(super) fn others(&mut self, surface: &Surface, mut each: impl FnMut(usize, usize)) {
        self.open.extend(4 * surface.plain_quads as u32..4 * surface.quad_count() as u32);
        self.by_vertices.clear();
        self.by_vertices.extend(self.open.drain(..).map(|side| {
            let (quad, k) = (side as usize / 4, side as usize % 4);
            let at = corners(&surface.indices[6 * quad..6 * quad + 6]);
            let (from, to) = (at[k], at[(k + 1) % 4]);
            ((from.min(to) as u64) << 32 | from.max(to) as u64, side)
        }));
        self.by_vertices.sort_unstable();
        let mut left = self.by_vertices.as_slice();
        while let [first, rest @ ..] = left {
            left = rest;
            match rest {
                [second, rest @ ..] if second.0 == first.0 => {
                    each(first.1 as usize, second.1 as usize);
                    left = rest;
                }
                _ => self.open.push(first.1),
            }
        }
    }
}

/// The vertices around a quad, from the indices of its triangles.
#[inline(always)]
pub(super) fn corners(i: &[u32]) -> [usize; 4] {
    [i[0], i[1], i[2], i[5]].map(|v| v as usize)
}
