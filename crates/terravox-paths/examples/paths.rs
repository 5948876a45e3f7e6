//! The way over hills and around a lake, seen from above, before and after a canal across it.
//!
//! `cargo run --release -p terravox-paths --example paths`

use terravox::generate::Hills;
use terravox::{Budget, EditOp, Terrain, TerrainOptions, Viewer};
use terravox_paths::{PathOptions, PathOutcome, Paths};

/// Half the width of the land, metres.
const HALF_M: f64 = 64.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hills = Hills::new(7);
    let mut terrain = Terrain::new(TerrainOptions::default());
    let heights = [f64::from(Hills::HEIGHTS.start), f64::from(Hills::HEIGHTS.end)];
    terrain.fill(
        [-HALF_M - 32.0, heights[0], -HALF_M - 32.0],
        [HALF_M + 32.0, heights[1], HALF_M + 32.0],
        |request| {
            let mip = request.mip();
            hills.fill(request.cells(), mip);
        },
    )?;
    let placement = terrain.placement();
    let mut paths = Paths::new(PathOptions::default(), placement.voxel_size_m)?;
    let land = placement.region([-HALF_M, heights[0], -HALF_M], [HALF_M, heights[1], HALF_M]);
    paths.cover(land.blocks::<5>());
    let done = paths.update(terrain.grid(), usize::MAX);
    println!("{} tiles are made.", done.made);

    let end = |x: f64, z: f64| paths.highest(&placement, x, z).ok_or("no ground to walk on");
    let (from, to) = (end(-50.0, -40.0)?, end(52.0, 44.0)?);
    let way = paths.find(&placement, from, to);
    print(&terrain, &paths, &way);

    // A ditch that cannot be crossed.
    let [middle, across] = [[0.0, 0.0], [1.0, -1.0]];
    for step in -60..=60 {
        let [x, z] = [0, 1].map(|i| middle[i] + across[i] * f64::from(step) * 0.7);
        if let Some(hit) = terrain.ray([x, heights[1], z], [0.0, -1.0, 0.0], 1000.0).hit() {
            terrain.edit(&EditOp::dig_ball(hit.point_m, 3.0))?;
        }
    }
    // A game does this each frame: at most 8 tiles, edited ones first.
    let mut frames = 0;
    loop {
        terrain.update(&[Viewer::at(from)], Budget::Millis(1.0), |_| {});
        frames += 1;
        if paths.update(terrain.grid(), 8).left == 0 {
            break;
        }
    }
    println!("The ditch is known after {frames} updates.");
    print(&terrain, &paths, &paths.find(&placement, from, to));
    Ok(())
}

/// Prints the land from above: a character is 1 m wide and 2 m deep.
fn print(terrain: &Terrain, paths: &Paths, way: &PathOutcome) {
    let placement = terrain.placement();
    let columns = 2 * HALF_M as usize;
    let mut lines = vec![vec![b' '; columns]; columns / 2];
    for (row, line) in lines.iter_mut().enumerate() {
        for (column, character) in line.iter_mut().enumerate() {
            let (x, z) = (column as f64 - HALF_M + 0.5, 2.0 * row as f64 - HALF_M + 1.0);
            *character = if paths.highest(&placement, x, z).is_some() { b'.' } else { b' ' };
        }
    }
    for pair in way.path().iter().flat_map(|path| path.points_m.windows(2)) {
        for step in 0..=64 {
            let at =
                [0, 2].map(|i| pair[0][i] + (pair[1][i] - pair[0][i]) * f64::from(step) / 64.0);
            let (column, row) = ((at[0] + HALF_M) as usize, ((at[1] + HALF_M) / 2.0) as usize);
            if let Some(place) = lines.get_mut(row).and_then(|line| line.get_mut(column)) {
                *place = b'#';
            }
        }
    }
    lines.iter().for_each(|line| println!("{}", String::from_utf8_lossy(line).trim_end()));
    match way {
        PathOutcome::Complete(path) => println!("{:.1} m to the goal", path.length_m),
        PathOutcome::Partial(path, why) => {
            println!("{:.1} m, then it ends: {why:?}", path.length_m)
        }
        other => println!("{other:?}"),
    }
}
