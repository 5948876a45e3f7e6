//! Writes a model, `.rbxm`, that holds one Terrain.

use super::super::terrain_instance::TerrainProperty;
use super::{MAGIC, TYPE_STRING};

/// Writes a model, `.rbxm`, that holds one Terrain with these properties, LZ4-compressed.
pub(in crate::roblox) fn write(properties: &[(TerrainProperty, &[u8])]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend([0, 0]);
    out.extend(1u32.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out.extend([0; 8]);
    let class = 0u32.to_le_bytes();

    // Class 0: one instance, not a service, referent 0.
    let mut instance = class.to_vec();
    push_string(&mut instance, b"Terrain");
    instance.push(0);
    instance.extend(1u32.to_le_bytes());
    instance.extend([0; 4]);
    push_chunk(&mut out, b"INST", &instance);

    let mut push_property = |name: &[u8], value: &[u8]| {
        let mut property = class.to_vec();
        push_string(&mut property, name);
        property.push(TYPE_STRING);
        push_string(&mut property, value);
        push_chunk(&mut out, b"PROP", &property);
    };
    push_property(b"Name", b"Terrain");
    for (property, value) in properties {
        push_property(property.name().as_bytes(), value);
    }
    // Version 0, one child (referent 0) without a parent (-1, zigzag-encoded as 1).
    push_chunk(&mut out, b"PRNT", &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    push_raw_chunk(&mut out, b"END\0", b"</roblox>");
    out
}

pub(super) fn push_string(to: &mut Vec<u8>, value: &[u8]) {
    to.extend(chunk_length(value.len()).to_le_bytes());
    to.extend(value);
}

pub(super) fn push_chunk(out: &mut Vec<u8>, name: &[u8; 4], payload: &[u8]) {
    let packed = lz4_flex::block::compress(payload);
    out.extend(name);
    out.extend(chunk_length(packed.len()).to_le_bytes());
    out.extend(chunk_length(payload.len()).to_le_bytes());
    out.extend([0; 4]);
    out.extend(packed);
}

fn push_raw_chunk(out: &mut Vec<u8>, name: &[u8; 4], payload: &[u8]) {
    out.extend(name);
    out.extend([0; 4]);
    out.extend(chunk_length(payload.len()).to_le_bytes());
    out.extend([0; 4]);
    out.extend(payload);
}

/// Lengths are 32 bits; the caller has rejected longer values.
fn chunk_length(length: usize) -> u32 {
    assert!(length <= u32::MAX as usize, "a value of {length} bytes does not fit the container");
    length as u32
}
