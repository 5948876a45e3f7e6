//! One world: generated, edited, meshed, simplified, queried and written as bytes.

use terravox::codec::Rle;
use terravox::collide::{Collider, Filter, Ray};
use terravox::edit::{Action, Brush, BrushOp, EditOp, Editor, History};
use terravox::generate::Hills;
use terravox::mesh::{BlockMesh, Mesher, PAD};
use terravox::scatter::{ScatterRule, ScatterRules, ScatterScratch};
use terravox::simplify::{Simplifier, SimplifyOptions};
use terravox::voxel::{DenseBox, MaterialTable, MipBlock, Region, VoxelGrid};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::hash::hash_surface;
use crate::numbers::Numbers;

const OPERATIONS: u64 = 200;

/// All of it, voxels.
fn world() -> Region {
    Region::new([-64, 0, -64], [64, 64, 64])
}

fn generated() -> VoxelGrid {
    let mut grid = VoxelGrid::default();
    let hills = Hills::new(7);
    let mut cells = DenseBox::default();
    for chunk in world().blocks::<5>() {
        cells.reset(chunk.region());
        hills.fill(&mut cells, 0);
        grid.write(&cells).expect("air is held");
    }
    grid
}

/// One operation in eleven of each action, with brushes of four shapes.
fn operation(number: u64, numbers: &mut Numbers) -> EditOp {
    let (centre, size) = (numbers.point(world()), numbers.between(1.5, 9.0));
    let turn = [numbers.between(-1.0, 1.0), 0.3, numbers.between(-1.0, 1.0), 0.5];
    let half = [size, 0.5 * size, 0.7 * size];
    let brush = match number % 4 {
        0 => Brush::Ball { centre, radius: size },
        1 => Brush::Box { centre, half, rotation: turn },
        2 => Brush::Cylinder { centre, radius: size, half_height: 3.0, rotation: turn },
        _ => Brush::Path { points: vec![centre, numbers.point(world())], radius: 0.4 * size },
    };
    let action = match number % 11 {
        0 => Action::Dig,
        1 => Action::Fill { material: 8 },
        2 => Action::Paint { material: 17 },
        3 => Action::Replace { from: 2, to: 6 },
        4 => Action::Smooth,
        5 => Action::Flatten { point: centre, normal: [0.2, 1.0, 0.1], material: None },
        6 => Action::Grow { amount: 0.6 },
        7 => Action::Erode { amount: 0.6 },
        8 => Action::Roughen { amount: 0.8, size: 5.0, seed: number },
        9 => Action::Flood { material: 1 },
        _ => Action::Drain,
    };
    BrushOp::new(brush, action).into()
}

/// Of all meshes of 32³ cells at a mip, and of some of them simplified.
fn meshes(grid: &VoxelGrid, mip: u8) -> [u128; 2] {
    let (mut plain, mut simple) = (Xxh3::new(), Xxh3::new());
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    let (mut simplifier, mut cells) = (Simplifier::new(), DenseBox::default());
    let table = MaterialTable::default();
    for (number, block) in world().coarser(u32::from(mip)).blocks::<5>().enumerate() {
        grid.read(block.region().grow(PAD), mip, &mut cells).expect("air is held");
        mesher.mesh(&cells, &table, &mut mesh);
        hash_surface(&mesh.solid, &mut plain);
        hash_surface(&mesh.liquid, &mut plain);
        if number % 4 == 0 {
            hash_surface(
                &simplifier.simplify(&mesh.solid, SimplifyOptions::within(0.25)),
                &mut simple,
            );
        }
    }
    [plain, simple].map(|hash| hash.digest128())
}

/// Of all chunks and the history as bytes, which must also give back what they were made of.
fn bytes(grid: &VoxelGrid, history: &History) -> [u128; 2] {
    let table = MaterialTable::default();
    let kinds = table.kinds();
    let (mut cells, mut again) = (DenseBox::default(), DenseBox::default());
    let mut chunks = Vec::new();
    for chunk in world().blocks::<5>() {
        grid.read(chunk.region(), 0, &mut cells).expect("air is held");
        let start = chunks.len();
        Rle::wide(kinds).encode_box(&cells, &mut chunks);
        again.reset(chunk.region());
        let read = Rle::wide(kinds).decode_box(&chunks[start..], &mut again);
        assert_eq!(read.ok(), Some(chunks.len() - start), "all of a chunk is read");
        assert!(again == cells, "{chunk:?} comes back");
    }
    let strokes = history.to_bytes();
    let read = History::from_bytes(&strokes, usize::MAX).expect("what was written is read");
    assert!(read.to_bytes() == strokes, "the history comes back");
    [chunks, strokes].map(|bytes| xxh3_128(&bytes))
}

/// Of all that stands on the ground at a mip.
fn instances(grid: &VoxelGrid, mip: u8) -> u128 {
    let dense = ScatterRule { spacing_voxels: 1.0, patches: 0.5, ..ScatterRule::default() };
    let steep = ScatterRule { slope_degrees: [30.0, 180.0], seed: 9, ..dense.clone() };
    let rules = ScatterRules::new(vec![dense, steep]).expect("both are valid");
    let (mut scratch, mut cells) = (ScatterScratch::default(), DenseBox::default());
    let (mut hash, mut found, table) = (Xxh3::new(), Vec::new(), MaterialTable::default());
    for block in world().coarser(u32::from(mip)).blocks::<5>() {
        grid.read(block.region().grow(PAD), mip, &mut cells).expect("air is held");
        let block = MipBlock::new(mip, [block.x, block.y, block.z]);
        rules.scatter(block, &cells, &table, &mut scratch, &mut found);
        for one in &found {
            let numbers = [one.position, one.normal, [one.size, one.yaw_radians, one.rank]];
            numbers.as_flattened().iter().for_each(|v| hash.update(&v.to_bits().to_le_bytes()));
            hash.update(&one.id.to_le_bytes());
            hash.update(&[one.material, one.rule]);
        }
    }
    hash.digest128()
}

/// Of where rays hit.
fn rays(grid: &VoxelGrid, numbers: &mut Numbers) -> u128 {
    let mut collider = Collider::default();
    collider.update(grid);
    let mut hash = Xxh3::new();
    for _ in 0..500 {
        let (from, to) = (numbers.point(world()), numbers.point(world()));
        let ray = Ray::new(from, [0, 1, 2].map(|i| to[i] - from[i]), 200.0);
        if let Some(hit) = collider.ray(&ray, &Filter::default()).found {
            hit.point.iter().for_each(|v| hash.update(&v.to_bits().to_le_bytes()));
            hit.normal.iter().for_each(|v| hash.update(&v.to_bits().to_le_bytes()));
            hash.update(&[hit.material]);
        }
    }
    hash.digest128()
}

/// Returns a line for each digest: its name and value.
pub fn lines() -> Vec<String> {
    let mut grid = generated();
    let mut numbers = Numbers(1);
    let mut history = History::new(usize::MAX);
    let mut lines = Vec::new();
    let mut add = |what: &str, digest: u128| lines.push(format!("{what}={digest:032x}"));
    for when in ["generated", "edited"] {
        if when == "edited" {
            let mut editor = Editor::default();
            for number in 0..OPERATIONS {
                let op = operation(number, &mut numbers);
                editor.apply(&mut grid, &op, &mut history).expect("all is held");
            }
        }
        add(&format!("{when}-cells"), grid.digest().expect("all is held"));
        for mip in 0..2 {
            let [plain, simple] = meshes(&grid, mip);
            add(&format!("{when}-meshes-mip{mip}"), plain);
            add(&format!("{when}-simplified-mip{mip}"), simple);
            add(&format!("{when}-instances-mip{mip}"), instances(&grid, mip));
        }
        add(&format!("{when}-rays"), rays(&grid, &mut numbers));
        let [chunks, strokes] = bytes(&grid, &history);
        add(&format!("{when}-chunk-bytes"), chunks);
        add(&format!("{when}-history-bytes"), strokes);
    }
    lines
}
