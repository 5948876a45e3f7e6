//! Query boxes in the air near solid surfaces.

use std::collections::HashMap;
use std::ops::Range;

use terravox::collide::CollisionBlock;
use terravox::math::Aabb;
use terravox::mesh::{BlockMesh, Mesher, PAD, Surface};
use terravox::voxel::{DenseBox, Kind};

use crate::worlds::World;
use crate::worlds::random::Rng;

/// Number of boxes.
const BOXES: usize = 100_000;

/// Boxes tried in a block.
const TRIES_PER_BLOCK: usize = 200;

/// Half edge of the cube around a box's centre that must meet the bounds of a triangle, voxels.
const SEARCH_HALF_VOXELS: f64 = 4.0;

/// Half sizes of the boxes, voxels.
const HALF_SIZES: Range<f64> = 0.3..1.0;

/// Bounds of the solid triangles of blocks, by block.
struct NearbyTriangles<'a> {
    world: &'a World,
    mesher: Mesher,
    mesh: BlockMesh,
    cells: DenseBox,
    by_block: HashMap<CollisionBlock, Vec<Aabb>>,
}

impl NearbyTriangles<'_> {
    fn add(&mut self, block: CollisionBlock) {
        if self.by_block.contains_key(&block) {
            return;
        }
        self.world.read(block.region().grow(PAD), &mut self.cells);
        self.mesher.mesh(&self.cells, self.world.grid.materials(), &mut self.mesh);
        self.by_block.insert(block, triangle_bounds(&self.mesh.solid, block));
    }
}

fn triangle_bounds(surface: &Surface, block: CollisionBlock) -> Vec<Aabb> {
    let origin = block.min_voxel().to_array().map(f64::from);
    let point = |v: u32| {
        let p = surface.positions[v as usize];
        let p = [0, 1, 2].map(|axis| origin[axis] + f64::from(p[axis]));
        Aabb::new(p, p)
    };
    surface.triangles().map(|t| point(t[0]).union(point(t[1])).union(point(t[2]))).collect()
}

/// Returns random boxes near the surfaces of a world, which are in `blocks`; neighbours in the list
/// lie near each other.
pub fn near_surfaces(world: &World, blocks: &[CollisionBlock]) -> Vec<Aabb> {
    let mut rng = Rng::new(11);
    let mut boxes = Vec::new();
    while boxes.len() < BOXES {
        let near = blocks[rng.below(blocks.len() as u32) as usize];
        // Blocks beside a surface count as often as those that hold it.
        let step = |v: i32, rng: &mut Rng| v + rng.below(3) as i32 - 1;
        let at = CollisionBlock::new(
            step(near.x, &mut rng),
            step(near.y, &mut rng),
            step(near.z, &mut rng),
        );
        add_boxes_in(world, at, &mut rng, &mut boxes);
    }
    boxes.truncate(BOXES);
    boxes
}

/// Appends boxes with their centre in one block.
fn add_boxes_in(world: &World, block: CollisionBlock, rng: &mut Rng, boxes: &mut Vec<Aabb>) {
    let mut triangles = NearbyTriangles {
        world,
        mesher: Mesher::new(),
        mesh: BlockMesh::new(),
        cells: DenseBox::default(),
        by_block: HashMap::new(),
    };
    block.region().grow(8).blocks::<3>().for_each(|block| triangles.add(block));
    let mut cells = DenseBox::default();
    world.read(block.region(), &mut cells);
    let origin = block.min_voxel().to_array().map(f64::from);
    for _ in 0..TRIES_PER_BLOCK {
        let (p, half) = (rng.point(), rng.point());
        let centre = [0, 1, 2].map(|i| origin[i] + 8.0 * p[i]);
        let half =
            half.to_array().map(|u| HALF_SIZES.start + u * (HALF_SIZES.end - HALF_SIZES.start));
        let voxel = centre.map(|v| v.floor() as i32);
        let kind = world.grid.materials().kind(cells.cell(voxel.into()).material);
        let reach = Aabb::around(centre, [SEARCH_HALF_VOXELS; 3]);
        let is_near = || triangles.by_block.values().flatten().any(|t| t.meets(reach));
        if kind == Kind::Air && is_near() {
            boxes.push(Aabb::around(centre, half));
        }
    }
}
