//! Random edits of all kinds: every shape of brush with every action, copies, pastes, strokes that
//! are undone and redone.

use terravox::edit::{
    Action, Blend, Brush, BrushOp, Clip, CopyOp, EditMask, EditOp, Editor, HalfSpace, History,
    PasteOp, PastePose,
};
use terravox::voxel::{Region, VoxelGrid, VoxelPos};
use xxhash_rust::xxh3::Xxh3;

use crate::numbers::Numbers;

/// Steps of a script, three in four of them brushes.
const STEPS: u64 = 32;
const BRUSHES: u64 = STEPS / 4 * 3;

/// Points drawn for the centre of a brush; most of a world is air or deep ground.
const TARGET_DRAWS: usize = 32;

/// Shapes and actions that scripts draw from: the highest numbers of [`shape_number`] and
/// [`action_number`], and one more.
const SHAPES: u64 = 8;
const ACTIONS: u64 = 11;

/// A new shape does not compile until it has a number here. Raise [`SHAPES`] then, and draw it in
/// [`Script::brush`].
fn shape_number(brush: &Brush) -> u64 {
    match brush {
        Brush::Ball { .. } => 0,
        Brush::Box { .. } => 1,
        Brush::Cylinder { .. } => 2,
        Brush::Wedge { .. } => 3,
        Brush::Path { .. } => 4,
        Brush::Convex { .. } => 5,
        Brush::Mesh { .. } => 6,
        Brush::Heights { .. } => 7,
    }
}

/// As [`shape_number`], for [`ACTIONS`] and [`Script::action`].
fn action_number(action: &Action) -> u64 {
    match action {
        Action::Dig => 0,
        Action::Fill { .. } => 1,
        Action::Paint { .. } => 2,
        Action::Replace { .. } => 3,
        Action::Smooth => 4,
        Action::Flatten { .. } => 5,
        Action::Grow { .. } => 6,
        Action::Erode { .. } => 7,
        Action::Roughen { .. } => 8,
        Action::Flood { .. } => 9,
        Action::Drain => 10,
    }
}

/// As [`shape_number`]: the other kinds of operations, by [`Script::copy`] and [`Script::paste`].
fn is_brush(op: &EditOp) -> bool {
    match op {
        EditOp::Brush(_) => true,
        EditOp::Copy(_) | EditOp::Paste(_) => false,
    }
}

/// Edits of a world of a grid.
pub struct Script {
    pub numbers: Numbers,
    /// Where edits are, voxels.
    pub region: Region,
    /// Number of the world: four in sequence have all pairs of shapes and actions.
    pub world: u64,
}

impl Script {
    /// Edits the grid, and hashes what the edits return.
    pub fn run(&mut self, grid: &mut VoxelGrid, history: &mut History, hash: &mut Xxh3) {
        let mut editor = Editor::default();
        let mut brushes = 0;
        for step in 0..STEPS {
            let op = match step % 8 {
                7 => {
                    // Of step 15 and 31: a stroke of six operations.
                    hash.update(format!("{:?}", history.undo(grid)).as_bytes());
                    if step % 16 == 15 {
                        hash.update(format!("{:?}", history.redo(grid)).as_bytes());
                    }
                    continue;
                }
                6 if step % 16 == 6 => self.copy(grid),
                6 => self.paste(grid),
                _ => {
                    brushes += 1;
                    self.brush_op(self.world * BRUSHES + brushes - 1, grid)
                }
            };
            assert_eq!(is_brush(&op), step % 8 < 6);
            if step % 16 == 9 {
                history.begin_stroke();
            }
            // What is refused must be refused everywhere, and for the same reason.
            let done = editor.apply(grid, &op, &mut *history);
            hash.update(format!("{done:?}").as_bytes());
        }
        hash.update(format!("{:?}", history.undo(grid)).as_bytes());
    }

    /// A point near a surface, if a few draws find one.
    fn target(&mut self, grid: &VoxelGrid) -> [f64; 3] {
        let material = |at: VoxelPos| grid.cell(at).map_or(0, |cell| cell.material);
        let mut point = self.numbers.point(self.region);
        for _ in 0..TARGET_DRAWS {
            let at = VoxelPos::from(point.map(|v| v.floor() as i32));
            if material(at) != material(at + VoxelPos::new(0, 4, 0)) {
                break;
            }
            point = self.numbers.point(self.region);
        }
        point
    }

    fn brush_op(&mut self, number: u64, grid: &VoxelGrid) -> EditOp {
        let (shape, action) = (number % SHAPES, number / SHAPES % ACTIONS);
        let centre = self.target(grid);
        let brush = self.brush(shape, centre);
        assert_eq!(shape_number(&brush), shape);
        let action_drawn = self.action(action, centre);
        assert_eq!(action_number(&action_drawn), action);
        let mut op = BrushOp::new(brush, action_drawn);
        match self.numbers.below(6) {
            0 => op.falloff = self.numbers.between(0.0, 4.0),
            1 => op.strength = self.numbers.between(0.0, 1.0),
            2 => op.mask.materials = vec![0, 2, 8],
            3 => op.mask.heights = Some([centre[1] - 3.0, centre[1] + 5.0]),
            4 => op.mask = EditMask { slope: Some([0.1, 1.5]), ..EditMask::default() },
            _ => {
                // To metres and back, by a scale that rounds.
                let (scale, offset) = (0.3, self.numbers.point(self.region));
                let back = offset.map(|v| -v / scale);
                return EditOp::from(op).scaled(1.0 / scale, back).scaled(scale, offset);
            }
        }
        op.into()
    }

    fn brush(&mut self, shape: u64, centre: [f64; 3]) -> Brush {
        let numbers = &mut self.numbers;
        let size = numbers.between(1.5, 8.0);
        let rotation = [numbers.between(-1.0, 1.0), 0.3, numbers.between(-1.0, 1.0), 0.5];
        let half = [size, 0.5 * size, 0.7 * size];
        match shape {
            0 => Brush::Ball { centre, radius: size },
            1 => Brush::Box { centre, half, rotation },
            2 => Brush::Cylinder { centre, radius: size, half_height: 3.0, rotation },
            3 => Brush::Wedge { centre, half, rotation },
            4 => Brush::Path { points: self.path(centre), radius: 0.3 * size },
            5 => Brush::Convex { planes: self.planes(centre, size) },
            6 => self.octahedron(centre, size),
            _ => Brush::Heights {
                corner: centre,
                spacing: numbers.between(1.0, 3.0),
                width: 5,
                heights: (0..20).map(|_| numbers.between(0.0, 9.0) as f32).collect(),
            },
        }
    }

    fn path(&mut self, start: [f64; 3]) -> Vec<[f64; 3]> {
        let mut points = vec![start];
        for _ in 0..self.numbers.below(3) {
            let last = points[points.len() - 1];
            points.push(last.map(|v| v + self.numbers.between(-12.0, 12.0)));
        }
        points
    }

    /// A box with random faces, and a corner or more cut off.
    fn planes(&mut self, centre: [f64; 3], size: f64) -> Vec<HalfSpace> {
        let numbers = &mut self.numbers;
        let mut plane = |normal: [f64; 3]| {
            let normal = normal.map(|v| v + numbers.between(-0.2, 0.2));
            let middle: f64 = (0..3).map(|i| normal[i] * centre[i]).sum();
            HalfSpace { normal, offset: middle + numbers.between(0.4, 1.0) * size }
        };
        let sides = [0, 1, 2].map(|axis| [0, 1, 2].map(|i| f64::from(u8::from(i == axis))));
        let mut planes: Vec<HalfSpace> = Vec::new();
        for side in sides {
            planes.extend([plane(side), plane(side.map(|v| -v))]);
        }
        planes.extend([plane([0.6, 0.6, 0.6]), plane([-0.6, 0.6, -0.6])]);
        planes
    }

    /// A closed mesh: an octahedron with its corners moved.
    fn octahedron(&mut self, centre: [f64; 3], size: f64) -> Brush {
        let mut corner = |axis: usize, sign: f64| {
            let mut p = centre.map(|v| v + self.numbers.between(-0.3, 0.3) * size);
            p[axis] += sign * size;
            p
        };
        let mut vertices = Vec::new();
        for axis in 0..3 {
            vertices.extend([corner(axis, -1.0), corner(axis, 1.0)]);
        }
        let face = |octant: u32| {
            let [x, y, z] = [0, 1, 2].map(|axis| 2 * axis + (octant >> axis & 1));
            if octant.count_ones() % 2 == 1 { [x, y, z] } else { [x, z, y] }
        };
        Brush::Mesh { vertices, triangles: (0..8).map(face).collect() }
    }

    fn action(&mut self, action: u64, centre: [f64; 3]) -> Action {
        let numbers = &mut self.numbers;
        match action {
            0 => Action::Dig,
            1 => Action::Fill { material: [1, 8, 13, 19][numbers.below(4) as usize] },
            2 => Action::Paint { material: 17 },
            3 => Action::Replace { from: 8, to: numbers.below(8) as u8 },
            4 => Action::Smooth,
            5 => Action::Flatten {
                point: centre,
                normal: [numbers.between(-0.5, 0.5), 1.0, 0.1],
                material: [None, Some(6)][numbers.below(2) as usize],
            },
            6 => Action::Grow { amount: numbers.between(0.1, 1.0) },
            7 => Action::Erode { amount: numbers.between(0.1, 1.0) },
            8 => {
                let (amount, size) = (numbers.between(0.1, 1.0), numbers.between(1.0, 7.0));
                Action::Roughen { amount, size, seed: numbers.next() }
            }
            9 => Action::Flood { material: 1 },
            _ => Action::Drain,
        }
    }

    /// A corner of the region, at a distance from its upper sides.
    fn corner(&mut self) -> VoxelPos {
        let numbers = &mut self.numbers;
        let [x, y, z] = self.region.min.to_array().map(|v| v + numbers.below(48) as i32);
        VoxelPos::new(x, y, z)
    }

    fn part(&mut self, grid: &VoxelGrid) -> Region {
        let min = VoxelPos::from(self.target(grid).map(|v| v.floor() as i32));
        let numbers = &mut self.numbers;
        let [x, y, z] = [0, 1, 2].map(|_| 2 + numbers.below(12) as i32);
        Region { min, max: min + VoxelPos::new(x, y, z) }
    }

    fn pose(&mut self) -> PastePose {
        let at = self.corner().to_array();
        let numbers = &mut self.numbers;
        PastePose {
            at,
            mirror: [0, 1, 2].map(|_| numbers.below(2) == 1),
            quarter_turns: [0, 1, 2].map(|_| numbers.below(4) as u8),
            scale: [1, 0, 2, 3, -2, -3][numbers.below(6) as usize],
            blend: [Blend::Over, Blend::Replace, Blend::Add][numbers.below(3) as usize],
        }
    }

    fn copy(&mut self, grid: &VoxelGrid) -> EditOp {
        let part = self.part(grid);
        let (from, to) = (part.min.to_array(), part.max.to_array());
        EditOp::Copy(CopyOp { from, to, pose: self.pose() })
    }

    fn paste(&mut self, grid: &VoxelGrid) -> EditOp {
        let part = self.part(grid);
        let clip = Clip::copy(grid.as_snapshot(), part.intersect(self.region));
        let clip = clip.expect("all is held");
        EditOp::Paste(PasteOp { clip, pose: self.pose() })
    }
}
