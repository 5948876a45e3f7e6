//! Operations against their slow twin, and what they promise.

use super::*;
use crate::voxel::{
    AIR, Cell, DenseBox, GridOptions, Region, UnlistedChunks, VoxelGrid, VoxelPos, WATER,
};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

mod clips;
mod costs;
mod journal_shares;
mod journaling;
mod promises;
mod refusals;
mod undoing;

/// The grid's digest.
fn digest(grid: &VoxelGrid) -> u128 {
    grid.digest().expect("all is held")
}

/// Applies without a history.
fn apply(grid: &mut VoxelGrid, op: impl Into<EditOp>) -> EditSummary {
    Editor::default().apply(grid, &op.into(), None).expect("a sound edit")
}

/// Ground below y = 0 in two materials, some partial cells, a lake and a wet shore.
fn ground(seed: u64, wet: bool) -> VoxelGrid {
    thread_local! {
        /// Noise costs more than most edits.
        static MADE: RefCell<BTreeMap<(u64, bool), DenseBox>> = RefCell::default();
    }
    let mut grid = VoxelGrid::new(GridOptions::default());
    MADE.with_borrow_mut(|made| {
        let cells = made.entry((seed, wet)).or_insert_with(|| ground_cells(seed, wet));
        grid.write(cells).expect("air is held");
    });
    grid
}

fn ground_cells(seed: u64, wet: bool) -> DenseBox {
    let region = Region::new([-20; 3], [20; 3]);
    let mut cells = DenseBox::new(region);
    for pos in region.voxels() {
        let at = pos.to_array().map(|v| f64::from(v) / 5.0);
        let depth = 4.0 * crate::generate::noise_3d(seed, at) - f64::from(pos.y) * 0.7;
        let units = crate::generate::occupancy_units(depth);
        let material = if (pos.x + pos.z) & 7 < 4 { 8 } else { 2 };
        if units > 0 {
            cells.set(pos, Cell { material, occupancy: (units - 1) as u8 });
            if wet && pos.y < 2 && units < 256 {
                cells.set_water(pos, Some((pos.x * 5 + pos.z) as u8));
            }
        } else if wet && pos.y < 2 {
            cells.set(pos, Cell { material: WATER, occupancy: 200 });
        }
    }
    cells
}

fn point(reach: f64) -> impl Strategy<Value = [f64; 3]> {
    proptest::array::uniform3(-reach..reach)
}

fn rotation() -> impl Strategy<Value = [f64; 4]> {
    let any = proptest::array::uniform4(-1.0..1.0f64);
    prop_oneof![
        Just(Brush::NO_ROTATION),
        any.prop_filter("a direction", |q| q.iter().any(|v| v.abs() > 0.1))
    ]
}

fn brush() -> impl Strategy<Value = Brush> {
    let size = || 0.4..6.0f64;
    let half = || proptest::array::uniform3(0.3..5.0f64);
    prop_oneof![
        (point(8.0), size()).prop_map(|(centre, radius)| Brush::Ball { centre, radius }),
        (point(8.0), half(), rotation()).prop_map(|(centre, half, rotation)| Brush::Box {
            centre,
            half,
            rotation
        }),
        (point(8.0), half(), rotation()).prop_map(|(centre, half, rotation)| Brush::Wedge {
            centre,
            half,
            rotation
        }),
        (point(8.0), size(), size(), rotation()).prop_map(
            |(centre, radius, half_height, rotation)| {
                Brush::Cylinder { centre, radius, half_height, rotation }
            }
        ),
        (proptest::collection::vec(point(8.0), 1..4), 0.4..3.0f64)
            .prop_map(|(points, radius)| Brush::Path { points, radius }),
        (point(6.0), 1.0..5.0f64).prop_map(|(centre, size)| octahedron(centre, size)),
        (point(6.0), 1.0..5.0f64).prop_map(|(centre, size)| octahedron_mesh(centre, size)),
        (point(6.0), 0.7..3.0f64, proptest::collection::vec(0.0..6.0f32, 12)).prop_map(
            |(corner, spacing, heights)| Brush::Heights { corner, spacing, width: 4, heights }
        ),
    ]
}

fn octahedron(centre: [f64; 3], size: f64) -> Brush {
    let plane = |i: usize| {
        let normal = [0, 1, 2].map(|axis| if i >> axis & 1 == 1 { 1.0 } else { -1.0 });
        let along: f64 = (0..3).map(|axis| normal[axis] * centre[axis]).sum();
        HalfSpace { normal, offset: along + size }
    };
    Brush::Convex { planes: (0..8).map(plane).collect() }
}

fn octahedron_mesh(centre: [f64; 3], size: f64) -> Brush {
    let tip = |axis: usize, by: f64| {
        let mut p = centre;
        p[axis] += by;
        p
    };
    let vertices = (0..3).flat_map(|axis| [tip(axis, size), tip(axis, -size)]).collect();
    let face = |i: u32| {
        let [x, y, z] = [i & 1, 2 + (i >> 1 & 1), 4 + (i >> 2 & 1)];
        if i.count_ones().is_multiple_of(2) { [x, y, z] } else { [x, z, y] }
    };
    Brush::Mesh { vertices, triangles: (0..8).map(face).collect() }
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::Dig),
        Just(Action::Dig),
        (2u8..5).prop_map(|material| Action::Fill { material }),
        Just(Action::Fill { material: WATER }),
        (2u8..5).prop_map(|material| Action::Paint { material }),
        (proptest::sample::select(vec![1u8, 2, 8]), 0u8..4)
            .prop_map(|(from, to)| Action::Replace { from, to }),
        Just(Action::Smooth),
        (point(3.0), point(1.0), proptest::option::of(2u8..5)).prop_map(
            |(point, [x, _, z], material)| Action::Flatten { point, normal: [x, 1.0, z], material }
        ),
        (0.05..1.0f64).prop_map(|amount| Action::Grow { amount }),
        (0.05..1.0f64).prop_map(|amount| Action::Erode { amount }),
        (0.05..1.0f64, 1.0..9.0f64, 0u64..9).prop_map(|(amount, size, seed)| Action::Roughen {
            amount,
            size,
            seed
        }),
        Just(Action::Flood { material: WATER }),
        Just(Action::Drain),
    ]
}

fn mask() -> impl Strategy<Value = EditMask> {
    let materials = proptest::collection::vec(proptest::sample::select(vec![0u8, 1, 2, 8]), 1..3);
    prop_oneof![
        3 => Just(EditMask::default()),
        1 => materials.prop_map(|materials| EditMask { materials, ..EditMask::default() }),
        1 => (-5.0..2.0f64).prop_map(|y| EditMask { heights: Some([y, y + 4.0]), ..EditMask::default() }),
        1 => (0.0..1.0f64).prop_map(|s| EditMask { slope: Some([s, s + 1.0]), ..EditMask::default() }),
    ]
}

fn brush_op() -> impl Strategy<Value = BrushOp> {
    let strength = prop_oneof![3 => Just(1.0), 1 => 0.0..1.0f64];
    let falloff = prop_oneof![3 => Just(0.0), 1 => 0.0..4.0f64];
    (brush(), action(), falloff, strength, mask()).prop_map(
        |(brush, action, falloff, strength, mask)| BrushOp {
            brush,
            action,
            falloff,
            strength,
            mask,
        },
    )
}

/// Returns all cells that an operation of these tests can reach.
fn reachable(grid: &VoxelGrid) -> DenseBox {
    let mut cells = DenseBox::default();
    grid.read(Region::new([-40; 3], [40; 3]), 0, &mut cells).expect("all is held");
    cells
}

/// Cells that differ, for a message.
fn difference(a: &VoxelGrid, b: &VoxelGrid) -> Option<String> {
    let [a, b] = [a, b].map(reachable);
    if a == b {
        return None;
    }
    let at = |cells: &DenseBox, p| (cells.cell(p), cells.water_at(p));
    let differs = a.region().voxels().find(|&p| at(&a, p) != at(&b, p));
    let differs = differs.expect("boxes that differ have a cell that differs");
    Some(format!("{differs}: {:?}, naive {:?}", at(&a, differs), at(&b, differs)))
}

/// What the cells of a grid hold, by material, liquids in solid cells counted as water.
fn contents(grid: &VoxelGrid) -> [i64; 256] {
    let mut sums = [0; 256];
    let mut cells = DenseBox::default();
    for chunk in grid.chunks() {
        grid.read(chunk.region(), 0, &mut cells).expect("all is held");
        for (&m, &o) in cells.materials().iter().zip(cells.occupancies()) {
            sums[usize::from(m)] += i64::from(Cell::new(m, o).units());
        }
        sums[1] += cells.water().iter().map(|w| i64::from(w.1) + 1).sum::<i64>();
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    /// Every brush and action, dry and wet, masked and not: the cells of the slow twin,
    /// and volumes that are those of the cells.
    #[test]
    fn operations_do_what_the_slow_twin_does(op in brush_op(), seed in 0u64..4, wet: bool) {
        let mut fast = ground(seed, wet);
        let mut slow = ground(seed, wet);
        let before = contents(&fast);
        let edited = apply(&mut fast, op.clone());
        naive::apply(&mut slow, &op);
        prop_assert_eq!(difference(&fast, &slow), None);
        prop_assert_eq!(digest(&fast), digest(&slow));
        let after = contents(&fast);
        for material in 0..=255u8 {
            let [then, now] = [&before, &after].map(|sums| sums[usize::from(material)]);
            let [less, more] = [&edited.removed, &edited.added].map(|v| v.units(material) as i64);
            prop_assert_eq!(then - less + more, now, "material {}", material);
        }
    }

    #[test]
    fn nothing_changes_outside_of_the_region_of_an_operation(op in brush_op(), wet: bool) {
        let op = EditOp::from(op);
        let edited = apply(&mut ground(1, wet), op.clone());
        let region = op.region().expect("a sound edit");
        let inside = edited.region.intersect(region);
        prop_assert!(edited.region.is_empty() || inside == edited.region);
    }

    /// The part of the world that an edit names holds all that changed, and no less.
    #[test]
    fn the_changed_region_is_tight_slow(op in brush_op(), wet: bool) {
        let old = ground(1, wet);
        let mut grid = ground(1, wet);
        let edited = apply(&mut grid, op);
        let [old, new] = [&old, &grid].map(reachable);
        let changed = journaling::differing(&new, &old).into_iter().map(VoxelPos::from);
        let bounds = changed.fold(Region::default(), |bounds, p| bounds.union(Region::one(p)));
        prop_assert_eq!(edited.region, bounds);
    }
}
