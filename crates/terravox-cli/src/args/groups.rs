//! Groups of arguments that several commands share.

use super::values::{
    MorphChoice, cluster, detail, fov, integer, morph, number, pair, pixels, positive, triple,
};
use crate::growth::Extent;
use clap::{Args, ValueEnum};

/// Heightmaps, meshes, and the voxel size and the limits of imports.
#[derive(Clone, Debug, Default, Args)]
pub struct HeightmapArgs {
    /// Edge of a voxel in metres [default: 1; for Roblox 1.12, which is 4 studs; for GeoTIFF the
    /// distance between samples; for .vox that of --scale; for meshes such that the longest edge is
    /// 128 voxels]
    #[arg(long, value_parser = positive, value_name = "M")]
    pub voxel_size: Option<f64>,
    /// Heightmaps: distance between samples in metres [default: one voxel; for GeoTIFF that of the
    /// file; for point clouds such that a cell has four points]; .vox: edge of a voxel of the file; a whole number, 1 to 64, times --voxel-size;
    /// meshes: metres of a unit of the file [default: 1]
    #[arg(long, value_parser = positive, value_name = "M")]
    pub scale: Option<f64>,
    /// Heightmaps: height of white above black in metres [default: such that the land is an eighth
    /// as high as the map is wide]; GeoTIFF and grids of numbers:
    /// metres of a unit of height [default: 1]
    #[arg(long, value_parser = positive, value_name = "M")]
    pub vertical_scale: Option<f64>,
    /// Heightmaps: height of the water surface in metres, above black or, for GeoTIFF and grids of
    /// numbers, as their heights [default: no water]
    #[arg(long, value_parser = number, value_name = "M", allow_hyphen_values = true)]
    pub sea_level: Option<f64>,
    /// Heightmaps: depth of the ground below the lowest sample in metres [default: 8 voxels]
    #[arg(long, value_parser = positive, value_name = "M")]
    pub depth: Option<f64>,
    /// Heightmaps: use the luminance of a colour picture as height
    #[arg(long)]
    pub luma: bool,
    /// Raw heightmaps: samples per row
    #[arg(long, requires = "height", value_parser = |text: &str| integer(text, 1..=usize::MAX),
        value_name = "SAMPLES")]
    pub width: Option<usize>,
    /// Raw heightmaps: number of rows
    #[arg(long, requires = "width", value_parser = |text: &str| integer(text, 1..=usize::MAX),
        value_name = "ROWS")]
    pub height: Option<usize>,
    /// Meshes: the axis of the file that points up [default: y; for .stl z]
    #[arg(long, value_enum, value_name = "AXIS")]
    pub up: Option<UpChoice>,
    /// Meshes: voxels along the longest side, instead of --voxel-size [default: 128]
    #[arg(long, conflicts_with = "voxel_size",
        value_parser = |text: &str| integer(text, 1..=65_408_u32), value_name = "VOXELS")]
    pub longest: Option<u32>,
    /// Meshes: material of all cells [default: Rock]
    #[arg(long, value_name = "NAME")]
    pub material: Option<String>,
    /// Imports: allow a file that you trust N times the memory and work that files of its length
    /// may take [default: 1]
    #[arg(long, value_parser = |text: &str| integer(text, 1..=1000_u32), value_name = "N")]
    pub limit_factor: Option<u32>,
}

/// The part of a world that is written.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct BoxArgs {
    /// A corner of the box that is taken, in metres; the box is rounded to whole voxels. Endless
    /// worlds need one [default: the whole world]
    #[arg(long, value_parser = triple, requires = "to", value_name = "X,Y,Z",
        allow_hyphen_values = true)]
    pub from: Option<[f64; 3]>,
    /// The opposite corner, in metres
    #[arg(long, value_parser = triple, requires = "from", value_name = "X,Y,Z",
        allow_hyphen_values = true)]
    pub to: Option<[f64; 3]>,
}

impl BoxArgs {
    /// Returns both corners, if they are given.
    pub fn corners(self) -> Option<[[f64; 3]; 2]> {
        Some([self.from?, self.to?])
    }

    /// Returns how much of a world is written.
    pub fn extent(self) -> Extent {
        let remedy = "give the box to write with --from X,Y,Z and --to X,Y,Z, in metres";
        self.corners().map_or(Extent::Whole { remedy }, Extent::Box)
    }
}

/// Reading of worlds.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ReadArgs {
    /// Leave out damaged chunks instead of failing
    #[arg(long)]
    pub skip_damaged: bool,
}

/// The ground as nodes of an octree.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ClusterArgs {
    /// Mesh the ground from the nodes of an octree instead of from cells
    #[arg(long, conflicts_with = "mip")]
    pub octree: bool,
    /// Octree: edge of the smallest nodes in voxels: 1, 2, 4, 8 or 16
    #[arg(long, default_value = "1", value_parser = cluster, requires = "octree",
        value_name = "VOXELS")]
    pub cluster: u32,
    /// Octree: also use larger nodes whose error is at most this, in voxels
    #[arg(long, value_parser = positive, requires = "octree", value_name = "VOXELS")]
    pub error: Option<f64>,
}

/// Writing of triangles.
#[derive(Clone, Copy, Debug, Args)]
pub struct TriangleArgs {
    /// .obj, .stl, .3mf: the axis that points up [default: y; for .stl and .3mf z]
    #[arg(long, value_enum, value_name = "AXIS")]
    pub up: Option<UpChoice>,
    /// Triangles: units of the file per metre; programs take those of .stl and .3mf for millimetres
    #[arg(long, default_value_t = 1.0, value_parser = positive, value_name = "UNITS")]
    pub scale: f64,
    /// .glb: also write the materials and weights of vertices, for shaders
    #[arg(long)]
    pub materials: bool,
    /// .glb: positions in steps of 1/64 voxel, normals of 8 bits (KHR_mesh_quantization): a bit more
    /// than half the bytes
    #[arg(long)]
    pub quantize: bool,
    /// .glb: put grass, trees and rocks on the ground, as instances of a few models
    #[arg(long)]
    pub scatter: bool,
    /// .glb: with --scatter, a node for all instances of a model (EXT_mesh_gpu_instancing) instead of
    /// one for each: fewer draw calls, but fewer programs read it
    #[arg(long, requires = "scatter")]
    pub gpu_instancing: bool,
    /// Triangles: mesh cells of 2^MIP voxels; 0 is the finest
    #[arg(long, default_value_t = 0, value_parser = |text: &str| integer(text, 0..=5_u8))]
    pub mip: u8,
    /// Triangles: simplify, staying within CELLS of the original surface
    #[arg(long, value_parser = positive, value_name = "CELLS")]
    pub simplify: Option<f64>,
}

/// An axis that points up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UpChoice {
    /// As in worlds, glTF and most engines.
    Y,
    /// As in Blender and most CAD programs.
    Z,
}

/// Levels of detail.
#[derive(Clone, Copy, Debug, PartialEq, Args)]
pub struct LevelArgs {
    /// Level of detail: view distance in metres
    #[arg(long, default_value_t = 8192.0, value_parser = positive, value_name = "M")]
    pub distance: f64,
    /// Level of detail: a block nearer than this many of its edges is split into finer blocks
    #[arg(long, default_value_t = 3.0, value_parser = detail, value_name = "EDGES")]
    pub detail: f32,
    /// Level of detail: morph vertices towards the next coarser level by a factor F from 0 to 1;
    /// by distance, as games do; or (lod only) store morph targets in the model [default: 0]
    #[arg(long, value_parser = morph, value_name = "F|distance|targets")]
    pub morph: Option<MorphChoice>,
    /// Level of detail: simplify each mesh, staying within CELLS of its surface
    #[arg(long, value_parser = positive, value_name = "CELLS")]
    pub simplify: Option<f64>,
}

/// Surfaces that a ray hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SurfaceChoice {
    /// The ground.
    Solid,
    /// Water and other liquids.
    Liquid,
    /// Both.
    Both,
}

/// Structures of the collider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColliderLayer {
    /// Broadphase cells, by surface.
    Masks,
    /// Blocks that rays have built.
    Blocks,
    /// Bounding boxes of the trees in the blocks.
    Trees,
}

/// Camera and light of a picture.
#[derive(Clone, Debug, Args)]
pub struct ViewArgs {
    /// Position of the camera in metres [default: an overview of the world; for hills above them]
    #[arg(long, value_parser = triple, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub camera: Option<[f64; 3]>,
    /// Point that the camera looks at in metres [default: the middle of the land]
    #[arg(long, value_parser = triple, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub look: Option<[f64; 3]>,
    /// Instead of --look: viewing direction, degrees clockwise from north (-z)
    #[arg(long, value_parser = number, conflicts_with = "look", requires = "camera",
        value_name = "DEGREES", allow_hyphen_values = true)]
    pub yaw: Option<f64>,
    /// Instead of --look: viewing direction, degrees above the horizon
    #[arg(long, value_parser = number, conflicts_with = "look", requires = "camera",
        value_name = "DEGREES", allow_hyphen_values = true)]
    pub pitch: Option<f64>,
    /// Vertical field of view in degrees
    #[arg(long, value_parser = fov, value_name = "DEGREES")]
    pub fov: Option<f64>,
    /// Width and height in pixels
    #[arg(long, default_value = "1280x720", value_parser = pixels, value_name = "WxH")]
    pub size: [usize; 2],
    /// N × N rays per pixel
    #[arg(long, default_value_t = 2, value_parser = |text: &str| integer(text, 1..=8_u8),
        value_name = "N")]
    pub samples: u8,
    /// Position of the sun: degrees clockwise from north, degrees above the horizon [default: over
    /// the camera's left shoulder]
    #[arg(long, value_parser = pair, value_name = "AZIMUTH,ELEVATION", allow_hyphen_values = true)]
    pub sun: Option<[f64; 2]>,
    /// A lamp at the camera [default: on where the camera sees little sky]
    #[arg(long, value_enum, value_name = "ON|OFF")]
    pub lamp: Option<OnOff>,
    /// Show cells of 2^MIP voxels [default: 0; coarser for huge worlds, to bound memory]
    #[arg(long, value_parser = |text: &str| integer(text, 0..=3_u8))]
    pub mip: Option<u8>,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    /// On.
    On,
    /// Off.
    Off,
}
