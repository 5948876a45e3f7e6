//! Whether blocks of different mips close: random cells and ground, random tilings, and
//! all states that views publish.

use terravox::mesh::{MAX_MIP_STEPS, PAD};
use terravox::voxel::{Cell, DenseBox, GridOptions, MipBlock, Region, VoxelGrid, VoxelPos};

use super::ours::Shown;
use super::seam::ground;
use super::states;
use crate::mesh::topology::{Topology, Weld};
use crate::report::{Report, detail};
use crate::worlds::random::Rng;

/// Worlds; every other one is ground, the rest are random cells.
const WORLDS: u64 = 600;

/// Measures `lod_open_edges` and `lod_nonmanifold_edges`.
pub fn run(report: &mut Report) {
    let mut worlds = [Topology::default(); 2];
    let (mut blocks, mut widest) = ([0; 2], 0);
    for seed in 0..WORLDS {
        let world = World::random(seed);
        let kind = (seed % 2) as usize;
        worlds[kind].add(world.topology());
        blocks[kind] += world.leaves.len();
        widest += u64::from(world.leaves.iter().any(|leaf| leaf.mip == 0));
    }
    let (flights, states) = states::measure();
    let mut total = flights;
    worlds.into_iter().for_each(|found| total.add(found));
    let note = format!(
        "{WORLDS} worlds, {widest} of them 8:1, {states} published states; {} triangles",
        total.triangles
    );
    report.set("lod_open_edges", total.open_edges as f64, note);
    let note = format!(
        "bad vertex links: {}; triangles that repeat a vertex: {} (in the worlds)",
        total.bad_links, total.collapsed
    );
    report.set("lod_nonmanifold_edges", total.nonmanifold_edges as f64, note);
    let line = |name: &str, found: Topology, note: String| {
        let wrong = found.open_edges + found.nonmanifold_edges + found.bad_links;
        detail(name, wrong as f64, "edges").note(format!("{} triangles, {note}", found.triangles))
    };
    let lines = vec![
        line("ground", worlds[0], format!("{} blocks", blocks[0])),
        line("random cells", worlds[1], format!("{} blocks", blocks[1])),
        line("published states", flights, format!("{states} states")),
    ];
    report.details("blocks of different mips: what is open or not manifold", lines);
}

/// Two of the coarsest blocks side by side, split around a corner between them, and cells
/// around it.
pub struct World {
    leaves: Vec<MipBlock>,
    /// The cells.
    pub grid: VoxelGrid,
    /// Where there are cells.
    cells: Region,
}

impl World {
    /// Every second one is of ground.
    pub fn random(seed: u64) -> World {
        let mut rng = Rng::new(seed);
        let axis = rng.below(3) as usize;
        let edge = MipBlock::new(MAX_MIP_STEPS, [0; 3]).edge_voxels();
        let mut focus = [0; 3].map(|_: i32| 32 * (2 + rng.below(5) as i32));
        focus[axis] = edge;
        let mut second = [0; 3];
        second[axis] = 1;
        let leaves = [[0; 3], second].map(|pos| MipBlock::new(MAX_MIP_STEPS, pos)).to_vec();
        let leaves = split(&mut rng, leaves, focus.into());
        let around = Region::one(focus.into());
        let (grid, cells) = if seed.is_multiple_of(2) {
            let cells = around.grow(40);
            (ground(cells, seed), cells)
        } else {
            let cells = around.grow(16);
            (noise(&mut rng, cells), cells)
        };
        World { leaves, grid, cells }
    }

    /// The mip that is shown at a voxel; `near` around all, where there is air.
    pub fn shown(&self, near: u8, voxel: VoxelPos) -> u8 {
        let covers = |leaf: &&MipBlock| leaf.voxels().contains(voxel);
        self.leaves.iter().find(covers).map_or(near, |leaf| leaf.mip)
    }

    /// The blocks that may have a surface.
    pub fn near(&self) -> impl Iterator<Item = MipBlock> + '_ {
        let coarse = self.cells.grow(PAD << MAX_MIP_STEPS);
        let near = move |leaf: &MipBlock| !leaf.voxels().intersect(coarse).is_empty();
        self.leaves.iter().copied().filter(near)
    }

    fn topology(&self) -> Topology {
        let (mut weld, mut meshes) = (Weld::default(), Shown::new());
        for leaf in self.near() {
            weld.add(&meshes.solid(&self.grid, leaf, |voxel| self.shown(leaf.mip, voxel)));
        }
        weld.judge()
    }
}

/// Splits blocks at random, mostly those that touch `focus`.
fn split(rng: &mut Rng, mut leaves: Vec<MipBlock>, focus: VoxelPos) -> Vec<MipBlock> {
    for _ in 0..3 + rng.below(5) {
        let touching = rng.below(4) > 0;
        let fits =
            |leaf: &MipBlock| leaf.mip > 0 && (!touching || leaf.voxels().grow(1).contains(focus));
        let of: Vec<_> = (0..leaves.len()).filter(|&at| fits(&leaves[at])).collect();
        if !of.is_empty() {
            let leaf = leaves.swap_remove(of[rng.below(of.len() as u32) as usize]);
            leaves.extend(leaf.children());
        }
    }
    leaves
}

/// Random cells, solid by a random share.
fn noise(rng: &mut Rng, region: Region) -> VoxelGrid {
    let share = [10, 50, 90][rng.below(3) as usize];
    let mut cells = DenseBox::new(region);
    for pos in region.voxels() {
        if rng.below(100) < share {
            cells.set(pos, Cell::new(2 + rng.below(3) as u8, rng.below(256) as u8));
        }
    }
    let mut grid = VoxelGrid::new(GridOptions::default());
    let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
    grid
}
