//! Random operations: every brush and action, copies and pastes, of any size, at the ground of a
//! world or anywhere in it.

use terravox::edit::{
    Action, Blend, Brush, BrushOp, Clip, CopyOp, EditMask, EditOp, HalfSpace, PasteOp, PastePose,
};
use terravox::voxel::{DenseBox, Region, VoxelPos};

use crate::worlds::random::Rng;
use crate::worlds::{World, ground};

const SEED: u64 = 80;

/// Cells of the largest, as a power of ten.
const MAX_LOG10: f64 = 6.0;

const WATER: u8 = 1;
const GRASS: u8 = 2;
const ROCK: u8 = 8;

/// A source of operations.
pub struct RandomOperations {
    rng: Rng,
    /// Of each world: places on the ground, and its bounds.
    places: Vec<(Vec<VoxelPos>, Region)>,
    /// Cells to paste.
    clip: DenseBox,
}

impl RandomOperations {
    /// The operations on these worlds.
    pub fn new(worlds: &[World]) -> RandomOperations {
        let places = worlds.iter().map(|world| (ground(world, 16), world.grid.bounds())).collect();
        let mut clip = DenseBox::default();
        let at = ground(&worlds[0], 16)[0];
        worlds[0].read(Region::one(at).grow(20), &mut clip);
        RandomOperations { rng: Rng::new(SEED), places, clip }
    }

    /// The index of a world, a name, and the operation.
    pub fn next(&mut self) -> (usize, String, EditOp) {
        let world = self.rng.below(self.places.len() as u32) as usize;
        let centre = self.centre(world);
        let cells = 10f64.powf(self.rng.unit() * MAX_LOG10);
        let half = self.half_edges(cells);
        if self.rng.below(10) == 0 {
            let (name, op) = self.copy_or_paste(centre, half);
            return (world, name.to_owned(), op);
        }
        let (brush_name, brush) = self.brush(centre, half);
        let (action_name, action) = self.action(centre);
        let mut op = BrushOp::new(brush, action);
        if self.rng.below(4) == 0 {
            op.falloff = self.rng.unit() * 3.0;
        }
        if self.rng.below(4) == 0 {
            op.strength = 0.1 + 0.9 * self.rng.unit();
        }
        let mask_name = match self.rng.below(12) {
            0 => {
                op.mask = EditMask { slope: Some([0.0, 0.8]), ..EditMask::default() };
                ", by slope"
            }
            1 => {
                op.mask = EditMask { materials: vec![ROCK, GRASS], ..EditMask::default() };
                ", by material"
            }
            2 => {
                let heights = Some([centre[1] - half[1] * 0.5, centre[1] + half[1]]);
                op.mask = EditMask { heights, ..EditMask::default() };
                ", by height"
            }
            _ => "",
        };
        (world, format!("{action_name} {brush_name}{mask_name}"), op.into())
    }

    fn centre(&mut self, world: usize) -> [f64; 3] {
        let (spots, bounds) = &self.places[world];
        let fraction = [self.rng.unit(), self.rng.unit(), self.rng.unit()];
        if self.rng.below(3) < 2 {
            let spot = spots[self.rng.below(spots.len() as u32) as usize].to_array();
            return [0, 1, 2].map(|i| f64::from(spot[i]) + 8.0 * fraction[i] - 4.0);
        }
        let [min, max] = [bounds.min, bounds.max].map(|p| p.to_array().map(f64::from));
        [0, 1, 2].map(|i| min[i] + (max[i] - min[i]) * fraction[i])
    }

    /// Half the edges of a box of about this many cells, up to four times as long on one axis as on
    /// another.
    fn half_edges(&mut self, cells: f64) -> [f64; 3] {
        let stretch = [(); 3].map(|()| 4f64.powf(self.rng.unit() - 0.5));
        let mean = stretch.iter().product::<f64>().cbrt();
        stretch.map(|s| (0.5 * cells.cbrt() * s / mean).max(0.3))
    }

    fn brush(&mut self, centre: [f64; 3], half: [f64; 3]) -> (&'static str, Brush) {
        let radius = half.iter().product::<f64>().cbrt();
        let rotation = self.rotation();
        match self.rng.below(8) {
            0 => ("ball", Brush::Ball { centre, radius }),
            1 => ("box", Brush::Box { centre, half, rotation }),
            2 => {
                let [radius, half_height, _] = half;
                ("cylinder", Brush::Cylinder { centre, radius, half_height, rotation })
            }
            3 => ("wedge", Brush::Wedge { centre, half, rotation }),
            4 => ("path", self.path(centre, half)),
            5 => ("convex", self.convex(centre, half)),
            6 => ("mesh", self.mesh(centre, half)),
            _ => ("heights", self.heights(centre, half)),
        }
    }

    fn rotation(&mut self) -> [f64; 4] {
        if self.rng.below(2) == 0 {
            return Brush::NO_ROTATION;
        }
        [(); 4].map(|()| self.rng.unit() - 0.5)
    }

    fn near(&mut self, centre: [f64; 3], half: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|i| centre[i] + half[i] * (2.0 * self.rng.unit() - 1.0))
    }

    /// 1 to 200 points that wander.
    fn path(&mut self, centre: [f64; 3], half: [f64; 3]) -> Brush {
        let count = 200f64.powf(self.rng.unit()) as usize;
        let least = half[0].min(half[1]).min(half[2]);
        let radius = least * (0.1 + 0.9 * self.rng.unit()) + 0.5;
        let points = (0..count).map(|_| self.near(centre, half.map(|v| v * 0.7))).collect();
        Brush::Path { points, radius }
    }

    fn convex(&mut self, centre: [f64; 3], half: [f64; 3]) -> Brush {
        let mut planes = Vec::new();
        let plane = |normal: [f64; 3], far: f64| {
            let along: f64 = (0..3).map(|i| normal[i] * centre[i]).sum();
            HalfSpace { normal, offset: along + far }
        };
        for (axis, &far) in half.iter().enumerate() {
            for sign in [-1.0, 1.0] {
                let mut normal = [0.0; 3];
                normal[axis] = sign;
                planes.push(plane(normal, far));
            }
        }
        for _ in 0..self.rng.below(12) {
            let normal = self.rng.direction().to_array();
            let far: f64 = (0..3).map(|i| normal[i].abs() * half[i]).sum();
            planes.push(plane(normal, 0.7 * far));
        }
        Brush::Convex { planes }
    }

    /// An ellipsoid of up to some 5,000 triangles.
    fn mesh(&mut self, centre: [f64; 3], half: [f64; 3]) -> Brush {
        let (rings, sides) = (2 + self.rng.below(48), 3 + self.rng.below(48));
        let mut vertices = vec![[centre[0], centre[1] - half[1], centre[2]]];
        for ring in 1..rings {
            let up = std::f64::consts::PI * f64::from(ring) / f64::from(rings);
            for side in 0..sides {
                let turn = std::f64::consts::TAU * f64::from(side) / f64::from(sides);
                let unit = [up.sin() * turn.cos(), -up.cos(), up.sin() * turn.sin()];
                vertices.push([0, 1, 2].map(|i| centre[i] + half[i] * unit[i]));
            }
        }
        vertices.push([centre[0], centre[1] + half[1], centre[2]]);
        let last = vertices.len() as u32 - 1;
        let at = |ring: u32, side: u32| 1 + (ring - 1) * sides + side % sides;
        let mut triangles = Vec::new();
        for side in 0..sides {
            triangles.push([0, at(1, side), at(1, side + 1)]);
            for ring in 1..rings - 1 {
                let [a, b] = [at(ring, side), at(ring, side + 1)];
                let [c, d] = [at(ring + 1, side), at(ring + 1, side + 1)];
                triangles.extend([[a, c, b], [b, c, d]]);
            }
            triangles.push([at(rings - 1, side), last, at(rings - 1, side + 1)]);
        }
        Brush::Mesh { vertices, triangles }
    }

    fn heights(&mut self, centre: [f64; 3], half: [f64; 3]) -> Brush {
        let spacing = 0.5 + 4.0 * self.rng.unit();
        let [width, deep] = [half[0], half[2]].map(|v| ((2.0 * v / spacing) as u32).max(1) + 1);
        let heights = (0..width * deep).map(|_| (2.0 * half[1] * self.rng.unit()) as f32);
        let corner = [0, 1, 2].map(|i| centre[i] - half[i]);
        Brush::Heights { corner, spacing, width, heights: heights.collect() }
    }

    fn action(&mut self, centre: [f64; 3]) -> (&'static str, Action) {
        let amount = 0.1 + 0.9 * self.rng.unit();
        match self.rng.below(12) {
            0 => ("fill", Action::Fill { material: ROCK }),
            1 | 2 => ("dig", Action::Dig),
            3 => ("paint", Action::Paint { material: GRASS }),
            4 => ("replace", Action::Replace { from: ROCK, to: GRASS }),
            5 => ("smooth", Action::Smooth),
            6 => {
                let normal = self.rng.direction().to_array();
                let material = if self.rng.below(2) == 0 { Some(ROCK) } else { None };
                ("flatten", Action::Flatten { point: centre, normal, material })
            }
            7 => ("grow", Action::Grow { amount }),
            8 => ("erode", Action::Erode { amount }),
            9 => {
                let size = 1.0 + 9.0 * self.rng.unit();
                ("roughen", Action::Roughen { amount, size, seed: self.rng.bits() })
            }
            10 => ("flood", Action::Flood { material: WATER }),
            _ => ("drain", Action::Drain),
        }
    }

    fn copy_or_paste(&mut self, centre: [f64; 3], half: [f64; 3]) -> (&'static str, EditOp) {
        let from = [0, 1, 2].map(|i| (centre[i] - half[i]) as i32);
        let to = [0, 1, 2].map(|i| from[i] + (2.0 * half[i]).ceil().max(1.0) as i32);
        let at = [0, 1, 2].map(|i| from[i] + self.rng.below(64) as i32 - 32);
        let flags = self.rng.below(64);
        let pose = PastePose {
            at,
            mirror: [0, 1, 2].map(|axis| flags >> axis & 5 == 5),
            quarter_turns: [0, (flags & 3) as u8, 0],
            scale: [0, 0, 0, 2, 3, -2][self.rng.below(6) as usize],
            blend: [Blend::Over, Blend::Replace, Blend::Add][self.rng.below(3) as usize],
        };
        if self.rng.below(2) == 0 {
            return ("copy", EditOp::Copy(CopyOp { from, to, pose }));
        }
        let size = [0, 1, 2].map(|i| (to[i] - from[i]).min(41));
        let min = self.clip.region().min;
        let region = Region::new([0; 3], size);
        let mut cells = DenseBox::new(region);
        for pos in region.voxels() {
            cells.set(pos, self.clip.cell(min + pos));
        }
        let Ok(clip) = Clip::new(cells) else { unreachable!("a copy of a few cells") };
        ("paste", EditOp::Paste(PasteOp { clip, pose }))
    }
}
