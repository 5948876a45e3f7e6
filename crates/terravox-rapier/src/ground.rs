//! The ground of one block for a physics engine: its quads as convex parts, grouped by friction and
//! restitution, with the depth of the ground below each part.
//!
//! A quad whose two triangles are coplanar is one part of four corners, otherwise each triangle is
//! one: fewer parts mean fewer contacts. Degenerate triangles are skipped, and so is one that folds
//! back over the other of its quad.
//!
//! **Depth.** A body whose centre is below the surface is still pushed out by the face above it,
//! down to half the distance to the opposite face, so that no point belongs to both faces of a thin
//! plate.

use std::collections::BTreeMap;
use std::sync::Arc;

use terravox::collide::{CollisionBlock, QuadBvh, QuadInfo};
use terravox::geometry::EdgeAngle;
use terravox::voxel::{AIR, DenseBox, Kind, Snapshot, VoxelPos};

/// Depths of parts, voxels.
const DEPTHS_VOXELS: [f32; 8] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.25];

/// A cell below a face.
struct ThicknessProbe {
    distance_voxels: f32,
    /// The depth if this is the first cell that is not solid, as an index into [`DEPTHS_VOXELS`]:
    /// somewhat less than half the distance, since surfaces do not coincide with cell faces.
    depth_index: u16,
}

/// The cells that are probed, from the face down.
const THICKNESS_PROBES: [ThicknessProbe; 4] = [
    ThicknessProbe { distance_voxels: 0.6, depth_index: 1 },
    ThicknessProbe { distance_voxels: 1.2, depth_index: 3 },
    ThicknessProbe { distance_voxels: 1.8, depth_index: 5 },
    ThicknessProbe { distance_voxels: 2.4, depth_index: 6 },
];

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

/// Bound on the quads of a block of 8³ cells: at most half of them have six faces.
const MAX_QUADS: usize = 1 << 11;

/// Friction of a material that is not listed.
const DEFAULT_FRICTION: f32 = 0.5;

/// Coefficients of friction (Coulomb) and restitution (Newton).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// Friction.
    pub friction: f32,
    /// Restitution, 0 to 1.
    pub restitution: f32,
}

/// The triangles of a quad that belong to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartTriangles {
    First,
    Second,
    Both,
}

/// A quad (bits 5 to 15), its depth index (2 to 4) and its triangles (0, 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroundPart(u16);

/// The parts of one block that share friction and restitution.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockGround {
    block: CollisionBlock,
    tree: Arc<QuadBvh>,
    parts: Box<[GroundPart]>,
    bounds: Bounds,
    voxel_size_m: f32,
}

/// An axis-aligned box, metres from the block's min corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Min corner.
    pub min: [f32; 3],
    /// Max corner.
    pub max: [f32; 3],
}

impl Bounds {
    const EMPTY: Bounds = Bounds { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };

    /// The smallest box that holds both.
    fn union(self, other: Bounds) -> Bounds {
        Bounds {
            min: [0, 1, 2].map(|i| self.min[i].min(other.min[i])),
            max: [0, 1, 2].map(|i| self.max[i].max(other.max[i])),
        }
    }

    fn scaled(self, factor: f32) -> Bounds {
        Bounds { min: self.min.map(|v| v * factor), max: self.max.map(|v| v * factor) }
    }
}

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
    /// Cosine and sine of the angle by which the ground turns away at the side from corner `k` to
    /// the next; 1 and 0 where it does not.
    pub turns: [[f32; 2]; 4],
    /// Depth of the ground that belongs to it, metres.
    pub depth: f32,
    /// Whether the opposite side is so far below that a deep body must have entered through this
    /// one.
    pub is_thick: bool,
}

impl GroundPart {
    fn new(quad: u16, depth_index: u16, triangles: PartTriangles) -> GroundPart {
        GroundPart(quad << 5 | depth_index << 2 | triangles as u16)
    }

    fn quad(self) -> u16 {
        self.0 >> 5
    }

    fn depth_voxels(self) -> f32 {
        DEPTHS_VOXELS[usize::from(self.0 >> 2 & 7)]
    }

    fn triangles(self) -> PartTriangles {
        [PartTriangles::First, PartTriangles::Second, PartTriangles::Both][usize::from(self.0 & 3)]
    }
}

/// The parts of one pair of coefficients, and their bounds in voxels.
struct PartList {
    parts: Vec<GroundPart>,
    bounds: Bounds,
}

/// The bits of [`Coefficients`], as a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CoefficientBits {
    friction: u32,
    restitution: u32,
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
    let mut lists: BTreeMap<CoefficientBits, PartList> = BTreeMap::new();
    for quad in 0..tree.quad_count().min(MAX_QUADS) as u16 {
        let info = tree.quad(quad);
        let coefficients = coefficients(snapshot, depths.material(voxel_of(block, &info)));
        let key = CoefficientBits {
            friction: coefficients.friction.to_bits(),
            restitution: coefficients.restitution.to_bits(),
        };
        let quad_corners = quad_corners(tree, quad);
        let normals = normals_of(quad_corners);
        let list =
            lists.entry(key).or_insert(PartList { parts: Vec::new(), bounds: Bounds::EMPTY });
        for triangles in parts_of_quad(quad_corners, &info).into_iter().flatten() {
            let normal = normals[usize::from(triangles == PartTriangles::Second)];
            let depth_index = depths.depth_index(tree, quad_corners, &info, normal);
            let part = GroundPart::new(quad, depth_index, triangles);
            list.parts.push(part);
            list.bounds = list.bounds.union(part_bounds(part, quad_corners, normal));
        }
    }
    let tree = Arc::new(tree.clone());
    lists.retain(|_, list| !list.parts.is_empty());
    let ground_of = |(key, list): (CoefficientBits, PartList)| {
        let coefficients = Coefficients {
            friction: f32::from_bits(key.friction),
            restitution: f32::from_bits(key.restitution),
        };
        let ground = BlockGround {
            block,
            tree: tree.clone(),
            parts: list.parts.into(),
            bounds: list.bounds.scaled(voxel_size_m),
            voxel_size_m,
        };
        (coefficients, ground)
    };
    lists.into_iter().map(ground_of).collect()
}

/// Bounds of a part and of the ground right below it, voxels.
fn part_bounds(part: GroundPart, [a, b, c, d]: [[f32; 3]; 4], normal: [f32; 3]) -> Bounds {
    let corners = match part.triangles() {
        PartTriangles::First => [a, b, c, c],
        PartTriangles::Second => [a, c, d, d],
        PartTriangles::Both => [a, b, c, d],
    };
    let point = |corner| Bounds { min: corner, max: corner };
    let flat = corners.into_iter().fold(Bounds::EMPTY, |all, corner| all.union(point(corner)));
    let below = normal.map(|v| -v * part.depth_voxels() * BOXED_DEPTH_SHARE);
    Bounds {
        min: [0, 1, 2].map(|i| flat.min[i] + below[i].min(0.0)),
        max: [0, 1, 2].map(|i| flat.max[i] + below[i].max(0.0)),
    }
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
        let normal = normals_of(corners)[usize::from(part.triangles() == PartTriangles::Second)];
        part_bounds(part, corners, normal).scaled(self.voxel_size_m)
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
        let wanted = if second { PartTriangles::Second } else { PartTriangles::First };
        let index = own
            .into_iter()
            .position(|part| part.triangles() == PartTriangles::Both || part.triangles() == wanted);
        index.map(|index| (from + index) as u32)
    }

    /// Number of triangles that are not degenerate.
    pub fn triangle_count(&self) -> usize {
        let triangles =
            |part: &GroundPart| if part.triangles() == PartTriangles::Both { 2 } else { 1 };
        self.parts.iter().map(triangles).sum()
    }

    /// Its triangles as an indexed mesh: vertices, metres from the block's min corner, some of
    /// which may be unused, and three indices per triangle.
    pub fn mesh(&self) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
        let (mut vertices, mut indices) = (Vec::new(), Vec::with_capacity(2 * self.parts.len()));
        for part in &self.parts {
            let halves: &[bool] = match part.triangles() {
                PartTriangles::First => &[false],
                PartTriangles::Second => &[true],
                PartTriangles::Both => &[false, true],
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
        let (corners, count, normal, turns) = match part.triangles() {
            PartTriangles::First => {
                let normals = normals_of(corners);
                let turns = [side(0), side(1), diagonal(&info, corners, normals, 0), [1.0, 0.0]];
                ([a, b, c, c], 3, normals[0], turns)
            }
            PartTriangles::Second => {
                let normals = normals_of(corners);
                let turns = [diagonal(&info, corners, normals, 1), side(2), side(3), [1.0, 0.0]];
                ([a, c, d, d], 3, normals[1], turns)
            }
            PartTriangles::Both => {
                // The average of both triangles, weighted by area.
                let normal = normalized(cross(sub(c, a), sub(d, b)));
                ([a, b, c, d], 4, normal, [0, 1, 2, 3].map(side))
            }
        };
        let depth = part.depth_voxels() * self.voxel_size_m;
        let is_thick = part.depth_voxels() >= THICK_DEPTH_VOXELS;
        PlainFacet { corners, count, normal, turns, depth, is_thick }
    }
}

/// Friction and restitution of a material; [`DEFAULT_FRICTION`] and 0 if it is not listed.
pub(crate) fn coefficients(snapshot: &Snapshot, material: u8) -> Coefficients {
    let default = Coefficients { friction: DEFAULT_FRICTION, restitution: 0.0 };
    snapshot.materials().get(material).map_or(default, |material| Coefficients {
        friction: material.friction,
        restitution: material.restitution,
    })
}

/// The voxel that a quad is a face of.
fn voxel_of(block: CollisionBlock, info: &QuadInfo) -> VoxelPos {
    let [x, y, z] = info.cell.map(i32::from);
    block.min_voxel() + VoxelPos::new(x, y, z)
}

/// The parts of a quad, at most two.
fn parts_of_quad(corners: [[f32; 3]; 4], info: &QuadInfo) -> [Option<PartTriangles>; 2] {
    let both_back = info.reversed[0] && info.reversed[1];
    let usable = [0, 1].map(|i| !info.flat[i] && (both_back || !info.reversed[i]));
    if usable == [true, true] && is_one_plane(corners) {
        return [Some(PartTriangles::Both), None];
    }
    [usable[0].then_some(PartTriangles::First), usable[1].then_some(PartTriangles::Second)]
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

/// Largest distance of a probe from the block: edits within it may change depths. More than
/// [`PAD`](terravox::mesh::PAD), within which edits change the surface.
pub(crate) const PROBE_PADDING_VOXELS: i32 = 4;

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
    fn depth_index(
        &self,
        tree: &QuadBvh,
        corners: [[f32; 3]; 4],
        info: &QuadInfo,
        normal: [f32; 3],
    ) -> u16 {
        let middle = [0, 1, 2].map(|i| corners.iter().map(|corner| corner[i]).sum::<f32>() / 4.0);
        let first = THICKNESS_PROBES
            .iter()
            .find(|probe| !self.is_solid(middle, normal, probe.distance_voxels));
        let depth = first.map_or(THICK_DEPTH_INDEX, |probe| probe.depth_index);
        let opposite = self.quads[slot(info.cell, info.direction ^ 1)];
        if opposite == 0 {
            return depth;
        }
        // A thin plate: half the distance to its opposite face.
        let [a, b, c, d] = quad_corners(tree, opposite - 1);
        let between = sub(middle, [0, 1, 2].map(|i| (a[i] + b[i] + c[i] + d[i]) / 4.0));
        let half = dot(between, normal) / 2.0;
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
