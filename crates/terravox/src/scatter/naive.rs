//! The slow twin: every point of the pattern, in every period that can reach the region, against
//! every triangle of one mesh of the whole region, in integers of 128 bits.
//!
//! Shares with the fast path the pattern, what a rule wants of a crossing, and the place, id and
//! rank of a point, but no code that looks for anything: no blocks, parts, columns or levels.

use crate::mesh::{BlockMesh, PAD, naive};
use crate::voxel::{DenseBox, MaterialTable, MipBlock, VoxelPos};

use super::candidates::{Part, PatternFrame, VerticalLine, rank};
use super::crossings::Crossing;
use super::instance::{Instance, QUANTA};
use super::pattern::{PERIOD, UNITS};
use super::rules::{ScatterRules, Stand};

/// An infinitely small step along x is this part of a quantum, and one along z the square of that.
const STEP: i128 = 1 << 24;

/// The instances whose cells lie in the box `cells` less [`PAD`], unsorted, as if that were one
/// block: positions from its min corner.
pub(super) fn instances(
    rules: &ScatterRules,
    mip: u8,
    cells: &DenseBox,
    table: &MaterialTable,
) -> Vec<Instance> {
    let whole = cells.region().grow(-PAD);
    let mut mesh = BlockMesh::new();
    naive::mesh(cells, table, &mut mesh);
    let part = Part { mip, block: whole, cells: whole };
    let mut stand = Stand::new(rules, part, cells, table, &mesh.solid, [0; 3]);
    let mut all = Vec::new();
    for line in lines(rules, mip, whole.min.to_array(), whole.size()) {
        for (triangle, vertices) in mesh.solid.triangles().enumerate() {
            let corners = vertices.map(|v| mesh.solid.positions[v as usize]);
            let Some((y, weights, weight)) = cross(corners, [line.x, line.z]) else { continue };
            let quad = triangle / 2;
            let crossing = Crossing { line: &line, y, vertices, weights, weight, quad };
            all.extend(stand.instance(&crossing));
        }
    }
    all
}

/// All points within two cells of a box, in quanta from its min corner.
fn lines(rules: &ScatterRules, mip: u8, min: [i32; 3], size: [usize; 3]) -> Vec<VerticalLine> {
    let mut all = Vec::new();
    let quanta = i64::from(QUANTA);
    for (number, rule) in rules.rules().iter().enumerate() {
        let frame = PatternFrame::new(rule, mip);
        let period = f64::from(rule.spacing_voxels) * (PERIOD / UNITS) as f64;
        let cell = f64::from(1u32 << mip);
        let periods = |axis: usize| {
            let [low, high] = [min[axis] as f64, min[axis] as f64 + size[axis] as f64];
            let number = |cells: f64| (cells * cell / period).floor() as i64;
            number(low) - 2..=number(high) + 2
        };
        for (x, z) in periods(0).flat_map(|x| periods(2).map(move |z| (x, z))) {
            for point in rules.pattern().levels[0].points() {
                let [px, pz] = frame.place(point, [x, z]);
                let local = [px - i64::from(min[0]) * quanta, pz - i64::from(min[2]) * quanta];
                let near = |v: i64, edge: usize| -2 * quanta <= v && v < (edge as i64 + 2) * quanta;
                let id = frame.id(point, [x, z]);
                let rank = rank(point, id);
                if near(local[0], size[0]) && near(local[1], size[2]) && rank < rule.share(mip) {
                    let [x, z] = local.map(|v| v as i32);
                    all.push(VerticalLine { x, z, rank, rule: number as u8, id });
                }
            }
        }
    }
    all
}

/// Height in half quanta, weights of the corners and their sum.
fn cross(corners: [[f32; 3]; 3], line: [i32; 2]) -> Option<(i32, [i64; 3], i64)> {
    let corners = corners.map(|p| p.map(|v| i128::from((v * QUANTA as f32) as i64)));
    let moved = [i128::from(line[0]) * STEP * STEP + STEP, i128::from(line[1]) * STEP * STEP + 1];
    let line = line.map(i128::from);
    let side = |a: [i128; 3], b: [i128; 3], p: [i128; 2], scale: i128| {
        (b[0] - a[0]) * (p[1] - a[2] * scale) - (b[2] - a[2]) * (p[0] - a[0] * scale)
    };
    let [a, b, c] = corners;
    let all = side(a, b, [c[0], c[2]], 1);
    let pairs = [[b, c], [c, a], [a, b]];
    let is_inside = pairs.iter().all(|&[a, b]| side(a, b, moved, STEP * STEP) * all.signum() > 0);
    if all == 0 || !is_inside {
        return None;
    }
    let weights = pairs.map(|[a, b]| side(a, b, line, 1) * all.signum());
    let height: i128 = [0, 1, 2].map(|i| corners[i][1] * weights[i]).iter().sum();
    let y = height.div_euclid(2 * all.abs());
    Some((y as i32, weights.map(|w| w as i64), all.abs() as i64))
}

/// The instances of a block among those of a region, which begins at `min` (cells), as the block
/// has them.
pub(super) fn of_block(all: &[Instance], min: VoxelPos, block: MipBlock) -> Vec<Instance> {
    let by = (block.cells().min - min).to_array();
    let voxels = (1u32 << block.mip) as f32;
    let mut own: Vec<Instance> = all
        .iter()
        .filter(|i| (0..3).all(|axis| (0..32).contains(&(i32::from(i.cell[axis]) - by[axis]))))
        .map(|i| Instance {
            position: [0, 1, 2].map(|axis| i.position[axis] - by[axis] as f32 * voxels),
            cell: [0, 1, 2].map(|axis| (i32::from(i.cell[axis]) - by[axis]) as u8),
            ..*i
        })
        .collect();
    own.sort_by(|a, b| a.key(voxels).cmp(&b.key(voxels)).then_with(|| a.tie().cmp(&b.tie())));
    own
}
