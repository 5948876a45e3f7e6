//! Copies of cells, which can be rotated, mirrored, scaled and pasted.

use super::EditError;
use super::error::NamedNumber;
#[cfg(feature = "serde")]
use crate::codec::Rle;
use crate::voxel::{AIR, Cell, DenseBox, Kind, Region, Snapshot, VoxelPos};

/// Largest factor of a scaled copy.
const MAX_SCALE: i32 = 16;

/// A copy of a box of cells, independent of its position.
///
/// ```
/// use terravox::edit::{Clip, PastePose};
/// use terravox::voxel::{DenseBox, Region};
///
/// let wall = Clip::new(DenseBox::new(Region::new([0; 3], [8, 4, 1])))?;
/// let turned = wall.placed(&PastePose { quarter_turns: [0, 1, 0], ..PastePose::default() })?;
/// assert_eq!(turned.cells().region(), Region::new([0; 3], [1, 4, 8]));
/// # Ok::<(), terravox::edit::EditError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clip {
    /// The box starts at (0, 0, 0).
    cells: DenseBox,
}

/// Position, orientation and scale of a pasted copy. It is mirrored first, then turned about x, y
/// and z, then scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct PastePose {
    /// Position of the lowest voxel of the transformed copy.
    pub at: [i32; 3],
    /// Axes along which it is mirrored.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mirror: [bool; 3],
    /// Its rotation.
    #[cfg_attr(feature = "serde", serde(default))]
    pub quarter_turns: QuarterTurns,
    /// 2 to 16 enlarges by that factor, −2 to −16 shrinks by it; 0 and 1 keep the size.
    #[cfg_attr(feature = "serde", serde(default))]
    pub scale: i32,
    /// How it combines with the cells already there.
    #[cfg_attr(feature = "serde", serde(default))]
    pub blend: Blend,
}

/// Quarter turns about x, then y, then z, counter-clockwise seen from the positive end of the axis.
/// Brushes are rotated by quaternions instead.
pub type QuarterTurns = [u8; 3];

/// How a pasted copy combines with the cells already there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Blend {
    /// The copy wins, except where it has air.
    #[default]
    Over,
    /// The copy wins everywhere.
    Replace,
    /// The fuller cell wins, as when filling.
    Add,
}

impl Clip {
    /// Maximum number of cells of a copy, before and after scaling.
    pub const MAX_CELLS: u64 = 1 << 24;

    /// A copy of cells.
    ///
    /// # Errors
    /// If they are more than [`Clip::MAX_CELLS`].
    pub fn new(mut cells: DenseBox) -> Result<Clip, EditError> {
        let region = cells.region();
        if region.is_empty() {
            return Err(EditError::Invalid("a copy must have at least one cell"));
        }
        check_size(region)?;
        cells.move_to(VoxelPos::ZERO);
        let (material, occupancy) = cells.arrays_mut();
        for (m, o) in material.iter().zip(occupancy) {
            *o = if *m == AIR { 0 } else { *o };
        }
        Ok(Clip { cells })
    }

    /// A copy of a region, at mip 0.
    ///
    /// # Errors
    /// If the region is empty, has more than [`Clip::MAX_CELLS`] cells, is beyond the
    /// limits, or is not held at mip 0.
    pub fn copy(from: &Snapshot, region: Region) -> Result<Clip, EditError> {
        Clip::check_source(region)?;
        let mut cells = DenseBox::default();
        from.read(region, 0, &mut cells)?;
        Clip::new(cells)
    }

    /// Returns an error if a region cannot be copied, whatever is in it.
    pub(super) fn check_source(region: Region) -> Result<(), EditError> {
        if region.is_empty() {
            return Err(EditError::Invalid(
                "a copy must have at least one cell: `to` must be above `from` on each axis",
            ));
        }
        check_size(region)?;
        match region.within_limits() {
            true => Ok(()),
            false => Err(EditError::BeyondLimits(region)),
        }
    }

    /// The cells, from (0, 0, 0) on.
    pub fn cells(&self) -> &DenseBox {
        &self.cells
    }

    /// Returns the copy mirrored, turned and scaled by `pose`.
    ///
    /// # Errors
    /// If it would have more than [`Clip::MAX_CELLS`] cells, or the scale is above 16.
    pub fn placed(&self, pose: &PastePose) -> Result<Clip, EditError> {
        pose.placed_size(self.cells.region().size())?;
        let mut clip = self.clone();
        for axis in 0..3 {
            if pose.mirror[axis] {
                clip = clip.moved(clip.size(), |mut p, size| {
                    p[axis] = size[axis] - 1 - p[axis];
                    p
                });
            }
        }
        for axis in 0..3 {
            for _ in 0..pose.quarter_turns[axis] % 4 {
                clip = clip.turned(axis);
            }
        }
        match pose.scale {
            2.. => Ok(clip.larger(pose.scale)),
            ..0 => Ok(clip.smaller(-pose.scale)),
            _ => Ok(clip),
        }
    }

    fn size(&self) -> [i32; 3] {
        self.cells.region().size().map(|v| v as i32)
    }

    /// A clip of `size` with every cell moved to where `to` maps it.
    fn moved(&self, size: [i32; 3], to: impl Fn([i32; 3], [i32; 3]) -> [i32; 3]) -> Clip {
        let mut cells = DenseBox::new(Region::new([0; 3], size));
        let mut water = Vec::new();
        let mut held = self.cells.water().iter().peekable();
        for (i, pos) in self.cells.region().voxels().enumerate() {
            let target = to(pos.to_array(), self.size()).into();
            cells.set(target, self.cells.cell(pos));
            if let Some(entry) = held.next_if(|entry| entry.0 as usize == i) {
                water.push((cells.index(target) as u32, entry.1));
            }
        }
        cells.set_all_water(water);
        Clip { cells }
    }

    /// A quarter turn about an axis.
    fn turned(&self, axis: usize) -> Clip {
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        let mut size = self.size();
        size.swap(b, c);
        self.moved(size, |p, size| {
            let mut to = p;
            to[b] = size[c] - 1 - p[c];
            to[c] = p[b];
            to
        })
    }

    /// Enlarged by `times`. Fill is interpolated between cell centres; it is a distance, so it is
    /// scaled too.
    fn larger(&self, times: i32) -> Clip {
        let region = Region::new([0; 3], self.size().map(|v| v * times));
        let mut out = ClipBuilder::new(region);
        for pos in region.voxels() {
            let near = ClipCell::of(&self.cells, pos.to_array().map(|v| v / times).into());
            let (units, material) = self.between(pos, times);
            let grown = (units - 128 * 64).saturating_mul(times) + 128 * 64;
            let solid = ((grown + 32).div_euclid(64)).clamp(0, 256) as u16;
            let material = if near.solid > 0 { near.material } else { material };
            out.push(ClipCell { solid, material, ..near });
        }
        Clip { cells: out.finish() }
    }

    /// 64 times the solid units at a point of the copy `times` as large, and the material
    /// that has most of them among the eight cells about it.
    fn between(&self, pos: VoxelPos, times: i32) -> (i32, u8) {
        let size = self.size();
        // The point in half parts of a cell of the copy, from the first cell's centre.
        let at = pos.to_array().map(|v| 2 * v + 1 - times);
        let low = at.map(|v| v.div_euclid(2 * times));
        let share = at.map(|v| v.rem_euclid(2 * times));
        let (mut sum, mut best) = (0i64, (0, AIR));
        for corner in 0..8 {
            let [x, y, z] = [0, 1, 2].map(|i| {
                let up = corner >> i & 1;
                let weight = if up == 1 { share[i] } else { 2 * times - share[i] };
                ((low[i] + up).clamp(0, size[i] - 1), i64::from(weight))
            });
            let part = ClipCell::of(&self.cells, VoxelPos::new(x.0, y.0, z.0));
            let units = x.1 * y.1 * z.1 * i64::from(part.solid);
            sum += units;
            if units > best.0 {
                best = (units, part.material);
            }
        }
        let whole = i64::from(2 * times).pow(3);
        ((sum * 64 / whole) as i32, best.1)
    }

    /// Shrunk by `times`, by the mean of the cells.
    fn smaller(&self, times: i32) -> Clip {
        let region = Region::new([0; 3], self.size().map(|v| (v + times - 1) / times));
        let mut out = ClipBuilder::new(region);
        for pos in region.voxels() {
            let fine = pos.to_array().map(|v| v * times);
            let fine = Region::new(fine, fine.map(|v| v + times)).intersect(self.cells.region());
            let (mut solid, mut wet) = (0u32, 0u32);
            let mut by_material = [0u32; 256];
            let mut liquid = crate::voxel::WATER;
            for at in fine.voxels() {
                let part = ClipCell::of(&self.cells, at);
                solid += u32::from(part.solid);
                wet += u32::from(part.wet);
                by_material[usize::from(part.material)] += u32::from(part.solid);
                liquid = if part.solid == 0 && part.wet > 0 { part.material } else { liquid };
            }
            let cells = fine.volume() as u32;
            let mean = |sum: u32| ((sum + cells / 2) / cells) as u16;
            let most = (0..256usize).max_by_key(|&m| (by_material[m], std::cmp::Reverse(m)));
            let solid = mean(solid);
            let material = if solid > 0 { most.unwrap_or(0) as u8 } else { liquid };
            out.push(ClipCell { solid, wet: mean(wet), material });
        }
        Clip { cells: out.finish() }
    }
}

impl PastePose {
    /// The size of a copy of `size` once it is placed.
    fn placed_size(&self, size: [usize; 3]) -> Result<[i32; 3], EditError> {
        let is_allowed = (-MAX_SCALE..=MAX_SCALE).contains(&self.scale) && self.scale != -1;
        let allowed = "0 or 1 for the same size, 2 to 16 to enlarge, or -2 to -16 to shrink";
        NamedNumber::plain("scale", self.scale.into()).check(is_allowed, allowed)?;
        let mut size = size.map(|v| v as i32);
        for axis in 0..3 {
            if self.quarter_turns[axis] % 2 == 1 {
                size.swap((axis + 1) % 3, (axis + 2) % 3);
            }
        }
        let size = size.map(|v| match self.scale {
            times @ 2.. => v.saturating_mul(times),
            parts @ ..0 => (v - parts - 1) / -parts,
            _ => v,
        });
        check_size(Region::new([0; 3], size))?;
        Ok(size)
    }

    /// The voxels that a copy of `size` is pasted to.
    pub(super) fn region(&self, size: [usize; 3]) -> Result<Region, EditError> {
        let size = self.placed_size(size)?;
        match [0, 1, 2].map(|i| self.at[i].checked_add(size[i])) {
            [Some(x), Some(y), Some(z)] => Ok(Region::new(self.at, [x, y, z])),
            _ => {
                let max = self.at.map(|v| v.saturating_add(1));
                Err(EditError::BeyondLimits(Region::new(self.at, max)))
            }
        }
    }
}

fn check_size(region: Region) -> Result<(), EditError> {
    match region.volume() > Clip::MAX_CELLS {
        true => Err(EditError::TooLarge { region, max_cells: Clip::MAX_CELLS }),
        false => Ok(()),
    }
}

/// A cell of a copy. Copies do not know kinds: every cell counts as solid unless its material is
/// water.
#[derive(Clone, Copy)]
struct ClipCell {
    solid: u16,
    wet: u16,
    material: u8,
}

impl ClipCell {
    fn of(cells: &DenseBox, pos: VoxelPos) -> ClipCell {
        let cell = cells.cell(pos);
        let units = cell.units() as u16;
        if cell.material == crate::voxel::WATER {
            return ClipCell { solid: 0, wet: units, material: cell.material };
        }
        let held = if cells.water().is_empty() { None } else { cells.water_at(pos) };
        ClipCell {
            solid: units,
            wet: held.map_or(0, |w| u16::from(w) + 1),
            material: cell.material,
        }
    }
}

/// Builds a box cell by cell.
struct ClipBuilder {
    cells: DenseBox,
    next: usize,
    water: Vec<(u32, u8)>,
}

impl ClipBuilder {
    fn new(region: Region) -> ClipBuilder {
        ClipBuilder { cells: DenseBox::new(region), next: 0, water: Vec::new() }
    }

    fn push(&mut self, part: ClipCell) {
        let units = if part.solid > 0 { part.solid } else { part.wet };
        let material = if part.solid > 0 { part.material } else { crate::voxel::WATER };
        if units > 0 {
            let (m, o) = self.cells.arrays_mut();
            (m[self.next], o[self.next]) = (material, (units - 1) as u8);
        }
        if part.solid > 0 && part.wet > 0 {
            self.water.push((self.next as u32, (part.wet - 1) as u8));
        }
        self.next += 1;
    }

    fn finish(mut self) -> DenseBox {
        self.cells.set_all_water(self.water);
        self.cells
    }
}

/// Pastes a transformed copy into `cells`, its lowest voxel at `at`.
pub(super) fn put(
    clip: &Clip,
    at: VoxelPos,
    blend: Blend,
    cells: &mut DenseBox,
    kinds: &[Kind; 256],
) {
    let there = clip.cells.region();
    let region = Region { min: at, max: at + there.max }.intersect(cells.region());
    let kind = |cell: Cell| kinds[usize::from(cell.material)];
    for pos in region.voxels() {
        let from = pos - at;
        let new = clip.cells.cell(from);
        let old = cells.cell(pos);
        let held = if clip.cells.water().is_empty() { None } else { clip.cells.water_at(from) };
        let put = match blend {
            Blend::Replace => true,
            Blend::Over => !new.is_air(),
            Blend::Add => match (kind(old), kind(new)) {
                (_, Kind::Air) => false,
                (Kind::Solid, Kind::Liquid) => false,
                (Kind::Solid, Kind::Solid) | (Kind::Liquid, Kind::Liquid) => {
                    new.units() > old.units()
                }
                _ => true,
            },
        };
        if put {
            let solid = kind(new) == Kind::Solid;
            // The rest of a cell that was under water stays under water.
            let lake = blend == Blend::Add && kind(old) == Kind::Liquid && new.units() < 256;
            let old_water = if lake { Some(old.occupancy) } else { None };
            cells.set(pos, new);
            if !cells.water().is_empty() || held.or(old_water).is_some() {
                cells.set_water(pos, held.max(old_water).filter(|_| solid));
            }
        }
    }
}

#[cfg(feature = "serde")]
mod plain {
    //! Text form: the size, and the run-length code of the cells in hexadecimal.

    use super::*;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Text {
        size: [u32; 3],
        runs: String,
    }

    /// Any material may hold water here; writing to the grid clears it where it must not.
    const KINDS: [Kind; 256] = [Kind::Solid; 256];

    impl Serialize for Clip {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut bytes = Vec::new();
            Rle::wide(&KINDS).encode_box(&self.cells, &mut bytes);
            let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
            let runs = bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect();
            let size = self.cells.region().size().map(|v| v as u32);
            Text { size, runs }.serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for Clip {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Clip, D::Error> {
            let text = Text::deserialize(deserializer)?;
            let volume = text.size.iter().try_fold(1u64, |v, &edge| v.checked_mul(edge.into()));
            if volume.is_none_or(|v| v == 0 || v > Clip::MAX_CELLS) {
                return Err(D::Error::custom(format!("a copy of {:?} cells", text.size)));
            }
            let region = Region::new([0; 3], text.size.map(|v| v as i32));
            let bytes = from_hex(&text.runs).ok_or_else(|| D::Error::custom("runs are not hex"))?;
            let mut cells = DenseBox::new(region);
            let read = Rle::wide(&KINDS).decode_box(&bytes, &mut cells);
            match read {
                Ok(read) if read == bytes.len() => Clip::new(cells).map_err(D::Error::custom),
                Ok(_) => Err(D::Error::custom("more runs than cells")),
                Err(error) => Err(D::Error::custom(error)),
            }
        }
    }

    fn from_hex(text: &str) -> Option<Vec<u8>> {
        let digits: Option<Vec<u8>> =
            text.bytes().map(|c| char::from(c).to_digit(16).map(|d| d as u8)).collect();
        let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
        Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
    }
}
