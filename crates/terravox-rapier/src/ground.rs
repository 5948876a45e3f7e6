//! The ground of one block for a physics engine: its quads as convex parts, grouped by friction and
//! restitution, with the depth of the ground below each part.
//!
//! A quad whose two triangles are coplanar is one part of four corners, otherwise each triangle is
//! one: fewer parts mean fewer contacts. Degenerate triangles are skipped, and so is one that folds
//! back over the other of its quad.
//!
//! **Depth.** A body whose centre is below the surface is still pushed out by the face above it, down
//! to half the distance to the opposite face, so that no point belongs to both faces of a thin plate.

use std::collections::BTreeMap;
use std::sync::Arc;

use terravox::collide::{CollisionBlock, QuadBvh, QuadInfo};
use terravox::geometry::EdgeAngle;
use terravox::voxel::{AIR, DenseBox, Kind, Snapshot, VoxelPos};

/// Depths of parts, voxels.
const DEPTHS_VOXELS: [f32; 8] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.25];

/// Distances below a face at which cells are probed, voxels, and the depth index if the first cell
/// that is not solid is there. The depth is somewhat less than half the distance, since surfaces do
/// not coincide with cell faces.
const THICKNESS_PROBES: [(f32, u16); 4] = [(0.6, 1), (1.2, 3), (1.8, 5), (2.4, 6)];

/// Depth index of a face with solid cells at all probes.
const THICK_DEPTH_INDEX: u16 = 7;

/// Least depth of a part with thick ground, voxels: the opposite side is at least 1.8 below.
const THICK_DEPTH_VOXELS: f32 = 0.75;

/// Cosine of the largest angle between the triangles of a one-part quad: 0.1°.
const PLANE_COS: f32 = 0.999_998_5;

/// Cosine below which a diagonal is a fold in a broken surface: 150°.
const FOLD_COS: f32 = -0.866;

/// Cosine above which a diagonal is flat: 0.35°.
const FLAT_COS: f32 = 0.999_981_3;

/// Coefficients of friction (Coulomb) and restitution (Newton).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// Friction.
    pub friction: f32,
    /// Restitution, 0 to 1.
    pub restitution: f32,
}

/// The corners of a quad that belong to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartCorners {
    First,
    Second,
    All,
}

/// A quad (bits 5 to 15), its depth index (2 to 4) and its corners (0, 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroundPart(u16);

/// The parts of one block that share friction and restitution.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockGround {
    block: CollisionBlock,
    tree: Arc<QuadBvh>,
    parts: Box<[GroundPart]>,
    /// Bounds of all parts, metres.
    bounds: Bounds,
    voxel_size_m: f32,
}

/// Min and max corner of a box.
pub type Bounds = [[f32; 3]; 2];

/// Fraction of its depth that the bounds of a part include. Smaller bodies that are entirely deeper
/// are ignored.
const BOXED_DEPTH_SHARE: f32 = 0.6;

/// A convex part, for a shape of any parry. Lengths are metres from the block's min corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlainFacet {
    /// Corners, counter-clockwise seen from outside; the last is repeated if there are
    /// three.
    pub corners: [[f32; 3]; 4],
    /// Number of corners, 3 or 4.
    pub count: usize,
    /// Unit normal, out of the ground.
    pub normal: [f32; 3],
    /// Cosine and sine of the angle by which the ground turns away at the side from corner `k` to the
    /// next; 1 and 0 where it does not.
    pub turns: [[f32; 2]; 4],
    /// Depth of the ground that belongs to it, metres.
    pub depth: f32,
    /// Whether the opposite side is so far below that a deep body must have entered through this one.
    pub is_thick: bool,
}

impl GroundPart {
    fn new(quad: u16, depth: u16, corners: PartCorners) -> GroundPart {
        GroundPart(quad << 5 | depth << 2 | corners as u16)
    }

    fn quad(self) -> u16 {
        self.0 >> 5
    }

    fn depth(self) -> f32 {
        DEPTHS_VOXELS[usize::from(self.0 >> 2 & 7)]
    }

    fn corners(self) -> PartCorners {
        [PartCorners::First, PartCorners::Second, PartCorners::All][usize::from(self.0 & 3)]
    }
}

/// The grounds of a block: one for every pair of friction and restitution in it. `scratch` is a
/// reusable buffer.
pub fn grounds(
    tree: &QuadBvh,
    block: CollisionBlock,
    snapshot: &Snapshot,
    voxel_size_m: f32,
    scratch: &mut GroundScratch,
) -> Vec<(Coefficients, BlockGround)> {
    let depths = DepthProbe::new(tree, block, snapshot, scratch);
    let mut lists: BTreeMap<[u32; 2], (Vec<GroundPart>, Bounds)> = BTreeMap::new();
    // An 8³ block has at most that many quads: half of its cells, six faces each.
    for quad in 0..tree.quad_count().min(1 << 11) as u16 {
        let info = tree.quad(quad);
        let coefficients = coefficients(snapshot, depths.material(voxel_of(block, &info)));
        let key = [coefficients.friction.to_bits(), coefficients.restitution.to_bits()];
        let quad_corners = quad_corners(tree, quad);
        let normals = normals_of(quad_corners);
        let (list, bounds) = lists.entry(key).or_insert((Vec::new(), NO_BOUNDS));
        for corners in corners_of(quad_corners, &info).into_iter().flatten() {
            let normal = normals[usize::from(corners == PartCorners::Second)];
            let depth = depths.of(tree, quad_corners, &info, normal);
            let part = GroundPart::new(quad, depth, corners);
            list.push(part);
            *bounds = merged(*bounds, part_bounds(part, quad_corners, normal));
        }
    }
    let tree = Arc::new(tree.clone());
    let ground =
        |([friction, restitution], (parts, bounds)): ([u32; 2], (Vec<GroundPart>, Bounds))| {
            let [friction, restitution] = [friction, restitution].map(f32::from_bits);
            let bounds = bounds.map(|corner| corner.map(|v| v * voxel_size_m));
            let parts = parts.into();
            let ground = BlockGround { block, tree: tree.clone(), parts, bounds, voxel_size_m };
            (Coefficients { friction, restitution }, ground)
        };
    lists.into_iter().filter(|list| !list.1.0.is_empty()).map(ground).collect()
}

/// Empty bounds.
const NO_BOUNDS: Bounds = [[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]];

/// The smallest box that holds both.
fn merged(a: Bounds, b: Bounds) -> Bounds {
    [[0, 1, 2].map(|i| a[0][i].min(b[0][i])), [0, 1, 2].map(|i| a[1][i].max(b[1][i]))]
}

/// Bounds of a part and of the ground right below it, voxels.
fn part_bounds(part: GroundPart, [a, b, c, d]: [[f32; 3]; 4], normal: [f32; 3]) -> Bounds {
    let corners = match part.corners() {
        PartCorners::First => [a, b, c, c],
        PartCorners::Second => [a, c, d, d],
        PartCorners::All => [a, b, c, d],
    };
    let flat = corners.into_iter().fold(NO_BOUNDS, |all, corner| merged(all, [corner; 2]));
    let below = normal.map(|v| -v * part.depth() * BOXED_DEPTH_SHARE);
    [0, 1].map(|end| {
        [0, 1, 2]
            .map(|i| flat[end][i] + if end == 0 { below[i].min(0.0) } else { below[i].max(0.0) })
    })
}

impl BlockGround {
    /// Number of parts.
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// The surface of the whole block, voxels from its min corner.
    pub fn tree(&self) -> &QuadBvh {
        &self.tree
    }

    /// Metres per voxel.
    pub fn voxel_size_m(&self) -> f32 {
        self.voxel_size_m
    }

    /// Bounds of all parts, metres from the block's min corner.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Bounds of a part, metres from the block's min corner.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn part_bounds(&self, part: u32) -> Bounds {
        let part = self.parts[part as usize];
        let corners = quad_corners(&self.tree, part.quad());
        let normal = normals_of(corners)[usize::from(part.corners() == PartCorners::Second)];
        part_bounds(part, corners, normal).map(|corner| corner.map(|v| v * self.voxel_size_m))
    }

    /// The block.
    pub fn block(&self) -> CollisionBlock {
        self.block
    }

    /// The voxel that a part is a face of; `None` if there is no such part.
    pub fn voxel(&self, part: u32) -> Option<VoxelPos> {
        let part = self.parts.get(part as usize)?;
        Some(voxel_of(self.block, &self.tree.quad(part.quad())))
    }

    /// The part that a triangle belongs to; `None` if it is not in this ground.
    pub fn part_of(&self, quad: u16, second: bool) -> Option<u32> {
        let from = self.parts.partition_point(|part| part.quad() < quad);
        let own = self.parts[from..].iter().take(2).take_while(|part| part.quad() == quad);
        let wanted = if second { PartCorners::Second } else { PartCorners::First };
        let index = own
            .into_iter()
            .position(|part| part.corners() == PartCorners::All || part.corners() == wanted);
        index.map(|index| (from + index) as u32)
    }

    /// Number of triangles that are not degenerate.
    pub fn triangle_count(&self) -> usize {
        let triangles = |part: &GroundPart| if part.corners() == PartCorners::All { 2 } else { 1 };
        self.parts.iter().map(triangles).sum()
    }

    /// Its triangles as an indexed mesh: vertices, metres from the block's min corner, some of
    /// which may be unused, and three indices per triangle.
    pub fn mesh(&self) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
        let (mut vertices, mut indices) = (Vec::new(), Vec::with_capacity(2 * self.parts.len()));
        for part in &self.parts {
            let halves: &[bool] = match part.corners() {
                PartCorners::First => &[false],
                PartCorners::Second => &[true],
                PartCorners::All => &[false, true],
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

    /// Bytes on the heap; a tree shared by several grounds counts for each.
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
            let angle = EdgeAngle::of_side(info.angles, k);
            [angle.cos, angle.sin]
        };
        let [a, b, c, d] = corners.map(|corner| corner.map(|v| v * self.voxel_size_m));
        let (corners, count, normal, turns) = match part.corners() {
            PartCorners::First => {
                let normals = normals_of(corners);
                let turns = [side(0), side(1), diagonal(&info, corners, normals, 0), [1.0, 0.0]];
                ([a, b, c, c], 3, normals[0], turns)
            }
            PartCorners::Second => {
                let normals = normals_of(corners);
                let turns = [diagonal(&info, corners, normals, 1), side(2), side(3), [1.0, 0.0]];
                ([a, c, d, d], 3, normals[1], turns)
            }
            PartCorners::All => {
                // The average of both triangles, weighted by area.
                let normal = normalized(cross(sub(c, a), sub(d, b)));
                ([a, b, c, d], 4, normal, [0, 1, 2, 3].map(side))
            }
        };
        let depth = part.depth() * self.voxel_size_m;
        let is_thick = part.depth() >= THICK_DEPTH_VOXELS;
        PlainFacet { corners, count, normal, turns, depth, is_thick }
    }
}

/// Friction and restitution of a material; 0.5 and 0 if it is not listed.
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

/// The parts of a quad.
fn corners_of(corners: [[f32; 3]; 4], info: &QuadInfo) -> [Option<PartCorners>; 2] {
    let both_back = info.reversed[0] && info.reversed[1];
    let usable = [0, 1].map(|i| !info.flat[i] && (both_back || !info.reversed[i]));
    if usable == [true, true] && is_one_plane(corners) {
        return [Some(PartCorners::All), None];
    }
    [usable[0].then_some(PartCorners::First), usable[1].then_some(PartCorners::Second)]
}

/// Corners of a quad, voxels.
fn quad_corners(tree: &QuadBvh, quad: u16) -> [[f32; 3]; 4] {
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

/// Unit normals of a quad's triangles; a degenerate one has that of the other.
fn normals_of([a, b, c, d]: [[f32; 3]; 4]) -> [[f32; 3]; 2] {
    let across = sub(c, a);
    let [first, second] = [cross(sub(b, a), across), cross(across, sub(d, a))];
    match [dot(first, first) > 1e-12, dot(second, second) > 1e-12] {
        [true, false] => [normalized(first); 2],
        [false, true] => [normalized(second); 2],
        _ => [normalized(first), normalized(second)],
    }
}

/// Cosine and sine of the angle by which the ground turns at the diagonal, from triangle `own`.
fn diagonal(
    info: &QuadInfo,
    corners: [[f32; 3]; 4],
    normals: [[f32; 3]; 2],
    own: usize,
) -> [f32; 2] {
    if info.flat[1 - own] || (info.reversed[1 - own] && !info.reversed[own]) {
        // The other triangle is skipped: the surface behind it counts.
        let sides = if own == 0 { [2, 3] } else { [0, 1] };
        let turns = sides.map(|k| EdgeAngle::of_side(info.angles, k));
        let turn = if turns[0].cos < turns[1].cos { turns[0] } else { turns[1] };
        return [turn.cos, turn.sin];
    }
    let cos = dot(normals[0], normals[1]);
    // Out of the first triangle: the diagonal runs from its corner c to a.
    let out = cross(sub(corners[0], corners[2]), normals[0]);
    if dot(normals[1], out) <= 0.0 || !(FOLD_COS..=FLAT_COS).contains(&cos) {
        return [1.0, 0.0];
    }
    // Rounded so that the angle is never too small.
    let cos = (cos - 1e-4).max(-1.0);
    [cos, (1.0 - cos * cos).max(0.0).sqrt()]
}

/// Buffers of [`grounds`]. Keep one and reuse it.
#[derive(Debug, Default)]
pub struct GroundScratch {
    cells: DenseBox,
    /// Number of the quad plus one, by cell and direction.
    quads: Vec<u16>,
}

/// Measures the thickness of the ground behind faces.
struct DepthProbe<'a> {
    snapshot: &'a Snapshot,
    block: CollisionBlock,
    cells: &'a DenseBox,
    /// Whether all of `cells` is held.
    is_held: bool,
    quads: &'a [u16],
}

/// Largest distance of a probe from the block.
const PROBE_PADDING_VOXELS: i32 = 4;

impl DepthProbe<'_> {
    fn new<'a>(
        tree: &QuadBvh,
        block: CollisionBlock,
        snapshot: &'a Snapshot,
        scratch: &'a mut GroundScratch,
    ) -> DepthProbe<'a> {
        let GroundScratch { cells, quads } = scratch;
        quads.clear();
        quads.resize(512 * 6, 0);
        for quad in 0..tree.quad_count() as u16 {
            let info = tree.quad(quad);
            quads[slot(info.cell, info.direction)] = quad + 1;
        }
        let is_held = snapshot.read(block.region().grow(PROBE_PADDING_VOXELS), 0, cells).is_ok();
        DepthProbe { snapshot, block, cells, is_held, quads }
    }

    fn material(&self, voxel: VoxelPos) -> u8 {
        match self.is_held {
            true => self.cells.cell(voxel).material,
            false => self.snapshot.cell(voxel).map_or(AIR, |cell| cell.material),
        }
    }

    /// The depth of a part of a quad, as an index into [`DEPTHS_VOXELS`].
    fn of(&self, tree: &QuadBvh, corners: [[f32; 3]; 4], info: &QuadInfo, normal: [f32; 3]) -> u16 {
        let middle = [0, 1, 2].map(|i| corners.iter().map(|corner| corner[i]).sum::<f32>() / 4.0);
        let first = THICKNESS_PROBES.iter().find(|look| !self.is_solid(middle, normal, look.0));
        let depth = first.map_or(THICK_DEPTH_INDEX, |look| look.1);
        let other = self.quads[slot(info.cell, info.direction ^ 1)];
        if other == 0 {
            return depth;
        }
        // A thin plate: half the distance to its opposite face.
        let [a, b, c, d] = quad_corners(tree, other - 1);
        let way = sub(middle, [0, 1, 2].map(|i| (a[i] + b[i] + c[i] + d[i]) / 4.0));
        let half = dot(way, normal) / 2.0;
        depth.min((DEPTHS_VOXELS.partition_point(|&depth| depth <= half) as u16).saturating_sub(1))
    }

    fn is_solid(&self, middle: [f32; 3], normal: [f32; 3], below: f32) -> bool {
        let [x, y, z] = [0, 1, 2].map(|i| (middle[i] - normal[i] * below).floor() as i32);
        let voxel = self.block.min_voxel() + VoxelPos::new(x, y, z);
        let solid = |material| self.snapshot.materials().kind(material) == Kind::Solid;
        match self.is_held {
            true => solid(self.cells.cell(voxel).material),
            // Cells that are not held count as solid.
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
