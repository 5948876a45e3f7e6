//! A small world for each number: generated, edited and meshed, and a digest of each step.

use terravox::edit::History;
use terravox::mesh::{BlockMesh, Mesher, NeighbourMips, PAD, PackedSurface, Shores};
use terravox::simplify::{Simplifier, SimplifyOptions};
use terravox::voxel::{
    DenseBox, LIMIT, MaterialTable, MipBlock, Region, SurfaceShape, VoxelGrid, VoxelPos,
};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::ground::{GROUNDS, Ground, HILLS, WORLD};
use crate::hash::{hash_cells, hash_packed, hash_surface, hash_targets};
use crate::numbers::Numbers;
use crate::particles;
use crate::script::Script;

/// Voxels along an edge of a world.
const EDGE: i32 = 64;

/// The coarsest mip of which ground is generated.
const GROUND_MIPS: u8 = 5;

/// The coarsest mip that is meshed.
const MESH_MIPS: u8 = 3;

/// What [`digests`] returns.
/// `compare.mjs` has the same.
pub const STEPS: [&str; 7] =
    ["ground", "edits", "cells", "meshes", "buffers", "history", "particles"];

/// The digests of the steps of a world.
pub fn digests(world: u32) -> [u128; STEPS.len()] {
    let world = u64::from(world);
    let mut numbers = Numbers(world.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let kind = world % GROUNDS;
    let min = corner(&mut numbers, kind);
    let region = Region { min, max: min + VoxelPos::splat(EDGE) };
    let middle = min + VoxelPos::splat(EDGE / 2);
    let ground = Ground { kind, seed: numbers.next(), middle };
    let mut grid = VoxelGrid::default();
    grid.set_materials(materials(world / GROUNDS));
    let (mut filled, mut edits) = (Xxh3::new(), Xxh3::new());
    generate(&ground, region, &mut grid, &mut filled);
    let mut history = History::new(usize::MAX);
    Script { numbers, region, world }.run(&mut grid, &mut history, &mut edits);
    let [meshes, buffers] = Meshing::new(&grid, region).digests();
    let cells = grid.digest().expect("all is held");
    let history = xxh3_128(&history.to_bytes());
    let particles = particles::digest(&grid, middle);
    [filled.digest128(), edits.digest128(), cells, meshes, buffers, history, particles]
}

/// Where a world lies: about the origin, at the limits of the coordinates, or between.
fn corner(numbers: &mut Numbers, kind: u64) -> VoxelPos {
    let mut coordinate = || match numbers.below(6) {
        0 => 0,
        1 => -EDGE,
        2 => (numbers.below(128) as i32 - 64) * EDGE,
        3 => numbers.between(f64::from(-LIMIT), f64::from(LIMIT)) as i32 / EDGE * EDGE,
        4 => LIMIT - EDGE,
        _ => -LIMIT,
    };
    let [x, y, z] = [coordinate(), coordinate(), coordinate()];
    // Complete worlds have their ground about 0.
    VoxelPos::new(
        x,
        if [HILLS, WORLD].contains(&kind) { [0, -EDGE][(y & EDGE != 0) as usize] } else { y },
        z,
    )
}

/// The default materials, of one shape in four of five tables.
fn materials(table: u64) -> MaterialTable {
    let shape = match table % 5 {
        0 => return MaterialTable::default(),
        1 => SurfaceShape::Smooth,
        2 => SurfaceShape::Sharp,
        3 => SurfaceShape::Blocky,
        _ => SurfaceShape::Rubble,
    };
    let mut materials = MaterialTable::default().materials().to_vec();
    materials.iter_mut().for_each(|material| material.shape = shape);
    MaterialTable::new(materials)
}

/// Fills the grid; hashes the ground at all mips.
fn generate(ground: &Ground, region: Region, grid: &mut VoxelGrid, hash: &mut Xxh3) {
    let mut cells = DenseBox::default();
    for chunk in region.blocks::<5>() {
        ground.fill(MipBlock::from(chunk), &mut cells);
        grid.write(&cells).expect("air is held");
        hash_cells(&cells, hash);
    }
    for mip in 1..=GROUND_MIPS {
        ground.fill(MipBlock::holding(region.min, mip), &mut cells);
        hash_cells(&cells, hash);
    }
}

/// Meshes a world in all ways.
struct Meshing<'a> {
    grid: &'a VoxelGrid,
    region: Region,
    mesher: Mesher,
    mesh: BlockMesh,
    packed: PackedSurface,
    meshes: Xxh3,
    buffers: Xxh3,
}

impl Meshing<'_> {
    fn new(grid: &VoxelGrid, region: Region) -> Meshing<'_> {
        Meshing {
            grid,
            region,
            mesher: Mesher::new(),
            mesh: BlockMesh::new(),
            packed: PackedSurface::default(),
            meshes: Xxh3::new(),
            buffers: Xxh3::new(),
        }
    }

    /// Digests of the meshes, and of the buffers of a graphics card.
    fn digests(mut self) -> [u128; 2] {
        for mip in 0..=MESH_MIPS {
            for block in self.region.coarser(mip.into()).blocks::<5>() {
                let block = MipBlock::new(mip, [block.x, block.y, block.z]);
                self.plain(block);
                self.morphing(block);
            }
        }
        // Beside the finer blocks of the world.
        let aside = if self.region.min.x < 0 { EDGE } else { -EDGE };
        let block = MipBlock::holding(self.region.min + VoxelPos::new(aside, 0, 0), 1);
        self.morphing(block);
        [self.meshes, self.buffers].map(|hash| hash.digest128())
    }

    fn plain(&mut self, block: MipBlock) {
        let (mut cells, table) = (DenseBox::default(), self.grid.materials());
        let region = block.cells().grow(PAD);
        let read = Shores::default().read(self.grid.as_snapshot(), region, block.mip, &mut cells);
        read.expect("air is held");
        self.mesher.mesh(&cells, table, &mut self.mesh);
        self.hash();
        if block.mip == 1 {
            let options = SimplifyOptions::within(0.25);
            hash_surface(&Simplifier::new().simplify(&self.mesh.solid, options), &mut self.meshes);
        }
    }

    /// Among blocks of mip 1 or coarser around the world, where the block is finer.
    fn morphing(&mut self, block: MipBlock) {
        let (grid, region) = (self.grid, self.region);
        let around = NeighbourMips::from_voxels(block, |voxel| {
            if block.mip > 1 {
                return block.mip;
            }
            let is_inside = !region.intersect(Region::one(voxel)).is_empty();
            u8::from(!is_inside || block.mip == 1 && block.voxels() == region)
        });
        let read = |mip: u8, part: Region, cells: &mut DenseBox| {
            grid.read(part, mip, cells).expect("air is held");
        };
        let (table, top) = (grid.materials(), MESH_MIPS + 1);
        self.mesher.mesh_morphing(block, &around, read, table, top, false, &mut self.mesh);
        self.hash();
    }

    fn hash(&mut self) {
        for surface in [&self.mesh.solid, &self.mesh.liquid] {
            hash_surface(surface, &mut self.meshes);
            hash_targets(surface, &mut self.meshes);
            surface.pack(&mut self.packed);
            hash_packed(&self.packed, &mut self.buffers);
        }
    }
}
