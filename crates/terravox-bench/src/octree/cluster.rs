//! Clusters: triangles kept, cost and deviation.

use glam::DVec3;
use terravox::mesh::Surface as Mesh;
use terravox::octree::{Contourer, Detail, Octree, OctreeBuilder};
use terravox::voxel::SurfaceShape;

use super::speed::{EDGE, blocks, set_worst};
use crate::harness::{Entrant, RoundBudget, contest};
use crate::mesh::distance::NearestTriangles;
use crate::mesh::ours::table_of;
use crate::mesh::surface::Surface;
use crate::report::{AreaReport, ReportRow, detail};
use crate::worlds::{generated, rough};

/// Levels of the octree of a block.
const LEVELS: u8 = EDGE.trailing_zeros() as u8;

const RACE: RoundBudget = RoundBudget { min_rounds: 10, max_rounds: 40, seconds: 4.0, warm: true };

/// Levels of detail in the tables.
const DETAILS: [(&str, Detail); 7] = [
    ("size 2", Detail::size(2)),
    ("size 4", Detail::size(4)),
    ("size 8", Detail::size(8)),
    ("error 0.05", Detail::error(0.05)),
    ("error 0.1", Detail::error(0.1)),
    ("error 0.25", Detail::error(0.25)),
    ("error 0.5", Detail::error(0.5)),
];

/// Measures `cluster2_kept`, `cluster4_kept` and `cluster_ns_triangle`.
pub fn run(report: &mut AreaReport) {
    let mut kept: [Vec<(&str, f64)>; 2] = Default::default();
    let mut cost = Vec::new();
    for world in [generated::world(), rough::world()] {
        let table = table_of(SurfaceShape::Default);
        let mut builder = OctreeBuilder::new();
        let octrees: Vec<Octree> =
            blocks(&world).iter().map(|block| builder.cells(&block.cells, &table)).collect();
        let fine = triangles(&octrees, &Detail::size(1));
        let shares = DETAILS.map(|(_, detail)| triangles(&octrees, &detail) / fine);
        kept[0].push((world.name, shares[0]));
        kept[1].push((world.name, shares[1]));
        let times = time(&octrees);
        cost.push((world.name, (times.parents + times.contour) * 1e9 / fine));
        let mut lines: Vec<ReportRow> = vec![
            detail("parents from leaves", times.parents * 1e9 / fine, "ns/triangle"),
            detail("contour at size 2", times.contour * 1e9 / fine, "ns/triangle"),
        ];
        lines.extend(deviations(&octrees[0], &shares));
        report.details(format!("{}: clusters of blocks of 64³", world.name), lines);
    }
    set_worst(report, "cluster2_kept", &kept[0]);
    set_worst(report, "cluster4_kept", &kept[1]);
    set_worst(report, "cluster_ns_triangle", &cost);
}

fn triangles(octrees: &[Octree], detail: &Detail) -> f64 {
    let mut out = Mesh::default();
    let mut count = |octree: &Octree| {
        octree.contour(detail, &mut out);
        out.triangle_count() as f64
    };
    octrees.iter().map(&mut count).sum()
}

/// Seconds for all octrees.
struct ClusterTimes {
    /// Nodes of all sizes above the leaves.
    parents: f64,
    /// A contour at size 2.
    contour: f64,
}

fn time(octrees: &[Octree]) -> ClusterTimes {
    let builder = |octree: &Octree| {
        let mut builder = OctreeBuilder::new();
        builder.leaves([0; 3], LEVELS, &octree.leaves_at(&Detail::size(1)));
        builder
    };
    let mut builders: Vec<_> = octrees.iter().map(builder).collect();
    let (mut contourer, mut out) = (Contourer::new(), Mesh::default());
    let [parents, contour] = contest(
        octrees.len(),
        RACE,
        [
            Entrant::new("parents", |item| builders[item].parents_again(LEVELS) as u64),
            Entrant::new("contour", |item| {
                contourer.contour(&octrees[item], &Detail::size(2), &mut out);
                out.indices.len() as u64
            }),
        ],
    );
    ClusterTimes { parents: parents.min, contour: contour.min }
}

/// Returns the deviation of the contours of an octree from that of its leaves, and the triangles
/// kept.
fn deviations(octree: &Octree, shares: &[f64]) -> Vec<ReportRow> {
    let fine = NearestTriangles::new(&surface(octree, &Detail::size(1)));
    let line = |((name, detail_), share): (&(&'static str, Detail), &f64)| {
        let spread = surface(octree, detail_).rms(|point| fine.distance(point));
        let note = format!("kept {share:.4}; max {:.2} voxels", spread.max);
        detail(*name, spread.rms, "voxels rms").note(note)
    };
    DETAILS.iter().zip(shares).map(line).collect()
}

fn surface(octree: &Octree, detail: &Detail) -> Surface {
    let mut out = Mesh::default();
    octree.contour(detail, &mut out);
    Surface {
        positions: out.positions.iter().map(|p| DVec3::from(p.map(f64::from))).collect(),
        triangles: out.triangles().collect(),
        ..Surface::default()
    }
}
