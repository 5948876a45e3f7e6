//! The check of region files: see `checks`.

use terravox::voxel::{MaterialTable, VoxelGrid};
use terravox_io::anvil::{self, AnvilOptions, BlockTable};
use terravox_io::{ImportBudget, ImportLimits};

/// Regions as they are, and what stands in chunk 30, 30 of one, which begins with a compound.
pub fn anvil(bytes: &[u8]) {
    let mut file = bytes.to_vec();
    if bytes.first() == Some(&10) && bytes.len() < 1_000_000 {
        file = vec![0; 8192];
        let sectors = (bytes.len() + 5).div_ceil(4096);
        file[4 * 990..4 * 991].copy_from_slice(&(2 << 8 | sectors as u32).to_be_bytes());
        file.extend((bytes.len() as u32 + 1).to_be_bytes());
        file.push(3);
        file.extend(bytes);
    }
    let table = BlockTable::parse("", &MaterialTable::default()).expect("the default");
    let limits = ImportLimits { memory_bytes: 16 << 20, work: 1 << 26, depth: 64 };
    let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::new(limits));
    let imported =
        anvil::import(&file, &AnvilOptions::new(table), &mut budget, &mut grid, |_, _| ());
    match imported {
        Ok(imported) => {
            assert_eq!(imported.grid_chunks == 0, grid.is_empty());
            assert!(imported.notes().iter().all(|note| !note.contains('\n')));
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}
