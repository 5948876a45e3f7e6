//! The slow twin: the distance between two surfaces, by brute force over sample points.

use crate::mesh::Surface;

type Point3 = [f64; 3];

/// Returns the largest distance of sample points of either surface, `steps` along each edge, from
/// the other.
pub(super) fn deviation(a: &Surface, b: &Surface, steps: u32) -> f64 {
    farthest(a, b, steps).max(farthest(b, a, steps))
}

/// Returns the largest distance of sample points of `from`, `steps` along each edge, from `to`.
pub(super) fn farthest(from: &Surface, to: &Surface, steps: u32) -> f64 {
    let [from, to] = [from, to].map(corners);
    let (mut worst, mut last) = (0.0_f64, 0);
    for t in &from {
        for i in 0..=steps {
            for j in 0..=steps - i {
                let [u, v] = [i, j].map(|k| f64::from(k) / f64::from(steps));
                let p =
                    [0, 1, 2].map(|x| t[0][x] + (t[1][x] - t[0][x]) * u + (t[2][x] - t[0][x]) * v);
                worst = worst.max(nearest(p, &to, &mut last, worst));
            }
        }
    }
    worst
}

/// Begins with the triangle at `last`, which was near the sample point before, and skips those
/// whose boxes are farther than the nearest so far. Stops at any that is no farther than `enough`.
fn nearest(p: Point3, to: &[[Point3; 3]], last: &mut usize, enough: f64) -> f64 {
    let mut best = to.get(*last).map_or(f64::INFINITY, |t| distance(p, t));
    for (i, t) in to.iter().enumerate() {
        if best <= enough {
            break;
        }
        let beyond = [0, 1, 2].map(|i| {
            let [a, b, c] = t.map(|corner| corner[i]);
            (a.min(b).min(c) - p[i]).max(p[i] - a.max(b).max(c))
        });
        if beyond.iter().all(|d| *d < best) {
            let off = distance(p, t);
            if off < best {
                (best, *last) = (off, i);
            }
        }
    }
    best
}

fn corners(surface: &Surface) -> Vec<[Point3; 3]> {
    let position = |v: u32| surface.positions[v as usize].map(f64::from);
    surface.triangles().map(|t| t.map(position)).collect()
}

/// Returns the distance from the plane if the projection is inside the triangle, else from the
/// nearest edge.
fn distance(p: Point3, &[a, b, c]: &[Point3; 3]) -> f64 {
    let (ab, ac, ap) = (sub(b, a), sub(c, a), sub(p, a));
    let (d00, d01, d11) = (dot(ab, ab), dot(ab, ac), dot(ac, ac));
    let (d20, d21) = (dot(ap, ab), dot(ap, ac));
    let area = d00 * d11 - d01 * d01;
    let (v, w) = ((d11 * d20 - d01 * d21) / area, (d00 * d21 - d01 * d20) / area);
    if v >= 0.0 && w >= 0.0 && v + w <= 1.0 {
        let on = [0, 1, 2].map(|i| a[i] + ab[i] * v + ac[i] * w);
        return length(sub(p, on));
    }
    segment(p, a, b).min(segment(p, b, c)).min(segment(p, c, a))
}

fn segment(p: Point3, a: Point3, b: Point3) -> f64 {
    let (ab, ap) = (sub(b, a), sub(p, a));
    let long = dot(ab, ab);
    let along = if long > 0.0 { (dot(ab, ap) / long).clamp(0.0, 1.0) } else { 0.0 };
    length([0, 1, 2].map(|i| ap[i] - ab[i] * along))
}

fn sub(a: Point3, b: Point3) -> Point3 {
    [0, 1, 2].map(|i| a[i] - b[i])
}

fn dot(a: Point3, b: Point3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn length(a: Point3) -> f64 {
    dot(a, a).sqrt()
}
