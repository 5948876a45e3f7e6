//! The slow twin: all path cells of a small world against all triangles of one mesh, floors by
//! definition, distances by relaxing until nothing changes, and a flood from floor to floor.
//!
//! Shares with the fast path the mesh's vertices and the numbers of the agent ([`Gauge`]), but no
//! code that looks for anything: no tiles, windows, rectangles or portals.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use terravox::mesh::{BlockMesh, PAD, naive};
use terravox::voxel::{DenseBox, Kind, MaterialTable, Region, VoxelPos};

use crate::agent::{Gauge, HEIGHT_UNITS, STEP_COSTS, WaterRule};

/// Parts of a voxel, horizontally.
const QUANTA: i64 = 8192;

/// An infinitely small step along x is this part of a quantum, and one along z the square of that.
const STEP: i128 = 1 << 24;

/// Ground with room above it, of the whole world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NaiveFloor {
    /// In height units from height 0.
    pub height: i64,
    pub room: i64,
    is_walkable: bool,
    distance: u32,
    pub is_wet: bool,
    /// Whether an agent walks here.
    pub is_kept: bool,
    /// Equal where one can be reached from the other.
    pub component: usize,
}

/// A path cell of the world and a floor of it.
pub(crate) type At = ([i64; 2], usize);

/// All floors of a world.
pub(crate) struct NaiveWorld {
    gauge: Gauge,
    pub floors: FxHashMap<[i64; 2], Vec<NaiveFloor>>,
}

impl NaiveWorld {
    /// The floors of `cells`, of which the outer [`PAD`] layers are not meshed: air, or nothing
    /// that matters.
    pub fn new(gauge: &Gauge, cells: &DenseBox, materials: &MaterialTable) -> NaiveWorld {
        let mut mesh = BlockMesh::new();
        naive::mesh(cells, materials, &mut mesh);
        let meshed = cells.region().grow(-PAD);
        let per_voxel = i64::from(gauge.per_voxel);
        let range =
            |min: i32, max: i32| (i64::from(min) - 1) * per_voxel..(i64::from(max) + 1) * per_voxel;
        let corners: Vec<[[i64; 3]; 3]> = mesh
            .solid
            .triangles()
            .map(|triangle| {
                triangle.map(|v| {
                    let (p, min) = (mesh.solid.positions[v as usize], meshed.min.to_array());
                    [0, 1, 2].map(|i| (p[i] * QUANTA as f32) as i64 + i64::from(min[i]) * QUANTA)
                })
            })
            .collect();
        let mut floors = FxHashMap::default();
        for z in range(meshed.min.z, meshed.max.z) {
            let line = line_of(gauge, z);
            let near = |corners: &&[[i64; 3]; 3]| {
                corners.iter().any(|c| c[2] <= line) && corners.iter().any(|c| c[2] >= line)
            };
            let row: Vec<[[i64; 3]; 3]> = corners.iter().filter(near).copied().collect();
            for x in range(meshed.min.x, meshed.max.x) {
                floors.insert([x, z], column(gauge, &row, [x, z]));
            }
        }
        let mut world = NaiveWorld { gauge: *gauge, floors };
        world.allow_bumps();
        world.measure();
        world.keep(cells, materials);
        world.flood();
        world
    }

    fn floor(&self, (path_cell, floor): At) -> &NaiveFloor {
        &self.floors[&path_cell][floor]
    }

    fn all(&self) -> Vec<At> {
        let all = self.floors.iter();
        let all =
            all.flat_map(|(&path_cell, floors)| (0..floors.len()).map(move |i| (path_cell, i)));
        let mut all: Vec<At> = all.collect();
        all.sort_unstable();
        all
    }

    fn change(&mut self, (path_cell, floor): At, change: impl FnOnce(&mut NaiveFloor)) {
        if let Some(floors) = self.floors.get_mut(&path_cell) {
            change(&mut floors[floor]);
        }
    }

    /// A steep floor is walkable if around it every path cell has ground within a climb of it.
    fn allow_bumps(&mut self) {
        let around = i64::from(self.gauge.bump_path_cells);
        for at in self.all() {
            let (floor, [x, z]) = (*self.floor(at), at.0);
            let is_level = |dx: i64, dz: i64| {
                let near = self.floors.get(&[x + dx, z + dz]);
                near.into_iter()
                    .flatten()
                    .any(|other| (other.height - floor.height).abs() <= i64::from(self.gauge.climb))
            };
            let is_bump = self.gauge.climb > 0
                && (-around..=around).all(|dz| (-around..=around).all(|dx| is_level(dx, dz)));
            if !floor.is_walkable && is_bump {
                self.change(at, |floor| floor.is_walkable = true);
            }
        }
    }

    /// The floors linked to one towards a direction.
    pub fn linked(&self, at: At, [dx, dz]: [i64; 2]) -> Vec<At> {
        let (floor, path_cell) = (*self.floor(at), [at.0[0] + dx, at.0[1] + dz]);
        let fits = |other: &NaiveFloor| {
            let top = (floor.height + floor.room).min(other.height + other.room);
            (floor.height - other.height).abs() <= i64::from(self.gauge.step)
                && top - floor.height.max(other.height) >= i64::from(self.gauge.height)
        };
        let near = self.floors.get(&path_cell).into_iter().flatten().enumerate();
        let near = near.filter(|(_, other)| other.is_walkable && fits(other));
        near.map(|(i, _)| (path_cell, i)).collect()
    }

    fn measure(&mut self) {
        const AROUND: [[i64; 2]; 4] = [[1, 0], [-1, 0], [0, 1], [0, -1]];
        let walkable: Vec<At> =
            self.all().into_iter().filter(|&at| self.floor(at).is_walkable).collect();
        for &at in &walkable {
            if AROUND.iter().any(|&way| self.linked(at, way).is_empty()) {
                self.change(at, |floor| floor.distance = 0);
            }
        }
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for &at in &walkable {
                let distance = self.floor(at).distance;
                if distance >= self.gauge.erode_below {
                    continue;
                }
                for way in AROUND {
                    for near in self.linked(at, way) {
                        let turns = AROUND.iter().filter(|turn| turn[0].abs() != way[0].abs());
                        let across: Vec<At> =
                            turns.flat_map(|&turn| self.linked(near, turn)).collect();
                        let straight = (near, distance + STEP_COSTS[0]);
                        let across = across.into_iter().map(|at| (at, distance + STEP_COSTS[1]));
                        for (to, new) in std::iter::once(straight).chain(across) {
                            if new < self.floor(to).distance {
                                self.change(to, |floor| floor.distance = new);
                                has_changed = true;
                            }
                        }
                    }
                }
            }
        }
    }

    fn keep(&mut self, cells: &DenseBox, materials: &MaterialTable) {
        let gauge = self.gauge;
        for at in self.all() {
            let floor = *self.floor(at);
            let is_wet = self.depth(at, cells, materials) > i64::from(gauge.wade);
            let is_kept = floor.is_walkable
                && floor.distance >= gauge.erode_below
                && !(is_wet && gauge.water == WaterRule::Forbidden);
            self.change(at, |floor| (floor.is_wet, floor.is_kept) = (is_wet, is_kept));
        }
    }

    /// The depth of the water above a floor, in height units; 0 or less if there is none. Of the cells
    /// from the floor up: the ground, then all that have water until one has none.
    fn depth(&self, at: At, cells: &DenseBox, materials: &MaterialTable) -> i64 {
        let (floor, unit) = (self.floor(at), i64::from(HEIGHT_UNITS));
        let [x, z] = at.0.map(|v| v.div_euclid(i64::from(self.gauge.per_voxel)) as i32);
        let end = floor.height + floor.room.max(i64::from(self.gauge.wade) + unit);
        let Region { min, max } = cells.region();
        let column: Vec<(i64, bool, i64)> = (min.y..max.y)
            .map(|y| (VoxelPos::new(x, y, z), i64::from(y) * unit))
            .filter(|&(voxel, low)| {
                cells.region().contains(voxel) && low + unit > floor.height && low <= end
            })
            .map(|(voxel, low)| {
                let cell = cells.cell(voxel);
                let is_liquid = materials.kind(cell.material) == Kind::Liquid;
                let held = cells.water_at(voxel).map_or(0, |water| i64::from(water) + 1);
                let water = if is_liquid { i64::from(cell.units()) } else { held };
                (low, materials.kind(cell.material) == Kind::Solid, water)
            })
            .collect();
        let above = column.iter().skip_while(|(low, is_ground, water)| {
            if *water == 0 { *is_ground } else { low + water <= floor.height }
        });
        let water = above.take_while(|(_, _, water)| *water > 0);
        water.last().map_or(0, |(low, _, water)| low + water - floor.height)
    }

    /// Numbers what is connected.
    fn flood(&mut self) {
        let mut count = 0;
        for first in self.all() {
            if !self.floor(first).is_kept || self.floor(first).component != 0 {
                continue;
            }
            count += 1;
            let mut open = vec![first];
            while let Some(at) = open.pop() {
                if self.floor(at).component != 0 {
                    continue;
                }
                self.change(at, |floor| floor.component = count);
                for way in [[1, 0], [-1, 0], [0, 1], [0, -1]] {
                    let near = self.linked(at, way).into_iter();
                    open.extend(near.filter(|&near| self.floor(near).is_kept));
                }
            }
        }
    }

    /// All floors that an agent walks on.
    pub fn kept(&self) -> Vec<At> {
        self.all().into_iter().filter(|&at| self.floor(at).is_kept).collect()
    }

    /// The number of what a floor is connected with.
    pub fn component(&self, at: At) -> usize {
        self.floor(at).component
    }

    /// Walks a line of points (path cells, x, height in height units, z) from a floor, in steps
    /// much smaller than a path cell; returns the floors where it can end.
    pub fn walk(&self, start: At, points: &[[f64; 3]]) -> Vec<At> {
        let mut here = vec![start];
        for pair in points.windows(2) {
            let way = [0, 2].map(|i| pair[1][i] - pair[0][i]);
            let steps = (way[0].abs().max(way[1].abs()) * 64.0).ceil().max(1.0) as usize;
            for step in 0..=steps {
                let share = step as f64 / steps as f64;
                let path_cell = [0, 1].map(|i| (pair[0][2 * i] + way[i] * share).floor() as i64);
                if here.iter().all(|at| at.0 == path_cell) {
                    continue;
                }
                here = here.into_iter().flat_map(|at| self.step(at, path_cell)).collect();
                here.sort_unstable();
                here.dedup();
            }
        }
        here
    }

    /// The floors of a path cell that can be stepped on from one of the same or one beside it;
    /// across a corner by way of either.
    fn step(&self, at: At, path_cell: [i64; 2]) -> Vec<At> {
        let by = [path_cell[0] - at.0[0], path_cell[1] - at.0[1]];
        let kept = |from: At, way: [i64; 2]| {
            let near = self.linked(from, way).into_iter();
            near.filter(|&near| self.floor(near).is_kept).collect::<Vec<At>>()
        };
        match by {
            [0, 0] => vec![at],
            [_, 0] | [0, _] if by[0].abs() + by[1].abs() == 1 => kept(at, by),
            [x, z] if x.abs() == 1 && z.abs() == 1 => {
                let first = kept(at, [x, 0]).into_iter().flat_map(|near| kept(near, [0, z]));
                let second = kept(at, [0, z]).into_iter().flat_map(|near| kept(near, [x, 0]));
                first.chain(second).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The length of the shortest way by steps to the eight path cells around, in path cells, from
    /// above.
    pub fn shortest(&self, from: At, to: At) -> f64 {
        let mut costs: BTreeMap<At, f64> = BTreeMap::from([(from, 0.0)]);
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            let cost = costs[&at];
            for (x, z) in (-1..=1).flat_map(|x| (-1..=1).map(move |z| (x, z))) {
                let length = ((x * x + z * z) as f64).sqrt();
                for near in self.step(at, [at.0[0] + x, at.0[1] + z]) {
                    let new = cost + length;
                    if costs.get(&near).is_none_or(|&old| new + 1e-9 < old) {
                        costs.insert(near, new);
                        open.insert(0, near);
                    }
                }
            }
        }
        costs.get(&to).copied().unwrap_or(f64::INFINITY)
    }
}

/// Where the line of a path cell is, along one axis.
fn line_of(gauge: &Gauge, path_cell: i64) -> i64 {
    let spacing = QUANTA / i64::from(gauge.per_voxel);
    path_cell * spacing + spacing / 2 + 1
}

/// The floors of one path cell.
fn column(gauge: &Gauge, triangles: &[[[i64; 3]; 3]], [x, z]: [i64; 2]) -> Vec<NaiveFloor> {
    let line = [x, z].map(|v| line_of(gauge, v));
    let mut hits: Vec<(i64, bool, bool)> =
        triangles.iter().filter_map(|&corners| cross(gauge, corners, line)).collect();
    hits.sort_unstable();
    let mut floors = Vec::new();
    for (i, &(height, is_up, is_gentle)) in hits.iter().enumerate() {
        let room = hits.get(i + 1).map_or(i64::MAX, |next| next.0 - height);
        if is_up && room >= i64::from(gauge.height) {
            floors.push(NaiveFloor {
                height,
                room: room.min(gauge.roof().into()),
                is_walkable: is_gentle,
                distance: u32::MAX,
                is_wet: false,
                is_kept: false,
                component: 0,
            });
        }
    }
    floors
}

/// Height, whether it is ground, and whether that is gentle.
fn cross(gauge: &Gauge, corners: [[i64; 3]; 3], line: [i64; 2]) -> Option<(i64, bool, bool)> {
    let is_near = [0, 2].into_iter().zip(line).all(|(axis, v)| {
        corners.iter().any(|c| c[axis] <= v) && corners.iter().any(|c| c[axis] >= v)
    });
    if !is_near {
        return None;
    }
    let [a, b, c] = corners.map(|p| p.map(i128::from));
    let line = line.map(i128::from);
    let moved = [line[0] * STEP * STEP + STEP, line[1] * STEP * STEP + 1];
    let side = |a: [i128; 3], b: [i128; 3], p: [i128; 2], scale: i128| {
        (b[0] - a[0]) * (p[1] - a[2] * scale) - (b[2] - a[2]) * (p[0] - a[0] * scale)
    };
    let all = side(a, b, [c[0], c[2]], 1);
    let pairs = [[b, c], [c, a], [a, b]];
    let is_inside = pairs.iter().all(|&[a, b]| side(a, b, moved, STEP * STEP) * all.signum() > 0);
    if all == 0 || !is_inside {
        return None;
    }
    let weights = pairs.map(|[a, b]| side(a, b, line, 1) * all.signum());
    let height: i128 = weights.iter().zip([a, b, c]).map(|(weight, p)| weight * p[1]).sum();
    let per_unit = i128::from(QUANTA) / i128::from(HEIGHT_UNITS);
    let height = height.div_euclid(all.abs() * per_unit) as i64;
    let u = [0, 1, 2].map(|i| (b[i] - a[i]) as f64);
    let v = [0, 1, 2].map(|i| (c[i] - a[i]) as f64);
    let n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let is_up = n[1] > 0.0;
    let squared = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    Some((height, is_up, is_up && n[1] * n[1] >= gauge.cosine_squared * squared))
}
