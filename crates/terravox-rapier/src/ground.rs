//! What a physics engine gets of one block: its quads as convex parts, apart by friction
//! and restitution, and how deep each part's ground is.
//!
//! A quad whose two triangles lie in one plane is one part of four corners, else each
//! triangle is one: fewer parts, fewer contacts. Triangles without area are looked
//! through, and so is one that folds back over the other of its quad.
//!
//! **Depth.** A body whose middle is below the surface is still pushed out by the face
//! that it is under, down to half the way to the face on the other side: so the two faces
//! of a thin plate never claim the same point.

use std::collections::BTreeMap;
use std::sync::Arc;

use terravox::collide::{CollisionBlock, QuadInfo, QuadTree};
use terravox::geometry::edge_angle;
use terravox::voxel::{AIR, DenseBox, Kind, Snapshot, VoxelPos};

/// Depths that a part can have, voxels.
const DEPTHS: [f32; 8] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.25];

/// Where cells below a face are looked at, voxels below it, and the depth if the first
/// that is not solid is there: somewhat less than half, since surfaces are not where
/// cells end.
const LOOKS: [(f32, u16); 4] = [(0.6, 1), (1.2, 3), (1.8, 5), (2.4, 6)];

/// Depth of a face that has solid cells at all these places.
const THICK: u16 = 7;

/// Least depth of a part whose ground is thick, voxels: the other side is 1.8 below or more.
const THICK_DEPTH: f32 = 0.75;

/// Cosine of the angle up to which the triangles of a quad are one part: 0.1°.
const PLANE_COS: f32 = 0.999_998_5;

/// Cosine from which on a diagonal is a fold in a surface that is broken there: 150°.
const FOLD_COS: f32 = -0.866;

/// Cosine down to which a diagonal is flat: 0.35°.
const FLAT_COS: f32 = 0.999_981_3;

/// Friction and restitution, Coulomb's and Newton's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// Friction.
    pub friction: f32,
    /// Restitution, 0 to 1.
    pub restitution: f32,
}

/// Which corners of a quad a part has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Corners {
    First,
    Second,
    All,
}

/// A quad (bits 5 on), its depth (2 to 4) and its corners (0, 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part(u16);

/// The parts of one block that share friction and restitution.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockGround {
    block: CollisionBlock,
    tree: Arc<QuadTree>,
    parts: Box<[Part]>,
    /// Of all parts, metres.
    bounds: Bounds,
    voxel_size_m: f32,
}

/// Lowest and highest corner of a box.
pub type Bounds = [[f32; 3]; 2];

/// How much of its depth a part's box holds: a body that is deeper and so small that it
/// reaches no higher is not looked for.
const BOXED: f32 = 0.6;

/// A convex part, as a shape needs it. Lengths are metres from the block's lowest corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlainFacet {
    /// Corners, counter-clockwise seen from outside; the last is repeated if there are
    /// three.
    pub corners: [[f32; 3]; 4],
    /// How many corners it has.
    pub count: usize,
    /// Unit, out of the ground.
    pub normal: [f32; 3],
    /// Cosine and sine of how far the ground turns away at the side from corner `k` to
    /// the next; 1 and 0 where it does not.
    pub turns: [[f32; 2]; 4],
    /// How deep below it the ground is its own, metres.
    pub depth: f32,
    /// Whether the other side of the ground is so far below that what is deep in must have
    /// come through this one.
    pub thick: bool,
}

impl Part {
    fn new(quad: u16, depth: u16, corners: Corners) -> Part {
        Part(quad << 5 | depth << 2 | corners as u16)
    }

    fn quad(self) -> u16 {
        self.0 >> 5
    }

    fn depth(self) -> f32 {
        DEPTHS[usize::from(self.0 >> 2 & 7)]
    }

    fn corners(self) -> Corners {
        [Corners::First, Corners::Second, Corners::All][usize::from(self.0 & 3)]
    }
}

/// The grounds of a block: one for every pair of friction and restitution in it.
///
/// `scratch` is memory to be reused.
pub fn grounds(
    tree: &QuadTree,
    block: CollisionBlock,
    snapshot: &Snapshot,
    voxel_size_m: f32,
    scratch: &mut GroundScratch,
) -> Vec<(Coefficients, BlockGround)> {
    let depths = Depths::new(tree, block, snapshot, scratch);
    let mut lists: BTreeMap<[u32; 2], (Vec<Part>, Bounds)> = BTreeMap::new();
    // No 8³ block has more quads: half of its cells, six faces each.
    for quad in 0..tree.quad_count().min(1 << 11) as u16 {
        let info = tree.quad(quad);
        let coefficients = coefficients(snapshot, depths.material(voxel_of(block, &info)));
        let key = [coefficients.friction.to_bits(), coefficients.restitution.to_bits()];
        let quad_corners = quad_corners(tree, quad);
        let normals = normals_of(quad_corners);
        let (list, bounds) = lists.entry(key).or_insert((Vec::new(), NO_BOUNDS));
        for corners in corners_of(quad_corners, &info).into_iter().flatten() {
            let normal = normals[usize::from(corners == Corners::Second)];
            let depth = depths.of(tree, quad_corners, &info, normal);
            let part = Part::new(quad, depth, corners);
            list.push(part);
            *bounds = merged(*bounds, part_bounds(part, quad_corners, normal));
        }
    }
    let tree = Arc::new(tree.clone());
    let ground = |([friction, restitution], (parts, bounds)): ([u32; 2], (Vec<Part>, Bounds))| {
        let [friction, restitution] = [friction, restitution].map(f32::from_bits);
        let bounds = bounds.map(|corner| corner.map(|v| v * voxel_size_m));
        let parts = parts.into();
        let ground = BlockGround { block, tree: tree.clone(), parts, bounds, voxel_size_m };
        (Coefficients { friction, restitution }, ground)
    };
    lists.into_iter().filter(|list| !list.1.0.is_empty()).map(ground).collect()
}

/// Bounds of nothing.
const NO_BOUNDS: Bounds = [[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]];

/// The smallest box that holds both.
fn merged(a: Bounds, b: Bounds) -> Bounds {
    [[0, 1, 2].map(|i| a[0][i].min(b[0][i])), [0, 1, 2].map(|i| a[1][i].max(b[1][i]))]
}

/// The box of a part and of the ground right below it, voxels.
fn part_bounds(part: Part, [a, b, c, d]: [[f32; 3]; 4], normal: [f32; 3]) -> Bounds {
    let corners = match part.corners() {
        Corners::First => [a, b, c, c],
        Corners::Second => [a, c, d, d],
        Corners::All => [a, b, c, d],
    };
    let flat = corners.into_iter().fold(NO_BOUNDS, |all, corner| merged(all, [corner; 2]));
    let below = normal.map(|v| -v * part.depth() * BOXED);
    [0, 1].map(|end| {
        [0, 1, 2]
            .map(|i| flat[end][i] + if end == 0 { below[i].min(0.0) } else { below[i].max(0.0) })
    })
}

impl BlockGround {
    /// How many parts it has.
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// The surface of the whole block, voxels from its lowest corner.
    pub fn tree(&self) -> &QuadTree {
        &self.tree
    }

    /// Metres a voxel.
    pub fn voxel_size_m(&self) -> f32 {
        self.voxel_size_m
    }

    /// The box of all of it, metres from the block's lowest corner.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The box in which a part is looked for, metres from the block's lowest corner.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn part_bounds(&self, part: u32) -> Bounds {
        let part = self.parts[part as usize];
        let corners = quad_corners(&self.tree, part.quad());
        let normal = normals_of(corners)[usize::from(part.corners() == Corners::Second)];
        part_bounds(part, corners, normal).map(|corner| corner.map(|v| v * self.voxel_size_m))
    }

    /// The block.
    pub fn block(&self) -> CollisionBlock {
        self.block
    }

    /// The voxel whose face a part is.
    pub fn voxel(&self, part: u32) -> Option<VoxelPos> {
        let part = self.parts.get(part as usize)?;
        Some(voxel_of(self.block, &self.tree.quad(part.quad())))
    }

    /// The part that a triangle belongs to, if it is of this ground.
    pub fn part_of(&self, quad: u16, second: bool) -> Option<u32> {
        let from = self.parts.partition_point(|part| part.quad() < quad);
        let own = self.parts[from..].iter().take(2).take_while(|part| part.quad() == quad);
        let wanted = if second { Corners::Second } else { Corners::First };
        let place = own
            .into_iter()
            .position(|part| part.corners() == Corners::All || part.corners() == wanted);
        place.map(|place| (from + place) as u32)
    }

    /// Triangles with area.
    pub fn triangle_count(&self) -> usize {
        let triangles = |part: &Part| if part.corners() == Corners::All { 2 } else { 1 };
        self.parts.iter().map(triangles).sum()
    }

    /// Its triangles as a plain mesh: vertices, metres from the block's lowest corner, some
    /// of which no triangle may use, and their numbers by triangle.
    pub fn mesh(&self) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
        let (mut vertices, mut indices) = (Vec::new(), Vec::with_capacity(2 * self.parts.len()));
        for part in &self.parts {
            let halves: &[bool] = match part.corners() {
                Corners::First => &[false],
                Corners::Second => &[true],
                Corners::All => &[false, true],
            };
            for &second in halves {
                let triangle = self.tree.triangle(part.quad(), second);
                for (corner, vertex) in triangle.corners.iter().zip(triangle.vertices) {
                    let vertex = usize::from(vertex);
                    vertices.resize(vertices.len().max(vertex + 1), [0.0; 3]);
                    vertices[vertex] = corner.map(|v| v * self.voxel_size_m);
                }
                indices.push(triangle.vertices.map(u32::from));
            }
        }
        (vertices, indices)
    }

    /// Bytes on the heap; a tree that several grounds share counts for each.
    pub fn bytes(&self) -> usize {
        self.tree.bytes() + size_of_val(&*self.parts)
    }

    /// A part.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn facet(&self, part: u32) -> PlainFacet {
        let part = self.parts[part as usize];
        let info = self.tree.quad(part.quad());
        let corners = quad_corners(&self.tree, part.quad());
        let side = |k: usize| {
            let angle = edge_angle(info.angles, k);
            [angle.cos, angle.sin]
        };
        let [a, b, c, d] = corners.map(|corner| corner.map(|v| v * self.voxel_size_m));
        let (corners, count, normal, turns) = match part.corners() {
            Corners::First => {
                let normals = normals_of(corners);
                let turns = [side(0), side(1), diagonal(&info, corners, normals, 0), [1.0, 0.0]];
                ([a, b, c, c], 3, normals[0], turns)
            }
            Corners::Second => {
                let normals = normals_of(corners);
                let turns = [diagonal(&info, corners, normals, 1), side(2), side(3), [1.0, 0.0]];
                ([a, c, d, d], 3, normals[1], turns)
            }
            Corners::All => {
                // That of both triangles, as large as they are.
                let normal = normalized(cross(sub(c, a), sub(d, b)));
                ([a, b, c, d], 4, normal, [0, 1, 2, 3].map(side))
            }
        };
        let depth = part.depth() * self.voxel_size_m;
        let thick = part.depth() >= THICK_DEPTH;
        PlainFacet { corners, count, normal, turns, depth, thick }
    }
}

/// Friction and restitution of a material; 0.5 and 0 of one that is not listed.
pub(crate) fn coefficients(snapshot: &Snapshot, material: u8) -> Coefficients {
    let known = snapshot.materials().get(material);
    let (friction, restitution) = known.map_or((0.5, 0.0), |m| (m.friction, m.restitution));
    Coefficients { friction, restitution }
}

/// The voxel that a quad is a face of.
fn voxel_of(block: CollisionBlock, info: &QuadInfo) -> VoxelPos {
    let [x, y, z] = info.cell.map(i32::from);
    block.min_voxel() + VoxelPos::new(x, y, z)
}

/// The parts of a quad: at most one in each place.
fn corners_of(corners: [[f32; 3]; 4], info: &QuadInfo) -> [Option<Corners>; 2] {
    let both_back = info.reversed[0] && info.reversed[1];
    let usable = [0, 1].map(|i| !info.flat[i] && (both_back || !info.reversed[i]));
    if usable == [true, true] && is_one_plane(corners) {
        return [Some(Corners::All), None];
    }
    [usable[0].then_some(Corners::First), usable[1].then_some(Corners::Second)]
}

/// Corners of a quad, voxels.
fn quad_corners(tree: &QuadTree, quad: u16) -> [[f32; 3]; 4] {
    let [a, b, c] = tree.triangle(quad, false).corners;
    let d = tree.triangle(quad, true).corners[2];
    [a, b, c, d]
}

/// Whether a quad is a convex polygon in one plane.
fn is_one_plane(corners: [[f32; 3]; 4]) -> bool {
    let [first, second] = normals_of(corners);
    let convex = (0..4).all(|k| {
        let [before, at, after] = [0, 1, 2].map(|i| corners[(k + i) % 4]);
        dot(cross(sub(at, before), sub(after, at)), first) >= 0.0
    });
    convex && dot(first, second) >= PLANE_COS
}

/// Unit normals of a quad's triangles; that of the other where one has no area.
fn normals_of([a, b, c, d]: [[f32; 3]; 4]) -> [[f32; 3]; 2] {
    let across = sub(c, a);
    let [first, second] = [cross(sub(b, a), across), cross(across, sub(d, a))];
    match [dot(first, first) > 1e-12, dot(second, second) > 1e-12] {
        [true, false] => [normalized(first); 2],
        [false, true] => [normalized(second); 2],
        _ => [normalized(first), normalized(second)],
    }
}

/// How far the ground turns at the diagonal, seen from triangle `own`.
fn diagonal(
    info: &QuadInfo,
    corners: [[f32; 3]; 4],
    normals: [[f32; 3]; 2],
    own: usize,
) -> [f32; 2] {
    if info.flat[1 - own] || (info.reversed[1 - own] && !info.reversed[own]) {
        // The other is looked through: what lies behind it counts.
        let sides = if own == 0 { [2, 3] } else { [0, 1] };
        let turns = sides.map(|k| edge_angle(info.angles, k));
        let turn = if turns[0].cos < turns[1].cos { turns[0] } else { turns[1] };
        return [turn.cos, turn.sin];
    }
    let cos = dot(normals[0], normals[1]);
    // Out of the first triangle: the diagonal runs from its corner c to a.
    let out = cross(sub(corners[0], corners[2]), normals[0]);
    if dot(normals[1], out) <= 0.0 || !(FOLD_COS..=FLAT_COS).contains(&cos) {
        return [1.0, 0.0];
    }
    // Never less than it is.
    let cos = (cos - 1e-4).max(-1.0);
    [cos, (1.0 - cos * cos).max(0.0).sqrt()]
}

/// Memory of [`grounds`]. Keep one and reuse it.
#[derive(Debug, Default)]
pub struct GroundScratch {
    cells: DenseBox,
    /// By cell and direction: number of the quad, plus one.
    quads: Vec<u16>,
}

/// How thick the ground behind faces is.
struct Depths<'a> {
    snapshot: &'a Snapshot,
    block: CollisionBlock,
    cells: &'a DenseBox,
    /// Whether all of `cells` was held.
    held: bool,
    quads: &'a [u16],
}

/// How far from the block the last look may be, voxels.
const FARTHEST_LOOK: i32 = 4;

impl Depths<'_> {
    fn new<'a>(
        tree: &QuadTree,
        block: CollisionBlock,
        snapshot: &'a Snapshot,
        scratch: &'a mut GroundScratch,
    ) -> Depths<'a> {
        let GroundScratch { cells, quads } = scratch;
        quads.clear();
        quads.resize(512 * 6, 0);
        for quad in 0..tree.quad_count() as u16 {
            let info = tree.quad(quad);
            quads[slot(info.cell, info.direction)] = quad + 1;
        }
        let held = snapshot.read(block.region().grow(FARTHEST_LOOK), 0, cells).is_ok();
        Depths { snapshot, block, cells, held, quads }
    }

    fn material(&self, voxel: VoxelPos) -> u8 {
        match self.held {
            true => self.cells.cell(voxel).material,
            false => self.snapshot.cell(voxel).map_or(AIR, |cell| cell.material),
        }
    }

    /// The depth of a part of a quad: index of [`DEPTHS`].
    fn of(
        &self,
        tree: &QuadTree,
        corners: [[f32; 3]; 4],
        info: &QuadInfo,
        normal: [f32; 3],
    ) -> u16 {
        let middle = [0, 1, 2].map(|i| corners.iter().map(|corner| corner[i]).sum::<f32>() / 4.0);
        let first = LOOKS.iter().find(|look| !self.is_solid(middle, normal, look.0));
        let depth = first.map_or(THICK, |look| look.1);
        let other = self.quads[slot(info.cell, info.direction ^ 1)];
        if other == 0 {
            return depth;
        }
        // A plate: half the way to its other face.
        let [a, b, c, d] = quad_corners(tree, other - 1);
        let way = sub(middle, [0, 1, 2].map(|i| (a[i] + b[i] + c[i] + d[i]) / 4.0));
        let half = dot(way, normal) / 2.0;
        depth.min((DEPTHS.partition_point(|&depth| depth <= half) as u16).saturating_sub(1))
    }

    fn is_solid(&self, middle: [f32; 3], normal: [f32; 3], below: f32) -> bool {
        let [x, y, z] = [0, 1, 2].map(|i| (middle[i] - normal[i] * below).floor() as i32);
        let voxel = self.block.min_voxel() + VoxelPos::new(x, y, z);
        let solid = |material| self.snapshot.materials().kind(material) == Kind::Solid;
        match self.held {
            true => solid(self.cells.cell(voxel).material),
            // What is not held may be anything.
            false => self.snapshot.cell(voxel).map_or(true, |cell| solid(cell.material)),
        }
    }
}

fn slot(cell: [u8; 3], direction: u8) -> usize {
    let [x, y, z] = cell.map(usize::from);
    (x + 8 * z + 64 * y) * 6 + usize::from(direction)
}

fn sub(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn normalized(v: [f32; 3]) -> [f32; 3] {
    let length = dot(v, v).sqrt();
    if length > 0.0 { v.map(|v| v * (1.0 / length)) } else { [0.0; 3] }
}
