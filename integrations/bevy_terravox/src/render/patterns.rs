//! The twelve textures, as functions of u and v that repeat after 1.

use std::f32::consts::TAU;

use super::noise::{fractal, scattered, stretched, value};

/// A point of a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Texel {
    /// Height of the surface, 0 to 1: it makes the normals, and decides which of two materials
    /// shows where they meet.
    pub height: f32,
    /// Brightness, 0 to 1.
    pub tone: f32,
    /// −1 cold, 1 warm.
    pub warmth: f32,
    /// Added to the roughness of the material.
    pub rough: f32,
}

fn texel(height: f32, tone: f32, warmth: f32, rough: f32) -> Texel {
    Texel { height, tone, warmth, rough }
}

/// Smoothstep.
fn step(from: f32, to: f32, at: f32) -> f32 {
    let t = ((at - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// The functions of all layers, in the order of [`super::looks::LAYER_NAMES`].
pub(super) const PATTERNS: [fn(f32, f32) -> Texel; 12] =
    [grass, leaves, soil, sand, rock, strata, snow, ice, wood, brick, cobble, plain];

/// Blades that lean in patches.
fn grass(u: f32, v: f32) -> Texel {
    let lean = 0.05 * (fractal(u, v, 4, 2, 1) - 0.5);
    let blades = stretched(u + lean + 0.01 * value(u, v, 40, 2), v, 72, 22, 3);
    let other = stretched(u, v + lean, 26, 64, 4);
    let patch = fractal(u, v, 5, 3, 5);
    let height = 0.5 * blades.max(other * 0.9) + 0.25 * blades * other + 0.25 * patch;
    texel(height, 0.28 + 0.5 * height + 0.16 * patch, 1.1 * (patch - 0.45), 0.0)
}

/// Leaves that lie on one another.
fn leaves(u: f32, v: f32) -> Texel {
    let bend = 0.03 * (fractal(u, v, 6, 2, 9) - 0.5);
    let (large, small) = (scattered(u + bend, v - bend, 13, 10), scattered(u, v + bend, 22, 14));
    let patch = fractal(u, v, 4, 3, 12);
    let leaf = step(0.0, 0.35, large.border) * (0.6 + 0.4 * large.number);
    let height = 0.55 * leaf + 0.25 * step(0.0, 0.3, small.border) * small.number + 0.2 * patch;
    texel(height, 0.3 + 0.45 * height + 0.15 * small.number, 0.8 * (large.number - 0.5), -0.05)
}

/// Crumbs, and some small stones.
fn soil(u: f32, v: f32) -> Texel {
    let (rough, fine) = (fractal(u, v, 8, 5, 20), fractal(u, v, 48, 2, 21));
    let stones = scattered(u, v, 15, 22);
    let stone = step(0.32, 0.22, stones.nearest) * step(0.62, 0.68, stones.number);
    let height = 0.55 * rough + 0.2 * fine + 0.3 * stone;
    let tone = 0.25 + 0.42 * rough + 0.14 * fine + 0.16 * stone;
    texel(height, tone, 0.5 * (fractal(u, v, 5, 2, 26) - 0.5) - 0.4 * stone, 0.0)
}

/// Ripples and grains.
fn sand(u: f32, v: f32) -> Texel {
    let warp = fractal(u, v, 3, 3, 30);
    let fine = fractal(u, v, 90, 2, 31);
    let ripple = (TAU * (11.0 * v + 2.2 * warp)).sin();
    let strength = step(0.3, 0.7, fractal(u, v, 4, 2, 32));
    let height = 0.5 + 0.17 * ripple * strength + 0.16 * (fine - 0.5);
    texel(height, 0.5 + 0.05 * ripple * strength + 0.22 * (fine - 0.5), 0.3 * (warp - 0.5), 0.0)
}

/// Broken faces with cracks.
fn rock(u: f32, v: f32) -> Texel {
    let bend = 0.09 * (fractal(u, v, 6, 4, 40) - 0.5);
    let faces = scattered(u + bend, v - 0.8 * bend, 5, 41);
    let small = scattered(u - bend, v + bend, 13, 44);
    let rough = fractal(u, v, 10, 5, 47);
    let crack = step(0.0, 0.09, faces.border);
    let chip = step(0.0, 0.06, small.border);
    let height = (0.3 * faces.number + 0.14 * small.number + 0.5 * rough) * (0.55 + 0.45 * crack);
    let tone = (0.3 + 0.48 * rough + 0.1 * faces.number) * (0.68 + 0.32 * crack);
    texel(height - 0.03 * (1.0 - chip), tone, 0.5 * (faces.number - 0.5), -0.06 * rough)
}

/// Layers of stone.
fn strata(u: f32, v: f32) -> Texel {
    let bend = 0.05 * (fractal(u, v, 4, 4, 50) - 0.5);
    let band = stretched(u, v + bend, 1, 14, 51);
    let thin = stretched(u, v + bend, 2, 46, 52);
    let rough = fractal(u, v, 14, 4, 53);
    let height = 0.5 * band + 0.2 * thin + 0.3 * rough;
    texel(height, 0.3 + 0.26 * band + 0.12 * thin + 0.2 * rough, 0.9 * (band - 0.5), 0.0)
}

/// Soft drifts that glitter a little.
fn snow(u: f32, v: f32) -> Texel {
    let (drift, fine) = (fractal(u, v, 4, 4, 60), fractal(u, v, 70, 2, 61));
    let height = 0.4 + 0.35 * drift + 0.12 * fine;
    texel(
        height,
        0.47 + 0.06 * drift + 0.04 * fine,
        0.3 * (drift - 0.5),
        -0.3 * step(0.8, 0.9, fine),
    )
}

/// Smooth, with white cracks below.
fn ice(u: f32, v: f32) -> Texel {
    let bend = 0.1 * (fractal(u, v, 5, 3, 70) - 0.5);
    let cracks = scattered(u + bend, v + bend, 4, 71);
    let cloud = fractal(u, v, 4, 4, 74);
    let line = step(0.05, 0.0, cracks.border);
    let height = 0.5 + 0.2 * cloud - 0.15 * line;
    texel(height, 0.36 + 0.22 * cloud + 0.25 * line, 0.4 * (line - cloud), 0.2 * cloud + 0.2 * line)
}

/// Planks with grain.
fn wood(u: f32, v: f32) -> Texel {
    let plank = (v * 6.0).floor();
    let across = (v * 6.0).fract();
    let shift = value(plank / 6.0 + 0.08, 0.5, 6, 80);
    let gap = step(0.0, 0.05, across.min(1.0 - across));
    let end = ((u + shift).fract() * 2.0).fract();
    let gap = gap * step(0.0, 0.012, end.min(1.0 - end));
    let grain = stretched(u + shift, v + 0.01 * value(u, v, 5, 81), 4, 84, 82);
    let fibre = stretched(u, v, 16, 128, 83);
    let height = gap * (0.6 + 0.25 * grain + 0.15 * fibre);
    let tone = (0.22 + 0.78 * gap) * (0.34 + 0.24 * grain + 0.1 * fibre + 0.12 * shift);
    texel(height, tone, 0.7 * (shift - 0.5), 0.0)
}

/// Bricks in running bond.
fn brick(u: f32, v: f32) -> Texel {
    let row = (v * 12.0).floor();
    let along = u * 6.0 + 0.5 * (row as i32 % 2) as f32;
    let number = value((along.floor().rem_euclid(6.0) + 0.001) / 6.0, (row + 0.001) / 12.0, 12, 90);
    let (x, y) = (along.fract(), (v * 12.0).fract());
    let rough = fractal(u, v, 20, 4, 91);
    let edge = (x.min(1.0 - x) * 2.0).min(y.min(1.0 - y));
    let face = step(0.05, 0.12, edge + 0.05 * (rough - 0.5));
    let height = face * (0.65 + 0.1 * number + 0.2 * rough) + 0.15 * rough;
    let mortar = 0.55 + 0.15 * rough;
    let tone = mortar + face * (0.3 + 0.26 * rough + 0.18 * number - mortar);
    texel(height, tone, face * (0.9 * (number - 0.5)) - 0.7 * (1.0 - face), 0.0)
}

/// Round stones in mortar.
fn cobble(u: f32, v: f32) -> Texel {
    let bend = 0.02 * (fractal(u, v, 8, 2, 100) - 0.5);
    let stones = scattered(u + bend, v - bend, 9, 101);
    let rough = fractal(u, v, 18, 4, 104);
    let round = step(0.02, 0.42, stones.border);
    let height = round * (0.7 + 0.1 * stones.number) + 0.2 * rough;
    let tone = (0.45 + 0.55 * step(0.02, 0.12, stones.border))
        * (0.28 + 0.25 * rough + 0.22 * stones.number);
    texel(height, tone, 0.6 * (stones.number - 0.5), -0.1 * round)
}

/// Concrete: fine grain, pores, stains.
fn plain(u: f32, v: f32) -> Texel {
    let (stain, fine) = (fractal(u, v, 4, 4, 110), fractal(u, v, 64, 2, 111));
    let pores = scattered(u, v, 26, 112);
    let pore = step(0.14, 0.08, pores.nearest) * step(0.7, 0.75, pores.number);
    let height = 0.6 + 0.12 * fine + 0.1 * stain - 0.4 * pore;
    texel(height, 0.38 + 0.14 * stain + 0.12 * fine - 0.14 * pore, 0.3 * (stain - 0.5), 0.0)
}
