//! A cell: the value at one voxel position, a material and how much of it.
//!
//! Source: Roblox's "Voxel Terrain: Storage" (2017): explicit air, 8-bit occupancy
//! decoded as `(v + 1) / 256`.

/// Material id of air. Air never has occupancy.
pub const AIR: u8 = 0;

/// Material id of water, and of the liquid in the water channel of solid cells.
pub const WATER: u8 = 1;

/// One cell: material id and stored occupancy.
///
/// `occupancy` is the stored byte `v`, a fill of `(v + 1) / 256`; always 0 for air.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cell {
    /// Id in the world's material table.
    pub material: u8,
    /// Stored occupancy `v`, a fill of `(v + 1) / 256`.
    pub occupancy: u8,
}

impl Cell {
    /// Air.
    pub const AIR: Cell = Cell { material: AIR, occupancy: 0 };

    /// A cell with air's occupancy cleared.
    pub const fn new(material: u8, occupancy: u8) -> Cell {
        Cell { material, occupancy: normal_occupancy(material, occupancy) }
    }

    /// A cell filled with `material`: occupancy 255, or air.
    pub const fn full(material: u8) -> Cell {
        Cell { material, occupancy: full_occupancy(material) }
    }

    /// The fill as a fraction: 0 for air, else 1/256 to 1.
    pub fn fraction(self) -> f32 {
        self.units() as f32 / 256.0
    }

    /// The fill in 256ths: 0 for air, else 1 to 256.
    pub const fn units(self) -> u32 {
        if self.material == AIR { 0 } else { self.occupancy as u32 + 1 }
    }

    /// Whether the cell is air.
    pub const fn is_air(self) -> bool {
        self.material == AIR
    }
}

/// `occupancy`, or 0 where the material is air, without a branch.
#[inline]
pub(crate) const fn normal_occupancy(material: u8, occupancy: u8) -> u8 {
    occupancy & ((material != AIR) as u8).wrapping_neg()
}

/// The occupancy of a full cell: 255, or 0 for air.
#[inline]
pub(crate) const fn full_occupancy(material: u8) -> u8 {
    normal_occupancy(material, 255)
}

/// 32 cells along X, structure of arrays, one cache line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub struct Row {
    /// Material ids, x ascending.
    pub material: [u8; Row::CELLS],
    /// Stored occupancies, x ascending.
    pub occupancy: [u8; Row::CELLS],
}

impl Row {
    /// Cells in a row, along X.
    pub const CELLS: usize = 32;

    /// A row of full cells of one material.
    pub const fn uniform(material: u8) -> Row {
        Row { material: [material; Row::CELLS], occupancy: [full_occupancy(material); Row::CELLS] }
    }

    /// The cell at `x`.
    #[inline]
    pub const fn cell(&self, x: usize) -> Cell {
        Cell { material: self.material[x], occupancy: self.occupancy[x] }
    }

    /// Puts `cell` at `x`, with air's occupancy cleared.
    #[inline]
    pub fn set(&mut self, x: usize, cell: Cell) {
        self.material[x] = cell.material;
        self.occupancy[x] = normal_occupancy(cell.material, cell.occupancy);
    }

    /// Clears the occupancy of air cells.
    #[inline]
    pub fn normalise(&mut self) {
        for x in 0..Row::CELLS {
            self.occupancy[x] = normal_occupancy(self.material[x], self.occupancy[x]);
        }
    }

    /// The material, if every cell is a full cell of it.
    #[inline]
    pub fn uniform_material(&self) -> Option<u8> {
        let first = self.material[0];
        let full = full_occupancy(first);
        let mut differs = 0;
        for x in 0..Row::CELLS {
            differs |= (self.material[x] ^ first) | (self.occupancy[x] ^ full);
        }
        (differs == 0).then_some(first)
    }
}

/// A uniform row of every material, for rows that are not stored.
pub(crate) static UNIFORM_ROWS: [Row; 256] = {
    let mut rows = [Row::uniform(0); 256];
    let mut material = 0;
    while material < 256 {
        rows[material] = Row::uniform(material as u8);
        material += 1;
    }
    rows
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn air_never_has_occupancy() {
        assert_eq!(Cell::new(AIR, 200), Cell::AIR);
        assert_eq!(Cell::new(5, 200).occupancy, 200);
        assert_eq!(Cell::full(AIR), Cell::AIR);
        let mut row = Row::uniform(3);
        row.material[7] = AIR;
        row.normalise();
        assert_eq!(row.cell(7), Cell::AIR);
        assert_eq!(row.uniform_material(), None);
    }

    #[test]
    fn occupancy_is_exact_in_256ths() {
        assert_eq!(Cell::new(2, 0).fraction(), 1.0 / 256.0);
        assert_eq!(Cell::new(2, 127).fraction(), 0.5);
        assert_eq!(Cell::new(2, 255).fraction(), 1.0);
        assert_eq!(Cell::AIR.fraction(), 0.0);
    }

    #[test]
    fn uniform_rows_know_their_material() {
        for material in 0..=255u8 {
            assert_eq!(UNIFORM_ROWS[material as usize].uniform_material(), Some(material));
        }
    }
}
