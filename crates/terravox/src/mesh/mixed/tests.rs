//! Blocks of any mips fit: closed, manifold, bit for bit, and equal to the slow twin.

use rustc_hash::FxHashMap;

use crate::mesh::mesher::Mesher;
use crate::mesh::morph::{MorphTargets, morphed};
use crate::mesh::rules::blend::MaterialBlend;
use crate::mesh::rules::block::PAD;
use crate::mesh::surface::{BlockMesh, Surface, VertexKey};
use crate::voxel::{Cell, DenseBox, MaterialTable, MipBlock, Region, SurfaceShape, VoxelPos};

use super::naive::{MixedTwin, TwinSurface, TwinTarget, TwinVertex};
use super::neighbours::NeighbourMips;
use super::tilings::{BlockRange, TestCells, TestTiling};

/// Meshes of blocks, joined by key.
#[derive(Default)]
pub(crate) struct Welded {
    numbers: FxHashMap<VertexKey, u32>,
    keys: Vec<VertexKey>,
    /// In 1/4096 of a voxel.
    positions: Vec<[i64; 3]>,
    normals: Vec<[u32; 3]>,
    blends: Vec<MaterialBlend>,
    /// By vertex, or empty.
    targets: Vec<TwinTarget>,
    triangles: Vec<[u32; 3]>,
}

impl Welded {
    /// Adds a block's surface. Vertices that are there already must have the same bits.
    pub(crate) fn add(&mut self, min_voxel: VoxelPos, mip: u8, surface: &Surface) {
        assert_eq!(surface.keys.len(), surface.vertex_count());
        assert_eq!(surface.triangle_materials().count(), surface.triangle_count());
        let numbers: Vec<u32> = (0..surface.vertex_count())
            .map(|i| {
                let key = surface.keys[i];
                let position = quanta(min_voxel, mip, surface.positions[i]);
                let normal = surface.normals[i].map(f32::to_bits);
                let blend = blend_of(surface, i);
                let target = target(min_voxel, mip, surface, i);
                let number = *self.numbers.entry(key).or_insert_with(|| {
                    self.keys.push(key);
                    self.positions.push(position);
                    self.normals.push(normal);
                    self.blends.push(blend);
                    self.targets.extend(target);
                    self.positions.len() as u32 - 1
                });
                assert_eq!(self.positions[number as usize], position, "{key:?}");
                assert_eq!(self.normals[number as usize], normal, "{key:?}");
                assert_eq!(self.blends[number as usize], blend, "{key:?}");
                assert_eq!(self.targets.get(number as usize).copied(), target, "{key:?}");
                number
            })
            .collect();
        self.triangles.extend(surface.triangles().map(|t| t.map(|v| numbers[v as usize])));
    }

    /// Panics unless every edge is used once in each direction, or in one direction where `rim`
    /// allows it, and every vertex has one fan of triangles around it.
    pub(crate) fn assert_manifold(&self, rim: impl Fn([VertexKey; 2]) -> bool) {
        let sides = |t: [u32; 3]| [0, 1, 2].map(|k| [t[k], t[(k + 1) % 3], t[(k + 2) % 3]]);
        // Both directions of an edge, side by side.
        let mut edges: Vec<[u32; 3]> = Vec::with_capacity(3 * self.triangles.len());
        // What lies across of each vertex: the two others of each of its triangles.
        let mut links: Vec<[u32; 3]> = Vec::with_capacity(3 * self.triangles.len());
        for &t in &self.triangles {
            assert!(t[0] != t[1] && t[1] != t[2] && t[2] != t[0], "{t:?} repeats a vertex");
            edges.extend(sides(t).map(|[a, b, _]| [a.min(b), a.max(b), u32::from(a > b)]));
            links.extend(sides(t));
        }
        // As one number: they compare faster than arrays.
        let number =
            |&[a, b, c]: &[u32; 3]| u128::from(a) << 64 | u128::from(b) << 32 | u128::from(c);
        edges.sort_unstable_by_key(number);
        let mut rims = vec![0; self.keys.len()];
        for edge in edges.chunk_by(|a, b| a[..2] == b[..2]) {
            let [low, high, is_back] = edge[0];
            let [a, b] = if is_back == 0 { [low, high] } else { [high, low] };
            let keys = [a, b].map(|v| self.keys[v as usize]);
            assert!(edge.is_sorted_by(|a, b| a < b), "edge {keys:?} is used {} times", edge.len());
            if edge.len() == 1 {
                assert!(rim(keys), "edge {keys:?} is open");
                rims[a as usize] += 1;
            }
        }
        links.sort_unstable_by_key(number);
        let mut fans = 0;
        for link in links.chunk_by(|a, b| a[0] == b[0]) {
            let v = link[0][0];
            assert!(rims[v as usize] <= 1, "vertex {v} has several rims");
            let start = link.iter().find(|[_, from, _]| link.iter().all(|[.., to]| to != from));
            let [_, start, _] = *start.unwrap_or(&link[0]);
            let (mut at, mut steps) = (start, 0);
            while let Some(&[.., next]) = link.iter().find(|[_, from, _]| *from == at) {
                (at, steps) = (next, steps + 1);
                if at == start {
                    break;
                }
            }
            assert_eq!(steps, link.len(), "vertex {v} has several fans");
            fans += 1;
        }
        assert_eq!(fans, self.keys.len(), "a vertex has no triangle");
    }
}

/// Returns the materials of a vertex.
fn blend_of(surface: &Surface, i: usize) -> MaterialBlend {
    MaterialBlend { materials: surface.materials[i], weights: surface.weights[i] }
}

/// Returns a position in 1/4096 of a voxel, which must be whole.
fn quanta(min_voxel: VoxelPos, mip: u8, p: [f32; 3]) -> [i64; 3] {
    let min = min_voxel.to_array();
    [0, 1, 2].map(|a| {
        let offset = f64::from(p[a]) * 4096.0 * f64::from(1 << mip);
        assert_eq!(offset.fract(), 0.0, "{p:?}");
        i64::from(min[a]) * 4096 + offset as i64
    })
}

/// Returns the target of a vertex, if the mesh has targets.
fn target(min_voxel: VoxelPos, mip: u8, surface: &Surface, i: usize) -> Option<TwinTarget> {
    let targets = &surface.targets;
    let position = quanta(min_voxel, mip, *targets.positions.get(i)?);
    let normal_bits = targets.normals[i].map(f32::to_bits);
    Some(TwinTarget { position, normal_bits, mip: mip + targets.steps[i] })
}

/// Meshes and welds all blocks of a tiling; solid, liquid.
fn weld(tiling: &TestTiling, table: &MaterialTable) -> [Welded; 2] {
    weld_morphing(tiling, table, None)
}

fn weld_morphing(tiling: &TestTiling, table: &MaterialTable, morph_to: Option<u8>) -> [Welded; 2] {
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    let mut welded = [Welded::default(), Welded::default()];
    for &leaf in &tiling.leaves {
        tiling.mesh(&mut mesher, leaf, table, morph_to, &mut mesh);
        let min = tiling.cells_of(leaf).finer(leaf.0.into()).min;
        welded[0].add(min, leaf.0, &mesh.solid);
        welded[1].add(min, leaf.0, &mesh.liquid);
    }
    welded
}

const DATA: [TestCells; 10] = [
    TestCells::Terrain,
    TestCells::Shifted,
    TestCells::Sheets,
    TestCells::Checkers,
    TestCells::Noise(10, 0),
    TestCells::Noise(50, 0),
    TestCells::Noise(90, 0),
    TestCells::Lone,
    TestCells::Solid,
    TestCells::Noise(40, 30),
];

/// Random tilings of all kinds of cells are closed.
fn assert_closed(seeds: std::ops::Range<u64>, mips: [u8; 2], first: VoxelPos) {
    let table = MaterialTable::default();
    let mut split = 0;
    for seed in seeds {
        let data = DATA[seed as usize % DATA.len()];
        let splits = 1 + seed as usize % 5;
        let tiling =
            TestTiling::random(data, seed, 8, mips, BlockRange { first, size: [2, 1, 1] }, splits);
        let [solid, _] = weld(&tiling, &table);
        solid.assert_manifold(|_| false);
        assert!(!solid.triangles.is_empty());
        split += solid.keys.iter().filter(|key| key.between.count_ones() == 1).count();
    }
    assert!(split > 1000, "{split} vertices on split sides: too few to test the rule");
}

#[test]
fn any_blocks_of_any_cells_close_slow() {
    assert_closed(0..100, [0, 3], VoxelPos::new(-1, 0, 3));
}

#[test]
fn any_blocks_of_coarse_cells_close_slow() {
    assert_closed(200..300, [2, 5], VoxelPos::new(0, -1, -1));
}

#[test]
fn any_blocks_close_ten_million_voxels_away_slow() {
    assert_closed(400..480, [0, 3], VoxelPos::new(156_250, -156_251, 16_000_000));
}

/// Returns eight blocks around a corner, one of which is split there down to the finest mip.
fn eight_meet(data: TestCells, seed: u64, which: u64) -> TestTiling {
    let mut tiling = TestTiling::random(
        data,
        seed,
        8,
        [1, 4],
        BlockRange { first: VoxelPos::splat(-1), size: [2, 2, 2] },
        0,
    );
    for mip in [4, 3, 2] {
        let at = [0, 1, 2].map(|axis| if which >> axis & 1 == 1 { 0 } else { -1 });
        tiling.split((mip, VoxelPos::from(at)));
    }
    tiling
}

#[test]
fn eight_to_one_at_a_corner_where_eight_blocks_meet_closes_slow() {
    let table = MaterialTable::default();
    for seed in 0..40 {
        let tiling = eight_meet(DATA[seed as usize % DATA.len()], seed, seed);
        let found: Vec<u8> = tiling.leaves.iter().map(|leaf| leaf.0).collect();
        assert!(found.contains(&1) && found.contains(&4));
        weld(&tiling, &table)[0].assert_manifold(|_| false);
    }
}

#[test]
fn liquid_surfaces_end_only_at_dry_ground_slow() {
    let table = MaterialTable::default();
    for seed in 0..40 {
        let data = TestCells::Noise([25, 10][seed as usize % 2], [10, 40, 60][seed as usize % 3]);
        let first = VoxelPos::new(3, 0, -1);
        let tiling =
            TestTiling::random(data, seed, 8, [0, 3], BlockRange { first, size: [2, 1, 1] }, 3);
        let [_, liquid] = weld(&tiling, &table);
        assert!(liquid.triangles.len() > 100);
        let dry = |voxel: VoxelPos| {
            let mip = tiling.shown(voxel);
            let (cell, water) = tiling.cell(mip, voxel.coarser(mip.into()));
            cell.material > 1 && water.is_none()
        };
        liquid.assert_manifold(|edge| {
            let [a, b] = edge.map(|key| key.corner);
            let low = a.min(b) - VoxelPos::splat(1);
            Region { min: low, max: a.max(b) + VoxelPos::splat(1) }.voxels().any(dry)
        });
    }
}

/// Converts a mesh to the twin's form.
fn twin_surface(min_voxel: VoxelPos, mip: u8, surface: &Surface) -> TwinSurface {
    let mut out = TwinSurface::default();
    for (i, key) in surface.keys.iter().enumerate() {
        let position = quanta(min_voxel, mip, surface.positions[i]);
        let vertex = TwinVertex {
            position,
            normal_bits: surface.normals[i].map(f32::to_bits),
            blend: blend_of(surface, i),
            target: target(min_voxel, mip, surface, i).expect("the mesh has targets"),
        };
        let before = out.vertices.insert(*key, vertex);
        assert!(before.is_none_or(|before| before == vertex), "{key:?}");
    }
    for t in surface.triangles() {
        out.push(t.map(|v| surface.keys[v as usize]));
    }
    out.triangles.sort_unstable();
    out
}

/// Every block of a tiling equals the slow twin's.
fn assert_equals_the_twin(tiling: &TestTiling, table: &MaterialTable, top: u8) {
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    for &leaf in &tiling.leaves {
        tiling.mesh(&mut mesher, leaf, table, Some(top), &mut mesh);
        let min = tiling.cells_of(leaf).finer(leaf.0.into()).min;
        for (liquid, surface) in [(false, &mesh.solid), (true, &mesh.liquid)] {
            let twin = MixedTwin { tiling, table, liquid, top }.block(leaf);
            let fast = twin_surface(min, leaf.0, surface);
            for (key, vertex) in &twin.vertices {
                assert_eq!(fast.vertices.get(key), Some(vertex), "{leaf:?} {key:?}");
            }
            assert_eq!(fast.vertices.len(), twin.vertices.len(), "{leaf:?}");
            assert!(fast.triangles == twin.triangles, "{leaf:?}: triangles differ");
        }
    }
}

#[test]
fn blocks_equal_the_twin_slow() {
    for seed in 0..18 {
        let data = DATA[seed as usize % DATA.len()];
        let mips = [[0, 3], [1, 3], [3, 4]][seed as usize % 3];
        let first = VoxelPos::new(-1, seed as i32 * 1000, 0);
        let tiling = TestTiling::random(
            data,
            seed,
            8,
            mips,
            BlockRange { first, size: [2, 1, 1] },
            1 + seed as usize % 2,
        );
        let mut table = MaterialTable::default();
        for (id, shape) in (2..6).zip([
            SurfaceShape::Smooth,
            SurfaceShape::Sharp,
            SurfaceShape::Blocky,
            SurfaceShape::Rubble,
        ]) {
            if seed % 2 == 0 {
                table.set_shape(id, shape);
            }
        }
        assert_equals_the_twin(&tiling, &table, mips[1] + (seed % 3 == 0) as u8);
    }
}

/// Counts edges without an opposite one, by the bits of positions, when vertex `v` is morphed by
/// `factor(v)`.
fn open_edges(of: &Welded, factor: impl Fn(usize) -> f32) -> usize {
    let place = |v: usize| {
        let TwinTarget { position: target, mip, .. } = of.targets[v];
        // In cells of the vertex's mip, relative to a corner near it, so that f32 is exact.
        let cell = f64::from(4096u32 << mip);
        let base = of.positions[v].map(|p| p - p.rem_euclid(4096 << mip));
        let local = |p: [i64; 3]| [0, 1, 2].map(|a| ((p[a] - base[a]) as f64 / cell) as f32);
        let p = morphed(local(of.positions[v]), local(target), 0, factor(v));
        [0, 1, 2].map(|a| base[a] * 8 + (f64::from(p[a]) * 8.0 * cell) as i64)
    };
    let mut numbers: FxHashMap<[i64; 3], u32> = FxHashMap::default();
    let mut number = |place| {
        let next = numbers.len() as u32;
        *numbers.entry(place).or_insert(next)
    };
    let places: Vec<u32> = (0..of.positions.len()).map(|v| number(place(v))).collect();
    let mut edges: FxHashMap<[u32; 2], i32> = FxHashMap::default();
    for t in &of.triangles {
        for k in 0..3 {
            let [a, b] = [t[k], t[(k + 1) % 3]].map(|v| places[v as usize]);
            *edges.entry([a.min(b), a.max(b)]).or_insert(0) += (a < b) as i32 - (b < a) as i32;
        }
    }
    edges.into_values().filter(|&count| count != 0).count()
}

/// Random tilings stay closed while they morph, for any factors.
fn assert_closed_while_morphing(seeds: std::ops::Range<u64>, edge: i32, mips: [u8; 2]) {
    let table = MaterialTable::default();
    let mut moved = 0;
    for seed in seeds {
        let data = DATA[seed as usize % DATA.len()];
        let splits = 1 + seed as usize % 5;
        let first = VoxelPos::new(-1, seed as i32 * 77, 3);
        let tiling = TestTiling::random(
            data,
            seed,
            edge,
            mips,
            BlockRange { first, size: [2, 1, 1] },
            splits,
        );
        let [solid, _] = weld_morphing(&tiling, &table, Some(mips[1] + (seed % 2) as u8));
        solid.assert_manifold(|_| false);
        for tenth in 0..=10 {
            assert_eq!(open_edges(&solid, |_| tenth as f32 / 10.0), 0, "{data:?}, {tenth}");
        }
        // One factor for each vertex.
        let apart = |v: usize| (v as u32).wrapping_mul(0x9e37_79b9) as f32 / u32::MAX as f32;
        assert_eq!(open_edges(&solid, apart), 0, "{data:?}");
        moved += (0..solid.keys.len())
            .filter(|&v| solid.positions[v] != solid.targets[v].position)
            .count();
    }
    assert!(moved > 1000, "{moved} vertices moved: too few to test the rule");
}

#[test]
fn blocks_close_at_every_factor_slow() {
    assert_closed_while_morphing(0..30, 8, [0, 2]);
    assert_closed_while_morphing(60..80, 8, [3, 5]);
}

#[test]
fn blocks_of_eight_to_one_close_at_every_factor_slow() {
    assert_closed_while_morphing(100..105, 16, [1, 4]);
}

#[test]
fn all_blocks_move_a_vertex_alike() {
    // In cells of its own mip, from its own corner.
    let table = MaterialTable::default();
    for seed in [0, 4, 5] {
        let data = DATA[seed as usize % DATA.len()];
        let tiling = TestTiling::random(
            data,
            seed,
            8,
            [0, 2],
            BlockRange { first: VoxelPos::splat(-1), size: [2, 2, 2] },
            4,
        );
        let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
        let mut places: FxHashMap<(VertexKey, usize), [i64; 3]> = FxHashMap::default();
        let mut again = 0;
        for &leaf in &tiling.leaves {
            tiling.mesh(&mut mesher, leaf, &table, Some(3), &mut mesh);
            let min = tiling.cells_of(leaf).finer(leaf.0.into()).min;
            for tenth in 0..=10 {
                let mut surface = mesh.solid.clone();
                surface.morph(|_, _, _| tenth as f32 / 10.0);
                for (&key, p) in surface.keys.iter().zip(&surface.positions) {
                    // Whole 1/8 of what positions are without morphing.
                    let place = quanta(
                        VoxelPos::from(min.to_array().map(|v| 8 * v)),
                        leaf.0,
                        p.map(|p| p * 8.0),
                    );
                    let before = *places.entry((key, tenth)).or_insert(place);
                    assert_eq!(before, place, "{key:?} at {tenth}/10");
                    again += usize::from(before == place);
                }
            }
        }
        assert!(again > places.len(), "no vertex is shared");
    }
}

#[test]
fn a_mesh_that_morphs_is_the_same_mesh() {
    let table = MaterialTable::default();
    let (mut mesher, mut mesh, mut morphing) = (Mesher::new(), BlockMesh::new(), BlockMesh::new());
    for seed in 0..10 {
        let data = DATA[seed as usize];
        let tiling = TestTiling::random(
            data,
            seed,
            8,
            [0, 2],
            BlockRange { first: VoxelPos::splat(0), size: [2, 1, 1] },
            3,
        );
        for &leaf in &tiling.leaves {
            tiling.mesh(&mut mesher, leaf, &table, None, &mut mesh);
            tiling.mesh(&mut mesher, leaf, &table, Some(2), &mut morphing);
            for surface in [&mut morphing.solid, &mut morphing.liquid] {
                assert_eq!(surface.targets.positions.len(), surface.vertex_count());
                surface.targets = MorphTargets::default();
            }
            assert_eq!(mesh, morphing, "{data:?}");
        }
    }
}

#[test]
fn level_ground_does_not_move() {
    let table = MaterialTable::default();
    let block = MipBlock::new(1, [0, 0, 0]);
    let around = NeighbourMips::from_fn(1, |at| if at[0] > 7 { 2 } else { 1 });
    let ask = |mip: u8, region: Region, out: &mut DenseBox| {
        out.reset(region);
        for pos in region.voxels().filter(|pos| pos.y < 32 >> mip) {
            out.set(pos, Cell::full(3));
        }
    };
    let mut mesh = BlockMesh::new();
    Mesher::new().mesh_morphing(block, &around, ask, &table, 9, false, &mut mesh);
    assert!(mesh.solid.keys.is_empty() && mesh.solid.quad_count() >= 32 * 32);
    assert_eq!(mesh.solid.targets.positions, mesh.solid.positions);
    let on_side = |p: &[f32; 3]| p[0] == 32.0;
    let steps = mesh.solid.positions.iter().map(|p| u8::from(on_side(p)));
    assert_eq!(mesh.solid.targets.steps, steps.collect::<Vec<_>>());
}

#[test]
fn among_blocks_of_its_mip_a_block_equals_the_fast_mesh() {
    let table = MaterialTable::default();
    let tiling = TestTiling::random(
        TestCells::Noise(40, 30),
        7,
        32,
        [2, 2],
        BlockRange { first: VoxelPos::new(-1, 0, 4), size: [2, 1, 1] },
        0,
    );
    let block = MipBlock::new(2, [0, 0, 4]);
    let (mut mesher, mut mixed, mut flat) = (Mesher::new(), BlockMesh::new(), BlockMesh::new());
    let ask = |mip: u8, region: Region, out: &mut DenseBox| tiling.read(mip, region, out);
    mesher.mesh_mixed(block, &NeighbourMips::uniform(2), ask, &table, false, &mut mixed);
    let mut cells = DenseBox::default();
    tiling.read(2, block.cells().grow(PAD), &mut cells);
    mesher.mesh(&cells, &table, &mut flat);
    assert!(flat.solid.quad_count() > 10_000 && flat.liquid.quad_count() > 1000);
    assert_eq!(mixed, flat);
}

#[test]
fn beside_unknown_space_the_surface_ends_without_a_wall() {
    let table = MaterialTable::default();
    let block = MipBlock::new(1, [2, -1, 0]);
    let mut cells = |_: u8, region: Region, out: &mut DenseBox| {
        out.reset(region);
        for pos in region.voxels().filter(|pos| pos.y < -10) {
            out.set(pos, Cell::full(3));
        }
    };
    let mut mesh = BlockMesh::new();
    let around = NeighbourMips::from_fn(1, |at| if at[0] > 7 || at[1] < 0 { 255 } else { 1 });
    Mesher::new().mesh_mixed(block, &around, &mut cells, &table, false, &mut mesh);
    assert_eq!(mesh.solid.quad_count(), 32 * 32);
    assert!(mesh.solid.normals.iter().all(|normal| normal[1] > 0.999_999));
    assert!(mesh.solid.positions.iter().all(|p| p[1] == 22.0 && (0.0..=32.0).contains(&p[0])));
}

#[test]
fn a_mesh_reads_what_it_depends_on() {
    let block = MipBlock::new(1, [0, 0, 0]);
    assert_eq!(Mesher::depends_on(block, &NeighbourMips::uniform(1)), block.voxels().grow(4));
    let around = NeighbourMips::from_fn(1, |at| if at[0] < 0 { 3 } else { 0 });
    let depends = Mesher::depends_on(block, &around);
    assert_eq!(depends, block.voxels().grow(16));
    let mut asked = Vec::new();
    let ask = |mip: u8, region: Region, out: &mut DenseBox| {
        out.reset(region);
        out.fill(3);
        asked.push(region.finer(mip.into()));
    };
    let (table, mut mesh) = (MaterialTable::default(), BlockMesh::new());
    Mesher::new().mesh_mixed(block, &around, ask, &table, false, &mut mesh);
    assert!(asked.iter().all(|&region| depends.contains_region(region)));
    assert_eq!(asked.into_iter().reduce(Region::union), Some(depends));
}

#[test]
#[should_panic(expected = "more than 3 mips")]
fn blocks_of_sixteen_to_one_panic() {
    let around = NeighbourMips::from_fn(5, |_| 1);
    let ask = |_: u8, region: Region, out: &mut DenseBox| out.reset(region);
    let (table, mut mesh) = (MaterialTable::default(), BlockMesh::new());
    Mesher::new().mesh_mixed(MipBlock::new(5, [0; 3]), &around, ask, &table, false, &mut mesh);
}
