//! Blocks of any mips fit: closed, manifold, the same bits; and as the rules say.

use rustc_hash::FxHashMap;

use crate::mesh::{BlockMesh, Mesher, Surface, VertexKey};
use crate::voxel::{MaterialTable, VoxelPos};

use super::tilings::{Data, World};

/// Meshes of blocks, joined by key.
#[derive(Default)]
struct Welded {
    numbers: FxHashMap<VertexKey, u32>,
    keys: Vec<VertexKey>,
    /// In 1/4096 of a voxel.
    positions: Vec<[i64; 3]>,
    normals: Vec<[u32; 3]>,
    triangles: Vec<[u32; 3]>,
}

impl Welded {
    /// Adds a block's surface. A vertex that is there already must be the same bits.
    fn add(&mut self, min_voxel: VoxelPos, mip: u8, surface: &Surface) {
        assert_eq!(surface.keys.len(), surface.vertex_count());
        assert_eq!(surface.triangle_materials().count(), surface.triangle_count());
        let numbers: Vec<u32> = (0..surface.vertex_count())
            .map(|i| {
                let key = surface.keys[i];
                let position = quanta(min_voxel, mip, surface.positions[i]);
                let normal = surface.normals[i].map(f32::to_bits);
                let number = *self.numbers.entry(key).or_insert_with(|| {
                    self.keys.push(key);
                    self.positions.push(position);
                    self.normals.push(normal);
                    self.positions.len() as u32 - 1
                });
                assert_eq!(self.positions[number as usize], position, "{key:?}");
                assert_eq!(self.normals[number as usize], normal, "{key:?}");
                number
            })
            .collect();
        self.triangles.extend(surface.triangles().map(|t| t.map(|v| numbers[v as usize])));
    }

    /// Panics unless every edge is used once in each direction, but where `rim` lets it be
    /// open, and every vertex has one fan of triangles around it.
    fn assert_manifold(&self, rim: impl Fn([VertexKey; 2]) -> bool) {
        let mut edges: FxHashMap<[u32; 2], u32> = FxHashMap::default();
        let mut around: Vec<FxHashMap<u32, u32>> = vec![FxHashMap::default(); self.keys.len()];
        for t in &self.triangles {
            assert!(t[0] != t[1] && t[1] != t[2] && t[2] != t[0], "{t:?} repeats a vertex");
            for k in 0..3 {
                *edges.entry([t[k], t[(k + 1) % 3]]).or_insert(0) += 1;
                around[t[k] as usize].insert(t[(k + 1) % 3], t[(k + 2) % 3]);
            }
        }
        let mut rims = vec![0; self.keys.len()];
        for (&[a, b], &count) in &edges {
            let keys = [a, b].map(|v| self.keys[v as usize]);
            assert_eq!(count, 1, "edge {keys:?} is used {count} times");
            if !edges.contains_key(&[b, a]) {
                assert!(rim(keys), "edge {keys:?} is open");
                rims[a as usize] += 1;
            }
        }
        for (v, link) in around.iter().enumerate() {
            assert!(rims[v] <= 1, "vertex {v} has several rims");
            let inner: Vec<u32> = link.values().copied().collect();
            let start = link.keys().find(|a| !inner.contains(a)).or(link.keys().next());
            let mut at = *start.expect("a vertex has a triangle");
            let mut steps = 0;
            while let Some(&next) = link.get(&at) {
                (at, steps) = (next, steps + 1);
                if Some(&at) == start {
                    break;
                }
            }
            assert_eq!(steps, link.len(), "vertex {v} has several fans");
        }
    }
}

/// A position in 1/4096 of a voxel; all are whole numbers of those.
fn quanta(min_voxel: VoxelPos, mip: u8, p: [f32; 3]) -> [i64; 3] {
    let min = min_voxel.to_array();
    [0, 1, 2].map(|a| {
        let offset = f64::from(p[a]) * 4096.0 * f64::from(1 << mip);
        assert_eq!(offset.fract(), 0.0, "{p:?}");
        i64::from(min[a]) * 4096 + offset as i64
    })
}

/// All blocks of a world; solid, liquid.
fn weld(world: &World, table: &MaterialTable) -> [Welded; 2] {
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    let mut welded = [Welded::default(), Welded::default()];
    for &leaf in &world.leaves {
        world.mesh(&mut mesher, leaf, table, &mut mesh);
        let min = world.cells_of(leaf).finer(leaf.0.into()).min;
        welded[0].add(min, leaf.0, &mesh.solid);
        welded[1].add(min, leaf.0, &mesh.liquid);
    }
    welded
}

const DATA: [Data; 10] = [
    Data::Terrain,
    Data::Shifted,
    Data::Sheets,
    Data::Checkers,
    Data::Noise(10, 0),
    Data::Noise(50, 0),
    Data::Noise(90, 0),
    Data::Lone,
    Data::Solid,
    Data::Noise(40, 30),
];

#[test]
fn any_blocks_of_any_cells_close_slow() {
    let table = MaterialTable::default();
    let mut seen = 0;
    for seed in 0..100 {
        let data = DATA[seed as usize % DATA.len()];
        let first = VoxelPos::new(-1, 0, 3);
        let world = World::random(data, seed, 8, [0, 3], (first, [2, 1, 1]), 1 + seed as usize % 5);
        eprintln!("world {seed}: {data:?}, {} blocks", world.leaves.len());
        let [solid, _] = weld(&world, &table);
        solid.assert_manifold(|_| false);
        seen += solid.triangles.len();
    }
    assert!(seen > 100_000, "{seen}");
}
