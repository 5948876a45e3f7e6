//! The tree against the slow twin, on soups and on quads of a block, and its awkward cases.

use proptest::prelude::*;

use super::naive;
use super::nodes::{LEAF, MAX_DEPTH, NARROW, NodeKind, decode};
use super::*;

/// A small generator, so that a failing case is one number.
fn random(state: &mut u64) -> f32 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 40) as f32 / (1 << 24) as f32
}

fn random_point(state: &mut u64, low: f32, high: f32) -> [f32; 3] {
    std::array::from_fn(|_| low + (high - low) * random(state))
}

/// Triangles of any size and place.
fn soup(seed: u64, count: usize, size: f32) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let mut state = seed;
    let mut positions = Vec::new();
    for _ in 0..count {
        let at = random_point(&mut state, -20.0, 20.0);
        for _ in 0..3 {
            let offset = random_point(&mut state, -size, size);
            positions.push([0, 1, 2].map(|i| at[i] + offset[i]));
        }
    }
    (positions, (0..count as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect())
}

/// The faces between full and empty cells of an 8³ block of noise or of a slope, as quads
/// whose corners are moved off the lattice of the cells.
fn block_tree(seed: u64, smooth: bool) -> KdTree {
    let mut state = seed;
    let normal = random_point(&mut state, -1.0, 1.0);
    let mut full = [[[false; 9]; 9]; 9];
    for (x, y, z) in lattice(1) {
        let at = [x, y, z].map(|v| v as f32 - 4.5);
        let height: f32 = (0..3).map(|i| at[i] * normal[i]).sum();
        full[x][y][z] = if smooth { height > -0.5 } else { random(&mut state) > 0.5 };
    }
    let positions: Vec<[f32; 3]> = lattice(0)
        .map(|(x, y, z)| {
            let offset = random_point(&mut state, -0.4, 0.4);
            let corner = [x, y, z].map(|v| v as f32);
            std::array::from_fn(|i| ((corner[i] + offset[i]) * 4096.0).round() / 4096.0)
        })
        .collect();
    let vertex = |[x, y, z]: [usize; 3]| (81 * x + 9 * y + z) as u32;
    let mut indices = Vec::new();
    for (x, y, z) in lattice(1) {
        for axis in 0..3 {
            let mut before = [x, y, z];
            before[axis] -= 1;
            if full[x][y][z] == full[before[0]][before[1]][before[2]] {
                continue;
            }
            let corner = |u: usize, v: usize| {
                let mut corner = [x, y, z];
                corner[(axis + 1) % 3] -= u;
                corner[(axis + 2) % 3] -= v;
                vertex(corner)
            };
            let [a, b, c, d] = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
            indices.extend([a, b, c, a, c, d]);
        }
    }
    let payloads: Vec<u32> = (0..indices.len() as u32 / 6).collect();
    KdTree::from_quads(PositionGrid::BLOCK, &positions, &indices, &payloads).unwrap()
}

/// The points of a 9³ lattice whose coordinates are at least `from`.
fn lattice(from: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let row = move |x: usize, y: usize| (from..9).map(move |z| (x, y, z));
    (from..9).flat_map(move |x| (from..9).flat_map(move |y| row(x, y)))
}

fn all(tree: &KdTree) -> Vec<KdTriangle> {
    let mut triangles = Vec::new();
    tree.triangles(|triangle| triangles.push(triangle));
    triangles
}

/// Rays from everywhere: within, from far, along axes, through corners.
fn rays(seed: u64, tree: &KdTree, count: usize) -> Vec<([f32; 3], [f32; 3])> {
    let mut state = seed ^ 0x9e37_79b9;
    let triangles = all(tree);
    let Some([low, high]) = tree.bounds() else { return vec![([0.0; 3], [1.0, 0.0, 0.0])] };
    let size = (0..3).map(|i| high[i] - low[i]).fold(0.1, f32::max);
    let ray = |i: usize| {
        let reach = if i.is_multiple_of(2) { size } else { 3.0 * size };
        let origin = random_point(&mut state, -reach, reach);
        let origin = [0, 1, 2].map(|axis| low[axis] + origin[axis]);
        let target = triangles[(random(&mut state) * triangles.len() as f32) as usize];
        let corner = target.corners[i % 3];
        let mut direction = match i % 4 {
            0 => random_point(&mut state, -1.0, 1.0),
            1 => [0, 1, 2].map(|axis| corner[axis] - origin[axis]),
            2 => [0, 1, 2].map(|axis| {
                target.corners.iter().map(|c| c[axis]).sum::<f32>() / 3.0 - origin[axis]
            }),
            _ => [0.0; 3],
        };
        if i % 4 == 3 {
            direction[i / 4 % 3] = if i % 8 == 3 { 1.0 } else { -2.0 };
        }
        // Some start on the lattice, in the plane of corners.
        let origin = if i.is_multiple_of(5) { [corner[0], origin[1], corner[2]] } else { origin };
        (origin, direction)
    };
    (0..count).map(ray).collect()
}

/// Checks that the hits of a ray are those of the twin up to rounding: every hit is where the
/// twin says, and no hit is missing that the twin is sure of.
fn check_ray(
    tree: &KdTree,
    triangles: &[KdTriangle],
    origin: [f32; 3],
    direction: [f32; 3],
    t_max: f32,
) {
    let Some([low, high]) = tree.bounds() else { return };
    let size = (0..3).map(|i| high[i] - low[i]).fold(0.0, f32::max);
    let speed = f64::from(direction.iter().map(|v| v * v).sum::<f32>().sqrt());
    // Across the ray, in units of the positions.
    let slack = f64::from(size * 2e-6);
    let mut met = Vec::new();
    tree.each(origin, direction, t_max, |hit| {
        met.push(hit);
        let meeting = naive::meet(origin, direction, &hit.triangle);
        let meeting = meeting.expect("rays in a plane do not meet it");
        assert!(meeting.inside >= -slack / meeting.slant.max(1e-3), "inside {}", meeting.inside);
        let off = (meeting.t - f64::from(hit.t)).abs() * speed;
        let far = f64::from(hit.t) * speed * 1e-6;
        assert!(off <= (slack + far) / meeting.slant.max(1e-4), "{off} at {}", meeting.slant);
    });
    for triangle in triangles {
        let Some(meeting) = naive::meet(origin, direction, triangle) else { continue };
        let sure = slack / meeting.slant;
        let margin = sure / speed;
        if meeting.inside > sure && meeting.t > margin && meeting.t < f64::from(t_max) - margin {
            assert!(met.iter().any(|hit| hit.triangle == *triangle), "{triangle:?} is missed");
        }
    }
    let nearest = met.iter().map(|hit| hit.t).fold(f32::INFINITY, f32::min);
    let closest = tree.closest(origin, direction, t_max);
    assert_eq!(closest.map_or(f32::INFINITY, |hit| hit.t), nearest);
    assert_eq!(tree.any(origin, direction, t_max), closest.is_some());
}

fn check_box(tree: &KdTree, triangles: &[KdTriangle], min: [f32; 3], max: [f32; 3]) {
    let mut found = Vec::new();
    tree.triangles_in(min, max, |triangle| found.push((triangle.payload, triangle.half)));
    let mut expected: Vec<_> = triangles
        .iter()
        .filter(|triangle| naive::in_box(min, max, triangle))
        .map(|triangle| (triangle.payload, triangle.half))
        .collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{min:?} {max:?}");
}

fn check_tree(tree: &KdTree, seed: u64, queries: usize) {
    let triangles = all(tree);
    for (i, (origin, direction)) in rays(seed, tree, queries).into_iter().enumerate() {
        check_ray(tree, &triangles, origin, direction, [f32::INFINITY, 0.7, 20.0][i % 3]);
    }
    let mut state = seed;
    for i in 0..queries {
        let centre = random_point(&mut state, -10.0, 10.0);
        let half = random_point(&mut state, 0.0, [0.001, 0.5, 4.0][i % 3]);
        let corner = |sign: f32| [0, 1, 2].map(|axis| centre[axis] + sign * half[axis]);
        check_box(tree, &triangles, corner(-1.0), corner(1.0));
    }
    check_box(tree, &triangles, [f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    check_nodes(tree);
}

/// Every primitive in one leaf, planes where parts end and begin, depth as told.
fn check_nodes(tree: &KdTree) {
    if tree.is_empty() {
        return assert_eq!(tree.node_count(), 0);
    }
    let view = tree.view();
    let (mut open, mut next, mut depth) = (vec![(0, 0, tree.bounds)], 0, 0);
    while let Some((at, level, bounds)) = open.pop() {
        depth = depth.max(level);
        match decode(view.nodes, at) {
            NodeKind::Leaf { first, count } => {
                assert_eq!(first, next);
                next += count;
                assert!((1..=LEAF).contains(&count));
                for corner in (first..next).flat_map(|quad| view.corners(quad)) {
                    let point = view.vertices[corner as usize];
                    assert!((0..3).all(|i| (bounds[0][i]..=bounds[1][i]).contains(&point[i])));
                }
            }
            NodeKind::Branch { ends, begins, axis, left, right } => {
                let (mut low, mut high) = (bounds, bounds);
                (low[1][axis], high[0][axis]) = (ends, begins);
                open.extend([(right, level + 1, high), (left, level + 1, low)]);
            }
        }
    }
    assert_eq!((next, depth), (tree.primitive_count(), tree.depth()));
    let most = (tree.primitive_count() as f64 / LEAF as f64).log(4.0 / 3.0).max(0.0).ceil();
    assert!(tree.depth() as f64 <= most + 1.0 && tree.depth() <= MAX_DEPTH);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn soups_agree_with_the_twin(seed: u64, count in 1usize..120, size in 0.01f32..15.0) {
        let (positions, indices) = soup(seed, count, size);
        check_tree(&KdTree::from_triangles(&positions, &indices).unwrap(), seed, 60);
    }

    #[test]
    fn blocks_agree_with_the_twin(seed: u64, smooth: bool) {
        check_tree(&block_tree(seed, smooth), seed, 60);
    }

    #[test]
    fn rays_do_not_pass_between_triangles(seed: u64) {
        // A fan around a corner, hit at its rim's inside, at spokes and at the corner.
        let mut state = seed;
        let mut positions = vec![random_point(&mut state, -0.1, 0.1)];
        for i in 0..8 {
            let (sin, cos) = (i as f32 / 8.0 * std::f32::consts::TAU).sin_cos();
            positions.push([3.0 * cos, random(&mut state) - 0.5, 3.0 * sin]);
        }
        let fan: Vec<_> = (0..8).map(|i| [0, 1 + i, 1 + (i + 1) % 8]).collect();
        let tree = KdTree::from_triangles(&positions, &fan).unwrap();
        let centre = tree.view().vertices[0];
        let centre = tree.grid().position(centre);
        for _ in 0..64 {
            let origin = random_point(&mut state, -1.0, 1.0);
            let origin = [origin[0], 40.0, origin[2]];
            let spoke = tree.grid().position(tree.view().vertices[1 + (random(&mut state) * 8.0) as usize]);
            let share = if random(&mut state) < 0.2 { 0.0 } else { random(&mut state) * 0.9 };
            let target = [0, 1, 2].map(|i| centre[i] + (spoke[i] - centre[i]) * share);
            let direction = [0, 1, 2].map(|i| target[i] - origin[i]);
            prop_assert!(tree.any(origin, direction, 2.0));
        }
    }
}

#[test]
fn a_tree_of_many_triangles_has_wide_nodes_and_the_same_results() {
    let (positions, indices) = soup(5, 60_000, 0.3);
    let tree = KdTree::from_triangles(&positions, &indices).unwrap();
    check_nodes(&tree);
    assert!(tree.view().nodes.len() > NARROW);
    let triangles = all(&tree);
    for (origin, direction) in rays(5, &tree, 12) {
        check_ray(&tree, &triangles, origin, direction, f32::INFINITY);
    }
    check_box(&tree, &triangles, [-3.0; 3], [2.0, 5.0, -1.0]);
}

#[test]
fn triangles_without_area_make_an_empty_tree() {
    let line = [[0.0; 3], [1.0; 3], [2.0; 3]];
    for indices in [&[][..], &[[0, 1, 2]], &[[1, 1, 2], [0, 0, 0]]] {
        let tree = KdTree::from_triangles(&line, indices).unwrap();
        assert!(tree.is_empty() && tree.bounds().is_none());
        assert!(tree.closest([0.0; 3], [1.0; 3], 9.0).is_none());
        tree.triangles_in([-9.0; 3], [9.0; 3], |_| panic!("nothing is there"));
        tree.boxes(|_, _, _| panic!("nothing is there"));
        check_nodes(&tree);
    }
    assert!(KdTree::from_triangles(&[], &[]).unwrap().is_empty());
}

#[test]
fn invalid_input_is_rejected() {
    let positions = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, f32::NAN, 0.0]];
    assert_eq!(KdTree::from_triangles(&positions, &[]), Err(KdError::Position { vertex: 2 }));
    let outside = [[0.0; 3], [15.5, 0.0, 0.0]];
    let error = KdTree::from_quads(PositionGrid::BLOCK, &outside, &[], &[]);
    assert_eq!(error, Err(KdError::Position { vertex: 1 }));
    let indices = [[0, 1, 0], [0, 1, 2]];
    assert_eq!(
        KdTree::from_triangles(&positions[..2], &indices),
        Err(KdError::Index { primitive: 1 })
    );
    assert!(KdError::TooMany.to_string().contains("more"));
}

/// A unit square at y = 0 as a quad, and one half only.
fn square(indices: [u32; 6]) -> KdTree {
    let positions = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]];
    KdTree::from_quads(PositionGrid::BLOCK, &positions, &indices, &[77]).unwrap()
}

#[test]
fn halves_keep_their_place_if_the_other_has_no_area() {
    let down = |tree: &KdTree, x: f32, z: f32| {
        tree.closest([x, 3.0, z], [0.0, -1.0, 0.0], 9.0).map(|hit| hit.triangle.half)
    };
    let whole = square([0, 1, 2, 0, 2, 3]);
    assert_eq!((down(&whole, 0.25, 0.75), down(&whole, 0.75, 0.25)), (Some(0), Some(1)));
    let first = square([0, 1, 2, 0, 2, 2]);
    assert_eq!((down(&first, 0.25, 0.75), down(&first, 0.75, 0.25)), (Some(0), None));
    let second = square([0, 2, 2, 0, 2, 3]);
    assert_eq!((down(&second, 0.25, 0.75), down(&second, 0.75, 0.25)), (None, Some(1)));
    for (tree, count) in [(whole, 2), (first, 1), (second, 1)] {
        let mut found = 0;
        tree.triangles_in([-1.0; 3], [2.0; 3], |_| found += 1);
        assert_eq!((found, all(&tree).len()), (count, count));
    }
}

#[test]
fn a_hit_says_where_on_which_side_and_on_what() {
    let tree = square([0, 1, 2, 0, 2, 3]);
    let hit = tree.closest([0.25, 3.0, 0.75], [0.0, -2.0, 0.0], 1.5).unwrap();
    assert_eq!((hit.t, hit.triangle.payload, hit.front), (1.5, 77, true));
    assert_eq!(hit.normal(), [0.0, 1.0, 0.0]);
    assert!(tree.closest([0.25, 3.0, 0.75], [0.0, -2.0, 0.0], 1.4).is_none());
    let below = tree.closest([0.25, -3.0, 0.75], [0.0, 1.0, 0.0], 9.0).unwrap();
    assert_eq!((below.t, below.front, below.normal()), (3.0, false, [0.0, 1.0, 0.0]));
    assert_eq!(tree.closest([0.25, 0.0, 0.75], [0.0, 1.0, 0.0], 9.0).unwrap().t, 0.0);
    assert!(tree.closest([-1.0, 0.0, 0.5], [1.0, 0.0, 0.0], 9.0).is_none(), "in the plane");
}

#[test]
fn rays_from_very_far_hit_as_well() {
    let tree = square([0, 1, 2, 0, 2, 3]);
    for far in [1e4, 1e8, 1e10] {
        let hit = tree.closest([0.25, far, 0.75], [0.0, -1.0, 0.0], f32::INFINITY).unwrap();
        assert_eq!(hit.t, far);
    }
    // Beyond the range of f64 any result will do.
    tree.any([0.25, 3e38, 0.75], [0.0, -1.0, 0.0], f32::INFINITY);
    let hit = tree.closest([0.25, 1e-3, 0.75], [0.0, -1e-40, 0.0], f32::INFINITY).unwrap();
    assert!((hit.t / 1e37 - 1.0).abs() < 1e-4);
    assert!(tree.any([0.25, 2.0, 0.75], [0.0, -3e38, 0.0], 1.0));
}

#[test]
fn invalid_queries_find_nothing() {
    let tree = square([0, 1, 2, 0, 2, 3]);
    let (above, down) = ([0.25, 3.0, 0.75], [0.0, -1.0, 0.0]);
    assert!(tree.any(above, down, 9.0));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(!tree.any([0.25, bad, 0.75], down, 9.0));
        assert!(!tree.any(above, [0.0, bad, 0.0], 9.0));
    }
    assert!(!tree.any(above, [0.0; 3], 9.0));
    assert!(!tree.any(above, down, f32::NAN) && !tree.any(above, down, -1.0));
    for (min, max) in [([f32::NAN; 3], [9.0; 3]), ([0.0; 3], [f32::NAN; 3]), ([9.0; 3], [-9.0; 3])]
    {
        tree.triangles_in(min, max, |_| panic!("nothing is there"));
    }
}

#[test]
fn many_triangles_in_one_place_do_not_make_a_deep_tree() {
    let positions = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1e-3, 0.0, 1e-3]];
    let indices: Vec<_> = (0..4000).map(|i| [0, 1, if i < 4 { 3 } else { 2 }]).collect();
    let tree = KdTree::from_triangles(&positions, &indices).unwrap();
    assert!(tree.depth() <= 11, "{}", tree.depth());
    check_nodes(&tree);
    let mut met = 0;
    tree.each([0.2, 0.2, 5.0], [0.0, 0.0, -1.0], 9.0, |_| met += 1);
    assert_eq!(met, 3996);
}

#[test]
fn vertex_numbers_of_every_width_are_kept() {
    for vertices in [256u32, 257, 65_536, 65_537] {
        let position = |i: u32| [(i % 256) as f32, (i / 256) as f32, 0.0];
        let positions: Vec<_> = (0..vertices).map(position).collect();
        let indices = [[0, 1, vertices - 1], [0, 1, 255]];
        let tree = KdTree::from_triangles(&positions, &indices).unwrap();
        let last = all(&tree).iter().any(|t| t.corners[2] == position(vertices - 1));
        assert_eq!(last, vertices > 256, "{vertices}");
    }
}

#[test]
fn boxes_of_the_tree_hold_each_other() {
    let tree = block_tree(3, false);
    let mut count = 0;
    let [low, high] = tree.bounds().unwrap();
    tree.boxes(|level, min, max| {
        assert!(level > 0 || [min, max] == [low, high]);
        assert!((0..3).all(|i| low[i] <= min[i] && min[i] <= max[i] && max[i] <= high[i]));
        count += 1;
    });
    assert_eq!(count, tree.node_count());
}

#[test]
fn a_builder_that_was_used_gives_the_same_tree() {
    let (positions, indices) = soup(1, 90, 2.0);
    let mut builder = KdBuilder::new();
    let first = builder.triangles(&positions, &indices).unwrap();
    let _ = builder.triangles(&positions, &indices[..7]).unwrap();
    assert!(builder.triangles(&positions, &[[0, 1, 9999]]).is_err());
    assert_eq!(builder.triangles(&positions, &indices).unwrap(), first);
    assert_eq!(first, KdTree::from_triangles(&positions, &indices).unwrap());
}
