use super::*;
use std::time::Instant;

#[test]
fn measure() {
    for radius in [1.0, 2.0, 4.0, 8.0, 20.0] {
        let mut grid = VoxelGrid::new(GridOptions::default());
        let mut cells = DenseBox::new(Region::new([-128, -64, -128], [128, 0, 128]));
        cells.fill(8);
        grid.write(&cells).expect("air");
        let (mut editor, mut history) = (Editor::default(), History::new(0));
        let mut journal = Journal::new(64 << 20);
        let n = 400;
        let (mut apply, mut bare, mut record, mut bytes) = (0.0, 0.0, 0.0, 0);
        for i in 0..n {
            let at = [f64::from(i % 20) * 10.3 - 100.0, -2.3, f64::from(i / 20) * 10.1 - 100.0];
            let op = if i % 2 == 0 {
                EditOp::dig_ball(at, radius)
            } else {
                EditOp::fill_ball(2, at, radius)
            };
            let mut copy = VoxelGrid::from_snapshot(grid.as_snapshot());
            let t = Instant::now();
            editor.apply(&mut copy, &op, None).expect("ok");
            bare += t.elapsed().as_secs_f64();
            drop(copy);
            let t = Instant::now();
            editor.apply(&mut grid, &op, &mut history).expect("ok");
            apply += t.elapsed().as_secs_f64();
            let change = history.take_last_change();
            bytes += change.bytes();
            let t = Instant::now();
            journal.record("ada", 1, change);
            record += t.elapsed().as_secs_f64();
        }
        let per = |s: f64| s / f64::from(n) * 1e6;
        let coded = Journal::encode(journal.entries(..)).len();
        let t = Instant::now();
        let decoded = Journal::decode(&Journal::encode(journal.entries(..))).unwrap();
        let d = t.elapsed();
        println!(
            "r {radius}: bare {:.1} us, apply {:.1} us, record {:.2} us, patch {} B, in memory {} B, on disk {} B; decode {:.1} us each",
            per(bare),
            per(apply),
            per(record),
            bytes / n as usize,
            journal.bytes() / n as usize,
            coded / n as usize,
            per(d.as_secs_f64())
        );
        drop(decoded);
        let t = Instant::now();
        let mut job = RollBack::new(journal.entries(..).cloned(), JournalFilter::default());
        let plan = t.elapsed();
        let chunks = job.chunks_left();
        let mut longest = 0.0f64;
        let t = Instant::now();
        loop {
            let s = Instant::now();
            if job.step(&journal, &mut grid).unwrap().is_none() {
                break;
            }
            longest = longest.max(s.elapsed().as_secs_f64());
        }
        println!(
            "   plan {plan:?}, {chunks} chunks in {:?}, longest step {:.2} ms, {} cells",
            t.elapsed(),
            longest * 1e3,
            job.cells()
        );
    }
    // A full journal of small edits.
    let mut grid = VoxelGrid::new(GridOptions::default());
    let (mut editor, mut history) = (Editor::default(), History::new(0));
    editor.apply(&mut grid, &EditOp::fill_ball(8, [0.0; 3], 2.0), &mut history).unwrap();
    let change = history.take_last_change();
    let mut journal = Journal::new(64 << 20);
    for _ in 0..400_000 {
        journal.record("ada", 1, change.clone());
    }
    let t = Instant::now();
    let entries = Vec::from_iter(journal.entries(..).cloned());
    println!("{} entries, copied in {:?}", entries.len(), t.elapsed());
    let t = Instant::now();
    let mut job = RollBack::new(entries, JournalFilter::default());
    println!("planned in {:?}", t.elapsed());
    let (mut longest, mut steps) = (0.0f64, 0);
    let t = Instant::now();
    loop {
        let s = Instant::now();
        if job.step(&journal, &mut grid).unwrap().is_none() {
            break;
        }
        longest = longest.max(s.elapsed().as_secs_f64());
        steps += 1;
    }
    println!("{steps} steps in {:?}, longest {:.2} ms", t.elapsed(), longest * 1e3);
    // The largest edit of a guest.
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(Region::new([-128, -128, -128], [128, 128, 128]));
    for (i, pos) in cells.region().voxels().enumerate() {
        let _ = i;
        cells.set(
            pos,
            Cell::new(
                2 + ((pos.x ^ pos.y ^ pos.z) & 3) as u8,
                (pos.x * 7 + pos.y * 13 + pos.z * 29) as u8 | 1,
            ),
        );
    }
    grid.write(&cells).unwrap();
    let t = Instant::now();
    editor.apply(&mut grid, &EditOp::dig_ball([0.3; 3], 62.0), &mut history).unwrap();
    println!("large: apply {:?}", t.elapsed());
    let change = history.take_last_change();
    println!("{} bytes, {} cells", change.bytes(), change.count());
    let mut journal = Journal::new(64 << 20);
    for _ in 0..20 {
        journal.record("ada", 1, change.clone());
    }
    let mut job = RollBack::new(journal.entries(..).cloned(), JournalFilter::default());
    let (mut longest, mut steps) = (0.0f64, 0);
    let t = Instant::now();
    loop {
        let s = Instant::now();
        if job.step(&journal, &mut grid).unwrap().is_none() {
            break;
        }
        longest = longest.max(s.elapsed().as_secs_f64());
        steps += 1;
    }
    println!(
        "{} entries: {steps} steps in {:?}, longest {:.2} ms",
        journal.entries(..).count(),
        t.elapsed(),
        longest * 1e3
    );
}
