//! The command line.

use std::path::PathBuf;

use bevy_terravox::online::terravox_server::AccessList;
use bevy_terravox::terravox::replicate::Guest;

/// Most bytes of a token, and of a name.
const MAX_TEXT_BYTES: usize = AccessList::MAX_TOKEN;
const _: () = assert!(MAX_TEXT_BYTES <= Guest::MAX_AVATAR_BYTES);

/// What is printed for `--help`.
pub const HELP: &str = "\
A window in which voxel worlds are flown over, sculpted and played with.

Usage: terravox-studio [WORLD] [OPTIONS]

WORLD is a world file (.tvx), whatever terravox import takes (a Roblox place or model, a heightmap, a
grid of numbers, a point cloud or a folder of them, a region or a world of Minecraft, a MagicaVoxel scene,
a mesh), a generated world (hills:7, world:7, world:7:fjords), or HOST:PORT[/WORLD] of a server. Without
one, a start screen is shown.

Servers:
  --token TEXT        the token, for servers that need one
  --fingerprint HEX   the fingerprint of the server, which it prints; not needed on this machine
  --name TEXT         the name that others see

Pictures, without a window:
  --screenshot FILE   writes a picture as PNG, once the ground of the view is there
  --turntable FOLDER  writes pictures from all around what the camera looks at
  --path FILE         with --turntable: along the views of a file instead, a line X,Y,Z,YAW,PITCH each
  --frames N          of a turntable or path, 48 by default
  --size WxH          pixels, 1280x720 by default

View:
  --camera X,Y,Z      metres
  --yaw D, --pitch D  degrees clockwise from north (-z), and above the horizon
  --time H            time of day, 0 to 24
  --distance M        view distance in metres
  --detail D          1 is coarse, 3 fine
  --quality Q         low (colours without textures), medium or high; low by default where a driver
                      draws in software, but for --textures
  --textures FOLDER   textures in place of ours
  --show NAME         turns a switch on, such as levels, grid or frames; may be repeated

Recordings:
  --record FILE       records input
  --replay FILE       repeats it and ends
  --headless          without a window or renderer, with --replay
  --state FOLDER      keeps worlds without a name, recent files and keys there

  --window WxH        size of the window
  --first-picture     prints how long it takes until ground is drawn, and ends
  --help, --version
";

/// How well things are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// For software renderers.
    Low,
    /// For most graphics cards.
    Medium,
    /// For fast ones.
    High,
}

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Args {
    /// The world.
    pub world: Option<String>,
    /// A picture to write.
    pub screenshot: Option<PathBuf>,
    /// A folder for pictures from all around.
    pub turntable: Option<PathBuf>,
    /// A file of views.
    pub path: Option<PathBuf>,
    /// Number of pictures.
    pub frames: Option<u32>,
    /// Pixels of pictures.
    pub size: Option<[u32; 2]>,
    /// Position, metres.
    pub camera: Option<[f32; 3]>,
    /// Degrees clockwise from north.
    pub yaw: Option<f32>,
    /// Degrees above the horizon.
    pub pitch: Option<f32>,
    /// Hours.
    pub time: Option<f32>,
    /// Metres.
    pub distance: Option<f32>,
    /// As `LodOptions::detail`.
    pub detail: Option<f32>,
    /// How well things are drawn.
    pub quality: Option<Quality>,
    /// A folder of textures.
    pub textures: Option<PathBuf>,
    /// Switches to turn on.
    pub show: Vec<crate::action::Switch>,
    /// Where input is recorded.
    pub record: Option<PathBuf>,
    /// Input that is repeated.
    pub replay: Option<PathBuf>,
    /// Whether there is no window.
    pub headless: bool,
    /// Where the studio keeps what it remembers.
    pub state: Option<PathBuf>,
    /// Size of the window.
    pub window: Option<[u32; 2]>,
    /// Whether the time until ground is drawn is printed.
    pub first_picture: bool,
    /// The token for servers.
    pub token: String,
    /// The fingerprint of the server.
    pub fingerprint: Option<[u8; 32]>,
    /// The name that others see.
    pub name: String,
    /// Whether help is asked for.
    pub help: bool,
    /// Whether the version is asked for.
    pub version: bool,
}

/// Largest side of a picture.
const MAX_SIDE: u32 = 16_384;

impl Args {
    /// Reads the command line, without the name of the program.
    ///
    /// # Errors
    /// A sentence that names the argument.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Args, String> {
        let mut args = Args::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| format!("{word} needs a value; see --help"));
            match &*word {
                "--screenshot" => args.screenshot = Some(value()?.into()),
                "--turntable" => args.turntable = Some(value()?.into()),
                "--path" => args.path = Some(value()?.into()),
                "--frames" => args.frames = Some(number(&word, &value()?, 1.0, 10_000.0)? as u32),
                "--size" => args.size = Some(size(&word, &value()?)?),
                "--window" => args.window = Some(size(&word, &value()?)?),
                "--camera" => args.camera = Some(point(&word, &value()?)?),
                "--yaw" => args.yaw = Some(number(&word, &value()?, -3600.0, 3600.0)?),
                "--pitch" => args.pitch = Some(number(&word, &value()?, -89.0, 89.0)?),
                "--time" => args.time = Some(number(&word, &value()?, 0.0, 24.0)?),
                "--distance" => args.distance = Some(number(&word, &value()?, 100.0, 16_000.0)?),
                "--detail" => args.detail = Some(number(&word, &value()?, 1.0, 8.0)?),
                "--quality" => args.quality = Some(quality(&value()?)?),
                "--textures" => args.textures = Some(value()?.into()),
                "--show" => {
                    let name = value()?;
                    let switch = crate::action::Switch::find(&name);
                    args.show.push(
                        switch.ok_or_else(|| format!("--show {name}: there is no such switch"))?,
                    );
                }
                "--record" => args.record = Some(value()?.into()),
                "--replay" => args.replay = Some(value()?.into()),
                "--state" => args.state = Some(value()?.into()),
                "--token" => args.token = short("--token", value()?)?,
                "--name" => args.name = short("--name", value()?)?,
                "--fingerprint" => args.fingerprint = Some(fingerprint(&value()?)?),
                "--headless" => args.headless = true,
                "--first-picture" => args.first_picture = true,
                "--help" | "-h" => args.help = true,
                "--version" | "-V" => args.version = true,
                _ if word.starts_with('-') && word.len() > 1 => {
                    return Err(format!("unknown option {word}; see --help"));
                }
                _ if args.world.is_some() => return Err(format!("{word}: one world at a time")),
                _ => args.world = Some(word),
            }
        }
        args.check()
    }

    fn check(self) -> Result<Args, String> {
        let makes_pictures = self.makes_pictures();
        if makes_pictures && self.world.is_none() {
            return Err("--screenshot and --turntable need a world; see --help".to_owned());
        }
        if self.first_picture && (self.world.is_none() || makes_pictures || self.headless) {
            return Err("--first-picture needs a world and a window; see --help".to_owned());
        }
        if self.headless && self.replay.is_none() {
            return Err("--headless needs --replay; pictures need no window anyway".to_owned());
        }
        if self.textures.is_some() && self.quality == Some(Quality::Low) {
            let error = "--textures needs --quality medium or high; low has no textures";
            return Err(error.to_owned());
        }
        if self.path.is_some() && self.turntable.is_none() {
            return Err("--path needs --turntable, the folder for the pictures".to_owned());
        }
        let is_png = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"))
        };
        if let Some(file) = self.screenshot.as_ref().filter(|file| !is_png(file)) {
            let file = file.display();
            return Err(format!("--screenshot {file}: pictures are PNG; give a name with .png"));
        }
        Ok(self)
    }

    /// Whether pictures are written, without a window.
    pub fn makes_pictures(&self) -> bool {
        self.screenshot.is_some() || self.turntable.is_some()
    }
}

fn number(name: &str, text: &str, low: f32, high: f32) -> Result<f32, String> {
    match text.parse() {
        Ok(value) if (low..=high).contains(&value) => Ok(value),
        _ => Err(format!("{name} is {text:?}; give a number from {low} to {high}")),
    }
}

fn size(name: &str, text: &str) -> Result<[u32; 2], String> {
    let parsed = text.split_once(['x', 'X', '×']);
    let parsed = parsed.and_then(|(w, h)| Some([w.trim().parse().ok()?, h.trim().parse().ok()?]));
    match parsed {
        Some(size) if size.iter().all(|side| (1..=MAX_SIDE).contains(side)) => Ok(size),
        _ => Err(format!(
            "{name} is {text:?}; give WIDTHxHEIGHT in pixels, each from 1 to {MAX_SIDE}"
        )),
    }
}

fn point(name: &str, text: &str) -> Result<[f32; 3], String> {
    let numbers: Vec<f32> = text.split(',').map_while(|part| part.trim().parse().ok()).collect();
    let is_whole =
        text.split(',').count() == numbers.len() && numbers.iter().all(|v: &f32| v.is_finite());
    numbers
        .try_into()
        .ok()
        .filter(|_| is_whole)
        .ok_or_else(|| format!("{name} is {text:?}; give X,Y,Z in metres"))
}

/// A text that servers take.
fn short(name: &str, text: String) -> Result<String, String> {
    match text.len() {
        0..=MAX_TEXT_BYTES => Ok(text),
        bytes => Err(format!("{name} has {bytes} bytes; give {MAX_TEXT_BYTES} at most")),
    }
}

fn fingerprint(text: &str) -> Result<[u8; 32], String> {
    let text = &text.replace(':', "");
    let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = str::from_utf8(digits).unwrap_or_default();
        *byte = u8::from_str_radix(digits, 16).unwrap_or_default();
    }
    let wrong = || format!("--fingerprint is {text:?}; give 64 hexadecimal digits");
    is_hex.then_some(bytes).ok_or_else(wrong)
}

fn quality(text: &str) -> Result<Quality, String> {
    match text {
        "low" => Ok(Quality::Low),
        "medium" => Ok(Quality::Medium),
        "high" => Ok(Quality::High),
        _ => Err(format!("--quality is {text:?}; give low, medium or high")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Args, String> {
        Args::parse(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn command_lines_are_read() {
        let args = parse(
            "hills:7 --screenshot a.png --size 640x360 --camera 1,2.5,-3 --yaw 40 --pitch -8",
        )
        .unwrap();
        assert_eq!(args.world.as_deref(), Some("hills:7"));
        assert_eq!((args.size, args.camera), (Some([640, 360]), Some([1.0, 2.5, -3.0])));
        assert_eq!((args.yaw, args.pitch), (Some(40.0), Some(-8.0)));
        assert_eq!(parse("").unwrap(), Args::default());
        assert!(parse("--show levels --show grid").unwrap().show.len() == 2);
        let fingerprint = "0a".repeat(32);
        let line = format!("localhost:4077 --token a --name Zoë --fingerprint {fingerprint}");
        let args = parse(&line).unwrap();
        assert_eq!((&*args.token, &*args.name, args.fingerprint), ("a", "Zoë", Some([10; 32])));
        assert!(parse(&format!("--token {}", "a".repeat(257))).unwrap_err().contains("257 bytes"));
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = [
            ("--size 0x0 a --screenshot b", "--size is \"0x0\""),
            ("--camera 1,2", "--camera is \"1,2\""),
            ("--camera 1,2,x", "--camera is"),
            ("--screenshot a.png", "--screenshot and --turntable need a world"),
            ("--time 25", "--time is \"25\"; give a number from 0 to 24"),
            ("a b", "b: one world"),
            ("a --screenshot a.tvx", "--screenshot a.tvx: pictures are PNG"),
            ("a --screenshot a", "--screenshot a: pictures are PNG"),
            ("--fly", "unknown option --fly"),
            ("--size", "--size needs a value"),
            ("--headless", "--headless needs"),
            ("--textures a --quality low", "--textures needs --quality medium"),
            ("--fingerprint 0a", "--fingerprint is \"0a\"; give 64"),
        ];
        for (line, start) in wrong {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(start), "{line}: {error}");
        }
    }
}
