//! What a game keeps on the graphics card: all vertices in one buffer, indices of both widths
//! in one each, and where each mesh lies.

use terravox::lod::{MeshTransform, ShownMesh};
use terravox::math::Aabb;
use terravox::mesh::{PackedIndices, PackedSurface, PackedVertex};
use terravox::voxel::VoxelPos;

/// One surface of one mesh, as it is drawn.
pub struct Draw {
    /// Number of the mesh.
    pub mesh: u32,
    /// Whether its indices are those of 4 bytes.
    pub is_wide: bool,
    pub first_index: u32,
    pub index_count: u32,
    pub first_vertex: u32,
}

/// Buffers before they are uploaded.
#[derive(Default)]
pub struct Buffers {
    pub vertices: Vec<PackedVertex>,
    pub narrow: Vec<u16>,
    pub wide: Vec<u32>,
    /// By mesh.
    pub places: Vec<MeshTransform>,
    /// By mesh: the box around its vertices, voxels from the origin.
    pub bounds: Vec<Aabb>,
    /// By vertex: number of its mesh.
    pub mesh_of: Vec<u32>,
    pub ground: Vec<Draw>,
    pub water: Vec<Draw>,
}

impl Buffers {
    /// Packs all meshes, placed from `origin`.
    pub fn new(shown: &[ShownMesh], origin: VoxelPos) -> Buffers {
        let mut all = Buffers::default();
        let mut packed = PackedSurface::default();
        for (mesh, shown) in (0..).zip(shown) {
            all.places.push(shown.transform_voxels(origin));
            let bounds = shown.bounds_voxels();
            let relative =
                |at: [f64; 3]| [0, 1, 2].map(|i| at[i] - f64::from(origin.to_array()[i]));
            all.bounds.push(Aabb::new(relative(bounds.min), relative(bounds.max)));
            shown.mesh.solid.pack(&mut packed);
            let ground = all.append(mesh, &packed);
            all.ground.extend(ground);
            shown.mesh.liquid.pack(&mut packed);
            let water = all.append(mesh, &packed);
            all.water.extend(water);
        }
        all
    }

    fn append(&mut self, mesh: u32, packed: &PackedSurface) -> Option<Draw> {
        let first_vertex = self.vertices.len() as u32;
        self.vertices.extend(&packed.vertices);
        self.mesh_of.resize(self.vertices.len(), mesh);
        let (is_wide, first_index) = match &packed.indices {
            PackedIndices::U16(indices) => {
                self.narrow.extend(indices);
                (false, self.narrow.len() - indices.len())
            }
            PackedIndices::U32(indices) => {
                self.wide.extend(indices);
                (true, self.wide.len() - indices.len())
            }
        };
        let (first_index, index_count) = (first_index as u32, packed.indices.len() as u32);
        (index_count > 0).then_some(Draw { mesh, is_wide, first_index, index_count, first_vertex })
    }
}
