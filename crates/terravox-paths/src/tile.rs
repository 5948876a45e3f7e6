//! A tile: the floors of one chunk's 32³ voxels, and the rectangles that they make.
//!
//! A rectangle has one floor at each of its path cells, all wet or all dry. Each is linked to those
//! of the neighbouring path cells within, and to no other floor there. Any straight line inside can
//! be walked, so a search needs only rectangles and the borders between them.

use std::ops::Range;

use terravox::mesh::PAD;
use terravox::voxel::{
    ChunkPos, DenseBox, Kind, Knowledge, MaterialTable, Region, Snapshot, VoxelPos,
};

use crate::agent::{Gauge, HEIGHT_UNITS, TILE_HEIGHT, WaterRule};
use crate::crossings::{Crossing, Sampler, Window};
use crate::floors::{DIRECTIONS, Floor, Floors};

/// Longest edge of a rectangle, path cells: the precision of a search until its path is pulled
/// tight.
const MAX_RECT_EDGE: usize = 16;

/// In place of the number of a rectangle.
const NO_RECT: u32 = u32::MAX;

/// A rectangle of linked floors, in path cells of its tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rect {
    /// First path cell along x and z.
    pub min: [u8; 2],
    /// Last path cell along x and z.
    pub last: [u8; 2],
    /// Deeper under water than the agent wades.
    pub is_wet: bool,
}

/// The floors of a tile that an agent walks on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tile {
    /// Path cells along an edge.
    pub edge: u16,
    /// The first floor of each path cell, and the end of the last; empty if there is no floor.
    starts: Vec<u32>,
    /// By path cell, from low to high; heights from 0 to [`TILE_HEIGHT`].
    floors: Vec<Floor>,
    /// The rectangle of each floor.
    rect_of: Vec<u32>,
    rects: Vec<Rect>,
}

/// What is known of a floor while rectangles are made.
#[derive(Clone, Copy, Debug)]
struct KeptFloor {
    is_wet: bool,
    /// Directions in which it is linked to floors of tiles above and below, as bits.
    leaves: u8,
}

/// What a cell contributes to the water above a floor.
#[derive(Clone, Copy, Debug)]
enum CellWater {
    /// Water, a liquid or held by ground, up to this many height units above the cell's lowest.
    Filled(i32),
    /// Ground without water.
    Ground,
    Air,
}

/// Memory of [`TileMaker::make`]. One per thread.
#[derive(Debug, Default)]
pub(crate) struct TileMaker {
    sampler: Sampler,
    cells: DenseBox,
    crossings: Vec<Crossing>,
    floors: Floors,
}

impl TileMaker {
    /// Makes a tile, if all cells on which it depends are known at mip 0.
    pub fn make(&mut self, gauge: &Gauge, snapshot: &Snapshot, tile: ChunkPos) -> Option<Tile> {
        let edge = gauge.edge() as u16;
        let meshed = gauge.meshed(tile);
        if has_no_surface(snapshot, meshed.grow(PAD)) {
            return Some(Tile { edge, ..Tile::default() });
        }
        let known = snapshot.read_known(meshed.grow(PAD), 0, &mut self.cells);
        if known != Knowledge::AtMip {
            return None;
        }
        let window = Window {
            origin: tile.min_voxel(),
            first: -gauge.margin,
            edge: gauge.edge() + 2 * gauge.margin,
        };
        let materials = snapshot.materials();
        self.sampler.crossings(gauge, window, &self.cells, materials, &mut self.crossings);
        self.floors.find(gauge, window, &self.crossings);
        let mut made = Tile { edge, ..Tile::default() };
        let kept = self.keep(gauge, tile, materials, &mut made);
        made.divide(gauge, &kept);
        Some(made)
    }

    /// Copies the floors of a tile that an agent walks on; returns what else there is to know of them.
    fn keep(
        &self,
        gauge: &Gauge,
        tile: ChunkPos,
        materials: &MaterialTable,
        out: &mut Tile,
    ) -> Vec<KeptFloor> {
        let mut kept = Vec::new();
        let margin = gauge.margin as usize;
        for (z, x) in (0..gauge.edge()).flat_map(|z| (0..gauge.edge()).map(move |x| (z, x))) {
            out.starts.push(out.floors.len() as u32);
            for floor in self.floors.of(x as usize + margin, z as usize + margin) {
                let Floor { height, .. } = self.floors.floors[floor];
                let is_apart = self.floors.distances[floor] >= gauge.erode_below;
                if !self.floors.is_walkable[floor]
                    || !is_apart
                    || !(0..TILE_HEIGHT).contains(&height)
                {
                    continue;
                }
                let is_wet =
                    self.is_wet(gauge, tile, [x, z], &self.floors.floors[floor], materials);
                if !is_wet || gauge.water != WaterRule::Forbidden {
                    out.floors.push(self.floors.floors[floor]);
                    let leaves = self.leaves(gauge, floor, [x, z].map(|v| v as usize + margin));
                    kept.push(KeptFloor { is_wet, leaves });
                }
            }
        }
        out.starts.push(out.floors.len() as u32);
        if out.floors.is_empty() {
            out.starts = Vec::new();
        }
        kept
    }

    /// Towards which directions a floor is linked to one above or below the tile, as bits: also to
    /// floors that no agent walks on.
    fn leaves(&self, gauge: &Gauge, floor: usize, [x, z]: [usize; 2]) -> u8 {
        let own = &self.floors.floors[floor];
        if own.height >= gauge.step && own.height + gauge.step < TILE_HEIGHT {
            return 0;
        }
        let leaves = |[dx, dz]: [i32; 2]| {
            let near = self.floors.of((x as i32 + dx) as usize, (z as i32 + dz) as usize);
            let mut near = self.floors.floors[near].iter();
            near.any(|near| !(0..TILE_HEIGHT).contains(&near.height) && own.is_linked(near, gauge))
        };
        DIRECTIONS.iter().enumerate().map(|(i, &way)| u8::from(leaves(way)) << i).sum()
    }

    /// Whether the water above a floor is deeper than the agent wades.
    ///
    /// Looks upward from the cell of the floor: first at ground, which need not hold the water that
    /// covers it, then at water without a gap.
    fn is_wet(
        &self,
        gauge: &Gauge,
        tile: ChunkPos,
        [x, z]: [i32; 2],
        floor: &Floor,
        materials: &MaterialTable,
    ) -> bool {
        let [x, z] = [x, z].map(|v| v.div_euclid(gauge.per_voxel));
        let mut top = floor.height;
        for y in floor.height.div_euclid(HEIGHT_UNITS)..=floor.water_end(gauge) {
            match self.water_in(tile.min_voxel() + VoxelPos::new(x, y, z), materials) {
                CellWater::Filled(units) => top = top.max(y * HEIGHT_UNITS + units),
                CellWater::Ground if top == floor.height => {}
                CellWater::Ground | CellWater::Air => break,
            }
        }
        top - floor.height > gauge.wade
    }

    /// The water of a cell.
    fn water_in(&self, voxel: VoxelPos, materials: &MaterialTable) -> CellWater {
        let cell = self.cells.cell(voxel);
        match materials.kind(cell.material) {
            Kind::Liquid => CellWater::Filled(cell.units() as i32),
            Kind::Solid => match self.cells.water_at(voxel) {
                Some(stored) => CellWater::Filled(i32::from(stored) + 1),
                None => CellWater::Ground,
            },
            _ => CellWater::Air,
        }
    }
}

/// Whether all chunks that a region touches are of one material each, all solid or none.
fn has_no_surface(snapshot: &Snapshot, region: Region) -> bool {
    let mut kinds = region.blocks::<5>().map(|chunk| {
        let material = snapshot.chunk(chunk).ok()?.uniform_material()?;
        Some(snapshot.materials().kind(material) == Kind::Solid)
    });
    let Some(Some(first)) = kinds.next() else { return false };
    kinds.all(|kind| kind == Some(first))
}

impl Tile {
    /// The rectangles.
    pub fn rects(&self) -> &[Rect] {
        &self.rects
    }

    /// Number of floors.
    pub fn floor_count(&self) -> usize {
        self.floors.len()
    }

    /// The floors of a path cell, by number.
    #[inline]
    pub fn of(&self, x: usize, z: usize) -> Range<usize> {
        let path_cell = z * usize::from(self.edge) + x;
        match self.starts.get(path_cell..path_cell + 2) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        }
    }

    /// A floor.
    #[inline]
    pub fn floor(&self, floor: usize) -> &Floor {
        &self.floors[floor]
    }

    /// The rectangle of a floor.
    #[inline]
    pub fn rect_of(&self, floor: usize) -> u32 {
        self.rect_of[floor]
    }

    /// The floor of a rectangle at a path cell within it.
    pub fn floor_in(&self, rect: u32, x: usize, z: usize) -> Option<usize> {
        self.of(x, z).find(|&floor| self.rect_of[floor] == rect)
    }

    /// Adds what the tile is to a digest.
    pub fn digest(&self, mut add: impl FnMut(&[u8])) {
        self.starts.iter().for_each(|v| add(&v.to_le_bytes()));
        for floor in &self.floors {
            add(&floor.height.to_le_bytes());
            add(&floor.room.to_le_bytes());
        }
        self.rect_of.iter().for_each(|v| add(&v.to_le_bytes()));
        self.rects.iter().for_each(|rect| add(&[rect.is_wet.into()]));
    }

    /// The floors of one path cell to which a floor of a neighbouring one is linked.
    fn linked<'a>(
        &'a self,
        gauge: &'a Gauge,
        floor: usize,
        [x, z]: [usize; 2],
    ) -> impl Iterator<Item = usize> + 'a {
        let edge = usize::from(self.edge);
        let near = if x < edge && z < edge { self.of(x, z) } else { 0..0 };
        near.filter(move |&near| self.floors[floor].is_linked(&self.floors[near], gauge))
    }

    /// The floor to which a floor at one path cell is linked at a neighbouring one, if neither is
    /// linked to another there: ways fork at the borders of rectangles only.
    fn sole(
        &self,
        gauge: &Gauge,
        kept: &[KeptFloor],
        floor: usize,
        at: [usize; 2],
        to: [usize; 2],
    ) -> Option<usize> {
        // Towards +x or +z, and back.
        let [there_bit, back_bit] = if at[0] == to[0] { [3, 2] } else { [1, 0] };
        let mut there = self.linked(gauge, floor, to);
        let found = there.next()?;
        let is_sole = there.next().is_none() && self.linked(gauge, found, at).nth(1).is_none();
        let leaves = kept[floor].leaves >> there_bit | kept[found].leaves >> back_bit;
        (is_sole && leaves & 1 == 0).then_some(found)
    }

    /// Divides all floors into rectangles, greedily: each as long as it goes along x, then along z.
    fn divide(&mut self, gauge: &Gauge, kept: &[KeptFloor]) {
        self.rect_of = vec![NO_RECT; self.floors.len()];
        let edge = if self.floors.is_empty() { 0 } else { usize::from(self.edge) };
        for (z, x) in (0..edge).flat_map(|z| (0..edge).map(move |x| (z, x))) {
            for first in self.of(x, z) {
                if self.rect_of[first] == NO_RECT {
                    let (members, width) = self.grow(gauge, kept, first, [x, z]);
                    let last = [x + width - 1, z + members.len() / width - 1].map(|v| v as u8);
                    let rect = self.rects.len() as u32;
                    members.iter().for_each(|&floor| self.rect_of[floor] = rect);
                    let min = [x, z].map(|v| v as u8);
                    self.rects.push(Rect { min, last, is_wet: kept[first].is_wet });
                }
            }
        }
    }

    /// Returns the floors of a rectangle that begins with `first`, row by row, and the length of a
    /// row.
    fn grow(
        &self,
        gauge: &Gauge,
        kept: &[KeptFloor],
        first: usize,
        [x, z]: [usize; 2],
    ) -> (Vec<usize>, usize) {
        let is_free = |&floor: &usize| {
            self.rect_of[floor] == NO_RECT && kept[floor].is_wet == kept[first].is_wet
        };
        let mut members = vec![first];
        while members.len() < MAX_RECT_EDGE {
            let (last, at) = (members[members.len() - 1], x + members.len() - 1);
            let next = self.sole(gauge, kept, last, [at, z], [at + 1, z]).filter(is_free);
            let Some(next) = next else { break };
            members.push(next);
        }
        let width = members.len();
        for row in z + 1..z + MAX_RECT_EDGE {
            let above = members.len() - width;
            for i in 0..width {
                let at = [x + i, row];
                let next = self.sole(gauge, kept, members[above + i], [x + i, row - 1], at);
                let is_beside = |&next: &usize| {
                    let left = members[members.len() - 1];
                    i == 0 || self.sole(gauge, kept, left, [x + i - 1, row], at) == Some(next)
                };
                let Some(next) = next.filter(is_free).filter(is_beside) else {
                    members.truncate(above + width);
                    return (members, width);
                };
                members.push(next);
            }
        }
        (members, width)
    }
}
