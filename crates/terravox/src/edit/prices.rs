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
    /// Rows of a brush: those that are changed, and those that its shape is evaluated in, twice for
    /// small shapes whose volume is corrected.
    BrushRows,
    BallRows,
    BoxRows,
    CylinderRows,
    WedgeRows,
    ConvexRows,
    MeshBrushRows,
    HeightsRows,
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
    /// Operations that change something; of the box about that: chunks, parts of rows, cells.
    Changes,
    WrittenChunks,
    WrittenRows,
    WrittenCells,
    /// Rows that are stored of those chunks, and cells of them that hold water.
    StoredRows,
    StoredWater,
    /// Copies and pastes; how often a copy is mirrored or turned.
    Pastes,
    Moves,
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
    1300.0, // Once
    1300.0, // Brushes
    180.0,  // Splits
    210.0,  // Chunks
    5.8,    // RowParts
    0.15,   // Cells
    0.37,   // BallCells
    1.7,    // BoxCells
    2.8,    // CylinderCells
    0.2,    // WedgeCells
    0.88,   // ConvexPlanes
    9.1,    // MeshCells
    21.0,   // HeightsCells
    440.0,  // PathRows
    130.0,  // PathCells
    6.0,    // BrushRows
    68.0,   // BallRows
    33.0,   // BoxRows
    29.0,   // CylinderRows
    340.0,  // WedgeRows
    400.0,  // ConvexRows
    67.0,   // MeshBrushRows
    240.0,  // HeightsRows
    1300.0, // PathPoints
    10.0,   // ConvexCorners
    6.5,    // HeightSamples
    33.0,   // MeshTriangles
    240.0,  // MeshSlices
    49.0,   // MeshRows
    33.0,   // MeshNearCells
    160.0,  // MeshCrossings
    0.16,   // RowCells
    2.8,    // FilmCells
    9.9,    // SplitCells
    10.0,   // PlainCells
    11.0,   // SmoothCells
    34.0,   // OffsetCells
    94.0,   // RoughenCells
    41.0,   // FlattenCells
    15.0,   // SurfaceCells
    0.86,   // MaskedCells
    33.0,   // SlopeCells
    17.0,   // LiquidCells
    8.9,    // ChangedCells
    1700.0, // Changes
    220.0,  // WrittenChunks
    98.0,   // WrittenRows
    0.18,   // WrittenCells
    12.0,   // StoredRows
    4.7,    // StoredWater
    1900.0, // Pastes
    100.0,  // Moves
    12.0,   // CopiedCells
    35.0,   // MovedCells
    300.0,  // LargerCells
    370.0,  // SmallerCells
    26.0,   // PastedCells
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
