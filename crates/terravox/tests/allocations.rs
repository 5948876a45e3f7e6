//! Queries whose blocks are built allocate nothing.

use terravox::collide::{Collider, Filter, Ray};
use terravox::contacts::{
    Body, BodyPart, ContactChanges, ContactOptions, ContactTracker, Contacts, WaterScratch,
};
use terravox::generate::fill_sdf;
use terravox::geometry::Shape;
use terravox::math::Aabb;
use terravox::voxel::{Cell, DenseBox, Region, VoxelGrid, WATER};

fn hills() -> Collider {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(Region::new([-40, -32, -40], [40, 32, 40]));
    let height = |p: [f64; 3]| 6.0 * (p[0] * 0.13).sin() * (p[2] * 0.11).cos() - p[1];
    fill_sdf(&mut cells, 0, height, |_| 8);
    assert!(grid.write(&cells).is_ok());
    let mut collider = Collider::default();
    collider.update(&grid);
    collider
}

fn ask_all(collider: &Collider, hits: &mut Vec<terravox::collide::Hit>) -> usize {
    let tetrahedron = [[0.0, 0.9, 0.0], [0.7, -0.4, 0.1], [-0.5, -0.4, 0.6], [-0.3, -0.5, -0.7]];
    let shapes = [
        Shape::Sphere { radius: 0.7 },
        Shape::Capsule { a: [0.0, -0.5, 0.0], b: [0.0, 0.5, 0.0], radius: 0.4 },
        Shape::Box { half: [0.5; 3], rotation: [0.0, 0.0, 0.0, 1.0] },
        Shape::Convex { points: &tetrahedron },
    ];
    let mut found = 0;
    for (x, z) in
        (-6..6).flat_map(|x| (-6..6).map(move |z| (f64::from(x) * 5.0, f64::from(z) * 5.0)))
    {
        let ray = Ray::new([x, 20.0, z], [0.2, -1.0, 0.1], 60.0);
        found += usize::from(collider.ray(&ray, &Filter::BOTH).found.is_some());
        found += usize::from(collider.ray_any(&ray, &Filter::SOLID).found);
        collider.ray_all(&ray, &Filter::BOTH, hits);
        collider.triangles_in(&Aabb::around([x, 0.0, z], [3.0; 3]), &Filter::BOTH, |_| found += 1);
        let near = collider.closest_point([x, 3.0, z], 20.0, &Filter::SOLID);
        found += usize::from(near.found.is_some());
        for shape in &shapes {
            found += usize::from(collider.overlaps(shape, [x, 1.0, z], &Filter::SOLID).found);
            let cast = collider.cast(shape, [x, 15.0, z], [1.0, -30.0, 0.0], &Filter::SOLID);
            found += usize::from(cast.found.is_some());
        }
    }
    found
}

#[test]
fn queries_do_not_allocate_once_their_blocks_are_built() {
    let collider = hills();
    let mut hits = Vec::with_capacity(64);
    let first = ask_all(&collider, &mut hits);
    assert!(first > 1000, "the queries meet the ground");
    let mut again = 0;
    let counted = allocation_counter::measure(|| again = ask_all(&collider, &mut hits));
    assert_eq!((again, counted.count_total), (first, 0));
}

/// Bodies all over the hills, some of them deep inside; returns how many points they touch.
fn touch_all(
    collider: &Collider,
    out: &mut Contacts,
    tracker: &mut ContactTracker,
    changes: &mut ContactChanges,
) -> usize {
    let prism = [[0.5, -0.3, 0.0], [-0.3, -0.3, 0.4], [-0.3, -0.3, -0.4], [0.0, 0.5, 0.0]];
    let parts = [
        BodyPart::new(Shape::Sphere { radius: 0.5 }),
        BodyPart::new(Shape::Box { half: [0.5; 3], rotation: [0.0, 0.0, 0.0, 1.0] }),
        BodyPart::new(Shape::Capsule { a: [0.0; 3], b: [0.0, 1.0, 0.0], radius: 0.3 }),
        BodyPart::new(Shape::Convex { points: &prism }),
    ];
    let mut points = 0;
    for step in 0..400 {
        let (x, z) = (f64::from(step % 20) * 3.1 - 30.0, f64::from(step / 20) * 2.7 - 27.0);
        let position = [x, f64::from(step % 9) - 4.0, z];
        let body = Body { parts: &parts, position, rotation: [0.6, 0.0, 0.8, 0.0] };
        out.find(collider, &body, &ContactOptions::default());
        points += out.manifolds.iter().map(|manifold| manifold.points().len()).sum::<usize>();
        changes.clear();
        tracker.update(collider.broadphase(), 1, Aabb::around(position, [1.0; 3]), changes);
    }
    points
}

#[test]
fn contacts_do_not_allocate_once_their_blocks_are_built() {
    let collider = hills();
    let (mut out, mut tracker) = (Contacts::default(), ContactTracker::new());
    let mut changes = ContactChanges::default();
    let first = touch_all(&collider, &mut out, &mut tracker, &mut changes);
    assert!(first > 100, "bodies meet the ground");
    // What was swapped with the memory of an object has grown as well now.
    touch_all(&collider, &mut out, &mut tracker, &mut changes);
    let mut again = 0;
    let counted = allocation_counter::measure(|| {
        again = touch_all(&collider, &mut out, &mut tracker, &mut changes);
    });
    assert_eq!((again, counted.count_total), (first, 0));
}

/// Bodies all over a lake with a shore, in blocks that are cut by chunks' borders; returns
/// how many are in part under water.
fn float_all(collider: &Collider, scratch: &mut WaterScratch) -> usize {
    let parts = [
        BodyPart::new(Shape::Sphere { radius: 0.5 }),
        BodyPart::new(Shape::Box { half: [0.5, 1.5, 6.5], rotation: [0.0, 0.0, 0.0, 1.0] }),
    ];
    let mut wet = 0;
    for step in 0..400 {
        let (x, z) = (f64::from(step % 20) * 3.1 - 30.0, f64::from(step / 20) * 2.7 - 27.0);
        let position = [x, f64::from(step % 5) - 2.0, z];
        let body = Body { parts: &parts, position, rotation: [0.6, 0.0, 0.8, 0.0] };
        let share = scratch.submersion(collider, &body).found.share();
        wet += usize::from(share > 0.0 && share < 1.0);
    }
    wet
}

#[test]
fn submersion_does_not_allocate() {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(Region::new([-40, -32, -40], [40, 32, 40]));
    fill_sdf(&mut cells, 0, |[_, y, _]| 0.3 - y, |_| WATER);
    assert!(grid.write(&cells).is_ok());
    // A shore whose cells hold water: more of them than a small sort takes.
    let mut shore = DenseBox::default();
    assert!(grid.read(Region::new([-40, -4, -40], [0, 1, 40]), 0, &mut shore).is_ok());
    let at: Vec<_> = shore.region().voxels().filter(|p| (p.x + p.z) % 3 == 0).collect();
    for at in at {
        shore.set(at, Cell::full(8));
        shore.set_water(at, Some(100));
    }
    assert!(grid.write(&shore).is_ok());
    let mut collider = Collider::default();
    collider.update(&grid);
    let mut scratch = WaterScratch::default();
    let first = float_all(&collider, &mut scratch);
    assert!(first > 100, "bodies float: {first}");
    let mut again = 0;
    let counted = allocation_counter::measure(|| again = float_all(&collider, &mut scratch));
    assert_eq!((again, counted.count_total), (first, 0));
}

#[test]
fn a_look_at_what_hangs_together_does_not_allocate_by_cell() {
    use terravox::bodies::{LooseCutter, LooseOptions};
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(Region::new([-64, -64, -64], [64, 0, 64]));
    cells.fill(8);
    assert!(grid.write(&cells).is_ok());
    let (mut loose, options) = (LooseCutter::default(), LooseOptions::floor(-60));
    let mut look = |x: i32| {
        let dug = Region::new([x, -9, -5], [x + 9, 0, 4]);
        assert!(grid.write(&DenseBox::new(dug)).is_ok());
        let mut more = true;
        let counted = allocation_counter::measure(|| {
            loose.touch(dug);
            more = loose.cut(&mut grid, None, &options).is_ok_and(|cut| cut.has_more);
        });
        assert!(!more);
        counted
    };
    look(-5);
    // Records of up to eight chunks, and the tables and queues of the search.
    let again = look(-3);
    assert!(again.count_total < 100 && again.bytes_max < 64 << 10, "{again:?}");
}

#[test]
fn memory_of_a_rollback_does_not_grow_with_the_square_of_earlier_rollbacks() {
    use terravox::edit::{EditOp, Editor, History, Journal, JournalFilter, JournalKind};
    use terravox::edit::{Rollback, RollbackMark};
    const COUNT: u64 = 4000;
    let (mut grid, mut history) = (VoxelGrid::default(), History::new(0));
    let op = EditOp::fill_ball(8, [4.0; 3], 2.0);
    assert!(Editor::default().apply(&mut grid, &op, &mut history).is_ok());
    let (change, mut journal) = (history.take_last_change(), Journal::new(64 << 20));
    for number in 0..COUNT {
        // Each takes back everything, so that no two edits are taken back by the same rollbacks.
        journal.record("ada", number, change.clone());
        let filter = JournalFilter::default();
        let mark = RollbackMark { filter, through: 2 * number + 1, from: Some(1) };
        journal.record_as(JournalKind::Rollback(mark.into()), "ada", number, Default::default());
    }
    assert_eq!(journal.entries(..).count() as u64, 2 * COUNT);
    let mut edits = 0;
    let counted = allocation_counter::measure(|| {
        let mut rollback = Rollback::new(journal.entries(..).cloned(), JournalFilter::default());
        edits = rollback.edits();
        while rollback.step(&journal, &mut grid).is_ok_and(|cells| cells.is_some()) {}
    });
    // The last edit was taken back already, and so were the rollbacks before the last.
    assert_eq!(edits, 1);
    assert!(grid.cell([4; 3].into()).is_ok_and(|cell| cell.is_air()));
    assert!(counted.bytes_max < 1024 * COUNT, "{counted:?}");
}
