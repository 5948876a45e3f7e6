//! A server of our own that speaks the protocol of S3: moto, on a port of this machine. Tests that
//! find none say so and pass, unless `TERRAVOX_REQUIRE_MOTO` is set; `scripts/test-cluster install`
//! installs it.

#[path = "../../../../terravox-postgres/tests/it/server/ports.rs"]
mod ports;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What the server lets do everything.
const KEYS: [(&str, &str); 2] =
    [("AWS_ACCESS_KEY_ID", "terravox"), ("AWS_SECRET_ACCESS_KEY", "s3cret+/key")];

/// How long a server may take to start.
const START_TIME: Duration = Duration::from_secs(60);

pub struct Moto {
    folder: PathBuf,
    port: u16,
    child: Child,
    scheme: &'static str,
}

fn find_programs() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/moto/bin");
    let given = std::env::var_os("TERRAVOX_MOTO").map(PathBuf::from);
    let mut folders = given.into_iter().chain([here]);
    folders.find(|folder| folder.join("moto_server").is_file())
}

impl Moto {
    /// Starts a server, with TLS if `is_tls`; `None`, aloud, if this machine has none.
    pub fn start(name: &str, is_tls: bool) -> Option<Moto> {
        let Some(programs) = find_programs() else {
            let required = std::env::var_os("TERRAVOX_REQUIRE_MOTO").is_some();
            assert!(!required, "no moto on this machine; scripts/test-cluster install");
            eprintln!("SKIPPED: no moto on this machine; scripts/test-cluster install");
            return None;
        };
        let folder =
            std::env::temp_dir().join(format!("terravox-s3-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let port = ports::free_port();
        let mut command = Command::new(programs.join("python"));
        command.arg(programs.join("moto_server")).args(["-H", "127.0.0.1", "-p"]);
        command.arg(port.to_string());
        let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.join(name));
        if is_tls {
            let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
            fs::write(&certificate, made.cert.pem()).unwrap();
            fs::write(&key, made.signing_key.serialize_pem()).unwrap();
            command.arg("-c").arg(&certificate).arg("-k").arg(&key);
        }
        let log = fs::File::create(folder.join("log")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().unwrap();
        let scheme = if is_tls { "https" } else { "http" };
        let moto = Moto { folder, port, child, scheme };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < START_TIME, "moto does not start: {}", moto.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        moto.python("s3.create_bucket(Bucket='worlds')");
        Some(moto)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// A file that goes away with the server.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn certificate(&self) -> PathBuf {
        self.file("certificate.pem")
    }

    pub fn address(&self, world: &str) -> String {
        let Moto { port, scheme, .. } = self;
        format!("s3://worlds/{world}?endpoint={scheme}://localhost:{port}")
    }

    /// Runs lines of Python with `s3`, the client of Amazon, and returns what they print.
    pub fn python(&self, script: &str) -> String {
        let Moto { port, scheme, .. } = self;
        let client = format!(
            "import boto3\ns3 = boto3.client('s3', endpoint_url='{scheme}://localhost:{port}', \
             region_name='us-east-1', verify=False)\n{script}"
        );
        let programs = find_programs().unwrap();
        let mut command = Command::new(programs.join("python"));
        let output = command.args(["-W", "ignore", "-c", &client]).envs(KEYS).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}\n{}", self.log());
        String::from_utf8(output.stdout).unwrap()
    }

    /// From now on, keys that the server does not know may do nothing.
    pub fn check_keys(&self) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = "POST /moto-api/reset-auth HTTP/1.1\r\nHost: localhost\r\n\
                       Connection: close\r\nContent-Length: 1\r\n\r\n0";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// A test of this binary as another process, with keys.
    pub fn run(&self, test: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
        command.envs(KEYS).env("TERRAVOX_S3_ADDRESS", self.address("hills"));
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        command
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
