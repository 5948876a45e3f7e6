//! Which texture each material has, and the table that the shaders read.

use bevy::prelude::*;
use bevy::render::render_resource::ShaderType;
use terravox::mesh::shade::SlopeRule;
use terravox::voxel::MaterialTable;

use crate::palette::MaterialLook;

/// Number of textures in an array.
pub const LAYERS: usize = 12;
/// What materials without a texture have in place of a layer.
const NO_LAYER: u32 = LAYERS as u32;
/// A texture repeats after so many voxels; blocks are a whole number of repeats wide.
pub(super) const REPEAT_VOXELS: f32 = 8.0;

/// What each layer shows; files of a texture folder are named after it.
pub const LAYER_NAMES: [&str; LAYERS] = [
    "grass", "leaves", "soil", "sand", "rock", "strata", "snow", "ice", "wood", "brick", "cobble",
    "plain",
];

/// The layer of a material by words in its name, as in the page of the server.
const WORDS: [(&str, u8); 27] = [
    ("leaf", 1),
    ("moss", 1),
    ("grass", 0),
    ("mud", 2),
    ("soil", 2),
    ("dirt", 2),
    ("ground", 2),
    ("sandstone", 5),
    ("lime", 5),
    ("sand", 3),
    ("salt", 3),
    ("cobble", 10),
    ("rock", 4),
    ("slate", 4),
    ("basalt", 4),
    ("granite", 4),
    ("stone", 4),
    ("lava", 4),
    ("ore", 4),
    ("snow", 6),
    ("glacier", 7),
    ("ice", 7),
    ("wood", 8),
    ("plank", 8),
    ("brick", 9),
    ("gravel", 10),
    ("pavement", 11),
];

/// The layer of a material whose look names none.
pub(super) fn layer_of(name: &str) -> u8 {
    let lower = name.to_ascii_lowercase();
    WORDS.iter().find(|(word, _)| lower.contains(word)).map_or(11, |&(_, layer)| layer)
}

/// How rough a layer is, if the look of a material does not say.
fn roughness_of(layer: u32) -> f32 {
    match layer {
        6 => 0.65,
        7 => 0.25,
        8 | 11 => 0.8,
        _ => 0.92,
    }
}

/// The table that the shaders of ground read: what docs/materials.md has, with colours.
#[derive(ShaderType, Clone, Debug, PartialEq)]
pub(super) struct GroundTable {
    /// By material: linear colour, roughness.
    colours: [Vec4; 256],
    /// By material, four in each: the layer.
    layers: [UVec4; 64],
    /// By layer, then without one: mean linear colour and roughness of its materials.
    kinds: [Vec4; LAYERS + 1],
    /// By layer: the mean of the texture.
    means: [Vec4; LAYERS],
    /// Unset, flat, steep material; 1 if there are textures.
    slope: UVec4,
    /// Slopes from and to, repeats per voxel, metres per voxel.
    between: Vec4,
}

impl GroundTable {
    /// The table of materials whose textures have these means; without means, of colours alone.
    pub fn new(
        table: &MaterialTable,
        looks: &[MaterialLook],
        means: Option<&[Vec3]>,
        voxel_size_m: f32,
    ) -> GroundTable {
        let mut colours = [Vec4::ZERO; 256];
        let mut layers = [UVec4::splat(NO_LAYER); 64];
        let mut kinds = [Vec4::ZERO; LAYERS + 1];
        let mut counts = [0.0; LAYERS + 1];
        for id in 0..=255u8 {
            let at = usize::from(id);
            let look = looks.get(at).cloned().unwrap_or_default();
            let [r, g, b] = table.colour(id);
            let layer = match (table.get(id), look.layer) {
                (None, None) => NO_LAYER,
                (_, Some(layer)) => u32::from(layer).min(NO_LAYER),
                (Some(material), None) => u32::from(layer_of(&material.name)),
            };
            let roughness = look.roughness.unwrap_or_else(|| roughness_of(layer)).clamp(0.05, 1.0);
            colours[at] = Color::srgb_u8(r, g, b).to_linear().to_vec3().extend(roughness);
            layers[at / 4][at % 4] = layer;
            // Air and water are not ground.
            if table.get(id).is_some_and(|m| m.kind == terravox::voxel::Kind::Solid) {
                kinds[layer as usize] += colours[at];
                counts[layer as usize] += 1.0;
            }
        }
        for (kind, count) in kinds.iter_mut().zip(counts) {
            let unused = Vec4::new(0.2, 0.2, 0.2, 0.9);
            *kind = if count > 0.0 { *kind / count } else { unused };
        }
        let mean = |layer| means.and_then(|means| means.get(layer)).copied();
        let rule = SlopeRule::default();
        GroundTable {
            colours,
            layers,
            kinds,
            means: std::array::from_fn(|layer| mean(layer).unwrap_or(Vec3::ONE).extend(1.0)),
            slope: UVec4::new(
                rule.unset.into(),
                rule.flat.into(),
                rule.steep.into(),
                means.is_some().into(),
            ),
            between: Vec4::new(rule.from, rule.to, 1.0 / REPEAT_VOXELS, voxel_size_m),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(table: &GroundTable, id: usize) -> u32 {
        table.layers[id / 4][id % 4]
    }

    #[test]
    fn materials_have_the_layer_of_their_name_or_of_their_look() {
        let materials = MaterialTable::default();
        let table = GroundTable::new(&materials, &[], Some(&[Vec3::ONE; LAYERS]), 1.0);
        let of = |name: &str| materials.find(name).map(|id| layer(&table, id.into()));
        assert_eq!(of("Grass"), Some(0));
        assert_eq!(of("LeafyGrass"), Some(1));
        assert_eq!(of("Sandstone"), Some(5));
        assert_eq!(of("Cobblestone"), Some(10));
        assert_eq!(layer(&table, 200), NO_LAYER);
        let mut looks = vec![MaterialLook::default(); 3];
        looks[2] = MaterialLook { layer: Some(9), roughness: Some(0.4) };
        let table = GroundTable::new(&materials, &looks, None, 1.0);
        assert_eq!((layer(&table, 2), table.colours[2].w, table.slope.w), (9, 0.4, 0));
    }
}
