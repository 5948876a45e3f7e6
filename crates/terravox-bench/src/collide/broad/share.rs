//! How often the masks say yes: boxes in the air near the surface, beside what is true
//! (some triangle's box meets it) and other masks.

use std::collections::HashMap;

use terravox::collide::{Block, Broadphase, REACH, Surfaces};
use terravox::math::Aabb;
use terravox::mesh::{BlockMesh, Mesher, PAD, Surface};
use terravox::voxel::{DenseBox, Kind, Region, VoxelPos};

use crate::report::{Report, detail};
use crate::worlds::World;
use crate::worlds::random::Rng;

/// Boxes, and blocks around which they lie.
const BOXES: usize = 100_000;
const PLACES: usize = 1000;

/// Farthest that a box's centre lies from the surface, voxels.
const NEAR: f64 = 4.0;

/// Half sizes of the boxes, voxels.
const HALF: [f64; 2] = [0.3, 1.0];

/// What was found in a world.
pub struct Shares {
    /// The boxes.
    pub boxes: Vec<Aabb>,
    /// Yes, by filter, of all boxes: see [`FILTERS`].
    yes: [usize; FILTERS.len()],
    /// Pairs of a box and a block that ours names, and that hold a triangle.
    pairs: [usize; 2],
    /// (box, block, surface) that hold a triangle and were not named.
    missed: usize,
}

const TRUE: usize = 0;
const OURS: usize = 1;

const FILTERS: [&str; 6] = [
    "some triangle's box",
    "cells that own a face, box grown by ¾ (ours)",
    "the published mask: solid, dilated by a cell",
    "cells that own a face, dilated by a cell",
    "cells that own a face, each with its own reach",
    "8³ blocks with a face, box grown by ¾",
];

/// Boxes of the triangles of a block, solid and liquid.
type Triangles = [Vec<Aabb>; 2];

/// Meshes of the blocks that were asked for.
struct Meshes<'a> {
    world: &'a World,
    mesher: Mesher,
    mesh: BlockMesh,
    cells: DenseBox,
    made: HashMap<Block, Triangles>,
}

impl Meshes<'_> {
    fn add(&mut self, block: Block) {
        if self.made.contains_key(&block) {
            return;
        }
        self.world.read(block.region().grow(PAD), &mut self.cells);
        self.mesher.mesh(&self.cells, self.world.grid.materials(), &mut self.mesh);
        let boxes = [&self.mesh.solid, &self.mesh.liquid].map(|of| triangle_boxes(of, block));
        self.made.insert(block, boxes);
    }
}

fn triangle_boxes(surface: &Surface, block: Block) -> Vec<Aabb> {
    let origin = block.min_voxel().to_array().map(f64::from);
    let point = |v: u32| {
        let p = surface.positions[v as usize];
        let p = [0, 1, 2].map(|axis| origin[axis] + f64::from(p[axis]));
        Aabb::new(p, p)
    };
    surface.triangles().map(|t| point(t[0]).union(point(t[1])).union(point(t[2]))).collect()
}

/// Asks everyone about the same boxes.
pub fn measure(world: &World, broadphase: &Broadphase) -> Shares {
    let blocks = super::solid_blocks(broadphase);
    let mut rng = Rng::new(11);
    let mut shares =
        Shares { boxes: Vec::new(), yes: Default::default(), pairs: [0; 2], missed: 0 };
    while shares.boxes.len() < BOXES {
        let near = blocks[rng.below(blocks.len() as u32) as usize];
        // Blocks beside a surface count as often as those that hold it.
        let step = |v: i32, rng: &mut Rng| v + rng.below(3) as i32 - 1;
        let at = Block::new(step(near.x, &mut rng), step(near.y, &mut rng), step(near.z, &mut rng));
        one_place(world, broadphase, at, &mut rng, &mut shares);
    }
    shares
}

/// Boxes with their centre in one block.
fn one_place(
    world: &World,
    broadphase: &Broadphase,
    block: Block,
    rng: &mut Rng,
    shares: &mut Shares,
) {
    let mut meshes = Meshes {
        world,
        mesher: Mesher::new(),
        mesh: BlockMesh::new(),
        cells: DenseBox::default(),
        made: HashMap::new(),
    };
    block.region().grow(8).blocks::<3>().for_each(|block| meshes.add(block));
    let mut cells = DenseBox::default();
    world.read(block.region().grow(10), &mut cells);
    let surface = SurfaceCells::new(world, &cells);
    let origin = block.min_voxel().to_array().map(f64::from);
    for _ in 0..2 * BOXES / PLACES {
        let (p, half) = (rng.point(), rng.point());
        let centre = [0, 1, 2].map(|i| origin[i] + 8.0 * p[i]);
        let half = half.to_array().map(|u| HALF[0] + u * (HALF[1] - HALF[0]));
        let voxel = centre.map(|v| v.floor() as i32);
        let kind = world.grid.materials().kind(cells.cell(voxel.into()).material);
        let solid =
            |within: &Aabb| meshes.made.values().any(|of| of[0].iter().any(|t| t.meets(*within)));
        if kind == Kind::Air && solid(&Aabb::around(centre, [NEAR; 3])) {
            let aabb = Aabb::around(centre, half);
            shares.boxes.push(aabb);
            one_box(broadphase, &meshes.made, &surface, aabb, shares);
        }
    }
}

fn one_box(
    broadphase: &Broadphase,
    meshes: &HashMap<Block, Triangles>,
    surface: &SurfaceCells,
    aabb: Aabb,
    shares: &mut Shares,
) {
    let mut found: [Vec<Block>; 2] = Default::default();
    broadphase.blocks_in(&aabb, Surfaces::Both, |block, touch| {
        if touch.solid {
            found[0].push(block);
        }
        if touch.liquid {
            found[1].push(block);
        }
    });
    let mut truly = 0;
    for (&block, triangles) in meshes {
        for (of, found) in triangles.iter().zip(&found) {
            if of.iter().any(|triangle| triangle.meets(aabb)) {
                shares.missed += usize::from(!found.contains(&block));
            }
        }
        truly += usize::from(triangles[0].iter().any(|triangle| triangle.meets(aabb)));
    }
    shares.pairs[0] += found[0].len();
    shares.pairs[1] += truly;
    let reach = f64::from(REACH);
    let blocks = meshes.iter().any(|(block, triangles)| {
        !triangles[0].is_empty() && Aabb::of_region(block.region()).grow(reach).meets(aabb)
    });
    let answers = [
        truly > 0,
        !found[0].is_empty(),
        surface.solid_near(aabb),
        surface.face_near(aabb),
        surface.in_reach(aabb),
        blocks,
    ];
    for (yes, answer) in shares.yes.iter_mut().zip(answers) {
        *yes += usize::from(answer);
    }
}

/// Cells around a block for the other masks.
struct SurfaceCells {
    solid: Vec<VoxelPos>,
    /// With what their faces can reach.
    faces: Vec<(VoxelPos, Aabb)>,
}

impl SurfaceCells {
    fn new(world: &World, cells: &DenseBox) -> SurfaceCells {
        let inner = cells.region().grow(-2);
        let kinds = world.grid.materials();
        let is_solid = |at: VoxelPos| kinds.kind(cells.cell(at).material) == Kind::Solid;
        let solid: Vec<VoxelPos> = inner.voxels().filter(|&at| is_solid(at)).collect();
        let reach = |&at: &VoxelPos| Some((at, reach_of(at, is_solid)?));
        let faces = solid.iter().filter_map(reach).collect();
        SurfaceCells { solid, faces }
    }

    fn solid_near(&self, aabb: Aabb) -> bool {
        let cells = aabb.voxels().grow(1);
        self.solid.iter().any(|&at| cells.contains(at))
    }

    fn face_near(&self, aabb: Aabb) -> bool {
        let cells = aabb.voxels().grow(1);
        self.faces.iter().any(|&(at, _)| cells.contains(at))
    }

    fn in_reach(&self, aabb: Aabb) -> bool {
        self.faces.iter().any(|(_, reach)| reach.meets(aabb))
    }
}

/// What the faces of a cell can reach, if it has any: at every corner of a face the
/// vertex keeps to the side on which all solid cells lie, or to ¾ on both.
fn reach_of(at: VoxelPos, is_solid: impl Fn(VoxelPos) -> bool) -> Option<Aabb> {
    let steps = (0..3).flat_map(|axis| [0, 1].map(|high| (axis, high)));
    let mut reach: Option<Aabb> = None;
    for (axis, high) in steps {
        let mut beside = at.to_array();
        beside[axis] += if high == 1 { 1 } else { -1 };
        if is_solid(beside.into()) {
            continue;
        }
        for side in 0..4 {
            let mut corner = at.to_array();
            corner[axis] += high;
            corner[(axis + 1) % 3] += side & 1;
            corner[(axis + 2) % 3] += side >> 1;
            let vertex = vertex_reach(corner, &is_solid);
            reach = Some(reach.map_or(vertex, |reach| reach.union(vertex)));
        }
    }
    reach
}

fn vertex_reach(corner: [i32; 3], is_solid: impl Fn(VoxelPos) -> bool) -> Aabb {
    let octants = Region { min: corner.into(), max: corner.into() }.grow(1);
    let (mut low, mut high) = ([false; 3], [false; 3]);
    for octant in octants.voxels().filter(|&at| is_solid(at)) {
        for (axis, v) in octant.to_array().into_iter().enumerate() {
            let side = if v < corner[axis] { &mut low } else { &mut high };
            side[axis] = true;
        }
    }
    let reach = f64::from(REACH);
    let span = |axis: usize| match (low[axis], high[axis]) {
        (true, false) => [-1.0, 0.0],
        (false, true) => [0.0, 1.0],
        _ => [-reach, reach],
    };
    let end = |end: usize| [0, 1, 2].map(|axis| f64::from(corner[axis]) + span(axis)[end]);
    Aabb::new(end(0), end(1))
}

/// The figures, each the worst of the worlds, and what else was asked.
pub fn report(report: &mut Report, all: &[(&'static str, Shares)]) {
    let share = |of: &Shares, filter: usize| of.yes[filter] as f64 / of.boxes.len() as f64;
    for (name, of) in all {
        let truth = share(of, TRUE);
        let mut rows: Vec<_> = (0..FILTERS.len())
            .map(|filter| detail(FILTERS[filter], share(of, filter), "share").beside(truth))
            .collect();
        let each = |pairs: usize| pairs as f64 / of.boxes.len() as f64;
        rows.push(detail("blocks a box (ours)", each(of.pairs[0]), "").beside(each(of.pairs[1])));
        let title = format!("{name}: {} boxes in the air near the surface, yes", of.boxes.len());
        report.details(title, rows);
    }
    let worst = all.iter().max_by(|a, b| share(&a.1, OURS).total_cmp(&share(&b.1, OURS)));
    if let Some((name, of)) = worst {
        let note = format!("{name}; true share {:.3}", share(of, TRUE));
        report.set("mask_positive_share", share(of, OURS), note);
    }
    let missed: usize = all.iter().map(|(_, of)| of.missed).sum();
    let boxes: usize = all.iter().map(|(_, of)| of.boxes.len()).sum();
    report.set("mask_false_negatives", missed as f64, format!("{boxes} boxes"));
}
