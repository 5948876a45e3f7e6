//! Writes meshes as Wavefront OBJ (`.obj`), which every modelling program reads, and the colours of
//! their materials (`.mtl`).
//!
//! Tiles are streamed; only counts stay in memory. The format has no vertex colours, so a triangle
//! has the material of the cell behind it.
//!
//! Source: "Object Files (.obj)", Wavefront's Advanced Visualizer manual, appendix B1.

use crate::tiles::{ExportFrame, TrianglesByMaterial, unit};
use std::io::{self, Write};
use terravox::mesh::{BlockMesh, Surface};
use terravox::voxel::{Kind, MaterialTable, Region};

/// The up axis of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UpAxis {
    /// Y, as in the world.
    #[default]
    Y,
    /// Z: (x, y, z) of the world is written as (x, −z, y).
    Z,
}

/// How to write an `.obj`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ObjOptions {
    /// Units per voxel and the origin, which is not written to the file.
    pub frame: ExportFrame,
    /// The up axis.
    pub up: UpAxis,
}

/// Counts of a written `.obj`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjStats {
    /// Tiles that have triangles.
    pub tiles: u64,
    /// Vertices.
    pub vertices: u64,
    /// Triangles.
    pub triangles: u64,
}

/// Writes an `.obj` tile by tile.
///
/// ```
/// use terravox::mesh::BlockMesh;
/// use terravox::voxel::MaterialTable;
/// use terravox_io::obj::{ObjOptions, ObjWriter, write_mtl};
///
/// let table = MaterialTable::default();
/// let (mut obj, mut mtl) = (Vec::new(), Vec::new());
/// let mut writer = ObjWriter::new(&mut obj, ObjOptions::default(), "world.mtl", &table).unwrap();
/// writer.add_tile("tile 0 0 0", [&BlockMesh::new()]).unwrap();
/// assert_eq!(writer.finish().unwrap().triangles, 0);
/// write_mtl(&mut mtl, &table).unwrap();
/// assert!(obj.starts_with(b"# terravox\nmtllib world.mtl\n"));
/// ```
pub struct ObjWriter<'t, W: Write> {
    out: W,
    options: ObjOptions,
    table: &'t MaterialTable,
    by_material: TrianglesByMaterial,
    stats: ObjStats,
}

impl<'t, W: Write> ObjWriter<'t, W> {
    /// Writes the header of a file whose materials are in the file `mtl` in the same folder. `out`
    /// should be buffered.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(
        mut out: W,
        options: ObjOptions,
        mtl: &str,
        table: &'t MaterialTable,
    ) -> io::Result<ObjWriter<'t, W>> {
        writeln!(out, "# terravox\nmtllib {}", one_line(mtl))?;
        let by_material = TrianglesByMaterial::default();
        Ok(ObjWriter { out, options, table, by_material, stats: ObjStats::default() })
    }

    /// Writes the meshes of blocks, at mip 0, as one object.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn add_tile<'m>(
        &mut self,
        name: &str,
        blocks: impl IntoIterator<Item = &'m BlockMesh>,
    ) -> io::Result<()> {
        let mut has_name = false;
        for mesh in blocks {
            for surface in [&mesh.solid, &mesh.liquid] {
                if surface.is_empty() {
                    continue;
                }
                if !has_name {
                    writeln!(self.out, "o {}", one_line(name))?;
                    self.stats.tiles += 1;
                    has_name = true;
                }
                self.add_surface(mesh.block, surface)?;
            }
        }
        Ok(())
    }

    fn add_surface(&mut self, block: Region, surface: &Surface) -> io::Result<()> {
        for &position in &surface.positions {
            let position = self.to_up_axis(self.options.frame.position(block, position));
            let [x, y, z] = position.map(|v| self.options.frame.digits(v));
            writeln!(self.out, "v {x} {y} {z}")?;
        }
        for &normal in &surface.normals {
            let [x, y, z] = self.to_up_axis(unit(normal).map(f64::from));
            writeln!(self.out, "vn {x:.4} {y:.4} {z:.4}")?;
        }
        self.by_material.clear();
        self.by_material.add(surface, 0);
        // Vertex indices start at 1 and continue across tiles.
        let first = self.stats.vertices + 1;
        for (material, list) in self.by_material.iter() {
            writeln!(self.out, "usemtl {}", material_name(self.table, material))?;
            for triangle in list.chunks_exact(3) {
                let [a, b, c] = [0, 1, 2].map(|i| u64::from(triangle[i]) + first);
                writeln!(self.out, "f {a}//{a} {b}//{b} {c}//{c}")?;
            }
        }
        self.stats.vertices += surface.vertex_count() as u64;
        self.stats.triangles += surface.indices.len() as u64 / 3;
        Ok(())
    }

    /// Rotates a vector to the up axis of the file.
    fn to_up_axis(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        match self.options.up {
            UpAxis::Y => [x, y, z],
            UpAxis::Z => [x, -z, y],
        }
    }

    /// Flushes `out` and returns the counts.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn finish(mut self) -> io::Result<ObjStats> {
        self.out.flush()?;
        Ok(self.stats)
    }
}

/// Writes the materials file: all listed materials except air; liquids are transparent.
///
/// # Errors
/// If `out` fails.
pub fn write_mtl(out: &mut impl Write, table: &MaterialTable) -> io::Result<()> {
    writeln!(out, "# terravox")?;
    for id in 1..=255u8 {
        let Some(material) = table.get(id) else { break };
        let [r, g, b] = material.colour.map(|channel| f32::from(channel) / 255.0);
        let opacity = if material.kind == Kind::Liquid { 0.66 } else { 1.0 };
        writeln!(out, "newmtl {}", material_name(table, id))?;
        writeln!(out, "Kd {r:.4} {g:.4} {b:.4}\nKs 0 0 0\nd {opacity}\nillum 1")?;
    }
    Ok(())
}

/// Returns a unique name without spaces, which would end it in these files.
fn material_name(table: &MaterialTable, id: u8) -> String {
    let name = table.name(id);
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("{plain}_{id}")
}

/// Replaces control characters, which would end the line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::mesh::{Mesher, PAD};
    use terravox::voxel::{Cell, DenseBox, VoxelPos};

    /// One cube of grass at (3, 4, 5) with water on it.
    fn mesh(table: &MaterialTable) -> BlockMesh {
        let mut cells = DenseBox::new(Region::new([0; 3], [8; 3]).grow(PAD));
        cells.set(VoxelPos::new(3, 4, 5), Cell::full(2));
        cells.set(VoxelPos::new(3, 5, 5), Cell::full(1));
        let mut mesh = BlockMesh::new();
        Mesher::new().mesh(&cells, table, &mut mesh);
        mesh
    }

    fn written(options: ObjOptions, mesh: &BlockMesh, table: &MaterialTable) -> (String, ObjStats) {
        let mut out = Vec::new();
        let mut writer = ObjWriter::new(&mut out, options, "a.mtl", table).unwrap();
        writer.add_tile("one", [mesh]).unwrap();
        writer.add_tile("none", [&BlockMesh::new()]).unwrap();
        writer.add_tile("two\nlines", [mesh, mesh]).unwrap();
        let stats = writer.finish().unwrap();
        (String::from_utf8(out).unwrap(), stats)
    }

    fn numbers(line: &str) -> Vec<f32> {
        line.split(' ').skip(1).map(|word| word.parse().unwrap()).collect()
    }

    #[test]
    fn the_file_holds_the_triangles_with_consecutive_indices() {
        let table = MaterialTable::default();
        let mesh = mesh(&table);
        let (text, stats) = written(ObjOptions::default(), &mesh, &table);
        let lines = |start: &str| text.lines().filter(|l| l.starts_with(start)).collect::<Vec<_>>();
        assert_eq!(lines("o "), ["o one", "o two_lines"]);
        let count = 3 * (mesh.solid.vertex_count() + mesh.liquid.vertex_count());
        assert_eq!((lines("v ").len(), lines("vn ").len()), (count, count));
        let triangles = 3 * 2 * (mesh.solid.quad_count() + mesh.liquid.quad_count());
        assert_eq!(lines("f ").len(), triangles);
        assert_eq!((stats.vertices, stats.triangles), (count as u64, triangles as u64));
        assert_eq!(lines("usemtl ")[..2], ["usemtl Grass_2", "usemtl Water_1"]);
        let corners = lines("f ")
            .iter()
            .flat_map(|line| line.split(' ').skip(1))
            .map(|corner| {
                let (v, n) = corner.split_once("//").unwrap();
                assert_eq!(v, n);
                v.parse::<usize>().unwrap()
            })
            .collect::<Vec<_>>();
        assert_eq!((corners.iter().min(), corners.iter().max()), (Some(&1), Some(&count)));
        // The first triangle is the first of grass in the mesh.
        let triangle = mesh.solid.triangles().next().unwrap();
        let first = mesh.solid.positions[triangle[0] as usize];
        assert_eq!(numbers(lines("v ")[corners[0] - 1]), first);
    }

    #[test]
    fn z_up_rotates_positions_and_normals_without_mirroring() {
        let table = MaterialTable::default();
        let mesh = mesh(&table);
        let frame = ExportFrame { voxel_size_m: 2.0, origin: VoxelPos::new(0, 0, 1) };
        let (y_up, _) = written(ObjOptions { frame, up: UpAxis::Y }, &mesh, &table);
        let (z_up, _) = written(ObjOptions { frame, up: UpAxis::Z }, &mesh, &table);
        for (a, b) in y_up.lines().zip(z_up.lines()) {
            match a.split(' ').next() {
                Some("v" | "vn") => {
                    let (a, b) = (numbers(a), numbers(b));
                    assert_eq!([a[0], -a[2], a[1]], b[..]);
                }
                _ => assert_eq!(a, b),
            }
        }
        let z = y_up.lines().filter(|l| l.starts_with("v ")).map(|l| numbers(l)[2]);
        assert!(z.fold(f32::MAX, f32::min) > 7.0, "5 voxels minus the origin, twice");
    }

    #[test]
    fn far_positions_have_all_digits() {
        let table = MaterialTable::default();
        let near = mesh(&table);
        let by = VoxelPos::new((1 << 30) - 64, -(1 << 30), 1 << 25);
        let block = Region { min: near.block.min + by, max: near.block.max + by };
        let far = BlockMesh { block, ..near.clone() };
        let frame = ExportFrame { voxel_size_m: 0.5, ..ExportFrame::default() };
        let options = ObjOptions { frame, ..ObjOptions::default() };
        let positions = |mesh: &BlockMesh| -> Vec<[f64; 3]> {
            let (text, _) = written(options, mesh, &table);
            let lines = text.lines().filter_map(|line| line.strip_prefix("v "));
            let numbers = lines.map(|line| line.split(' ').map(|v| v.parse().unwrap()));
            numbers.map(|line| line.collect::<Vec<f64>>().try_into().unwrap()).collect()
        };
        let by = by.to_array().map(f64::from);
        for (near, far) in positions(&near).into_iter().zip(positions(&far)) {
            (0..3).for_each(|i| assert!((near[i] + by[i] * 0.5 - far[i]).abs() < 1e-6));
        }
    }

    #[test]
    fn the_materials_file_names_every_material_once() {
        let mut table = MaterialTable::default().materials().to_vec();
        table[3].name = "Dark rock".to_owned();
        table[4].name = "Dark rock".to_owned();
        let table = MaterialTable::new(table);
        let mut out = Vec::new();
        write_mtl(&mut out, &table).unwrap();
        let text = String::from_utf8(out).unwrap();
        let mut names: Vec<_> = text.lines().filter(|l| l.starts_with("newmtl")).collect();
        assert_eq!(names.len(), 22);
        assert_eq!(names[2..4], ["newmtl Dark_rock_3", "newmtl Dark_rock_4"]);
        names.dedup();
        assert_eq!(names.len(), 22);
        assert_eq!(text.matches("d 0.66").count(), 1);
    }
}
