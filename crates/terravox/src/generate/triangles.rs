//! Cells of a closed triangle mesh: the fill is `clamp(½ + d)`, `d` the distance from the cell's
//! centre to the nearest triangle, positive where the winding number of the mesh is not 0.

use super::frame::occupancy_units;
use crate::math::{MAX_MESH_EDGE, MeshDistance};
use crate::voxel::{AIR, DenseBox};

/// Voxels from the surface from which cells are empty or full.
const REACH: f32 = 0.5;

/// Fills `cells` with the inside of a mesh; for cells of mip m divide the vertices by 2^m.
///
/// A centre is inside if the mesh winds around it, in either direction: parts may overlap or face
/// inward, and an inner part that faces the other way is a hollow. The mesh must be closed, each
/// edge used as often in one direction as in the other: behind a hole, along x, cells are wrong.
/// Triangles that are farther than a voxel from the region in y or in z, or beyond it in +x, may be
/// left out. All cells are overwritten, water is cleared.
///
/// ```
/// use terravox::generate::fill_triangles;
/// use terravox::voxel::{Cell, DenseBox, Region, VoxelPos};
///
/// // A tetrahedron.
/// let vertices = [[0.0; 3], [16.0, 0.0, 0.0], [0.0, 16.0, 0.0], [0.0, 0.0, 16.0]];
/// let triangles = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
/// let mut cells = DenseBox::new(Region::new([0; 3], [16; 3]));
/// fill_triangles(&mut cells, &vertices, &triangles, 8);
/// assert_eq!(cells.cell(VoxelPos::splat(2)), Cell::full(8));
/// assert_eq!(cells.cell(VoxelPos::splat(9)), Cell::AIR);
/// ```
///
/// # Panics
/// If an edge of the region is longer than 65,536 voxels, an index names no vertex, or a vertex of
/// a triangle is NaN or farther than 65,536 voxels from the region.
pub fn fill_triangles(
    cells: &mut DenseBox,
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
    material: u8,
) {
    let region = cells.region();
    let [min, max] = [region.min, region.max].map(|corner| corner.to_array().map(f64::from));
    let limit = MAX_MESH_EDGE as f64;
    for &v in triangles.iter().flatten() {
        let near = |i: usize| {
            let at = vertices[v as usize][i];
            at >= min[i] - limit && at <= max[i] + limit
        };
        assert!((0..3).all(near), "vertex {v} is NaN or more than {limit} voxels from {region}");
    }
    let field = MeshDistance::new(vertices, triangles, region, REACH);
    cells.resize(region);
    let (materials, occupancies) = cells.arrays_mut();
    for ((cell, occupancy), depth) in materials.iter_mut().zip(occupancies).zip(field.depth) {
        let units = occupancy_units(f64::from(depth));
        *cell = if units > 0 { material } else { AIR };
        *occupancy = if *cell == AIR { 0 } else { (units - 1) as u8 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::cuboid;
    use crate::voxel::{Region, VoxelPos};

    fn units(cells: &DenseBox) -> u32 {
        cells.region().voxels().map(|pos| cells.cell(pos).units()).sum()
    }

    #[test]
    fn a_box_has_its_volume_and_parts_of_a_region_have_the_cells_of_all_of_it() {
        let (vertices, triangles) = cuboid([-9.25, -3.0, -5.5], [7.0, 4.75, 6.0]);
        let mut whole = DenseBox::new(Region::new([-12, -6, -8], [10, 7, 9]));
        fill_triangles(&mut whole, &vertices, &triangles, 3);
        let volume = f64::from(units(&whole)) / 256.0;
        assert!((volume - 16.25 * 7.75 * 11.5).abs() < 6.0, "{volume}");
        for part in [Region::new([-2, -3, -8], [3, 2, 9]), Region::new([6, 0, 5], [10, 7, 9])] {
            let mut cells = DenseBox::new(part);
            fill_triangles(&mut cells, &vertices, &triangles, 3);
            assert!(part.voxels().all(|pos| cells.cell(pos) == whole.cell(pos)), "{part}");
        }
    }

    #[test]
    fn an_inner_part_that_faces_the_other_way_is_a_hollow() {
        let (mut vertices, mut triangles) = cuboid([0.0; 3], [12.0; 3]);
        let (inner, faces) = cuboid([4.0; 3], [8.0; 3]);
        vertices.extend(inner);
        let mut cells = DenseBox::new(Region::new([-1; 3], [13; 3]));
        for turn in [false, true] {
            let mut all = triangles.clone();
            all.extend(faces.iter().map(|&[a, b, c]| {
                let [a, b, c] = [a, b, c].map(|v| v + 8);
                if turn { [a, c, b] } else { [a, b, c] }
            }));
            fill_triangles(&mut cells, &vertices, &all, 1);
            let is_empty = cells.cell(VoxelPos::splat(6)).material == AIR;
            assert_eq!((is_empty, cells.cell(VoxelPos::splat(2)).units()), (turn, 256));
        }
        triangles.clear();
        fill_triangles(&mut cells, &vertices, &triangles, 1);
        assert_eq!(units(&cells), 0);
    }

    #[test]
    #[should_panic(expected = "vertex 1 is NaN")]
    fn a_vertex_that_is_nan_panics() {
        let vertices = [[0.0; 3], [f64::NAN; 3], [1.0; 3]];
        fill_triangles(&mut DenseBox::new(Region::new([0; 3], [1; 3])), &vertices, &[[0, 1, 2]], 1);
    }
}
