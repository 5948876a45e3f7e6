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

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn too_many_triangles_are_refused() {
        assert_eq!(count_field((1 << 32) - 1).ok(), Some(u32::MAX));
        let line = count_field(1 << 32).expect_err("too many").to_string();
        assert_eq!(line, "the model has 4294967296 triangles; STL allows 2^32 − 1");
    }
}
