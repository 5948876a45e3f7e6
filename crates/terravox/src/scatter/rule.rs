//! Rules: where one kind of thing stands.

use crate::voxel::{LIMIT, MAX_FAR_MIP};
use std::fmt;

use super::pattern::LEVELS;

/// Most points that a cell may have along an edge; at that mip, more could not be told apart.
const MAX_POINTS_PER_EDGE: f64 = 8.0;

/// Whether things stand in water.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ScatterWater {
    /// Only where there is none: the cell one cell out of the ground is not liquid.
    #[default]
    Dry,
    /// Only under water.
    Under,
    /// Wherever the ground is.
    Either,
}

/// Where one kind of thing stands, and how large it is. Plain data; [`ScatterRules::new`] checks
/// it.
///
/// [`ScatterRules::new`]: super::ScatterRules::new
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct ScatterRule {
    /// Give each rule a seed of its own: rules with equal seeds share ids, sizes, yaws and bare
    /// patches and, if their spacing is equal, all points.
    pub seed: u64,
    /// Smallest horizontal distance of two points, voxels. At density 1 there are 0.6 points on a
    /// square of this edge.
    pub spacing_voxels: f32,
    /// Materials of the ground; all solid ones if empty.
    pub materials: Vec<u8>,
    /// Steepness of the ground, from and to, degrees: 0 is level, 90 a wall, 180 a ceiling.
    pub slope_degrees: [f32; 2],
    /// Height of the ground, from and to, voxels.
    pub height_voxels: [f64; 2],
    /// Share of the points that are kept, 0 to 1.
    pub density: f32,
    /// How much of the density noise takes, 0 to 1: with 1 there are bare patches.
    pub patches: f32,
    /// Width of patches, voxels.
    pub patch_voxels: f32,
    /// Smallest and largest size, in units of your choice.
    pub size: [f32; 2],
    /// Whether things stand in water.
    pub water: ScatterWater,
    /// The coarsest mip that has points.
    pub max_mip: u8,
    /// Share of the points that each coarser mip keeps, 0 to 1. With ¼ blocks of all mips have
    /// about as many, and points of mips up to 3 are 2, 4 and 8 spacings apart.
    pub share_per_mip: f32,
}

impl Default for ScatterRule {
    /// Four voxels apart, on all ground up to 45° that is not under water, at mips 0 to 3.
    fn default() -> ScatterRule {
        ScatterRule {
            seed: 0,
            spacing_voxels: 4.0,
            materials: Vec::new(),
            slope_degrees: [0.0, 45.0],
            height_voxels: [-f64::from(LIMIT), f64::from(LIMIT)],
            density: 1.0,
            patches: 0.0,
            patch_voxels: 64.0,
            size: [0.75, 1.25],
            water: ScatterWater::Dry,
            max_mip: 3,
            share_per_mip: 0.25,
        }
    }
}

/// A value of a [`ScatterRule`] that is out of its range.
#[derive(Clone, Debug, PartialEq)]
pub struct ScatterRuleError {
    /// Number of the rule; of the first that is too many.
    pub rule: usize,
    /// The field, and what is allowed.
    pub allowed: &'static str,
    /// What was given.
    pub given: f64,
}

impl fmt::Display for ScatterRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScatterRuleError { rule, allowed, given } = self;
        write!(f, "scatter rule {rule}: {given} is not allowed; {allowed}")
    }
}

impl std::error::Error for ScatterRuleError {}

impl ScatterRule {
    /// The share of all points that `mip` has at most; 0 beyond the coarsest.
    pub(super) fn share(&self, mip: u8) -> f32 {
        if mip > self.max_mip {
            return 0.0;
        }
        (0..mip).fold(self.density, |share, _| share * self.share_per_mip)
    }

    /// Returns an error unless every value is in its range.
    pub(super) fn check(&self, rule: usize) -> Result<(), ScatterRuleError> {
        let fail = |allowed, given: f64| Err(ScatterRuleError { rule, allowed, given });
        let unit = |v: f32| (0.0..=1.0).contains(&v);
        let [flat, steep] = self.slope_degrees;
        let [low, high] = self.height_voxels;
        let [small, large] = self.size;
        if !(0.125..=65536.0).contains(&self.spacing_voxels) {
            return fail("spacing_voxels is 0.125 to 65536", self.spacing_voxels.into());
        }
        let flat_is_allowed = (0.0..=180.0).contains(&flat);
        if !flat_is_allowed || !(flat..=180.0).contains(&steep) {
            let wrong = if flat_is_allowed { steep } else { flat };
            return fail("slope_degrees are 0 to 180, ascending", wrong.into());
        }
        if low.is_nan() || high.is_nan() || low > high {
            let wrong = if low.is_nan() { low } else { high };
            return fail("height_voxels are two ascending numbers", wrong);
        }
        if !unit(self.density) {
            return fail("density is 0 to 1", self.density.into());
        }
        if !unit(self.patches) {
            return fail("patches is 0 to 1", self.patches.into());
        }
        if !(1.0..=1e6).contains(&self.patch_voxels) {
            return fail("patch_voxels is 1 to 1000000", self.patch_voxels.into());
        }
        if !small.is_finite() || !(large - small).is_finite() || small > large {
            let wrong = if small.is_finite() { large } else { small };
            return fail("size is two finite, ascending numbers", wrong.into());
        }
        if !unit(self.share_per_mip) {
            return fail("share_per_mip is 0 to 1", self.share_per_mip.into());
        }
        if self.max_mip > MAX_FAR_MIP || self.points_in_cell(self.max_mip) > MAX_POINTS_PER_EDGE {
            return fail(
                "max_mip is at most 12, and its cells at most 8 times as wide as its points are \
                 apart: raise spacing_voxels, lower max_mip or share_per_mip",
                self.max_mip.into(),
            );
        }
        Ok(())
    }

    /// The largest number of points along a cell's edge at any of the mips 0 to `mip`.
    pub(super) fn points_in_cell(&self, mip: u8) -> f64 {
        let in_cell = |mip: u8| {
            let apart = f64::from(self.spacing_voxels) * f64::from(1u32 << level(self.share(mip)));
            f64::from(1u32 << mip) / apart
        };
        (0..=mip).map(in_cell).fold(0.0, f64::max)
    }
}

/// The sparsest subset of the pattern that has all points of ranks below `share`.
pub(super) fn level(share: f32) -> usize {
    (1..LEVELS).take_while(|&level| share <= level_share(level)).count()
}

/// The rank below which all points are of level `level` or sparser.
pub(super) fn level_share(level: usize) -> f32 {
    1.0 / (1u32 << (2 * level)) as f32
}

/// The cosine of 0 to 180 degrees, within 1e-7, with + − × only, so that all machines have the
/// same bits.
pub(super) fn cosine(degrees: f32) -> f32 {
    // cos a = sin(90° − a), by its series at up to 90°.
    let a = (90.0 - f64::from(degrees)) * (std::f64::consts::PI / 180.0);
    let (mut term, mut sum) = (a, a);
    for divisor in [6.0, 20.0, 42.0, 72.0, 110.0, 156.0] {
        term = -(term * (a * a)) / divisor;
        sum += term;
    }
    sum as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_are_those_of_the_library() {
        for tenth in 0..=1800u16 {
            let degrees = f32::from(tenth) / 10.0;
            let exact = f64::from(degrees).to_radians().cos();
            assert!((f64::from(cosine(degrees)) - exact).abs() < 1e-7, "{degrees}");
        }
        assert_eq!([0.0, 180.0].map(cosine), [1.0, -1.0]);
    }

    #[test]
    fn a_level_has_all_points_of_its_share() {
        assert_eq!([1.0, 0.26, 0.25, 0.2].map(level), [0, 0, 1, 1]);
        assert_eq!([0.0625, 0.0157, 1.0 / 64.0, 1e-6, 0.0].map(level), [2, 2, 3, 3, 3]);
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_number_of_the_rule() {
        let good = ScatterRule::default();
        assert_eq!(good.check(0), Ok(()));
        let mut bad = vec![good.clone(); 12];
        bad[0].spacing_voxels = f32::NAN;
        bad[1].spacing_voxels = 0.1;
        bad[2].slope_degrees = [30.0, 20.0];
        bad[3].slope_degrees = [0.0, f32::INFINITY];
        bad[4].height_voxels = [f64::NAN, 1.0];
        bad[5].density = 1.5;
        bad[6].patches = -0.1;
        bad[7].patch_voxels = 0.0;
        bad[8].size = [1.0, f32::INFINITY];
        bad[9].share_per_mip = f32::NAN;
        bad[10].max_mip = 13;
        bad[11] = ScatterRule { spacing_voxels: 1.0, share_per_mip: 1.0, max_mip: 4, ..good };
        for (i, rule) in bad.iter().enumerate() {
            let error = rule.check(i).expect_err("out of range");
            assert!(error.to_string().starts_with(&format!("scatter rule {i}: ")), "{error}");
        }
    }
}
