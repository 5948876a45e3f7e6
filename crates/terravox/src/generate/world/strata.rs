//! Layers of stone, gently folded.

use super::landscape::LAYER;
use super::relief::Biomes;
use crate::generate::materials::{BASALT, GROUND, LIMESTONE, MUD, ROCK, SANDSTONE, SLATE};

/// Which layers lie below a column, and how they are folded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Strata {
    kind: StoneKind,
    /// By how much the layers lie higher, voxels.
    fold: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum StoneKind {
    Common,
    Mesa,
    Badlands,
    Volcanic,
}

/// Height below which all stone is the same, voxels, folds included.
pub(super) const LOWEST_LAYER: f32 = -118.0;

/// Half layers of mesas, from the lowest, repeated.
const MESA: [u8; 12] = [
    SANDSTONE, SANDSTONE, LIMESTONE, SANDSTONE, GROUND, SANDSTONE, SANDSTONE, LIMESTONE, LIMESTONE,
    SANDSTONE, GROUND, SANDSTONE,
];

const COMMON: [u8; 11] = [ROCK, ROCK, SLATE, ROCK, SLATE, SLATE, ROCK, ROCK, ROCK, SLATE, ROCK];

const BADLANDS: [u8; 10] =
    [SANDSTONE, GROUND, LIMESTONE, SANDSTONE, MUD, SANDSTONE, GROUND, SANDSTONE, LIMESTONE, GROUND];

pub(super) fn of(biomes: &Biomes, [small, wide]: [f32; 2]) -> Strata {
    let patch = 0.06 * small + 0.12 * wide;
    let kind = match () {
        () if biomes.volcano.max(biomes.crater) > 0.25 + patch => StoneKind::Volcanic,
        () if biomes.badlands > 0.4 + patch => StoneKind::Badlands,
        () if biomes.mesa.max(0.7 * biomes.desert) > 0.4 + patch => StoneKind::Mesa,
        () => StoneKind::Common,
    };
    // Mountains have folded them more.
    let folded = 1.0 + 3.0 * biomes.mountains;
    Strata { kind, fold: folded * biomes.fold + 1.2 * small }
}

/// The stone at a height, voxels.
#[inline]
pub(super) fn stone(y: f32, strata: Strata) -> u8 {
    let level = y - strata.fold;
    if y < LOWEST_LAYER {
        return BASALT;
    }
    let layer =
        |height: f32, count: usize| (level / height).floor().rem_euclid(count as f32) as usize;
    match strata.kind {
        StoneKind::Volcanic => BASALT,
        StoneKind::Mesa => MESA[layer(0.5 * LAYER, MESA.len())],
        StoneKind::Badlands => BADLANDS[layer(3.4, BADLANDS.len())],
        StoneKind::Common => match level {
            l if l < -60.0 => BASALT,
            l if l < -24.0 => SLATE,
            l if l < 8.0 => ROCK,
            l if l < 22.0 => LIMESTONE,
            _ => COMMON[layer(8.0, COMMON.len())],
        },
    }
}
