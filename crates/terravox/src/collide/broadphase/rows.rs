//! The cells of a chunk as rows of bits, solid and liquid ones apart, with one row of the
//! neighbours around: straight from the packed rows of the grid, where a row that is not stored
//! is all of its fill.

use crate::bits::{Kinds, spread};
use crate::voxel::{AIR, ChunkPos, ChunkView, RowGroup, Snapshot};

/// A bit a cell of a chunk, and of the cells around that share a face with it.
#[derive(Clone)]
pub(super) struct CellBits {
    /// By y + 1 and z + 1; bit x. The first and last of both are the neighbours'.
    pub rows: [[u32; 34]; 34],
    /// Neighbours at x −1, by y; bit z.
    pub low: [u32; 32],
    /// Neighbours at x 32, by y; bit z.
    pub high: [u32; 32],
}

impl CellBits {
    const EMPTY: CellBits = CellBits { rows: [[0; 34]; 34], low: [0; 32], high: [0; 32] };

    /// The chunk's own rows of a slice.
    #[inline(always)]
    pub fn own(&self, y: usize) -> &[u32; 32] {
        self.window(y + 1, 1)
    }

    /// 32 rows of the slice at index `slice`, from index `z` on.
    #[inline(always)]
    pub fn window(&self, slice: usize, z: usize) -> &[u32; 32] {
        let Some(rows) = self.rows[slice][z..].first_chunk() else { unreachable!() };
        rows
    }

    #[inline(always)]
    fn own_mut(&mut self, slice: usize) -> &mut [u32; 32] {
        let Some(rows) = self.rows[slice][1..].first_chunk_mut() else { unreachable!() };
        rows
    }
}

/// A chunk and the six that share a face with it. Unknown chunks count as air, so that cells
/// that touch them have a surface.
pub(super) struct ChunkNeighbours<'a> {
    own: ChunkView<'a>,
    /// Low and high, along x, y, z.
    beside: [[ChunkView<'a>; 2]; 3],
}

impl<'a> ChunkNeighbours<'a> {
    /// The chunk at `at`; `None` if it is not held at mip 0.
    pub fn new(snapshot: &'a Snapshot, at: ChunkPos) -> Option<ChunkNeighbours<'a>> {
        let own = snapshot.chunk(at).ok()?;
        let beside = |axis: usize, step: i32| {
            let mut to = [at.x, at.y, at.z];
            to[axis] += step;
            let view = snapshot.chunk(ChunkPos::new(to[0], to[1], to[2]));
            view.unwrap_or(ChunkView::uniform(AIR))
        };
        let beside = [0, 1, 2].map(|axis| [beside(axis, -1), beside(axis, 1)]);
        Some(ChunkNeighbours { own, beside })
    }

    /// The chunk.
    pub fn own(&self) -> ChunkView<'a> {
        self.own
    }

    /// The material, if no cell of the chunk has a face for all that is known of the six around: it is
    /// air, or all are uniform of one material.
    pub fn one_material(&self) -> Option<u8> {
        let material = self.own.uniform_material()?;
        let same = |view: &ChunkView<'_>| view.uniform_material() == Some(material);
        (material == AIR || self.beside.iter().flatten().all(same)).then_some(material)
    }
}

/// Rows of bits of a chunk.
#[derive(Clone)]
pub(super) struct KindRows {
    /// Solid cells.
    pub solid: CellBits,
    /// Liquid cells.
    pub liquid: CellBits,
}

impl KindRows {
    pub const EMPTY: KindRows = KindRows { solid: CellBits::EMPTY, liquid: CellBits::EMPTY };

    /// Reads the slices `ys` of the chunk (0 to 32), and one more below and above.
    pub fn read(
        &mut self,
        kinds: Kinds<'_>,
        neighbours: &ChunkNeighbours<'_>,
        ys: std::ops::Range<usize>,
    ) {
        let [[x_low, x_high], [y_low, y_high], [z_low, z_high]] = neighbours.beside;
        for slice in ys.start..ys.end + 2 {
            let group = match slice {
                0 => y_low.slice(31),
                33 => y_high.slice(0),
                _ => neighbours.own.slice(slice - 1),
            };
            self.read_slice(kinds, slice, group);
        }
        for y in ys {
            for (at, view, z) in [(0, z_low, 31), (33, z_high, 0)] {
                let [solid, liquid] = row(kinds, view.slice(y), z);
                self.solid.rows[y + 1][at] = solid;
                self.liquid.rows[y + 1][at] = liquid;
            }
            [self.solid.low[y], self.liquid.low[y]] = column(kinds, x_low.slice(y), 31);
            [self.solid.high[y], self.liquid.high[y]] = column(kinds, x_high.slice(y), 0);
        }
    }

    #[inline(always)]
    fn read_slice(&mut self, kinds: Kinds<'_>, slice: usize, group: RowGroup<'_>) {
        let [solid, liquid] = fills(kinds, group);
        let solid_rows = self.solid.own_mut(slice);
        let liquid_rows = self.liquid.own_mut(slice);
        *solid_rows = spread(solid);
        *liquid_rows = spread(liquid);
        let mut stored = group.mixed();
        while stored != 0 {
            let z = stored.trailing_zeros() as usize;
            stored &= stored - 1;
            [solid_rows[z], liquid_rows[z]] = kinds.of_32(&group.mixed_row(z).material);
        }
    }
}

/// Bit per row: whether its fill is solid, and liquid. Meaningless for stored rows.
#[inline(always)]
fn fills(kinds: Kinds<'_>, group: RowGroup<'_>) -> [u32; 2] {
    // A slice of mip 0 is a whole group.
    let Some(fill) = group.fill().first_chunk() else { unreachable!() };
    kinds.of_32(fill)
}

/// One row of a slice.
#[inline(always)]
fn row(kinds: Kinds<'_>, group: RowGroup<'_>, z: usize) -> [u32; 2] {
    if group.mixed() >> z & 1 != 0 {
        return kinds.of_32(&group.mixed_row(z).material);
    }
    kinds.of(group.fill()[z]).map(u32::wrapping_neg)
}

/// The cells at `x` of a slice, bit z.
#[inline(always)]
fn column(kinds: Kinds<'_>, group: RowGroup<'_>, x: usize) -> [u32; 2] {
    let mut bits = fills(kinds, group).map(|bits| bits & !group.mixed());
    let mut stored = group.mixed();
    while stored != 0 {
        let z = stored.trailing_zeros() as usize;
        stored &= stored - 1;
        let [solid, liquid] = kinds.of(group.mixed_row(z).material[x]);
        bits[0] |= solid << z;
        bits[1] |= liquid << z;
    }
    bits
}
