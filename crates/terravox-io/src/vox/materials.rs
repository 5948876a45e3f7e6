//! Which material a colour becomes.

use super::palette::Palette;
use terravox::mesh::shade::UNSET;
use terravox::voxel::{Kind, Material, MaterialTable, SurfaceShape};

/// Materials of the colours of a file.
pub(super) struct ColourMaterials {
    /// By index of the palette; 0 for those that are not used.
    pub ids: [u8; 256],
    /// The table that they are of.
    pub table: MaterialTable,
    /// Colours that got the material of a similar one.
    pub replaced: usize,
}

/// Chooses materials. A colour that `table` has exactly is that solid (or, if it is glass, that
/// liquid). Each other one is appended to the table; if there is no id left, the colours with
/// the fewest voxels become the most similar solids. `voxels` has the number of voxels by colour.
pub(super) fn choose(
    palette: &Palette,
    glass: &[bool; 256],
    voxels: &[u64; 256],
    table: &MaterialTable,
    shape: SurfaceShape,
) -> ColourMaterials {
    let mut materials = table.materials().to_vec();
    if materials.is_empty() {
        // The first id is that of air.
        materials.push(Material { name: "Air".to_owned(), kind: Kind::Air, ..Material::default() });
    }
    let mut ids = [0; 256];
    let mut new: Vec<usize> = Vec::new();
    for index in (1..256).filter(|&index| voxels[index] > 0) {
        let liquid = find(&materials, palette[index], Kind::Liquid).filter(|_| glass[index]);
        match liquid.or_else(|| find(&materials, palette[index], Kind::Solid)) {
            Some(id) => ids[index] = id,
            None => new.push(index),
        }
    }
    // Equal colours share a material.
    let mut of_colour: Vec<([u8; 3], u64)> = Vec::new();
    for &index in &new {
        match of_colour.iter_mut().find(|(colour, _)| *colour == palette[index]) {
            Some((_, count)) => *count = count.saturating_add(voxels[index]),
            None => of_colour.push((palette[index], voxels[index])),
        }
    }
    let free = usize::from(UNSET).saturating_sub(materials.len());
    let replaced = of_colour.len().saturating_sub(free);
    let mut by_use: Vec<usize> = (0..of_colour.len()).collect();
    by_use.sort_by_key(|&i| std::cmp::Reverse(of_colour[i].1));
    by_use.truncate(free);
    by_use.sort_unstable();
    materials.extend(by_use.into_iter().map(|i| {
        let colour @ [r, g, b] = of_colour[i].0;
        Material { name: format!("#{r:02x}{g:02x}{b:02x}"), colour, shape, ..Material::default() }
    }));
    for index in new {
        ids[index] = nearest(&materials, palette[index]);
    }
    let Ok(table) = MaterialTable::try_from(materials) else {
        unreachable!("solids within 255 ids keep a table valid")
    };
    ColourMaterials { ids, table, replaced }
}

fn find(materials: &[Material], colour: [u8; 3], kind: Kind) -> Option<u8> {
    let known = materials.iter().take(usize::from(UNSET));
    known.clone().position(|m| m.colour == colour && m.kind == kind).map(|id| id as u8)
}

/// The most similar solid; `UNSET`, which is always one, in a table without solids.
fn nearest(materials: &[Material], colour: [u8; 3]) -> u8 {
    let solids = materials.iter().enumerate().take(usize::from(UNSET));
    let solids = solids.filter(|(_, material)| material.kind == Kind::Solid);
    let distance = |other: [u8; 3]| -> u32 {
        (0..3).map(|i| u32::from(colour[i].abs_diff(other[i])).pow(2)).sum()
    };
    let nearest = solids.min_by_key(|(_, material)| distance(material.colour));
    nearest.map_or(UNSET, |(id, _)| id as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vox::palette::default_palette;

    fn chosen(palette: &Palette, used: impl Fn(usize) -> u64, glass: bool) -> ColourMaterials {
        let table = MaterialTable::default();
        let voxels = std::array::from_fn(used);
        choose(palette, &[glass; 256], &voxels, &table, SurfaceShape::Blocky)
    }

    #[test]
    fn colours_of_the_table_are_its_materials_and_glass_its_liquids() {
        let table = MaterialTable::default();
        let palette = std::array::from_fn(|index| table.colour(index as u8));
        let solid = chosen(&palette, |index| u64::from(index < 23), false);
        assert!((2..23).all(|id| solid.ids[id] == id as u8));
        assert_eq!((solid.ids[1], solid.table.name(23)), (23, "#2a627c".to_owned()));
        let glass = chosen(&palette, |index| u64::from(index < 23), true);
        assert!((1..23).all(|id| glass.ids[id] == id as u8));
        assert_eq!((glass.table, glass.replaced), (table, 0));
    }

    #[test]
    fn no_default_material_has_a_colour_of_the_default_palette_or_of_another() {
        let table = MaterialTable::default();
        for (id, material) in table.materials().iter().enumerate().skip(1) {
            assert!(!default_palette()[1..].contains(&material.colour), "{}", material.name);
            assert_eq!(find(table.materials(), material.colour, material.kind), Some(id as u8));
        }
    }

    #[test]
    fn new_colours_are_appended_in_order_and_equal_ones_once() {
        let mut palette = default_palette();
        palette[9] = palette[200];
        let used = [200, 9, 4];
        let got = chosen(&palette, |index| u64::from(used.contains(&index)), false);
        assert_eq!(used.map(|index| got.ids[index]), [24, 24, 23]);
        assert_eq!(got.table.materials().len(), 25);
        assert_eq!(got.table.colour(24), palette[200]);
        assert_eq!(got.table.shape(24), SurfaceShape::Blocky);
        assert_eq!(got.ids[1], 0);
    }

    #[test]
    fn with_all_colours_in_use_the_rarest_become_similar_ones() {
        let palette = default_palette();
        let got = chosen(&palette, |index| 1000 - index as u64, false);
        assert_eq!((got.table.materials().len(), got.replaced), (255, 23));
        for index in 1..256 {
            let colour = got.table.colour(got.ids[index]);
            match index {
                1..=232 => assert_eq!(colour, palette[index]),
                _ => {
                    let off = |i: usize| colour[i].abs_diff(palette[index][i]);
                    assert!((0..3).all(|i| off(i) < 90), "{index}: {colour:?}");
                }
            }
        }
    }
}
