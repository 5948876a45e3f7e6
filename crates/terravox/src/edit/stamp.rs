//! Stamps: how much of each cell a brush covers, row by row.
//!
//! The share of a cell is `clamp(½ + depth)`, as everywhere (`generate::sdf`). Summed over
//! cells that is exact for flat surfaces only, so curved ones are corrected: a ramp of one
//! voxel about radius r holds the volume of (r³ + r/4)^⅓ (ball) or √(r² + 1/12)
//! (cylinder), and the radius is taken that much smaller. A box is the product of its three
//! slabs, not their minimum: the product has the volume of the box at any rotation.
//!
//! The share of a cell depends on the cell alone, not on the row or region that is read.

use super::shape::{LocalFrame, StampShape, bounds, form, region_of, volume_and_surface};
use super::{Brush, EditError, EditOp};
use crate::math::{dot, sub};
use crate::voxel::{Region, VoxelPos};
use std::ops::Range;

/// Maximum cells in the bounds of a shape whose volume is corrected.
const MAX_WEIGHED_CELLS: u64 = 20 * 20 * 20;

/// A brush, ready to be evaluated.
pub(super) struct Stamp {
    /// All covered cells are inside.
    pub region: Region,
    /// The origin of the positions below, so that f32 is precise enough.
    anchor: VoxelPos,
    form: StampShape,
    /// Change of the share per voxel of depth.
    slope: f32,
    /// Units of a cell that is covered completely.
    full: f32,
}

/// How much of a region a brush covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    None,
    Some,
    All,
}

impl Stamp {
    /// The stamp of a checked brush, all in voxels.
    pub fn new(brush: &Brush, falloff: f64, strength: f64) -> Result<Stamp, EditError> {
        let mut stamp = Stamp::unweighed(brush, falloff)?;
        if Stamp::is_weighed(brush, stamp.region, falloff) {
            stamp.weigh(brush);
        }
        stamp.full = (strength * 256.0) as f32;
        Ok(stamp)
    }

    /// As [`Stamp::new`] at full strength; the volume of small shapes is not exact.
    pub fn unweighed(brush: &Brush, falloff: f64) -> Result<Stamp, EditError> {
        let bounds = bounds(brush)?;
        let region = region_of(bounds)?;
        if region.volume() > EditOp::MAX_CELLS {
            return Err(EditError::TooLarge { region, max_cells: EditOp::MAX_CELLS });
        }
        // The centre, so that all cells of the region are near.
        let anchor = [0, 1, 2].map(|i| ((bounds[0][i] + bounds[1][i]) / 2.0).floor() as i32);
        let anchor = VoxelPos::from(anchor);
        let form = form(brush, anchor, region, falloff)?;
        let slope = (1.0 / (1.0 + falloff)) as f32;
        Ok(Stamp { region, anchor, form, slope, full: 256.0 })
    }

    /// Whether the volume of a shape is corrected.
    pub fn is_weighed(brush: &Brush, region: Region, falloff: f64) -> bool {
        falloff == 0.0
            && region.volume() <= MAX_WEIGHED_CELLS
            && volume_and_surface(brush).is_some()
    }

    /// Returns the depth of a point in the brush, with slope at most 1, and how many nodes and
    /// segments of a path that looks at, 0 for other shapes. `None` for shapes where the slope may
    /// be more.
    pub fn depth_and_visits(&self, point: [f64; 3]) -> Option<(f32, u32)> {
        let anchor = self.anchor.to_array().map(f64::from);
        self.form.depth_and_visits([0, 1, 2].map(|i| (point[i] - anchor[i]) as f32))
    }

    /// Offsets the surface of a small shape so that its cells sum up to its volume; its position
    /// relative to the cells makes a difference of a percent.
    fn weigh(&mut self, brush: &Brush) {
        let Some((volume, surface)) = volume_and_surface(brush) else { return };
        let [width, high, deep] = self.region.size();
        let mut row = vec![0; width];
        let mut units = 0u64;
        for line in 0..high * deep {
            let [y, z] = [self.region.min.y + (line / deep) as i32, (line % deep) as i32];
            let part = self.row(y, self.region.min.z + z, self.region.min.x, &mut row);
            units += row[part].iter().map(|&units| u64::from(units)).sum::<u64>();
        }
        let missing = (volume - units as f64 / 256.0) / surface;
        self.form.grow(missing.clamp(-0.1, 0.1) as f32);
    }

    /// A quick conservative test whether a region is covered completely or not at all.
    pub fn cover(&self, region: Region) -> Coverage {
        let [min, max] = [region.min, region.max].map(|p| p.to_array().map(f64::from));
        let anchor = self.anchor.to_array().map(f64::from);
        let middle = [0, 1, 2].map(|i| ((min[i] + max[i]) / 2.0 - anchor[i]) as f32);
        let edges = [0, 1, 2].map(|i| (max[i] - min[i]) as f32);
        let reach = 0.5 * dot(edges, edges).sqrt() + 1.0;
        let Some((depth, _)) = self.form.depth_and_visits(middle) else { return Coverage::Some };
        if depth + 0.5 + reach <= 0.0 {
            Coverage::None
        } else if (depth - reach) * self.slope >= 1.0 && self.full >= 256.0 {
            Coverage::All
        } else {
            Coverage::Some
        }
    }

    /// Units (0 to 256) of the cells from x0 on in the row at (y, z), into `out`. Returns
    /// the part of `out` that it wrote; the brush covers nothing of the rest, which is
    /// left as it was.
    pub fn row(&self, y: i32, z: i32, x0: i32, out: &mut [u16]) -> Range<usize> {
        let at = VoxelPos::new(x0, y, z) - self.anchor;
        let centre = [at.y, at.z].map(|v| v as f32 + 0.5);
        let low = (self.region.min.x - x0).clamp(0, out.len() as i32) as usize;
        let high = (self.region.max.x - x0).clamp(0, out.len() as i32) as usize;
        let inside = self.region.min.y <= y && y < self.region.max.y;
        if !(inside && self.region.min.z <= z && z < self.region.max.z) || low >= high {
            return 0..0;
        }
        let mut row = Units { x0: at.x, range: low..high, slope: self.slope, full: self.full, out };
        self.form.row(centre, VoxelPos::new(x0, y, z), &mut row);
        row.range
    }

    /// Units of one cell.
    #[cfg(test)]
    pub fn units_at(&self, pos: VoxelPos) -> u16 {
        let mut out = [0];
        self.row(pos.y, pos.z, pos.x, &mut out);
        out[0]
    }
}

/// The units of a row as they are computed.
struct Units<'a> {
    /// Position of the first cell from the anchor.
    x0: i32,
    /// The cells of the row.
    range: Range<usize>,
    slope: f32,
    full: f32,
    out: &'a mut [u16],
}

impl Units<'_> {
    /// Writes the units of all cells; `share` gets the x of a cell's centre.
    #[inline(always)]
    fn each(&mut self, share: impl Fn(f32) -> f32) {
        let (x0, full) = (self.x0, self.full);
        let first = self.range.start as i32;
        for (i, units) in self.out[self.range.clone()].iter_mut().enumerate() {
            let x = (x0 + first + i as i32) as f32 + 0.5;
            *units = whole_units(share(x) * full);
        }
    }

    /// Writes the units of all cells from their depths.
    #[inline(always)]
    fn depths(&mut self, depth: impl Fn(f32) -> f32) {
        let slope = self.slope;
        self.each(|x| ramp(depth(x), slope));
    }

    /// As [`Units::depths`], where all cells less than `inner` from `x` are covered.
    #[inline(always)]
    fn full_depths(&mut self, x: f32, inner: f32, depth: impl Fn(f32) -> f32) {
        let whole = self.range.clone();
        // One voxel less on each side, as a margin for rounding.
        let ends = [x - inner + 1.5, x + inner - 1.5];
        let [from, to] = ends.map(|end| (floor(end) - self.x0).max(0) as usize);
        let from = from.clamp(whole.start, whole.end);
        let to = to.clamp(from, whole.end);
        self.range = whole.start..from;
        self.depths(&depth);
        self.out[from..to].fill(whole_units(self.full));
        self.range = to..whole.end;
        self.depths(&depth);
        self.range = whole;
    }

    /// Writes the units of all cells within `radius` of something. `distance` returns the distance
    /// of it from the centre of a cell at x, exact within the range that it gets. Halves the row
    /// until a part is covered completely, not at all, or short.
    fn spans(&mut self, radius: f32, distance: impl Fn(f32, Range<f32>) -> f32) {
        const SHORT: usize = 4;
        /// For rounding.
        const MARGIN: f32 = 0.25;
        let whole = self.range.clone();
        let ramp_end = radius + 0.5 - 1.0 / self.slope;
        // The longest row is 2^31 cells.
        let mut waiting = [(0, 0); 32];
        let mut count = 1;
        waiting[0] = (whole.start, whole.end);
        while count > 0 {
            count -= 1;
            let (from, to) = waiting[count];
            self.range = from..to;
            if to - from <= SHORT {
                self.depths(|x| radius - distance(x, ramp_end - MARGIN..radius + 1.0));
                continue;
            }
            let half = 0.5 * (to - from) as f32;
            let reach = half + MARGIN;
            let middle = self.x0 as f32 + 0.5 * (from + to) as f32;
            let limit = radius + 0.5 + reach;
            let nearest = distance(middle, ramp_end - reach..limit);
            if nearest >= limit {
                self.out[from..to].fill(0);
            } else if nearest + reach <= ramp_end {
                self.out[from..to].fill(whole_units(self.full));
            } else {
                let split = from + (to - from) / 2;
                waiting[count] = (split, to);
                waiting[count + 1] = (from, split);
                count += 2;
            }
        }
        self.range = whole;
    }

    /// Narrows the row to the cells whose centres are less than `reach` from `x`.
    fn narrow(&mut self, x: f32, reach: f32) {
        let from = floor(x - reach - 1.5) - self.x0;
        let to = floor(x + reach + 2.5) - self.x0;
        let within =
            |v: i32, range: &Range<usize>| v.clamp(range.start as i32, range.end as i32) as usize;
        self.range = within(from, &self.range)..within(to, &self.range);
    }
}

/// Floor, without the call that it compiles to without SSE4.1.
#[inline(always)]
fn floor(v: f32) -> i32 {
    let cut = v as i32;
    cut - i32::from(cut as f32 > v)
}

/// Rounds a number of 0 to 256 to the nearest integer, by adding 2²³.
#[inline(always)]
fn whole_units(units: f32) -> u16 {
    ((units + 8_388_608.0).to_bits() & 0x1ff) as u16
}

/// Clamps `v` to 0..=1; 0 if it is NaN. Two instructions, where `clamp` is more.
#[inline(always)]
fn unit(v: f32) -> f32 {
    let v = if v > 0.0 { v } else { 0.0 };
    if v < 1.0 { v } else { 1.0 }
}

#[inline(always)]
fn ramp(depth: f32, slope: f32) -> f32 {
    unit((depth + 0.5) * slope)
}

/// The share of a cell at `off` from the middle of a slab that the slab, `half` thick on each
/// side, covers. At most its thickness.
#[inline(always)]
fn slab(half: f32, off: f32, slope: f32) -> f32 {
    let share = ramp(half - off.abs(), slope);
    if share < 2.0 * half { share } else { 2.0 * half }
}

impl StampShape {
    #[inline]
    fn row(&self, [y, z]: [f32; 2], at: VoxelPos, row: &mut Units<'_>) {
        let slope = row.slope;
        match self {
            StampShape::Ball { centre, radius } => {
                let (dy, dz) = (y - centre[1], z - centre[2]);
                let off = dy * dy + dz * dz;
                let reach = (radius + 0.5) * (radius + 0.5) - off;
                row.narrow(centre[0], if reach > 0.0 { reach.sqrt() } else { 0.0 });
                let depth = |x| {
                    let dx: f32 = x - centre[0];
                    radius - (dx * dx + off).sqrt()
                };
                // Most cells are far inside and need no square root.
                let full = radius - 0.5 - (1.0 / slope - 1.0);
                let within = full * full - off;
                let inner = if full > 0.0 && within > 0.0 { within.sqrt() } else { 0.0 };
                row.full_depths(centre[0], inner, depth);
            }
            StampShape::Box { frame, half } => row.each(|x| {
                let [a, b, c] = frame.local([x, y, z]);
                slab(half[0], a, slope) * slab(half[1], b, slope) * slab(half[2], c, slope)
            }),
            StampShape::Cylinder { frame, radius, half_height } => row.each(|x| {
                let [a, b, c] = frame.local([x, y, z]);
                ramp(radius - (a * a + c * c).sqrt(), slope) * slab(*half_height, b, slope)
            }),
            StampShape::Wedge { frame, half, up } => row.each(|x| {
                let [a, b, c] = frame.local([x, y, z]);
                let share = slab(half[0], a, slope) * slab(half[1], b, slope);
                share * slab(half[2], c, slope) * ramp(up[0] * c - up[1] * b, slope)
            }),
            StampShape::Path { tree, radius } => {
                row.spans(*radius, |x, range| tree.distance([x, y, z], range));
            }
            StampShape::Convex(planes) => row.depths(|x| convex_depth([x, y, z], planes)),
            StampShape::Field(field) => {
                let [sx, _, sz] = field.region.size();
                let local = at - field.region.min;
                let first = sx * (local.z as usize + sz * local.y as usize);
                let depths = &field.depth[first..first + sx];
                let (range, full) = (row.range.clone(), row.full);
                for (i, units) in range.clone().zip(&mut row.out[range]) {
                    let depth = depths[(local.x + i as i32) as usize];
                    *units = whole_units(ramp(depth, slope) * full);
                }
            }
            StampShape::Heights { corner, spacing, width, heights } => row.each(|x| {
                let p = [x - corner[0], y - corner[1], z - corner[2]];
                heights_share(p, *spacing, *width, heights, slope)
            }),
        }
    }

    /// Moves the surface outward by `by` voxels, for shapes that are corrected.
    fn grow(&mut self, by: f32) {
        match self {
            StampShape::Ball { radius, .. } => *radius += by,
            StampShape::Box { half, .. } => *half = half.map(|half| half + by),
            StampShape::Cylinder { radius, half_height, .. } => {
                *radius += by;
                *half_height += by;
            }
            _ => {}
        }
    }

    /// See [`Stamp::depth_and_visits`].
    fn depth_and_visits(&self, p: [f32; 3]) -> Option<(f32, u32)> {
        let least = |a: f32, b: f32| if a < b { a } else { b };
        let depth = match self {
            StampShape::Ball { centre, radius } => {
                let off = sub(p, *centre);
                radius - dot(off, off).sqrt()
            }
            StampShape::Box { frame, half } => {
                let off = frame.local(p);
                let [a, b, c] = [0, 1, 2].map(|i| half[i] - off[i].abs());
                least(a, least(b, c))
            }
            StampShape::Cylinder { frame, radius, half_height } => {
                let [a, b, c] = frame.local(p);
                least(radius - (a * a + c * c).sqrt(), half_height - b.abs())
            }
            StampShape::Path { tree, radius } => {
                let (distance, visits) = tree.distance_and_visits(p);
                return Some((radius - distance, visits));
            }
            StampShape::Wedge { frame, half, up } => {
                let off = frame.local(p);
                let [a, b, c] = [0, 1, 2].map(|i| half[i] - off[i].abs());
                let below = up[0] * off[2] - up[1] * off[1];
                least(least(a, b), least(c, below))
            }
            StampShape::Convex(planes) => convex_depth(p, planes),
            StampShape::Field(_) | StampShape::Heights { .. } => return None,
        };
        Some((depth, 0))
    }
}

impl LocalFrame {
    /// A point in local coordinates.
    #[inline(always)]
    fn local(&self, p: [f32; 3]) -> [f32; 3] {
        let off = sub(p, self.centre);
        self.axes.map(|axis| axis[0] * off[0] + (axis[1] * off[1] + axis[2] * off[2]))
    }
}

#[inline(always)]
fn convex_depth(p: [f32; 3], planes: &[([f32; 3], f32)]) -> f32 {
    let depth = |(normal, offset): &([f32; 3], f32)| offset - dot(*normal, p);
    planes.iter().map(depth).fold(f32::MAX, |a, b| if a < b { a } else { b })
}

/// The share below a bilinear height field; `p` from the corner. Height above a slope is converted
/// to distance.
fn heights_share(p: [f32; 3], spacing: f32, width: usize, heights: &[f32], slope: f32) -> f32 {
    let depth = heights.len() / width;
    let [wide, deep] = [width - 1, depth - 1].map(|cells| cells as f32 * spacing * 0.5);
    let edges = slab(wide, p[0] - wide, slope) * slab(deep, p[2] - deep, slope);
    let cell = |v: f32, samples: usize| {
        let at = v / spacing;
        let at = if at > 0.0 { at } else { 0.0 };
        let whole = (at as usize).min(samples - 2);
        (whole, unit(at - whole as f32))
    };
    let ((i, u), (k, w)) = (cell(p[0], width), cell(p[2], depth));
    let h = |i: usize, k: usize| heights[i + width * k];
    let near = h(i, k) + (h(i + 1, k) - h(i, k)) * u;
    let far = h(i, k + 1) + (h(i + 1, k + 1) - h(i, k + 1)) * u;
    let (dx, dz) = (
        (h(i + 1, k) - h(i, k)) + ((h(i + 1, k + 1) - h(i, k + 1)) - (h(i + 1, k) - h(i, k))) * w,
        far - near,
    );
    let long = (1.0 + (dx * dx + dz * dz) / (spacing * spacing)).sqrt();
    let below = ramp((near + (far - near) * w - p[1]) / long, slope);
    edges * below * ramp(p[1], slope)
}
