//! The whole collider: from an edit to the first answer, allocations, what a look-up costs.

use std::time::Instant;

use fast_surface_nets::SurfaceNetsBuffer;
use parry3d::math::Vector;
use parry3d::shape::{TriMesh, TriMeshFlags};
use terravox::collide::{Collider, ColliderOptions, Filter, Ray, Shape};
use terravox::math::Aabb;
use terravox::mesh::PAD;
use terravox::voxel::{Cell, DenseBox, Kind, Region, Shape as Surface, VoxelGrid, VoxelPos};

use crate::harness::median_of_sorted;
use crate::mesh::ours::table_of;
use crate::mesh::peers::FsnBlock;
use crate::report::{Report, Row, detail};
use crate::worlds::World;

/// Digs that are measured.
const DIGS: usize = 200;
/// Radius of a dig, voxels.
const RADIUS: f32 = 4.0;
/// Half the edge of the box that asks about the dug floor, voxels.
const HALF: f64 = 0.5;

/// Measures this part.
pub fn run(report: &mut Report, worlds: &[&World]) {
    edits(report, worlds);
    allocations(report, worlds);
}

/// Points of the surface, evenly over the world, from rays straight down.
fn surface_points(world: &World, collider: &Collider, count: usize) -> Vec<[f64; 3]> {
    let Region { min, max } = world.grid.bounds();
    let top = f64::from(max.y) + 10.0;
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |low: i32, high: i32| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        f64::from(low) + (seed >> 11) as f64 / (1_u64 << 53) as f64 * f64::from(high - low)
    };
    let mut points = Vec::new();
    let mut hits = Vec::new();
    for _ in 0..1000 * count {
        let [x, z] = [random(min.x + 8, max.x - 8), random(min.z + 8, max.z - 8)];
        let down = Ray::new([x, top, z], [0.0, -1.0, 0.0], f64::INFINITY);
        collider.ray_all(&down, &Filter::SOLID, &mut hits);
        // Any floor on the way down, caves' too.
        let floors: Vec<_> = hits.iter().filter(|hit| hit.normal[1] > 0.3).collect();
        if !floors.is_empty() {
            points.push(floors[random(0, floors.len() as i32) as usize].point);
        }
        if points.len() == count {
            break;
        }
    }
    assert_eq!(points.len(), count, "{}: too little ground", world.name);
    points
}

/// Digs a ball: the smaller of what is there and one less the ball, and no film is left.
fn dig(grid: &mut VoxelGrid, centre: [f64; 3], cells: &mut DenseBox, fills: &mut Vec<f32>) {
    let reach = f64::from(RADIUS) + 1.0;
    let region = Aabb::around(centre, [reach; 3]).voxels();
    let padded = region.grow(1);
    grid.read(padded, 0, cells).expect("the world is held");
    let ball = |at: VoxelPos| {
        let d = [at.x, at.y, at.z];
        let d: f64 = (0..3).map(|i| (f64::from(d[i]) + 0.5 - centre[i]).powi(2)).sum();
        (0.5 + f64::from(RADIUS) - d.sqrt()).clamp(0.0, 1.0) as f32
    };
    fills.clear();
    fills.extend(padded.voxels().map(|at| cells.cell(at).fraction().min(1.0 - ball(at))));
    let [sx, _, sz] = padded.size();
    let neighbours = [1, sx, sx * sz];
    for at in region.voxels() {
        let (old, b) = (cells.cell(at), ball(at));
        if b <= 0.0 || old.is_air() {
            continue;
        }
        let i = cells.index(at);
        let high = |i: usize| fills[i] > 0.5;
        let held = neighbours.iter().any(|&step| high(i - step) || high(i + step));
        let film = b < 1.0 && !high(i) && !held;
        let units = (fills[i] * 256.0).round() as i32;
        let new = match units < 1 || film {
            true => Cell::AIR,
            false => Cell::new(old.material, (units - 1) as u8),
        };
        cells.set(at, new);
    }
    grid.write(cells).expect("the world is held");
}

/// Seconds of the median edit, and of what a peer needs for the chunks that it touched.
struct Edit {
    ours: f64,
    /// Without the first answer.
    stages: [f64; 3],
    peer: f64,
}

fn edits(report: &mut Report, worlds: &[&World]) {
    let mut found = Vec::new();
    for world in worlds {
        let edit = world_edits(world);
        let us = |seconds: f64| seconds * 1e6;
        let line = |name: &str, seconds: f64| detail(name, us(seconds), "µs");
        let rows: Vec<Row> = vec![
            line("edit to collidable", edit.ours).beside(us(edit.peer)),
            line("of this: dig and write, mips included", edit.stages[0]),
            line("of this: masks, snapshot, old blocks dropped", edit.stages[1]),
            line("of this: the answer, blocks built", edit.stages[2]),
            line("fast-surface-nets + parry TriMesh of the touched chunks", edit.peer),
        ];
        report.details(format!("{}, {DIGS} digs of radius {RADIUS}, medians", world.name), rows);
        found.push((world.name, edit));
    }
    let slowest = found.iter().max_by(|a, b| a.1.ours.total_cmp(&b.1.ours));
    let ratio = |edit: &Edit| edit.ours / edit.peer;
    let worst = found.iter().max_by(|a, b| ratio(&a.1).total_cmp(&ratio(&b.1)));
    if let (Some((name, edit)), Some((by_ratio, of_peer))) = (slowest, worst) {
        report.set("edit_to_collidable_us", edit.ours * 1e6, format!("median, {name}"));
        let note = format!("{by_ratio}; baseline µs");
        report.set_ratio("edit_to_collidable_vs_parry", ratio(of_peer), of_peer.peer * 1e6, note);
    }
}

fn world_edits(world: &World) -> Edit {
    let mut grid = VoxelGrid::new(terravox::voxel::GridOptions {
        materials: world.grid.materials().clone(),
        ..Default::default()
    });
    world.chunk_boxes().for_each(|cells| grid.write(&cells).expect("chunks are whole"));
    let mut collider = Collider::new(ColliderOptions::default());
    collider.update(&grid);
    let points = surface_points(world, &collider, DIGS);
    let (mut cells, mut fills) = (DenseBox::default(), Vec::new());
    let mut times: [Vec<f64>; 5] = Default::default();
    let mut buffer = SurfaceNetsBuffer::default();
    for point in points {
        // Somebody stands there: the blocks around are built.
        let stand = Aabb::around(point, [6.0; 3]);
        collider.triangles_in(&stand, &Filter::SOLID, |_| ());
        let start = Instant::now();
        dig(&mut grid, point, &mut cells, &mut fills);
        let dug = Instant::now();
        collider.update(&grid);
        let updated = Instant::now();
        let floor = [point[0], point[1] - f64::from(RADIUS), point[2]];
        let mut triangles = 0;
        collider.triangles_in(&Aabb::around(floor, [HALF; 3]), &Filter::SOLID, |_| triangles += 1);
        let answered = Instant::now();
        let seconds = |from: Instant, to: Instant| (to - from).as_secs_f64();
        times[0].push(seconds(start, answered));
        times[1].push(seconds(start, dug));
        times[2].push(seconds(dug, updated));
        times[3].push(seconds(updated, answered));
        times[4].push(peer(&grid, cells.region().grow(-1), &mut buffer));
    }
    times.iter_mut().for_each(|of| of.sort_by(f64::total_cmp));
    let [ours, dug, updated, answered, peer] = times.map(|of| median_of_sorted(&of));
    Edit { ours, stages: [dug, updated, answered], peer }
}

/// Seconds that meshing every chunk that `region` touches takes, and making parry's
/// triangle mesh with internal edges of it.
fn peer(grid: &VoxelGrid, region: Region, buffer: &mut SurfaceNetsBuffer) -> f64 {
    let (table, mut cells) = (table_of(Surface::Default), DenseBox::default());
    let mut seconds = 0.0;
    for chunk in region.blocks::<5>() {
        grid.read(chunk.region().grow(PAD), 0, &mut cells).expect("the world is held");
        let solid = cells.materials().iter().any(|&m| table.kind(m) == Kind::Solid);
        if !solid {
            continue;
        }
        let block = FsnBlock::new(&cells, 32, &table);
        let start = Instant::now();
        block.mesh(buffer);
        if !buffer.indices.is_empty() {
            let vertices = buffer.positions.iter().map(|&[x, y, z]| Vector::new(x, y, z)).collect();
            let triangles = buffer.indices.chunks_exact(3).map(|i| [i[0], i[1], i[2]]).collect();
            let flags = TriMeshFlags::FIX_INTERNAL_EDGES;
            std::hint::black_box(TriMesh::with_flags(vertices, triangles, flags).is_ok());
        }
        seconds += start.elapsed().as_secs_f64();
    }
    seconds
}

/// Allocations of queries whose blocks are built.
fn allocations(report: &mut Report, worlds: &[&World]) {
    let mut worst = 0;
    let mut queries = 0;
    for world in worlds {
        let mut collider = Collider::default();
        collider.update(&world.grid);
        let points = surface_points(world, &collider, 100);
        let mut hits = Vec::with_capacity(10_000);
        let mut ask = |collider: &Collider| {
            for &[x, y, z] in &points {
                let at = [x, y + 3.0, z];
                let ray = Ray::new(at, [0.3, -1.0, 0.2], 100.0);
                collider.ray(&ray, &Filter::BOTH);
                collider.ray_any(&ray, &Filter::BOTH);
                collider.ray_all(&ray, &Filter::BOTH, &mut hits);
                collider.triangles_in(&Aabb::around(at, [3.0; 3]), &Filter::BOTH, |_| ());
                collider.closest_point(at, 10.0, &Filter::SOLID);
                let shapes = [
                    Shape::Sphere { radius: 0.5 },
                    Shape::Capsule { a: [0.0; 3], b: [0.0, 1.0, 0.0], radius: 0.4 },
                    Shape::Box { half: [0.4; 3], rotation: [0.0, 0.0, 0.0, 1.0] },
                ];
                for shape in shapes {
                    collider.overlaps(&shape, [x, y + 0.2, z], &Filter::SOLID);
                    collider.cast(&shape, at, [0.0, -9.0, 1.0], &Filter::SOLID);
                }
            }
        };
        ask(&collider);
        let info = allocation_counter::measure(|| ask(&collider));
        worst = worst.max(info.count_total);
        queries += points.len() * 11;
    }
    report.set("query_allocations", worst as f64 / queries as f64, format!("of {queries} queries"));
}
