//! `serve` and `backup`: lets many people see and dig worlds, and copies them meanwhile.

use super::{generate, import};
use crate::args::{
    BackupArgs, Bearer, BoxArgs, HeightmapArgs, ImportArgs, LogChoice, ServeArgs, token,
};
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::interrupts;
use crate::lod_view::{generator_of, make_ground, seeded};
use crate::log::Log;
use crate::report::Report;
use crate::world::{WORLD_EXTENSION, check_placement, is_world_file, store_failure, unreadable};
use crate::world_store;
use serde_json::json;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use terravox::replicate::HostOptions;
use terravox::terrain::FillRequest;
use terravox_server::{
    AccessList, Client, ClientOptions, Generate, ServedWorld, Server, ServerOptions, WorldAddress,
};
use terravox_store::{ColumnLeases, Store, StoreError};
use tracing::{info, warn};
use tracing_subscriber::filter::LevelFilter;

/// Between two attempts to open a world that another server has. Each attempt also waits for its
/// lease.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

pub fn run(args: &ServeArgs, console: &Console) -> CliResult<Report> {
    let access = access(args)?;
    if access.is_open() && !args.address.is_loopback() {
        // Before any import.
        return Err(Failure::new(format!(
            "{} can be reached from other machines: add --tokens FILE, or leave out --address",
            args.address
        )));
    }
    if args.share.is_some() {
        // Before any of them is made.
        args.worlds.iter().try_for_each(|world| world_store::check_shareable(world))?;
    }
    let files: CliResult<Vec<PathBuf>> =
        args.worlds.iter().map(|world| world_file(world, console)).collect();
    let files = files?;
    let log = start_log(args.log)?;
    let served = serve(args, &files, access, &log);
    log.flush();
    served
}

fn serve(args: &ServeArgs, files: &[PathBuf], access: AccessList, log: &Log) -> CliResult<Report> {
    let stores = open_all(files, args.wait, |file| try_open(file, args), thread::sleep)?;
    let served = files.iter().zip(stores).map(|(file, store)| served(file, store, args));
    let served: CliResult<Vec<ServedWorld>> = served.collect();
    let served = served?;
    let names: Vec<String> = served.iter().map(|world| world.name.clone()).collect();
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
        host: HostOptions { edits_per_s: args.edits_per_second, ..HostOptions::default() },
        certificate_folder,
        backup_folder,
        journal_bytes: args.journal << 20,
        ..ServerOptions::default()
    };
    let server = Server::start(served, options).map_err(Failure::new)?;
    interrupts::hand_over(server.ender());
    let port = server.quic_address().port();
    if let Some(what) = args.share.as_ref().and_then(|share| port_warning(share, port)) {
        warn!("{what}");
    }
    announce(&server, &names, args, log);
    let ended = server.run();
    // Of a backup that was still written. Held to the end, so that no other is begun.
    std::mem::forget(terravox_store::remove_partial_files());
    ended.map_err(|error| Failure::new(error).after_change())?;
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

/// A warning if guests are sent to another port than this server has.
fn port_warning(share: &WorldAddress, port: u16) -> Option<String> {
    let told = share.port;
    (told != port).then(|| {
        format!(
            "--share {share} sends guests to port {told}, and this server listens on {port}: \
             forward {told} to it, or give --port {told}"
        )
    })
}

/// Tells where the server is, for people and for scripts.
fn announce(server: &Server, names: &[String], args: &ServeArgs, log: &Log) {
    let worlds = if names.len() == 1 { "world" } else { "worlds" };
    let share = args.share.as_ref().map(|share| format!(", shared as {share}"));
    let fingerprint: String =
        server.fingerprint().iter().map(|byte| format!("{byte:02x}")).collect();
    let web = server.http_address();
    let note = match web.ip().is_unspecified() {
        true => format!("{} is every address of this machine; others use its name\n", web.ip()),
        false => String::new(),
    };
    log.push(&format!(
        "{worlds} {}{}\npage http://{web}\nQUIC {}\nWebSocket ws://{web}\nfingerprint {fingerprint}\n{note}\
         Ctrl-C saves and ends\n",
        names.join(", "),
        share.unwrap_or_default(),
        server.quic_address(),
    ));
}

fn start_log(choice: LogChoice) -> CliResult<Log> {
    let level = match choice {
        LogChoice::Error => LevelFilter::ERROR,
        LogChoice::Warn => LevelFilter::WARN,
        LogChoice::Info => LevelFilter::INFO,
        LogChoice::Debug => LevelFilter::DEBUG,
    };
    Log::start(level).map_err(|error| Failure::new(format!("no thread for the log: {error}")))
}

/// Reads the tokens of the arguments and of the file that they name.
fn access(args: &ServeArgs) -> CliResult<AccessList> {
    let mut access = AccessList::default();
    args.token.iter().for_each(|bearer| add(&mut access, bearer));
    if let Some(path) = &args.tokens {
        let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parsed = token(line);
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
    if let Some(seeded) = seeded(world)? {
        // hills-7.tvx, world-7-fjords.tvx.
        let name = seeded.to_string().replace([':', ',', '='], "-");
        let file = PathBuf::from(format!("{name}.{WORLD_EXTENSION}"));
        if !file.exists() {
            generate::create_sparse(&file, &seeded, 1.0, false)?;
        }
        return Ok(file);
    }
    if world_store::is_address(world) || is_world_file(world)? {
        return Ok(world.to_owned());
    }
    let file = world.with_extension(WORLD_EXTENSION);
    if !file.exists() {
        let import = ImportArgs {
            file: world.to_owned(),
            world: file.clone(),
            heightmap: HeightmapArgs::default(),
            blocks: None,
            part: BoxArgs::default(),
            force: false,
        };
        import::run(&import, console)?;
    }
    Ok(file)
}

fn served(file: &Path, (store, share): OpenWorld, args: &ServeArgs) -> CliResult<ServedWorld> {
    check_placement(file, &store.info())?;
    let seeded = generator_of(&store).map_err(store_failure)?;
    let generate = seeded.map(|seeded| {
        Arc::new(move |request: &mut FillRequest<'_>| make_ground(Some(&seeded), request))
            as Generate
    });
    let name = world_store::name(file);
    let placement = store.info().placement();
    let protected = args.protect.iter().map(|[min, max]| placement.region(*min, *max)).collect();
    Ok(ServedWorld { name, store, generate, protected, decide: None, share })
}

/// A store, and the columns of it that are written here, if others write the rest.
type OpenWorld = (Store, Option<Box<dyn ColumnLeases>>);

/// Opens a world for writing. The inner result is that of one in a database, which may be waited
/// for.
fn try_open(file: &Path, args: &ServeArgs) -> CliResult<Result<OpenWorld, StoreError>> {
    if let Some(server) = &args.share {
        let shared = world_store::share_database(file, &server.to_string())?;
        return Ok(shared.map(|(store, share)| (store, Some(share))));
    }
    let opened = match world_store::is_address(file) {
        true => world_store::open_database(file)?,
        // Any name is a world's, if its content is.
        false => Ok(Store::open(file).map_err(store_failure)?),
    };
    Ok(opened.map(|store| (store, None)))
}

/// Opens all worlds. `waits`: until no other server has one of them. None is held meanwhile, and
/// all servers open in the same order, so that two never wait for each other.
fn open_all<T>(
    files: &[PathBuf],
    waits: bool,
    try_open: impl Fn(&Path) -> CliResult<Result<T, StoreError>>,
    sleep: impl Fn(Duration),
) -> CliResult<Vec<T>> {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|&i| world_store::shown(&files[i]));
    if let Some(pair) = order.windows(2).find(|pair| files[pair[0]] == files[pair[1]]) {
        let what = format!("{} is given twice", world_store::shown(&files[pair[0]]).display());
        return Err(Failure::new(what));
    }
    let mut has_logged = false;
    loop {
        let mut opened: Vec<(usize, T)> = Vec::new();
        let mut in_use = None;
        for &i in &order {
            match try_open(&files[i])? {
                Ok(world) => opened.push((i, world)),
                Err(error @ StoreError::InUse { .. }) if waits => {
                    in_use = Some(error);
                    break;
                }
                Err(error) => return Err(store_failure(error)),
            }
        }
        let Some(error) = in_use else {
            opened.sort_by_key(|(i, _)| *i);
            return Ok(opened.into_iter().map(|(_, world)| world).collect());
        };
        let held_others = !opened.is_empty();
        drop(opened);
        if !has_logged {
            info!("waiting: {error}");
        }
        has_logged = true;
        // A database has several names, and so other orders: two servers must not keep in step.
        let steps = if held_others { 1 + RandomState::new().hash_one(0) % 16 } else { 1 };
        sleep(RETRY_INTERVAL * steps as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::{Mutex, PoisonError};

    #[test]
    fn a_shared_address_with_another_port_is_warned_of() {
        let share: WorldAddress = "dig1.example.org:4077".parse().unwrap();
        assert_eq!(port_warning(&share, 4077), None);
        let warning = port_warning(&share, 45041).unwrap();
        let words = ["dig1.example.org:4077", "listens on 45041", "give --port 4077"];
        assert!(words.iter().all(|word| warning.contains(word)), "{warning}");
    }

    /// Worlds of a database that servers have.
    #[derive(Default)]
    struct Database(Mutex<HashSet<PathBuf>>);

    impl Database {
        fn held(&self) -> std::sync::MutexGuard<'_, HashSet<PathBuf>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        fn try_open(&self, world: &Path) -> CliResult<Result<HeldWorld<'_>, StoreError>> {
            let path = world.to_owned();
            match self.held().insert(path.clone()) {
                true => Ok(Ok(HeldWorld { database: self, path })),
                false => Ok(Err(StoreError::InUse { path, writer: None })),
            }
        }
    }

    struct HeldWorld<'a> {
        database: &'a Database,
        path: PathBuf,
    }

    impl Drop for HeldWorld<'_> {
        fn drop(&mut self) {
            self.database.held().remove(&self.path);
        }
    }

    fn worlds(names: &str) -> Vec<PathBuf> {
        names.split(' ').map(|name| PathBuf::from(format!("postgres://h/w#{name}"))).collect()
    }

    #[test]
    fn servers_with_other_orders_of_worlds_get_them_one_after_the_other() {
        let database = Database::default();
        thread::scope(|scope| {
            for names in ["a b c", "c b a", "b a", "c a"] {
                let database = &database;
                scope.spawn(move || {
                    let files = worlds(names);
                    for _ in 0..20 {
                        let pause = |_| thread::yield_now();
                        let open = |file: &Path| database.try_open(file);
                        let opened = open_all(&files, true, open, pause).unwrap();
                        let paths: Vec<_> = opened.iter().map(|world| world.path.clone()).collect();
                        assert_eq!(paths, files, "in the order of the arguments");
                    }
                });
            }
        });
        assert!(database.held().is_empty());
    }

    #[test]
    fn who_waits_for_one_world_holds_no_other() {
        let database = Database::default();
        let other = database.try_open(&worlds("b")[0]).unwrap().unwrap();
        let other = Mutex::new(Some(other));
        // In the pause only the other server has a world, which then ends.
        let pause = |_| {
            assert_eq!(*database.held(), HashSet::from([worlds("b")[0].clone()]));
            let ended = other.lock().unwrap().take();
            drop(ended);
        };
        let open = |file: &Path| database.try_open(file);
        assert_eq!(open_all(&worlds("a b"), true, open, pause).unwrap().len(), 2);
        let _other = database.try_open(&worlds("b")[0]).unwrap().unwrap();
        let error = open_all(&worlds("a b"), false, open, |_| unreachable!()).err().unwrap();
        assert!(error.to_string().contains("#b"), "{error}");
        assert_eq!(database.held().len(), 1);
    }
}
