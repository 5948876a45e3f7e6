//! Procedural textures of materials: seamlessly repeating squares of noise, cells and courses
//! in the colours of a material table. No image is read.
//!
//! Sources: value noise on a lattice that repeats; Worley, "A Cellular Texture Basis
//! Function" (1996) for stones and cracks.

use glam::{Vec2, Vec3};

/// One texture: brightness around a mean colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pattern {
    /// Linear; the mean of the texture.
    pub colour: Vec3,
    /// Construction.
    pub kind: PatternKind,
    /// Distinguishes textures of one kind.
    pub seed: u32,
}

/// Construction of a texture. Counts are along the texture's edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PatternKind {
    /// Grains: count, and contrast.
    Grains(u32, f32),
    /// Blades of grass from above.
    Grass,
    /// The side of turf: earth of this linear colour with some grass that hangs over it.
    Turf(Vec3),
    /// Layers of rock.
    Strata,
    /// Plates with cracks between: count, and darkness of the cracks.
    Cracks(u32, f32),
    /// Round stones: count.
    Cobbles(u32),
    /// Bricks in mortar.
    Courses,
    /// Square slabs.
    Slabs,
    /// Boards.
    Planks,
}

/// Returns the side, top and bottom patterns of a material by its name; `earth` is the linear
/// colour of bare ground.
pub(crate) fn patterns(name: &str, colour: Vec3, earth: Vec3, seed: u32) -> [Pattern; 3] {
    use PatternKind::*;
    let of = |kind| Pattern { colour, kind, seed };
    let same = |kind| [of(kind); 3];
    match name.to_ascii_lowercase().as_str() {
        "grass" | "leafygrass" => {
            let side = colour.lerp(earth, 0.82);
            let bottom = Pattern { colour: earth, kind: Grains(40, 0.3), seed };
            [Pattern { colour: side, ..of(Turf(earth)) }, of(Grass), bottom]
        }
        "rock" | "slate" | "sandstone" | "limestone" | "basalt" => {
            [of(Strata), of(Cracks(9, 0.4)), of(Cracks(9, 0.4))]
        }
        "glacier" | "ice" => same(Cracks(7, 0.15)),
        "crackedlava" => same(Cracks(9, 0.75)),
        "cobblestone" => same(Cobbles(24)),
        "brick" => same(Courses),
        "pavement" => same(Slabs),
        "woodplanks" => same(Planks),
        "sand" | "snow" | "salt" => same(Grains(56, 0.14)),
        "concrete" | "asphalt" => same(Grains(64, 0.2)),
        _ => same(Grains(40, 0.3)),
    }
}

impl Pattern {
    /// Returns the linear colour at texture coordinates, 0 to 1 from left to right and top to
    /// bottom, up to a factor: the caller scales the mean to [`Pattern::colour`].
    pub fn at(&self, uv: Vec2) -> Vec3 {
        let tone = |value: f32| self.colour * (1.0 + value);
        let noise = |across: u32, down: u32| self.noise(uv, across, down);
        match self.kind {
            PatternKind::Grains(count, contrast) => {
                let fine = self.octaves(uv, count) + 0.5 * noise(8, 8);
                tone(contrast * fine)
            }
            PatternKind::Grass => {
                let leaf = noise(116, 80) + 0.7 * noise(52, 76) + 0.5 * noise(20, 20);
                let dry = 0.06 * noise(12, 12);
                tone(0.3 * leaf) * Vec3::new(1.0 + dry, 1.0, 1.0 - dry)
            }
            PatternKind::Turf(earth) => {
                let hangs = noise(72, 12) + 0.5 * noise(26, 18) + 0.6 * self.octaves(uv, 22);
                let green = self.colour + (self.colour - earth) * 0.8;
                let light = 1.0 + 0.25 * self.octaves(uv, 48);
                earth.lerp(green.max(Vec3::ZERO), (0.6 * hangs).clamp(0.0, 1.0)) * light
            }
            PatternKind::Strata => {
                let bent = uv + Vec2::new(0.0, 0.04 * noise(4, 4) + 0.008 * noise(24, 24));
                let layer = self.noise(bent, 4, 22) + 0.6 * self.noise(bent, 6, 61);
                let ledge = self.noise(bent, 10, 30).abs();
                let crack = -0.5 * (1.0 - 8.0 * ledge).max(0.0);
                tone(0.1 * layer + 0.2 * self.octaves(uv, 36) + 0.6 * crack)
            }
            PatternKind::Cracks(count, depth) => {
                let bent =
                    uv + 0.015 * Vec2::new(noise(15, 15), self.reseeded(7).noise(uv, 15, 15));
                let [near, next, plate] = self.worley(bent, count);
                let crack = (1.0 - 9.0 * (next - near)).max(0.0);
                tone(0.14 * plate + 0.22 * self.octaves(uv, 32) - depth * crack)
            }
            PatternKind::Cobbles(count) => {
                let [near, next, stone] = self.worley(uv, count);
                let joint = (1.0 - 4.0 * (next - near)).max(0.0);
                tone(0.15 * stone + 0.25 * (0.4 - near) - 0.5 * joint + 0.1 * self.octaves(uv, 64))
            }
            PatternKind::Courses => self.masonry(uv, [16, 32], 0.5, 0.35),
            PatternKind::Slabs => self.masonry(uv, [8, 8], 0.0, -0.35),
            PatternKind::Planks => {
                let grain = 0.16 * noise(12, 192) + 0.1 * noise(6, 80);
                self.masonry(uv, [2, 32], 0.37, -0.5) * (1.0 + grain)
            }
        }
    }

    /// Pieces in rows, each row shifted by a share of a piece against the one above; joints are
    /// brighter or darker by `joint`.
    fn masonry(&self, uv: Vec2, [across, down]: [u32; 2], shift: f32, joint: f32) -> Vec3 {
        let y = uv.y * down as f32;
        let row = y.floor().rem_euclid(down as f32);
        let x = (uv.x * across as f32 + shift * row).rem_euclid(across as f32);
        let inside = |v: f32| (v - v.floor() - 0.5).abs();
        // Shares of the texture's edge.
        let gap = [inside(x) / across as f32, inside(y) / down as f32];
        let edge = [0.5 / across as f32, 0.5 / down as f32];
        let is_joint = (0..2).any(|axis| edge[axis] - gap[axis] < 0.0025);
        let piece = self.hash(x.floor() as u32, row as u32);
        let value = if is_joint { joint } else { 0.14 * piece };
        self.colour * (1.0 + value + 0.14 * self.octaves(uv, 64))
    }

    /// Worley noise of `count`² points: the distances to the nearest two, in units of the mean
    /// spacing, and a number in -1..1 of the nearest.
    fn worley(&self, uv: Vec2, count: u32) -> [f32; 3] {
        let (low, part) = lattice(uv, [count; 2]);
        let [mut near, mut next, mut own] = [f32::MAX, f32::MAX, 0.0];
        for i in 0..9 {
            let step = [i % 3, i / 3];
            let [x, y] = [0, 1].map(|axis| (low[axis] + count + step[axis] - 1) % count);
            let corner = Vec2::new(step[0] as f32 - 1.0, step[1] as f32 - 1.0);
            let offset = Vec2::new(self.hash(x, y), self.reseeded(1).hash(x, y)) * 0.42 + 0.5;
            let distance = (corner + offset).distance_squared(part);
            if distance < near {
                (near, next, own) = (distance, near, self.reseeded(2).hash(x, y));
            } else {
                next = next.min(distance);
            }
        }
        [near.sqrt(), next.sqrt(), own]
    }

    /// Noise of three octaves, the coarsest with `count` waves along the edge.
    fn octaves(&self, uv: Vec2, count: u32) -> f32 {
        let noise = |by: u32| self.reseeded(by).noise(uv, by * count, by * count);
        0.6 * noise(1) + 0.4 * noise(2) + 0.25 * noise(4)
    }

    /// Smooth noise in -1..1 of period 1, with this many values along each edge.
    fn noise(&self, uv: Vec2, across: u32, down: u32) -> f32 {
        let ([x, y], part) = lattice(uv, [across, down]);
        let s = part * part * (3.0 - 2.0 * part);
        let [right, below] = [(x + 1) % across, (y + 1) % down];
        let mix = |a: f32, b: f32, by: f32| a + (b - a) * by;
        let top = mix(self.hash(x, y), self.hash(right, y), s.x);
        mix(top, mix(self.hash(x, below), self.hash(right, below), s.x), s.y)
    }

    /// The same pattern with another seed.
    fn reseeded(&self, by: u32) -> Pattern {
        Pattern { seed: self.seed.wrapping_add(by.wrapping_mul(0x9E37_79B9)), ..*self }
    }

    /// Returns a number in -1..1 for a lattice point.
    fn hash(&self, x: u32, y: u32) -> f32 {
        let mut h = x.wrapping_mul(0x85EB_CA6B) ^ y.wrapping_mul(0xC2B2_AE35) ^ self.seed;
        h = (h ^ (h >> 16)).wrapping_mul(0x7FEB_352D);
        h = (h ^ (h >> 15)).wrapping_mul(0x846C_A68B);
        h ^= h >> 16;
        (h & 0xFFFF) as f32 * (1.0 / 32_767.5) - 1.0
    }
}

/// Returns the lattice point at or before texture coordinates, and the fractions beyond it.
/// The lattice has this many points along each edge and repeats; coordinates are -8 or more.
fn lattice(uv: Vec2, [across, down]: [u32; 2]) -> ([u32; 2], Vec2) {
    // Positive, so that the conversion rounds down.
    let at = (uv + 8.0) * Vec2::new(across as f32, down as f32);
    let [x, y] = at.to_array().map(|v| v as u32);
    ([x % across, y % down], at - Vec2::new(x as f32, y as f32))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 10] = [
        "Grass",
        "Rock",
        "Ice",
        "CrackedLava",
        "Cobblestone",
        "Brick",
        "Pavement",
        "WoodPlanks",
        "Sand",
        "material 99",
    ];

    #[test]
    fn textures_repeat_without_a_seam_and_vary() {
        let earth = Vec3::new(0.16, 0.09, 0.04);
        for (seed, name) in NAMES.into_iter().enumerate() {
            for pattern in patterns(name, Vec3::new(0.2, 0.3, 0.1), earth, seed as u32) {
                let mut darkest = f32::MAX;
                let mut brightest = 0.0_f32;
                for i in 0..400 {
                    // Off the edges of joints.
                    let uv = Vec2::new(i as f32, (i * 7 % 401) as f32) + 0.37;
                    let uv = uv / 401.0;
                    let light = pattern.at(uv);
                    for over in [Vec2::X, Vec2::Y, -Vec2::ONE] {
                        let again = pattern.at(uv + over);
                        assert!(light.abs_diff_eq(again, 0.04), "{name} at {uv}: {light} {again}");
                    }
                    assert!(light.is_finite() && light.min_element() > -0.05, "{name}: {light}");
                    darkest = darkest.min(light.element_sum());
                    brightest = brightest.max(light.element_sum());
                }
                assert!(brightest > 1.1 * darkest, "{name} is uniform");
            }
        }
    }

    #[test]
    fn rock_lies_in_layers_and_turf_has_earth_under_it() {
        let earth = Vec3::new(0.16, 0.09, 0.04);
        let change = |pattern: &Pattern, way: Vec2| -> f32 {
            let at = |i: i32| Vec2::new((i * 13 % 101) as f32, (i * 29 % 101) as f32) / 101.0;
            let light = |uv| pattern.at(uv).element_sum();
            (0..300).map(|i| (light(at(i) + way * 0.03) - light(at(i))).abs()).sum()
        };
        let [side, top, _] = patterns("Rock", Vec3::splat(0.15), earth, 3);
        let level = change(&side, Vec2::Y) / change(&side, Vec2::X);
        let even = change(&top, Vec2::Y) / change(&top, Vec2::X);
        assert!(level > 1.2 * even && (0.8..1.25).contains(&even), "{level} and {even}");
        let [side, top, bottom] = patterns("grass", Vec3::new(0.12, 0.23, 0.05), earth, 3);
        let redness = |p: Pattern| p.colour.x / p.colour.y;
        assert!(redness(top) < redness(side) && redness(side) < redness(bottom));
    }
}
