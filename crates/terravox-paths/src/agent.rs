//! The agent that walks: its size and what it can climb, in metres, and the same in the units of
//! tiles.

use std::fmt;

use terravox::mesh::PAD;
use terravox::voxel::{ChunkPos, Region, VoxelPos};

/// Heights of tiles are in this many parts of a voxel.
pub(crate) const HEIGHT_UNITS: i32 = 256;

/// Voxels along an edge of a tile: one chunk.
pub(crate) const TILE_EDGE: i32 = ChunkPos::EDGE;

/// Heights within a tile are below this.
pub(crate) const TILE_HEIGHT: i32 = TILE_EDGE * HEIGHT_UNITS;

/// Costs of a straight and of a diagonal step where distances from walls are measured, 5 a path
/// cell.
pub(crate) const STEP_COSTS: [u32; 2] = [5, 7];

/// Maximum number of voxels that a tile may depend on beyond its own, each side.
const MAX_MARGIN_VOXELS: i32 = 48;

/// The texts of [`AgentError`] for a margin beyond [`MAX_MARGIN_VOXELS`], beside, below and above.
const MARGINS_ALLOWED: [&str; 3] = [
    "radius_m, and climb_m over the tangent of slope_degrees, together need ground further than 48 \
     voxels beside a tile",
    "radius_m times the rise of a step, and climb_m, together need ground further than 48 voxels \
     below a tile",
    "height_m or wade_m, with radius_m times the rise of a step, and climb_m, together need ground \
     further than 48 voxels above a tile",
];

/// Whether an agent walks through water that is deeper than [`Agent::wade_m`], on the ground
/// beneath it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WaterRule {
    /// Never.
    #[default]
    Forbidden,
    /// At this many times the cost of dry ground: 1 or more.
    Cost(f64),
}

/// The agent that walks, as plain data, which [`Paths::new`](crate::Paths::new) checks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Agent {
    /// Its centre keeps this far from walls, drops and ceilings that are too low, metres, to within
    /// half a path cell.
    pub radius_m: f64,
    /// Room that it needs above the ground, metres.
    pub height_m: f64,
    /// Steps up and down that it takes, however steep they are, metres: at most its height.
    pub climb_m: f64,
    /// The steepest ground that it walks on, degrees: 0 to 80.
    pub slope_degrees: f64,
    /// Water up to this depth counts as dry, metres; less than half a voxel counts as half a voxel.
    pub wade_m: f64,
    /// Deeper water.
    pub water: WaterRule,
}

impl Default for Agent {
    /// A person, who does not swim.
    fn default() -> Agent {
        Agent {
            radius_m: 0.4,
            height_m: 1.8,
            climb_m: 0.5,
            slope_degrees: 45.0,
            wade_m: 0.6,
            water: WaterRule::Forbidden,
        }
    }
}

/// Options of [`Paths::new`](crate::Paths::new).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct PathOptions {
    /// The agent that walks.
    pub agent: Agent,
    /// Path cells along the edge of a voxel, squares on which the ground is sampled: 1, 2 or 4.
    /// Gaps narrower than a path cell may be missed. Each doubling takes four times the time and
    /// memory.
    pub cells_per_voxel: u8,
    /// Start and goal may lie this far from ground that can be walked on, metres: at most 64 voxels.
    pub snap_m: f64,
    /// A search ends, with [`PartialReason::SearchLimit`](crate::PartialReason::SearchLimit), after
    /// it has looked at this many rectangles of ground: 1 or more.
    pub max_rects: usize,
}

impl Default for PathOptions {
    /// A person, two path cells a voxel, ends within two metres, 200,000 rectangles.
    fn default() -> PathOptions {
        PathOptions { agent: Agent::default(), cells_per_voxel: 2, snap_m: 2.0, max_rects: 200_000 }
    }
}

/// A value of [`PathOptions`] or an [`Agent`] that is out of its range.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentError {
    /// The field, and what is allowed.
    pub allowed: &'static str,
    /// What was given.
    pub given: f64,
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not allowed; {}", self.given, self.allowed)
    }
}

impl std::error::Error for AgentError {}

/// An agent in path cells, and in height units of 1/256 voxel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gauge {
    /// Path cells along the edge of a voxel.
    pub per_voxel: i32,
    /// Room above the ground.
    pub height: i32,
    /// Largest difference in height of neighbouring path cells.
    pub step: i32,
    /// Bumps up to this height do not count as slopes.
    pub climb: i32,
    /// Square of the cosine of the steepest slope.
    pub cosine_squared: f64,
    /// Floors nearer to a wall, in [`STEP_COSTS`], are left out.
    pub erode_below: u32,
    /// Path cells around a steep one that tell a bump from a slope.
    pub bump_path_cells: i32,
    /// Path cells around a tile on which its floors depend.
    pub margin: i32,
    /// Floors up to this far below and above a tile count for those in it.
    pub reach: i32,
    /// Depth of water that counts as dry.
    pub wade: i32,
    pub water: WaterRule,
}

impl Gauge {
    /// # Errors
    /// [`AgentError`] if a value is out of its range.
    pub fn new(options: &PathOptions, voxel_size_m: f64) -> Result<Gauge, AgentError> {
        check(options, voxel_size_m)?;
        let PathOptions { agent, cells_per_voxel, .. } = *options;
        let per_voxel = i32::from(cells_per_voxel);
        let path_cell_m = voxel_size_m / f64::from(per_voxel);
        let units = |metres: f64| metres / voxel_size_m * f64::from(HEIGHT_UNITS);
        let cosine = cosine(agent.slope_degrees);
        let tangent = (1.0 - cosine * cosine).max(0.0).sqrt() / cosine;
        // Ground on the steepest slope must connect from path cell to path cell.
        let step = units(agent.climb_m.max(path_cell_m * tangent)) as i32 + 1;
        let climb = units(agent.climb_m) as i32;
        // A wall lies half a path cell beyond the last floor before it, on average.
        let erode = f64::from(STEP_COSTS[0]) * (agent.radius_m / path_cell_m - 0.5);
        let erode_below = erode.ceil().max(0.0) as u32;
        let erosion_path_cells = erode_below.div_ceil(STEP_COSTS[0]) as i32;
        // Uphill for so long, a slope that is too steep rises by more than a bump.
        let bump_m = voxel_size_m.max(agent.climb_m / tangent.max(0.05));
        let bump_path_cells = (bump_m / path_cell_m).ceil() as i32;
        let gauge = Gauge {
            per_voxel,
            height: units(agent.height_m).ceil() as i32,
            step,
            climb,
            cosine_squared: cosine * cosine,
            erode_below,
            bump_path_cells,
            margin: erosion_path_cells + 1 + bump_path_cells,
            reach: (erosion_path_cells + 1) * step + climb,
            wade: units(agent.wade_m).max(f64::from(HEIGHT_UNITS / 2)) as i32,
            water: agent.water,
        };
        let margins = gauge.margins_voxels();
        match margins.iter().position(|&margin| margin > MAX_MARGIN_VOXELS) {
            Some(side) => {
                let given = margins[side].into();
                Err(AgentError { allowed: MARGINS_ALLOWED[side], given })
            }
            None => Ok(gauge),
        }
    }

    /// Path cells along the edge of a tile.
    pub fn edge(&self) -> i32 {
        TILE_EDGE * self.per_voxel
    }

    /// Voxels beside, below and above a tile whose surfaces count.
    fn margins_voxels(&self) -> [i32; 3] {
        let voxels = |units: i32| units / HEIGHT_UNITS + 1;
        // Surfaces reach ¾ of a cell beyond theirs.
        let beside = self.margin.div_euclid(self.per_voxel) + 2;
        [beside, voxels(self.reach) + 1, voxels(self.reach + self.roof().max(self.wade)) + 1]
    }

    /// Room above a floor beyond which more makes no difference.
    pub fn roof(&self) -> i32 {
        self.height + self.step
    }

    /// The cells that are meshed for a tile.
    pub fn meshed(&self, tile: ChunkPos) -> Region {
        let [beside, below, above] = self.margins_voxels();
        let Region { min, max } = tile.region();
        let low = VoxelPos::new(min.x - beside, min.y - below, min.z - beside);
        let high = VoxelPos::new(max.x + beside, max.y + above, max.z + beside);
        Region { min: low, max: high }
    }

    /// The tiles that depend on the cells of `region`.
    pub fn tiles_of(&self, region: Region) -> Region {
        let [beside, below, above] = self.margins_voxels();
        let Region { min, max } = region.grow(PAD);
        let low = [min.x, min.y, min.z].map(i64::from);
        let high = [max.x, max.y, max.z].map(i64::from);
        let cut = |v: i64| v.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        let [beside, below, above] = [beside, below, above].map(i64::from);
        let min = [low[0] - beside, low[1] - above, low[2] - beside].map(cut);
        let max = [high[0] + beside, high[1] + below, high[2] + beside].map(cut);
        Region::new(min, max).coarser(5)
    }
}

fn check(options: &PathOptions, voxel_size_m: f64) -> Result<(), AgentError> {
    let PathOptions { agent, cells_per_voxel, snap_m, max_rects } = *options;
    let fail = |allowed, given: f64| Err(AgentError { allowed, given });
    if !(1e-6..=1e9).contains(&voxel_size_m) {
        return fail("the voxel size is 1e-6 to 1e9 m", voxel_size_m);
    }
    let most = 64.0 * voxel_size_m;
    let lengths = [
        (agent.radius_m, "radius_m is 0 to 64 voxels"),
        (agent.height_m, "height_m is 0 to 64 voxels"),
        (agent.climb_m, "climb_m is 0 to 64 voxels"),
        (agent.wade_m, "wade_m is 0 to 64 voxels"),
        (snap_m, "snap_m is 0 to 64 voxels"),
    ];
    if let Some(&(given, allowed)) = lengths.iter().find(|(v, _)| !(0.0..=most).contains(v)) {
        return fail(allowed, given);
    }
    if agent.height_m == 0.0 {
        return fail("height_m is more than 0", 0.0);
    }
    if agent.climb_m > agent.height_m {
        return fail("climb_m is height_m at most", agent.climb_m);
    }
    if max_rects == 0 {
        return fail("max_rects is 1 or more", 0.0);
    }
    if !(0.0..=80.0).contains(&agent.slope_degrees) {
        return fail("slope_degrees is 0 to 80", agent.slope_degrees);
    }
    if !matches!(cells_per_voxel, 1 | 2 | 4) {
        return fail("cells_per_voxel is 1, 2 or 4", cells_per_voxel.into());
    }
    match agent.water {
        WaterRule::Cost(cost) if !(1.0..=1e6).contains(&cost) => {
            fail("the cost of water is 1 to 1000000", cost)
        }
        _ => Ok(()),
    }
}

/// The cosine of 0 to 80 degrees by its series, with + − × ÷ only, so that all machines have the
/// same bits.
fn cosine(degrees: f64) -> f64 {
    let a = degrees * (std::f64::consts::PI / 180.0);
    let (mut term, mut sum) = (1.0, 1.0);
    for divisor in [2.0, 12.0, 30.0, 56.0, 90.0, 132.0, 182.0] {
        term = -(term * (a * a)) / divisor;
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_are_those_of_the_library() {
        for degrees in 0..=80 {
            let exact = f64::from(degrees).to_radians().cos();
            assert!((cosine(degrees.into()) - exact).abs() < 1e-9, "{degrees}");
        }
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_name_of_the_field() {
        let wrong = |change: fn(&mut PathOptions)| {
            let mut options = PathOptions::default();
            change(&mut options);
            Gauge::new(&options, 1.0).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(wrong(|_| ()), "");
        assert!(wrong(|o| o.agent.radius_m = -1.0).contains("radius_m"));
        assert!(wrong(|o| o.agent.height_m = f64::NAN).contains("height_m"));
        assert!(wrong(|o| o.agent.height_m = 0.0).contains("height_m"));
        assert!(wrong(|o| o.agent.climb_m = 1e9).contains("climb_m"));
        assert!(wrong(|o| o.agent.slope_degrees = 81.0).contains("slope_degrees"));
        assert!(wrong(|o| o.agent.radius_m = 60.0).contains("radius_m"));
        assert!(wrong(|o| o.agent.height_m = 60.0).contains("height_m or wade_m"));
        assert!(wrong(|o| o.agent.climb_m = 1.9).contains("climb_m"));
        assert!(wrong(|o| o.max_rects = 0).contains("max_rects"));
        assert!(wrong(|o| o.agent.water = WaterRule::Cost(0.5)).contains("water"));
        assert!(wrong(|o| o.cells_per_voxel = 3).contains("cells_per_voxel"));
        assert!(wrong(|o| o.snap_m = f64::INFINITY).contains("snap_m"));
        assert!(Gauge::new(&PathOptions::default(), f64::NAN).is_err());
    }

    #[test]
    fn tiles_depend_on_what_they_mesh_and_nothing_else() {
        let gauge = Gauge::new(&PathOptions::default(), 1.0).expect("a person");
        let tile = ChunkPos::new(-2, 0, 5);
        let read = gauge.meshed(tile).grow(PAD);
        let has = |region: Region| gauge.tiles_of(region).contains(VoxelPos::new(-2, 0, 5));
        let (min, max) = (read.min, read.max - VoxelPos::splat(1));
        for corner in [min, max] {
            assert!(has(Region::one(corner)));
        }
        for axis in 0..3 {
            let out = |mut at: [i32; 3], by: i32| {
                at[axis] += by;
                Region::one(at.into())
            };
            assert!(!has(out(min.to_array(), -1)) && !has(out(max.to_array(), 1)), "{axis}");
        }
    }
}
