//! Opens worlds: world files, files of other programs, generated worlds, worlds of servers. No window is
//! needed.
//!
//! Everything but a server's world becomes a world file, from which ground is streamed: what is not one yet
//! becomes one in the folder of the studio, *without a name* until it is saved under one.

mod import;
mod plugin;
mod read;
mod server;

pub(crate) use import::refuse_world;
pub(crate) use plugin::begin_opening;
pub use plugin::{Detail, KeepsNothing, OpenPlugin, Opening, Session};
pub(crate) use read::view_data;
pub use read::{Opened, Reading, SharedStore, first_view, open};
pub use server::{LinkState, ServerAccess, address, name_of};

use std::path::{Path, PathBuf};

use bevy_terravox::terravox;
use terravox::generate::Seeded;
use terravox_io::files::FileFormat;

/// What can be opened.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A file, or a folder of files that are one world.
    File(PathBuf),
    /// A generated world.
    Seeded(Seeded),
}

impl Source {
    /// What a text names: `hills:7`, `world:7:fjords`, or a path.
    ///
    /// # Errors
    /// If it begins like a generated world, but names an unknown one.
    pub fn parse(text: &str) -> Result<Source, String> {
        if text.is_empty() {
            let what = "a file, hills:7, world:7:fjords, or HOST:PORT of a server";
            return Err(format!("no world is named; give {what}"));
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            let what = "HOST:PORT, HOST:PORT/WORLD or ws://HOST:PORT";
            return Err(format!("{text} is a page; give the address of its server: {what}"));
        }
        if Seeded::is_named_by(text) && !Path::new(text).exists() {
            return text.parse().map(Source::Seeded).map_err(|error| format!("{text}: {error}"));
        }
        Ok(Source::File(PathBuf::from(text)))
    }

    /// A short name.
    pub fn title(&self) -> String {
        match self {
            Source::File(path) => {
                path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
            }
            Source::Seeded(seeded) => seeded.to_string(),
        }
    }

    /// As it is remembered: an absolute path, so that the folder does not matter.
    pub fn recent_text(&self) -> String {
        match self {
            Source::File(path) => {
                std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
            }
            Source::Seeded(seeded) => seeded.to_string(),
        }
    }
}

/// Whether the studio opens files with an extension, in lower case.
pub fn is_known(extension: &str) -> bool {
    extension == "tvx" || FileFormat::EXTENSIONS.contains(&extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_worlds() {
        assert!(matches!(Source::parse("hills:7"), Ok(Source::Seeded(_))));
        let fjords = Source::parse("world:7:fjords").unwrap();
        assert_eq!(
            (fjords.title(), fjords.recent_text()),
            ("world:7:fjords".into(), "world:7:fjords".into())
        );
        let file = Source::parse("a/b.tvx").unwrap();
        assert_eq!((file.title(), file), ("b".into(), Source::File("a/b.tvx".into())));
        assert!(
            Source::parse("world:7:moon").is_err_and(|error| error.starts_with("world:7:moon: "))
        );
        assert!(Source::parse("").is_err() && Source::parse("https://a.example").is_err());
    }
}
