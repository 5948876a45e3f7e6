//! The slow twin of the mesher: visits every cell and corner and applies the rules.
//!
//! It also defines the order of the output. Vertices: for each corner that a face of
//! the block touches (x fastest, then z, then y) its first used sheet; then all other
//! used sheets in the same order; then what special faces add. Quads: by cell row
//! (z, then y), direction (−x, +x, −y, +y, −z, +z) and x, those with a special corner
//! after all others.

use rustc_hash::FxHashMap;

use crate::voxel::{DenseBox, MaterialTable};

use super::cells::{Cells, LiquidCells, SolidCells};
use super::corner::{Corner, face_at};
use super::mixed::{Features, feature_of};
use super::surface::{BlockMesh, Surface};
use super::vertex::{DIRECTIONS, SplitEdges, Writer, face_corners, octant_of};
use super::{block_of, edges};

/// Meshes as [`Mesher::mesh`](super::Mesher::mesh), slowly.
///
/// # Panics
/// As that does.
pub fn mesh(cells: &DenseBox, materials: &MaterialTable, out: &mut BlockMesh) {
    mesh_both(cells, materials, false, out);
}

/// Meshes as [`Mesher::mesh_keyed`](super::Mesher::mesh_keyed), slowly.
///
/// # Panics
/// As that does.
pub fn mesh_keyed(cells: &DenseBox, materials: &MaterialTable, out: &mut BlockMesh) {
    mesh_both(cells, materials, true, out);
}

fn mesh_both(cells: &DenseBox, table: &MaterialTable, keyed: bool, out: &mut BlockMesh) {
    out.clear();
    out.block = block_of(cells);
    let size = edges(out.block);
    let origin = out.block.min;
    let (all, none) = (Features::NONE, &mut Vec::new());
    let solid = SolidCells::new(cells, table);
    let writer = Writer { cells: &solid, table, origin, keyed, out: &mut out.solid };
    surface(size, writer, all, none);
    let liquid = LiquidCells::new(cells, table);
    let writer = Writer { cells: &liquid, table, origin, keyed, out: &mut out.liquid };
    surface(size, writer, all, none);
}

/// A face that the block owns: its cell (block coordinates) and direction.
type Face = ([i32; 3], (usize, bool));

/// Corners that faces of the block touch, with how the faces connect and which sheets
/// (bits) the block's own faces are on; and the number of each vertex.
struct Corners {
    used: FxHashMap<[i32; 3], (Corner, u8)>,
    numbers: FxHashMap<([i32; 3], u8), u32>,
}

/// Meshes one surface but for the faces that touch a corner on one of the features
/// `without`, which it lists: index of the padded cell, number of the direction.
pub(super) fn surface<C: Cells>(
    size: [i32; 3],
    mut writer: Writer<'_, C>,
    without: Features,
    left_out: &mut Vec<(u32, u8)>,
) {
    let mut faces = own_faces(size, &writer);
    if !without.is_empty() {
        faces.retain(|&(cell, (axis, high))| {
            let corners = face_corners(cell, axis, high);
            let keep = !corners.iter().any(|&at| without.has(feature_of(at, size[0])));
            if !keep {
                left_out.push((writer.index(cell) as u32, 2 * axis as u8 + u8::from(high)));
            }
            keep
        });
    }
    let mut corners = Corners { used: FxHashMap::default(), numbers: FxHashMap::default() };
    for &(cell, direction) in &faces {
        for at in face_corners(cell, direction.0, direction.1) {
            let face = face_at(direction.0, octant_of(cell, at));
            let entry = corners.used.entry(at).or_insert_with(|| (writer.corner(at), 0));
            entry.1 |= 1 << entry.0.face_sheet[usize::from(face)];
        }
    }
    number_vertices(size, &mut corners, &mut writer);
    let special = |corner: [i32; 3]| corners.used[&corner].0.special();
    let vertex = |corner: [i32; 3], sheet: u8| corners.numbers[&(corner, sheet)];
    let is_special =
        |&(cell, (axis, high)): &Face| face_corners(cell, axis, high).into_iter().any(special);
    for (cell, (axis, high)) in faces.iter().copied().filter(|face| !is_special(face)) {
        let v = face_corners(cell, axis, high).map(|at| vertex(at, 0));
        writer.push_quad(v, cell, (axis, high));
    }
    writer.out.plain_quads = writer.out.quad_count();
    let mut split = SplitEdges::default();
    for (cell, direction) in faces.iter().copied().filter(is_special) {
        writer.push_special(cell, direction, &mut split, vertex);
    }
}

/// The block's own faces, in the order of the quads.
fn own_faces<C: Cells>(size: [i32; 3], writer: &Writer<'_, C>) -> Vec<Face> {
    let mut faces = Vec::new();
    for (y, z) in (0..size[1]).flat_map(|y| (0..size[2]).map(move |z| (y, z))) {
        for (axis, high) in DIRECTIONS {
            for x in 0..size[0] {
                let mut beyond = [x, y, z];
                beyond[axis] += if high { 1 } else { -1 };
                if writer.cells.inside(writer.index([x, y, z]))
                    && writer.cells.outside(writer.index(beyond))
                {
                    faces.push(([x, y, z], (axis, high)));
                }
            }
        }
    }
    faces
}

/// Writes a vertex for each used sheet: each corner's first, then all others.
fn number_vertices<C: Cells>(size: [i32; 3], corners: &mut Corners, writer: &mut Writer<'_, C>) {
    for first in [true, false] {
        for y in 0..=size[1] {
            for (x, z) in (0..=size[2]).flat_map(|z| (0..=size[0]).map(move |x| (x, z))) {
                let Some((corner, used)) = corners.used.get(&[x, y, z]) else { continue };
                let lowest = used.trailing_zeros() as u8;
                for sheet in (0..corner.count).filter(|sheet| used >> sheet & 1 == 1) {
                    if (sheet == lowest) == first {
                        let number = writer.out.positions.len() as u32;
                        corners.numbers.insert(([x, y, z], sheet), number);
                        writer.push_vertex([x, y, z], corner, sheet);
                    }
                }
            }
        }
    }
}

impl Surface {
    /// Compares two surfaces bit by bit and says where they first differ.
    #[doc(hidden)]
    pub fn first_difference(&self, other: &Surface) -> Option<String> {
        fn floats(name: &str, a: &[[f32; 3]], b: &[[f32; 3]]) -> Option<String> {
            let same = |(a, b): (&[f32; 3], &[f32; 3])| a.map(f32::to_bits) == b.map(f32::to_bits);
            if a.len() != b.len() {
                return Some(format!("{name}: {} and {} vertices", a.len(), b.len()));
            }
            let at = a.iter().zip(b).position(|pair| !same(pair))?;
            Some(format!("{name} {at}: {:?} and {:?}", a[at], b[at]))
        }
        fn values<T: PartialEq + std::fmt::Debug>(name: &str, a: &[T], b: &[T]) -> Option<String> {
            if a.len() != b.len() {
                return Some(format!("{name}: {} and {}", a.len(), b.len()));
            }
            let at = a.iter().zip(b).position(|(a, b)| a != b)?;
            Some(format!("{name} {at}: {:?} and {:?}", a[at], b[at]))
        }
        floats("position", &self.positions, &other.positions)
            .or_else(|| floats("normal", &self.normals, &other.normals))
            .or_else(|| values("materials", &self.materials, &other.materials))
            .or_else(|| values("weights", &self.weights, &other.weights))
            .or_else(|| values("index", &self.indices, &other.indices))
            .or_else(|| values("quad material", &self.quad_materials, &other.quad_materials))
            .or_else(|| values("quad face", &self.quad_faces, &other.quad_faces))
            .or_else(|| values("plain quads", &[self.plain_quads], &[other.plain_quads]))
            .or_else(|| values("loose", &self.loose_materials, &other.loose_materials))
            .or_else(|| values("key", &self.keys, &other.keys))
    }
}
