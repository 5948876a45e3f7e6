//! The kinds of work that operations do, and their prices.

/// A kind of work; its amount is in the unit that its comment names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditWork {
    /// Operations; those with a brush; of these, those that go cell by cell.
    Once,
    Brushes,
    Splits,
    /// Chunks that are read.
    Chunks,
    /// Parts of rows that are read, each of one chunk.
    RowParts,
    /// Cells that are read, copied and compared.
    Cells,
    /// Cells whose share of the brush is computed, by shape.
    BallCells,
    BoxCells,
    CylinderCells,
    WedgeCells,
    ConvexPlanes,
    MeshCells,
    HeightsCells,
    /// Rows and cells whose distance to a path is computed, by levels of the path's tree.
    PathRows,
    PathCells,
    /// Rows of a brush.
    BrushRows,
    /// Points, half-spaces cubed, samples and triangles that a brush is made of.
    PathPoints,
    ConvexCorners,
    HeightSamples,
    MeshTriangles,
    /// Slices, rows and cells near a triangle, and rows that cross it, summed over all.
    MeshSlices,
    MeshRows,
    MeshNearCells,
    MeshCrossings,
    /// Cells that a fill, dig or paint changes by rows.
    RowCells,
    /// Cells about a dig by rows whose films are cleared.
    FilmCells,
    /// Cells that are split into solid and liquid.
    SplitCells,
    /// Cells of the brush that are changed one by one, by action.
    PlainCells,
    SmoothCells,
    OffsetCells,
    RoughenCells,
    FlattenCells,
    /// Those at a surface, where the nearest material is searched.
    SurfaceCells,
    /// Cells that a mask looks at.
    MaskedCells,
    SlopeCells,
    LiquidCells,
    /// Cells that become others.
    ChangedCells,
    /// Of the box about those: chunks, parts of rows, cells.
    WrittenChunks,
    WrittenRows,
    WrittenCells,
    /// Rows that are stored of those chunks.
    StoredRows,
    /// Cells of a copy: read, mirrored or turned, enlarged, shrunk, pasted.
    CopiedCells,
    MovedCells,
    LargerCells,
    SmallerCells,
    PastedCells,
    /// Chunks of one material that become another without being read.
    ReplacedChunks,
    /// Chunks of a large operation that it passes over.
    SkippedChunks,
}

pub(super) const WORKS: usize = EditWork::SkippedChunks as usize + 1;

/// Units of each kind of work, in the order of [`EditWork`]: see `edit_estimate_error` in
/// `docs/benchmarks.md`.
const PRICES: [f64; WORKS] = [
    500.0,  // Once
    1800.0, // Brushes
    100.0,  // Splits
    100.0,  // Chunks
    21.0,   // RowParts
    1.0,    // Cells
    0.5,    // BallCells
    2.0,    // BoxCells
    2.0,    // CylinderCells
    2.0,    // WedgeCells
    1.9,    // ConvexPlanes
    6.7,    // MeshCells
    25.0,   // HeightsCells
    140.0,  // PathRows
    170.0,  // PathCells
    180.0,  // BrushRows
    1100.0, // PathPoints
    12.0,   // ConvexCorners
    5.0,    // HeightSamples
    30.0,   // MeshTriangles
    92.0,   // MeshSlices
    75.0,   // MeshRows
    18.0,   // MeshNearCells
    120.0,  // MeshCrossings
    0.5,    // RowCells
    1.3,    // FilmCells
    12.0,   // SplitCells
    4.9,    // PlainCells
    14.0,   // SmoothCells
    44.0,   // OffsetCells
    100.0,  // RoughenCells
    55.0,   // FlattenCells
    4.2,    // SurfaceCells
    1.0,    // MaskedCells
    8.5,    // SlopeCells
    100.0,  // LiquidCells
    1.0,    // ChangedCells
    3000.0, // WrittenChunks
    87.0,   // WrittenRows
    0.3,    // WrittenCells
    1.3,    // StoredRows
    17.0,   // CopiedCells
    20.0,   // MovedCells
    230.0,  // LargerCells
    150.0,  // SmallerCells
    4.0,    // PastedCells
    5000.0, // ReplacedChunks
    150.0,  // SkippedChunks
];

/// Amounts of each kind of work.
pub(super) struct WorkAmounts(pub [f64; WORKS]);

impl WorkAmounts {
    pub fn add(&mut self, work: EditWork, amount: f64) {
        self.0[work as usize] += amount;
    }

    /// Units in all.
    pub fn units(&self) -> u64 {
        self.0.iter().zip(&PRICES).map(|(amount, price)| amount * price).sum::<f64>() as u64
    }
}
