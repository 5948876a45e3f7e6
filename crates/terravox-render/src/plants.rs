//! Plants and rocks of demonstrations, made of a few solids each by their number: nothing is
//! modelled by hand, and no two are alike.

use crate::solids::{Solid, SolidShape};
use glam::{DMat3, DQuat, DVec3};
use terravox::math::{MIXED_STEP, mixed};
use terravox::mesh::PAD;
use terravox::scatter::{Instance, ScatterRule, ScatterRuleError, ScatterRules, ScatterScratch};
use terravox::voxel::{DenseBox, MipBlock, Region, Snapshot};

/// Ids of the default material table on which plants grow.
const FERTILE: [u8; 3] = [2, 14, 19];

/// Things whose size is a smaller share of their distance are left out: they would be less than
/// about two pixels high.
const SMALLEST_SHARE: f64 = 1.0 / 300.0;

/// The least distance between things that rules allow.
const MIN_SPACING_VOXELS: f32 = 0.125;

/// A trunk begins this share of the tree's height below the ground, so that none floats where the
/// picture shows coarser ground.
const SUNK: f64 = 0.03;

/// Something that stands on the ground of a demonstration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoThing {
    /// A few blades of grass.
    Tuft,
    /// A conifer of three cones.
    Spruce,
    /// A wide tree with a crown of balls.
    Oak,
    /// A slender tree with a light crown.
    Birch,
    /// A boulder, half in the ground.
    Rock,
}

impl DemoThing {
    /// All things, in the order of [`demo_rules`].
    pub const ALL: [DemoThing; 5] =
        [DemoThing::Tuft, DemoThing::Spruce, DemoThing::Oak, DemoThing::Birch, DemoThing::Rock];

    /// Returns the solids of a thing that is one unit high, its foot at the origin. Equal numbers
    /// give equal things.
    pub fn solids(self, number: u64) -> Vec<Solid> {
        let mut dice = Dice(number);
        match self {
            DemoThing::Tuft => tuft(&mut dice),
            DemoThing::Spruce => spruce(&mut dice),
            DemoThing::Oak => oak(&mut dice),
            DemoThing::Birch => birch(&mut dice),
            DemoThing::Rock => rock(&mut dice),
        }
    }
}

/// Numbers that follow from a number.
struct Dice(u64);

impl Dice {
    /// Returns a number between two others.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(MIXED_STEP);
        low + (high - low) * (mixed(self.0) >> 40) as f64 / f64::from(1u32 << 24)
    }

    /// Returns a point around the vertical axis, at a height.
    fn around(&mut self, radius: [f64; 2], height: f64) -> DVec3 {
        let angle = self.between(0.0, std::f64::consts::TAU);
        let radius = self.between(radius[0], radius[1]);
        DVec3::new(radius * angle.cos(), height, radius * angle.sin())
    }

    /// Returns a colour, lighter or darker by up to a share.
    fn shade(&mut self, colour: [u8; 3], share: f64) -> [u8; 3] {
        let by = self.between(1.0 - share, 1.0 + share);
        colour.map(|c| (f64::from(c) * by).clamp(0.0, 255.0) as u8)
    }
}

fn tuft(dice: &mut Dice) -> Vec<Solid> {
    let blade = |dice: &mut Dice| {
        let foot = dice.around([0.0, 0.15], -0.2);
        let rise = dice.between(0.7, 1.1);
        let tip = dice.around([0.1, 0.45], rise);
        let side = dice.around([0.06, 0.06], 0.0);
        let out = DVec3::new(-side.z, 0.0, side.x) * 0.5;
        let points = vec![foot - side, foot + side, foot + out, foot + tip];
        Solid { shape: SolidShape::Hull(points), colour: dice.shade([86, 122, 48], 0.25) }
    };
    (0..4).map(|_| blade(dice)).collect()
}

fn trunk(height: f64, radius: f64, colour: [u8; 3]) -> Solid {
    let ends = [DVec3::new(0.0, -2.0 * SUNK, 0.0), DVec3::new(0.0, height, 0.0)];
    Solid { shape: SolidShape::Capsule { ends, radius }, colour }
}

fn spruce(dice: &mut Dice) -> Vec<Solid> {
    let mut all = vec![trunk(0.3, 0.025, [84, 62, 44])];
    let green = dice.shade([44, 78, 46], 0.2);
    let width = dice.between(0.17, 0.23);
    for (low, high, share) in [(0.12, 0.58, 1.0), (0.36, 0.8, 0.72), (0.6, 1.0, 0.46)] {
        let turn = dice.between(0.0, 1.0);
        let mut points: Vec<DVec3> = (0..7)
            .map(|i| {
                let angle = (f64::from(i) + turn) * std::f64::consts::TAU / 7.0;
                let drop = dice.between(-0.03, 0.02);
                DVec3::new(angle.cos() * width * share, low + drop, angle.sin() * width * share)
            })
            .collect();
        points.push(DVec3::new(0.0, high, 0.0));
        all.push(Solid { shape: SolidShape::Hull(points), colour: dice.shade(green, 0.08) });
    }
    all
}

fn crown(dice: &mut Dice, balls: usize, low: f64, spread: f64, green: [u8; 3]) -> Vec<Solid> {
    (0..balls)
        .map(|i| {
            let share = i as f64 / (balls - 1).max(1) as f64;
            let radius = spread * dice.between(0.55, 0.8) * (1.0 - 0.35 * share);
            let height = low + (1.0 - low - radius) * share;
            let centre = dice.around([0.0, spread * 0.6 * (1.0 - 0.7 * share)], height);
            Solid { shape: SolidShape::Ball { centre, radius }, colour: dice.shade(green, 0.12) }
        })
        .collect()
}

fn oak(dice: &mut Dice) -> Vec<Solid> {
    let mut all = vec![trunk(0.5, 0.045, [92, 70, 50])];
    let green = dice.shade([74, 104, 44], 0.2);
    all.extend(crown(dice, 7, 0.48, 0.34, green));
    all
}

fn birch(dice: &mut Dice) -> Vec<Solid> {
    let mut all = vec![trunk(0.7, 0.02, [206, 202, 190])];
    let green = dice.shade([126, 146, 60], 0.18);
    all.extend(crown(dice, 5, 0.42, 0.19, green));
    all
}

fn rock(dice: &mut Dice) -> Vec<Solid> {
    let grey = dice.shade([118, 114, 106], 0.2);
    let points = (0..12).map(|i| {
        let height = -0.3 + 1.1 * f64::from(i) / 11.0;
        let widest = 0.75 * (1.0 - (height - 0.1).abs());
        dice.around([0.6 * widest, widest], height)
    });
    vec![Solid { shape: SolidShape::Hull(points.collect()), colour: grey }]
}

/// Returns rules for the things of [`DemoThing::ALL`], in that order, in a world whose voxels have an
/// edge of `voxel_size_m`: sizes are in voxels. What would stand closer together than rules
/// allow, far below the size of a voxel, has a density of 0.
pub fn demo_rules(voxel_size_m: f64) -> Vec<ScatterRule> {
    let mut rules = metre_rules();
    for rule in &mut rules {
        let voxels = |metres: f32| (f64::from(metres) / voxel_size_m) as f32;
        let spacing = voxels(rule.spacing_voxels);
        if spacing < MIN_SPACING_VOXELS {
            rule.density = 0.0;
        }
        rule.spacing_voxels = spacing.clamp(MIN_SPACING_VOXELS, 65536.0);
        rule.patch_voxels = voxels(rule.patch_voxels).clamp(1.0, 1e6);
        rule.size = rule.size.map(voxels);
        // The same distance in metres, by whole mips.
        let mips = f64::from(rule.max_mip) - voxel_size_m.log2().ceil();
        rule.max_mip = mips.clamp(0.0, 12.0) as u8;
    }
    rules
}

/// The rules for voxels of a metre.
fn metre_rules() -> Vec<ScatterRule> {
    let tufts = ScatterRule {
        spacing_voxels: 0.8,
        materials: FERTILE.to_vec(),
        slope_degrees: [0.0, 50.0],
        patches: 0.7,
        patch_voxels: 40.0,
        size: [0.3, 0.7],
        max_mip: 1,
        ..ScatterRule::default()
    };
    let trees = |seed, size, patch_voxels| ScatterRule {
        seed,
        spacing_voxels: 7.0,
        slope_degrees: [0.0, 38.0],
        patches: 1.0,
        patch_voxels,
        size,
        max_mip: 5,
        share_per_mip: 0.6,
        ..tufts.clone()
    };
    let rocks = ScatterRule {
        spacing_voxels: 9.0,
        materials: Vec::new(),
        slope_degrees: [10.0, 60.0],
        density: 0.5,
        max_mip: 3,
        ..trees(5, [0.5, 2.0], 90.0)
    };
    let spruces = trees(2, [7.0, 15.0], 260.0);
    let oaks = trees(3, [6.0, 11.0], 180.0);
    let birches = trees(4, [6.0, 10.0], 120.0);
    vec![tufts, spruces, oaks, birches, rocks]
}

/// A thing of a demonstration in its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedThing {
    /// What it is.
    pub thing: DemoThing,
    /// Its number for [`DemoThing::solids`].
    pub number: u64,
    /// Its foot, voxels.
    pub position: DVec3,
    /// Turns what is upright.
    pub rotation: DQuat,
    /// Its height in voxels.
    pub size: f64,
}

impl PlacedThing {
    /// Returns the place of an instance of [`demo_rules`] on a block at `min`.
    fn new(instance: &Instance, min: DVec3) -> Option<PlacedThing> {
        let &thing = DemoThing::ALL.get(usize::from(instance.rule))?;
        // Stones lie on the ground as it is, plants grow upward.
        let up = match thing {
            DemoThing::Rock => DVec3::from(instance.normal.map(f64::from)),
            _ => DVec3::Y,
        };
        let (sin, cos) = f64::from(instance.yaw_radians).sin_cos();
        let side = DVec3::new(cos, 0.0, sin);
        let forward = side.cross(up).normalize_or(DVec3::Z);
        Some(PlacedThing {
            thing,
            number: instance.id,
            position: min + DVec3::from(instance.position.map(f64::from)),
            rotation: DQuat::from_mat3(&DMat3::from_cols(up.cross(forward), up, forward)),
            size: f64::from(instance.size),
        })
    }

    /// Returns its solids, in voxels.
    fn solids(&self) -> impl Iterator<Item = Solid> {
        let PlacedThing { rotation, position, size, .. } = *self;
        let place = move |p: DVec3| position + rotation * (p * size);
        self.thing.solids(self.number).into_iter().map(move |Solid { shape, colour }| {
            let shape = match shape {
                SolidShape::Ball { centre, radius } => {
                    SolidShape::Ball { centre: place(centre), radius: radius * size }
                }
                SolidShape::Capsule { ends, radius } => {
                    SolidShape::Capsule { ends: ends.map(place), radius: radius * size }
                }
                SolidShape::Hull(points) => {
                    SolidShape::Hull(points.into_iter().map(place).collect())
                }
            };
            Solid { shape, colour }
        })
    }
}

/// Returns what [`demo_rules`] put on blocks of a world with voxels of an edge in metres, as far as
/// `keep` returns true.
///
/// # Errors
/// [`ScatterRuleError`] if the rules are invalid.
pub fn demo_things(
    world: &Snapshot,
    voxel_size_m: f64,
    blocks: &[MipBlock],
    keep: impl Fn(&PlacedThing) -> bool,
) -> Result<Vec<PlacedThing>, ScatterRuleError> {
    let rules = ScatterRules::new(demo_rules(voxel_size_m))?;
    let (mut scratch, mut cells, mut instances) =
        (ScatterScratch::default(), DenseBox::default(), Vec::new());
    let mut all = Vec::new();
    for &block in blocks.iter().filter(|block| rules.has_mip(block.mip)) {
        world.read_known(block.cells().grow(PAD), block.mip, &mut cells);
        rules.scatter(block, &cells, world.materials(), &mut scratch, &mut instances);
        let min = DVec3::from(block.voxels().min.to_array().map(f64::from));
        let placed = instances.iter().filter_map(|instance| PlacedThing::new(instance, min));
        all.extend(placed.filter(&keep));
    }
    Ok(all)
}

/// Returns the solids of [`demo_things`], in voxels. Things that are too small to see from `eye` are
/// left out.
///
/// # Errors
/// [`ScatterRuleError`] if the rules are invalid.
pub fn demo_solids(
    world: &Snapshot,
    voxel_size_m: f64,
    blocks: &[MipBlock],
    eye: DVec3,
) -> Result<Vec<Solid>, ScatterRuleError> {
    let rules = demo_rules(voxel_size_m);
    let largest = rules.iter().map(|rule| f64::from(rule.size[1])).fold(0.0, f64::max);
    let may_be_seen = |block: &&MipBlock| {
        let Region { min, max } = block.voxels();
        let [min, max] = [min, max].map(|p| DVec3::from(p.to_array().map(f64::from)));
        SMALLEST_SHARE * eye.clamp(min, max).distance(eye) <= largest
    };
    let blocks: Vec<MipBlock> = blocks.iter().filter(may_be_seen).copied().collect();
    let is_seen = |thing: &PlacedThing| thing.size >= SMALLEST_SHARE * thing.position.distance(eye);
    let things = demo_things(world, voxel_size_m, &blocks, is_seen)?;
    Ok(things.iter().flat_map(PlacedThing::solids).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::voxel::VoxelGrid;

    /// Lowest and highest point of a solid.
    fn heights(solid: &Solid) -> [f64; 2] {
        match &solid.shape {
            SolidShape::Ball { centre, radius } => [centre.y - radius, centre.y + radius],
            SolidShape::Capsule { ends, radius } => {
                [ends[0].y.min(ends[1].y) - radius, ends[0].y.max(ends[1].y) + radius]
            }
            SolidShape::Hull(points) => points
                .iter()
                .fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], p| [a.min(p.y), b.max(p.y)]),
        }
    }

    #[test]
    fn things_stand_in_the_ground_are_about_a_unit_high_and_differ() {
        for thing in DemoThing::ALL {
            for number in 0..50 {
                let solids = thing.solids(number);
                assert_eq!(solids, thing.solids(number));
                assert_ne!(solids, thing.solids(number + 1));
                let all = solids.iter().map(heights);
                let [low, high] =
                    all.fold([f64::INFINITY, 0.0], |a, b| [a[0].min(b[0]), a[1].max(b[1])]);
                assert!((-0.5..-0.01).contains(&low), "{thing:?} begins at {low}");
                assert!((0.6..1.25).contains(&high), "{thing:?} ends at {high}");
            }
        }
    }

    #[test]
    fn a_meadow_has_things_on_its_ground() {
        let mut grid = VoxelGrid::default();
        let mut meadow = DenseBox::new(Region::new([-40, -32, -40], [72, 4, 72]));
        meadow.fill(FERTILE[0]);
        grid.write(&meadow).expect("all is held");
        let blocks = [MipBlock::new(0, [0, 0, 0]), MipBlock::new(0, [1, 0, 0])];
        let eye = DVec3::new(32.0, 10.0, 16.0);
        let solids =
            demo_solids(grid.as_snapshot(), 1.0, &blocks, eye).expect("the rules are valid");
        assert!(solids.len() > 500, "{}", solids.len());
        assert!(solids.iter().map(heights).all(|[low, high]| low < 30.0 && high > 3.0));
        let far = DVec3::new(1e6, 0.0, 0.0);
        assert_eq!(demo_solids(grid.as_snapshot(), 1.0, &blocks, far), Ok(Vec::new()));
    }

    #[test]
    fn things_are_as_large_in_metres_whatever_the_size_of_voxels() {
        for voxel_size_m in [1e-4, 0.1, 0.25, 1.0, 3.7, 4.0, 25.0, 30.0, 55.0, 1e5] {
            let rules = demo_rules(voxel_size_m);
            ScatterRules::new(rules.clone()).unwrap_or_else(|e| panic!("{voxel_size_m}: {e}"));
            for (rule, metre) in rules.iter().zip(metre_rules()) {
                let height_m = f64::from(rule.size[1]) * voxel_size_m;
                assert!((height_m / f64::from(metre.size[1]) - 1.0).abs() < 1e-4);
                let apart_m = f64::from(rule.spacing_voxels) * voxel_size_m;
                let is_scaled = (apart_m / f64::from(metre.spacing_voxels) - 1.0).abs() < 1e-4;
                let is_fine = voxel_size_m < 1e-3;
                assert!(is_scaled || rule.density == 0.0 || is_fine, "{voxel_size_m} {rule:?}");
            }
        }
        // Voxels of 25 m: trees are shorter than one, and there is no grass.
        let rules = demo_rules(25.0);
        assert!(rules[0].density == 0.0 && rules[1].density > 0.0 && rules[1].size[1] < 0.7);
    }
}
