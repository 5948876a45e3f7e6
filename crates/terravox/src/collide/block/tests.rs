//! The tree against brute force, and the vectors against plain arrays.

use glam::{DVec3, Vec3};
use proptest::prelude::*;

use super::leaf::{Leaves, MAX_POSITION, cells_of, step_of};
use super::node::{Child, UNUSED, WIDTH};
use super::surfaces::*;
use super::walk::MAX_DEPTH;
use super::*;
use crate::mesh::{Numbers, Surface};
use crate::voxel::Cell;

/// A triangle's share by which fast and naive may differ at its edges.
const EDGE: f64 = 1e-3;

/// The share of a triangle's least height by which rounded positions move the place where a ray
/// meets its plane: the more, the more the ray grazes it.
fn rounding_share(plain: &naive::Plain, origin: DVec3, direction: DVec3) -> f64 {
    let [a, b, c] = plain.corners;
    let reach = origin.length() + a.length().max(b.length()).max(c.length());
    let longest = (b - a).length().max((c - b).length()).max((a - c).length());
    // The share of the height that is seen along the ray.
    let seen = plain.normal().dot(direction.normalize()).abs() / longest;
    2.0 * f64::from(f32::EPSILON) * reach / seen
}

fn check_ray(surface: &Surface, tree: &QuadBvh, origin: Vec3, direction: Vec3) {
    let longest = direction.abs().max_element();
    if longest < 1e-6 {
        return;
    }
    let ray = LocalRay::new(origin.into(), direction.into());
    let (o, d) = (origin.as_dvec3(), direction.as_dvec3());
    let mut hits = Vec::new();
    tree.each(&ray, 0.0, 100.0, |hit| hits.push(hit));
    let edge = |plain: &naive::Plain| EDGE + rounding_share(plain, o, d);
    let close = |t: f32, plain: &naive::Plain| {
        // A ray that grazes a plane meets it at no sharp place.
        let steep = (plain.normal().normalize().dot(d.normalize())).abs();
        plain
            .meet(o, d, edge(plain))
            .is_some_and(|s| (s - f64::from(t)).abs() * d.length() * steep.max(1e-3) < 1e-3)
    };
    let plains = naive::triangles(surface);
    for hit in &hits {
        let vertices = tree.triangle(hit.quad, hit.second).vertices;
        let plain = plains.iter().find(|plain| {
            (0..3).any(|turn| [0, 1, 2].map(|k| plain.vertices[(k + turn) % 3]) == vertices)
        });
        let plain = plain.expect("hits are on triangles with area");
        let steep = (plain.normal().normalize().dot(d.normalize())).abs();
        assert!(steep < 1e-4 || close(hit.t, plain), "{origin} {direction} {hit:?} {plain:?}");
        assert!(
            hit.u >= -EDGE as f32 && hit.v >= -EDGE as f32 && hit.u + hit.v <= 1.0 + EDGE as f32
        );
    }
    for plain in &plains {
        let steep = (plain.normal().normalize().dot(d.normalize())).abs();
        let Some(t) = plain.meet(o, d, -edge(plain)).filter(|t| (1e-4..99.0).contains(t)) else {
            continue;
        };
        if steep > 1e-4 {
            let found = hits.iter().any(|hit| (f64::from(hit.t) - t).abs() * d.length() < 1e-2);
            assert!(found, "{origin} {direction} missed {plain:?} at {t}");
        }
    }
    let first = hits.iter().map(|hit| hit.t).min_by(f32::total_cmp);
    assert_eq!(tree.first_hit(&ray, 0.0, 100.0).map(|hit| hit.t), first);
    assert_eq!(tree.any(&ray, 0.0, 100.0), first.is_some());
}

fn triangle_keys(tree: &QuadBvh, min: Vec3, max: Vec3) -> Vec<[u16; 3]> {
    let mut found = Vec::new();
    tree.triangles_in(min.into(), max.into(), |t| {
        assert_eq!(t, tree.triangle(t.quad, t.second));
        found.push(turned(t.vertices));
    });
    found.sort();
    found
}

/// The least vertex first.
fn turned(v: [u16; 3]) -> [u16; 3] {
    [v, [v[1], v[2], v[0]], [v[2], v[0], v[1]]].into_iter().min().unwrap_or(v)
}

fn check_box(surface: &Surface, tree: &QuadBvh, min: Vec3, max: Vec3) {
    let plains = naive::triangles(surface);
    let inside = plains.iter().filter(|plain| plain.is_in(min.as_dvec3(), max.as_dvec3()));
    let mut wanted: Vec<_> = inside.map(|plain| turned(plain.vertices)).collect();
    wanted.sort();
    assert_eq!(triangle_keys(tree, min, max), wanted, "{min} {max}");
}

fn check_point(surface: &Surface, tree: &QuadBvh, point: Vec3) {
    let plains = naive::triangles(surface);
    let distances = plains.iter().map(|plain| plain.distance(point.as_dvec3()));
    let wanted = distances.fold(f64::INFINITY, f64::min);
    let found = tree.closest_point(point.into(), f32::INFINITY).expect("there is a surface");
    assert!((f64::from(found.distance) - wanted).abs() < 1e-4, "{point} {found:?} {wanted}");
    assert!((Vec3::from(found.point).distance(point) - found.distance).abs() < 1e-4);
    let on = naive::Plain {
        corners: found.triangle.corners.map(|c| DVec3::from(c.map(f64::from))),
        vertices: [0; 3],
    };
    assert!(on.distance(Vec3::from(found.point).as_dvec3()) < 1e-4);
    if wanted > 1e-2 {
        assert_eq!(tree.closest_point(point.into(), wanted as f32 * 0.99), None);
        assert!(tree.closest_point(point.into(), wanted as f32 * 1.01).is_some());
    }
}

/// Panics unless every quad is in one leaf, and every box holds what is below it.
fn check_tree(tree: &QuadBvh) {
    let mut leaves = vec![0; tree.mesh.leaf_count()];
    let all = check_node(tree, 0, 1, &mut leaves);
    assert!(leaves.iter().all(|&count| count == 1), "{leaves:?}");
    assert!((0..3).all(|axis| all.0[axis] <= all.1[axis]));
}

fn check_node(tree: &QuadBvh, number: usize, depth: usize, leaves: &mut [u32]) -> (Vec3, Vec3) {
    assert!(depth <= MAX_DEPTH);
    let node = &tree.nodes[number];
    let mut all = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for lane in 0..WIDTH {
        let Some((min, max)) = node.bounds(lane) else {
            assert_eq!(node.sides[0][0][lane], UNUSED);
            continue;
        };
        let below = match node.child(lane) {
            Child::Node(child) => check_node(tree, child, depth + 1, leaves),
            Child::Leaf(leaf) => {
                leaves[leaf] += 1;
                leaf_bounds(tree, leaf)
            }
        };
        let grain = Vec3::splat(1e-5);
        assert!(
            (Vec3::from(min) - grain).cmple(below.0).all()
                && (Vec3::from(max) + grain).cmpge(below.1).all()
        );
        assert!((below.0 - Vec3::from(min)).max_element() < 0.04);
        assert!((Vec3::from(max) - below.1).max_element() < 0.04);
        all = (all.0.min(below.0), all.1.max(below.1));
    }
    all
}

fn leaf_bounds(tree: &QuadBvh, leaf: usize) -> (Vec3, Vec3) {
    let mut all = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for quad in 4 * leaf..(4 * leaf + 4).min(tree.quad_count()) {
        for v in tree.mesh.vertices(quad as u16) {
            let p = Vec3::from(cells_of(tree.mesh.positions[usize::from(v)]));
            all = (all.0.min(p), all.1.max(p));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rays_meet_what_brute_force_meets(kind in 0..6usize, seed: u64) {
        let surface = surface_from(kind, seed);
        let Some(tree) = tree_of(&surface) else { return Ok(()) };
        check_tree(&tree);
        let mut numbers = Numbers::new(seed);
        for _ in 0..40 {
            let (origin, direction) = ray_through(&surface, &mut numbers);
            check_ray(&surface, &tree, origin, direction);
        }
    }

    #[test]
    fn boxes_meet_what_brute_force_meets(kind in 0..6usize, seed: u64) {
        let surface = surface_from(kind, seed);
        let Some(tree) = tree_of(&surface) else { return Ok(()) };
        let mut numbers = Numbers::new(seed);
        for _ in 0..20 {
            let middle = numbers.point(-1.0, 9.0);
            let half = numbers.point(0.0, 1.5);
            check_box(&surface, &tree, middle - half, middle + half);
            // Sides that touch vertices, and boxes that are points.
            let v = Vec3::from(surface.positions[numbers.next() as usize % surface.positions.len()]);
            check_box(&surface, &tree, v, v);
            check_box(&surface, &tree, v - half, v);
            check_box(&surface, &tree, v, v + half);
        }
    }

    #[test]
    fn points_are_closest_to_what_brute_force_says(kind in 0..6usize, seed: u64) {
        let surface = surface_from(kind, seed);
        let Some(tree) = tree_of(&surface) else { return Ok(()) };
        let mut numbers = Numbers::new(seed);
        for _ in 0..10 {
            check_point(&surface, &tree, numbers.point(-2.0, 10.0));
            check_point(&surface, &tree, surface.positions[numbers.next() as usize % surface.positions.len()].into());
        }
    }

    #[test]
    fn vector_preparation_agrees_with_the_scalar_one(kind in 0..6usize, seed: u64) {
        let surface = surface_from(kind, seed);
        let mut corners = Vec::new();
        for (&position, &normal) in surface.positions.iter().zip(&surface.normals) {
            let [slow, fast] = [scalar::vertex(position, normal), machine::vertex(position, normal)];
            prop_assert_eq!(slow, fast);
            corners.push(slow);
        }
        let mut items = Vec::new();
        for quad in 0..surface.quad_count() {
            let [[a, b, c], [_, _, d]] = surface.quad(quad).map(|t| t.map(|v| &corners[v as usize]));
            let (slow, fast) = (scalar::quad_bounds(a, b, c, d), machine::quad_bounds(a, b, c, d));
            prop_assert_eq!(slow, fast);
            items.push(vertex::QuadBounds(slow.0));
            prop_assert_eq!(scalar::measure(&items), machine::measure(&items));
        }
    }

    #[test]
    fn vector_tests_agree_with_scalar_ones(kind in 0..6usize, seed: u64) {
        let surface = surface_from(kind, seed);
        let Some(tree) = tree_of(&surface) else { return Ok(()) };
        let mut numbers = Numbers::new(seed);
        let (origin, direction) = ray_through(&surface, &mut numbers);
        let ray = LocalRay::new(origin.into(), direction.into());
        let triangle_ray = local_ray::TriangleRay::new(&ray);
        let middle = numbers.point(0.0, 8.0);
        let query = box_query::BoxQuery::new((middle - 1.0).into(), (middle + 1.0).into());
        for node in &tree.nodes {
            let (slow, fast) = (scalar::near_boxes(node, &ray, 0.0, 9.0), machine::near_boxes(node, &ray, 0.0, 9.0));
            prop_assert_eq!(slow, fast);
            if let Some(query) = &query {
                prop_assert_eq!(scalar::boxes_in(node, query), machine::boxes_in(node, query));
            }
        }
        let positions = &tree.mesh.positions;
        let some = [0, 1, 2].map(|k| (seed as usize).wrapping_mul(k + 1) % (positions.len() - 1));
        prop_assert_eq!(scalar::corners(positions, some), machine::corners(positions, some));
        macro_rules! compare {
            ($leaves:expr) => {
                for leaf in $leaves.iter() {
                    prop_assert_eq!(scalar::hit_triangles(leaf, positions, &triangle_ray), machine::hit_triangles(leaf, positions, &triangle_ray));
                    if let Some(query) = &query {
                        prop_assert_eq!(scalar::triangles_in(leaf, positions, query), machine::triangles_in(leaf, positions, query));
                    }
                }
            };
        }
        match &tree.mesh.leaves {
            Leaves::Narrow(leaves) => compare!(leaves),
            Leaves::Wide(leaves) => compare!(leaves),
        }
    }
}

#[test]
fn quads_keep_their_faces_angles_and_vertices() {
    let surface = ground(7);
    let faces = faces(&surface);
    let angles: Vec<u16> = (0..faces.len()).map(|q| (q * 257) as u16).collect();
    let tree =
        QuadBvh::build(&surface, &faces, &angles, &mut BuildScratch::default()).expect("ground");
    let mut found = Vec::new();
    for quad in 0..tree.quad_count() as u16 {
        let info = tree.quad(quad);
        let at = (0..faces.len()).find(|&q| {
            let i = &surface.indices[6 * q..];
            [i[0], i[1], i[2], i[5]] == info.vertices.map(u32::from)
        });
        let at = at.expect("quads are the mesher's");
        found.push(at);
        let [x, y, z, direction] = faces[at];
        assert_eq!((info.cell, info.direction, info.angles), ([x, y, z], direction, angles[at]));
        let first = tree.triangle(quad, false);
        assert_eq!(
            first.corners,
            [0, 1, 2].map(|k| surface.positions[usize::from(info.vertices[k])])
        );
        let second = tree.triangle(quad, true);
        assert_eq!(
            second.corners,
            [0, 2, 3].map(|k| surface.positions[usize::from(info.vertices[k])])
        );
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), tree.quad_count());
}

#[test]
fn positions_of_the_mesher_are_exact() {
    for p in [-0.75f32, 0.0, 1.0 / 4096.0, 3.999_755_9, 8.0, 8.75] {
        assert_eq!(cells_of([step_of(p); 3]), [p; 3]);
    }
    assert_eq!(step_of(f32::NAN), -MAX_POSITION);
    assert_eq!((step_of(f32::INFINITY), step_of(-1e9)), (MAX_POSITION, -MAX_POSITION));
}

#[test]
fn an_empty_surface_has_no_tree() {
    assert_eq!(tree_of(&Surface::default()), None);
    let line = surface_of(vec![[1.0; 3], [2.0; 3], [3.0; 3], [4.0; 3]], &[[0, 1, 2, 3]]);
    assert_eq!(tree_of(&line), None);
}

#[test]
fn one_quad_is_found() {
    let square = vec![[1.0, 2.0, 1.0], [1.0, 2.0, 3.0], [3.0, 2.0, 3.0], [3.0, 2.0, 1.0]];
    let tree = tree(&surface_of(square, &[[0, 1, 2, 3]]));
    assert_eq!((tree.quad_count(), tree.triangle_count()), (1, 2));
    let down = LocalRay::new([1.5, 8.0, 2.5], [0.0, -2.0, 0.0]);
    let hit = tree.first_hit(&down, 0.0, 10.0).expect("the ray goes through the quad");
    assert_eq!((hit.t, hit.quad, hit.second), (3.0, 0, false));
    let [a, b, c] = tree.triangle(0, false).corners.map(Vec3::from);
    let point = a + (b - a) * hit.u + (c - a) * hit.v;
    assert!(point.distance(Vec3::new(1.5, 2.0, 2.5)) < 1e-6);
    assert_eq!(tree.quad(0).reversed, [false; 2]);
    assert!(!tree.any(&down, 0.0, 2.9) && !tree.any(&down, 3.1, 10.0));
}

#[test]
fn triangles_without_area_are_never_found_and_reversed_ones_are() {
    let positions = vec![[1.0, 2.0, 1.0], [3.0, 2.0, 3.0], [1.0, 2.0, 3.0]];
    let tree = tree(&surface_of(positions, &[[0, 1, 2, 2]]));
    assert_eq!((tree.quad_count(), tree.triangle_count()), (1, 1));
    let info = tree.quad(0);
    assert_eq!((info.flat, info.reversed), ([false, true], [true, false]));
    let mut hits = Vec::new();
    tree.each(&LocalRay::new([1.5, 0.0, 2.5], [0.0, 1.0, 0.0]), 0.0, 9.0, |hit| {
        hits.push(hit.second)
    });
    assert_eq!(hits, [false]);
    assert_eq!(triangle_keys(&tree, Vec3::ZERO, Vec3::splat(8.0)).len(), 1);
}

#[test]
fn a_checkerboard_is_found_whole() {
    let surface = checkerboard();
    let tree = tree(&surface);
    check_tree(&tree);
    assert_eq!(tree.triangle_count(), naive::triangles(&surface).len());
    check_box(&surface, &tree, Vec3::splat(-1.0), Vec3::splat(9.0));
    let mut numbers = Numbers::new(3);
    for _ in 0..20 {
        let (origin, direction) = ray_through(&surface, &mut numbers);
        check_ray(&surface, &tree, origin, direction);
    }
}

#[test]
fn vertex_numbers_are_narrow_up_to_256_vertices() {
    // A strip of quads over a few more rows of vertices than are used.
    let strip = |vertices: usize| {
        let at = |v: usize| [(v % 2) as f32, (v % 9) as f32 / 9.0, v as f32 / 64.0];
        let positions = (0..vertices).map(at).collect();
        let quads: Vec<[u32; 4]> =
            (0..vertices as u32 - 3).map(|q| [q, q + 1, q + 3, q + 2]).collect();
        surface_of(positions, &quads)
    };
    for (vertices, narrow) in [(255, true), (256, true), (257, false)] {
        let surface = strip(vertices);
        let tree = tree(&surface);
        assert_eq!(matches!(tree.mesh.leaves, Leaves::Narrow(_)), narrow);
        check_tree(&tree);
        check_box(&surface, &tree, Vec3::ZERO, Vec3::splat(8.0));
        let mut numbers = Numbers::new(5);
        for _ in 0..20 {
            let (origin, direction) = ray_through(&surface, &mut numbers);
            check_ray(&surface, &tree, origin, direction);
        }
    }
}

#[test]
fn quads_in_one_place_are_split_all_the_same() {
    let square = vec![[1.0, 2.0, 1.0], [1.0, 2.0, 3.0], [3.0, 2.0, 3.0], [3.0, 2.0, 1.0]];
    let tree = tree(&surface_of(square, &vec![[0, 1, 2, 3]; 1001]));
    check_tree(&tree);
    let mut count = 0;
    tree.each(&LocalRay::new([1.5, 8.0, 2.5], [0.0, -1.0, 0.0]), 0.0, 10.0, |_| count += 1);
    assert_eq!(count, 1001);
}

#[test]
fn quads_at_ever_smaller_distances_stay_within_the_depth() {
    let positions = (0..4000).flat_map(|i| {
        let x = 8.0 * 0.7f32.powi(i % 40);
        [[x, 2.0, 1.0], [x, 2.0, 3.0], [x, 3.0, 3.0], [x, 3.0, 1.0]]
    });
    let quads: Vec<[u32; 4]> = (0..4000).map(|q| [0, 1, 2, 3].map(|k| 4 * q + k)).collect();
    check_tree(&tree(&surface_of(positions.collect(), &quads)));
}

#[test]
fn invalid_rays_hit_nothing() {
    let tree = tree(&flat_floor());
    let down = [0.0, -1.0, 0.0];
    for (origin, direction) in [
        ([f32::NAN, 6.0, 4.0], down),
        ([4.0, f32::INFINITY, 4.0], down),
        ([4.0, 1e30, 4.0], down),
        ([4.0; 3], [0.0; 3]),
        ([4.0; 3], [f32::NAN, -1.0, 0.0]),
        ([4.0; 3], [0.0, f32::NEG_INFINITY, 0.0]),
        ([4.0; 3], [0.0, -1e-30, 0.0]),
        ([4.0; 3], [0.0, -1e30, 0.0]),
    ] {
        let ray = LocalRay::new(origin, direction);
        assert_eq!(tree.first_hit(&ray, 0.0, f32::INFINITY), None, "{origin:?} {direction:?}");
    }
    let ray = LocalRay::new([4.1, 6.0, 4.2], down);
    assert!(tree.any(&ray, 0.0, f32::INFINITY));
    for (t_min, t_max) in [(f32::NAN, 9.0), (0.0, f32::NAN), (9.0, 0.0)] {
        assert!(!tree.any(&ray, t_min, t_max));
    }
    assert!(!tree.any(&ray.moved_to([f32::NAN; 3]), 0.0, 9.0));
}

#[test]
fn invalid_boxes_and_points_find_nothing() {
    let tree = tree(&flat_floor());
    let mut count = 0;
    let (low, high, nan) = ([0.0; 3], [8.0; 3], [0.0, f32::NAN, 0.0]);
    for (min, max) in
        [(nan, high), (low, nan), (high, low), ([9.5; 3], [10.0; 3]), ([-9.0; 3], [-8.0; 3])]
    {
        tree.triangles_in(min, max, |_| count += 1);
    }
    assert_eq!(count, 0);
    tree.triangles_in([f32::NEG_INFINITY; 3], [f32::INFINITY; 3], |_| count += 1);
    assert_eq!(count, tree.triangle_count());
    assert_eq!(tree.closest_point(nan, 1.0), None);
    assert_eq!(tree.closest_point([f32::INFINITY; 3], f32::INFINITY), None);
    assert_eq!(tree.closest_point(low, f32::NAN), None);
    assert_eq!(tree.closest_point(low, -1.0), None);
    assert!(tree.closest_point([1.0, 4.0, 1.0], 0.0).is_some());
}

#[test]
fn rays_through_edges_and_corners_of_a_floor_hit_it() {
    let tree = tree(&flat_floor());
    for x in 0..=16 {
        for z in 0..=16 {
            let origin = [x as f32 * 0.5, 7.0, z as f32 * 0.5];
            let down = LocalRay::new(origin, [0.0, -1.0, 0.0]);
            let hit = tree.first_hit(&down, 0.0, 9.0).expect("the floor is whole");
            assert_eq!(hit.t, 3.0);
            let slanted = LocalRay::new(origin, [4.0 - origin[0], -3.0, 4.0 - origin[2]]);
            assert!(tree.any(&slanted, 0.0, 1.1));
        }
    }
}

#[test]
fn rays_in_the_plane_of_a_face_meet_the_face_behind_it() {
    // A step up: the ray runs in the plane of the lower floor, or along its edges.
    let tree =
        tree(&meshed(
            |[x, y, _]| if y < if x < 4 { 4 } else { 6 } { Cell::new(5, 255) } else { Cell::AIR },
        ));
    for z in [1.0, 1.5, 2.0, 4.0] {
        let ray = LocalRay::new([-2.0, 4.0, z], [1.0, 0.0, 0.0]);
        let hit = tree.first_hit(&ray, 0.0, 20.0).expect("the step is in the way");
        assert!((4.0..=6.5).contains(&hit.t), "{hit:?}");
        assert!(hit.u.is_finite() && hit.v.is_finite());
    }
}

#[test]
fn nothing_gets_through_between_two_blocks() {
    // The same edge, seen from this block and from its neighbour.
    let mut numbers = Numbers::new(11);
    for seed in 0..20 {
        let surface = ground(seed);
        let Some(tree) = tree_of(&surface) else { continue };
        let shift = Vec3::new(8.0, 0.0, -8.0);
        for _ in 0..200 {
            let q = numbers.next() as usize % surface.quad_count();
            let [a, b, c] = surface.quad(q)[0].map(|v| Vec3::from(surface.positions[v as usize]));
            let on_edge = a.lerp(b, numbers.within(0.1, 0.9));
            let normal = (b - a).cross(c - a).normalize_or_zero();
            if normal == Vec3::ZERO {
                continue;
            }
            // From a place that the neighbour tells by other numbers.
            let origin = on_edge + (normal + 0.5 * numbers.direction()) * numbers.within(1.0, 30.0);
            let origin = (origin + shift) - shift;
            let ray = LocalRay::new((origin + shift).into(), (on_edge - origin).into());
            let moved = ray.moved_to(origin.into());
            assert!(tree.any(&moved, 0.0, 2.0), "{origin} {on_edge}");
        }
    }
}

#[test]
fn boxes_of_the_tree_hold_each_other() {
    let tree = tree(&ground(3));
    let mut count = 0;
    tree.boxes(|depth, min, max| {
        assert!(depth < MAX_DEPTH && (0..3).all(|axis| min[axis] <= max[axis]));
        count += 1;
    });
    assert_eq!(count, tree.nodes.len() - 1 + tree.mesh.leaf_count());
}

#[test]
fn scratch_memory_is_left_without_a_trace() {
    let mut scratch = BuildScratch::default();
    for seed in 0..8 {
        let surface = if seed % 2 == 0 { noise(seed, 4) } else { ground(seed) };
        let faces = faces(&surface);
        let reused = QuadBvh::build(&surface, &faces, &[], &mut scratch);
        assert_eq!(reused, tree_of(&surface));
    }
}
