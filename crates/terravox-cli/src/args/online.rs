//! Arguments of `serve` and `join`.

use super::groups::{LevelArgs, ViewArgs};
use super::values::{detail, integer, numbers, positive, triple};
use clap::{Args, ValueEnum};
use std::net::IpAddr;
use std::path::PathBuf;
use terravox_server::{AccessList, DEFAULT_PORT, Right, WorldAddress};

/// Help of `serve`.
pub const SERVE_HELP: &str = "\
Example:
  terravox serve caves.tvx
  terravox serve place.rbxl hills:7 --address 0.0.0.0 --tokens tokens.txt

Edits are saved in the world file, 2 s after the last save, and at the end: Ctrl-C or SIGTERM.
A place or a heightmap is imported first, to a world beside it; hills:SEED becomes
hills-SEED.tvx in this folder, and world:7:fjords world-7-fjords.tvx. If that world is there
already, it is served.
An address that other machines can reach needs tokens. The certificate is made on the first
start; clients elsewhere give its fingerprint, which is printed. ws:// is not encrypted.";

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Worlds (.tvx, or postgres://HOST/DATABASE#WORLD), files that can be imported, or hills:SEED
    /// or world:SEED:PRESET; guests name them by their file names without the extension, and get the
    /// first by default
    #[arg(required = true, value_name = "WORLD")]
    pub worlds: Vec<PathBuf>,
    /// Wait while another server has a world of a database: serve it when that one ends or is gone
    #[arg(long)]
    pub wait: bool,
    /// Share a world of a database with other servers that do so: this one serves the columns of
    /// 8,192 × 8,192 voxels that its guests edit. HOST:PORT is where guests reach it; the others
    /// pass that on to theirs
    #[arg(long, value_parser = server_address, value_name = "HOST:PORT")]
    pub share: Option<WorldAddress>,
    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1", value_name = "IP")]
    pub address: IpAddr,
    /// The port: UDP for QUIC, TCP for WebSocket; 0: any
    #[arg(long, default_value_t = DEFAULT_PORT, value_name = "PORT")]
    pub port: u16,
    /// A token and the right of its bearer: look:WORD, edit:WORD or administer:WORD; with :NAME
    /// after it, the journal has that name. Other users of this machine can see arguments: see --tokens
    #[arg(long, value_parser = token, value_name = "RIGHT:WORD[:NAME]")]
    pub token: Vec<Bearer>,
    /// A file of tokens, one RIGHT:WORD[:NAME] on each line
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// A box, in metres, that only the bearers of tokens for administering may change, in all
    /// worlds
    #[arg(long, value_parser = corners, value_name = "X,Y,Z,X,Y,Z", allow_hyphen_values = true)]
    pub protect: Vec<MetreBox>,
    /// Maximum number of connections
    #[arg(long, default_value_t = 1024, value_parser = |text: &str| integer(text, 1..=65_536_usize),
        value_name = "N")]
    pub max_connections: usize,
    /// Maximum number of connections from one address
    #[arg(long, default_value_t = 256, value_parser = |text: &str| integer(text, 1..=65_536_usize),
        value_name = "N")]
    pub max_connections_per_address: usize,
    /// Maximum number of edits a second of all bearers of one token together, or of one address
    /// where no token is required, for long; twice as many at once. A brush on the page makes 8
    #[arg(long, default_value_t = 120, value_parser = |text: &str| integer(text, 1..=1_000_000_u32),
        value_name = "N")]
    pub edits_per_second: u32,
    /// Folder of the certificate [default: that of the first world; the current one if that is in a
    /// database]
    #[arg(long, value_name = "FOLDER")]
    pub certificate: Option<PathBuf>,
    /// Folder of backups [default: that of the first world; the current one if that is in a database]
    #[arg(long, value_name = "FOLDER")]
    pub backups: Option<PathBuf>,
    /// Keep pieces that are cut off where they are; by default they fall
    #[arg(long)]
    pub pieces_stay: bool,
    /// MiB for the journal of each world; 0 turns it off. When it is full, the author with the
    /// most data loses old edits first
    #[arg(long, default_value_t = 64, value_parser = |text: &str| integer(text, 0..=4096_usize),
        value_name = "MIB")]
    pub journal: usize,
    /// What is logged on standard error
    #[arg(long, value_enum, default_value_t = LogChoice::Info, value_name = "LEVEL")]
    pub log: LogChoice,
}

/// Least important messages that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogChoice {
    /// Failures.
    Error,
    /// And what needs attention.
    Warn,
    /// And who comes and goes.
    Info,
    /// And details.
    Debug,
}

/// Parses the address at which guests reach a server.
fn server_address(text: &str) -> Result<WorldAddress, String> {
    let address = text.parse::<WorldAddress>().map_err(|error| error.to_string())?;
    let wrong = |what: &str| Err(format!("{what}; give HOST:PORT, such as dig1.example.org:4077"));
    if address.host.bytes().all(|byte| byte.is_ascii_digit()) {
        return wrong(&format!("\"{}\" is no host", address.host));
    }
    // What is missing was added.
    if text.strip_prefix("terravox://").unwrap_or(text) != address.to_string() {
        return wrong("the port is missing");
    }
    if address.port == 0 {
        return wrong("guests cannot connect to port 0");
    }
    Ok(address)
}

/// The lowest and the highest corner of a box, metres.
pub type MetreBox = [[f64; 3]; 2];

pub(super) fn corners(text: &str) -> Result<MetreBox, String> {
    let [a, b, c, d, e, f] = numbers(text)?;
    let corners = [[a, b, c], [d, e, f]];
    let is_box = (0..3).all(|axis| corners[0][axis] < corners[1][axis]);
    is_box.then_some(corners).ok_or_else(|| "give the lowest corner first".to_owned())
}

/// A token, the right of its bearer, and the name of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    pub right: Right,
    pub word: String,
    pub name: Option<String>,
}

/// Parses a token, its right, and a name.
pub fn token(text: &str) -> Result<Bearer, String> {
    let (right, rest) = match text.split_once(':') {
        Some(("look", rest)) => (Right::Look, rest),
        Some(("edit", rest)) => (Right::Edit, rest),
        Some(("administer", rest)) => (Right::Administer, rest),
        _ => {
            return Err("give look:WORD, edit:WORD or administer:WORD; :NAME may follow".to_owned());
        }
    };
    let (word, name) = match rest.split_once(':') {
        Some((word, name)) => (word, Some(name.trim())),
        None => (rest, None),
    };
    if name.is_some_and(|name| !AccessList::is_name(name)) {
        return Err("a name has 1 to 64 bytes without control characters".to_owned());
    }
    match word.len() {
        1..=AccessList::MAX_TOKEN => {
            Ok(Bearer { right, word: word.to_owned(), name: name.map(str::to_owned) })
        }
        _ => Err(format!("a token has 1 to {} bytes", AccessList::MAX_TOKEN)),
    }
}

/// Help of `backup`.
pub const BACKUP_HELP: &str = "\
Example:
  terravox backup localhost
  terravox backup localhost/caves --token WORD

The server saves, then copies the world as it is then, from a file or a database, to a file, while
guests dig on. The copy is in the folder --backups of terravox serve; its path is printed. Older
copies are not removed. To restore one, serve it, or terravox copy it to a new name in a database.
The command runs on the machine of the server. A server that has tokens wants one for
administering.";

/// Arguments of `backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The world: HOST[:PORT][/WORLD]
    #[arg(value_name = "ADDRESS")]
    pub address: WorldAddress,
    /// The token for administering
    #[arg(long, default_value = "", hide_default_value = true, value_name = "WORD")]
    pub token: String,
}

/// Help of `join`.
pub const JOIN_HELP: &str = "\
Example:
  terravox join localhost --dig 0,10,0 --render view.png
  terravox join ws://localhost/caves --follow '0,90,0 400,90,0' --seconds 20
  terravox join dig.example.org --token WORD --fingerprint 3f…  --edit 'fill Rock ball 0,60,0 r=5'

It waits until all that is seen is there, edits, stays for --seconds, waits until the server has
confirmed everything, and renders. If the link breaks within --seconds, it connects again. Where
no server has a part of a shared world yet, an operation is sent again for up to 10 s. It waits up
to a second for the message that edits are saved; a file is saved 2 s after the last save, so stay
longer with --seconds if \"not known to be saved\" matters. The digest is that of all cells of mip 0
that it holds: clients at one place have the same. Without --camera and --follow it stands a
little above the first --dig and looks at it.";

/// Arguments of `join`.
#[derive(Debug, Args)]
pub struct JoinArgs {
    /// The world: HOST[:PORT][/WORLD] for QUIC, ws://HOST[:PORT][/WORLD] for WebSocket
    #[arg(value_name = "ADDRESS")]
    pub address: WorldAddress,
    /// The token that the server asks for
    #[arg(long, default_value = "", hide_default_value = true, value_name = "WORD")]
    pub token: String,
    /// Fingerprint of the server's certificate, which it prints; not needed on this machine
    #[arg(long, value_parser = fingerprint, value_name = "HEX")]
    pub fingerprint: Option<[u8; 32]>,
    /// Dig a ball with its centre here, in metres; may be given several times
    #[arg(long, value_parser = triple, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub dig: Vec<[f64; 3]>,
    /// Radius of --dig in metres
    #[arg(long, default_value_t = 4.0, value_parser = positive, value_name = "M")]
    pub radius: f64,
    /// Apply an operation; terravox edit --help lists them. May be given several times; each --dig
    /// comes first
    #[arg(long, value_name = "OPERATION", allow_hyphen_values = true)]
    pub edit: Vec<String>,
    /// Fly along these points, in metres, in the time of --seconds
    #[arg(long, value_parser = route, requires = "seconds", value_name = "X,Y,Z X,Y,Z …",
        allow_hyphen_values = true)]
    pub follow: Option<Route>,
    /// Stay this long after the edits
    #[arg(long, value_parser = positive, value_name = "S")]
    pub seconds: Option<f64>,
    /// Wait at most this long for the world, for all that is seen, and for the replies to the
    /// edits, each
    #[arg(long, default_value_t = 600.0, value_parser = positive, value_name = "S")]
    pub timeout: f64,
    /// The name that others see
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME")]
    pub name: String,
    /// Cache the world in this file at the end; if it exists already, only what changed since is
    /// sent
    #[arg(long, value_name = "FILE")]
    pub cache: Option<PathBuf>,
    /// Render the view at the end (.png)
    #[arg(long, value_name = "FILE")]
    pub render: Option<PathBuf>,
    #[command(flatten)]
    pub view: ViewArgs,
    /// View distance in metres
    #[arg(long, default_value_t = 4096.0, value_parser = positive, value_name = "M")]
    pub distance: f64,
    /// A block nearer than this many of its edges is shown finer. The number of requested blocks
    /// grows with its cube; a server allows 65,536
    #[arg(long, default_value_t = 2.0, value_parser = detail, value_name = "EDGES")]
    pub detail: f32,
}

impl JoinArgs {
    /// Returns the levels of detail that are shown.
    pub fn levels(&self) -> LevelArgs {
        LevelArgs { distance: self.distance, detail: self.detail, morph: None, simplify: None }
    }
}

/// Points that are flown along, metres.
#[derive(Clone, Debug, PartialEq)]
pub struct Route(pub Vec<[f64; 3]>);

impl Route {
    /// Returns the point at a share of the way.
    pub fn at(&self, share: f64) -> [f64; 3] {
        let length = |[a, b]: [[f64; 3]; 2]| {
            (0..3).map(|i| (b[i] - a[i]) * (b[i] - a[i])).sum::<f64>().sqrt()
        };
        let legs: Vec<[[f64; 3]; 2]> = self.0.windows(2).map(|leg| [leg[0], leg[1]]).collect();
        let mut left = legs.iter().copied().map(length).sum::<f64>() * share.clamp(0.0, 1.0);
        for leg in legs {
            let long = length(leg);
            if left < long {
                let [a, b] = leg;
                return [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * left / long);
            }
            left -= long;
        }
        self.0.last().copied().unwrap_or_default()
    }
}

fn route(text: &str) -> Result<Route, String> {
    let points: Result<Vec<_>, _> = text.split_whitespace().map(triple).collect();
    match points? {
        points if points.is_empty() => Err("give points X,Y,Z separated by spaces".to_owned()),
        points => Ok(Route(points)),
    }
}

fn fingerprint(text: &str) -> Result<[u8; 32], String> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    let is_hex = text.chars().all(|c| c.is_ascii_hexdigit() || c == ':');
    let bytes: Vec<u8> =
        digits.chunks(2).map(|pair| pair.iter().fold(0, |v, d| v * 16 + d)).collect();
    match bytes.try_into() {
        Ok(bytes) if is_hex && digits.len() == 64 => Ok(bytes),
        _ => Err("give the 64 hexadecimal digits that the server prints".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_fingerprints_and_routes_are_parsed_strictly() {
        let (right, word, name) = (Right::Look, "a".to_owned(), Some("b:ç d".to_owned()));
        assert_eq!(token("look:a"), Ok(Bearer { right, word: word.clone(), name: None }));
        assert_eq!(token("look:a:b:ç d"), Ok(Bearer { right, word, name }));
        assert!(token("edit:a:").is_err() && token("edit:a:b\tc").is_err());
        assert!(
            token("edit:").is_err()
                && token("edit::name").is_err()
                && token("word").is_err()
                && token("all:x").is_err()
        );
        assert_eq!(fingerprint(&"0a".repeat(32)), Ok([10; 32]));
        assert!(fingerprint(&"0a".repeat(31)).is_err() && fingerprint(&"0g".repeat(32)).is_err());
        assert!(route(" ").is_err() && route("1,2").is_err());
    }

    #[test]
    fn a_shared_address_is_one_that_guests_can_use() {
        for right in ["dig1.example.org:4077", "127.0.0.1:1", "[::1]:4077", "terravox://a:1"] {
            let expected: WorldAddress = right.parse().expect("an address");
            assert_eq!(server_address(right), Ok(expected));
        }
        for (wrong, what) in [
            ("45001", "\"45001\" is no host"),
            ("45001:4077", "\"45001\" is no host"),
            ("localhost", "the port is missing"),
            ("::4077", "the port is missing"),
            ("[::1]", "the port is missing"),
            ("127.0.0.1:0", "port 0"),
            ("localhost:x", "invalid port"),
        ] {
            let error = server_address(wrong).expect_err(wrong);
            assert!(error.contains(what) && error.contains("give HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn the_corners_of_a_protected_box_come_in_order() {
        assert_eq!(corners("-9,0,0,9,5,7"), Ok([[-9.0, 0.0, 0.0], [9.0, 5.0, 7.0]]));
        assert!(corners("9,0,0,-9,5,7").is_err() && corners("0,0,0,1,1").is_err());
    }

    #[test]
    fn a_route_is_flown_at_one_speed() {
        let route = route("0,0,0 10,0,0 10,0,30").expect("a route");
        assert_eq!(route.at(0.125), [5.0, 0.0, 0.0]);
        assert_eq!(route.at(0.5), [10.0, 0.0, 10.0]);
        assert_eq!((route.at(1.0), route.at(7.0)), ([10.0, 0.0, 30.0], [10.0, 0.0, 30.0]));
        assert_eq!(Route(vec![[1.0; 3]]).at(0.5), [1.0; 3]);
    }
}
