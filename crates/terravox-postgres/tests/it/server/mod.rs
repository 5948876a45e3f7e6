//! A PostgreSQL of our own: in a folder that goes away, on a port of this machine, run by an
//! ordinary user. Tests that find no PostgreSQL say so and pass, unless `TERRAVOX_REQUIRE_POSTGRES`
//! is set.

#![allow(dead_code)]

#[path = "ports.rs"]
pub mod ports;

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// User and group without rights of their own: PostgreSQL refuses to run as root.
const ORDINARY_ID: u32 = 65534;

pub const USER: &str = "terravox";
pub const PASSWORD: &str = "p@ss:word";

/// The password within an address.
const QUOTED_PASSWORD: &str = "p%40ss%3Aword";

/// Times that a start is tried: what a killed server left may take a moment to go away.
const STARTS: u32 = 100;

pub struct Server {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    settings: Vec<String>,
    child: Option<Child>,
}

/// The folder of the programs of PostgreSQL.
fn find_programs() -> Option<PathBuf> {
    let known = Command::new("pg_config").arg("--bindir").output().ok();
    let known = known.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = debian.map(|entry| entry.path().join("bin"));
    let mut folders: Vec<PathBuf> = known.map(PathBuf::from).into_iter().chain(debian).collect();
    folders.retain(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file());
    folders.into_iter().next()
}

/// Whether this process is root.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0)
}

/// A command that runs as an ordinary user.
fn ordinary(program: &Path) -> Command {
    let mut command = Command::new(program);
    if is_root() {
        command.uid(ORDINARY_ID).gid(ORDINARY_ID);
    }
    command.current_dir("/").env("LC_ALL", "C").stdin(Stdio::null());
    command
}

impl Server {
    /// Starts a server; `None`, aloud, if this machine has no PostgreSQL.
    pub fn start(name: &str) -> Option<Server> {
        // In memory where the system offers that: nothing here is about power cuts.
        let memory = PathBuf::from("/dev/shm");
        let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
        Server::start_in(&place, name, &[])
    }

    /// Starts a server in a folder in `place`, with settings, which may name files that are beside
    /// the data as `FOLDER`.
    pub fn start_in(place: &Path, name: &str, settings: &[&str]) -> Option<Server> {
        let Some(programs) = find_programs() else {
            let required = std::env::var_os("TERRAVOX_REQUIRE_POSTGRES").is_some();
            assert!(!required, "no PostgreSQL on this machine; apt-get install postgresql");
            eprintln!("SKIPPED: no PostgreSQL on this machine; apt-get install postgresql");
            return None;
        };
        let folder = place.join(format!("terravox-postgres-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let port = ports::free_port();
        let mut all = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            "unix_socket_directories=".to_owned(),
            "shared_buffers=32MB".to_owned(),
            // In the folder, so that a kill leaves nothing elsewhere.
            "dynamic_shared_memory_type=mmap".to_owned(),
        ];
        let shown = folder.display().to_string();
        all.extend(settings.iter().map(|setting| setting.replace("FOLDER", &shown)));
        let mut server = Server { programs, folder, port, settings: all, child: None };
        server.make();
        Some(server)
    }

    fn make(&mut self) {
        let word = self.folder.join("word");
        fs::write(&word, PASSWORD).unwrap();
        if is_root() {
            for path in [&self.folder, &word] {
                chown(path, Some(ORDINARY_ID), Some(ORDINARY_ID)).unwrap();
            }
        }
        let made = ordinary(&self.programs.join("initdb"))
            .args(["--no-sync", "--auth=scram-sha-256", "-U", USER, "--encoding=UTF8"])
            .arg("-D")
            .arg(self.data())
            .arg(format!("--pwfile={}", word.display()))
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
    }

    /// Puts a file beside the data, for the server alone.
    pub fn add_file(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        if is_root() {
            chown(&path, Some(ORDINARY_ID), Some(ORDINARY_ID)).unwrap();
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// A file beside the data.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Starts the server, and waits until it can be used.
    pub fn run(mut self) -> Server {
        self.restart();
        self
    }

    /// Starts the server again.
    pub fn restart(&mut self) {
        for _ in 0..STARTS {
            let mut command = ordinary(&self.programs.join("postgres"));
            command.arg("-D").arg(self.data()).arg("-p").arg(self.port.to_string());
            for setting in &self.settings {
                command.arg("-c").arg(setting);
            }
            let log = fs::File::create(self.folder.join("log")).unwrap();
            let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
            if self.is_up(child) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        panic!("PostgreSQL does not start: {log}");
    }

    /// Waits until a server that was started can be used; `false` if it ended.
    fn is_up(&mut self, mut child: Child) -> bool {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            let mut ready = Command::new(self.programs.join("pg_isready"));
            ready.args(["-q", "-h", "127.0.0.1", "-p"]).arg(self.port.to_string());
            if ready.status().unwrap().success() {
                self.child = Some(child);
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("PostgreSQL does not answer");
    }

    /// Ends the server without notice.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Ends the server in order, or without if that takes long.
    fn stop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let _ = Command::new("kill").arg("-INT").arg(child.id().to_string()).status();
        for _ in 0..STARTS {
            if matches!(child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.kill();
    }

    /// The processes of its connections.
    fn backends(&self) -> Vec<String> {
        let pid = self.child.as_ref().map(Child::id).unwrap();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        children.unwrap().split_whitespace().map(str::to_owned).collect()
    }

    /// Stops all of its processes, as a machine does that hangs; they go on with
    /// [`Server::resume`].
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    pub fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.as_ref().map(Child::id).unwrap().to_string();
        let backends = self.backends();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        // One of them may have ended since.
        let _ = Command::new("kill").arg(signal).args(backends).status();
    }

    /// The address of a world.
    pub fn address(&self, world: &str) -> String {
        self.address_in("postgres", world)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of a world behind another port.
    pub fn address_at(&self, port: u16, world: &str) -> String {
        self.address(world).replace(&format!(":{}/", self.port), &format!(":{port}/"))
    }

    pub fn address_in(&self, database: &str, world: &str) -> String {
        self.address_with(database, world, USER, QUOTED_PASSWORD)
    }

    pub fn address_with(&self, database: &str, world: &str, user: &str, word: &str) -> String {
        let port = self.port;
        format!("postgres://{user}:{word}@127.0.0.1:{port}/{database}#{world}")
    }

    /// Runs SQL and returns what it prints.
    pub fn sql(&self, sql: &str) -> String {
        self.sql_in("postgres", sql)
    }

    pub fn sql_in(&self, database: &str, sql: &str) -> String {
        let output = Command::new(self.programs.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-U", USER, "-p"])
            .arg(self.port.to_string())
            .args(["-d", database, "-c", sql])
            .env("PGPASSWORD", PASSWORD)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        // Its other processes may write until they have ended.
        for _ in 0..STARTS {
            if fs::remove_dir_all(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
