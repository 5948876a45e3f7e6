//! Servers and clients over loopback sockets.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::replicate::{GuestEvent, Interest};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{DenseBox, MipBlock, VoxelPos};
use terravox_server::{
    AccessList, Client, ClientOptions, Right, ServedWorld, Server, ServerOptions, WorldAddress,
};
use terravox_store::{Generator, Overwrite, Store, WorldInfo};

type Outcome = Result<(), Box<dyn Error>>;

fn waves(request: &mut FillRequest<'_>) {
    request.fill_height(8, -8.0..=8.0, |x, _z| 8.0 * (x * 0.05).sin());
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("terravox-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder is made");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Serves a world of waves, which is made on the first start.
fn serve(folder: &Path, access: AccessList) -> Result<Server, Box<dyn Error>> {
    let path = folder.join("waves.tvx");
    if !path.exists() {
        let generator = Generator { name: "waves".into(), version: 1, ..Generator::default() };
        let info = WorldInfo::growing(Placement::default(), generator);
        drop(Store::create(&path, &info, Overwrite::No)?.finish()?);
    }
    let world = ServedWorld {
        name: "waves".into(),
        store: Store::open(&path)?,
        generate: Some(Arc::new(waves)),
    };
    let certificate_folder = folder.to_owned();
    let options = ServerOptions { port: 0, access, certificate_folder, ..ServerOptions::default() };
    Ok(Server::start(vec![world], options)?)
}

fn quic(server: &Server) -> WorldAddress {
    server.quic_address().to_string().parse().expect("an address")
}

fn web_socket(server: &Server) -> WorldAddress {
    format!("ws://{}/waves", server.http_address()).parse().expect("an address")
}

fn frame(client: &mut Client) -> Outcome {
    client.poll(waves)?;
    let guest = client.guest();
    for event in guest.events() {
        match event {
            GuestEvent::Welcome { generator, .. } => {
                guest.start(generator.is_some_and(|made| made.name == "waves"));
            }
            GuestEvent::Refused { reason, .. } => return Err(reason.into()),
            _ => {}
        }
    }
    let interest = Interest { view_voxels: 200.0, ..Interest::default() };
    guest.watch(&[[0.0, 10.0, 0.0]], &interest);
    Ok(())
}

/// Runs all clients until a condition holds.
fn until(
    clients: &mut [&mut Client],
    mut is_met: impl FnMut(&mut [&mut Client]) -> bool,
) -> Outcome {
    let start = Instant::now();
    while !is_met(clients) {
        if start.elapsed() > Duration::from_secs(60) {
            return Err("nothing happened for a minute".into());
        }
        for client in &mut *clients {
            frame(client)?;
        }
        std::thread::yield_now();
    }
    Ok(())
}

fn is_settled(client: &mut Client) -> bool {
    let guest = client.guest();
    guest.is_complete() && guest.pending_edits() == 0
}

fn all_settled(clients: &mut [&mut Client]) -> bool {
    clients.iter_mut().all(|client| is_settled(client))
}

fn material(client: &mut Client, pos: [i32; 3]) -> Option<u8> {
    let pos = VoxelPos::from(pos);
    let mut cells = DenseBox::default();
    let is_read = client.guest().read(pos.block::<5>().into(), waves, &mut cells);
    is_read.then(|| cells.cell(pos).material)
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

#[test]
fn tokens_say_who_may_look_and_who_may_edit() -> Outcome {
    let folder = Folder::new("tokens");
    let mut access = AccessList::default();
    access.add("visitor", Right::Look);
    access.add("builder", Right::Edit);
    let server = serve(&folder.0, access)?;
    let connect = |token: &[u8], address: &WorldAddress| {
        Client::connect(address, ClientOptions { token: token.to_vec(), ..Default::default() })
    };
    for address in [quic(&server), web_socket(&server)] {
        let mut stranger = connect(b"guess", &address)?;
        let error = until(&mut [&mut stranger], |_| false).expect_err("refused").to_string();
        assert!(error.contains("token"), "{error}");
        let mut visitor = connect(b"visitor", &address)?;
        until(&mut [&mut visitor], all_settled)?;
        visitor.guest().edit(&EditOp::dig_ball([0.0; 3], 3.0))?;
        let error = until(&mut [&mut visitor], |_| false).expect_err("refused").to_string();
        assert!(error.contains("looking"), "{error}");
        let mut builder = connect(b"builder", &address)?;
        until(&mut [&mut builder], all_settled)?;
        builder.guest().edit(&EditOp::dig_ball([0.0; 3], 3.0))?;
        until(&mut [&mut builder], all_settled)?;
    }
    Ok(server.stop()?)
}

#[test]
fn a_server_that_others_can_reach_needs_tokens() -> Outcome {
    let folder = Folder::new("open");
    let info = WorldInfo::complete(Placement::default());
    let path = folder.0.join("a.tvx");
    let store = Store::create(&path, &info, Overwrite::No)?.finish()?;
    let world = ServedWorld { name: "a".into(), store, generate: None };
    let options = ServerOptions {
        address: [0, 0, 0, 0].into(),
        certificate_folder: folder.0.clone(),
        ..ServerOptions::default()
    };
    let error = Server::start(vec![world], options).err().ok_or("it started")?.to_string();
    assert!(error.contains("tokens"), "{error}");
    Ok(())
}

#[test]
fn a_wrong_fingerprint_ends_the_connection() -> Outcome {
    let folder = Folder::new("fingerprint");
    let server = serve(&folder.0, AccessList::default())?;
    let with = |fingerprint| ClientOptions { fingerprint, ..ClientOptions::default() };
    assert!(Client::connect(&quic(&server), with(Some([7; 32]))).is_err());
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
    assert!(error.to_string().contains("404"), "{error}");
    let mut health = String::new();
    let mut stream = TcpStream::connect(server.http_address())?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
    stream.read_to_string(&mut health)?;
    assert!(health.contains("terravox_guests{world=\"waves\"} 0"), "{health}");
    Ok(server.stop()?)
}
