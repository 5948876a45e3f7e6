//! Parts of several tests.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::replicate::{GuestEvent, Interest, Refusal};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{DenseBox, VoxelPos};
use terravox_server::{Client, ServedWorld, Server, ServerOptions, WorldAddress};
use terravox_store::{Generator, Overwrite, Store, WorldInfo};

pub type Outcome = Result<(), Box<dyn Error>>;

/// After this long, something hangs: a piece falls, and rests, in some seconds of a world whose
/// ticks a busy machine makes longer.
pub const PATIENCE: Duration = Duration::from_secs(180);

pub fn waves(request: &mut FillRequest<'_>) {
    request.fill_height(8, -8.0..=8.0, |x, _z| 8.0 * (x * 0.05).sin());
}

/// A folder that is removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
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

/// Options for a server of which all files are in one folder.
pub fn options(folder: &Path) -> ServerOptions {
    ServerOptions {
        port: 0,
        certificate_folder: folder.to_owned(),
        backup_folder: folder.to_owned(),
        ..ServerOptions::default()
    }
}

/// Creates a growing world of waves, as `NAME.tvx`.
pub fn growing(folder: &Path, name: &str) -> Result<Store, Box<dyn Error>> {
    let generator = Generator { name: "waves".into(), version: 1, ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    let path = folder.join(format!("{name}.tvx"));
    Ok(Store::create(path, &info, Overwrite::No)?.finish()?)
}

/// A world of waves, which is made on the first start, without protected regions or rules.
pub fn waves_world(folder: &Path) -> Result<ServedWorld, Box<dyn Error>> {
    let path = folder.join("waves.tvx");
    let store = if path.exists() { Store::open(path)? } else { growing(folder, "waves")? };
    let generate = Some(Arc::new(waves) as _);
    Ok(ServedWorld {
        name: "waves".into(),
        store,
        generate,
        protected: vec![],
        decide: None,
        share: None,
    })
}

pub fn material(client: &mut Client, pos: [i32; 3]) -> Option<u8> {
    let pos = VoxelPos::from(pos);
    let mut cells = DenseBox::default();
    let is_read = client.guest().read(pos.block::<5>().into(), waves, &mut cells);
    is_read.then(|| cells.cell(pos).material)
}

/// Serves an empty world that is complete.
pub fn serve_air(
    folder: &Path,
    name: &str,
    options: ServerOptions,
) -> Result<Server, Box<dyn Error>> {
    let info = WorldInfo::complete(Placement::default());
    let path = folder.join(format!("{name}.tvx"));
    let store = Store::create(path, &info, Overwrite::No)?.finish()?;
    let world = ServedWorld {
        name: name.into(),
        store,
        generate: None,
        protected: vec![],
        decide: None,
        share: None,
    };
    Ok(Server::start(vec![world], options)?)
}

pub fn quic(server: &Server) -> WorldAddress {
    server.quic_address().to_string().parse().expect("an address")
}

pub fn frame(client: &mut Client) -> Outcome {
    client.poll(waves)?;
    let guest = client.guest();
    for event in guest.events() {
        match event {
            GuestEvent::Welcome { generator, .. } => {
                guest.start(generator.is_some_and(|made| made.name == "waves"));
            }
            GuestEvent::Refused { code, reason, .. } => {
                return Err(Refusal { code, reason }.into());
            }
            _ => {}
        }
    }
    let interest = Interest { view_voxels: 200.0, ..Interest::default() };
    guest.watch(&[[0.0, 10.0, 0.0]], &interest);
    Ok(())
}

/// Runs all clients until a condition holds.
pub fn until(
    clients: &mut [&mut Client],
    mut is_met: impl FnMut(&mut [&mut Client]) -> bool,
) -> Outcome {
    let start = Instant::now();
    while !is_met(clients) {
        if start.elapsed() > PATIENCE {
            return Err("nothing happened for minutes".into());
        }
        for client in &mut *clients {
            frame(client)?;
        }
        std::thread::yield_now();
    }
    Ok(())
}

pub fn is_settled(client: &mut Client) -> bool {
    let guest = client.guest();
    guest.is_complete() && guest.pending_edits() == 0
}

pub fn all_settled(clients: &mut [&mut Client]) -> bool {
    clients.iter_mut().all(|client| is_settled(client))
}
