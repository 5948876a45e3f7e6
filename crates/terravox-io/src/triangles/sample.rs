//! Files for tests: one mesh in every format.

use serde_json::{Value, json};

/// A box from corner to corner, of 12 triangles that face outward.
pub fn cuboid(min: [f64; 3], max: [f64; 3]) -> (Vec<[f64; 3]>, Vec<[u32; 3]>) {
    let corner = |i: usize| [0, 1, 2].map(|a| if i >> a & 1 == 1 { max[a] } else { min[a] });
    let quads =
        [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]);
    ((0..8).map(corner).collect(), triangles.collect())
}

pub fn obj(positions: &[[f64; 3]], triangles: &[[u32; 3]]) -> Vec<u8> {
    let vertices = positions.iter().map(|[x, y, z]| format!("v {x} {y} {z}\n"));
    let faces = triangles.iter().map(|t| {
        let [a, b, c] = t.map(|v| v + 1);
        format!("f {a} {b} {c}\n")
    });
    vertices.chain(faces).collect::<String>().into_bytes()
}

pub fn stl(positions: &[[f64; 3]], triangles: &[[u32; 3]]) -> Vec<u8> {
    let mut out = b"solid in binary".to_vec();
    out.resize(80, b' ');
    out.extend((triangles.len() as u32).to_le_bytes());
    for triangle in triangles {
        out.extend([0; 12]);
        let floats = triangle.iter().flat_map(|&v| positions[v as usize]);
        out.extend(floats.flat_map(|v| (v as f32).to_le_bytes()));
        out.extend([0; 2]);
    }
    out
}

pub fn stl_text(positions: &[[f64; 3]], triangles: &[[u32; 3]]) -> Vec<u8> {
    let mut out = "solid a box\n".to_owned();
    for triangle in triangles {
        out += " facet normal 0 0 0\n  outer loop\n";
        for &v in triangle {
            let [x, y, z] = positions[v as usize];
            out += &format!("   vertex {x:e} {y} {z}\r\n");
        }
        out += "  endloop\n endfacet\n";
    }
    (out + "endsolid a box\n").into_bytes()
}

const PLY_HEADER: &str = "comment of a scanner\nelement vertex VERTICES\nproperty float x\n\
    property float y\nproperty float z\nproperty uchar red\nelement other 2\nproperty list \
    uchar short values\nelement face FACES\nproperty uchar flags\nproperty list uchar int \
    vertex_indices\nend_header\n";

fn ply_header(format: &str, counts: [usize; 2]) -> Vec<u8> {
    let [vertices, faces] = counts.map(|count| count.to_string());
    let header = PLY_HEADER.replace("VERTICES", &vertices).replace("FACES", &faces);
    format!("ply\nformat {format} 1.0\n{header}").into_bytes()
}

pub fn ply(positions: &[[f64; 3]], triangles: &[[u32; 3]], is_big_endian: bool) -> Vec<u8> {
    let format = if is_big_endian { "binary_big_endian" } else { "binary_little_endian" };
    let mut out = ply_header(format, [positions.len(), triangles.len()]);
    let put = |out: &mut Vec<u8>, mut bytes: Vec<u8>| {
        if is_big_endian {
            bytes.reverse();
        }
        out.extend(bytes);
    };
    for position in positions {
        position.iter().for_each(|v| put(&mut out, (*v as f32).to_le_bytes().to_vec()));
        out.push(7);
    }
    out.push(0);
    out.extend([2, 1, 1, 2, 2]);
    for triangle in triangles {
        out.extend([9, 3]);
        triangle.iter().for_each(|v| put(&mut out, v.to_le_bytes().to_vec()));
    }
    out
}

pub fn ply_text(positions: &[[f64; 3]], triangles: &[[u32; 3]]) -> Vec<u8> {
    let mut out =
        String::from_utf8(ply_header("ascii", [positions.len(), triangles.len()])).unwrap();
    positions.iter().for_each(|[x, y, z]| out += &format!("{x} {y} {z} 7\n"));
    out += "0\n2 1 1\n";
    triangles.iter().for_each(|[a, b, c]| out += &format!("9 3 {a} {b} {c}\n"));
    out.into_bytes()
}

/// A file of this JSON and data.
pub fn glb(json: &Value, data: &[u8]) -> Vec<u8> {
    let mut json = json.to_string().into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let chunk = |kind: &[u8; 4], content: &[u8]| {
        [&(content.len() as u32).to_le_bytes()[..], kind, content].concat()
    };
    let chunks = [chunk(b"JSON", &json), chunk(b"BIN\0", data)].concat();
    let length = (12 + chunks.len() as u32).to_le_bytes();
    [&b"glTF\x02\0\0\0"[..], &length, &chunks].concat()
}

/// The data of a mesh: f32 positions, then u16 indices.
pub fn glb_data(positions: &[[f64; 3]], triangles: &[[u32; 3]]) -> Vec<u8> {
    let floats = positions.iter().flatten().flat_map(|v| (*v as f32).to_le_bytes());
    floats.chain(triangles.iter().flatten().flat_map(|v| (*v as u16).to_le_bytes())).collect()
}

/// The JSON for the data of [`glb_data`], with these nodes; the scene consists of the first one.
pub fn glb_json(positions: usize, triangles: usize, nodes: &Value) -> Value {
    let (vertices, indices) = (12 * positions, 6 * triangles);
    json!({
        "asset": { "version": "2.0" }, "scenes": [{ "nodes": [0] }], "nodes": nodes,
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 }, "indices": 1 }] }],
        "buffers": [{ "byteLength": vertices + indices }],
        "bufferViews": [
            { "buffer": 0, "byteLength": vertices },
            { "buffer": 0, "byteOffset": vertices, "byteLength": indices },
        ],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": positions, "type": "VEC3" },
            { "bufferView": 1, "componentType": 5123, "count": 3 * triangles, "type": "SCALAR" },
        ],
    })
}

/// A mesh in one node.
pub fn glb_of(positions: &[[f64; 3]], triangles: &[[u32; 3]]) -> Vec<u8> {
    let json = glb_json(positions.len(), triangles.len(), &json!([{ "mesh": 0 }]));
    glb(&json, &glb_data(positions, triangles))
}
