//! Packed meshes of a real view are the same surface bit for bit: across mips, joined groups and
//! blocks that differ by the most mips allowed.

use std::collections::BTreeMap;
use terravox::generate::Hills;
use terravox::lod::{LodOptions, LodView, LodViewer, MeshScratch, ShownMesh};
use terravox::mesh::{BlockMesh, Mesher, NeighbourMips, PackedSurface, PackedVertex, VertexKey};
use terravox::voxel::{
    DenseBox, GridOptions, MaterialTable, MipBlock, Region, UnlistedChunks, VoxelGrid, VoxelPos,
};

/// What all meshes that share a vertex must agree on.
#[derive(Debug, PartialEq)]
struct PackedAttributes {
    place: [u32; 3],
    target: Option<[u32; 3]>,
    /// Normal and numbers of cells, without the position bits of the same words.
    rest: [u32; 3],
    materials: [u8; 4],
}

/// All vertices so far, and how many were shared.
#[derive(Default)]
struct SharedVertices {
    drawn: [BTreeMap<VertexKey, (PackedAttributes, MipBlock)>; 2],
    shared: usize,
    shared_by_mips: usize,
    packed: PackedSurface,
}

impl SharedVertices {
    /// Packs a mesh with keys. It must unpack to itself and agree with earlier meshes.
    fn add(&mut self, shown: &ShownMesh, origin: VoxelPos) {
        let place = shown.transform_voxels(origin);
        let bits = |p: [f32; 3]| place.apply(p).map(f32::to_bits);
        let bounds = shown.bounds_voxels();
        for (part, surface) in [&shown.mesh.solid, &shown.mesh.liquid].into_iter().enumerate() {
            let mut packed = std::mem::take(&mut self.packed);
            surface.pack(&mut packed);
            for (i, vertex) in packed.vertices.iter().enumerate() {
                assert_eq!(vertex.position(), surface.positions[i], "{}", shown.block);
                assert_eq!(vertex.materials, surface.materials[i]);
                assert_eq!(vertex.weights(), surface.weights[i]);
                let target = packed.targets.get(i).map(|target| {
                    assert_eq!(target.position(), surface.targets.positions[i], "{}", shown.block);
                    assert_eq!(target.step(), surface.targets.steps[i]);
                    bits(target.position())
                });
                for axis in 0..3 {
                    let scale = f64::from(1 << shown.mip);
                    let at = f64::from(shown.min_voxel().to_array()[axis])
                        + f64::from(vertex.position()[axis]) * scale;
                    assert!(bounds.min[axis] <= at && at <= bounds.max[axis]);
                }
                let rest = vertex.words.map(|word| word >> 22);
                let materials = vertex.materials;
                let drawn =
                    PackedAttributes { place: bits(vertex.position()), target, rest, materials };
                self.agree(part, surface.keys[i], drawn, shown);
            }
            self.packed = packed;
        }
    }

    fn agree(&mut self, part: usize, key: VertexKey, drawn: PackedAttributes, shown: &ShownMesh) {
        if let Some((before, block)) = self.drawn[part].get(&key) {
            assert_eq!(before, &drawn, "{key:?} of {} and {block}", shown.block);
            self.shared += 1;
            self.shared_by_mips += usize::from(block.mip != shown.mip);
        } else {
            self.drawn[part].insert(key, (drawn, MipBlock { mip: shown.mip, ..shown.block }));
        }
    }
}

/// Streams hills in and meshes them with keys, then joins resting blocks.
fn view(morph: bool, viewer: LodViewer) -> Vec<ShownMesh> {
    let unlisted = UnlistedChunks::Unknown;
    let mut grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
    let options = LodOptions { morph, near_voxels: 24.0, detail: 1.5, ..LodOptions::default() };
    let mut lod = LodView::new(options);
    let mut scratch = MeshScratch::keyed();
    let mut shown = BTreeMap::new();
    for round in 0.. {
        let wanted = lod.take_wanted(grid.as_snapshot(), usize::MAX);
        let is_idle = wanted.is_empty();
        for block in wanted {
            let mut cells = DenseBox::new(block.cells());
            Hills::new(7).fill(&mut cells, block.mip);
            lod.supply(block, cells);
        }
        let jobs = lod.plan(&mut grid, &[viewer]);
        let swap = match lod.is_planned() {
            true => lod.publish(jobs.iter().map(|job| job.run(&mut scratch)).collect()),
            false if is_idle && lod.is_at_rest() && round > 2 => break,
            false => lod.join(),
        };
        for block in swap.removed {
            shown.remove(&block);
        }
        shown.extend(swap.added.into_iter().map(|mesh| (mesh.block, mesh)));
    }
    shown.into_values().collect()
}

#[test]
fn a_view_is_packed_exactly_across_mips_and_groups_slow() {
    for (morph, at) in [(false, [0.0, 30.0, 0.0]), (true, [-8_000_000.0, 20.0, 900_000_000.0])] {
        let viewer = LodViewer { position_voxels: at, distance_voxels: 450.0 };
        let meshes = view(morph, viewer);
        let origin = at.map(|v| (v / 32.0).floor() as i32 * 32);
        let mut vertices = SharedVertices::default();
        for shown in &meshes {
            vertices.add(shown, VoxelPos::from(origin));
        }
        let joined = meshes.iter().filter(|shown| shown.block.mip > shown.mip).count();
        let coarsest = meshes.iter().map(|shown| shown.mip).max();
        assert!(joined > 0 && coarsest > Some(2), "{joined} joined, up to {coarsest:?}");
        let SharedVertices { shared, shared_by_mips, .. } = vertices;
        assert!(shared > 1000 && shared_by_mips > 100, "{shared} shared, {shared_by_mips} by mips");
    }
}

#[test]
fn blocks_of_eight_to_one_agree() {
    let cells = |mip: u8, region: Region, out: &mut DenseBox| {
        out.reset(region);
        Hills::new(7).fill(out, mip);
    };
    let (table, mut mesher) = (MaterialTable::default(), Mesher::new());
    let mut vertices = SharedVertices::default();
    let coarse = MipBlock::new(3, [0, 0, 0]);
    let side = VoxelPos::new(256, 0, 0);
    // A block of mip 3, and those of mip 0 that touch its high side along x.
    let mut blocks = vec![coarse];
    blocks.extend((0..64).map(|i| MipBlock::new(0, [8, i % 8, i / 8])));
    for block in blocks {
        let min = block.voxels().min;
        let around = NeighbourMips::from_fn(block.mip, |sub_block| {
            let at = min + VoxelPos::from(sub_block.map(|v| v * (4 << block.mip)));
            if at.x < side.x { 3 } else { 0 }
        });
        let mut mesh = BlockMesh::new();
        mesher.mesh_morphing(block, &around, cells, &table, 9, true, &mut mesh);
        let shown = ShownMesh { block, mip: block.mip, mesh: mesh.into() };
        vertices.add(&shown, VoxelPos::new(32, 0, 64));
    }
    assert!(vertices.shared_by_mips > 300, "{} shared", vertices.shared_by_mips);
}

#[test]
fn sixteen_bits_per_axis_are_not_enough() {
    // A possible vertex beside a finer block, rounded to 16 bits over 64 cells.
    let position = 13.0 + 1.0 / 8192.0;
    let rounded = (position * 1024.0f32).round() / 1024.0;
    assert_ne!(rounded, position);
    let vertex = PackedVertex::new([position; 3], [0.0, 1.0, 0.0], [0; 4], [255, 0, 0, 0]);
    assert_eq!(vertex.position(), [position; 3]);
}
