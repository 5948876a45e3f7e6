//! Reads the triangles of a binary glTF 2.0 file, placed by the nodes of its scene.
//!
//! Source: Khronos, "glTF 2.0 Specification". Positions may be quantised
//! (`KHR_mesh_quantization`); compressed ones are refused. Skins, morph targets and animations are
//! not read: a mesh is as it was modelled.

use super::error::{MeshError, shown};
use super::file_mesh::{FileMesh, MeshCollector};
use super::glb_nodes::{self, Transform};
use super::glb_views::GlbFile;
use crate::import_budget::ImportBudget;
use serde_json::Value;

/// First bytes of a file.
pub(super) const MAGIC: &[u8] = b"glTF";

/// Units of work of a byte of JSON.
const JSON_WORK: u64 = 32;
/// Units of work to visit a primitive, whether or not it has triangles.
const PRIMITIVE_WORK: u64 = 512;
/// Extensions that change where triangles are, with what to do.
const REFUSED: [(&str, &str); 4] = [
    ("KHR_draco_mesh_compression", "export it without compression"),
    ("EXT_meshopt_compression", "export it without compression"),
    ("KHR_meshopt_compression", "export it without compression"),
    ("EXT_mesh_gpu_instancing", "export it without instancing"),
];

/// Prefixes of the names of extensions that do not change where triangles are, or are supported.
const ALLOWED: [&str; 8] = [
    "KHR_mesh_quantization",
    "KHR_materials_",
    "KHR_texture_",
    "KHR_lights_",
    "KHR_xmp",
    "EXT_texture_",
    "EXT_lights_",
    "MSFT_texture_",
];

/// Refuses a file that needs an extension that may change where its triangles are.
fn check_extensions(json: &Value) -> Result<(), MeshError> {
    let required = json["extensionsRequired"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if ALLOWED.iter().any(|allowed| name.starts_with(allowed)) {
            continue;
        }
        let known = REFUSED.iter().find(|(refused, _)| *refused == name);
        let remedy = known.map_or("export it without", |(_, remedy)| remedy);
        let name = shown(name.as_bytes());
        let what = format!("the file needs the extension {name}, which is not supported; {remedy}");
        return Err(MeshError::Unsupported { what });
    }
    Ok(())
}

/// Reads a file.
pub(super) fn read(bytes: &[u8], budget: &mut ImportBudget) -> Result<FileMesh, MeshError> {
    let [json, data] = chunks(bytes)?;
    budget.spend_memory("its JSON", json_bytes(json))?;
    budget.spend_work("its JSON", JSON_WORK.saturating_mul(json.len() as u64))?;
    let json: Value = serde_json::from_slice(json)
        .map_err(|error| MeshError::at_byte(20, format!("its JSON is invalid: {error}")))?;
    check_extensions(&json)?;
    let file = GlbFile { json: &json, data };
    let mut mesh = MeshCollector::new(budget);
    let placed = glb_nodes::placed_meshes(&json, mesh.budget)?;
    for (number, transform) in placed {
        add_mesh(&file, number, &transform, &mut mesh)?;
    }
    mesh.finish()
}

/// Returns the JSON and the data of a file.
fn chunks(bytes: &[u8]) -> Result<[&[u8]; 2], MeshError> {
    let number = |at: usize| -> Result<u32, MeshError> {
        let field = bytes.get(at..).and_then(<[u8]>::first_chunk);
        let field = field.ok_or_else(|| MeshError::at_byte(at, "the file ends in its header"))?;
        Ok(u32::from_le_bytes(*field))
    };
    if !bytes.starts_with(MAGIC) {
        return Err(MeshError::at_byte(0, "a .glb file starts with \"glTF\""));
    }
    let version = number(4)?;
    if version != 2 {
        let what = format!("version {version} of glTF is not supported; export it as version 2");
        return Err(MeshError::Unsupported { what });
    }
    let mut found: [Option<&[u8]>; 2] = [None; 2];
    let mut at = 12;
    while at < bytes.len() {
        let (length, kind) = (number(at)? as usize, number(at + 4)?);
        let Some(chunk) = bytes[at + 8..].get(..length) else {
            let left = bytes.len() - at - 8;
            let what = format!("a chunk has {length} bytes, but {left} are left");
            return Err(MeshError::at_byte(at, what));
        };
        let place = match &kind.to_le_bytes() {
            b"JSON" => Some(0),
            b"BIN\0" => Some(1),
            _ => None,
        };
        if let Some(place) = place {
            found[place].get_or_insert(chunk);
        }
        at += 8 + length;
    }
    let json = found[0].ok_or_else(|| MeshError::at_byte(12, "there is no JSON"))?;
    Ok([json, found[1].unwrap_or_default()])
}

/// Bounds the memory of parsed JSON by its punctuation: an object takes a node of a tree, an entry
/// a key and a value in a list or node that is at worst half full.
fn json_bytes(json: &[u8]) -> u64 {
    let of = |byte: &u8| match byte {
        b'{' => 720,
        b'[' => 160,
        b',' => 128,
        _ => 2,
    };
    256 + json.iter().map(of).sum::<u64>()
}

/// Adds the triangles of a mesh.
fn add_mesh(
    file: &GlbFile<'_>,
    number: u64,
    transform: &Transform,
    mesh: &mut MeshCollector<'_>,
) -> Result<(), MeshError> {
    let location = format!("mesh {number}");
    let of_file = file.entry("meshes", number)?;
    for primitive in of_file["primitives"].as_array().into_iter().flatten() {
        mesh.budget.spend_work("its primitives", PRIMITIVE_WORK)?;
        let mode = primitive["mode"].as_u64().unwrap_or(4);
        let positions = &primitive["attributes"]["POSITION"];
        // Points and lines have no triangles.
        if !(4..=6).contains(&mode) || positions.is_null() {
            continue;
        }
        let positions = file.accessor(&location, positions, 3)?;
        let first = mesh.vertex_count() as u32;
        for i in 0..positions.count {
            let at = [0, 1, 2].map(|axis| positions.value(i, axis));
            mesh.vertex(transform.apply(at))?;
        }
        let indices = match &primitive["indices"] {
            Value::Null => None,
            indices => Some(file.accessor(&location, indices, 1)?),
        };
        let count = indices.as_ref().map_or(positions.count, |indices| indices.count);
        let vertex = |i: usize| {
            let index = indices.as_ref().map_or(i as f64, |indices| indices.value(i, 0));
            first.saturating_add(index as u32)
        };
        let last = first.saturating_add(positions.count as u32);
        let mut add = |corners: [usize; 3]| {
            let corners = corners.map(vertex);
            if corners.iter().any(|corner| *corner >= last) {
                let what = format!("an index is not below its {} vertices", positions.count);
                return Err(MeshError::Damaged { location: location.clone(), what });
            }
            let [a, b, c] = corners;
            mesh.triangle(if transform.is_mirror() { [a, c, b] } else { [a, b, c] })
        };
        match mode {
            4 => (0..count / 3).try_for_each(|i| add([3 * i, 3 * i + 1, 3 * i + 2]))?,
            5 => (2..count).try_for_each(|i| add([i - 2 + i % 2, i - 1 - i % 2, i]))?,
            _ => (2..count).try_for_each(|i| add([0, i - 1, i]))?,
        }
    }
    Ok(())
}
