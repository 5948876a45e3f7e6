//! Noise that repeats after 1 along u and v, for the textures.

/// A hash of a lattice point, 0 to 1.
fn hash(x: u32, y: u32, seed: u32) -> f32 {
    let mut h = x
        .wrapping_mul(0x8da6_b343)
        .wrapping_add(y.wrapping_mul(0xd816_3841))
        .wrapping_add(seed.wrapping_mul(0xcb1a_b31f));
    h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
    h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
    ((h ^ (h >> 15)) >> 8) as f32 / 16_777_216.0
}

/// Value noise on a lattice of `columns` × `rows` points, 0 to 1.
pub(super) fn stretched(u: f32, v: f32, columns: u32, rows: u32, seed: u32) -> f32 {
    let (x, y) = (u.rem_euclid(1.0) * columns as f32, v.rem_euclid(1.0) * rows as f32);
    let (x0, y0) = (x as u32, y as u32);
    let fade = |t: f32| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let (s, t) = (fade(x - x0 as f32), fade(y - y0 as f32));
    let at = |dx: u32, dy: u32| hash((x0 + dx) % columns, (y0 + dy) % rows, seed);
    let top = at(0, 0) + s * (at(1, 0) - at(0, 0));
    let low = at(0, 1) + s * (at(1, 1) - at(0, 1));
    top + t * (low - top)
}

/// Value noise on a square lattice.
pub(super) fn value(u: f32, v: f32, cells: u32, seed: u32) -> f32 {
    stretched(u, v, cells, cells, seed)
}

/// Octaves of value noise, each twice as fine as the one before.
pub(super) fn fractal(u: f32, v: f32, cells: u32, octaves: u32, seed: u32) -> f32 {
    let (mut sum, mut total, mut weight) = (0.0, 0.0, 1.0);
    for octave in 0..octaves {
        sum += weight * value(u, v, cells << octave, seed + 17 * octave);
        total += weight;
        weight *= 0.55;
    }
    sum / total
}

/// A point of a pattern of cells around scattered points.
pub(super) struct Scattered {
    /// Distance to the nearest point, in cells.
    pub nearest: f32,
    /// How much farther the second nearest is: 0 at the border of two cells.
    pub border: f32,
    /// A number of the cell, 0 to 1.
    pub number: f32,
}

/// Cells around scattered points, one in each square of a lattice.
pub(super) fn scattered(u: f32, v: f32, cells: u32, seed: u32) -> Scattered {
    let (x, y) = (u.rem_euclid(1.0) * cells as f32, v.rem_euclid(1.0) * cells as f32);
    let (x0, y0) = (x.floor() as i32, y.floor() as i32);
    let (mut first, mut second, mut number) = (9.0f32, 9.0f32, 0.0);
    for cy in y0 - 1..=y0 + 1 {
        for cx in x0 - 1..=x0 + 1 {
            let [column, row] = [cx, cy].map(|c| c.rem_euclid(cells as i32) as u32);
            let dx = cx as f32 + 0.1 + 0.8 * hash(column, row, seed) - x;
            let dy = cy as f32 + 0.1 + 0.8 * hash(column, row, seed + 1) - y;
            let distance = (dx * dx + dy * dy).sqrt();
            if distance < first {
                (first, second, number) = (distance, first, hash(column, row, seed + 2));
            } else {
                second = second.min(distance);
            }
        }
    }
    Scattered { nearest: first, border: second - first, number }
}
