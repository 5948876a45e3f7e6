//! Instances of a block from its cells.

use crate::generate::{Noise2, Noise2Cursor};
use crate::mesh::{BlockMesh, Mesher, PAD, Surface};
use crate::voxel::{DenseBox, Kind, MaterialTable, MipBlock, Region, VoxelPos};

use super::candidates::{Candidates, Part, floor};
use super::crossings::{Crossing, each_crossing};
use super::instance::{Instance, QUANTA};
use super::pattern::{Pattern, hash};
use super::rule::{ScatterRule, ScatterRuleError, ScatterWater, cosine};

/// Maximum number of rules of a set.
const MAX_RULES: usize = 256;

/// A full turn, radians.
const TURN: f32 = std::f32::consts::TAU;

/// Rules that were checked, with the pattern of their points. Immutable: share it among threads.
///
/// ```
/// use terravox::generate::fill_height;
/// use terravox::mesh::PAD;
/// use terravox::scatter::{ScatterRule, ScatterRules, ScatterScratch};
/// use terravox::voxel::{DenseBox, MaterialTable, MipBlock};
///
/// let grass = ScatterRule { spacing_voxels: 1.0, ..ScatterRule::default() };
/// let trees = ScatterRule { seed: 1, spacing_voxels: 6.0, max_mip: 5, ..grass.clone() };
/// let rules = ScatterRules::new(vec![grass, trees])?;
///
/// let block = MipBlock::new(0, [0, 0, 0]);
/// let mut cells = DenseBox::new(block.cells().grow(PAD));
/// fill_height(&mut cells, 0, 8, 5.0..=25.0, |x, z| 15.0 + 5.0 * (0.1 * (x + z)).sin());
/// let (mut scratch, mut instances) = (ScatterScratch::default(), Vec::new());
/// rules.scatter(block, &cells, &MaterialTable::default(), &mut scratch, &mut instances);
///
/// assert!(instances.len() > 600); // 0.6 tufts on a voxel, and a few trees
/// assert!(instances.iter().all(|tuft| tuft.normal[1] > 0.7));
/// # Ok::<(), terravox::scatter::ScatterRuleError>(())
/// ```
#[derive(Debug)]
pub struct ScatterRules {
    rules: Vec<ScatterRule>,
    filters: Vec<RuleFilter>,
    pattern: Pattern,
}

/// Memory of [`ScatterRules::scatter`]. Keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct ScatterScratch {
    mesher: Mesher,
    mesh: BlockMesh,
    candidates: Candidates,
    vertices: Vec<[i32; 3]>,
    /// Keys of the instances found, and their numbers.
    order: Vec<(u64, u32)>,
    found: Vec<Instance>,
}

/// A rule in the terms of a crossing.
#[derive(Clone, Debug)]
struct RuleFilter {
    /// Upward component of normals, from and to.
    up: [f32; 2],
    /// By material.
    materials: [bool; 256],
    noise: Noise2,
}

impl RuleFilter {
    fn new(rule: &ScatterRule) -> RuleFilter {
        let mut materials = [rule.materials.is_empty(); 256];
        rule.materials.iter().for_each(|&m| materials[usize::from(m)] = true);
        let [flat, steep] = rule.slope_degrees.map(cosine);
        // Unit vectors are so within rounding.
        let up = [steep - 1e-6, flat + 1e-6];
        RuleFilter { up, materials, noise: Noise2::new(hash(!rule.seed)) }
    }
}

/// Maximum number of points that all rules try on a square of a cell, which bounds the instances of
/// a block.
const MOST_IN_CELLS: f64 = 1024.0;

impl ScatterRules {
    /// Checks rules. An instance has the number of its rule. Takes some milliseconds, for the
    /// pattern.
    ///
    /// # Errors
    /// [`ScatterRuleError`] if a value is out of its range, or there are more than 256 rules.
    pub fn new(rules: Vec<ScatterRule>) -> Result<ScatterRules, ScatterRuleError> {
        if rules.len() > MAX_RULES {
            let (allowed, given) = ("at most 256 rules", rules.len() as f64);
            return Err(ScatterRuleError { rule: MAX_RULES, allowed, given });
        }
        let mut in_cell = 0.0;
        for (number, rule) in rules.iter().enumerate() {
            rule.check(number)?;
            in_cell += rule.points_in_cell(rule.max_mip).powi(2);
            if in_cell > MOST_IN_CELLS {
                let allowed = "all rules together try at most 1024 points on a square of a cell: \
                               raise spacing_voxels, lower max_mip or share_per_mip";
                return Err(ScatterRuleError { rule: number, allowed, given: in_cell });
            }
        }
        let filters = rules.iter().map(RuleFilter::new).collect();
        Ok(ScatterRules { rules, filters, pattern: Pattern::new() })
    }

    /// The rules.
    pub fn rules(&self) -> &[ScatterRule] {
        &self.rules
    }

    /// Whether any rule has points at `mip`.
    pub fn has_mip(&self, mip: u8) -> bool {
        self.rules.iter().any(|rule| rule.share(mip) > 0.0)
    }

    /// Replaces the content of `out` by the instances of `block`, ordered by rule, x, z and
    /// height. `cells` is the block grown by [`PAD`] (2) cells on all six sides, in cells of the
    /// block's mip. All instances whose faces belong to cells of the block are in it, and no
    /// others.
    ///
    /// # Panics
    /// If `cells` has another region.
    pub fn scatter(
        &self,
        block: MipBlock,
        cells: &DenseBox,
        materials: &MaterialTable,
        scratch: &mut ScatterScratch,
        out: &mut Vec<Instance>,
    ) {
        self.scatter_part(block, block.cells(), cells, materials, scratch, out);
    }

    /// As [`ScatterRules::scatter`], of the cells `part` of the block; `cells` is that grown by
    /// [`PAD`].
    pub(super) fn scatter_part(
        &self,
        block: MipBlock,
        part: Region,
        cells: &DenseBox,
        materials: &MaterialTable,
        scratch: &mut ScatterScratch,
        out: &mut Vec<Instance>,
    ) {
        let read = cells.region();
        assert!(read == part.grow(PAD), "cells of {read} for the block {block}");
        out.clear();
        let ids = cells.materials();
        // Compared with itself, one off, as that is a call of `memcmp`.
        if ids[1..] == ids[..ids.len() - 1] {
            return;
        }
        let ScatterScratch { mesher, mesh, candidates, vertices, order, found } = scratch;
        if !self.has_mip(block.mip) {
            return;
        }
        mesher.mesh(cells, materials, mesh);
        if mesh.solid.is_empty() {
            return; // layers of stone
        }
        let part = Part { mip: block.mip, block: block.cells(), cells: part };
        candidates.find(&self.rules, &self.pattern, part);
        let offset = (part.cells.min - part.block.min).to_array();
        let mut stand = Stand::new(self, part, cells, materials, &mesh.solid, offset);
        found.clear();
        let ceilings = self.filters.iter().any(|filter| filter.up[0] <= 0.0);
        each_crossing(&mesh.solid, offset, ceilings, candidates, vertices, |crossing| {
            found.extend(stand.instance(&crossing));
        });
        let voxels = stand.voxels;
        order.clear();
        order.extend((0..).zip(&*found).map(|(i, instance)| (instance.key(voxels), i)));
        order.sort_unstable_by(|a, b| {
            let tie = |at: u32| found[at as usize].tie();
            a.0.cmp(&b.0).then_with(|| tie(a.1).cmp(&tie(b.1)))
        });
        out.extend(order.iter().map(|&(_, i)| found[i as usize]));
    }

    /// The pattern, for the twin.
    #[cfg(test)]
    pub(super) fn pattern(&self) -> &Pattern {
        &self.pattern
    }
}

/// Decides what stands on the crossings of a part of a block.
pub(super) struct Stand<'a> {
    rules: &'a ScatterRules,
    part: Part,
    cells: &'a DenseBox,
    materials: &'a MaterialTable,
    surface: &'a Surface,
    /// From the part to the block, cells.
    offset: [i32; 3],
    /// Share of the density that each coarser mip leaves, by rule.
    shares: Vec<f32>,
    noises: Vec<Noise2Cursor>,
    /// Edge of a cell.
    voxels: f32,
}

impl<'a> Stand<'a> {
    pub(super) fn new(
        rules: &'a ScatterRules,
        part: Part,
        cells: &'a DenseBox,
        materials: &'a MaterialTable,
        surface: &'a Surface,
        offset: [i32; 3],
    ) -> Stand<'a> {
        let shares = rules.rules.iter().map(|rule| rule.share(part.mip)).collect();
        let noises = rules.filters.iter().map(|filter| filter.noise.cursor()).collect();
        let voxels = (1u32 << part.mip) as f32;
        Stand { rules, part, cells, materials, surface, offset, shares, noises, voxels }
    }

    /// What stands where a line crosses the ground, if its rule wants anything there.
    pub(super) fn instance(&mut self, crossing: &Crossing<'_>) -> Option<Instance> {
        let line = crossing.line;
        let number = usize::from(line.rule);
        let (rule, filter) = (&self.rules.rules[number], &self.rules.filters[number]);
        let material = self.surface.quad_materials[crossing.quad];
        if !filter.materials[usize::from(material)] {
            return None;
        }
        let normal = self.normal(crossing);
        if normal[1] < filter.up[0] || filter.up[1] < normal[1] {
            return None;
        }
        let in_cells = [
            line.x as f32 / QUANTA as f32,
            crossing.y as f32 / (QUANTA / 2) as f32,
            line.z as f32 / QUANTA as f32,
        ];
        let [x, y, z] = self.in_world(in_cells);
        let [low, high] = rule.height_voxels;
        if y < low || high < y || !self.suits_water(rule.water, in_cells, normal) {
            return None;
        }
        if rule.patches > 0.0 {
            let width = f64::from(rule.patch_voxels);
            let bare = rule.patches * bareness(self.noises[number].at(x / width, z / width));
            if line.rank >= self.shares[number] * (1.0 - bare) {
                return None;
            }
        }
        let [x, y, z, _] = self.surface.quad_faces[crossing.quad];
        let o = self.offset;
        let cell = [i32::from(x) + o[0], i32::from(y) + o[1], i32::from(z) + o[2]];
        let bits = hash(line.id);
        let unit = |bits: u64| (bits & 0xff_ffff) as f32 / (1u32 << 24) as f32;
        let [small, large] = rule.size;
        Some(Instance {
            id: line.id,
            position: in_cells.map(|v| v * self.voxels),
            normal,
            size: small + (large - small) * unit(bits),
            yaw_radians: TURN * unit(bits >> 24),
            rank: line.rank,
            cell: cell.map(|v| v as u8),
            material,
            rule: line.rule,
        })
    }

    /// The normal at a crossing, from those of the vertices.
    fn normal(&self, crossing: &Crossing<'_>) -> [f32; 3] {
        let shares = crossing.weights.map(|w| w as f32 / crossing.weight as f32);
        let normals = crossing.vertices.map(|v| self.surface.normals[v as usize]);
        let sum = [0, 1, 2].map(|axis| {
            let part = |i: usize| normals[i][axis] * shares[i];
            (part(0) + part(1)) + part(2)
        });
        let length = ((sum[0] * sum[0] + sum[1] * sum[1]) + sum[2] * sum[2]).sqrt();
        // Normals that cancel out are those of a fold; any of them will do.
        if length > 1e-3 { sum.map(|v| v / length) } else { normals[0] }
    }

    /// Voxels of the world.
    fn in_world(&self, in_cells: [f32; 3]) -> [f64; 3] {
        let min = self.part.block.min.to_array();
        [0, 1, 2]
            .map(|axis| (f64::from(min[axis]) + f64::from(in_cells[axis])) * f64::from(self.voxels))
    }

    /// Whether the cell one cell out of the ground has water or not, as it should.
    fn suits_water(&self, water: ScatterWater, in_cells: [f32; 3], normal: [f32; 3]) -> bool {
        if water == ScatterWater::Either {
            return true;
        }
        // Surfaces reach ¾ of a cell, so this is within the padding.
        let out = [0, 1, 2].map(|axis| floor(f64::from(in_cells[axis] + normal[axis])) as i32);
        let cell = self.cells.cell(self.part.block.min + VoxelPos::from(out));
        let is_wet = self.materials.kind(cell.material) == Kind::Liquid;
        is_wet == (water == ScatterWater::Under)
    }
}

/// How bare the ground is where noise is `noise`, 0 to 1.
fn bareness(noise: f64) -> f32 {
    let t = (0.5 + 1.5 * noise).clamp(0.0, 1.0) as f32;
    t * t * (3.0 - 2.0 * t)
}
