//! Floors: ground on the lines of path cells where an agent can stand.
//!
//! A floor is ground with room above it. It can be walked on if it is gentle enough, or steep only
//! as part of a bump that the agent climbs. Floors of neighbouring path cells are linked if the
//! step between them is small and the agent fits through the room that they share. From walls,
//! drops and steep ground, where a floor lacks a link, the agent keeps its radius.
//!
//! A floor depends on nothing farther away than [`Gauge::margin`] and [`Gauge::reach`], so that any
//! window that holds it finds the same.
//!
//! Sources: the spans and the erosion of Recast (Mononen 2009), on exact crossings in place of
//! rasterised triangles, with distances by the shortest links instead of two sweeps, which depend on
//! where a window begins.

use crate::agent::{Gauge, HEIGHT_UNITS, STEP_COSTS, TILE_EDGE};
use crate::crossings::{Crossing, Window};

/// Neighbours of a path cell: towards −x, +x, −z, +z.
pub(crate) const DIRECTIONS: [[i32; 2]; 4] = [[-1, 0], [1, 0], [0, -1], [0, 1]];

/// Ground with room above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Floor {
    /// Of the ground, in height units above the tile's lowest.
    pub height: i32,
    /// Room above it, up to [`Gauge::roof`].
    pub room: i32,
}

impl Floor {
    /// The highest layer of voxels that says whether the floor is under water: as far as there is
    /// room, or further where the room is less than the ground of a voxel may be.
    pub fn water_end(&self, gauge: &Gauge) -> i32 {
        let reach = self.room.max(gauge.wade + HEIGHT_UNITS);
        (self.height + reach).div_euclid(HEIGHT_UNITS)
    }

    /// Whether an agent steps from one to the other.
    #[inline]
    pub fn is_linked(&self, other: &Floor, gauge: &Gauge) -> bool {
        let ceiling = (self.height + self.room).min(other.height + other.room);
        (self.height - other.height).abs() <= gauge.step
            && ceiling - self.height.max(other.height) >= gauge.height
    }
}

/// The floors of a square window of path cells.
#[derive(Debug, Default)]
pub(crate) struct Floors {
    /// Path cells along an edge.
    pub edge: usize,
    /// The first floor of each path cell, and the end of the last.
    pub starts: Vec<u32>,
    /// By path cell, from low to high.
    pub floors: Vec<Floor>,
    /// Whether an agent can walk on a floor, without regard to its radius.
    pub is_walkable: Vec<bool>,
    /// From the nearest floor that lacks a link, in [`STEP_COSTS`]; only up to `erode_below`.
    pub distances: Vec<u32>,
    queues: Vec<Vec<u32>>,
    path_cells: Vec<u32>,
}

impl Floors {
    /// Finds all floors of a window of a tile; crossings are by path cell and height.
    pub fn find(&mut self, gauge: &Gauge, window: Window, crossings: &[Crossing]) {
        self.edge = window.edge as usize;
        self.starts.clear();
        self.floors.clear();
        self.is_walkable.clear();
        self.path_cells.clear();
        let top = TILE_EDGE * HEIGHT_UNITS + gauge.reach;
        let mut rest = crossings;
        for path_cell in 0..(self.edge * self.edge) as u32 {
            self.starts.push(self.floors.len() as u32);
            let count = rest.iter().take_while(|crossing| crossing.path_cell == path_cell).count();
            let (own, after) = rest.split_at(count);
            rest = after;
            for (i, ground) in own.iter().enumerate().filter(|(_, crossing)| crossing.is_up) {
                let above = own.get(i + 1).map_or(i32::MAX, |next| next.height - ground.height);
                let is_near = (-gauge.reach..top).contains(&ground.height);
                if is_near && above >= gauge.height {
                    let room = above.min(gauge.roof());
                    self.floors.push(Floor { height: ground.height, room });
                    self.is_walkable.push(ground.is_gentle);
                    self.path_cells.push(path_cell);
                }
            }
        }
        self.starts.push(self.floors.len() as u32);
        self.allow_bumps(gauge);
        self.measure(gauge);
    }

    /// The floors of a path cell.
    pub fn of(&self, x: usize, z: usize) -> std::ops::Range<usize> {
        let path_cell = z * self.edge + x;
        self.starts[path_cell] as usize..self.starts[path_cell + 1] as usize
    }

    /// Makes steep floors walkable that differ from all around them by no more than a climb.
    fn allow_bumps(&mut self, gauge: &Gauge) {
        if gauge.climb == 0 {
            return;
        }
        let (around, edge) = (gauge.bump_path_cells, self.edge as i32);
        let inner = around..edge - around;
        for floor in 0..self.floors.len() {
            let path_cell = self.path_cells[floor] as i32;
            let (x, z) = (path_cell % edge, path_cell / edge);
            if self.is_walkable[floor] || !inner.contains(&x) || !inner.contains(&z) {
                continue;
            }
            let height = self.floors[floor].height;
            let is_level = |dx: i32, dz: i32| {
                let near = self.of((x + dx) as usize, (z + dz) as usize);
                near.into_iter()
                    .any(|other| (self.floors[other].height - height).abs() <= gauge.climb)
            };
            // The outermost ring first: long slopes fail there.
            self.is_walkable[floor] =
                (0..=around).rev().all(|r| ring(r).all(|[dx, dz]| is_level(dx, dz)));
        }
    }

    /// The linked floors of a floor towards a direction.
    pub fn linked<'a>(
        &'a self,
        gauge: &'a Gauge,
        floor: usize,
        direction: usize,
    ) -> impl Iterator<Item = usize> + 'a {
        let path_cell = self.path_cells[floor] as i32;
        let edge = self.edge as i32;
        let [dx, dz] = DIRECTIONS[direction];
        let (x, z) = (path_cell % edge + dx, path_cell / edge + dz);
        let is_inside = (0..edge).contains(&x) && (0..edge).contains(&z);
        let near = if is_inside { self.of(x as usize, z as usize) } else { 0..0 };
        near.filter(move |&other| {
            self.is_walkable[other] && self.floors[floor].is_linked(&self.floors[other], gauge)
        })
    }

    /// Measures the distance of each walkable floor from the next one that lacks a link.
    fn measure(&mut self, gauge: &Gauge) {
        self.distances.clear();
        self.distances.resize(self.floors.len(), u32::MAX);
        let far = gauge.erode_below;
        self.queues.iter_mut().for_each(Vec::clear);
        self.queues.resize(far as usize + 1, Vec::new());
        let mut queues = std::mem::take(&mut self.queues);
        if far > 0 {
            for floor in (0..self.floors.len()).filter(|&floor| self.is_walkable[floor]) {
                if (0..4).any(|direction| self.linked(gauge, floor, direction).next().is_none()) {
                    self.distances[floor] = 0;
                    queues[0].push(floor as u32);
                }
            }
        }
        for distance in 0..far {
            let mut at = 0;
            while let Some(&floor) = queues[distance as usize].get(at) {
                at += 1;
                if self.distances[floor as usize] == distance {
                    self.spread(gauge, floor as usize, &mut queues);
                }
            }
        }
        self.queues = queues;
    }

    /// Lowers the distances of a floor's neighbours to that by way of it.
    fn spread(&mut self, gauge: &Gauge, floor: usize, queues: &mut [Vec<u32>]) {
        let distance = self.distances[floor];
        let mut found = Vec::new();
        for direction in 0..4 {
            for near in self.linked(gauge, floor, direction) {
                found.push((near, distance + STEP_COSTS[0]));
                // Across a corner, by way of either neighbour.
                let turns = if direction < 2 { [2, 3] } else { [0, 1] };
                let across = turns.into_iter().flat_map(|turn| self.linked(gauge, near, turn));
                found.extend(across.map(|across| (across, distance + STEP_COSTS[1])));
            }
        }
        for (near, distance) in found {
            if distance < self.distances[near] && (distance as usize) < queues.len() {
                self.distances[near] = distance;
                queues[distance as usize].push(near as u32);
            }
        }
    }
}

/// The path cells at a distance of `r` along x or z, whichever is more.
fn ring(r: i32) -> impl Iterator<Item = [i32; 2]> {
    (-r..=r).flat_map(move |z| {
        let step = if z.abs() == r { 1 } else { (2 * r).max(1) };
        (-r..=r).step_by(step as usize).map(move |x| [x, z])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_cover_a_square_once() {
        let mut all: Vec<_> = (0..=3).flat_map(ring).collect();
        assert_eq!(all.len(), 49);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 49);
    }
}
