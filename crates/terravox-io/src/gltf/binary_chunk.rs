//! The binary chunk of the file, with the buffer views and accessors that describe it.

use serde_json::{Value, json};

pub(super) const FLOAT: u32 = 5126;
pub(super) const BYTE: u32 = 5120;
pub(super) const UNSIGNED_BYTE: u32 = 5121;
pub(super) const UNSIGNED_SHORT: u32 = 5123;
pub(super) const UNSIGNED_INT: u32 = 5125;
pub(super) const ARRAY_BUFFER: u32 = 34962;
pub(super) const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// The binary chunk.
#[derive(Default)]
pub(super) struct BinaryChunk {
    /// Its bytes, one piece per buffer view.
    pub pieces: Vec<Vec<u8>>,
    /// Bytes of all pieces.
    pub length: u64,
    pub views: Vec<Value>,
    pub accessors: Vec<Value>,
}

impl BinaryChunk {
    /// Appends an accessor; returns its index.
    pub(super) fn add_accessor(&mut self, accessor: Value) -> usize {
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    /// Appends bytes, whose number is a multiple of four, as a buffer view; returns its index.
    pub(super) fn add_view(&mut self, bytes: Vec<u8>, mut view: Value) -> usize {
        assert!(bytes.len().is_multiple_of(4), "views stay aligned");
        view["buffer"] = json!(0);
        view["byteOffset"] = json!(self.length);
        view["byteLength"] = json!(bytes.len());
        self.length += bytes.len() as u64;
        self.pieces.push(bytes);
        self.views.push(view);
        self.views.len() - 1
    }
}
