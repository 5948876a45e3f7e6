//! The command line: commands and their arguments.

mod groups;
#[cfg(feature = "server")]
mod journal;
#[cfg(feature = "server")]
mod online;
mod path;
mod values;

pub use groups::{
    BoxArgs, ClusterArgs, ColliderLayer, HeightmapArgs, LevelArgs, OnOff, ReadArgs, SurfaceChoice,
    TriangleArgs, UpChoice, ViewArgs,
};
#[cfg(feature = "server")]
pub use journal::{EditSelection, JournalArgs, RollbackArgs, utc_text};
#[cfg(feature = "server")]
pub use online::{BackupArgs, Bearer, JoinArgs, LogChoice, ServeArgs, token};
use path::PATH_HELP;
pub use path::{PathArgs, PathEnd};
pub use values::{Cutaway, MorphChoice, number, triple};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use values::{cutaway, earth_location, integer, pixels, positive};

/// Smooth, editable voxel terrain: generate, import, edit, mesh and render worlds
#[derive(Debug, Parser)]
#[command(name = "terravox", version, max_term_width = 100)]
#[command(after_help = "Start here:\n  terravox demo\n\n\
    Import a Roblox place, render it and export it as a model:\n  \
    terravox import place.rbxl world.tvx\n  \
    terravox render world.tvx world.png\n  \
    terravox export world.tvx world.glb\n\n\
    An error is one line on standard error, and exit code 2; or 3 if a world is changed, or may\n\
    be, although the command failed. With --json, standard output is exactly one JSON object,\n\
    on success and on failure: the report, or\n  \
    {\"command\":\"mesh\",\"error\":\"w.tvx: …\",\"exit_code\":2,\"file\":\"w.tvx\"}")]
pub struct Cli {
    /// Print the report or the error as one JSON object on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// The command to run
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Parses the arguments of the process.
    ///
    /// # Errors
    /// If they are invalid, or ask for help.
    pub fn from_process() -> Result<Cli, clap::Error> {
        Cli::from_arg_matches(&Cli::command_line().try_get_matches()?)
    }

    /// Negative numbers are parsed as values, not as options, so that messages name them.
    fn command_line() -> clap::Command {
        let number = |arg: clap::Arg| match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        };
        Cli::command().mut_subcommands(|command| command.mut_args(number))
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Generate or import a world, dig a tunnel, save, reopen, mesh and render it
    #[command(after_help = "Example:\n  terravox demo\n  terravox demo place.rbxl\n\n\
        Without FILE, it also renders hills to the horizon.")]
    Demo(DemoArgs),
    /// Generate a world: hills, or one of many biomes
    #[command(after_help = "Example:\n  terravox generate hills.tvx --seed 7 --size 512\n  \
        terravox generate fjords.tvx --preset fjords --seed 7 --size 1024")]
    Generate(GenerateArgs),
    /// Import a Roblox place, a heightmap, a MagicaVoxel scene or a closed mesh
    #[command(after_help = "Example:\n  terravox import place.rbxl place.tvx\n  \
        terravox import dem.png dem.tvx --scale 2 --vertical-scale 300 --sea-level 40\n  \
        terravox import castle.vox castle.tvx --scale 0.5\n  \
        terravox import statue.stl statue.tvx --scale 0.001 --voxel-size 0.002 --material Limestone")]
    Import(ImportArgs),
    /// Edit a world: dig, fill, paint, smooth, copy, undo, redo
    #[command(after_help = EDIT_HELP)]
    Edit(EditArgs),
    /// Write a world in another program's format, chosen by the extension
    #[command(after_help = "Example:\n  terravox export world.tvx world.rbxm\n  \
        terravox export world.tvx world.obj --up z\n  \
        terravox export world.tvx new.rbxl --into place.rbxl\n  \
        terravox export endless.tvx hill.stl --from=-64,0,-64 --to 64,200,64")]
    Export(ExportArgs),
    /// Print the contents of a world, or of a file that can be imported
    #[command(after_help = "Example:\n  terravox info world.tvx\n  \
        terravox info place.rbxl --json")]
    Info(InfoArgs),
    /// Write the surface of a world as triangles, to .glb or .obj
    #[command(after_help = "Example:\n  terravox mesh world.tvx world.glb\n  \
        terravox mesh world.tvx far.glb --mip 2\n  \
        terravox mesh world.tvx baked.glb --octree --error 0.1")]
    Mesh(MeshArgs),
    /// Write a level-of-detail view from a point as .glb: fine nearby, coarse far away
    #[command(after_help = "Example:\n  \
        terravox lod world.tvx --camera 0,60,0 --out view.glb\n  \
        terravox lod hills:7 --camera 0,90,0 --distance 2000 --colours --out rings.glb\n\n\
        hills:SEED and world:SEED:PRESET are endless generated worlds; they need no file.")]
    Lod(LodArgs),
    /// Print the first surface that a ray hits
    #[command(after_help = "Example:\n  terravox raycast world.tvx 10,80,-20 0,-1,0\n  \
        terravox raycast world.tvx 0,40,0 1,-0.5,0 --max 200 --sees both\n\n\
        A ray that hits nothing is not an error: the exit code is 0.")]
    Raycast(RaycastArgs),
    /// Find the path of a walker from one point to another
    #[command(after_help = PATH_HELP)]
    Path(Box<PathArgs>),
    /// Render a picture of a world on the CPU
    #[command(after_help = "Example:\n  terravox render world.tvx world.png\n  \
        terravox render world.tvx cave.png --camera 20,8,-40 --look 0,0,0 --size 1920x1080\n  \
        terravox render hills:7 hills.png\n  \
        terravox render world.tvx far.png --lod --camera 0,110,0 --yaw 40 --pitch -4")]
    Render(RenderArgs),
    /// Render twelve pictures of generated worlds, and a sheet of all
    #[command(after_help = "Example:\n  terravox gallery pictures\n  \
        terravox gallery pictures --only fjords --size 1920x1080")]
    Gallery(GalleryArgs),
    /// Fly over, sculpt and play with a world in a window: starts terravox-studio
    #[command(after_help = "Example:\n  terravox view world.tvx\n  terravox view hills:7\n  \
        terravox view world:7:fjords -- --camera 0,120,0 --yaw 40\n\n\
        terravox-studio is a program of its own, beside this one or in PATH; without it, the error\n\
        says how to get it. What follows -- is passed on; see terravox-studio --help.")]
    View(ViewerArgs),
    /// Read a whole world and check every byte that matters
    #[command(after_help = "Example:\n  terravox verify world.tvx\n\n\
        Damage is an error: one line, exit code 2. The world is not changed.")]
    Verify(CheckArgs),
    /// Keep all that is whole of a damaged world
    #[command(after_help = "Example:\n  terravox repair world.tvx\n\n\
        Names each lost chunk. The damaged file is kept as world.tvx.damaged. An intact world is\n\
        left as it is.")]
    Repair(CheckArgs),
    /// Rewrite a world without the free space that edits leave; in S3, collect the garbage
    #[command(after_help = "Example:\n  terravox compact world.tvx")]
    Compact(WorldFileArgs),
    /// Copy a world between files, databases and S3; an interrupted copy resumes
    #[command(after_help = COPY_HELP)]
    Copy(CopyArgs),
    /// Let many people see and dig worlds over the network
    #[cfg(feature = "server")]
    #[command(after_help = online::SERVE_HELP)]
    Serve(ServeArgs),
    /// Join a world that is served: look, dig, render
    #[cfg(feature = "server")]
    #[command(after_help = online::JOIN_HELP)]
    Join(Box<JoinArgs>),
    /// Copy a world that is served
    #[cfg(feature = "server")]
    #[command(after_help = online::BACKUP_HELP)]
    Backup(BackupArgs),
    /// Print who changed what in a world that is served
    #[cfg(feature = "server")]
    #[command(after_help = journal::JOURNAL_HELP)]
    Journal(JournalArgs),
    /// Roll back edits in a world that is served, by author, time or place
    #[cfg(feature = "server")]
    #[command(after_help = journal::ROLL_BACK_HELP)]
    Rollback(RollbackArgs),
}

impl Command {
    /// Returns the name of the command on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Demo(_) => "demo",
            Command::Generate(_) => "generate",
            Command::Import(_) => "import",
            Command::Edit(_) => "edit",
            Command::Export(_) => "export",
            Command::Info(_) => "info",
            Command::Mesh(_) => "mesh",
            Command::Lod(_) => "lod",
            Command::Raycast(_) => "raycast",
            Command::Path(_) => "path",
            Command::Gallery(_) => "gallery",
            Command::Render(_) => "render",
            Command::View(_) => "view",
            Command::Verify(_) => "verify",
            Command::Repair(_) => "repair",
            Command::Compact(_) => "compact",
            Command::Copy(_) => "copy",
            #[cfg(feature = "server")]
            Command::Serve(_) => "serve",
            #[cfg(feature = "server")]
            Command::Join(_) => "join",
            #[cfg(feature = "server")]
            Command::Backup(_) => "backup",
            #[cfg(feature = "server")]
            Command::Journal(_) => "journal",
            #[cfg(feature = "server")]
            Command::Rollback(_) => "rollback",
        }
    }

    /// Returns a word if it is the name of a command.
    pub fn known(word: &str) -> Option<&str> {
        Cli::command().find_subcommand(word).map(|_| word)
    }
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// A world, a Roblox file, a heightmap, a MagicaVoxel scene or a mesh [default: a generated world]
    pub file: Option<PathBuf>,
    /// Output folder
    #[arg(long, default_value = "terravox-demo", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Width and height of the pictures in pixels
    #[arg(long, default_value = "1280x720", value_parser = pixels, value_name = "WxH")]
    pub size: [usize; 2],
    /// Number of bodies to drop into the world
    #[cfg(feature = "physics")]
    #[arg(long, default_value_t = 500, value_parser = |text: &str| integer(text, 0..=10_000_usize),
        value_name = "N")]
    pub bodies: usize,
    #[command(flatten)]
    pub heightmap: HeightmapArgs,
    #[command(flatten)]
    pub reading: ReadArgs,
}

/// Arguments of `view`.
#[derive(Debug, Args)]
pub struct ViewerArgs {
    /// A world, a Roblox file, a heightmap, a MagicaVoxel scene, a mesh, hills:SEED or
    /// world:SEED:PRESET [default: a start screen]
    pub world: Option<PathBuf>,
    /// Options of terravox-studio, after --
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<OsString>,
}

/// Arguments of `generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// The world to write (.tvx)
    pub world: PathBuf,
    /// A world of many biomes: continents, alps, fjords, canyons, dunes, badlands, wetlands,
    /// volcanoes, arctic or skylands, and options as fjords,relief=1.5 [default: hills, caves and
    /// lakes]
    #[arg(long, value_name = "PRESET")]
    pub preset: Option<String>,
    /// Seed of the generator
    #[arg(long, default_value_t = DEMO_SEED, value_parser = |text: &str| integer(text, 0..=u64::MAX))]
    pub seed: u64,
    /// Voxels along x and z, rounded up to chunks of 32
    #[arg(long, default_value_t = 384, value_parser = |text: &str| integer(text, 32..=8192_u32),
        value_name = "VOXELS")]
    pub size: u32,
    /// Make an endless world, generated on demand: the file stores only edits; export and mesh
    /// write a box of it, between --from and --to
    #[arg(long, conflicts_with = "size")]
    pub sparse: bool,
    /// Edge of a voxel in metres
    #[arg(long, default_value_t = 1.0, value_parser = positive, value_name = "M")]
    pub voxel_size: f64,
    /// Overwrite an existing world
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `gallery`.
#[derive(Debug, Args)]
pub struct GalleryArgs {
    /// Output folder
    pub folder: PathBuf,
    /// Render only this picture, and no sheet
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Width and height of the pictures in pixels
    #[arg(long, default_value = "960x540", value_parser = pixels, value_name = "WxH")]
    pub size: [usize; 2],
    /// N × N rays per pixel
    #[arg(long, default_value_t = 2, value_parser = |text: &str| integer(text, 1..=8_u8),
        value_name = "N")]
    pub samples: u8,
}

/// Seed of the generated demo world.
pub const DEMO_SEED: u64 = 1;

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A Roblox file (.rbxm .rbxl .rbxmx .rbxlx .smoothgrid), a heightmap (.png, raw 16-bit .raw
    /// .r16, GeoTIFF .tif, a folder of .tif files that are parts of one map, or numbers .npy .npz
    /// .json), a point cloud (.las .laz, or a folder of them), a MagicaVoxel scene (.vox), a closed mesh (.obj .stl .ply .glb), or a Minecraft world (a folder, or a .mca
    /// of one)
    pub file: PathBuf,
    /// The world to write (.tvx)
    pub world: PathBuf,
    #[command(flatten)]
    pub heightmap: HeightmapArgs,
    /// Minecraft worlds: a text file of lines BLOCK MATERIAL [FILL], which come before those of the
    /// default table
    #[arg(long, value_name = "TABLE")]
    pub blocks: Option<PathBuf>,
    #[command(flatten)]
    pub part: BoxArgs,
    /// Overwrite an existing world
    #[arg(long)]
    pub force: bool,
}

/// Help of `edit`.
const EDIT_HELP: &str = "\
An operation is one argument: an action, a shape, and options. All lengths are in metres.

  Action   dig | fill MATERIAL | paint MATERIAL | replace FROM TO | smooth
           flatten [MATERIAL] | grow BY | erode BY | roughen BY | flood [MATERIAL] | drain
  Shape    ball X,Y,Z r=R               box X,Y,Z size=X,Y,Z
           cylinder X,Y,Z r=R h=H       wedge X,Y,Z size=X,Y,Z
           capsule X,Y,Z X,Y,Z r=R      path X,Y,Z X,Y,Z … r=R
  Options  turn=DEGREES (about y)       falloff=M  strength=0..1
           only=MATERIAL,…  heights=LOW..HIGH  slope=LOW..HIGH (rise per horizontal metre)
           at=Y (flatten)  bumps=M seed=N (roughen)
  Copy     copy X,Y,Z X,Y,Z to=X,Y,Z [turn=90|180|270] [mirror=x,y,z] [scale=2|-2]
           [blend=over|add|replace]

Example:
  terravox edit world.tvx 'dig ball 10,20,30 r=6'
  terravox edit world.tvx 'fill Rock box 0,5,0 size=8,2,8 turn=30' 'smooth ball 0,5,0 r=12'
  terravox edit world.tvx --undo 2
  terravox edit world.tvx --script strokes.jsonl

A script has one operation per line, as above or as JSON:
  {\"brush\":{\"brush\":{\"ball\":{\"centre\":[10,20,30],\"radius\":6}},\"action\":\"dig\"}}
  {\"values\":{\"brush\":{\"channel\":0,\"brush\":{\"ball\":{\"centre\":[10,20,30],\"radius\":6}},\"action\":{\"set\":{\"value\":9}}}}}
If any operation is invalid, none is applied and the world stays as it is.";

/// Arguments of `edit`.
#[derive(Debug, Args)]
pub struct EditArgs {
    /// The world: a .tvx file, or an address
    pub world: PathBuf,
    /// Operations, applied in order
    #[arg(value_name = "OPERATION")]
    pub operations: Vec<String>,
    /// A file of operations, one per line, applied after those on the command line
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Undo this many operations first
    #[arg(long, default_value_t = 0, value_parser = |text: &str| integer(text, 0..=u32::MAX),
        value_name = "N")]
    pub undo: u32,
    /// Redo this many operations first
    #[arg(long, default_value_t = 0, value_parser = |text: &str| integer(text, 0..=u32::MAX),
        value_name = "N", conflicts_with = "undo")]
    pub redo: u32,
    /// Allow each operation N times the cells, chunks and work of the default
    #[arg(long, default_value_t = 1, value_parser = |text: &str| integer(text, 1..=1000_u32),
        value_name = "N")]
    pub limit_factor: u32,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A world or its address, or any file that can be imported
    pub world: PathBuf,
    /// The file to write: .rbxm .rbxmx .smoothgrid .vox .glb .obj, closed for 3D printing .stl
    /// .3mf, the height of the ground as .png or GeoTIFF .tif, 3D Tiles .json, or with --into .rbxl
    /// .rbxlx
    pub file: PathBuf,
    /// A Roblox place or model: write a copy of it in which only the terrain is replaced
    #[arg(long, value_name = "PLACE")]
    pub into: Option<PathBuf>,
    /// Allow the export N times the memory of the default, 512 MiB. --into: allow a PLACE that you
    /// trust N times the memory and work that files of its length may take
    #[arg(long, default_value_t = 1, value_parser = |text: &str| integer(text, 1..=1000_u32),
        value_name = "N")]
    pub limit_factor: u32,
    /// 3D Tiles: where the origin of the world is on Earth, degrees east and north and metres above
    /// the ellipsoid of WGS 84
    #[arg(long, value_parser = earth_location, value_name = "LON,LAT,HEIGHT", allow_hyphen_values = true)]
    pub location: Option<[f64; 3]>,
    #[command(flatten)]
    pub part: BoxArgs,
    #[command(flatten)]
    pub triangles: TriangleArgs,
    #[command(flatten)]
    pub reading: ReadArgs,
}

/// Arguments of `mesh`.
#[derive(Debug, Args)]
pub struct MeshArgs {
    /// A world or its address, or any file that can be imported
    pub world: PathBuf,
    /// The file to write: .glb or .obj
    pub file: PathBuf,
    #[command(flatten)]
    pub part: BoxArgs,
    #[command(flatten)]
    pub triangles: TriangleArgs,
    #[command(flatten)]
    pub clusters: ClusterArgs,
    /// Allow N times the memory of the default, 512 MiB
    #[arg(long, default_value_t = 1, value_parser = |text: &str| integer(text, 1..=1000_u32),
        value_name = "N")]
    pub limit_factor: u32,
    #[command(flatten)]
    pub reading: ReadArgs,
}

/// Arguments of `info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// A world or its address, or any file that can be imported
    pub file: PathBuf,
    #[command(flatten)]
    pub reading: ReadArgs,
}

/// Arguments of `verify` and `repair`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The world: a .tvx file, or an address
    pub world: PathBuf,
    /// Allow a file that you trust N times the work that files of its length may take
    #[arg(long, default_value_t = 1, value_parser = |text: &str| integer(text, 1..=1000_u32),
        value_name = "N")]
    pub limit_factor: u32,
}

/// Arguments of `compact`.
#[derive(Debug, Args)]
pub struct WorldFileArgs {
    /// The world: a .tvx file, or an address
    pub world: PathBuf,
}

/// Help of `copy`.
const COPY_HELP: &str = "\
Example:
  terravox copy world.tvx copy.tvx
  terravox copy world.tvx postgres://me@db.example/worlds#caves
  terravox copy postgres://me@db.example/worlds#caves caves.tvx
  terravox copy world.tvx s3://worlds/caves

The address of a world in PostgreSQL is that of the database, a # and the name of the world. A
password that is not in it is taken from PGPASSWORD. Needs a terravox that was built with
--features postgres.

Copying to s3://BUCKET/PATH publishes the world there, in place of the state that is
published now; what readers have opened stays. Keys are taken from
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; ?endpoint=https://HOST names another service than
Amazon's. Needs --features s3.

The world that is read may be in use if it is in a database. Files and worlds of databases are never
overwritten. An unfinished copy of a file is named NAME.copying; run the command again to resume.";

/// Arguments of `copy`.
#[derive(Debug, Args)]
pub struct CopyArgs {
    /// The world to read (.tvx), or its address in a database or in S3
    pub from: PathBuf,
    /// The world to write (.tvx), or its address in a database or in S3
    pub to: PathBuf,
    /// Upload everything again, also what is in S3 already: repairs a damaged published world
    #[arg(long)]
    pub rewrite: bool,
}

/// Arguments of `lod`.
#[derive(Debug, Args)]
pub struct LodArgs {
    /// A world or its address, any file that can be imported, or hills:SEED or world:SEED:PRESET
    pub world: PathBuf,
    /// Position of the viewer in metres
    #[arg(long, value_parser = triple, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub camera: [f64; 3],
    /// The file to write (.glb)
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Colour each mesh by its level
    #[arg(long)]
    pub colours: bool,
    /// Also write the materials and weights of vertices, for shaders
    #[arg(long)]
    pub materials: bool,
    #[command(flatten)]
    pub levels: LevelArgs,
    #[command(flatten)]
    pub reading: ReadArgs,
}

/// Arguments of `raycast`.
#[derive(Debug, Args)]
pub struct RaycastArgs {
    /// A world or its address, or any file that can be imported
    pub world: PathBuf,
    /// Start of the ray in metres
    #[arg(value_parser = triple, value_name = "FROM", allow_hyphen_values = true)]
    pub from: [f64; 3],
    /// Direction of the ray, of any length
    #[arg(value_parser = triple, value_name = "DIR", allow_hyphen_values = true)]
    pub direction: [f64; 3],
    /// Length of the ray in metres
    #[arg(long, default_value_t = 1000.0, value_parser = positive, value_name = "M")]
    pub max: f64,
    /// Surfaces that the ray hits
    #[arg(long, value_enum, default_value_t = SurfaceChoice::Solid, value_name = "SURFACES")]
    pub sees: SurfaceChoice,
    /// Hit only surfaces of this material
    #[arg(long, value_name = "NAME")]
    pub material: Option<String>,
    #[command(flatten)]
    pub reading: ReadArgs,
}

/// Arguments of `render`.
#[derive(Clone, Debug, Args)]
pub struct RenderArgs {
    /// A world or its address, any file that can be imported, or hills:SEED or world:SEED:PRESET;
    /// endless worlds imply --lod
    pub world: PathBuf,
    /// The picture to write (.png)
    pub file: PathBuf,
    #[command(flatten)]
    pub view: ViewArgs,
    /// Show levels of detail around the camera, fine nearby and coarse far away; needs --camera
    #[arg(long, conflicts_with_all = ["draw", "mip", "octree"])]
    pub lod: bool,
    /// With --lod: colour the ground by its level
    #[arg(long)]
    pub lod_colours: bool,
    /// Cover the ground with textures instead of plain colours [default: on; off with
    /// --lod-colours, --wire or --draw]
    #[arg(long, value_enum, value_name = "ON|OFF")]
    pub textures: Option<OnOff>,
    /// Textures: the material of unpainted ground, shown as grass where flat and as rock where
    /// steep
    #[arg(long, value_name = "NAME")]
    pub unset: Option<String>,
    /// Put grass, trees and rocks on the ground; the world stays as it is
    #[arg(long, conflicts_with = "octree")]
    pub scatter: bool,
    #[command(flatten)]
    pub levels: LevelArgs,
    #[command(flatten)]
    pub clusters: ClusterArgs,
    /// Draw the edges of the triangles
    #[arg(long)]
    pub wire: bool,
    /// Draw structures of the collider around the middle of the picture
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        conflicts_with = "octree",
        value_name = "LAYER,…"
    )]
    pub draw: Vec<ColliderLayer>,
    /// Radius of --draw in voxels
    #[arg(long, default_value_t = 24.0, value_parser = positive, value_name = "VOXELS")]
    pub draw_radius: f64,
    /// Leave out the part of the world beyond a plane, in metres: 'z>40', 'x<0', 'y>25'
    #[arg(long, conflicts_with = "lod", value_parser = cutaway, value_name = "PLANE",
        allow_hyphen_values = true)]
    pub cutaway: Option<Cutaway>,
    /// Draw lines on the ground, this many metres apart; every tenth is yellow
    #[arg(long, conflicts_with_all = ["lod", "octree"], value_parser = positive, value_name = "M")]
    pub grid: Option<f64>,
    /// Render N pictures all around --look, or the middle of the land, as FILE-01.png and so on
    #[arg(long, conflicts_with = "lod", value_parser = |text: &str| integer(text, 2..=720_u16),
        value_name = "N")]
    pub turntable: Option<u16>,
    /// Number of threads [default: as many as the machine has]
    #[arg(long, value_parser = |text: &str| integer(text, 1..=1024_u16), value_name = "N")]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub reading: ReadArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed_and_every_command_has_an_example() {
        let command = Cli::command_line();
        command.clone().debug_assert();
        for sub in command.get_subcommands() {
            let help = sub.get_after_help().map(|help| help.to_string()).unwrap_or_default();
            assert!(help.contains(&format!("terravox {}", sub.get_name())), "{help}");
            assert_eq!(Command::known(sub.get_name()), Some(sub.get_name()));
        }
    }
}
