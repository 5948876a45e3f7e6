//! Building octrees of cells, compared with meshing the same blocks, and of densities; and their
//! size.

use terravox::mesh::{BlockMesh, Mesher, PAD};
use terravox::octree::{Octree, OctreeBuilder};
use terravox::voxel::{DenseBox, Kind, MaterialTable, Region, SurfaceShape, VoxelPos};

use crate::harness::{Entrant, RoundBudget, Timing, contest};
use crate::mesh::ours::table_of;
use crate::mesh::speed::surface_blocks;
use crate::report::{AreaReport, detail};
use crate::worlds::{World, generated, rough};

/// Cells along the edge of a block.
pub const EDGE: i32 = 64;

/// Blocks that a world gives.
const BLOCKS: usize = 8;

const RACE: RoundBudget = RoundBudget { min_rounds: 10, max_rounds: 40, seconds: 6.0, warm: true };

/// A block, and the cells that its octree needs.
pub struct OctreeBlock {
    /// The block.
    pub region: Region,
    /// The cells, with padding.
    pub cells: DenseBox,
}

/// Blocks with much surface.
pub fn blocks(world: &World) -> Vec<OctreeBlock> {
    let boxes = surface_blocks(world, EDGE, BLOCKS);
    let read = |cells: DenseBox| {
        let region = cells.region().grow(-PAD);
        let mut needed = DenseBox::default();
        world.read(Octree::cells_needed(region), &mut needed);
        OctreeBlock { region, cells: needed }
    };
    boxes.into_iter().map(read).collect()
}

/// Measures `octree_vs_flat`, `octree_ns_voxel` and `octree_bytes_per_leaf`.
pub fn run(report: &mut AreaReport) {
    let (mut vs_flat, mut ns_voxel, mut leaf_bytes) = (Vec::new(), Vec::new(), Vec::new());
    for world in [generated::world(), rough::world()] {
        let race = race(&world);
        let [flat, octree, densities] = &race.timings;
        let name = world.name;
        let voxels = race.blocks * f64::from(EDGE).powi(3);
        vs_flat.push((name, octree.min / flat.min));
        ns_voxel.push((name, densities.min * 1e9 / voxels));
        leaf_bytes.push((name, race.bytes / race.leaves));
        let each = |timing: &Timing, leaves: f64| {
            let note = format!("{:.1} ns a leaf of {leaves}", timing.min * 1e9 / leaves);
            detail(timing.name, timing.min * 1e6 / race.blocks, "µs/block").note(note)
        };
        let mut lines = vec![
            each(flat, race.leaves),
            each(octree, race.leaves),
            each(densities, race.density_leaves),
        ];
        lines.push(detail("nodes a leaf", race.nodes / race.leaves, "nodes"));
        report.details(format!("{name}: blocks of 64³"), lines);
    }
    set_worst(report, "octree_vs_flat", &vs_flat);
    set_worst(report, "octree_ns_voxel", &ns_voxel);
    set_worst(report, "octree_bytes_per_leaf", &leaf_bytes);
}

/// Sets a figure to the worst of the worlds.
pub fn set_worst(report: &mut AreaReport, id: &str, values: &[(&str, f64)]) {
    let worst = values.iter().map(|value| value.1).fold(0.0, f64::max);
    let each: Vec<_> = values.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
    report.set(id, worst, each.join("; "));
}

struct OctreeTimings {
    /// The flat mesh; the octree of the same cells; that of densities.
    timings: [Timing; 3],
    blocks: f64,
    /// Leaves of all octrees of cells, and their nodes and bytes.
    leaves: f64,
    nodes: f64,
    bytes: f64,
    /// Leaves of all octrees of densities.
    density_leaves: f64,
}

/// Returns distances estimated from occupancy, at the centres of a block's cells and one beyond:
/// the input of contouring peers.
fn densities(block: Region, cells: &DenseBox, table: &MaterialTable) -> Vec<(f32, u8)> {
    let points = Region { min: block.min, max: block.max + VoxelPos::splat(1) };
    let sample = |at: VoxelPos| {
        let cell = cells.cell(at);
        let solid = table.kind(cell.material) == Kind::Solid;
        (if solid { cell.fraction() - 0.5 } else { -0.5 }, cell.material)
    };
    let rows = (points.min.y..points.max.y)
        .flat_map(|y| (points.min.z..points.max.z).map(move |z| (y, z)));
    let at = rows.flat_map(|(y, z)| (points.min.x..points.max.x).map(move |x| (x, y, z)));
    at.map(|(x, y, z)| sample(VoxelPos::new(x, y, z))).collect()
}

fn race(world: &World) -> OctreeTimings {
    let table = table_of(SurfaceShape::Default);
    let blocks = blocks(world);
    let padded: Vec<DenseBox> = blocks
        .iter()
        .map(|block| {
            let mut cells = DenseBox::default();
            world.read(block.region.grow(PAD), &mut cells);
            cells
        })
        .collect();
    let arrays: Vec<_> =
        blocks.iter().map(|block| densities(block.region, &block.cells, &table)).collect();
    let of_densities = |item: usize, builder: &mut OctreeBuilder| {
        let mut samples = arrays[item].iter();
        let levels = EDGE.trailing_zeros() as u8;
        builder.densities([0; 3], levels, |_| samples.next().copied().unwrap_or((-0.5, 0)))
    };
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    let (mut builder, mut other) = (OctreeBuilder::new(), OctreeBuilder::new());
    let timings = contest(
        blocks.len(),
        RACE,
        [
            Entrant::new("flat mesh", |item| {
                mesher.mesh(&padded[item], &table, &mut mesh);
                mesh.solid.indices.len() as u64
            }),
            Entrant::new("octree of cells", |item| {
                builder.cells(&blocks[item].cells, &table).node_count() as u64
            }),
            Entrant::new("octree of densities", |item| {
                of_densities(item, &mut other).node_count() as u64
            }),
        ],
    );
    let octrees: Vec<_> =
        blocks.iter().map(|block| OctreeBuilder::new().cells(&block.cells, &table)).collect();
    let sum = |of: fn(&Octree) -> usize| octrees.iter().map(|o| of(o) as f64).sum();
    let mut builder = OctreeBuilder::new();
    let density_leaves = |item| of_densities(item, &mut builder).leaf_count() as f64;
    OctreeTimings {
        timings,
        blocks: blocks.len() as f64,
        leaves: sum(Octree::leaf_count),
        nodes: sum(Octree::node_count),
        bytes: sum(Octree::memory),
        density_leaves: (0..blocks.len()).map(density_leaves).sum(),
    }
}
