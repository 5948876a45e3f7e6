//! How far liquid sheets end from the waterline.
//!
//! Three real places are meshed chunk by chunk. A *shore vertex* is an end of an edge that only one
//! triangle of the whole liquid surface has, if that triangle shows the upper face of a cell: there
//! a sheet ends. (The ends of walls of water, at the world's edge, do not count.) It is correct if
//! it lies inside the solid surface or within a quarter of a voxel of it, and at most that much
//! lower than the sheet beside it. Otherwise the end of the sheet is visible above the ground, or
//! the sheet bends down to the ground before the shore; both look like teeth. A point is inside if
//! a ray upwards crosses the solid surface an odd number of times.

use glam::DVec3;
use rustc_hash::{FxHashMap, FxHashSet};
use terravox::mesh::{BlockMesh, Mesher, PAD, Shores, Surface, VertexKey};
use terravox::voxel::{DenseBox, Region};

use crate::report::{AreaReport, ReportRow, detail};
use crate::worlds::{World, places};

/// Tolerance of the position of a shore vertex.
const TOLERANCE_VOXELS: f64 = 0.25;

const PLACES: [&str; 3] = ["BoogaOpenSourced", "catapult-intro", "ethical-eli-hub"];

/// Measures `shore_teeth`.
pub fn run(report: &mut AreaReport) {
    let mut sum = TeethCount::default();
    let (mut lines, mut notes) = (Vec::new(), Vec::new());
    for name in PLACES {
        let world = match places::world(name) {
            Ok(world) => world,
            Err(why) => return report.not_measured("shore_teeth", why),
        };
        let soaked = count_teeth(&world, ShoreCells::Soaked);
        sum.add(soaked);
        notes.push(format!("{name} {} of {}", soaked.off(), soaked.vertices));
        lines.push(soaked.row(name));
        let stored = count_teeth(&world, ShoreCells::Stored);
        lines.push(stored.row(&format!("{name}, cells as they are stored")));
    }
    report.set("shore_teeth", sum.share(), notes.join(", "));
    report.details("Ends of liquid sheets", lines);
}

/// Numbers of shore vertices.
#[derive(Clone, Copy, Default)]
struct TeethCount {
    vertices: usize,
    /// Those outside of the ground.
    in_the_air: usize,
    /// Those on or in the ground, but lower than the sheet.
    low: usize,
}

impl TeethCount {
    fn off(&self) -> usize {
        self.in_the_air + self.low
    }

    fn share(&self) -> f64 {
        self.off() as f64 / self.vertices.max(1) as f64
    }

    fn add(&mut self, other: TeethCount) {
        self.vertices += other.vertices;
        self.in_the_air += other.in_the_air;
        self.low += other.low;
    }

    fn row(&self, name: &str) -> ReportRow {
        let TeethCount { vertices, in_the_air, low } = self;
        let note = format!("{in_the_air} in the air, {low} too low, of {vertices}");
        detail(name, self.share(), "share").note(note)
    }
}

/// The cells that are meshed.
#[derive(Clone, Copy, PartialEq)]
enum ShoreCells {
    /// As they are stored.
    Stored,
    /// With liquid in the solid cells beside it, as in a terrain.
    Soaked,
}

fn count_teeth(world: &World, shore_cells: ShoreCells) -> TeethCount {
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    let (mut shores, mut cells) = (Shores::default(), DenseBox::default());
    let (mut sheet, mut ground) = (LiquidSheet::default(), SolidSurface::default());
    for chunk in &world.chunks {
        let block = chunk.region();
        world.read(block.grow(PAD), &mut cells);
        if shore_cells == ShoreCells::Soaked {
            shores.soak(world.grid.as_snapshot(), 0, &mut cells);
        }
        mesher.mesh_keyed(&cells, world.grid.materials(), &mut mesh);
        sheet.add(block, &mesh.liquid);
        ground.add(block, &mesh.solid);
    }
    let mut teeth = TeethCount::default();
    for (p, level) in sheet.ends() {
        teeth.vertices += 1;
        if !ground.is_near(p) && !ground.is_inside(p) {
            teeth.in_the_air += 1;
        } else if p.y < level - TOLERANCE_VOXELS {
            teeth.low += 1;
        }
    }
    teeth
}

/// The liquid surface of a world.
#[derive(Default)]
struct LiquidSheet {
    numbers: FxHashMap<VertexKey, u32>,
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    /// By triangle: whether it shows the upper face of a cell.
    is_upper: Vec<bool>,
}

/// Direction of upper faces.
const UP: u8 = 3;

impl LiquidSheet {
    fn add(&mut self, block: Region, surface: &Surface) {
        let numbers: Vec<u32> = surface
            .keys
            .iter()
            .zip(&surface.positions)
            .map(|(&key, &p)| {
                let next = self.positions.len() as u32;
                let number = *self.numbers.entry(key).or_insert(next);
                if number == next {
                    self.positions.push(in_world(block, p));
                }
                number
            })
            .collect();
        self.triangles.extend(surface.triangles().map(|t| t.map(|v| numbers[v as usize])));
        // Two triangles a quad; at one mip there are no others.
        self.is_upper.extend(surface.quad_faces.iter().flat_map(|face| [face[3] == UP; 2]));
    }

    /// The vertices at which the sheet ends, and the height of the sheet beside them.
    fn ends(&self) -> Vec<(DVec3, f64)> {
        let mut edges = FxHashSet::default();
        for t in &self.triangles {
            edges.extend((0..3).map(|k| [t[k], t[(k + 1) % 3]]));
        }
        let upper = self.triangles.iter().zip(&self.is_upper).filter(|(_, is_upper)| **is_upper);
        let ends: FxHashSet<u32> = upper
            .flat_map(|(t, _)| (0..3).map(|k| [t[k], t[(k + 1) % 3]]))
            .filter(|[a, b]| !edges.contains(&[*b, *a]))
            .flatten()
            .collect();
        let mut levels: FxHashMap<u32, f64> = FxHashMap::default();
        for t in &self.triangles {
            let level =
                t.map(|v| self.positions[v as usize].y).into_iter().fold(f64::MIN, f64::max);
            for v in t.iter().filter(|v| ends.contains(v)) {
                let highest = levels.entry(*v).or_insert(level);
                *highest = highest.max(level);
            }
        }
        levels.into_iter().map(|(v, level)| (self.positions[v as usize], level)).collect()
    }
}

fn in_world(block: Region, p: [f32; 3]) -> DVec3 {
    DVec3::from(block.min.to_array().map(f64::from)) + DVec3::from(p.map(f64::from))
}

/// The solid surface of a world, by columns of voxels.
#[derive(Default)]
struct SolidSurface {
    triangles: Vec<[DVec3; 3]>,
    columns: FxHashMap<[i32; 2], Vec<u32>>,
}

impl SolidSurface {
    fn add(&mut self, block: Region, surface: &Surface) {
        for t in surface.triangles() {
            let t = t.map(|v| in_world(block, surface.positions[v as usize]));
            let (low, high) = (t[0].min(t[1]).min(t[2]), t[0].max(t[1]).max(t[2]));
            let number = self.triangles.len() as u32;
            self.triangles.push(t);
            for x in low.x.floor() as i32..=high.x.floor() as i32 {
                for z in low.z.floor() as i32..=high.z.floor() as i32 {
                    self.columns.entry([x, z]).or_default().push(number);
                }
            }
        }
    }

    fn column(&self, x: i32, z: i32) -> impl Iterator<Item = &[DVec3; 3]> {
        let numbers = self.columns.get(&[x, z]).into_iter().flatten();
        numbers.map(|&number| &self.triangles[number as usize])
    }

    fn is_inside(&self, p: DVec3) -> bool {
        // Off the lattice of vertices, so that the ray hits no vertex and no edge.
        let p = p + DVec3::new(3.1e-5, 0.0, 4.3e-5);
        let above = |t: &&[DVec3; 3]| height_of(t, p).is_some_and(|height| height > p.y);
        self.column(p.x.floor() as i32, p.z.floor() as i32).filter(above).count() % 2 == 1
    }

    fn is_near(&self, p: DVec3) -> bool {
        let columns = |at: f64| {
            (at - TOLERANCE_VOXELS).floor() as i32..=(at + TOLERANCE_VOXELS).floor() as i32
        };
        columns(p.x).any(|x| {
            let near = |t: &[DVec3; 3]| (closest(t, p) - p).length() <= TOLERANCE_VOXELS;
            columns(p.z).any(|z| self.column(x, z).any(near))
        })
    }
}

/// Returns where a vertical line through `p` hits a triangle.
fn height_of([a, b, c]: &[DVec3; 3], p: DVec3) -> Option<f64> {
    let side = |a: &DVec3, b: &DVec3| (b.x - a.x) * (p.z - a.z) - (b.z - a.z) * (p.x - a.x);
    let [w, u, v] = [side(a, b), side(b, c), side(c, a)];
    let is_hit = (w > 0.0 && u > 0.0 && v > 0.0) || (w < 0.0 && u < 0.0 && v < 0.0);
    is_hit.then(|| (a.y * u + b.y * v + c.y * w) / (u + v + w))
}

/// The point of a triangle that is nearest to `p`: Ericson, "Real-Time Collision Detection"
/// (2005), 5.1.5, by its planes.
fn closest(&[a, b, c]: &[DVec3; 3], p: DVec3) -> DVec3 {
    let normal = (b - a).cross(c - a);
    let square = normal.length_squared();
    if square > 0.0 {
        let foot = p - normal * ((p - a).dot(normal) / square);
        let inner = |a: DVec3, b: DVec3| (b - a).cross(foot - a).dot(normal) >= 0.0;
        if inner(a, b) && inner(b, c) && inner(c, a) {
            return foot;
        }
    }
    let on_side = |a: DVec3, b: DVec3| {
        let along = b - a;
        let share = (p - a).dot(along) / along.length_squared().max(1e-30);
        a + along * share.clamp(0.0, 1.0)
    };
    let sides = [on_side(a, b), on_side(b, c), on_side(c, a)];
    let distance = |q: &DVec3| (*q - p).length_squared();
    sides.into_iter().min_by(|q, r| distance(q).total_cmp(&distance(r))).unwrap_or(a)
}
