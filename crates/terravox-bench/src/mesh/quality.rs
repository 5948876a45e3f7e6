//! Accuracy of the surface where the true one is known: balls, planes, boxes and plates, filled
//! by distance, compared with fast-surface-nets on the same cells.
//!
//! Errors are in voxels. Of a ball and of planes: the distance of the mesh from the
//! true surface, root mean square over its area (16 samples a triangle). Of a box:
//! the distance from points on its true edges to the mesh. Of plates: the volume of
//! the closed mesh against the sum of the fills.

use glam::DVec3;
use terravox::mesh::PAD;
use terravox::voxel::{DenseBox, MaterialTable, Region, SurfaceShape};

use super::distance::NearestTriangles;
use super::ours::{Keyed, table_of};
use super::peers::FsnBlock;
use super::surface::{Accumulator, Spread, Surface};
use crate::report::{AreaReport, Better, ReportRow, detail};
use crate::worlds::random::Rng;
use crate::worlds::shapes::{TiltedBox, ball, filled, half_space, plate};

const ROCK: u8 = 8;
const OURS: &str = "default";
const PEER: &str = "fast-surface-nets";
/// Edge of the block in which shapes are meshed.
const EDGE: i32 = 64;

/// Cells along the edges of a plate.
const PLATE_EDGE: i32 = 40;

/// Radius of the balls, voxels.
const BALL_RADIUS: f64 = 24.0;

/// Number of random planes.
const PLANES: usize = 24;

/// A mesher of a padded box of [`EDGE`]³ cells.
struct MeshMaker<'a> {
    name: &'static str,
    mesh: Box<dyn FnMut(&DenseBox) -> Surface + 'a>,
}

/// The errors of one mesher.
struct MesherErrors {
    mesher: &'static str,
    spread: Spread,
    note: String,
}

/// Measures `sphere24_rms`, `oblique_rms`, `box_edge_rms` and `plate_volume_error`.
pub fn run(report: &mut AreaReport) {
    let table = table_of(SurfaceShape::Default);
    balls(report, &mut makers(&table));
    planes(report, &mut makers(&table));
    boxes(report, &mut makers(&table));
    plates(report);
}

fn makers(table: &MaterialTable) -> [MeshMaker<'_>; 4] {
    let of_shape = |name, shape| -> MeshMaker<'static> {
        let mut keyed = Keyed::new(shape);
        MeshMaker { name, mesh: Box::new(move |cells: &DenseBox| keyed.mesh(cells)) }
    };
    let fsn = move |cells: &DenseBox| FsnBlock::new(cells, EDGE as usize, table).surface();
    [
        of_shape(OURS, SurfaceShape::Default),
        MeshMaker { name: PEER, mesh: Box::new(fsn) },
        of_shape("smooth", SurfaceShape::Smooth),
        of_shape("sharp", SurfaceShape::Sharp),
    ]
}

fn padded() -> Region {
    Region::new([0; 3], [EDGE; 3]).grow(PAD)
}

/// Sets a figure to the error of [`OURS`], compared with that of [`PEER`].
fn set(report: &mut AreaReport, id: &str, title: &str, errors: &[MesherErrors]) {
    let of = |mesher: &str| {
        let Some(errors) = errors.iter().find(|errors| errors.mesher == mesher) else {
            unreachable!("{mesher} is among the makers")
        };
        errors.spread
    };
    let (ours, peer) = (of(OURS), of(PEER));
    let note = format!("{title}; max {:.3}; baseline {PEER}", ours.max);
    report.set_beside(id, ours.rms, peer.rms, note);
    for MesherErrors { mesher, spread, .. } in errors.iter().filter(|e| e.mesher != PEER) {
        let what = format!("{title}, {mesher}");
        report.compare(&what, "voxels rms", Better::Less, spread.rms, (PEER, peer.rms));
    }
    let line = |MesherErrors { mesher, spread, note }: &MesherErrors| -> ReportRow {
        let note = format!("max {:.3}{note}", spread.max);
        detail(*mesher, spread.rms, "voxels").beside(peer.rms).note(note)
    };
    report.details(format!("{id}: {title}"), errors.iter().map(line).collect());
}

/// A random point within half a voxel of the block's middle, along each axis.
fn near_middle(rng: &mut Rng) -> DVec3 {
    DVec3::splat(0.5 * f64::from(EDGE) - 0.5) + rng.point()
}

/// Eight balls of radius 24 with their centres within half a voxel of the block's middle.
fn balls(report: &mut AreaReport, makers: &mut [MeshMaker<'_>]) {
    let mut rng = Rng::new(24);
    let centres: Vec<DVec3> = (0..8).map(|_| near_middle(&mut rng)).collect();
    let shapes: Vec<DenseBox> =
        centres.iter().map(|&centre| filled(padded(), ROCK, ball(centre, BALL_RADIUS))).collect();
    let errors_of = |maker: &mut MeshMaker<'_>| {
        let (mut surface, mut vertex) = (Pool::default(), Pool::default());
        for (cells, centre) in shapes.iter().zip(&centres) {
            let mesh = (maker.mesh)(cells);
            let error = |p: DVec3| p.distance(*centre) - BALL_RADIUS;
            surface.add(mesh.rms(error));
            vertex.add(mesh.vertex_rms(error));
        }
        let note = format!("; vertices alone {:.4}", vertex.spread().rms);
        MesherErrors { mesher: maker.name, spread: surface.spread(), note }
    };
    let errors: Vec<_> = makers.iter_mut().map(errors_of).collect();
    set(report, "sphere24_rms", "8 balls of radius 24", &errors);
}

/// Planes with 24 random normals, within half a voxel of the block's middle.
fn planes(report: &mut AreaReport, makers: &mut [MeshMaker<'_>]) {
    let mut rng = Rng::new(42);
    let planes: Vec<(DVec3, DVec3)> =
        (0..PLANES).map(|_| (near_middle(&mut rng), rng.direction())).collect();
    let shapes: Vec<DenseBox> = planes
        .iter()
        .map(|&(point, normal)| filled(padded(), ROCK, half_space(point, normal)))
        .collect();
    let errors_of = |maker: &mut MeshMaker<'_>| {
        let (mut error, mut degrees) = (Pool::default(), Pool::default());
        for (cells, &(point, normal)) in shapes.iter().zip(&planes) {
            let mesh = (maker.mesh)(cells);
            error.add(mesh.rms(|p| (p - point).dot(normal)));
            degrees.add(normal_errors(&mesh, normal));
        }
        let worst = (0..PLANES).max_by(|&a, &b| error.0[a].rms.total_cmp(&error.0[b].rms));
        let worst = worst.map_or(String::new(), |at| {
            format!("; worst {:.4}, normal {:.2}", error.0[at].rms, planes[at].1)
        });
        let normals = degrees.spread().rms;
        let note = format!("; normals off by {normals:.2}° rms{worst}");
        MesherErrors { mesher: maker.name, spread: error.spread(), note }
    };
    let errors: Vec<_> = makers.iter_mut().map(errors_of).collect();
    set(report, "oblique_rms", "planes with 24 random normals", &errors);
}

/// Degrees between the vertex normals and `normal`.
fn normal_errors(mesh: &Surface, normal: DVec3) -> Spread {
    let mut degrees = Accumulator::default();
    for shading in &mesh.normals {
        let cosine = shading.normalize_or_zero().dot(normal).clamp(-1.0, 1.0);
        degrees.add(cosine.acos().to_degrees(), 1.0);
    }
    degrees.finish()
}

/// Eight boxes of 40 × 30 × 24 voxels, turned at random.
fn boxes(report: &mut AreaReport, makers: &mut [MeshMaker<'_>]) {
    let mut rng = Rng::new(7);
    let boxes: Vec<TiltedBox> = (0..8)
        .map(|_| TiltedBox {
            centre: near_middle(&mut rng),
            half: DVec3::new(20.0, 15.0, 12.0),
            rotation: rng.rotation(),
        })
        .collect();
    let shapes: Vec<DenseBox> =
        boxes.iter().map(|shape| filled(padded(), ROCK, shape.distance())).collect();
    let errors_of = |maker: &mut MeshMaker<'_>| {
        let (mut edges, mut faces) = (Pool::default(), Pool::default());
        for (cells, shape) in shapes.iter().zip(&boxes) {
            let mesh = (maker.mesh)(cells);
            let nearest = NearestTriangles::new(&mesh);
            let mut errors = Accumulator::default();
            for point in shape.edge_points(100) {
                errors.add(nearest.distance(point), 1.0);
            }
            edges.add(errors.finish());
            faces.add(mesh.rms(shape.distance()));
        }
        let note = format!("; whole surface {:.3}", faces.spread().rms);
        MesherErrors { mesher: maker.name, spread: edges.spread(), note }
    };
    let errors: Vec<_> = makers.iter_mut().map(errors_of).collect();
    set(report, "box_edge_rms", "edges of 8 turned boxes", &errors);
}

/// Plates of 40² cells across each axis, of several fills.
fn plates(report: &mut AreaReport) {
    let table = table_of(SurfaceShape::Default);
    let mut keyed = Keyed::new(SurfaceShape::Default);
    let (mut lines, mut worst, mut peer_worst) = (Vec::new(), 0.0f64, 0.0f64);
    for units in [64, 102, 128, 192, 256] {
        for axis in 0..3 {
            let cells = plate(padded(), axis, PLATE_EDGE, units);
            let truth = f64::from(PLATE_EDGE * PLATE_EDGE) * f64::from(units) / 256.0;
            let error = keyed.mesh(&cells).volume() / truth - 1.0;
            let peer =
                FsnBlock::new(&cells, EDGE as usize, &table).surface().volume() / truth - 1.0;
            worst = worst.max(error.abs());
            peer_worst = peer_worst.max(peer.abs());
            let name = format!("fill {units}/256 across {}", ["x", "y", "z"][axis]);
            lines.push(detail(name, error, "share").note(format!("{PEER} {peer:.3}")));
        }
    }
    report.set_beside(
        "plate_volume_error",
        worst,
        peer_worst,
        "the worst of 15 plates of 40² cells",
    );
    report.details("plate_volume_error: volume of the mesh ÷ sum of fills − 1", lines);
}

/// Joins the spreads of several meshes, each counting alike.
#[derive(Default)]
struct Pool(Vec<Spread>);

impl Pool {
    fn add(&mut self, spread: Spread) {
        self.0.push(spread);
    }

    fn spread(&self) -> Spread {
        let squares: f64 = self.0.iter().map(|s| s.rms * s.rms).sum();
        let max = self.0.iter().map(|s| s.max).fold(0.0, f64::max);
        Spread { rms: (squares / self.0.len() as f64).sqrt(), max }
    }
}
