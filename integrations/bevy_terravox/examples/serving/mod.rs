//! A server of hills in a file.

use std::path::Path;

use bevy::prelude::*;
use bevy_terravox::online::terravox_server::{Decide, ServedWorld, Server, ServerOptions};
use terravox_store::{Generator, Overwrite, Store, WorldInfo};

use bevy_terravox::terravox::generate::Hills;
use bevy_terravox::terravox::terrain::{FillRequest, Placement};

/// The seed of the hills.
const SEED: u64 = 7;

/// Serves until the app ends; then all is saved.
#[derive(Resource)]
pub struct Serving(pub Server);

/// Opens or creates the file of `--world` (default `hills.tvx`), and serves it at the port of
/// `--port` (default: any that is free) on this machine.
pub fn serve_hills(decide: Option<Decide>) -> Result<Serving> {
    let path = crate::example_app::text_flag("--world").unwrap_or_else(|| "hills.tvx".into());
    let path = Path::new(&path);
    let store = match path.exists() {
        true => Store::open(path)?,
        false => {
            let info = WorldInfo::growing(Placement::default(), Generator::hills(SEED));
            Store::create(path, &info, Overwrite::No)?.finish()?
        }
    };
    let hills = Hills::new(SEED);
    let generate = move |request: &mut FillRequest<'_>| {
        let mip = request.mip();
        hills.fill(request.cells(), mip);
    };
    let world = ServedWorld {
        name: "hills".into(),
        store,
        generate: Some(std::sync::Arc::new(generate)),
        protected: Vec::new(),
        decide,
        share: None,
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let options = ServerOptions {
        port: crate::example_app::flag("--port").unwrap_or(0) as u16,
        certificate_folder: folder.unwrap_or(Path::new(".")).into(),
        ..ServerOptions::default()
    };
    Ok(Serving(Server::start(vec![world], options)?))
}
