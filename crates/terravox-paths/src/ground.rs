//! The tiles as one ground: floors, their links across the borders of tiles, and the portals
//! between rectangles.
//!
//! Links are not stored. They follow from the floors on both sides, so that rebuilding a tile does
//! not touch its neighbours.

use rustc_hash::FxHashMap;

use terravox::voxel::ChunkPos;

use crate::agent::{Gauge, HEIGHT_UNITS, TILE_HEIGHT};
use crate::floors::{DIRECTIONS, Floor};
use crate::tile::Tile;

/// A rectangle of a tile, by the number of the tile in a [`Ground`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RectId {
    pub slot: u32,
    pub rect: u32,
}

/// A floor of a tile, and its path cell there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloorId {
    pub slot: u32,
    pub floor: u32,
    pub path_cell: [usize; 2],
}

/// A part of the border of a rectangle where another one is linked; in path cells from the base of
/// the [`Ground`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Portal {
    /// Out of the first rectangle, of [`DIRECTIONS`].
    pub direction: usize,
    /// Where the border is: x if the direction is along x, else z.
    pub at: f64,
    /// From and to, along the other axis.
    pub span: [f64; 2],
}

/// Paths keep this far from the ends of portals, path cells: within the path cells that were
/// linked.
const INSET: f64 = 0.25;

impl Portal {
    /// The axis that the portal is crossed along: 0 is x, 1 is z.
    pub fn axis(&self) -> usize {
        self.direction / 2
    }

    /// A point of the portal, x and z, from its position along it.
    pub fn point(&self, along: f64) -> [f64; 2] {
        if self.axis() == 0 { [self.at, along] } else { [along, self.at] }
    }

    /// The portal moved into the rectangle before it, and into that behind it: so that a line that
    /// only touches the other rectangle stays off the border, too.
    pub fn within(&self) -> [Portal; 2] {
        let by = if self.direction % 2 == 1 { INSET } else { -INSET };
        [-by, by].map(|by| Portal { at: self.at + by, ..*self })
    }

    /// The span that paths may use.
    pub fn inner(&self) -> [f64; 2] {
        [self.span[0] + INSET, self.span[1] - INSET]
    }

    /// Where a straight line from one point to another crosses the portal, or as near as it can.
    pub fn crossing(&self, from: [f64; 2], to: [f64; 2]) -> [f64; 2] {
        let axis = self.axis();
        let (way, other) = (to[axis] - from[axis], 1 - axis);
        let share = if way == 0.0 { 0.0 } else { ((self.at - from[axis]) / way).clamp(0.0, 1.0) };
        let along = from[other] + (to[other] - from[other]) * share;
        let [low, high] = self.inner();
        self.point(along.clamp(low, high))
    }
}

/// A portal out of a rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exit {
    pub to: RectId,
    pub portal: Portal,
}

/// Tiles as one search sees them.
pub(crate) struct Ground<'a, T: Fn(ChunkPos) -> Option<&'a Tile>> {
    pub gauge: &'a Gauge,
    /// Positions are relative to the lowest corner of this tile.
    pub base: ChunkPos,
    /// Returns a tile, if it is covered and its ground known.
    tile_at: T,
    slots: Vec<(ChunkPos, &'a Tile)>,
    slot_of: FxHashMap<ChunkPos, Option<u32>>,
    /// Whether a tile was needed that is not there.
    pub has_met_unknown: bool,
}

impl<'a, T: Fn(ChunkPos) -> Option<&'a Tile>> Ground<'a, T> {
    pub fn new(gauge: &'a Gauge, base: ChunkPos, tile_at: T) -> Self {
        let (slots, slot_of) = (Vec::new(), FxHashMap::default());
        Ground { gauge, base, tile_at, slots, slot_of, has_met_unknown: false }
    }

    /// The number of a tile, if it is there.
    pub fn slot(&mut self, at: ChunkPos) -> Option<u32> {
        let (slots, tile_at) = (&mut self.slots, &self.tile_at);
        let slot = *self.slot_of.entry(at).or_insert_with(|| {
            slots.push((at, tile_at(at)?));
            Some(slots.len() as u32 - 1)
        });
        // Beyond the limits there is air.
        self.has_met_unknown |= slot.is_none() && at.within_limits();
        slot
    }

    /// A tile by its number.
    pub fn tile(&self, slot: u32) -> &'a Tile {
        self.slots[slot as usize].1
    }

    /// The position of a tile by its number.
    pub fn position(&self, slot: u32) -> ChunkPos {
        self.slots[slot as usize].0
    }

    /// The lowest corner of a tile in path cells from the base.
    pub fn corner(&self, slot: u32) -> [f64; 3] {
        let (at, base) = (self.position(slot), self.base);
        let edge = f64::from(self.gauge.edge());
        let path_cells = |v: i32, base: i32| (f64::from(v) - f64::from(base)) * edge;
        [path_cells(at.x, base.x), path_cells(at.y, base.y), path_cells(at.z, base.z)]
    }

    /// The height of a floor in path cells from the base.
    pub fn height(&self, slot: u32, floor: usize) -> f64 {
        let units = f64::from(self.tile(slot).floor(floor).height);
        let per_unit = f64::from(self.gauge.per_voxel) / f64::from(HEIGHT_UNITS);
        self.corner(slot)[1] + units * per_unit
    }

    /// Lists the floors to which a floor is linked towards a direction.
    pub fn linked(&mut self, from: FloorId, direction: usize, out: &mut Vec<FloorId>) {
        let (at, tile) = self.slots[from.slot as usize];
        let own = *tile.floor(from.floor as usize);
        let edge = self.gauge.edge();
        let [dx, dz] = DIRECTIONS[direction];
        let (x, z) = (from.path_cell[0] as i32 + dx, from.path_cell[1] as i32 + dz);
        let (tile_x, tile_z) = (x.div_euclid(edge), z.div_euclid(edge));
        let path_cell = [x.rem_euclid(edge) as usize, z.rem_euclid(edge) as usize];
        for tile_y in -1..=1 {
            // Heights of the other tile count from its own lowest.
            let height = own.height - tile_y * TILE_HEIGHT;
            let reached = (height - self.gauge.step).max(0)..=(height + self.gauge.step);
            if reached.is_empty() || *reached.start() >= TILE_HEIGHT || *reached.end() < 0 {
                continue;
            }
            let beside = match [tile_x, tile_y, tile_z] {
                [0, 0, 0] => Some(from.slot),
                by => self.slot(ChunkPos::new(at.x + by[0], at.y + by[1], at.z + by[2])),
            };
            let Some(slot) = beside else { continue };
            let (own, other) = (Floor { height, ..own }, self.tile(slot));
            let near = other.of(path_cell[0], path_cell[1]);
            let near = near.filter(|&near| own.is_linked(other.floor(near), self.gauge));
            out.extend(near.map(|floor| FloorId { slot, floor: floor as u32, path_cell }));
        }
    }

    /// Lists the portals out of a rectangle.
    pub fn exits(&mut self, id: RectId, out: &mut Vec<Exit>) {
        out.clear();
        let tile = self.tile(id.slot);
        let rect = tile.rects()[id.rect as usize];
        let corner = self.corner(id.slot);
        let corner = [corner[0], corner[2]];
        let mut linked = Vec::new();
        for direction in 0..4 {
            let (axis, is_far) = (direction / 2, direction % 2 == 1);
            let border = if is_far { rect.last[axis] } else { rect.min[axis] };
            let at = corner[axis] + f64::from(border) + f64::from(u8::from(is_far));
            let other = 1 - axis;
            let first = out.len();
            for along in rect.min[other]..=rect.last[other] {
                let path_cell = match axis {
                    0 => [border, along].map(usize::from),
                    _ => [along, border].map(usize::from),
                };
                let Some(floor) = tile.floor_in(id.rect, path_cell[0], path_cell[1]) else {
                    continue;
                };
                linked.clear();
                let from = FloorId { slot: id.slot, floor: floor as u32, path_cell };
                self.linked(from, direction, &mut linked);
                let start = corner[other] + f64::from(along);
                for found in &linked {
                    let rect = self.tile(found.slot).rect_of(found.floor as usize);
                    let to = RectId { slot: found.slot, rect };
                    let mut open = out[first..].iter_mut();
                    match open.find(|exit| exit.to == to && exit.portal.span[1] == start) {
                        Some(exit) => exit.portal.span[1] += 1.0,
                        None => {
                            let span = [start, start + 1.0];
                            out.push(Exit { to, portal: Portal { direction, at, span } });
                        }
                    }
                }
            }
        }
    }

    /// The point of a rectangle nearest to a point, in path cells from the base, on the ground.
    pub fn closest(&self, id: RectId, point: [f64; 3]) -> [f64; 3] {
        let (tile, corner) = (self.tile(id.slot), self.corner(id.slot));
        let rect = tile.rects()[id.rect as usize];
        let clamp = |axis: usize, v: f64| {
            let low = f64::from(rect.min[axis]) + INSET;
            let high = f64::from(rect.last[axis]) + 1.0 - INSET;
            (v - corner[2 * axis]).clamp(low, high)
        };
        let [x, z] = [clamp(0, point[0]), clamp(1, point[2])];
        [corner[0] + x, self.height_in(id, [corner[0] + x, corner[2] + z]), corner[2] + z]
    }

    /// The height of a rectangle at a point within it or on its border, x and z: between the floors
    /// of the path cells around the point, and at its border on as between the last two.
    pub fn height_in(&self, id: RectId, point: [f64; 2]) -> f64 {
        let (tile, corner) = (self.tile(id.slot), self.corner(id.slot));
        let rect = tile.rects()[id.rect as usize];
        // The path cells before and behind, and how far from one to the other.
        let [(xs, x), (zs, z)] = [0, 1].map(|axis| {
            let [low, last] = [rect.min[axis], rect.last[axis]].map(usize::from);
            let from_middle = point[axis] - corner[2 * axis] - 0.5;
            let first = (from_middle.floor().max(0.0) as usize).clamp(low, last.max(low + 1) - 1);
            let share = (from_middle - first as f64).clamp(-0.5, 1.5);
            ([first, (first + 1).min(last)], share)
        });
        let height = |x, z| match tile.floor_in(id.rect, x, z) {
            Some(floor) => self.height(id.slot, floor),
            None => corner[1], // rectangles have all their floors
        };
        let [near, far] = zs.map(|z| {
            let [low, high] = xs.map(|x| height(x, z));
            low + (high - low) * x
        });
        near + (far - near) * z
    }

    /// The floor nearest to a point, in path cells from the base, within `radius`, and the point on
    /// it.
    pub fn nearest(&mut self, point: [f64; 3], radius: f64) -> Option<(RectId, [f64; 3])> {
        let edge = i64::from(self.gauge.edge());
        let path_cells = |axis: usize| {
            let low = (point[axis] - radius).floor() as i64;
            low..=(point[axis] + radius).floor() as i64
        };
        let tiles = |axis: usize| {
            let range = path_cells(axis);
            range.start().div_euclid(edge)..=range.end().div_euclid(edge)
        };
        let base = self.base;
        let mut best: Option<(f64, RectId, [f64; 3])> = None;
        for (y, z, x) in
            tiles(1).flat_map(|y| tiles(2).flat_map(move |z| tiles(0).map(move |x| (y, z, x))))
        {
            let at = [(base.x, x), (base.y, y), (base.z, z)];
            let [x, y, z] = at.map(|(base, by)| base.saturating_add(by as i32));
            let Some(slot) = self.slot(ChunkPos::new(x, y, z)) else { continue };
            let (tile, corner) = (self.tile(slot), self.corner(slot));
            let local = |axis: usize| {
                let from = |v: i64| v - corner[axis] as i64;
                let range = path_cells(axis);
                from(*range.start()).max(0)..=from(*range.end()).min(edge - 1)
            };
            for (z, x) in local(2).flat_map(|z| local(0).map(move |x| (z, x))) {
                for floor in tile.of(x as usize, z as usize) {
                    let clamped = |axis: usize, path_cell: i64| {
                        let low = corner[axis] + path_cell as f64;
                        point[axis].clamp(low + INSET, low + 1.0 - INSET)
                    };
                    let on = [clamped(0, x), self.height(slot, floor), clamped(2, z)];
                    let away = squared_distance(on, point);
                    if away <= radius * radius && best.is_none_or(|(least, ..)| away < least) {
                        best = Some((away, RectId { slot, rect: tile.rect_of(floor) }, on));
                    }
                }
            }
        }
        best.map(|(_, id, [x, _, z])| (id, [x, self.height_in(id, [x, z]), z]))
    }
}

/// The square of the distance of two points.
pub(crate) fn squared_distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    let [x, y, z] = [0, 1, 2].map(|i| a[i] - b[i]);
    x * x + y * y + z * z
}

/// The distance of two points.
pub(crate) fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    squared_distance(a, b).sqrt()
}
