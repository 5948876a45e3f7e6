//! The search on the CPU, point by point: the slow twin of `search.wgsl`, and what does its work
//! when there is no device.

use terravox::voxel::{DenseBox, Kind, MaterialTable, MipBlock, WATER};

use crate::density::{BlockFrame, Density, sample_units};
use crate::surface::{ActiveVoxel, CrossedEdge, SurfaceSearch, VOXEL_EDGES, octant};

/// Which surface of cells is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchedSurface {
    /// Between solid cells and all others.
    Solid,
    /// Between liquid cells and air. Solid cells that hold water count as cells of that water, as in
    /// [`Mesher::mesh`](terravox::mesh::Mesher::mesh), if material 1 is liquid.
    Liquid,
}

/// On which side of the surface a point lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PointClass {
    Outside = 0,
    Inside = 1,
    Neither = 2,
}

impl SearchedSurface {
    /// Returns the class of a material.
    pub(crate) fn class(self, kind: Kind) -> PointClass {
        match (self, kind) {
            (SearchedSurface::Solid, Kind::Solid) | (SearchedSurface::Liquid, Kind::Liquid) => {
                PointClass::Inside
            }
            (SearchedSurface::Liquid, Kind::Solid) => PointClass::Neither,
            _ => PointClass::Outside,
        }
    }
}

/// A sample: a density in 1/256 of a cell, a material and a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PointSample {
    pub density: i32,
    pub material: u8,
    pub class: PointClass,
}

/// Samples at the points of a block, x fastest, then z, then y.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockSamples {
    pub points: u32,
    pub samples: Vec<PointSample>,
}

/// Returns the materials and occupancies that a search of cells reads: for the liquid surface, water
/// in place of solid cells that hold some.
pub(crate) fn searched_cells(
    cells: &DenseBox,
    table: &MaterialTable,
    surface: SearchedSurface,
) -> [Vec<u8>; 2] {
    let mut searched = [cells.materials().to_vec(), cells.occupancies().to_vec()];
    if surface == SearchedSurface::Liquid {
        for &(at, level) in cells.water() {
            let at = at as usize;
            if table.kind(searched[0][at]) == Kind::Solid {
                (searched[0][at], searched[1][at]) = (WATER, level);
            }
        }
    }
    searched
}

impl BlockSamples {
    /// Samples of cells, a point each.
    pub fn of_cells(
        cells: &DenseBox,
        table: &MaterialTable,
        surface: SearchedSurface,
    ) -> BlockSamples {
        let [materials, occupancies] = searched_cells(cells, table, surface);
        let samples = materials.into_iter().zip(occupancies).map(|(material, occupancy)| {
            let class = surface.class(table.kind(material));
            let is_inside = class == PointClass::Inside;
            let density = if is_inside { i32::from(occupancy) + 1 } else { -256 };
            PointSample { density, material, class }
        });
        BlockSamples { points: cells.region().size()[0] as u32, samples: samples.collect() }
    }

    /// Samples of a density at the corners of a block's cells.
    pub fn of_density(density: &Density, block: MipBlock) -> BlockSamples {
        let (frame, points) = (BlockFrame::of_corners(block), 33);
        let at = (0..points * points * points)
            .map(|i| [i % points, i / (points * points), i / points % points]);
        let samples = at.map(|at| {
            let found = density.sample(frame, at);
            let units = sample_units(found.distance, frame.mip);
            let class = if units > 0 { PointClass::Inside } else { PointClass::Outside };
            PointSample { density: units, material: found.material, class }
        });
        BlockSamples { points, samples: samples.collect() }
    }

    fn at(&self, [x, y, z]: [u32; 3]) -> PointSample {
        self.samples[(x + self.points * (z + self.points * y)) as usize]
    }

    /// Finds the surface.
    pub fn search(&self) -> SurfaceSearch {
        let mut found = SurfaceSearch { points: self.points, ..SurfaceSearch::default() };
        for y in 0..self.points {
            for (z, x) in (0..self.points).flat_map(|z| (0..self.points).map(move |x| (z, x))) {
                let at = [x, y, z];
                found.voxels.extend(self.voxel(at));
                found.edges.extend((0..3).filter_map(|axis| self.edge(at, axis)));
            }
        }
        found
    }

    fn voxel(&self, min: [u32; 3]) -> Option<ActiveVoxel> {
        if min.iter().any(|&at| at + 1 >= self.points) {
            return None;
        }
        let corners: [_; 8] = std::array::from_fn(|corner| {
            let offset = octant(corner as u32);
            self.at([0, 1, 2].map(|i| min[i] + offset[i]))
        });
        let of_class =
            |class| (0..8).fold(0, |bits, i| bits | u8::from(corners[i].class == class) << i);
        let mut crossed = 0;
        for (number, (axis, low)) in VOXEL_EDGES.into_iter().enumerate() {
            let high = low as usize | [1, 4, 2][axis];
            let is_crossed = is_crossed(corners[low as usize], corners[high]);
            crossed |= u32::from(is_crossed) << number;
        }
        let sides = [of_class(PointClass::Inside), of_class(PointClass::Outside)];
        let materials = corners.map(|corner| corner.material);
        (crossed != 0).then(|| ActiveVoxel::pack(min, crossed, sides, materials))
    }

    fn edge(&self, low: [u32; 3], axis: usize) -> Option<CrossedEdge> {
        let mut high = low;
        high[axis] += 1;
        if high[axis] >= self.points {
            return None;
        }
        let ends = [low, high].map(|at| self.at(at));
        let densities = ends.map(|end| end.density);
        let rises = || [low, high].map(|at| self.rise(at));
        is_crossed(ends[0], ends[1])
            .then(|| CrossedEdge::pack(low, axis as u32, densities, rises()))
    }

    fn rise(&self, at: [u32; 3]) -> [i32; 3] {
        [0, 1, 2].map(|axis| {
            let mut ends = [at; 2];
            ends[0][axis] = at[axis].saturating_sub(1);
            ends[1][axis] = (at[axis] + 1).min(self.points - 1);
            let [low, high] = ends.map(|end| self.at(end).density);
            (high - low) * if ends[1][axis] - ends[0][axis] == 2 { 1 } else { 2 }
        })
    }
}

fn is_crossed(from: PointSample, to: PointSample) -> bool {
    use PointClass::{Inside, Outside};
    matches!((from.class, to.class), (Inside, Outside) | (Outside, Inside))
}
