//! The whole collider: from an edit to the first query, allocations, cost of a lookup.

use cpu_time::ThreadTime;
use fast_surface_nets::SurfaceNetsBuffer;
use parry3d::math::Vector;
use parry3d::shape::{TriMesh, TriMeshFlags};
use terravox::collide::{Collider, ColliderOptions, Filter, Ray};
use terravox::geometry::Shape;
use terravox::math::Aabb;
use terravox::mesh::PAD;
use terravox::voxel::{AIR, DenseBox, Kind, Region, SurfaceShape, VoxelGrid};

use crate::harness::median_of_sorted;
use crate::mesh::ours::table_of;
use crate::mesh::peers::FsnBlock;
use crate::report::{AreaReport, ReportRow, detail};
use crate::worlds::World;

/// Digs that are measured.
const DIGS: usize = 200;
/// Radius of a dig, voxels.
const RADIUS: f32 = 4.0;
/// Half the edge of the query box at the dug floor, voxels.
const HALF_EDGE: f64 = 0.5;

/// Measures `edit_to_collidable_vs_parry` and `query_allocations`.
pub fn run(report: &mut AreaReport, worlds: &[&World]) {
    edits(report, worlds);
    allocations(report, worlds);
}

/// Points of the surface, evenly over the world, from rays straight down.
pub(crate) fn surface_points(world: &World, collider: &Collider, count: usize) -> Vec<[f64; 3]> {
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
        // Any floor on the way down, in caves too.
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

/// Digs balls; holds the scratch memory.
#[derive(Default)]
struct BallDigger {
    cells: DenseBox,
    /// Fill of each cell after the dig, 256ths.
    fills: Vec<u16>,
    /// Cells in the ball's band, which might be left as a film.
    band: Vec<usize>,
}

impl BallDigger {
    /// Digs a ball: each cell keeps the smaller of its fill and 1 − that of the ball. So that no
    /// film is left, cells of the band that are at most half full are removed, unless a neighbour
    /// is fuller.
    fn dig(&mut self, grid: &mut VoxelGrid, centre: [f64; 3]) -> Region {
        let BallDigger { cells, fills, band } = self;
        let region = Aabb::around(centre, [f64::from(RADIUS) + 1.0; 3]).voxels().grow(1);
        grid.read(region, 0, cells).expect("the world is held");
        let [sx, sy, sz] = region.size();
        let local = |axis: usize, min: i32| (centre[axis] - f64::from(min) - 0.5) as f32;
        let [cx, cy, cz] = [local(0, region.min.x), local(1, region.min.y), local(2, region.min.z)];
        fills.clear();
        band.clear();
        let (materials, occupancies) = cells.arrays_mut();
        for (y, z) in (0..sy).flat_map(|y| (0..sz).map(move |z| (y as f32 - cy, z as f32 - cz))) {
            for x in 0..sx {
                let (i, dx) = (fills.len(), x as f32 - cx);
                let units = match materials[i] {
                    AIR => 0,
                    _ => u16::from(occupancies[i]) + 1,
                };
                let depth = RADIUS + 0.5 - (dx * dx + y * y + z * z).sqrt();
                if depth <= 0.0 || units == 0 {
                    fills.push(units);
                    continue;
                }
                if depth < 1.0 {
                    band.push(i);
                }
                fills.push(units.min((256.0 * (1.0 - depth)).max(0.0).round() as u16));
            }
        }
        for &i in band.iter() {
            let steps = [1, sx, sx * sz];
            let is_full = |i: usize| fills[i] > 128;
            if !is_full(i) && !steps.iter().any(|&step| is_full(i - step) || is_full(i + step)) {
                materials[i] = AIR;
            }
        }
        for (i, &units) in fills.iter().enumerate() {
            if units == 0 {
                materials[i] = AIR;
            }
            occupancies[i] = units.saturating_sub(1) as u8;
        }
        grid.write(cells).expect("the world is held");
        region
    }
}

/// Seconds of the median edit.
struct EditTimes {
    /// All of ours.
    ours: f64,
    /// Dig and write.
    dig: f64,
    /// Update of the collider.
    update: f64,
    /// First query.
    query: f64,
    /// Of a peer, for the touched chunks.
    peer: f64,
}

fn edits(report: &mut AreaReport, worlds: &[&World]) {
    let mut edits = Vec::new();
    for world in worlds {
        let edit = world_edits(world);
        let us = |seconds: f64| seconds * 1e6;
        let line = |name: &str, seconds: f64| detail(name, us(seconds), "µs");
        let rows: Vec<ReportRow> = vec![
            line("edit to collidable", edit.ours).beside(us(edit.peer)),
            line("of this: dig and write, mips included", edit.dig),
            line("of this: masks, snapshot, old blocks dropped", edit.update),
            line("of this: the query, blocks built", edit.query),
            line("fast-surface-nets + parry TriMesh of the touched chunks", edit.peer),
        ];
        report.details(format!("{}, {DIGS} digs of radius {RADIUS}, medians", world.name), rows);
        edits.push((world.name, edit));
    }
    let ratio = |edit: &EditTimes| edit.ours / edit.peer;
    let worst = edits.iter().max_by(|a, b| ratio(&a.1).total_cmp(&ratio(&b.1)));
    if let Some((world, edit)) = worst {
        let note = format!("{world}; baseline µs");
        report.set_ratio("edit_to_collidable_vs_parry", ratio(edit), edit.peer * 1e6, note);
    }
}

fn world_edits(world: &World) -> EditTimes {
    let mut grid = VoxelGrid::new(terravox::voxel::GridOptions {
        materials: world.grid.materials().clone(),
        ..Default::default()
    });
    world.chunk_boxes().for_each(|cells| grid.write(&cells).expect("chunks are whole"));
    let mut collider = Collider::new(ColliderOptions::default());
    collider.update(&grid);
    let points = surface_points(world, &collider, DIGS);
    let mut digger = BallDigger::default();
    let mut times: [Vec<f64>; 5] = Default::default();
    let mut buffer = SurfaceNetsBuffer::default();
    for point in points {
        // Build the blocks around, as for a body that stands there.
        let stand = Aabb::around(point, [6.0; 3]);
        collider.triangles_in(&stand, &Filter::SOLID, |_| ());
        let start = ThreadTime::now();
        let dug_region = digger.dig(&mut grid, point);
        let dug = ThreadTime::now();
        collider.update(&grid);
        let updated = ThreadTime::now();
        let floor = [point[0], point[1] - f64::from(RADIUS), point[2]];
        let mut triangles = 0;
        collider
            .triangles_in(&Aabb::around(floor, [HALF_EDGE; 3]), &Filter::SOLID, |_| triangles += 1);
        let queried = ThreadTime::now();
        let seconds = |from: ThreadTime, to: ThreadTime| to.duration_since(from).as_secs_f64();
        times[0].push(seconds(start, queried));
        times[1].push(seconds(start, dug));
        times[2].push(seconds(dug, updated));
        times[3].push(seconds(updated, queried));
        times[4].push(peer(&grid, dug_region.grow(-1), &mut buffer));
    }
    times.iter_mut().for_each(|of| of.sort_by(f64::total_cmp));
    let [ours, dig, update, query, peer] = times.map(|of| median_of_sorted(&of));
    EditTimes { ours, dig, update, query, peer }
}

/// Seconds to mesh every chunk that `region` touches and to build parry's triangle meshes with
/// internal edges.
fn peer(grid: &VoxelGrid, region: Region, buffer: &mut SurfaceNetsBuffer) -> f64 {
    let (table, mut cells) = (table_of(SurfaceShape::Default), DenseBox::default());
    let mut seconds = 0.0;
    for chunk in region.blocks::<5>() {
        grid.read(chunk.region().grow(PAD), 0, &mut cells).expect("the world is held");
        let solid = cells.materials().iter().any(|&m| table.kind(m) == Kind::Solid);
        if !solid {
            continue;
        }
        let block = FsnBlock::new(&cells, 32, &table);
        let start = ThreadTime::now();
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

/// Queries at each point in [`allocations`].
const QUERIES_PER_POINT: usize = 11;

/// Allocations of queries whose blocks are built.
fn allocations(report: &mut AreaReport, worlds: &[&World]) {
    let mut worst = 0;
    let mut queries = 0;
    for world in worlds {
        let mut collider = Collider::default();
        collider.update(&world.grid);
        let points = surface_points(world, &collider, 100);
        let mut hits = Vec::with_capacity(10_000);
        let mut query_all = |collider: &Collider| {
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
        query_all(&collider);
        let info = allocation_counter::measure(|| query_all(&collider));
        worst = worst.max(info.count_total);
        queries += points.len() * QUERIES_PER_POINT;
    }
    report.set("query_allocations", worst as f64 / queries as f64, format!("of {queries} queries"));
}
