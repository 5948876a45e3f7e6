//! Writes binary STL.
//!
//! Source: 3D Systems, "StereoLithography Interface Specification", 1989.

use super::closed::{PrintFrame, PrintSurface};
use std::io::{self, Write};

/// Writes a surface as binary STL; vertices at one place have the same bits. `out` should be
/// buffered.
///
/// # Errors
/// If `out` fails, `frame` is invalid, or the surface has 2^32 triangles or more.
///
/// # Panics
/// If an index of the surface is not below its number of positions.
pub fn write_stl(
    out: &mut impl Write,
    surface: &PrintSurface,
    frame: PrintFrame,
) -> io::Result<()> {
    let count = count_field(surface.triangles.len())?;
    let positions = frame.positions(surface)?;
    // Not "solid", by which text is known.
    let mut header = [b' '; 80];
    header[..8].copy_from_slice(b"terravox");
    out.write_all(&header)?;
    out.write_all(&count.to_le_bytes())?;
    for triangle in &surface.triangles {
        let corners = triangle.map(|v| positions[v as usize]);
        let mut record = [0; 50];
        let floats = normal(corners).into_iter().chain(corners.into_iter().flatten());
        for (field, float) in record.as_chunks_mut::<4>().0.iter_mut().zip(floats) {
            *field = float.to_le_bytes();
        }
        out.write_all(&record)?;
    }
    out.flush()
}

/// The field that says how many triangles there are.
fn count_field(triangles: usize) -> io::Result<u32> {
    u32::try_from(triangles).map_err(|_| {
        io::Error::other(format!("the model has {triangles} triangles; STL allows 2^32 − 1"))
    })
}

/// The unit normal of a triangle; zero if it has no area, from which programs compute it.
fn normal([a, b, c]: [[f32; 3]; 3]) -> [f32; 3] {
    let way = |to: [f32; 3]| [0, 1, 2].map(|i| f64::from(to[i]) - f64::from(a[i]));
    let ([ux, uy, uz], [vx, vy, vz]) = (way(b), way(c));
    let n = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
    let length = n.iter().map(|v| v * v).sum::<f64>().sqrt();
    if length > 0.0 { n.map(|v| (v / length) as f32) } else { [0.0; 3] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obj::UpAxis;
    use terravox::voxel::VoxelPos;

    fn written(positions: Vec<[f32; 3]>, triangles: Vec<[u32; 3]>) -> Vec<u8> {
        let materials = vec![8; triangles.len()];
        let surface = PrintSurface { origin: VoxelPos::ZERO, positions, triangles, materials };
        let mut file = Vec::new();
        let frame = PrintFrame { units_per_voxel: 2.0, up: UpAxis::Y };
        write_stl(&mut file, &surface, frame).expect("memory");
        file
    }

    fn floats(bytes: &[u8]) -> Vec<f32> {
        bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    #[test]
    fn a_triangle_is_a_normal_three_corners_and_two_bytes() {
        let corners = vec![[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 5.0], [-1.5, 7.0, 0.0]];
        let file = written(corners, vec![[0, 1, 2], [0, 2, 1], [0, 2, 3]]);
        assert_eq!(file.len(), 84 + 3 * 50);
        assert!(file.starts_with(b"terravox ") && !file.starts_with(b"solid"));
        assert_eq!(file[80..84], [3, 0, 0, 0]);
        let records = Vec::from_iter(file[84..].chunks(50).map(|record| floats(&record[..48])));
        // The lowest corner is at 0.
        assert_eq!(records[0], [0., -1., 0., 3., 0., 0., 9., 0., 0., 3., 0., 10.]);
        assert_eq!(records[1], [0., 1., 0., 3., 0., 0., 3., 0., 10., 9., 0., 0.]);
        assert_eq!(records[2][3..], [3., 0., 0., 3., 0., 10., 0., 14., 0.]);
        // (0, 0, 10) × (-3, 14, 0), of length 1.
        let length = 205_f32.sqrt();
        let expected = [-14.0 / length, -3.0 / length, 0.0];
        assert!((0..3).all(|i| (records[2][i] - expected[i]).abs() < 1e-6), "{:?}", records[2]);
        assert!(file[84..].chunks(50).all(|record| record[48..] == [0, 0]));
    }

    #[test]
    fn a_surface_without_triangles_is_a_header() {
        let file = written(vec![[1.0; 3]], vec![]);
        assert_eq!((file.len(), &file[80..]), (84, &[0; 4][..]));
    }

    #[test]
    fn normals_of_tiny_and_huge_triangles_have_length_one_and_those_without_area_are_zero() {
        for scale in [1e-30_f32, 1e-9, 1.0, 1e9, 1e30] {
            let [x, y, z] = normal([[0.0; 3], [scale, 0.0, 0.0], [0.0, scale, 0.0]]);
            assert_eq!([x, y, z], [0.0, 0.0, 1.0], "{scale}");
        }
        assert_eq!(normal([[1.0, 2.0, 3.0]; 3]), [0.0; 3]);
        assert_eq!(normal([[0.0; 3], [1.0; 3], [2.0; 3]]), [0.0; 3]);
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn too_many_triangles_are_refused() {
        assert_eq!(count_field((1 << 32) - 1).ok(), Some(u32::MAX));
        let line = count_field(1 << 32).expect_err("too many").to_string();
        assert_eq!(line, "the model has 4294967296 triangles; STL allows 2^32 − 1");
    }
}
