//! What can be typed.

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Smooth, editable voxel terrain: make it, import it, mesh it, look at it.
#[derive(Debug, Parser)]
#[command(name = "terravox", version, max_term_width = 100)]
#[command(after_help = "Start here:\n  terravox demo\n\n\
    A Roblox place to a picture and a model:\n  \
    terravox import place.rbxl world.tvx\n  \
    terravox render world.tvx world.png\n  \
    terravox export world.tvx world.glb\n\n\
    What cannot be done is one line on standard error and exit code 2. With --json there is\n\
    exactly one JSON object on standard output, whether it worked or not: the report, or\n  \
    {\"command\":\"mesh\",\"error\":\"w.tvx: …\",\"exit_code\":2,\"file\":\"w.tvx\"}")]
pub struct Cli {
    /// Report, or error, as one JSON object on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// What was typed.
    ///
    /// # Errors
    /// If it cannot be read, or help was asked for.
    pub fn typed() -> Result<Cli, clap::Error> {
        Cli::from_arg_matches(&Cli::command_line().try_get_matches()?)
    }

    /// A number below 0 is a value, to be refused as such, and no option.
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
    /// Make or import a world, dig a tunnel, save, reopen, mesh, take pictures; without a
    /// file also of the hills to the horizon
    #[command(after_help = "Example:\n  terravox demo\n  terravox demo place.rbxl")]
    Demo(Demo),
    /// Make a world of hills, caves and lakes
    #[command(after_help = "Example:\n  terravox generate hills.tvx --seed 7 --size 512")]
    Generate(Generate),
    /// Make a world from a Roblox place or a heightmap
    #[command(after_help = "Example:\n  terravox import place.rbxl place.tvx\n  \
        terravox import dem.png dem.tvx --scale 2 --vertical-scale 300 --sea-level 40")]
    Import(Import),
    /// Dig, fill, paint, smooth, copy; undo and redo
    #[command(after_help = EDIT_HELP)]
    Edit(Edit),
    /// Write a world as a file of another program, by its extension
    #[command(after_help = "Example:\n  terravox export world.tvx world.rbxm\n  \
        terravox export world.tvx world.obj --up z\n\n\
        Extensions: .rbxm .rbxmx .smoothgrid (Roblox), .glb (glTF), .obj")]
    Export(Export),
    /// Say what a world, or a file that could be imported, holds
    #[command(after_help = "Example:\n  terravox info world.tvx\n  \
        terravox info place.rbxl --json")]
    Info(Info),
    /// Write the surface of a world as triangles, to .glb or .obj
    #[command(after_help = "Example:\n  terravox mesh world.tvx world.glb\n  \
        terravox mesh world.tvx far.glb --mip 2\n  \
        terravox mesh world.tvx baked.glb --octree --error 0.1")]
    Mesh(Mesh),
    /// Write what is seen of a world from a place, fine nearby and coarse far away, as .glb
    #[command(after_help = "Example:\n  \
        terravox lod world.tvx --camera 0,60,0 --out seen.glb\n  \
        terravox lod hills:7 --camera 0,90,0 --distance 2000 --colours --out rings.glb\n\n\
        hills:SEED is the world of hills of that seed, without end and without a file.")]
    Lod(Lod),
    /// Say what a ray meets in a world
    #[command(after_help = "Example:\n  terravox raycast world.tvx 10,80,-20 0,-1,0\n  \
        terravox raycast world.tvx 0,40,0 1,-0.5,0 --max 200 --sees both\n\n\
        A ray that meets nothing is no error: it says so and exits with 0.")]
    Raycast(Raycast),
    /// Take a picture of a world; needs no graphics card
    #[command(after_help = "Example:\n  terravox render world.tvx world.png\n  \
        terravox render world.tvx cave.png --camera 20,8,-40 --look 0,0,0 --size 1920x1080\n  \
        terravox render hills:7 hills.png\n  \
        terravox render world.tvx far.png --lod --camera 0,110,0 --yaw 40 --pitch -4")]
    Render(Render),
}

impl Command {
    /// The name of a command as it is typed.
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
            Command::Render(_) => "render",
        }
    }

    /// The name of a command if a word is one.
    pub fn known(word: &str) -> Option<&'static str> {
        const NAMES: [&str; 10] = [
            "demo", "generate", "import", "edit", "export", "info", "mesh", "lod", "raycast",
            "render",
        ];
        NAMES.into_iter().find(|name| *name == word)
    }
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// A world, a Roblox file or a heightmap; without it a world is generated
    pub file: Option<PathBuf>,
    /// Folder for what the demo makes
    #[arg(long, default_value = "terravox-demo", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Width and height of the pictures in pixels
    #[arg(long, default_value = "1280x720", value_parser = pixels, value_name = "WxH")]
    pub size: [usize; 2],
    /// Bodies to drop into the world
    #[cfg(feature = "physics")]
    #[arg(long, default_value_t = 500, value_parser = bodies)]
    pub bodies: usize,
    #[command(flatten)]
    pub heightmap: Heightmap,
    #[command(flatten)]
    pub reading: Reading,
}

/// Arguments of `generate`.
#[derive(Debug, Args)]
pub struct Generate {
    /// The world to write (.tvx)
    pub world: PathBuf,
    /// Number that the world grows from
    #[arg(long, default_value_t = DEMO_SEED)]
    pub seed: u64,
    /// Voxels along x and z, rounded up to chunks of 32
    #[arg(long, default_value_t = 384, value_parser = clap::value_parser!(u32).range(32..=8192))]
    pub size: u32,
    /// Store no chunks: a world without end, made where it is looked at, that keeps what is edited
    #[arg(long, conflicts_with = "size")]
    pub sparse: bool,
    /// Metres along the edge of a voxel
    #[arg(long, default_value_t = 1.0, value_parser = positive, value_name = "M")]
    pub voxel_size: f64,
    /// Replace the world if it is there
    #[arg(long)]
    pub force: bool,
}

/// Seed of the generated demo world.
pub const DEMO_SEED: u64 = 1;

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct Import {
    /// .rbxm .rbxl .rbxmx .rbxlx .smoothgrid, a heightmap .png, or .raw .r16 (16 bits)
    pub file: PathBuf,
    /// The world to write (.tvx)
    pub world: PathBuf,
    #[command(flatten)]
    pub heightmap: Heightmap,
    /// Replace the world if it is there
    #[arg(long)]
    pub force: bool,
}

/// How heightmaps become worlds, and how large voxels are.
#[derive(Clone, Debug, Default, Args)]
pub struct Heightmap {
    /// Metres along the edge of a voxel [default: 1; Roblox 1.12, which is 4 studs]
    #[arg(long, value_parser = positive, value_name = "M")]
    pub voxel_size: Option<f64>,
    /// Heightmaps: metres from one sample to the next [default: one voxel]
    #[arg(long, value_parser = positive, value_name = "M")]
    pub scale: Option<f64>,
    /// Heightmaps: metres from black to white [default: so that the land is an eighth as
    /// high as the map is wide]
    #[arg(long, value_parser = positive, value_name = "M")]
    pub vertical_scale: Option<f64>,
    /// Heightmaps: metres above black up to which water stands [default: no water]
    #[arg(long, value_parser = number, value_name = "M", allow_hyphen_values = true)]
    pub sea_level: Option<f64>,
    /// Heightmaps: metres of ground below the lowest sample [default: 8 voxels]
    #[arg(long, value_parser = positive, value_name = "M")]
    pub depth: Option<f64>,
    /// Heightmaps: take the brightness of a picture in colours as its height
    #[arg(long)]
    pub luma: bool,
    /// Raw heightmaps: samples in a row
    #[arg(long, requires = "height", value_name = "SAMPLES")]
    pub width: Option<usize>,
    /// Raw heightmaps: rows
    #[arg(long, requires = "width", value_name = "ROWS")]
    pub height: Option<usize>,
}

/// How worlds are read.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Reading {
    /// Go on without the chunks of a world that are damaged
    #[arg(long)]
    pub skip_damaged: bool,
}

/// What `edit --help` teaches.
const EDIT_HELP: &str = "\
An operation is one argument: what to do, a shape, and how. All lengths are in metres.

  What   dig | fill MATERIAL | paint MATERIAL | replace FROM TO | smooth
         flatten [MATERIAL] | grow BY | erode BY | roughen BY | flood [MATERIAL] | drain
  Shape  ball X,Y,Z r=R               block X,Y,Z size=X,Y,Z
         cylinder X,Y,Z r=R h=H       wedge X,Y,Z size=X,Y,Z
         capsule X,Y,Z X,Y,Z r=R      path X,Y,Z X,Y,Z … r=R
  How    turn=DEGREES (about y)       falloff=M  strength=0..1
         only=MATERIAL,…  heights=LOW..HIGH  slope=LOW..HIGH (rise a metre of way)
         at=Y (flatten)  bumps=M seed=N (roughen)
  Copy   copy X,Y,Z X,Y,Z to=X,Y,Z [turn=90|180|270] [mirror=x,y,z] [scale=2|-2]
         [blend=over|add|replace]

Example:
  terravox edit world.tvx 'dig ball 10,20,30 r=6'
  terravox edit world.tvx 'fill Rock block 0,5,0 size=8,2,8 turn=30' 'smooth ball 0,5,0 r=12'
  terravox edit world.tvx --undo 2
  terravox edit world.tvx --script strokes.jsonl

A script has one operation a line, as above or as JSON:
  {\"brush\":{\"brush\":{\"ball\":{\"centre\":[10,20,30],\"radius\":6}},\"action\":\"dig\"}}
All operations are done, or none: if one is wrong the world stays as it is.";

/// Arguments of `edit`.
#[derive(Debug, Args)]
pub struct Edit {
    /// The world (.tvx)
    pub world: PathBuf,
    /// Operations, done in order
    #[arg(value_name = "OPERATION")]
    pub operations: Vec<String>,
    /// A file of operations, one a line; done after those that are typed
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Undo so many operations first
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub undo: u32,
    /// Redo so many operations first
    #[arg(long, default_value_t = 0, value_name = "N", conflicts_with = "undo")]
    pub redo: u32,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct Export {
    /// A world, or any file that can be imported
    pub world: PathBuf,
    /// The file to write: .rbxm .rbxmx .smoothgrid .glb .obj
    pub file: PathBuf,
    #[command(flatten)]
    pub triangles: Triangles,
    #[command(flatten)]
    pub reading: Reading,
}

/// Arguments of `mesh`.
#[derive(Debug, Args)]
pub struct Mesh {
    /// A world, or any file that can be imported
    pub world: PathBuf,
    /// The file to write: .glb or .obj
    pub file: PathBuf,
    #[command(flatten)]
    pub triangles: Triangles,
    #[command(flatten)]
    pub clusters: Clusters,
    #[command(flatten)]
    pub reading: Reading,
}

/// Clusters of cells in the place of cells.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Clusters {
    /// Show the ground by the nodes of an octree in the place of cells
    #[arg(long, conflicts_with = "mip")]
    pub octree: bool,
    /// Octree: voxels along the edge of the smallest nodes: 1, 2, 4, 8 or 16
    #[arg(long, default_value = "1", value_parser = cluster, requires = "octree",
        value_name = "VOXELS")]
    pub cluster: u32,
    /// Octree: larger nodes where their error is at most this, in voxels
    #[arg(long, value_parser = positive, requires = "octree", value_name = "VOXELS")]
    pub error: Option<f64>,
}

/// How triangles are written.
#[derive(Clone, Copy, Debug, Args)]
pub struct Triangles {
    /// .obj: which axis points up
    #[arg(long, value_enum, default_value_t = Up::Y)]
    pub up: Up,
    /// Triangles: units of the file per metre
    #[arg(long, default_value_t = 1.0, value_parser = positive, value_name = "UNITS")]
    pub scale: f64,
    /// .glb: write the materials of vertices and their weights, for shaders
    #[arg(long)]
    pub materials: bool,
    /// Triangles: cells of 2^MIP voxels, 0 is the finest
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=5))]
    pub mip: u8,
    /// Triangles: simplify, staying within CELLS of the original surface
    #[arg(long, value_parser = positive, value_name = "CELLS")]
    pub simplify: Option<f64>,
}

/// An axis that points up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Up {
    /// As in worlds, glTF and most engines.
    Y,
    /// As in Blender and most CAD programs.
    Z,
}

/// Arguments of `info`.
#[derive(Debug, Args)]
pub struct Info {
    /// A world, or any file that can be imported
    pub file: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
}

/// Arguments of `lod`.
#[derive(Debug, Args)]
pub struct Lod {
    /// A world, any file that can be imported, or hills:SEED
    pub world: PathBuf,
    /// Where it is seen from, in metres
    #[arg(long, value_parser = triple, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub camera: [f64; 3],
    /// The file to write (.glb)
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Colour each mesh by its level
    #[arg(long)]
    pub colours: bool,
    /// Write the materials of vertices and their weights, for shaders
    #[arg(long)]
    pub materials: bool,
    #[command(flatten)]
    pub levels: Levels,
    #[command(flatten)]
    pub reading: Reading,
}

/// How much a level of detail shows.
#[derive(Clone, Copy, Debug, PartialEq, Args)]
pub struct Levels {
    /// Level of detail: metres that are shown around the camera
    #[arg(long, default_value_t = 8192.0, value_parser = positive, value_name = "M")]
    pub distance: f64,
    /// Level of detail: blocks are shown in finer parts from this many of their edges on
    #[arg(long, default_value_t = 3.0, value_parser = detail, value_name = "EDGES")]
    pub detail: f32,
    /// Level of detail: how far vertices are on their way to the next coarser level, from 0
    /// to 1; or distance, as far as games show them from the camera; or targets (lod), as
    /// morph targets of the model [default: 0]
    #[arg(long, value_parser = morph, value_name = "F")]
    pub morph: Option<Morph>,
    /// Level of detail: as few triangles as keep each mesh within so many of its cells of
    /// where it is
    #[arg(long, value_parser = positive, value_name = "CELLS")]
    pub simplify: Option<f64>,
}

/// How far vertices are on their way to the next coarser level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Morph {
    /// All so far.
    All(f32),
    /// Each by its distance from the camera.
    ByDistance,
    /// None; a model says where they would go.
    Targets,
}

/// Arguments of `raycast`.
#[derive(Debug, Args)]
pub struct Raycast {
    /// A world, or any file that can be imported
    pub world: PathBuf,
    /// Where the ray starts, in metres
    #[arg(value_parser = triple, value_name = "FROM", allow_hyphen_values = true)]
    pub from: [f64; 3],
    /// Which way it goes, of any length
    #[arg(value_parser = triple, value_name = "DIR", allow_hyphen_values = true)]
    pub direction: [f64; 3],
    /// Metres that it goes
    #[arg(long, default_value_t = 1000.0, value_parser = positive, value_name = "M")]
    pub max: f64,
    /// Which surfaces it sees
    #[arg(long, value_enum, default_value_t = Sees::Solid)]
    pub sees: Sees,
    /// Only surfaces of the material of this name
    #[arg(long, value_name = "NAME")]
    pub material: Option<String>,
    #[command(flatten)]
    pub reading: Reading,
}

/// Which surfaces a ray sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sees {
    /// The ground.
    Solid,
    /// Water and other liquids.
    Liquid,
    /// Both.
    Both,
}

/// Arguments of `render`.
#[derive(Clone, Debug, Args)]
pub struct Render {
    /// A world, any file that can be imported, or hills:SEED, which is shown as with --lod
    pub world: PathBuf,
    /// The picture to write (.png)
    pub file: PathBuf,
    #[command(flatten)]
    pub view: View,
    /// Show what a level of detail shows from the camera, which has to be given: fine nearby,
    /// coarse far away
    #[arg(long, conflicts_with_all = ["draw", "mip", "octree"])]
    pub lod: bool,
    /// With --lod: colour the ground by its level
    #[arg(long)]
    pub lod_colours: bool,
    /// Textures on the ground; without, materials have even colours [default: on, but for
    /// charts: --lod-colours, --wire and --draw]
    #[arg(long, value_enum)]
    pub textures: Option<Switch>,
    /// Textures: the material of ground that was not painted; it is shown as grass where it is flat, and as
    /// rock where it is steep
    #[arg(long, value_name = "NAME")]
    pub unset: Option<String>,
    #[command(flatten)]
    pub levels: Levels,
    #[command(flatten)]
    pub clusters: Clusters,
    /// Draw the edges of the triangles
    #[arg(long)]
    pub wire: bool,
    /// Draw what the collider holds about the middle of the picture
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "octree")]
    pub draw: Vec<Draw>,
    /// Voxels around the middle of the picture in which it is drawn
    #[arg(long, default_value_t = 24.0, value_parser = positive, value_name = "VOXELS")]
    pub draw_radius: f64,
    /// Threads to use [default: as many as the machine has]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub reading: Reading,
}

/// What the collider holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Draw {
    /// Cells that may touch something, by surface.
    Masks,
    /// Blocks that rays have met.
    Blocks,
    /// Boxes of the trees in them.
    Trees,
}

/// Camera and light of a picture.
#[derive(Clone, Debug, Args)]
pub struct View {
    /// Where the camera is, in metres [default: where the whole world is seen; hills: above them]
    #[arg(long, value_parser = triple, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub camera: Option<[f64; 3]>,
    /// What it looks at, in metres
    #[arg(long, value_parser = triple, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub look: Option<[f64; 3]>,
    /// Or which way: degrees clockwise from north (-z)
    #[arg(long, value_parser = number, conflicts_with = "look", requires = "camera",
        value_name = "DEGREES", allow_hyphen_values = true)]
    pub yaw: Option<f64>,
    /// And degrees above the horizon
    #[arg(long, value_parser = number, conflicts_with = "look", requires = "camera",
        value_name = "DEGREES", allow_hyphen_values = true)]
    pub pitch: Option<f64>,
    /// Degrees from the bottom of the picture to its top
    #[arg(long, value_parser = opening, value_name = "DEGREES")]
    pub fov: Option<f64>,
    /// Width and height in pixels
    #[arg(long, default_value = "1280x720", value_parser = pixels, value_name = "WxH")]
    pub size: [usize; 2],
    /// Rays along the edge of a pixel
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub samples: u8,
    /// Where the sun stands: degrees from north, degrees above the horizon [default: over
    /// the camera's left shoulder]
    #[arg(long, value_parser = pair, value_name = "YAW,HEIGHT", allow_hyphen_values = true)]
    pub sun: Option<[f64; 2]>,
    /// A lamp at the camera [default: where the camera sees little sky]
    #[arg(long, value_enum)]
    pub lamp: Option<Switch>,
    /// Cells of 2^MIP voxels [default: 0, or what keeps a huge world in memory]
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub mip: Option<u8>,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

fn number(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| "not a number".to_owned())?;
    // Twice what voxels of a kilometre reach.
    if value.abs() <= 2e12 { Ok(value) } else { Err("not a number that fits".to_owned()) }
}

#[cfg(feature = "physics")]
fn bodies(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count <= 10_000).ok_or("give 0 to 10000".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if (1e-6..=1e9).contains(&value) { Ok(value) } else { Err("give 0.000001 or more".to_owned()) }
}
/// `distance`, `targets`, or a share.
fn morph(text: &str) -> Result<Morph, String> {
    match text {
        "distance" => return Ok(Morph::ByDistance),
        "targets" => return Ok(Morph::Targets),
        _ => {}
    }
    match text.parse() {
        Ok(factor) if (0.0..=1.0).contains(&factor) => Ok(Morph::All(factor)),
        _ => Err("give a number from 0 to 1, distance, or targets".to_string()),
    }
}

fn detail(text: &str) -> Result<f32, String> {
    let value = number(text)?;
    if (1.0..=16.0).contains(&value) { Ok(value as f32) } else { Err("give 1 to 16".to_owned()) }
}

fn cluster(text: &str) -> Result<u32, String> {
    let edge = text.parse().ok().filter(|edge: &u32| edge.is_power_of_two() && *edge <= 16);
    edge.ok_or_else(|| "give 1, 2, 4, 8 or 16".to_owned())
}

fn opening(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if (1.0..=150.0).contains(&value) { Ok(value) } else { Err("give 1 to 150".to_owned()) }
}

fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let values: Result<Vec<f64>, String> = text.split(',').map(number).collect();
    values?.try_into().map_err(|_| format!("give {N} numbers with commas between"))
}

fn triple(text: &str) -> Result<[f64; 3], String> {
    numbers(text)
}

fn pair(text: &str) -> Result<[f64; 2], String> {
    numbers(text)
}

fn pixels(text: &str) -> Result<[usize; 2], String> {
    let wrong = || "give width x height, as 1280x720, up to 16384 each".to_owned();
    let (width, height) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
    let edge = |text: &str| text.parse().ok().filter(|edge| (1..=16384).contains(edge));
    match (edge(width), edge(height)) {
        (Some(width), Some(height)) => Ok([width, height]),
        _ => Err(wrong()),
    }
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

    #[test]
    fn values_are_read_strictly() {
        assert_eq!(triple("1,-2.5, 3"), Ok([1.0, -2.5, 3.0]));
        assert!(triple("1,2").is_err() && triple("1,2,nan").is_err() && number("inf").is_err());
        assert_eq!(pixels("640x360"), Ok([640, 360]));
        assert!(pixels("640").is_err() && pixels("0x5").is_err() && pixels("99999x5").is_err());
        assert!(positive("0").is_err() && opening("180").is_err());
        assert!(cluster("8") == Ok(8) && cluster("3").is_err() && cluster("32").is_err());
        assert!(detail("0.9").is_err() && detail("nan").is_err() && detail("2") == Ok(2.0));
    }
}
