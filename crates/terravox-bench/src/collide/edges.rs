//! Edge data, and a block from cells to ready.

use fast_surface_nets::SurfaceNetsBuffer;
use terravox::mesh::{BlockMesh, Mesher, PAD};
use terravox::voxel::{DenseBox, Region, Shape};

use crate::harness::{Budget, Entrant, contest};
use crate::mesh::ours::{blocks_of, table_of};
use crate::mesh::peers::FsnBlock;
use crate::report::{Report, detail};
use crate::worlds::World;

/// Blocks of a world, and in an item, which alone are too short for the clock.
const BLOCKS: usize = 512;
const GROUP: usize = 64;

/// A block's cells are in the cache: an edit or the broadphase read them right before.
const RACE: Budget = Budget { min_rounds: 20, max_rounds: 400, seconds: 4.0, warm: true };

/// Measures this part.
pub fn run(report: &mut Report, worlds: &[&World]) {
    for world in worlds {
        explore(report, world);
    }
}

/// Blocks of 8³ with a solid surface, evenly chosen.
fn blocks(world: &World) -> Vec<Region> {
    let (table, mut mesher, mut out) = (table_of(Shape::Default), Mesher::new(), BlockMesh::new());
    let mut cells = DenseBox::default();
    let mut found = Vec::new();
    let chunks = world.chunks.len().min(512);
    for chunk in (0..chunks).map(|i| world.chunks[i * world.chunks.len() / chunks]) {
        for block in blocks_of(chunk.region(), 8) {
            world.read(block.grow(PAD), &mut cells);
            mesher.mesh(&cells, &table, &mut out);
            if !out.solid.is_empty() {
                found.push(block);
            }
        }
    }
    assert!(found.len() >= BLOCKS, "{}: {} blocks", world.name, found.len());
    (0..BLOCKS).map(|i| found[i * found.len() / BLOCKS]).collect()
}

fn explore(report: &mut Report, world: &World) {
    let table = table_of(Shape::Default);
    let blocks = blocks(world);
    let snapshot = world.grid.snapshot();
    let read = |region: Region| {
        let mut cells = DenseBox::default();
        world.read(region, &mut cells);
        cells
    };
    let small: Vec<DenseBox> = blocks.iter().map(|b| read(b.grow(2))).collect();
    let large: Vec<DenseBox> = blocks.iter().map(|b| read(b.grow(3))).collect();
    let fsn: Vec<FsnBlock> = small.iter().map(|cells| FsnBlock::new(cells, 8, &table)).collect();
    let range = |item: usize| item * GROUP..(item + 1) * GROUP;
    let mut buffer = SurfaceNetsBuffer::default();
    let (mut c2, mut c3) = (DenseBox::default(), DenseBox::default());
    let [mut m2, mut m3] = [Mesher::new(), Mesher::new()];
    let (mut o2, mut o3) = (BlockMesh::new(), BlockMesh::new());
    let (mut tri, mut ftri) = (0, 0);
    for i in 0..BLOCKS {
        m2.mesh(&small[i], &table, &mut o2);
        tri += o2.solid.indices.len() / 3;
        fsn[i].mesh(&mut buffer);
        ftri += buffer.indices.len() / 3;
    }
    let mut scratch = terravox::collide::edges::EdgeScratch::default();
    let mut codes = Vec::new();
    let meshes: Vec<BlockMesh> = small
        .iter()
        .map(|c| {
            let mut m = BlockMesh::new();
            m2.mesh(c, &table, &mut m);
            m
        })
        .collect();
    let entrants = vec![
        Entrant::new("fsn", |item| {
            fsn[range(item)]
                .iter()
                .map(|f| {
                    f.mesh(&mut buffer);
                    buffer.indices.len() as u64
                })
                .sum()
        }),
        Entrant::new("gather12", |item| {
            blocks[range(item)]
                .iter()
                .map(|b| {
                    snapshot.read(b.grow(2), 0, &mut c2).unwrap();
                    u64::from(c2.materials()[0])
                })
                .sum()
        }),
        Entrant::new("gather14", |item| {
            blocks[range(item)]
                .iter()
                .map(|b| {
                    snapshot.read(b.grow(3), 0, &mut c3).unwrap();
                    u64::from(c3.materials()[0])
                })
                .sum()
        }),
        Entrant::new("mesh8", |item| {
            small[range(item)]
                .iter()
                .map(|c| {
                    m2.mesh(c, &table, &mut o2);
                    o2.solid.indices.len() as u64
                })
                .sum()
        }),
        Entrant::new("mesh10", |item| {
            large[range(item)]
                .iter()
                .map(|c| {
                    m3.mesh(c, &table, &mut o3);
                    o3.solid.indices.len() as u64
                })
                .sum()
        }),
        Entrant::new("edges", |item| {
            meshes[range(item)]
                .iter()
                .map(|m| {
                    terravox::collide::edges::edge_angles(
                        &m.solid,
                        m.block,
                        &mut scratch,
                        &mut codes,
                    );
                    codes.len() as u64
                })
                .sum()
        }),
    ];
    let timings = contest(BLOCKS / GROUP, RACE, entrants);
    let base = timings[0].min * 1e9 / BLOCKS as f64;
    let rows = timings
        .iter()
        .map(|t| {
            detail(t.name, t.min * 1e9 / BLOCKS as f64, "ns/block").beside(base).note(format!(
                "median {:.0}; tris {tri} fsn {ftri}",
                t.median * 1e9 / BLOCKS as f64
            ))
        })
        .collect();
    report.details(format!("{} explore", world.name), rows);
}

fn estimate(world: &World) {
    use glam::DVec3;
    let table = table_of(Shape::Default);
    let blocks = blocks(world);
    let mut cells = DenseBox::default();
    let mut mesher = Mesher::new();
    let (mut o2, mut o3) = (BlockMesh::new(), BlockMesh::new());
    let (mut sides, mut border, mut special, mut with_special, mut quads) = (0, 0, 0, 0, 0);
    let mut pairs = Vec::new();
    for block in &blocks {
        world.read(block.grow(2), &mut cells);
        mesher.mesh_keyed(&cells, &table, &mut o2);
        world.read(block.grow(3), &mut cells);
        mesher.mesh_keyed(&cells, &table, &mut o3);
        let s = &o2.solid;
        special += s.quad_count() - s.plain_quads;
        quads += s.quad_count();
        with_special += usize::from(s.quad_count() > s.plain_quads);
        for (q, four) in terravox::collide::edges::naive::sides(s, &o3.solid).iter().enumerate() {
            let i = &s.indices[6 * q..6 * q + 6];
            let v = [i[0], i[1], i[2], i[5]].map(|v| v as usize);
            let p = v.map(|v| DVec3::from(s.positions[v].map(f64::from)));
            let n = v.map(|v| DVec3::from(s.normals[v].map(f64::from)));
            for k in 0..4 {
                sides += 1;
                if four[k].own {
                    continue;
                }
                border += 1;
                let Some(exact) = four[k].angle else { continue };
                let tri = if k < 2 { [0, 1, 2] } else { [0, 2, 3] };
                let n1 = (p[tri[1]] - p[tri[0]]).cross(p[tri[2]] - p[tri[0]]).normalize();
                let nq = (p[2] - p[0]).cross(p[3] - p[1]).normalize();
                let e = (p[(k + 1) % 4] - p[k]).normalize_or_zero();
                let m = n[k] + n[(k + 1) % 4];
                let m = m - e * e.dot(m);
                let o = e.cross(n1);
                let half = o.dot(m).atan2(n1.dot(m));
                let qa = o.dot(nq).atan2(n1.dot(nq));
                let a = {
                    let x = n[k] - e * e.dot(n[k]);
                    o.dot(x).atan2(n1.dot(x))
                };
                let b = {
                    let x = n[(k + 1) % 4];
                    let x = x - e * e.dot(x);
                    o.dot(x).atan2(n1.dot(x))
                };
                pairs.push([
                    exact.to_degrees(),
                    half.to_degrees(),
                    qa.to_degrees(),
                    a.to_degrees(),
                    b.to_degrees(),
                ]);
            }
        }
    }
    eprintln!(
        "{}: quads {quads} special {special} blocks with special {with_special}/{BLOCKS}; sides {sides} border {border}",
        world.name
    );
    let text: Vec<String> = pairs
        .iter()
        .map(|p| format!("{:.3} {:.3} {:.3} {:.3} {:.3}", p[0], p[1], p[2], p[3], p[4]))
        .collect();
    std::fs::write(format!("/tmp/edges_pairs_{}.txt", world.name), text.join("\n")).unwrap();
}

fn planes() {
    use glam::DVec3;
    let table = table_of(Shape::Default);
    let mut mesher = Mesher::new();
    let (mut o2, mut o3) = (BlockMesh::new(), BlockMesh::new());
    let mut pairs = Vec::new();
    for i in 0..400 {
        let t = i as f64;
        let n =
            DVec3::new((t * 0.7).sin(), 1.0 + (t * 0.37).cos() * 0.9, (t * 1.3).cos()).normalize();
        let f = crate::worlds::shapes::half_space(DVec3::splat(4.0 + 0.5 * (t * 0.11).sin()), n);
        let cells = crate::worlds::shapes::filled(Region::new([-2; 3], [10; 3]), 5, &f);
        mesher.mesh_keyed(&cells, &table, &mut o2);
        let cells = crate::worlds::shapes::filled(Region::new([-3; 3], [11; 3]), 5, &f);
        mesher.mesh_keyed(&cells, &table, &mut o3);
        let s = &o2.solid;
        for (q, four) in terravox::collide::edges::naive::sides(s, &o3.solid).iter().enumerate() {
            let i = &s.indices[6 * q..6 * q + 6];
            let v = [i[0], i[1], i[2], i[5]].map(|v| v as usize);
            let p = v.map(|v| DVec3::from(s.positions[v].map(f64::from)));
            let n = v.map(|v| DVec3::from(s.normals[v].map(f64::from)));
            for k in 0..4 {
                let Some(exact) = four[k].angle else { continue };
                let tri = if k < 2 { [0, 1, 2] } else { [0, 2, 3] };
                let n1 = (p[tri[1]] - p[tri[0]]).cross(p[tri[2]] - p[tri[0]]).normalize();
                let e = (p[(k + 1) % 4] - p[k]).normalize_or_zero();
                let m = n[k] + n[(k + 1) % 4];
                let m = m - e * e.dot(m);
                let o = e.cross(n1);
                let half = o.dot(m).atan2(n1.dot(m));
                pairs.push((exact.to_degrees(), 2.0 * half.to_degrees()));
            }
        }
    }
    let n = pairs.len() as f64;
    for lim in [0.05, 0.1, 0.35, 0.7, 1.0, 2.0, 4.0, 7.0, 11.0] {
        eprintln!(
            "planes > {lim}: exact {:.4} estimate {:.4}",
            pairs.iter().filter(|p| p.0 > lim).count() as f64 / n,
            pairs.iter().filter(|p| p.1 > lim).count() as f64 / n
        );
    }
}
