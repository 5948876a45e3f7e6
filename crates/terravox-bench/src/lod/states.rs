//! Whether every state that a view publishes is closed: viewers fly over hills and dig at
//! random, cells come late, and after every swap the edges of all that is drawn are judged.
//!
//! Source: what makes a closed, oriented manifold is that every edge is used once in each
//! direction. Uses are counted per edge as meshes come and go, so a swap costs what it
//! changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use terravox::generate::fill_sdf;
use terravox::lod::{Lod, LodOptions, LodViewer, MeshScratch, MeshSwap};
use terravox::mesh::BlockMesh;
use terravox::voxel::{
    Cell, DenseBox, GridOptions, MipBlock, Region, Unlisted, VoxelGrid, VoxelPos,
};

use crate::mesh::ours::doubled;
use crate::mesh::surface::Key;
use crate::mesh::topology::Topology;
use crate::worlds::random::Rng;

/// Views, and states of each that are judged.
const VIEWS: u64 = 8;
const STATES: usize = 160;

/// How far a viewer sees, voxels.
const DISTANCE: f64 = 100.0;

/// What is wrong in all states together, and how many those are.
pub fn measure() -> (Topology, usize) {
    let mut total = Topology::default();
    for seed in 0..VIEWS {
        let mut flight = Flight::new(seed, false);
        while flight.published < STATES {
            flight.step();
            total.add(std::mem::take(&mut flight.found));
        }
    }
    (total, VIEWS as usize * STATES)
}

/// Hills with a plate above them.
fn cells_of(block: MipBlock) -> DenseBox {
    let wave = |v: f64| (v - v.floor() - 0.5).abs();
    let distance = |[x, y, z]: [f64; 3]| {
        let hills = 4.0 + 22.0 * wave(x / 61.0 + z / 233.0) + 13.0 * wave(z / 37.0) - y;
        hills.max(1.2 - (y - 27.0 - 0.1 * x).abs())
    };
    let mut cells = DenseBox::new(block.cells());
    fill_sdf(&mut cells, block.mip, distance, |_| 3);
    cells
}

/// A viewer on its way, and what is drawn for it.
pub struct Flight {
    rng: Rng,
    grid: VoxelGrid,
    /// The view.
    pub lod: Lod,
    scratch: MeshScratch,
    /// What is drawn.
    pub drawn: BTreeMap<MipBlock, Arc<BlockMesh>>,
    edges: Edges,
    /// Where the viewer is, voxels.
    pub at: [f64; 3],
    velocity: [f64; 3],
    /// States that were published.
    pub published: usize,
    /// What was wrong in the states since this was last taken.
    found: Topology,
}

impl Flight {
    /// Before the first step; `morph` as in [`LodOptions`].
    pub fn new(seed: u64, morph: bool) -> Flight {
        let grid = GridOptions { unlisted: Unlisted::Unknown, ..GridOptions::default() };
        let options = LodOptions {
            detail: 1.0,
            near_voxels: 16.0,
            max_mip: 2 + (seed % 2) as u8,
            jobs_per_plan: 12,
            morph,
            ..LodOptions::default()
        };
        Flight {
            rng: Rng::new(seed),
            grid: VoxelGrid::new(grid),
            lod: Lod::new(options),
            scratch: MeshScratch::keyed(),
            drawn: BTreeMap::new(),
            edges: Edges::default(),
            at: [0.0, 30.0, 0.0],
            velocity: [0.0; 3],
            published: 0,
            found: Topology::default(),
        }
    }

    /// Moves on, sometimes digs, supplies some of the cells that are wanted and publishes
    /// what is planned then.
    pub fn step(&mut self) {
        if self.rng.below(12) == 0 {
            let speed = [12.0, 2.0, 12.0];
            self.velocity = speed.map(|speed| speed * (2.0 * self.rng.unit() - 1.0));
        }
        for axis in 0..3 {
            self.at[axis] += self.velocity[axis];
        }
        self.at[1] = self.at[1].clamp(10.0, 60.0);
        if self.rng.below(6) == 0 {
            self.dig();
        }
        let most = 1 + self.rng.below(40) as usize;
        for block in self.lod.take_wanted(self.grid.as_snapshot(), most) {
            self.lod.supply(block, cells_of(block));
        }
        let viewer = LodViewer { position_voxels: self.at, distance_voxels: DISTANCE };
        let jobs = self.lod.plan(&mut self.grid, &[viewer]);
        if self.lod.is_planned() {
            let results = jobs.iter().map(|job| job.run(&mut self.scratch)).collect();
            let swap = self.lod.publish(results);
            self.draw(swap);
            self.judge();
            self.published += 1;
        }
    }

    /// Fills or empties a cube near the viewer.
    fn dig(&mut self) {
        let near = |rng: &mut Rng, at: f64| at as i32 + rng.below(121) as i32 - 60;
        let [x, _, z] = self.at;
        let at = [near(&mut self.rng, x), self.rng.below(40) as i32, near(&mut self.rng, z)];
        let region = Region::one(at.into()).grow(1 + self.rng.below(5) as i32);
        for blocks in self.lod.missing(&mut self.grid, region) {
            for block in blocks {
                self.lod.hold(&mut self.grid, block, cells_of(block));
            }
        }
        let mut cells = DenseBox::new(region);
        if self.rng.below(2) == 0 {
            region.voxels().for_each(|voxel| cells.set(voxel, Cell::full(4)));
        }
        let Ok(()) = self.grid.write(&cells) else { unreachable!("all was held") };
    }

    fn draw(&mut self, swap: MeshSwap) {
        for block in swap.removed {
            let Some(mesh) = self.drawn.remove(&block) else {
                unreachable!("{block} was not drawn");
            };
            self.edges.count(&mesh, -1);
        }
        for shown in swap.added {
            self.edges.count(&shown.mesh, 1);
            self.found.triangles += shown.mesh.solid.triangle_count() as u64;
            self.drawn.insert(shown.block, shown.mesh);
        }
    }

    /// Where what is shown ends.
    pub fn rim(&self) -> Rim {
        let leaves = self.lod.blocks().into_iter().collect();
        Rim { leaves, top: self.lod.options().max_mip }
    }

    /// Judges all edges but for those of the rim, beyond which nothing is shown.
    fn judge(&mut self) {
        let rim = self.rim();
        for (&(a, b), &uses) in &self.edges.odd {
            let open = uses[0] + uses[1] == 1;
            if !open {
                self.found.nonmanifold_edges += 1;
            } else if !(rim.has(unpacked(a)) && rim.has(unpacked(b))) {
                self.found.open_edges += 1;
            }
        }
    }
}

/// Where what is shown ends.
pub struct Rim {
    leaves: FxHashSet<MipBlock>,
    top: u8,
}

impl Rim {
    /// Whether a voxel corner touches what is not shown.
    pub fn has(&self, corner: VoxelPos) -> bool {
        let covered = |voxel: VoxelPos| {
            (0..=self.top).any(|mip| self.leaves.contains(&MipBlock::holding(voxel, mip)))
        };
        let around = Region { min: corner - VoxelPos::splat(1), max: corner + VoxelPos::splat(1) };
        corner.to_array().iter().any(|v| v % 32 == 0) && !around.voxels().all(covered)
    }
}

/// How often each edge of what is drawn is used, upward and downward by its ends' keys.
#[derive(Default)]
struct Edges {
    /// Those that are used once in each direction.
    even: FxHashSet<(u64, u64)>,
    /// Others that are used.
    odd: FxHashMap<(u64, u64), [i32; 2]>,
}

impl Edges {
    /// Adds the uses by a mesh's triangles so many times.
    fn count(&mut self, mesh: &BlockMesh, times: i32) {
        let keys: Vec<u64> = mesh.solid.keys.iter().map(|key| packed(doubled(key))).collect();
        for t in mesh.solid.triangles() {
            let [a, b, c] = t.map(|v| keys[v as usize]);
            for (from, to) in [(a, b), (b, c), (c, a)] {
                self.add((from.min(to), from.max(to)), usize::from(from > to), times);
            }
        }
    }

    fn add(&mut self, edge: (u64, u64), direction: usize, times: i32) {
        let mut uses = match self.even.remove(&edge) {
            true => [1, 1],
            false => self.odd.remove(&edge).unwrap_or_default(),
        };
        uses[direction] += times;
        match uses {
            [0, 0] => {}
            [1, 1] => {
                self.even.insert(edge);
            }
            _ => {
                self.odd.insert(edge, uses);
            }
        }
    }
}

/// A key as one number; coordinates are within 2¹⁹.
fn packed(key: Key) -> u64 {
    let coordinate = |axis: usize| (i64::from(key[axis]) + (1 << 19)) as u64 & 0xf_ffff;
    coordinate(0) | coordinate(1) << 20 | coordinate(2) << 40 | (key[3] as u64) << 60
}

/// The voxel corner of a packed key, the lower one if it lies between two.
fn unpacked(key: u64) -> VoxelPos {
    let coordinate = |axis: u32| ((key >> (20 * axis) & 0xf_ffff) as i32 - (1 << 19)) >> 1;
    VoxelPos::new(coordinate(0), coordinate(1), coordinate(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_packed_and_unpacked() {
        let key = [-7, 12, 401, 5];
        assert_eq!(unpacked(packed(key)), VoxelPos::new(-4, 6, 200));
        let other = [-7, 12, 401, 6];
        assert_ne!(packed(key), packed(other));
    }

    #[test]
    fn edges_are_odd_until_both_sides_are_there() {
        let mut edges = Edges::default();
        let edge = (3, 8);
        edges.add(edge, 0, 1);
        assert_eq!(edges.odd.get(&edge), Some(&[1, 0]));
        edges.add(edge, 1, 1);
        assert!(edges.odd.is_empty() && edges.even.contains(&edge));
        edges.add(edge, 1, 1);
        assert_eq!(edges.odd.get(&edge), Some(&[1, 2]));
        [(1, -1), (1, -1), (0, -1)].into_iter().for_each(|(to, n)| edges.add(edge, to, n));
        assert!(edges.odd.is_empty() && edges.even.is_empty());
    }

    #[test]
    fn a_flight_is_closed_and_a_mesh_taken_away_is_missed() {
        let mut flight = Flight::new(3, false);
        while flight.published < 25 || flight.drawn.len() < 8 {
            flight.step();
        }
        assert!(flight.found.triangles > 1000);
        assert_eq!((flight.found.open_edges, flight.found.nonmanifold_edges), (0, 0));
        let most = |entry: &(&MipBlock, &Arc<BlockMesh>)| entry.1.solid.triangle_count();
        let block = *flight.drawn.iter().max_by_key(most).unwrap().0;
        flight.draw(MeshSwap { removed: vec![block], added: Vec::new() });
        flight.judge();
        assert!(flight.found.open_edges > 0);
    }
}
