//! `serve` and `backup`: lets many people see and dig worlds, and copies them meanwhile.

use super::{generate, import};
use crate::args::{BackupArgs, Bearer, HeightmapArgs, ImportArgs, LogChoice, ServeArgs, token};
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::lod_view::{generator_of, hills_seed, make_ground};
use crate::report::Report;
use crate::world::{WORLD_EXTENSION, check_placement, is_world_file, store_failure};
use crate::world_store;
use serde_json::json;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use terravox::terrain::FillRequest;
use terravox_server::{
    AccessList, Client, ClientOptions, Generate, ServedWorld, Server, ServerOptions,
};
use terravox_store::{ColumnLeases, Store, StoreError};
use tracing::info;
use tracing_subscriber::filter::LevelFilter;

/// Between two attempts to open a world that another server has. Each attempt also waits for its lease.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

pub fn run(args: &ServeArgs, console: &Console) -> CliResult<Report> {
    let access = access(args)?;
    if access.is_open() && !args.address.is_loopback() {
        // Before any import.
        return Err(Failure::new(format!(
            "{} can be reached from other machines: add --token edit:WORD, or leave out --address",
            args.address
        )));
    }
    let files: CliResult<Vec<PathBuf>> =
        args.worlds.iter().map(|world| world_file(world, console)).collect();
    let files = files?;
    start_log(args.log);
    let served: CliResult<Vec<ServedWorld>> = files.iter().map(|file| open(file, args)).collect();
    let certificate_folder = args.certificate.clone().unwrap_or_else(|| folder_of(&files[0]));
    let backup_folder = args.backups.clone().unwrap_or_else(|| folder_of(&files[0]));
    if !backup_folder.is_dir() {
        return Err(Failure::of(&backup_folder, "there is no such folder; make it first"));
    }
    let start = Instant::now();
    let options = ServerOptions {
        address: args.address,
        port: args.port,
        access,
        pieces_fall: !args.pieces_stay,
        max_connections: args.max_connections,
        max_connections_per_address: args.max_connections_per_address,
        certificate_folder,
        backup_folder,
        journal_bytes: args.journal << 20,
        ..ServerOptions::default()
    };
    let server = Server::start(served?, options).map_err(Failure::new)?;
    announce(&server);
    server.run().map_err(|error| Failure::new(error).after_change())?;
    let mut report = Report::new("serve");
    let shown = |file: &PathBuf| world_store::shown(file).display().to_string();
    let names: Vec<String> = files.iter().map(shown).collect();
    report.line("worlds", "worlds", names.join(", "), json!(names));
    report.time("served_ms", "served", start.elapsed());
    report.text_only("saved", "everything");
    Ok(report)
}

/// Asks a server for a copy of a world.
pub fn back_up(args: &BackupArgs) -> CliResult<Report> {
    let options =
        ClientOptions { token: args.token.clone().into_bytes(), ..ClientOptions::default() };
    let copy = Client::back_up(&args.address, &options).map_err(Failure::new)?;
    let mut report = Report::new("backup");
    report.line("copy", "copy", copy.display().to_string(), json!(copy.to_string_lossy()));
    Ok(report)
}

/// Tells where the server is, for people and for scripts.
fn announce(server: &Server) {
    let fingerprint: String =
        server.fingerprint().iter().map(|byte| format!("{byte:02x}")).collect();
    // If standard error is closed, guests still find it.
    let _ = writeln!(
        std::io::stderr(),
        "page http://{web}\nQUIC {}\nWebSocket ws://{web}\nfingerprint {fingerprint}\n\
         Ctrl-C saves and ends",
        server.quic_address(),
        web = server.http_address(),
    );
}

fn start_log(choice: LogChoice) {
    let level = match choice {
        LogChoice::Error => LevelFilter::ERROR,
        LogChoice::Warn => LevelFilter::WARN,
        LogChoice::Info => LevelFilter::INFO,
        LogChoice::Debug => LevelFilter::DEBUG,
    };
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false);
    log.with_max_level(level).with_target(false).init();
}

/// Reads the tokens of the arguments and of the file that they name.
fn access(args: &ServeArgs) -> CliResult<AccessList> {
    let mut access = AccessList::default();
    args.token.iter().for_each(|bearer| add(&mut access, bearer));
    if let Some(path) = &args.tokens {
        let text = fs::read_to_string(path).map_err(Failure::at(path))?;
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let parsed = token(line.trim());
            let bearer =
                parsed.map_err(|what| Failure::of(path, format!("line {number}: {what}")))?;
            add(&mut access, &bearer);
        }
        if access.is_open() {
            return Err(Failure::of(
                path,
                "has no token; give look:WORD, edit:WORD or administer:WORD on a line",
            ));
        }
    }
    Ok(access)
}

fn add(access: &mut AccessList, Bearer { right, word, name }: &Bearer) {
    match name {
        Some(name) => access.add_named(word.as_bytes(), *right, name),
        None => access.add(word.as_bytes(), *right),
    }
}

/// The folder of a world; the current one if it is in a database.
fn folder_of(file: &Path) -> PathBuf {
    let file = if world_store::is_address(file) { Path::new("") } else { file };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Returns the world file of an argument, which is made if it is not there.
///
/// # Errors
/// If there is no such file, or it cannot be imported.
fn world_file(world: &Path, console: &Console) -> CliResult<PathBuf> {
    if let Some(seed) = hills_seed(world)? {
        let file = PathBuf::from(format!("hills-{seed}.{WORLD_EXTENSION}"));
        if !file.exists() {
            generate::create_sparse(&file, seed, 1.0, false)?;
        }
        return Ok(file);
    }
    if world_store::is_address(world) || is_world_file(world)? {
        return Ok(world.to_owned());
    }
    let file = world.with_extension(WORLD_EXTENSION);
    if !file.exists() {
        let heightmap = HeightmapArgs::default();
        let import =
            ImportArgs { file: world.to_owned(), world: file.clone(), heightmap, force: false };
        import::run(&import, console)?;
    }
    Ok(file)
}

fn open(file: &Path, args: &ServeArgs) -> CliResult<ServedWorld> {
    let (store, share) = open_when_free(file, args)?;
    check_placement(file, &store.info())?;
    let hills = generator_of(&store).map_err(store_failure)?;
    let generate = hills.map(|hills| {
        Arc::new(move |request: &mut FillRequest<'_>| make_ground(Some(&hills), request))
            as Generate
    });
    let name = world_store::name(file);
    let placement = store.info().placement();
    let protected = args.protect.iter().map(|[min, max]| placement.region(*min, *max)).collect();
    Ok(ServedWorld { name, store, generate, protected, decide: None, share })
}

/// A store, and the columns of it that are written here, if others write the rest.
type OpenWorld = (Store, Option<Box<dyn ColumnLeases>>);

/// Opens a world of a database.
fn open_database(file: &Path, args: &ServeArgs) -> CliResult<Result<OpenWorld, StoreError>> {
    match &args.share {
        Some(server) => {
            let shared = world_store::share_database(file, &server.to_string())?;
            Ok(shared.map(|(store, share)| (store, Some(share))))
        }
        None => Ok(world_store::open_database(file)?.map(|store| (store, None))),
    }
}

/// Opens a world; with `--wait`, when no other server has it.
fn open_when_free(file: &Path, args: &ServeArgs) -> CliResult<OpenWorld> {
    if args.share.is_none() && !world_store::is_address(file) {
        // Any name is a world's, if its content is.
        return Ok((Store::open(file).map_err(store_failure)?, None));
    }
    let mut has_logged = false;
    loop {
        match open_database(file, args)? {
            Ok(opened) => return Ok(opened),
            Err(error @ StoreError::InUse { .. }) if args.wait => {
                if !has_logged {
                    info!("waiting: {error}");
                }
                has_logged = true;
                thread::sleep(RETRY_INTERVAL);
            }
            Err(error) => return Err(store_failure(error)),
        }
    }
}
