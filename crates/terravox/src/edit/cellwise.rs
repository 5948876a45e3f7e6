//! Every action, cell by cell: with water, masks and neighbours.
//!
//! Cells are split into arrays of solid and liquid units (256ths), which keeps the rules simple,
//! and merged again at the end. [`super::rows`] does the most common actions faster.
//!
//! Smoothing is a blur and a contrast (after Merriman, Bence, Osher, "Diffusion generated
//! motion by mean curvature", 1992): the blur ¼ ½ ¼ along each axis, then twice the
//! distance from one half. The factor of two keeps flat surfaces where they are.

use super::Action;
use super::op::BrushOp;
use super::stamp::Stamp;
use crate::generate::noise_3d;
use crate::voxel::{AIR, Cell, DenseBox, Kind, Region, VoxelPos, WATER};

/// Reusable buffers.
#[derive(Default)]
pub(super) struct CellScratch {
    before: SplitCells,
    after: SplitCells,
    brush: Vec<u16>,
    /// Cells to revisit once all others are done.
    film: Vec<usize>,
}

/// The cells of a box, split into solid and liquid.
#[derive(Default)]
struct SplitCells {
    /// Material of the solid part; where there is none, what it was before.
    material: Vec<u8>,
    /// Solid units.
    solid: Vec<u16>,
    /// Material of the liquid part.
    liquid: Vec<u8>,
    /// Liquid units, in liquid and in solid cells.
    wet: Vec<u16>,
}

impl SplitCells {
    fn read(&mut self, cells: &DenseBox, kinds: &[Kind; 256]) {
        let kind = |m: u8| kinds[usize::from(m)];
        let all = || cells.materials().iter().zip(cells.occupancies());
        let units = |(&m, &o): (&u8, &u8), of: Kind| {
            if kind(m) == of { Cell { material: m, occupancy: o }.units() as u16 } else { 0 }
        };
        self.material.clear();
        self.material.extend_from_slice(cells.materials());
        self.solid.clear();
        self.solid.extend(all().map(|cell| units(cell, Kind::Solid)));
        self.wet.clear();
        self.wet.extend(all().map(|cell| units(cell, Kind::Liquid)));
        self.liquid.clear();
        let liquid = |&m: &u8| if kind(m) == Kind::Liquid { m } else { WATER };
        self.liquid.extend(cells.materials().iter().map(liquid));
        for &(cell, held) in cells.water() {
            if kind(self.material[cell as usize]) == Kind::Solid {
                self.wet[cell as usize] = u16::from(held) + 1;
            }
        }
    }

    fn copy_from(&mut self, other: &SplitCells) {
        self.material.clone_from(&other.material);
        self.solid.clone_from(&other.solid);
        self.liquid.clone_from(&other.liquid);
        self.wet.clone_from(&other.wet);
    }

    fn cell(&self, i: usize) -> Cell {
        let (solid, wet) = (self.solid[i], self.wet[i]);
        if solid > 0 {
            Cell { material: self.material[i], occupancy: (solid - 1) as u8 }
        } else if wet > 0 {
            Cell { material: self.liquid[i], occupancy: (wet - 1) as u8 }
        } else {
            Cell::AIR
        }
    }

    fn same(&self, other: &SplitCells, i: usize) -> bool {
        let alike = self.solid[i] == other.solid[i] && self.wet[i] == other.wet[i];
        let one = self.material[i] == other.material[i] && self.liquid[i] == other.liquid[i];
        // The material of an empty part does not matter.
        alike && (one || self.cell(i) == other.cell(i))
    }
}

/// How the cells of a box are laid out in its arrays.
#[derive(Clone, Copy)]
struct Layout {
    region: Region,
    row: usize,
    slice: usize,
}

impl Layout {
    fn of(region: Region) -> Layout {
        let [x, _, z] = region.size();
        Layout { region, row: x, slice: x * z }
    }

    fn index(self, pos: VoxelPos) -> usize {
        let at = pos - self.region.min;
        at.x as usize + self.row * at.z as usize + self.slice * at.y as usize
    }

    /// The cell beside `pos`, if it is in the box.
    fn beside(self, pos: VoxelPos, [x, y, z]: [i32; 3]) -> Option<usize> {
        let pos = pos + VoxelPos::new(x, y, z);
        self.region.contains(pos).then(|| self.index(pos))
    }
}

/// Faces of a cell.
pub(super) const FACES: [[i32; 3]; 6] =
    [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]];

/// How many cells beyond those that it changes an operation reads.
pub(super) fn padding(op: &BrushOp) -> i32 {
    let slope = i32::from(op.mask.slope.is_some());
    match op.action {
        // The border must be known as it is after the first pass, which looks beside a cell for the
        // material of new ground.
        Action::Flatten { material: None, .. } => 2,
        Action::Dig | Action::Drain | Action::Flatten { .. } => 1 + slope,
        Action::Smooth | Action::Grow { .. } | Action::Erode { .. } | Action::Roughen { .. } => 1,
        _ => slope,
    }
}

/// Applies the operation to `cells`, a box padded by [`padding`] cells; the padding is unspecified
/// afterwards.
pub(super) fn apply(
    op: &BrushOp,
    stamp: &Stamp,
    cells: &mut DenseBox,
    kinds: &[Kind; 256],
    s: &mut CellScratch,
) {
    let layout = Layout::of(cells.region());
    s.before.read(cells, kinds);
    s.after.copy_from(&s.before);
    s.brush.resize(layout.row, 0);
    s.film.clear();
    let rules = Rules { op, kinds, layout, flat: FlattenPlane::of(&op.action) };
    // A blur has no neighbours at the border.
    let margin = i32::from(op.action == Action::Smooth);
    let region = layout.region.grow(-margin).intersect(stamp.region);
    for y in region.min.y..region.max.y {
        for z in region.min.z..region.max.z {
            let part = stamp.row(y, z, layout.region.min.x, &mut s.brush);
            for x in part {
                let pos = VoxelPos::new(layout.region.min.x + x as i32, y, z);
                let units = s.brush[x];
                if units > 0 && region.contains(pos) && rules.passes(pos, &s.before) {
                    rules.change(pos, units, &s.before, &mut s.after, &mut s.film);
                }
            }
        }
    }
    clear_films(op.action == Action::Drain, layout, &mut s.after, &s.film);
    put_back(&s.before, &s.after, cells, kinds);
}

/// The plane of a flatten action: a point and a unit normal.
struct FlattenPlane {
    point: [f64; 3],
    normal: [f64; 3],
}

impl FlattenPlane {
    fn of(action: &Action) -> Option<FlattenPlane> {
        let Action::Flatten { point, normal, .. } = action else { return None };
        let long = normal.iter().map(|v| v * v).sum::<f64>().sqrt();
        Some(FlattenPlane { point: *point, normal: normal.map(|v| v / long) })
    }

    /// Units of the cell below the plane.
    fn below(&self, pos: VoxelPos) -> u16 {
        let centre = pos.to_array().map(|v| f64::from(v) + 0.5);
        let depth: f64 = (0..3).map(|i| (self.point[i] - centre[i]) * self.normal[i]).sum();
        crate::generate::occupancy_units(depth) as u16
    }
}

/// An operation on one box.
struct Rules<'a> {
    op: &'a BrushOp,
    kinds: &'a [Kind; 256],
    layout: Layout,
    flat: Option<FlattenPlane>,
}

impl Rules<'_> {
    fn kind(&self, material: u8) -> Kind {
        self.kinds[usize::from(material)]
    }

    fn passes(&self, pos: VoxelPos, before: &SplitCells) -> bool {
        let mask = &self.op.mask;
        let solid_at = |off| self.layout.beside(pos, off).map_or(0, |i| before.solid[i]);
        mask.accepts_all() || mask.passes(pos, before.cell(self.layout.index(pos)), solid_at)
    }

    /// Changes one cell, `b` units of which the brush covers.
    fn change(
        &self,
        pos: VoxelPos,
        b: u16,
        before: &SplitCells,
        after: &mut SplitCells,
        film: &mut Vec<usize>,
    ) {
        let i = self.layout.index(pos);
        let solid = before.solid[i];
        match self.op.action {
            Action::Fill { material } if self.kind(material) == Kind::Solid => {
                if b > solid {
                    grow_to(after, i, b, material);
                }
            }
            Action::Fill { material } | Action::Flood { material } => {
                if solid < 256 && b > before.wet[i] {
                    after.wet[i] = b;
                    after.liquid[i] = if solid > 0 { WATER } else { material };
                }
            }
            Action::Dig => {
                after.solid[i] = solid.min(256 - b);
                film.extend((b < 256).then_some(i));
            }
            Action::Drain => {
                after.wet[i] = before.wet[i].min(256 - b);
                film.extend((b < 256).then_some(i));
            }
            Action::Paint { material } => {
                if b >= 128 && solid > 0 {
                    after.material[i] = material;
                }
            }
            Action::Replace { from, to } => {
                if b >= 128 && before.cell(i).material == from {
                    self.replace(from, to, i, after);
                }
            }
            Action::Flatten { material, .. } => {
                self.flatten(pos, b, material, before, after, film);
            }
            Action::Smooth => {
                let (solid, b) = (i32::from(solid), i32::from(b));
                let towards = self.blurred(i, before) - solid;
                // Round half up.
                let step = (towards * b + 128).div_euclid(256);
                self.set_solid(pos, solid + step, before, after);
            }
            Action::Grow { amount } => self.offset(pos, b, amount, before, after),
            Action::Erode { amount } => self.offset(pos, b, -amount, before, after),
            Action::Roughen { amount, size, seed } => {
                let at = pos.to_array().map(|v| (f64::from(v) + 0.5) / size);
                let noise = noise_3d(seed, at).clamp(-1.0, 1.0);
                self.offset(pos, b, amount * noise, before, after);
            }
        }
    }

    fn replace(&self, from: u8, to: u8, i: usize, after: &mut SplitCells) {
        let units = match self.kind(from) {
            Kind::Solid => std::mem::take(&mut after.solid[i]),
            _ => std::mem::take(&mut after.wet[i]),
        };
        match self.kind(to) {
            Kind::Air => {}
            Kind::Solid => grow_to(after, i, units, to),
            Kind::Liquid => {
                after.wet[i] = after.wet[i].max(units);
                after.liquid[i] = to;
            }
        }
    }

    /// Ground below the plane, none above: a fill and a dig at once.
    fn flatten(
        &self,
        pos: VoxelPos,
        b: u16,
        material: Option<u8>,
        before: &SplitCells,
        after: &mut SplitCells,
        film: &mut Vec<usize>,
    ) {
        let i = self.layout.index(pos);
        let below = self.flat.as_ref().map_or(0, |flat| flat.below(pos));
        let raised = b.min(below);
        if raised > before.solid[i] {
            let with = material.unwrap_or_else(|| self.near_material(pos, before));
            if with != AIR {
                grow_to(after, i, raised, with);
            }
        }
        let dug = b.min(256 - below);
        after.solid[i] = after.solid[i].min(256 - dug);
        film.extend((dug > 0 && dug < 256).then_some(i));
    }

    /// Solid units after a blur and a contrast.
    fn blurred(&self, i: usize, before: &SplitCells) -> i32 {
        let Layout { row, slice, .. } = self.layout;
        let line = |at: usize| {
            let [a, b, c] = [at - 1, at, at + 1].map(|at| i32::from(before.solid[at]));
            a + 2 * b + c
        };
        let plane = |at: usize| line(at - row) + 2 * line(at) + line(at + row);
        let sum = plane(i - slice) + 2 * plane(i) + plane(i + slice);
        // 64 times the mean; twice the distance from one half, to the nearest.
        ((2 * sum + 32).div_euclid(64) - 128).clamp(0, 256)
    }

    /// Moves the surface outward by `amount` voxels, weighted by the brush.
    fn offset(
        &self,
        pos: VoxelPos,
        b: u16,
        amount: f64,
        before: &SplitCells,
        after: &mut SplitCells,
    ) {
        let step = (amount * f64::from(b)).round() as i32;
        let i = self.layout.index(pos);
        let solid = i32::from(before.solid[i]);
        let beside = FACES.iter().filter_map(|&face| self.layout.beside(pos, face));
        let beside = beside.map(|at| i32::from(before.solid[at]));
        // A cell beside the surface is one voxel farther from it than its neighbour.
        let to = if step > 0 {
            let most = beside.max().unwrap_or(0);
            let own = if solid > 0 { solid + step } else { 0 };
            own.max(if most > 0 { most - 256 + step } else { 0 })
        } else {
            let least = beside.min().unwrap_or(256);
            let own = if solid < 256 { solid + step } else { 256 };
            own.min(if least < 256 { least + 256 + step } else { 256 })
        };
        let to = if step > 0 { to.max(solid) } else { to.min(solid) };
        self.set_solid(pos, to, before, after);
    }

    fn set_solid(&self, pos: VoxelPos, units: i32, before: &SplitCells, after: &mut SplitCells) {
        let i = self.layout.index(pos);
        let units = units.clamp(0, 256) as u16;
        if units > before.solid[i] {
            let new = before.solid[i] == 0;
            let with = if new { self.near_material(pos, before) } else { before.material[i] };
            if with != AIR {
                grow_to(after, i, units, with);
            }
        } else {
            after.solid[i] = units;
        }
    }

    /// The most frequent solid material, by volume, in the 3³ cells around `pos`; the lowest id on
    /// a tie, air if there is none.
    fn near_material(&self, pos: VoxelPos, before: &SplitCells) -> u8 {
        let mut sums = [(AIR, 0u32); 27];
        let mut used = 0;
        for at in Region::one(pos).grow(1).intersect(self.layout.region).voxels() {
            let i = self.layout.index(at);
            if before.solid[i] == 0 {
                continue;
            }
            let units = u32::from(before.solid[i]);
            match sums[..used].iter_mut().find(|sum| sum.0 == before.material[i]) {
                Some(sum) => sum.1 += units,
                None => {
                    sums[used] = (before.material[i], units);
                    used += 1;
                }
            }
        }
        let best = sums[..used].iter().max_by_key(|sum| (sum.1, std::cmp::Reverse(sum.0)));
        best.map_or(AIR, |sum| sum.0)
    }
}

/// Fills a cell with solid up to `units`; a full one holds no water.
fn grow_to(after: &mut SplitCells, i: usize, units: u16, material: u8) {
    after.solid[i] = units;
    after.material[i] = material;
    if units == 256 {
        after.wet[i] = 0;
    }
}

/// Clears what is at or below ½ and has no face neighbour above it, among `film`.
fn clear_films(liquid: bool, layout: Layout, after: &mut SplitCells, film: &[usize]) {
    let units = if liquid { &mut after.wet } else { &mut after.solid };
    let last = units.len();
    for &i in film {
        let inside = i >= layout.slice && i + layout.slice < last;
        if !inside || units[i] > 128 || units[i] == 0 {
            continue;
        }
        let beside =
            [i - 1, i + 1, i - layout.row, i + layout.row, i - layout.slice, i + layout.slice];
        if beside.iter().all(|&at| units[at] <= 128) {
            units[i] = 0;
        }
    }
}

/// Writes the cells that changed to the box.
fn put_back(before: &SplitCells, after: &SplitCells, cells: &mut DenseBox, kinds: &[Kind; 256]) {
    let mut water_changed = false;
    let (material, occupancy) = cells.arrays_mut();
    for i in 0..material.len() {
        if !after.same(before, i) {
            let cell = after.cell(i);
            (material[i], occupancy[i]) = (cell.material, cell.occupancy);
            water_changed |= (after.wet[i] | before.wet[i]) > 0;
        }
    }
    if water_changed {
        let solid = |&i: &usize| kinds[usize::from(cells.materials()[i])] == Kind::Solid;
        let wet = (0..cells.len()).filter(|&i| after.wet[i] > 0).filter(solid);
        let water = wet.map(|i| (i as u32, (after.wet[i] - 1) as u8)).collect();
        cells.set_all_water(water);
    }
}
