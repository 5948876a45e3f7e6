//! The slow twin of the renderer's rays: tests every triangle of a region, in f64.

use crate::ray::SceneRay;
use glam::DVec3;
use terravox::mesh::{BlockMesh, Mesher, PAD, Shores};
use terravox::voxel::{DenseBox, Region, Snapshot};

/// Returns the corners of all triangles of a region of at most 64 cells per edge, in cells:
/// solid, and liquid.
pub fn triangles(snapshot: &Snapshot, region: Region) -> [Vec<[DVec3; 3]>; 2] {
    let mut cells = DenseBox::default();
    let mut mesh = BlockMesh::new();
    let read = Shores::default().read(snapshot, region.grow(PAD), 0, &mut cells);
    assert!(read.is_ok(), "the region is held");
    Mesher::new().mesh(&cells, snapshot.materials(), &mut mesh);
    let min = DVec3::from(region.min.to_array().map(f64::from));
    [&mesh.solid, &mesh.liquid].map(|surface| {
        let place = |i: u32| min + DVec3::from(surface.positions[i as usize].map(f64::from));
        surface.triangles().map(|corners| corners.map(place)).collect()
    })
}

/// Returns the distance to the nearest triangle, cells.
pub fn nearest(triangles: &[[DVec3; 3]], ray: &SceneRay) -> Option<f64> {
    let hits = triangles.iter().filter_map(|&corners| distance(corners, ray));
    hits.min_by(f64::total_cmp)
}

/// Returns the distance to the plane of a triangle if the hit is inside all three edges.
fn distance([a, b, c]: [DVec3; 3], ray: &SceneRay) -> Option<f64> {
    let normal = (b - a).cross(c - a);
    let t = (a - ray.origin).dot(normal) / ray.direction.dot(normal);
    if !t.is_finite() || t < 0.0 {
        return None;
    }
    let point = ray.at(t);
    let inside = |from: DVec3, to: DVec3| (to - from).cross(point - from).dot(normal) >= 0.0;
    (inside(a, b) && inside(b, c) && inside(c, a)).then_some(t)
}
