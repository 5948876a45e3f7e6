//! Cells, tables and checks for tests of meshes.

use std::collections::HashMap;

use terravox::mesh::{BlockMesh, Mesher, PAD, Surface, VertexKey};
use terravox::voxel::{Cell, DenseBox, Material, MaterialTable, Region, SurfaceShape, VoxelPos};

/// Xorshift random numbers, the same on every machine.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Returns a number in 0..1.
    pub fn unit(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 53) as f64
    }

    /// Returns a unit vector.
    pub fn direction(&mut self) -> [f64; 3] {
        loop {
            let v = [0; 3].map(|_| 2.0 * self.unit() - 1.0);
            let length = dot(v, v).sqrt();
            if (0.1..1.0).contains(&length) {
                return v.map(|x| x / length);
            }
        }
    }
}

pub fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub fn centre(p: VoxelPos) -> [f64; 3] {
    p.to_array().map(|c| f64::from(c) + 0.5)
}

/// Returns the cell whose centre is `distance` cells inside the surface: filled by clamp(½ + d).
pub fn filled(material: u8, distance: f64) -> Cell {
    let units = ((0.5 + distance).clamp(0.0, 1.0) * 256.0).round() as i32;
    if units < 1 { Cell::AIR } else { Cell::new(material, (units - 1) as u8) }
}

/// Makes a box over `region` and its padding.
pub fn padded(region: Region, cell: impl Fn(VoxelPos) -> Cell) -> DenseBox {
    let mut cells = DenseBox::new(region.grow(PAD));
    for p in cells.region().voxels() {
        cells.set(p, cell(p));
    }
    cells
}

/// Returns the part of `cells` in `region`, with air beyond `cells`.
pub fn cut(cells: &DenseBox, region: Region) -> DenseBox {
    let mut part = DenseBox::new(region);
    for p in region.intersect(cells.region()).voxels() {
        part.set(p, cells.cell(p));
        part.set_water(p, cells.water_at(p));
    }
    part
}

/// Returns a table in which materials from 2 on have the five shapes in turn.
pub fn shaped_table() -> MaterialTable {
    let mut table = MaterialTable::default();
    let shapes = [
        SurfaceShape::Default,
        SurfaceShape::Smooth,
        SurfaceShape::Sharp,
        SurfaceShape::Blocky,
        SurfaceShape::Rubble,
    ];
    for id in 2..23 {
        table.set_shape(id, shapes[usize::from(id) % 5]);
    }
    table
}

/// Returns a table in which all solids have one shape.
pub fn table_of(shape: SurfaceShape) -> MaterialTable {
    let mut table = MaterialTable::default();
    for id in 2..23 {
        table.set_shape(id, shape);
    }
    table
}

/// Returns a table with unusual kinds: 0 is air; 1, 4 and 7 are liquid.
pub fn unusual_table() -> MaterialTable {
    let mut materials: Vec<Material> = MaterialTable::default().materials().to_vec();
    materials[4].kind = terravox::voxel::Kind::Liquid;
    materials[7].kind = terravox::voxel::Kind::Liquid;
    MaterialTable::new(materials)
}

/// Returns a table without liquids: water is solid.
pub fn solid_water_table() -> MaterialTable {
    let mut materials: Vec<Material> = MaterialTable::default().materials().to_vec();
    materials[1].kind = terravox::voxel::Kind::Solid;
    MaterialTable::new(materials)
}

/// Makes random cells: `solid` and `liquid` are in percent; some solids hold water.
pub fn noise(region: Region, seed: u64, solid: u64, liquid: u64) -> DenseBox {
    let mut numbers = Numbers::new(seed);
    let mut cells = DenseBox::new(region);
    for p in region.voxels() {
        let kind = numbers.below(100);
        let occupancy = if numbers.below(3) == 0 { 255 } else { numbers.below(256) as u8 };
        if kind < solid {
            cells.set(p, Cell::new(2 + numbers.below(6) as u8, occupancy));
            if liquid > 0 && numbers.below(8) == 0 {
                cells.set_water(p, Some(numbers.below(256) as u8));
            }
        } else if kind < solid + liquid {
            cells.set(p, Cell::new(1, occupancy));
        }
    }
    cells
}

/// Makes rolling ground of several materials with a lake, like real terrain.
pub fn hills(region: Region, water_level: f64) -> DenseBox {
    let mut cells = DenseBox::new(region);
    for p in region.voxels() {
        let [x, y, z] = centre(p);
        let height =
            6.0 * (x * 0.11).sin() + 5.0 * (z * 0.13).cos() + 2.0 * (x * 0.31 + z * 0.27).sin();
        let cave = 3.0 - ((x * 0.2).sin() * 4.0 + y + 6.0).hypot((z * 0.17).cos() * 4.0);
        let ground = (height - y).min(-cave);
        let cell = filled(2 + (y as i64).rem_euclid(4) as u8, ground);
        let wet = (water_level - y + 0.5).clamp(0.0, 1.0);
        let level = (wet * 255.0) as u8;
        if !cell.is_air() {
            cells.set(p, cell);
            if cell.occupancy < 255 && level > 0 {
                cells.set_water(p, Some(level));
            }
        } else if level > 0 {
            cells.set(p, Cell::new(1, level));
        }
    }
    cells
}

/// Returns blocks of `edge` that cover `region`.
pub fn blocks(region: Region, edge: i32) -> Vec<Region> {
    let step = |a: i32, b: i32| (a..b).step_by(edge as usize);
    let mut blocks = Vec::new();
    for y in step(region.min.y, region.max.y) {
        for z in step(region.min.z, region.max.z) {
            for x in step(region.min.x, region.max.x) {
                let block = Region::new([x, y, z], [x + edge, y + edge, z + edge]);
                blocks.push(block.intersect(region));
            }
        }
    }
    blocks
}

/// Surfaces of several blocks, joined by key.
#[derive(Default)]
pub struct WeldedBlocks {
    pub positions: Vec<[f64; 3]>,
    pub normals: Vec<[f32; 3]>,
    pub triangles: Vec<[u32; 3]>,
    /// Key of each vertex.
    pub keys: Vec<VertexKey>,
    numbers: HashMap<VertexKey, u32>,
}

impl WeldedBlocks {
    /// Adds a block's surface. Vertices that are there already must have the same bits.
    pub fn add(&mut self, block: Region, surface: &Surface) {
        let min = block.min.to_array().map(f64::from);
        let mut numbers = Vec::new();
        for (i, key) in surface.keys.iter().enumerate() {
            let p = surface.positions[i];
            let position = [0, 1, 2].map(|a| min[a] + f64::from(p[a]));
            let number = *self.numbers.entry(*key).or_insert_with(|| {
                self.keys.push(*key);
                self.positions.push(position);
                self.normals.push(surface.normals[i]);
                self.positions.len() as u32 - 1
            });
            assert_eq!(self.positions[number as usize], position, "{key:?}");
            assert_eq!(self.normals[number as usize], surface.normals[i], "{key:?}");
            numbers.push(number);
        }
        self.triangles.extend(surface.triangles().map(|t| t.map(|v| numbers[v as usize])));
    }

    /// Meshes and welds the solid surface of `cells` over `region`, by blocks of `edge`.
    pub fn solid(
        cells: &DenseBox,
        region: Region,
        edge: i32,
        table: &MaterialTable,
    ) -> WeldedBlocks {
        WeldedBlocks::of(cells, region, edge, table, |mesh| &mesh.solid)
    }

    /// Meshes and welds the liquid surface of `cells` over `region`, by blocks of `edge`.
    pub fn liquid(
        cells: &DenseBox,
        region: Region,
        edge: i32,
        table: &MaterialTable,
    ) -> WeldedBlocks {
        WeldedBlocks::of(cells, region, edge, table, |mesh| &mesh.liquid)
    }

    fn of(
        cells: &DenseBox,
        region: Region,
        edge: i32,
        table: &MaterialTable,
        pick: impl Fn(&BlockMesh) -> &Surface,
    ) -> WeldedBlocks {
        let mut welded = WeldedBlocks::default();
        let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
        for block in blocks(region, edge) {
            mesher.mesh_keyed(&cut(cells, block.grow(PAD)), table, &mut mesh);
            welded.add(block, pick(&mesh));
        }
        welded
    }

    /// Counts how often each directed edge is used.
    pub fn edges(&self) -> HashMap<[u32; 2], usize> {
        let mut edges = HashMap::new();
        for t in &self.triangles {
            for k in 0..3 {
                *edges.entry([t[k], t[(k + 1) % 3]]).or_insert(0) += 1;
            }
        }
        edges
    }

    /// Panics unless every edge is used once in each direction, or, if `rim` allows it,
    /// in one direction only; and every vertex has one fan of triangles around it.
    pub fn assert_manifold(&self, rim: impl Fn([u32; 2]) -> bool) {
        for t in &self.triangles {
            assert!(t[0] != t[1] && t[1] != t[2] && t[2] != t[0], "{t:?} repeats a vertex");
        }
        let edges = self.edges();
        let mut rims = vec![0; self.positions.len()];
        for (&[a, b], &count) in &edges {
            assert_eq!(count, 1, "edge {a} {b} is used {count} times");
            if !edges.contains_key(&[b, a]) {
                assert!(rim([a, b]), "edge {a} {b} is open");
                rims[a as usize] += 1;
            }
        }
        let mut around: Vec<HashMap<u32, u32>> = vec![HashMap::new(); self.positions.len()];
        for t in &self.triangles {
            for k in 0..3 {
                around[t[k] as usize].insert(t[(k + 1) % 3], t[(k + 2) % 3]);
            }
        }
        for (v, link) in around.iter().enumerate() {
            assert!(!link.is_empty(), "vertex {v} has no triangle");
            assert!(rims[v] <= 1, "vertex {v} has several rims");
            // A walk from the rim's start, or from anywhere, must visit the whole link.
            let inner: Vec<u32> = link.values().copied().collect();
            let start = link.keys().find(|a| !inner.contains(a)).or(link.keys().next());
            let mut at = *start.unwrap_or(&0);
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

    /// Returns the enclosed volume.
    pub fn volume(&self) -> f64 {
        let six = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| self.positions[v as usize]);
            dot(a, cross(b, c))
        };
        self.triangles.iter().map(six).sum::<f64>() / 6.0
    }
}
