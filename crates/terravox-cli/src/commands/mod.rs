//! The commands, one file each.

mod copy;
mod demo;
mod edit;
mod export;
mod gallery;
mod generate;
mod ground_heights;
mod import;
mod info;
#[cfg(feature = "server")]
mod join;
#[cfg(feature = "server")]
mod journal;
mod lod;
mod maintenance;
mod mesh;
mod path;
mod print;
mod raycast;
mod render;
mod render_extras;
#[cfg(feature = "server")]
mod serve;
mod tiles3d;
mod view;
mod wire;

use crate::args::{Cli, Command};
use crate::console::Console;
use crate::failure::CliResult;
use crate::interrupts;

/// Runs a command.
///
/// # Errors
/// The line to show.
pub fn run(cli: &Cli) -> CliResult<()> {
    let console = Console::new(cli.json);
    // A guest ends in its own way when it is stopped.
    if cli.command.name() != "join" {
        interrupts::remove_partial_files();
    }
    let report = match &cli.command {
        Command::Demo(args) => demo::run(args, &console),
        Command::Gallery(args) => gallery::run(args, &console),
        Command::Generate(args) => generate::run(args, &console),
        Command::Import(args) => import::run(args, &console),
        Command::Edit(args) => edit::run(args, &console),
        Command::Export(args) => export::run(args, &console),
        Command::Info(args) => info::run(args, &console),
        Command::Lod(args) => lod::run(args, &console),
        Command::Mesh(args) => mesh::run(args, &console),
        Command::Raycast(args) => raycast::run(args, &console),
        Command::Path(args) => path::run(args, &console),
        Command::Render(args) => render::run(args, &console),
        Command::View(args) => view::run(args),
        Command::Verify(args) => maintenance::verify(args, &console),
        Command::Repair(args) => maintenance::repair(args, &console),
        Command::Compact(args) => maintenance::compact(args, &console),
        Command::Copy(args) => copy::run(args, &console),
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(args, &console),
        #[cfg(feature = "server")]
        Command::Join(args) => join::run(args, &console),
        #[cfg(feature = "server")]
        Command::Backup(args) => serve::back_up(args),
        #[cfg(feature = "server")]
        Command::Journal(args) => journal::list(args),
        #[cfg(feature = "server")]
        Command::Rollback(args) => journal::roll_back(args),
    };
    console.finish(&report?)
}
