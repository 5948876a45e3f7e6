//! Masks of the blocks of a chunk from its rows of bits: shifts and ANDs, 32 cells at a
//! time, then rows turned into slices.
//!
//! Source: "Voxel Terrain: Physics" (Roblox, 2017), the bit broadphase. Here the cells that
//! own a face are marked instead of all that a face may reach, and the query grows.

use std::ops::Range;

use crate::bits::{BlockMask, Kinds, slices, spread};
use crate::mesh::Shores;
use crate::voxel::{ChunkPos, Snapshot};

use super::chunk::BlockWords;
use super::rows::{CellBits, ChunkNeighbours, KindRows};

/// Bits of one layer of blocks, 8 cells high.
const LAYER: u64 = 0xffff;

/// Makes masks. Scratch memory: keep one per thread.
pub(super) struct MaskMaker {
    rows: KindRows,
    /// Wet cells: liquid ones, and solid ones that hold water or may carry some.
    wet: [[u32; 32]; 32],
    /// Finds water near chunks.
    pub shores: Shores,
    /// Words of the last chunk, for the layers that were made.
    pub words: BlockWords,
    /// By block, x fastest, then z, then y; of those with a solid mask.
    pub solid: [BlockMask; 64],
    /// Likewise of those with a wet mask.
    pub wet_masks: [BlockMask; 64],
}

impl MaskMaker {
    pub fn new() -> Box<MaskMaker> {
        Box::new(MaskMaker {
            rows: KindRows::EMPTY,
            wet: [[0; 32]; 32],
            shores: Shores::default(),
            words: BlockWords::default(),
            solid: [[0; 8]; 64],
            wet_masks: [[0; 8]; 64],
        })
    }

    /// Whether water is near enough to a chunk for a shore to carry it there. Conservative: may
    /// be true where none is.
    pub fn is_near_water(&mut self, snapshot: &Snapshot, chunk: ChunkPos) -> bool {
        !self.shores.is_dry(snapshot, 0, Shores::depends_on(chunk.region(), 0))
    }

    /// Makes the masks of some layers of blocks (0 to 4) of a chunk. Near water, all solid cells
    /// with air above count as wet: finding the ones that a shore carries water over takes a
    /// hundred times as long, so it is left to meshes and bodies that need it.
    pub fn make(
        &mut self,
        snapshot: &Snapshot,
        neighbours: &ChunkNeighbours<'_>,
        layers: Range<usize>,
        is_near_water: bool,
    ) {
        let kinds = Kinds::new(snapshot.materials().kinds());
        self.words = BlockWords::default();
        let water = neighbours.own().water();
        if let Some(material) = neighbours.one_material() {
            let all = layers.map(|layer| LAYER << (16 * layer)).sum();
            match kinds.of(material) {
                [1, _] => self.words.all_solid = all,
                [_, 1] => self.words.all_liquid = all,
                _ => {}
            }
            return;
        }
        let ys = 8 * layers.start..8 * layers.end;
        self.rows.read(kinds, neighbours, ys.clone());
        for layer in layers {
            self.solid_layer(layer);
            self.liquid_layer(layer, water, is_near_water);
        }
    }

    fn solid_layer(&mut self, layer: usize) {
        let plane = &self.rows.solid;
        let masks = &mut self.solid[16 * layer..16 * layer + 16];
        let mut full = [u32::MAX; 32];
        let (mut any, mut present) = (false, 0);
        for y in 0..8 {
            let own = plane.own(8 * layer + y);
            let mut some = 0;
            for z in 0..32 {
                full[z] &= own[z];
                some |= own[z];
            }
            let exposed = if some == 0 { [0; 32] } else { exposed(plane, 8 * layer + y) };
            if !any {
                if exposed == [0; 32] {
                    continue;
                }
                masks.fill([0; 8]);
                any = true;
            }
            put_slice(&exposed, y, masks);
        }
        if any {
            present = presence(masks);
        }
        self.words.solid |= present << (16 * layer);
        self.words.all_solid |= full_blocks(&full) << (16 * layer);
    }

    fn liquid_layer(&mut self, layer: usize, water: &[(u16, u8)], is_near_water: bool) {
        let plane = &self.rows.liquid;
        let ys = 8 * layer..8 * layer + 8;
        let mut full = [u32::MAX; 32];
        let (mut some, mut may_carry) = (0, 0);
        for y in ys.clone() {
            let own = plane.own(y);
            for z in 0..32 {
                full[z] &= own[z];
                some |= own[z];
            }
            self.wet[y] = *own;
            if is_near_water {
                let carrying = under_air(&self.rows, y);
                for z in 0..32 {
                    self.wet[y][z] |= carrying[z];
                    may_carry |= carrying[z];
                }
            }
        }
        let from = water.partition_point(|entry| usize::from(entry.0) < 1024 * ys.start);
        let to = water.partition_point(|entry| usize::from(entry.0) < 1024 * ys.end);
        if some | may_carry == 0 && from == to {
            return;
        }
        for &(cell, _) in &water[from..to] {
            let cell = usize::from(cell);
            self.wet[cell >> 10][cell >> 5 & 31] |= 1 << (cell & 31);
        }
        let masks = &mut self.wet_masks[16 * layer..16 * layer + 16];
        let mut shown = [0; 32];
        for (y, slice) in ys.enumerate() {
            put_slice(&self.wet[slice], y, masks);
            let open = open(&self.rows, &self.wet[slice], slice);
            for z in 0..32 {
                shown[z] |= open[z];
            }
        }
        let all = full_blocks(&full);
        self.words.all_liquid |= all << (16 * layer);
        self.words.wet |= (presence(masks) & !all) << (16 * layer);
        self.words.liquid |= some_blocks(&shown) << (16 * layer);
    }
}

/// Solid cells of a slice that have air above.
#[inline(always)]
fn under_air(rows: &KindRows, y: usize) -> [u32; 32] {
    let own = rows.solid.own(y);
    let (solid, liquid) = (rows.solid.window(y + 2, 1), rows.liquid.window(y + 2, 1));
    std::array::from_fn(|z| own[z] & !(solid[z] | liquid[z]))
}

/// Cells of a slice that are set and have a face neighbour that is not.
#[inline(always)]
fn exposed(plane: &CellBits, y: usize) -> [u32; 32] {
    let own = plane.own(y);
    let (before, after) = (plane.window(y + 1, 0), plane.window(y + 1, 2));
    let (below, above) = (plane.window(y, 1), plane.window(y + 2, 1));
    let (low, high) = (spread(plane.low[y]), spread(plane.high[y]));
    std::array::from_fn(|z| {
        let beside = (own[z] << 1 | low[z] & 1) & (own[z] >> 1 | high[z] & 1 << 31);
        own[z] & !(beside & before[z] & after[z] & below[z] & above[z])
    })
}

/// Wet cells of a slice that have air beside them.
#[inline(always)]
fn open(rows: &KindRows, wet: &[u32; 32], y: usize) -> [u32; 32] {
    let KindRows { solid, liquid } = rows;
    // Rows of cells that are not air, then as above.
    let filled = |slice: usize, z: usize| {
        let (s, l) = (solid.window(slice, z), liquid.window(slice, z));
        std::array::from_fn::<u32, 32, _>(|z| s[z] | l[z])
    };
    let (before, own, after) = (filled(y + 1, 0), filled(y + 1, 1), filled(y + 1, 2));
    let (below, above) = (filled(y, 1), filled(y + 2, 1));
    let low = spread(solid.low[y] | liquid.low[y]);
    let high = spread(solid.high[y] | liquid.high[y]);
    std::array::from_fn(|z| {
        let beside = (own[z] << 1 | low[z] & 1) & (own[z] >> 1 | high[z] & 1 << 31);
        wet[z] & !(beside & before[z] & after[z] & below[z] & above[z])
    })
}

/// Writes the rows of a slice as slice `y` of 16 blocks.
#[inline(always)]
fn put_slice(rows: &[u32; 32], y: usize, masks: &mut [BlockMask]) {
    for (rows, masks) in rows.as_chunks::<8>().0.iter().zip(masks.as_chunks_mut::<4>().0) {
        let words = slices(rows);
        for block in 0..4 {
            masks[block][y] = words[block];
        }
    }
}

/// A bit for each of 16 masks: whether it has any.
fn presence(masks: &[BlockMask]) -> u64 {
    let any = |mask: &BlockMask| u64::from(mask.iter().fold(0, |any, word| any | word) != 0);
    masks.iter().enumerate().map(|(block, mask)| any(mask) << block).sum()
}

/// A bit for each of 16 blocks: whether all cells of its rows are set.
fn full_blocks(rows: &[u32; 32]) -> u64 {
    some_blocks(&rows.map(|row| !row)) ^ LAYER
}

/// A bit for each of 16 blocks: whether a cell of its rows is set.
fn some_blocks(rows: &[u32; 32]) -> u64 {
    let mut blocks = 0;
    for (z, rows) in rows.as_chunks::<8>().0.iter().enumerate() {
        let some = rows.iter().fold(0, |some, row| some | row);
        for x in 0..4 {
            blocks |= u64::from(some >> (8 * x) & 255 != 0) << (x + 4 * z);
        }
    }
    blocks
}
