//! Geomorphing: how near the surface of fine blocks is to that of their parents when all its
//! vertices have arrived there, and whether anything opens on the way.
//!
//! Every other measure of closedness welds by key. Here edges are matched by the bits of where
//! their ends are, at each of 11 factors that all vertices have, and at one of their own.

use std::cmp::Ordering;
use std::sync::Arc;

use glam::DVec3;
use rustc_hash::{FxHashMap, FxHashSet};
use terravox::lod::Morph;
use terravox::mesh::{BlockMesh, Mesher, NeighbourMips, Surface as Raw, VertexKey};
use terravox::voxel::{
    DenseBox, MaterialTable, MipBlock, Region, SurfaceShape, VoxelGrid, VoxelPos,
};

use crate::lod::ours::in_voxels;
use crate::lod::{Flight, World, ground, quantile, read};
use crate::mesh::distance::Nearest;
use crate::mesh::ours::table_of;
use crate::mesh::surface::Surface;
use crate::report::{Report, detail};
use crate::worlds::random::Rng;

/// Pieces of ground.
const GROUNDS: u64 = 3;

/// Worlds of blocks of up to 8:1, and flights with states of each: as many as are judged
/// without morphing.
const WORLDS: u64 = 600;
const FLIGHTS: u64 = 8;
const STATES: usize = 160;

/// Of so many points on the ground one is measured.
const POINTS: usize = 31;

/// Measures `morph_median`, `morph_p99` and `morph_open_edges`.
pub fn run(report: &mut Report) {
    measure_distance(report);
    measure_edges(report);
}

/// Meshes blocks that morph.
struct Meshes {
    mesher: Mesher,
    table: MaterialTable,
}

impl Meshes {
    fn new() -> Meshes {
        Meshes { mesher: Mesher::new(), table: table_of(SurfaceShape::Default) }
    }

    fn mesh(
        &mut self,
        grid: &VoxelGrid,
        block: MipBlock,
        shown: impl FnMut(VoxelPos) -> u8,
        top: u8,
    ) -> BlockMesh {
        let mut mesh = BlockMesh::new();
        let around = NeighbourMips::from_voxels(block, shown);
        let ask = |mip: u8, region: Region, out: &mut DenseBox| read(grid, mip, region, out);
        self.mesher.mesh_morphing(block, &around, ask, &self.table, top, true, &mut mesh);
        mesh
    }
}

/// Vertices of a block in voxels, when they are so far on their way.
fn placed(block: MipBlock, raw: &Raw, factor: f32) -> Surface {
    let mut raw = raw.clone();
    raw.morph(|_, _, _| factor);
    in_voxels(&raw, block)
}

fn measure_distance(report: &mut Report) {
    let mut by_factor = [(0.0, Vec::new()), (0.5, Vec::new()), (1.0, Vec::new())];
    for seed in 0..GROUNDS {
        let grid = ground(Region::new([0; 3], [128, 128, 128]), 300 + seed);
        let mut meshes = Meshes::new();
        let mut of = |mip: u8| -> Vec<(MipBlock, BlockMesh)> {
            let blocks = grid.bounds().coarser(5 + u32::from(mip)).voxels();
            let block = |pos| MipBlock::new(mip, pos);
            blocks.map(block).map(|b| (b, meshes.mesh(&grid, b, |_| mip, 9))).collect()
        };
        let (fine, coarse) = (of(0), of(1));
        let mut parent = Surface::default();
        coarse.iter().for_each(|(block, mesh)| parent.append(&placed(*block, &mesh.solid, 0.0)));
        let parent = Nearest::new(&parent);
        // Walls at the rim are no ground.
        let inner = grid.bounds().grow(-16);
        let within = |p: DVec3| inner.contains(VoxelPos::from(p.floor().as_ivec3().to_array()));
        for (factor, found) in &mut by_factor {
            let mut count = 0;
            for (block, mesh) in &fine {
                placed(*block, &mesh.solid, *factor).sample(|point, area| {
                    count += 1;
                    if count % POINTS == 0 && area > 1e-9 && within(point) {
                        found.push(parent.distance(point));
                    }
                });
            }
        }
    }
    let lines: Vec<_> = by_factor
        .iter_mut()
        .map(|(factor, found)| {
            let [median, p99] = [0.5, 0.99].map(|share| quantile(found, share));
            let note = format!("median; p99 {p99:.3}, {} points", found.len());
            (detail(format!("factor {factor}"), median, "voxels").note(note), median, p99)
        })
        .collect();
    let (_, median, p99) = lines[2];
    let note = format!("at factor 0: {:.3}", lines[0].1);
    report.set("morph_median", median, note);
    report.set("morph_p99", p99, format!("at factor 0: {:.3}", lines[0].2));
    let lines = lines.into_iter().map(|line| line.0).collect();
    report.details("fine ground to the surface of its parents, 2:1", lines);
}

fn measure_edges(report: &mut Report) {
    let (mut open, mut triangles, mut widest) = ([0; 2], 0, 0);
    for seed in 0..WORLDS {
        let world = World::random(seed);
        let mut meshes = Meshes::new();
        let drawn: Vec<_> = world
            .near()
            .map(|leaf| {
                let shown = |voxel| world.shown(leaf.mip, voxel);
                (leaf, meshes.mesh(&world.grid, leaf, shown, 3 + (seed % 2) as u8))
            })
            .collect();
        widest += u64::from(drawn.iter().any(|(leaf, _)| leaf.mip == 0));
        triangles += drawn.iter().map(|(_, mesh)| mesh.solid.triangle_count()).sum::<usize>();
        let drawn: Vec<_> = drawn.iter().map(|(leaf, mesh)| (*leaf, &mesh.solid)).collect();
        open[0] += open_edges(&drawn, None, |_| false);
    }
    let mut states = 0;
    for seed in 0..FLIGHTS {
        let mut flight = Flight::new(seed, true);
        for state in 0..STATES {
            while flight.published <= state {
                flight.step();
            }
            let drawn: Vec<_> = flight
                .drawn
                .iter()
                .map(|(block, mesh)| (*block, &Arc::as_ref(mesh).solid))
                .collect();
            triangles += drawn.iter().map(|(_, solid)| solid.triangle_count()).sum::<usize>();
            let rim = flight.rim();
            let by = (flight.lod.morph(), flight.at);
            open[1] += open_edges(&drawn, Some(by), |key| rim.has(key.corner));
            states += 1;
        }
    }
    let note = format!(
        "11 factors, and by distance: {WORLDS} worlds, {widest} of them 8:1, and {states} \
         published states; {triangles} triangles"
    );
    report.set("morph_open_edges", (open[0] + open[1]) as f64, note);
}

/// Edges without an opposite by the bits of where their ends are, at 11 factors and, if it
/// is said who looks from where, at factors by distance; but for those whose ends both are
/// at the rim of what is shown.
fn open_edges(
    drawn: &[(MipBlock, &Raw)],
    by_distance: Option<(Morph, [f64; 3])>,
    rim: impl Fn(&VertexKey) -> bool,
) -> usize {
    let mut open = 0;
    let keys: FxHashSet<VertexKey> =
        drawn.iter().flat_map(|(_, raw)| &raw.keys).filter(|key| rim(key)).copied().collect();
    let of_mesh = |raw: &Raw| raw.keys.iter().map(|key| keys.contains(key)).collect();
    let at_rim: Vec<Vec<bool>> = drawn.iter().map(|(_, raw)| of_mesh(raw)).collect();
    for tenth in 0..=10 {
        open += open_at(drawn, &at_rim, |_, _, _| tenth as f32 / 10.0);
    }
    if let Some((morph, eye)) = by_distance {
        open += open_at(drawn, &at_rim, |block, p, step| {
            let min = DVec3::from_array(block.voxels().min.to_array().map(f64::from));
            let voxel = min + DVec3::from_array(p.map(f64::from)) * f64::from(1 << block.mip);
            morph.factor(block.mip + step, voxel.distance(DVec3::from_array(eye)) as f32)
        });
    }
    open
}

/// Where a vertex is, in 32768ths of a voxel, of which all are whole.
type Place = [i64; 3];

fn open_at(
    drawn: &[(MipBlock, &Raw)],
    at_rim: &[Vec<bool>],
    factor: impl Fn(MipBlock, [f32; 3], u8) -> f32,
) -> usize {
    let places: Vec<Vec<Place>> = drawn
        .iter()
        .map(|&(block, raw)| {
            let mut moved = raw.clone();
            moved.morph(|_, p, step| factor(block, p, step));
            let min = block.voxels().min.to_array();
            let place = |p: &[f32; 3]| {
                [0, 1, 2].map(|a| {
                    let offset = f64::from(p[a]) * f64::from(32768 << block.mip);
                    assert!(offset.fract() == 0.0, "{p:?} is off the lattice");
                    i64::from(min[a]) * 32768 + offset as i64
                })
            };
            moved.positions.iter().map(place).collect()
        })
        .collect();
    if is_balanced(drawn, &places, at_rim) { 0 } else { count_open(drawn, &places, at_rim) }
}

/// Whether edges that are not at the rim have as many uses one way as the other: the sum of
/// a random number for each edge, with the sign of its direction, is zero. That it is so by
/// chance has a probability of 2⁻⁶⁴.
fn is_balanced(drawn: &[(MipBlock, &Raw)], places: &[Vec<Place>], at_rim: &[Vec<bool>]) -> bool {
    let mut sum = 0u64;
    for (((_, raw), places), at_rim) in drawn.iter().zip(places).zip(at_rim) {
        let hashes: Vec<u64> = places.iter().map(hash).collect();
        for [p, q] in edges(raw).filter(|&[p, q]| !(at_rim[p] && at_rim[q])) {
            let (a, b) = (hashes[p], hashes[q]);
            let edge = mix(a.min(b) ^ mix(a.max(b)));
            sum = match a.cmp(&b) {
                Ordering::Less => sum.wrapping_add(edge),
                Ordering::Equal => sum,
                Ordering::Greater => sum.wrapping_sub(edge),
            };
        }
    }
    sum == 0
}

fn hash(place: &Place) -> u64 {
    place.iter().fold(0, |hash, &v| mix(hash ^ v as u64))
}

/// A number for another one, as good as random.
fn mix(v: u64) -> u64 {
    Rng::new(v).bits()
}

/// The ends of all triangles' edges, each in its direction.
fn edges(raw: &Raw) -> impl Iterator<Item = [usize; 2]> {
    let triangles = raw.triangles().map(|t| t.map(|v| v as usize));
    triangles.flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]])
}

/// Edges that have more uses one way than the other, none of them at the rim.
fn count_open(drawn: &[(MipBlock, &Raw)], places: &[Vec<Place>], at_rim: &[Vec<bool>]) -> usize {
    let mut uses: FxHashMap<[Place; 2], (i32, bool)> = FxHashMap::default();
    for (((_, raw), places), at_rim) in drawn.iter().zip(places).zip(at_rim) {
        for [a, b] in edges(raw) {
            let (p, q) = (places[a], places[b]);
            let (sum, rim) = uses.entry([p.min(q), p.max(q)]).or_default();
            *sum += match p.cmp(&q) {
                Ordering::Less => 1,
                Ordering::Equal => 0,
                Ordering::Greater => -1,
            };
            *rim |= at_rim[a] && at_rim[b];
        }
    }
    uses.values().filter(|(sum, rim)| *sum != 0 && !rim).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mesh_that_is_missing_or_moves_alone_opens_edges() {
        let world = World::random(6);
        let mut meshes = Meshes::new();
        let mesh = |leaf: MipBlock| {
            let shown = |voxel| world.shown(leaf.mip, voxel);
            (leaf, meshes.mesh(&world.grid, leaf, shown, 4))
        };
        let found: Vec<_> = world.near().map(mesh).collect();
        let drawn: Vec<_> = found.iter().map(|(leaf, mesh)| (*leaf, &mesh.solid)).collect();
        assert_eq!(open_edges(&drawn, None, |_| false), 0);
        let most = (0..drawn.len()).max_by_key(|&i| drawn[i].1.triangle_count()).unwrap();
        let mut fewer = drawn.clone();
        let (block, _) = fewer.swap_remove(most);
        assert!(open_edges(&fewer, None, |_| false) > 0);
        let alone = |b: MipBlock, _, _| if b == block { 0.5 } else { 0.0 };
        let inner: Vec<_> = drawn.iter().map(|(_, raw)| vec![false; raw.keys.len()]).collect();
        assert!(open_at(&drawn, &inner, alone) > 0);
    }
}
