//! Errors of stored worlds. Every message names the world, by the path of its file or its name in a
//! database, and says what is wrong, in one line.

use crate::BlockKey;
use crate::info::NEWEST_VERSION;
use crate::value::ValueError;
use std::fmt;
use std::io;
use std::path::PathBuf;
use terravox::voxel::{ChunkPos, MipBlock, NotHeld, PagePos};
use thiserror::Error;

/// An operation on a stored world failed; the world is as it was before, except after
/// [`StoreError::Unsure`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system or the database refused.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The world.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The file exists and overwriting was not requested.
    #[error("{}: the file already exists; pass Overwrite::Yes to overwrite it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a world.
    #[error("{}: not a terravox world: {why}", path.display())]
    NotAWorld {
        /// The world.
        path: PathBuf,
        /// The evidence.
        why: String,
    },
    /// The file was written by a newer version.
    #[error(
        "{}: format version {version} is newer than this program knows ({NEWEST_VERSION}); \
         use a newer terravox", path.display()
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its format version.
        version: u16,
    },
    /// Another program, or another handle of this one, has the file open.
    #[error(
        "{}: the world is {}; close it there first", path.display(),
        match writer {
            Some(writer) => format!("written by {writer}"),
            None => "open in another program or elsewhere in this one".to_owned(),
        }
    )]
    InUse {
        /// The file.
        path: PathBuf,
        /// Who writes it; `None` if that is unknown, as with files.
        writer: Option<String>,
    },
    /// A write to a world that was opened read-only.
    #[error("{}: the world was opened for reading only", path.display())]
    ReadOnly {
        /// The world.
        path: PathBuf,
    },
    /// A part of the world is damaged.
    #[error("{}: {part} is damaged: {what}", path.display())]
    Damaged {
        /// The world.
        path: PathBuf,
        /// Which part.
        part: StoredPart,
        /// What is wrong with it.
        what: ValueError,
    },
    /// The index of the file is damaged where it is needed.
    #[error("{}: cannot {doing}: {what}", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// What is wrong, and what to do.
        what: String,
    },
    /// The last step of a write failed: the write is in the world completely or not at all. In a
    /// file, the next write first completes this one, so a program may go on and save again. In a
    /// database, nothing more is written until the world is opened again.
    #[error(
        "{}: the world may or may not be changed, since the last step of writing failed: \
         {source}; write again, or open it again to see", path.display()
    )]
    Unsure {
        /// The world.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Another writer took the world over, so this one can no longer write. Only in databases.
    #[error("{}: {what}; nothing more is written from here, open the world again", path.display())]
    Fenced {
        /// The world.
        path: PathBuf,
        /// Who has it now.
        what: String,
    },
    /// The file is of a format before version 3, which this program does not read.
    #[error(
        "{}: the world is of the format before 0.1, which is no longer read; export it with the \
         program that wrote it and import that, or generate it anew", path.display()
    )]
    OldFormat {
        /// The file.
        path: PathBuf,
    },
    /// A chunk is not held, or held at a coarser mip only.
    #[error("{}: {source}", path.display())]
    NotHeld {
        /// The world.
        path: PathBuf,
        /// Which chunk.
        source: NotHeld,
    },
    /// The cells to save have materials of another kind than the world's.
    #[error(
        "{}: material {material} is of another kind in the world; kinds never change in a \
         world that has data", path.display()
    )]
    KindsDiffer {
        /// The world.
        path: PathBuf,
        /// The first such material.
        material: u8,
    },
    /// The generator cannot make a coarse block over a chunk yet.
    #[error("{}: block {block} is not generated yet, which saving needs; save later", path.display())]
    NotGenerated {
        /// The world.
        path: PathBuf,
        /// Which block.
        block: MipBlock,
    },
    /// A newer state of the same grid is already stored.
    #[error("{}: a newer state of this world is already saved; call Terrain::unsaved again", path.display())]
    Outdated {
        /// The world.
        path: PathBuf,
    },
    /// The world grows from another generator than the program has.
    #[error("{}: the world grows from {stored}, this program has {given}", path.display())]
    OtherGenerator {
        /// The world.
        path: PathBuf,
        /// What the world says, or "no generator".
        stored: String,
        /// What was given.
        given: String,
    },
    /// Repairing takes more work than a file of this length may cost, as for a file that was built
    /// to be expensive. Nothing was written, except by
    /// [`Store::repair_onto`](crate::Store::repair_onto).
    #[error(
        "{}: repairing it is more work than a file of its length may cost; if you trust the file, \
         allow more", path.display()
    )]
    TooMuchWork {
        /// The file.
        path: PathBuf,
    },
    /// A value that is too large or invalid.
    #[error("{}: {what}", path.display())]
    Refused {
        /// The world.
        path: PathBuf,
        /// What, and why.
        what: String,
    },
}

/// A part of a stored world.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoredPart {
    /// The description of the world.
    Info,
    /// Extra data by name.
    Extra(String),
    /// A chunk.
    Chunk(ChunkPos),
    /// A block of 32³ cells of a coarse mip.
    Mip(BlockKey),
    /// The list of chunks of a page.
    Listing(PagePos),
    /// What a channel holds in a chunk.
    Channel {
        /// The number of the channel.
        channel: u8,
        /// The chunk.
        chunk: ChunkPos,
    },
    /// A table, by name.
    Table(&'static str),
    /// The index of the file: its header and the nodes of its tree.
    Index,
}

impl StoredPart {
    /// The part for a block.
    pub(crate) fn block(key: BlockKey) -> StoredPart {
        if key.mip == 0 { StoredPart::Chunk(key.as_chunk()) } else { StoredPart::Mip(key) }
    }
}

impl fmt::Display for StoredPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoredPart::Info => write!(f, "the description of the world"),
            StoredPart::Extra(name) => write!(f, "the extra data \"{}\"", shown(name)),
            StoredPart::Chunk(chunk) => write!(f, "chunk {chunk}"),
            StoredPart::Mip(key) => write!(f, "block {} of mip {}", key.pos, key.mip),
            StoredPart::Listing(page) => write!(f, "the list of chunks of page {page}"),
            StoredPart::Channel { channel, chunk } => {
                write!(f, "channel {channel} of chunk {chunk}")
            }
            StoredPart::Table(name) => write!(f, "table \"{name}\""),
            StoredPart::Index => write!(f, "the index of the file"),
        }
    }
}

/// Maximum number of characters of a name that a message shows.
const SHOWN_CHARS: usize = 64;

/// A stored name as a message shows it: in one line, and not too long.
fn shown(name: &str) -> String {
    let mut shown: String = name.chars().take(SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if name.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// A damaged part that reading skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPart {
    /// Which part.
    pub part: StoredPart,
    /// What is wrong with it.
    pub what: ValueError,
}

impl fmt::Display for BadPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.part, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_file_are_shown_in_one_short_line() {
        let shown = |name: &str| StoredPart::Extra(name.to_owned()).to_string();
        assert_eq!(shown("roblox/é"), "the extra data \"roblox/é\"");
        assert_eq!(shown("a\n\u{1b}[2J"), "the extra data \"a\\n\\u{1b}[2J\"");
        let long = shown(&"x".repeat(65));
        assert_eq!(long, format!("the extra data \"{}…\"", "x".repeat(64)));
        assert!(!shown(&"x".repeat(64)).contains('…'));
    }
}
