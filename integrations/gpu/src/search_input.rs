//! What a searcher takes, cells or densities: as the device reads it, and as the CPU searches it.

use std::sync::Arc;

use terravox::voxel::{DenseBox, MaterialTable, MipBlock};

use crate::density::{BlockFrame, DENSITY_WGSL, Density, MAX_GPU_MIP, frame_bytes};
use crate::surface::SurfaceSearch;
use crate::twin::{BlockSamples, SearchedSurface, searched_cells};

/// What is searched.
#[derive(Clone, Debug)]
pub enum SearchInput {
    /// Cells, a point each. All boxes of a batch are cubes of the [edge](SearchKind::Cells) of the
    /// searcher.
    Cells(Arc<DenseBox>),
    /// The density at the corners of a block's cells: 33³ points.
    Density(MipBlock),
}

/// What a searcher searches.
#[derive(Clone, Debug)]
pub enum SearchKind {
    /// Cubes of cells.
    Cells {
        /// Cells along an edge, 2 to 64; 36 for a block as the mesher takes it.
        edge: u32,
        /// Which material is what.
        table: Arc<MaterialTable>,
        /// Which surface.
        surface: SearchedSurface,
    },
    /// Blocks of a density.
    Density(Density),
}

impl SearchKind {
    /// Points along an edge of a block.
    pub(crate) fn points(&self) -> u32 {
        match self {
            SearchKind::Cells { edge, .. } => *edge,
            SearchKind::Density(_) => 33,
        }
    }

    /// Whether a device can search an input; else the CPU does.
    ///
    /// # Panics
    /// If the input is of the other kind, or a box of another size.
    pub(crate) fn takes(&self, input: &SearchInput) -> bool {
        match (self, input) {
            (SearchKind::Cells { edge, .. }, SearchInput::Cells(cells)) => {
                assert_eq!(cells.region().size(), [*edge as usize; 3], "a cube of {edge} cells");
                true
            }
            (SearchKind::Density(_), SearchInput::Density(block)) => block.mip <= MAX_GPU_MIP,
            _ => panic!("the searcher is for the other kind of input"),
        }
    }

    /// Searches on the CPU.
    pub(crate) fn search(&self, input: &SearchInput) -> SurfaceSearch {
        match (self, input) {
            (SearchKind::Cells { table, surface, .. }, SearchInput::Cells(cells)) => {
                BlockSamples::of_cells(cells, table, *surface).search()
            }
            (SearchKind::Density(density), SearchInput::Density(block)) => {
                BlockSamples::of_density(density, *block).search()
            }
            _ => panic!("the searcher is for the other kind of input"),
        }
    }

    /// Source and entry point of the shader that samples the points.
    pub(crate) fn sampler(&self) -> (String, &'static str) {
        let points = include_str!("shaders/points.wgsl");
        match self {
            SearchKind::Cells { .. } => {
                ([points, include_str!("shaders/sample_cells.wgsl")].join("\n"), "sample_cells")
            }
            SearchKind::Density(density) => {
                let parts = [
                    DENSITY_WGSL,
                    density.wgsl(),
                    include_str!("shaders/sample.wgsl"),
                    points,
                    include_str!("shaders/sample_density.wgsl"),
                ];
                (parts.join("\n"), "sample_density")
            }
        }
    }

    /// Bytes of an input on the device.
    pub(crate) fn block_bytes(&self) -> u64 {
        match self {
            SearchKind::Cells { edge, .. } => 2 * u64::from(*edge).pow(3).next_multiple_of(4),
            SearchKind::Density(_) => 16,
        }
    }

    /// Cells or frames as the device reads them.
    pub(crate) fn input_bytes(&self, inputs: &[SearchInput]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for input in inputs {
            match (input, self) {
                (SearchInput::Cells(cells), SearchKind::Cells { table, surface, .. }) => {
                    for plane in searched_cells(cells, table, *surface) {
                        bytes.extend_from_slice(&plane);
                        bytes.resize(bytes.len().next_multiple_of(4), 0);
                    }
                }
                (SearchInput::Density(block), _) => {
                    bytes.extend(frame_bytes(std::iter::once(BlockFrame::of_corners(*block))));
                }
                (SearchInput::Cells(_), SearchKind::Density(_)) => {}
            }
        }
        bytes
    }

    /// By material, 16 a word: its class. For cells.
    pub(crate) fn class_bytes(&self) -> Option<Vec<u8>> {
        let SearchKind::Cells { table, surface, .. } = self else { return None };
        let class = |id: usize| surface.class(table.kinds()[id]) as u8;
        let byte = |i: usize| (0..4).fold(0u8, |byte, k| byte | class(4 * i + k) << (2 * k));
        Some((0..64).map(byte).collect())
    }
}
