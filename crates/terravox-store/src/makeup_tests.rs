//! What the values of finer blocks tell of a coarse one, beside what their cells tell.

use super::*;
use crate::finer::FinerBlocks;
use crate::pyramid::{empty_grid, rebuild, sources_of};
use crate::read::read_block;
use crate::tree::TreeError;
use proptest::prelude::*;
use std::collections::BTreeMap;
use terravox::voxel::{Cell, DenseBox, MaterialTable};

/// Values by key, and none of the other parts of a file.
struct Values(BTreeMap<Vec<u8>, Vec<u8>>);

impl ReadTree for Values {
    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, TreeError> {
        let value = self.0.get(key);
        *out = value.cloned().unwrap_or_default();
        Ok(value.is_some())
    }

    fn keys(&self, low: &[u8], high: &[u8]) -> Result<Vec<Vec<u8>>, TreeError> {
        Ok(self.0.range(low.to_vec()..high.to_vec()).map(|(key, _)| key.clone()).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn values_of_finer_blocks_tell_the_same_as_their_cells(
        mip in 1..=7_u8,
        // Mostly one material, so that all are equal now and then.
        contents in proptest::collection::vec((0..8_u8, 0..4_u8), 64),
        other in 1..4_u8,
        is_full: bool,
    ) {
        let materials = MaterialTable::default();
        let mut coder = ValueCoder::new(materials.kinds());
        let key = BlockKey { mip, pos: VoxelPos::new(-3, 0, 5) };
        let (mut values, mut stored) = (Values(BTreeMap::new()), Vec::new());
        let mut cells = DenseBox::default();
        for (from, &(place, material)) in sources_of(key).zip(&contents) {
            if !is_full && place == 0 {
                continue;
            }
            cells.reset(from.region());
            cells.fill(if place == 1 { material } else { other });
            if !is_full && place == 2 && material == 0 {
                cells.set(from.region().min, Cell::full(3));
            }
            if !is_full && place == 3 {
                cells.set(from.region().min, Cell::new(9, 70));
                cells.set_water(from.region().min, Some(30));
            }
            let mut value = Vec::new();
            coder.encode(from, &cells, &mut value);
            values.0.insert(cell_key(&from.bytes()).to_vec(), value);
            stored.push(from);
        }
        let mut made = DenseBox::default();
        let read = |from, out: &mut DenseBox| read_block(&values, &mut coder, from, out);
        prop_assert!(rebuild(key, &empty_grid(&materials), sources_of(key), read, &mut made));
        let mut direct = DenseBox::default();
        let mut blocks = FinerBlocks::new(key, materials.kinds(), &mut direct);
        for (i, &from) in stored.iter().enumerate() {
            prop_assert!(read_block(&values, &mut coder, from, &mut cells).unwrap());
            match crate::value::uniform_material(&cells) {
                Some(material) if i % 4 > 0 => blocks.add_uniform(from, material),
                _ => blocks.add(&cells),
            }
        }
        prop_assert!(direct == made);
        let uniform = crate::value::uniform_material(&made);
        match KnownCells::new(materials.kinds()).makeup(&values, key, &stored).0 {
            Makeup::Uniform(material) => prop_assert_eq!(uniform, Some(material)),
            Makeup::Several => prop_assert_eq!(uniform, None),
            Makeup::Unknown => {}
        }
    }
}
