//! Which connections are let in, and the worlds that they may ask for.

use crate::access::AccessList;
use crate::connections::Connections;
use crate::world::RunningWorld;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What all connections share.
pub(crate) struct Gate {
    pub worlds: Vec<Arc<RunningWorld>>,
    pub access: AccessList,
    pub patience: Duration,
    pub backup_folder: PathBuf,
    /// Whether there are bodies that fall: loose pieces, and what guests throw.
    pub pieces_fall: bool,
    pub connections: Connections,
}

impl Gate {
    /// The world of a name; the first, if the name is empty.
    pub fn world(&self, name: &[u8]) -> Option<&Arc<RunningWorld>> {
        match name {
            [] => self.worlds.first(),
            name => self.worlds.iter().find(|world| world.name.as_bytes() == name),
        }
    }
}
