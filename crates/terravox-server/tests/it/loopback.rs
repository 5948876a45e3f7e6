//! Worlds that several people dig.

use crate::waves::{
    Folder, Outcome, all_settled, growing, material, options, quic, serve_air, until, waves,
    waves_world,
};
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use terravox::edit::EditOp;
use terravox::replicate::{HostOptions, Refusal, Verdict};
use terravox::voxel::{DenseBox, MipBlock, Region, VoxelPos};
use terravox_server::{
    AccessList, Client, ClientError, ClientOptions, EditAuthor, Generate, Right, ServedWorld,
    Server, ServerOptions, ServerReason, Transport, WorldAddress,
};
use terravox_store::Store;

/// The rules of a game: only administrators dig deep.
fn no_shafts(author: EditAuthor<'_>, op: &EditOp) -> Verdict {
    match op.region() {
        Ok(region) if region.min.y < -100 && author.right < Right::Administer => {
            Verdict::Refuse(format!("too deep, {}", author.name).into())
        }
        _ => Verdict::Accept,
    }
}

/// Serves a world of waves, which is made on the first start.
fn serve(folder: &Path, access: AccessList) -> Result<Server, Box<dyn Error>> {
    let world = ServedWorld {
        protected: vec![Region::new([100, -32, 0], [132, 32, 32])],
        decide: Some(Box::new(no_shafts)),
        ..waves_world(folder)?
    };
    let options = ServerOptions { access, ..options(folder) };
    Ok(Server::start(vec![world], options)?)
}

fn web_socket(server: &Server) -> WorldAddress {
    format!("ws://{}/waves", server.http_address()).parse().expect("an address")
}

/// Blocks that both hold, all of them equal.
fn count_equal_blocks(a: &mut Client, b: &mut Client) -> usize {
    let [mut here, mut there] = [DenseBox::default(), DenseBox::default()];
    let blocks: Vec<MipBlock> = a.guest().blocks().collect();
    let mut count = 0;
    for block in blocks {
        if a.guest().read(block, waves, &mut here) && b.guest().read(block, waves, &mut there) {
            assert!(here == there, "block {block} differs");
            count += 1;
        }
    }
    count
}

#[test]
fn two_clients_dig_one_loses_the_link_the_server_restarts_and_all_are_equal_slow() -> Outcome {
    let folder = Folder::new("restart");
    let server = serve(&folder.0, AccessList::default())?;
    let mut ada = Client::connect(&quic(&server), ClientOptions::default())?;
    let mut ben = Client::connect(&web_socket(&server), ClientOptions::default())?;
    until(&mut [&mut ada, &mut ben], all_settled)?;
    assert_eq!(material(&mut ben, [0, -4, 0]), Some(8));
    ada.guest().edit(&EditOp::dig_ball([0.0, 0.0, 0.0], 6.0))?;
    until(&mut [&mut ada, &mut ben], |clients| {
        all_settled(clients) && clients.iter_mut().all(|c| material(c, [0, -4, 0]) == Some(0))
    })?;

    drop(ben);
    ada.guest().edit(&EditOp::fill_ball(17, [10.0, 10.0, 0.0], 4.0))?;
    until(&mut [&mut ada], all_settled)?;
    server.stop()?;
    let ended = loop {
        if let Err(error) = ada.poll(waves) {
            break error.to_string();
        }
    };
    assert!(ended.contains("the server ends"), "{ended}");

    let server = serve(&folder.0, AccessList::default())?;
    let mut ada = Client::connect(&quic(&server), ClientOptions::default())?;
    let mut ben = Client::connect(&web_socket(&server), ClientOptions::default())?;
    until(&mut [&mut ada, &mut ben], all_settled)?;
    assert_eq!(material(&mut ada, [10, 10, 0]), Some(17));
    assert_eq!(material(&mut ben, [0, -4, 0]), Some(0));
    assert!(count_equal_blocks(&mut ada, &mut ben) > 50);
    Ok(server.stop()?)
}

#[test]
fn a_client_that_reconnects_keeps_its_world() -> Outcome {
    let folder = Folder::new("reconnect");
    let server = serve(&folder.0, AccessList::default())?;
    let mut ada = Client::connect(&quic(&server), ClientOptions::default())?;
    let mut ben = Client::connect(&quic(&server), ClientOptions::default())?;
    until(&mut [&mut ada, &mut ben], all_settled)?;
    ada.guest().edit(&EditOp::dig_ball([0.0, 0.0, 0.0], 6.0))?;
    until(&mut [&mut ada], all_settled)?;
    ben.reconnect()?;
    until(&mut [&mut ada, &mut ben], |clients| {
        all_settled(clients) && material(clients[1], [0, -4, 0]) == Some(0)
    })?;
    assert!(count_equal_blocks(&mut ada, &mut ben) > 50);
    Ok(server.stop()?)
}

/// Why the server refused an operation.
fn refused_for(error: &(dyn Error + 'static)) -> Option<ServerReason> {
    ServerReason::of_refusal(error.downcast_ref::<Refusal>()?.code)
}

#[test]
fn tokens_say_who_may_look_and_who_may_edit() -> Outcome {
    let folder = Folder::new("tokens");
    let mut access = AccessList::default();
    access.add("visitor", Right::Look);
    access.add("builder", Right::Edit);
    access.add("keeper", Right::Administer);
    let server = serve(&folder.0, access)?;
    let connect = |token: &[u8], address: &WorldAddress| {
        Client::connect(address, ClientOptions { token: token.to_vec(), ..Default::default() })
    };
    for address in [quic(&server), web_socket(&server)] {
        let mut stranger = connect(b"guess", &address)?;
        let error = until(&mut [&mut stranger], |_| false).expect_err("refused");
        let end = error.downcast_ref::<ClientError>().and_then(ClientError::link_end);
        // The socket may be closed before the last packet of the world is read.
        let why = end.and_then(ServerReason::of_link_end);
        assert!(matches!(why, None | Some(ServerReason::UnknownToken)), "{why:?}");
        assert!(error.to_string().contains("token"), "{error}");
        let mut visitor = connect(b"visitor", &address)?;
        until(&mut [&mut visitor], all_settled)?;
        visitor.guest().edit(&EditOp::dig_ball([0.0; 3], 3.0))?;
        let error = until(&mut [&mut visitor], |_| false).expect_err("refused");
        assert_eq!(refused_for(&*error), Some(ServerReason::LookOnly));
        assert!(error.to_string().contains("looking"), "{error}");
        let mut builder = connect(b"builder", &address)?;
        until(&mut [&mut builder], all_settled)?;
        builder.guest().edit(&EditOp::dig_ball([0.0; 3], 3.0))?;
        until(&mut [&mut builder], all_settled)?;
        // Its lowest corner is one voxel inside the protected box.
        builder.guest().edit(&EditOp::dig_ball([98.0, 0.0, 9.0], 3.0))?;
        let error = until(&mut [&mut builder], |_| false).expect_err("refused");
        assert_eq!(refused_for(&*error), Some(ServerReason::Protected));
        assert!(error.to_string().contains("protected"), "{error}");
        builder.guest().edit(&EditOp::dig_ball([0.0, -99.0, 0.0], 3.0))?;
        let error = until(&mut [&mut builder], |_| false).expect_err("refused").to_string();
        assert!(error.contains("too deep, 127.0.0.1"), "{error}");
        let mut keeper = connect(b"keeper", &address)?;
        until(&mut [&mut keeper], all_settled)?;
        keeper.guest().edit(&EditOp::dig_ball([98.0, 0.0, 9.0], 3.0))?;
        until(&mut [&mut keeper], all_settled)?;
    }
    let mut stream = TcpStream::connect(server.http_address())?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let text = read_to_end(stream);
    assert!(text.contains("terravox_refused_tokens_total{world=\"waves\"} 2\n"), "{text}");
    Ok(server.stop()?)
}

#[test]
fn a_server_that_others_can_reach_needs_tokens() -> Outcome {
    let folder = Folder::new("open");
    let options = ServerOptions { address: [0, 0, 0, 0].into(), ..options(&folder.0) };
    let error = serve_air(&folder.0, "a", options).err().ok_or("it started")?.to_string();
    assert!(error.contains("tokens"), "{error}");
    Ok(())
}

#[test]
fn a_wrong_fingerprint_ends_the_connection() -> Outcome {
    let folder = Folder::new("fingerprint");
    let server = serve(&folder.0, AccessList::default())?;
    let with = |fingerprint| ClientOptions { fingerprint, ..ClientOptions::default() };
    let wrong = Client::connect(&quic(&server), with(Some([7; 32]))).err().ok_or("it connects")?;
    assert!(!wrong.is_transient() && wrong.to_string().contains("expected server"), "{wrong}");
    let other = WorldAddress { world: "caves".into(), ..quic(&server) };
    let mut lost = Client::connect(&other, with(None))?;
    let gone = loop {
        if let Err(gone) = lost.poll(waves) {
            break gone;
        }
    };
    assert!(!gone.is_transient() && gone.to_string().contains("no world"), "{gone}");
    let mut known = Client::connect(&quic(&server), with(Some(server.fingerprint())))?;
    until(&mut [&mut known], all_settled)?;
    Ok(server.stop()?)
}

#[test]
fn a_world_that_is_not_there_and_nonsense_are_answered_with_a_reason() -> Outcome {
    let folder = Folder::new("nonsense");
    let server = serve(&folder.0, AccessList::default())?;
    let other = WorldAddress { world: "caves".into(), ..web_socket(&server) };
    let error = Client::connect(&other, ClientOptions::default()).err().ok_or("it is there")?;
    assert!(
        !error.is_transient() && error.to_string().contains("no world of this name"),
        "{error}"
    );
    let mut health = String::new();
    let mut stream = TcpStream::connect(server.http_address())?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    stream.read_to_string(&mut health)?;
    assert!(health.contains("terravox_guests{world=\"waves\"} 0"), "{health}");
    Ok(server.stop()?)
}

#[test]
fn a_server_without_tokens_is_not_for_those_who_come_by_another_name() -> Outcome {
    let folder = Folder::new("names");
    let server = serve_air(&folder.0, "a", options(&folder.0))?;
    let ask = |request: &str, host: &str| -> Result<String, Box<dyn Error>> {
        let mut stream = TcpStream::connect(server.http_address())?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.write_all(format!("{request} HTTP/1.1\r\nHost: {host}\r\n").as_bytes())?;
        stream.write_all(
            b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
              Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        )?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        Ok(String::from_utf8_lossy(&status).into_owned())
    };
    // As a TCP proxy passes it on.
    for request in ["GET /link", "POST /backup", "GET /journal", "GET /metrics"] {
        assert_eq!(ask(request, "dig.example.org")?, "HTTP/1.1 403", "{request}");
    }
    assert_eq!(ask("GET /link", "localhost")?, "HTTP/1.1 101");
    assert_eq!(ask("POST /backup", "127.0.0.1:4077")?, "HTTP/1.1 200");
    Ok(server.stop()?)
}

/// All that a server sends on a connection, until it ends it.
fn read_to_end(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    // One that is refused before it is read ends with an error.
    let _ = stream.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn connections_that_ask_for_nothing_count_and_are_ended() -> Outcome {
    let folder = Folder::new("half-open");
    // All of them are made before the first one is ended, also on a busy machine.
    let patience = Duration::from_secs(5);
    let options = ServerOptions { patience, max_connections: 24, ..options(&folder.0) };
    // Those that ask for nothing may be half of all.
    let server = serve_air(&folder.0, "a", options)?;
    let mut half_open = Vec::new();
    for number in 0..12 {
        let mut stream = TcpStream::connect(server.http_address())?;
        // Some say nothing at all, some never end.
        if number % 2 == 0 {
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: ")?;
        }
        half_open.push(stream);
    }
    let refused = read_to_end(TcpStream::connect(server.http_address())?);
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("too many"), "{refused}");
    assert!(Client::connect(&quic(&server), ClientOptions::default()).is_err());
    for stream in half_open {
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let end = read_to_end(stream);
        assert!(end.is_empty() || end.starts_with("HTTP/1.1 408"), "{end}");
    }
    // All are gone; a connection serves one request, so that it does not stay.
    let mut health = TcpStream::connect(server.http_address())?;
    health.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")?;
    let text = read_to_end(health);
    assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("ok\n"), "{text}");
    // By it, the page knows the server from a proxy before it.
    assert!(text.contains("\r\nterravox-server: yes\r\n"), "{text}");
    let mut client = Client::connect(&quic(&server), ClientOptions::default())?;
    client.poll(waves)?;
    Ok(server.stop()?)
}

#[test]
fn a_guest_that_does_not_greet_is_told_so() -> Outcome {
    let folder = Folder::new("silent");
    // The second guest greets in time.
    let patience = Duration::from_secs(3);
    let options = ServerOptions { patience, ..options(&folder.0) };
    let server = serve_air(&folder.0, "a b", options)?;
    // The name of the world has a space.
    let mut stream = TcpStream::connect(server.http_address())?;
    stream.write_all(
        b"GET /link/a%20b HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
          Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    )?;
    let text = read_to_end(stream);
    assert!(text.contains("no greeting came in time"), "{text}");
    let named = WorldAddress { world: "a b".into(), ..web_socket(&server) };
    let mut client = Client::connect(&named, ClientOptions::default())?;
    client.poll(waves)?;
    Ok(server.stop()?)
}

#[test]
fn a_world_is_backed_up_while_it_is_dug_slow() -> Outcome {
    let folder = Folder::new("backup");
    let mut access = AccessList::default();
    access.add("builder", Right::Edit);
    access.add("keeper", Right::Administer);
    let server = serve(&folder.0, access)?;
    let with = |token: &str| ClientOptions { token: token.into(), ..ClientOptions::default() };
    let mut ada = Client::connect(&quic(&server), with("builder"))?;
    until(&mut [&mut ada], all_settled)?;
    ada.guest().edit(&EditOp::fill_ball(17, [0.0, 20.0, 0.0], 4.0))?;
    until(&mut [&mut ada], all_settled)?;
    // The scheme does not matter; by default both have one port.
    let address = WorldAddress { transport: Transport::Quic, ..web_socket(&server) };
    for (token, reason) in [("builder", "not for administering"), ("guess", "not known")] {
        let refused = Client::back_up(&address, &with(token)).err().ok_or("allowed")?;
        assert!(refused.to_string().contains(reason), "{refused}");
    }
    // What was confirmed before it is in it; a save is not waited for.
    let copy = Client::back_up(&address, &with("keeper"))?;
    ada.guest().edit(&EditOp::fill_ball(18, [0.0, 20.0, 0.0], 4.0))?;
    until(&mut [&mut ada], all_settled)?;
    let mut cells = DenseBox::default();
    let centre = VoxelPos::from([0, 20, 0]);
    let store = Store::open(&copy)?;
    store.cells(Region::one(centre), 0, &mut cells)?;
    assert_eq!(cells.cell(centre).material, 17);
    assert!(store.verify()?.bad.is_empty());
    let other = WorldAddress { world: "caves".into(), ..address };
    let unknown = Client::back_up(&other, &with("keeper")).err().ok_or("it is there")?;
    assert!(unknown.to_string().contains("no world of this name"), "{unknown}");
    Ok(server.stop()?)
}

#[test]
fn a_world_whose_generator_panics_stops_alone_and_says_so() -> Outcome {
    let folder = Folder::new("panic");
    let served = |name: &str, generate: Generate| -> Result<ServedWorld, Box<dyn Error>> {
        let (store, name) = (growing(&folder.0, name)?, name.to_owned());
        Ok(ServedWorld {
            name,
            store,
            generate: Some(generate),
            protected: vec![],
            decide: None,
            share: None,
        })
    };
    let faulty: Generate = Arc::new(|request| {
        assert!(request.block().pos.x < 1000, "a fault of the generator");
        waves(request);
    });
    let worlds = vec![served("faulty", faulty)?, served("waves", Arc::new(waves))?];
    let server = Server::start(worlds, options(&folder.0))?;
    let mut ada = Client::connect(&quic(&server), ClientOptions::default())?;
    until(&mut [&mut ada], all_settled)?;
    ada.guest().edit(&EditOp::fill_ball(17, [0.0, 20.0, 0.0], 4.0))?;
    until(&mut [&mut ada], all_settled)?;
    ada.guest().edit(&EditOp::fill_ball(17, [32_500.0, 20.0, 0.0], 4.0))?;
    let told = until(&mut [&mut ada], |_| false).expect_err("the world stops").to_string();
    assert!(told.contains("has stopped"), "{told}");
    let mut health = TcpStream::connect(server.http_address())?;
    health.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")?;
    let text = read_to_end(health);
    assert!(text.starts_with("HTTP/1.1 503") && text.contains("faulty"), "{text}");
    // Who comes now is told as well, and the other world goes on.
    let mut ben = Client::connect(&quic(&server), ClientOptions::default())?;
    let told = until(&mut [&mut ben], |_| false).expect_err("it has stopped").to_string();
    assert!(told.contains("has stopped"), "{told}");
    let mut cid = Client::connect(&web_socket(&server), ClientOptions::default())?;
    until(&mut [&mut cid], all_settled)?;
    let failed = server.stop().expect_err("a world has stopped").to_string();
    assert!(failed.contains("faulty") && !failed.contains("waves"), "{failed}");
    // What was edited before the fault is saved.
    let mut cells = DenseBox::default();
    let centre = VoxelPos::from([0, 20, 0]);
    Store::open(folder.0.join("faulty.tvx"))?.cells(Region::one(centre), 0, &mut cells)?;
    assert_eq!(cells.cell(centre).material, 17);
    Ok(())
}

#[test]
fn options_that_a_world_cannot_have_are_refused_at_the_start() -> Outcome {
    let folder = Folder::new("options");
    let host = HostOptions { max_mip: 9, ..HostOptions::default() };
    let options = ServerOptions { host, ..options(&folder.0) };
    let error = serve_air(&folder.0, "a", options).err().ok_or("it started")?.to_string();
    assert!(error.contains("max_mip is 9; at most 8"), "{error}");
    Ok(())
}

#[test]
fn a_flood_of_pings_that_are_never_read_ends_the_connection() -> Outcome {
    let folder = Folder::new("pings");
    let server = serve_air(&folder.0, "a", options(&folder.0))?;
    let mut stream = TcpStream::connect(server.http_address())?;
    stream.write_all(
        b"GET /link HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
          Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    )?;
    // A ping of 125 bytes, masked with zeros.
    let ping = [&[0x89, 0x80 | 125, 0, 0, 0, 0], [7; 125].as_slice()].concat();
    stream.set_write_timeout(Some(Duration::from_secs(30)))?;
    let sent = (0..400_000).take_while(|_| stream.write_all(&ping).is_ok()).count();
    assert!(sent < 400_000, "the server takes pings for ever");
    Ok(server.stop()?)
}

/// Bytes of this process that are in memory.
#[cfg(target_os = "linux")]
fn resident_bytes() -> Result<usize, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no line VmRSS")?;
    Ok(kib.parse::<usize>()? << 10)
}

#[cfg(target_os = "linux")]
#[test]
fn a_web_socket_that_says_nothing_takes_little_memory() -> Outcome {
    let folder = Folder::new("memory");
    let server = serve_air(&folder.0, "a", options(&folder.0))?;
    let open = || -> Result<TcpStream, Box<dyn Error>> {
        let mut stream = TcpStream::connect(server.http_address())?;
        stream.write_all(
            b"GET /link HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
              Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
              Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        )?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        assert_eq!(&status, b"HTTP/1.1 101");
        Ok(stream)
    };
    let rest = || std::thread::sleep(Duration::from_millis(500));
    let first = (0..40).map(|_| open()).collect::<Result<Vec<_>, _>>()?;
    rest();
    let before = resident_bytes()?;
    let more = (0..160).map(|_| open()).collect::<Result<Vec<_>, _>>()?;
    rest();
    let each = resident_bytes()?.saturating_sub(before) / more.len();
    assert!(each < 64 << 10, "{each} bytes for each of {}", first.len() + more.len());
    Ok(server.stop()?)
}

#[test]
fn the_page_and_all_that_it_names_are_served_and_nothing_else() -> Outcome {
    let folder = Folder::new("page");
    let server = serve_air(&folder.0, "a", options(&folder.0))?;
    let get = |path: &str| -> Result<Vec<u8>, Box<dyn Error>> {
        let mut stream = TcpStream::connect(server.http_address())?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response)?;
        Ok(response)
    };
    let names = [("index-", "js"), ("worker-", "js"), ("terravox_bg-", "wasm"), ("index-", "css")];
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/dist/assets");
    let mut served = 0;
    for entry in std::fs::read_dir(dist)? {
        let name = entry?.file_name().into_string().map_err(|_| "a name that is not UTF-8")?;
        let name = name.strip_suffix(".br").ok_or("a file that is not compressed")?;
        assert!(names.iter().any(|(start, end)| name.starts_with(start) && name.ends_with(end)));
        let response = get(&format!("/assets/{name}"))?;
        let head = String::from_utf8_lossy(&response[..600.min(response.len())]).into_owned();
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("immutable"), "{name}: {head}");
        served += 1;
    }
    assert_eq!(served, names.len());
    let index = get("/")?;
    let head = String::from_utf8_lossy(&index).into_owned();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("default-src 'none'"), "{head}");
    for path in ["/assets/no.js", "/assets/..%2findex.html", "/index.html"] {
        assert!(get(path)?.starts_with(b"HTTP/1.1 404"), "{path}");
    }
    Ok(server.stop()?)
}
