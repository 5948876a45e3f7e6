//! Octrees against their slow twin and the mesher; contours are closed and manifold; degenerate
//! input.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rustc_hash::FxHashMap;

use super::contour::Contourer;
use super::naive;
use super::node::OctreeNode;
use super::tree::{NONE, NodeCube};
use super::*;
use crate::mesh::{Mesher, Surface};
use crate::voxel::{
    Cell, DenseBox, GridOptions, MaterialTable, Region, VoxelGrid, VoxelPos, WATER,
};

/// Hashes a position, for random cells.
fn hash(seed: u64, at: VoxelPos) -> u64 {
    let mut h = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for c in at.to_array() {
        h = (h ^ c as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h ^= h >> 29;
    }
    h
}

/// Returns the padded cells of a cube of `edge` at `min`. `cell` returns the signed distance in
/// cells (positive inside) and the material.
fn cells_of(min: VoxelPos, edge: i32, cell: impl Fn(VoxelPos) -> (f32, u8)) -> DenseBox {
    let cube = Region { min, max: min + VoxelPos::splat(edge) };
    let mut cells = DenseBox::new(Octree::cells_needed(cube));
    for at in cells.region().voxels() {
        let (distance, material) = cell(at);
        let units = ((0.5 + distance) * 256.0).clamp(0.0, 256.0) as u32;
        if units > 0 {
            cells.set(at, Cell::new(material, (units - 1) as u8));
        }
    }
    cells
}

fn ball(centre: [f32; 3], radius: f32) -> impl Fn(VoxelPos) -> (f32, u8) {
    move |at: VoxelPos| {
        let [x, y, z] = at.to_array();
        let d = [(x, centre[0]), (y, centre[1]), (z, centre[2])]
            .map(|(v, c)| (v as f32 + 0.5 - c) * (v as f32 + 0.5 - c));
        (radius - (d[0] + d[1] + d[2]).sqrt(), if at.y < 12 { 3 } else { 8 })
    }
}

/// Random cells, solid with probability `share` %, with none at the boundary of the cube of `edge`
/// at 0.
fn noise(seed: u64, share: u64, edge: i32) -> impl Fn(VoxelPos) -> (f32, u8) {
    move |at: VoxelPos| {
        let inner = at.to_array().iter().all(|&v| (1..edge - 2).contains(&v));
        let h = hash(seed, at);
        let solid = inner && h % 100 < share;
        (if solid { (h >> 20 & 255) as f32 / 256.0 - 0.45 } else { -1.0 }, 2 + (h >> 40) as u8 % 3)
    }
}

/// Waves, thick and thin, inside the cube of `edge` at 0.
fn waves(seed: u64, edge: i32) -> impl Fn(VoxelPos) -> (f32, u8) {
    move |at: VoxelPos| {
        let [x, y, z] = at.to_array().map(|v| v as f32 + 0.5);
        let phase = (seed % 17) as f32;
        let wave = |v: f32| (v - v.floor() - 0.5).abs() * 4.0 - 1.0;
        let d = wave(x / 9.0 + phase * 0.1) + wave(y / 7.0 + x * 0.05) + wave(z / 11.0 + phase);
        let room = at.to_array().map(|v| (v - 1).min(edge - 3 - v));
        ((d * 1.5).min(*room.iter().min().unwrap_or(&0) as f32 + 0.25), 5)
    }
}

fn octree_of(cells: &DenseBox) -> Octree {
    OctreeBuilder::new().cells(cells, &MaterialTable::default())
}

/// Panics unless every edge is used once in each direction and every vertex has one fan.
fn assert_closed(surface: &Surface) {
    let mut edges: FxHashMap<[u32; 2], u32> = FxHashMap::default();
    let mut next: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); surface.vertex_count()];
    for t in surface.triangles() {
        assert!(t[0] != t[1] && t[1] != t[2] && t[2] != t[0], "{t:?} repeats a vertex");
        for k in 0..3 {
            *edges.entry([t[k], t[(k + 1) % 3]]).or_insert(0) += 1;
            next[t[k] as usize].insert(t[(k + 1) % 3], t[(k + 2) % 3]);
        }
    }
    for (&[a, b], &count) in &edges {
        assert_eq!(count, 1, "edge {a} {b} is used {count} times");
        assert!(edges.contains_key(&[b, a]), "edge {a} {b} is open");
    }
    for (v, ring) in next.iter().enumerate() {
        let Some((&start, _)) = ring.iter().next() else { panic!("vertex {v} is in no triangle") };
        let (mut at, mut steps) = (start, 0);
        while steps <= ring.len() {
            (at, steps) = (ring[&at], steps + 1);
            if at == start {
                break;
            }
        }
        assert_eq!(steps, ring.len(), "vertex {v} has several fans");
    }
    assert_eq!(surface.triangle_materials().count(), surface.triangle_count());
    assert!(surface.positions.iter().flatten().all(|p| p.is_finite()));
    for n in &surface.normals {
        let square: f32 = n.iter().map(|x| x * x).sum();
        assert!((square - 1.0).abs() < 1e-3, "{n:?}");
    }
}

/// Returns the sorted triangles: bits of the corners' positions and, if `materials`, their
/// material.
fn corners_of(surface: &Surface, materials: bool) -> Vec<([[u32; 3]; 3], u8)> {
    let corner = |v: u32| surface.positions[v as usize].map(f32::to_bits);
    let triangles = surface.triangles().zip(surface.triangle_materials());
    let mut all: Vec<_> = triangles
        .map(|(t, material)| {
            let mut t = t.map(corner);
            let first = (0..3).min_by_key(|&k| t[k]).unwrap_or(0);
            t.rotate_left(first);
            (t, if materials { material } else { 0 })
        })
        .collect();
    all.sort_unstable();
    all
}

fn contour(octree: &Octree, detail: Detail) -> Surface {
    let mut out = Surface::default();
    octree.contour(&detail, &mut out);
    out
}

fn volume(surface: &Surface) -> f64 {
    let corner = |v: u32| surface.positions[v as usize].map(f64::from);
    let of = |[a, b, c]: [u32; 3]| {
        let [a, b, c] = [corner(a), corner(b), corner(c)];
        let cross = |i: usize| b[(i + 1) % 3] * c[(i + 2) % 3] - b[(i + 2) % 3] * c[(i + 1) % 3];
        (a[0] * cross(0) + a[1] * cross(1) + a[2] * cross(2)) / 6.0
    };
    surface.triangles().map(of).sum()
}

/// Returns all nodes by level and position.
fn nodes_of(octree: &Octree) -> BTreeMap<(u8, [u32; 3]), OctreeNode> {
    let mut all = BTreeMap::new();
    let mut open = vec![octree.root()];
    while let Some(cube) = open.pop() {
        if cube == NONE {
            continue;
        }
        let node = octree.nodes[cube.node as usize];
        assert!(all.insert((cube.level, cube.min.map(|m| m as u32)), node).is_none());
        if !octree.is_leaf(cube.node) {
            open.extend((0..8).map(|octant| octree.child(cube, octant)));
        }
    }
    assert_eq!(all.len(), octree.node_count());
    all
}

/// Compares an octree with its slow twin.
fn assert_like_twin(octree: &Octree, leaves: &[Leaf]) {
    let mut twin = BTreeMap::new();
    if let Some(tree) = naive::build(leaves, [0; 3], octree.levels) {
        tree.nodes(&mut twin);
    }
    let nodes = nodes_of(octree);
    assert!(nodes.keys().eq(twin.keys()));
    for ((at, node), (inside, qef)) in nodes.iter().zip(twin.values()) {
        assert_eq!(node.inside, *inside, "{at:?}");
        let edge = (1u32 << at.0) as f32;
        let leaf = leaves.iter().any(|leaf| (leaf.level, leaf.min) == *at);
        if !leaf {
            let solved = qef.least(0.5 * edge);
            let offset = node.offset(edge);
            for axis in 0..3 {
                assert!((solved[axis] - offset[axis]).abs() < 0.01 * edge, "{at:?}");
            }
        }
    }
}

/// Shows random nodes of an octree whole.
fn random_cut(octree: &Octree, seed: u64) -> impl Fn(NodeCube) -> bool {
    move |cube: NodeCube| {
        let [x, y, z] = cube.min;
        let at = VoxelPos::new(x, y, z);
        let leaf = octree.is_leaf(cube.node);
        leaf || cube.level <= 4 && hash(seed ^ u64::from(cube.level) << 32, at).is_multiple_of(3)
    }
}

#[test]
fn contours_of_leaves_equal_the_mesh() {
    let edge = 32;
    for cell in [ball([15.7, 16.2, 15.9], 11.3), ball([13.0, 18.0, 16.0], 9.0)] {
        let cells = cells_of(VoxelPos::ZERO, edge, cell);
        let octree = octree_of(&cells);
        let ours = contour(&octree, Detail::size(1));
        let mut padded = DenseBox::new(Region::new([0; 3], [edge; 3]).grow(crate::mesh::PAD));
        padded.copy_from(&cells);
        let mut mesh = crate::mesh::BlockMesh::new();
        Mesher::new().mesh(&padded, &MaterialTable::default(), &mut mesh);
        let bits = |surface: &Surface| -> BTreeSet<_> {
            let corner = |v: u32| {
                let v = v as usize;
                (surface.positions[v].map(f32::to_bits), surface.materials[v], surface.weights[v])
            };
            let triangle = |t: [u32; 3]| {
                let mut t = t.map(corner).to_vec();
                let first = (0..3).min_by_key(|&k| t[k]).unwrap_or(0);
                t.rotate_left(first);
                t
            };
            surface.triangles().map(triangle).collect()
        };
        assert_eq!(bits(&ours), bits(&mesh.solid));
        assert_eq!(ours.triangle_count(), mesh.solid.triangle_count());
        let mut materials: Vec<u8> = ours.triangle_materials().collect();
        let mut theirs: Vec<u8> = mesh.solid.triangle_materials().collect();
        materials.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(materials, theirs);
    }
}

#[test]
fn contours_of_random_cells_have_the_topology_of_the_mesh() {
    for share in [10, 50, 90] {
        let cells = cells_of(VoxelPos::ZERO, 16, noise(share, share, 16));
        let ours = contour(&octree_of(&cells), Detail::size(1));
        assert_closed(&ours);
        let mut padded = DenseBox::new(Region::new([0; 3], [16; 3]).grow(crate::mesh::PAD));
        padded.copy_from(&cells);
        let mut mesh = crate::mesh::BlockMesh::new();
        Mesher::new().mesh(&padded, &MaterialTable::default(), &mut mesh);
        // A face with split sides has more triangles and vertices there.
        let plain = mesh.solid.plain_quads * 2;
        let count = ours.triangle_count();
        assert!(count >= plain, "{share}: {count}");
        // The Euler characteristic V − E + F must match.
        let euler = |s: &Surface| s.vertex_count() as i64 - s.triangle_count() as i64 / 2;
        assert_eq!(euler(&ours), euler(&mesh.solid), "{share}");
    }
}

#[test]
fn a_ball_keeps_its_volume_at_every_size_and_loses_triangles() {
    let cells = cells_of(VoxelPos::ZERO, 64, ball([32.0, 31.0, 33.0], 25.0));
    let octree = octree_of(&cells);
    let truth = 4.0 / 3.0 * std::f64::consts::PI * 25f64.powi(3);
    let fine = contour(&octree, Detail::size(1));
    for (size, error, kept) in [(1, 0.001, 1.0), (2, 0.008, 0.27), (4, 0.02, 0.08), (8, 0.08, 0.03)]
    {
        let coarse = contour(&octree, Detail::size(size));
        assert_closed(&coarse);
        let off = (volume(&coarse) / truth - 1.0).abs();
        let share = coarse.triangle_count() as f64 / fine.triangle_count() as f64;
        assert!(off < error && share <= kept, "{size}: {off} {share}");
    }
    let baked = contour(&octree, Detail::error(0.05));
    assert_closed(&baked);
    assert!(baked.triangle_count() < fine.triangle_count() / 3, "{}", baked.triangle_count());
    assert!((volume(&baked) / truth - 1.0).abs() < 0.005);
    // With an error of 0 only flat parts are simplified.
    let exact = contour(&octree, Detail::error(0.0));
    assert_closed(&exact);
    assert!(exact.triangle_count() > fine.triangle_count() * 99 / 100);
}

#[test]
fn flat_ground_is_a_few_triangles_at_error_0() {
    let slab = |at: VoxelPos| {
        let room = [at.x - 3, 60 - at.x, at.z - 3, 60 - at.z].into_iter().min().unwrap_or(0);
        ((30.3 - at.y as f32).min(room as f32).min(at.y as f32 - 5.0), 4)
    };
    let octree = octree_of(&cells_of(VoxelPos::ZERO, 64, slab));
    let baked = contour(&octree, Detail::error(0.1));
    assert_closed(&baked);
    let fine = contour(&octree, Detail::size(1));
    assert!(baked.triangle_count() * 6 < fine.triangle_count(), "{}", baked.triangle_count());
    assert!((volume(&baked) / volume(&fine) - 1.0).abs() < 1e-2);
}

#[test]
fn joined_octrees_are_seamless() {
    let shape = ball([0.5, -1.0, 2.0], 13.0);
    let mut parts = Vec::new();
    for p in Region::new([-1; 3], [1; 3]).voxels() {
        let min = VoxelPos::new(p.x * 16, p.y * 16, p.z * 16);
        parts.push(octree_of(&cells_of(min, 16, &shape)));
    }
    let whole = Octree::joined(&parts.iter().collect::<Vec<_>>());
    let one = octree_of(&cells_of(VoxelPos::splat(-16), 32, &shape));
    for detail in [Detail::size(1), Detail::size(4), Detail::size(8), Detail::error(0.1)] {
        let (a, b) = (contour(&whole, detail), contour(&one, detail));
        assert_closed(&a);
        assert_eq!(a, b, "{detail:?}");
    }
    assert_eq!(whole.leaf_count(), one.leaf_count());
    assert!(Octree::joined(&[]).is_empty());
    assert_eq!(contour(&Octree::joined(&[&parts[0]]), Detail::size(2)).positions.len(), {
        contour(&parts[0], Detail::size(2)).positions.len()
    });
}

#[test]
fn degenerate_input_gives_no_surface_or_a_closed_one() {
    let air = octree_of(&cells_of(VoxelPos::ZERO, 8, |_| (-1.0, 2)));
    let full = octree_of(&cells_of(VoxelPos::ZERO, 8, |_| (1.0, 2)));
    let water = octree_of(&cells_of(VoxelPos::ZERO, 8, |at| (4.0 - at.y as f32, WATER)));
    for octree in [&air, &full, &water, &Octree::default()] {
        assert!(octree.is_empty() && octree.leaf_count() == 0);
        assert!(contour(octree, Detail::size(4)).is_empty());
    }
    let mut one = cells_of(VoxelPos::ZERO, 8, |_| (-1.0, 2));
    one.set(VoxelPos::new(3, 4, 5), Cell::full(7));
    let octree = octree_of(&one);
    assert_eq!(octree.leaf_count(), 8);
    let surface = contour(&octree, Detail::size(1));
    assert_closed(&surface);
    assert_eq!((surface.triangle_count(), surface.loose_materials[0]), (12, 7));
    // A single cell, at the boundary: nothing inside can be closed.
    assert!(
        contour(&octree_of(&cells_of(VoxelPos::ZERO, 1, |_| (0.2, 2))), Detail::size(1)).is_empty()
    );
}

#[test]
fn nan_densities_are_not_solid() {
    let mut builder = OctreeBuilder::new();
    assert!(builder.densities([0; 3], 4, |_| (f32::NAN, 2)).is_empty());
    assert!(builder.densities([0; 3], 4, |_| (f32::INFINITY, 2)).is_empty());
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e-40, 3e38, -3e38];
    for seed in 0..8 {
        let octree = builder.densities([0; 3], 4, |at| {
            let inner = at.to_array().iter().all(|v| (2..14).contains(v));
            let value = odd[(hash(seed, at) % odd.len() as u64) as usize];
            (if inner { value } else { -1.0 }, 2)
        });
        for detail in [Detail::size(1), Detail::size(4), Detail::error(0.5)] {
            assert_closed(&contour(&octree, detail));
        }
    }
}

#[test]
fn densities_are_contoured_at_0() {
    let radius = |p: VoxelPos| {
        let d = p.to_array().map(|v| f64::from(v) - 32.3);
        (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()
    };
    let octree = OctreeBuilder::new().densities([0; 3], 6, |p| (23.0 - radius(p) as f32, 9));
    for (size, most) in [(1, 0.03), (2, 0.08), (4, 0.3)] {
        let surface = contour(&octree, Detail::size(size));
        assert_closed(&surface);
        for p in &surface.positions {
            let d = p.map(|v| f64::from(v) - 32.3);
            let off = ((d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt() - 23.0).abs();
            assert!(off < most, "{size}: {off}");
        }
        assert!(surface.loose_materials.iter().all(|&material| material == 9));
    }
}

#[test]
fn views_follow_edits_and_equal_a_rebuild() {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let shape = ball([60.0, 64.0, 30.0], 20.0);
    let mut cells = DenseBox::new(Region::new([32, 32, 0], [96, 96, 64]));
    for at in cells.region().voxels() {
        if shape(at).0 > -0.5 {
            cells.set(at, Cell::new(4, 200));
        }
    }
    assert!(grid.write(&cells).is_ok());
    let mut octrees = Octrees::new();
    assert_eq!(octrees.update(&grid).len(), 12);
    assert_eq!(octrees.iter().count(), 4);
    assert!(octrees.update(&grid).is_empty());
    for at in [[63, 60, 20], [44, 64, 30], [66, 70, 34]] {
        let region = Region::one(VoxelPos::from(at));
        assert!(grid.write(&DenseBox::new(region)).is_ok());
        let built = octrees.update(&grid);
        assert!(!built.is_empty() && built.len() <= 8, "{built:?}");
        let mut anew = Octrees::new();
        anew.update(&grid);
        assert!(octrees.iter().eq(anew.iter()));
    }
    let parts: Vec<_> = octrees.iter().map(|(_, octree)| &**octree).collect();
    let whole = Octree::joined(&parts);
    assert_closed(&contour(&whole, Detail::size(2)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn octrees_equal_their_twin(seed in 0u64..1 << 40, share in 1u64..99) {
        let cells = cells_of(VoxelPos::ZERO, 16, noise(seed, share, 16));
        let octree = octree_of(&cells);
        let leaves = octree.leaves_at(&Detail::size(1));
        prop_assert_eq!(leaves.len(), octree.leaf_count());
        assert_like_twin(&octree, &leaves);
        // Again from the leaves, in another order.
        let mut shuffled = leaves.clone();
        shuffled.sort_by_key(|leaf| hash(seed, VoxelPos::new(leaf.min[0] as i32, leaf.min[1] as i32, leaf.min[2] as i32)));
        let again = OctreeBuilder::new().leaves([0; 3], 4, &shuffled);
        let again_shift = Octree { shift: octree.shift, ..again };
        prop_assert_eq!(nodes_of(&again_shift).into_iter().map(|n| (n.0, n.1.inside)).collect::<Vec<_>>(),
            nodes_of(&octree).into_iter().map(|n| (n.0, n.1.inside)).collect::<Vec<_>>());
    }

    #[test]
    fn leaves_of_mixed_sizes_equal_their_twin(seed in 0u64..1 << 40, share in 1u64..99) {
        let octree = octree_of(&cells_of(VoxelPos::ZERO, 16, waves(seed, 16)));
        let cut = random_cut(&octree, seed ^ share);
        let all = [1, 2, 4].map(|size| octree.leaves_at(&Detail::size(size)));
        let mut leaves = Vec::new();
        let mut open = vec![octree.root()];
        while let Some(cube) = open.pop() {
            if cube == NONE {
                continue;
            }
            let at = (cube.level, cube.min.map(|m| m as u32));
            let found = all.iter().flatten().find(|leaf| (leaf.level, leaf.min) == at);
            match found.filter(|_| cut(cube)) {
                Some(leaf) => leaves.push(*leaf),
                None => open.extend((0..8).map(|octant| octree.child(cube, octant))),
            }
        }
        let mixed = OctreeBuilder::new().leaves([0; 3], 4, &leaves);
        prop_assert_eq!(mixed.leaf_count(), leaves.len());
        assert_like_twin(&mixed, &leaves);
        assert_closed(&contour(&mixed, Detail::size(1)));
        assert_closed(&contour(&mixed, Detail::size(4)));
    }

    #[test]
    fn contours_of_any_nodes_are_closed_and_manifold(
        seed in 0u64..1 << 40,
        share in prop_oneof![Just(8u64), Just(50), Just(92), 1u64..99],
        wavy in any::<bool>(),
    ) {
        let cells = match wavy {
            true => cells_of(VoxelPos::ZERO, 32, waves(seed, 32)),
            false => cells_of(VoxelPos::ZERO, 16, noise(seed, share, 16)),
        };
        let octree = octree_of(&cells);
        let mut contourer = Contourer::new();
        let mut out = Surface::default();
        for round in 0..4 {
            contourer.contour_where(&octree, &mut out, random_cut(&octree, seed + round));
            assert_closed(&out);
        }
        contourer.contour(&octree, &Detail::error(0.2), &mut out);
        assert_closed(&out);
        for size in [1u32, 2, 4, 8] {
            let shown = contourer.contour(&octree, &Detail::size(size), &mut out);
            assert_closed(&out);
            let mut walked = Surface::default();
            let again = contourer.contour_where(&octree, &mut walked, |cube| {
                octree.is_shown(cube, size, None)
            });
            prop_assert_eq!(shown, again);
            prop_assert_eq!(out.vertex_count(), walked.vertex_count());
            // Nodes that share a corner may have different materials for it.
            prop_assert!(corners_of(&out, size == 1) == corners_of(&walked, size == 1));
        }
    }

    #[test]
    fn recursion_finds_the_polygons_of_the_twin(seed in 0u64..1 << 40, share in 1u64..99) {
        let octree = octree_of(&cells_of(VoxelPos::ZERO, 16, noise(seed, share, 16)));
        let cut = random_cut(&octree, seed);
        let mut cubes = naive::Cubes::new();
        let mut open = vec![octree.root()];
        while let Some(cube) = open.pop() {
            if cube == NONE {
                continue;
            }
            if cut(cube) {
                let inside = octree.nodes[cube.node as usize].inside;
                cubes.insert((cube.level, cube.min), inside);
            } else {
                open.extend((0..8).map(|octant| octree.child(cube, octant)));
            }
        }
        let mut contourer = Contourer::new();
        contourer.contour_where(&octree, &mut Surface::default(), cut);
        let found = &contourer.found;
        // Corners may be renumbered for further sheets, so only edges and their count are compared.
        let walked: BTreeSet<_> =
            found.polygons.iter().map(|p| (usize::from(p.axis), p.at)).collect();
        prop_assert_eq!(walked.len(), found.polygons.len());
        prop_assert_eq!(walked, naive::polygons(&cubes));
    }
}

#[test]
fn blocks_of_a_grid_that_was_replaced_are_returned_and_dropped() {
    let mut grid = VoxelGrid::default();
    let mut ball = DenseBox::new(Region::new([10; 3], [20; 3]));
    ball.fill(8);
    grid.write(&ball).unwrap();
    let mut octrees = Octrees::new();
    octrees.update(&grid);
    let built: Vec<_> = octrees.iter().map(|(block, _)| block).collect();
    assert!(!built.is_empty());
    assert_eq!(octrees.update(&VoxelGrid::default()), built);
    assert_eq!(octrees.iter().count(), 0);
}
