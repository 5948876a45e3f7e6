//! Hostile mesh files of each format, each for a size n; with n = 1 some are valid.

use super::shape_list::ShapeList;

/// A tetrahedron.
const CORNERS: [[u8; 3]; 4] = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]];
const FACES: [[u8; 3]; 4] = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];

/// The tetrahedron n times.
pub fn stl_bodies(n: usize) -> Vec<u8> {
    let face = |face: &[u8; 3]| face.map(|v| CORNERS[usize::from(v)]);
    stl(&FACES.iter().map(face).collect::<Vec<_>>().repeat(n))
}

/// The tetrahedron placed n times.
pub fn glb_bodies(n: usize) -> Vec<u8> {
    let children = vec!["1"; n].join(",");
    let nodes = format!(r#"{{"children":[{children}]}},{{"mesh":0,"translation":[20,0,0]}}"#);
    glb(&nodes, "")
}

fn stl(triangles: &[[[u8; 3]; 3]]) -> Vec<u8> {
    let mut file = [&[0; 80][..], &(triangles.len() as u32).to_le_bytes()].concat();
    for triangle in triangles {
        file.extend([0; 12]);
        file.extend(triangle.iter().flatten().flat_map(|v| f32::from(*v).to_le_bytes()));
        file.extend([0; 2]);
    }
    file
}

fn ply_head(body: &str) -> String {
    format!("ply\nformat binary_little_endian 1.0\n{body}end_header\n")
}

/// The tetrahedron with n times its faces.
pub fn ply_bodies(n: usize) -> Vec<u8> {
    let head = ply_head(&format!(
        "element vertex 4\nproperty uchar x\nproperty uchar y\nproperty uchar z\nelement face {}\n\
         property list int int vertex_indices\n",
        4 * n
    ));
    let face = |face: &[u8; 3]| {
        let numbers = [3, face[0], face[1], face[2]].map(|v| u32::from(v).to_le_bytes());
        numbers.as_flattened().to_vec()
    };
    let faces: Vec<u8> = FACES.iter().flat_map(face).collect::<Vec<_>>().repeat(n);
    [head.as_bytes(), CORNERS.as_flattened(), &faces].concat()
}

/// A glTF of these nodes, of which the first is the scene, and more entries of its JSON.
fn glb(nodes: &str, more: &str) -> Vec<u8> {
    let json = format!(
        r#"{{"scenes":[{{"nodes":[0]}}],"nodes":[{nodes}],"buffers":[{{"byteLength":24}}],"meshes":
        [{{"primitives":[{{"attributes":{{"POSITION":0}},"indices":1}}]}}],"bufferViews":
        [{{"buffer":0,"byteLength":12}},{{"buffer":0,"byteOffset":12,"byteLength":12}}],"accessors":
        [{{"bufferView":0,"componentType":5121,"count":4,"type":"VEC3"}},
        {{"bufferView":1,"componentType":5121,"count":12,"type":"SCALAR"}}]{more}}}"#
    );
    let data = [CORNERS.as_flattened(), FACES.as_flattened()].concat();
    let chunk = |kind: &[u8; 4], content: &[u8]| {
        [&(content.len() as u32).to_le_bytes()[..], kind, content].concat()
    };
    let chunks = [chunk(b"JSON", json.as_bytes()), chunk(b"BIN\0", &data)].concat();
    [&b"glTF\x02\0\0\0"[..], &(12 + chunks.len() as u32).to_le_bytes(), &chunks].concat()
}

pub fn objs(list: &mut ShapeList) {
    let text = |parts: Vec<String>| parts.concat().into_bytes();
    list.add("vertices of nothing", 9000, move |n| text(vec!["v 0 0 0\n".repeat(n)]));
    list.add("triangles at one place", 9000, move |n| {
        text(vec!["v 0 0 0\nv 9 0 0\nv 0 9 0\nv 0 0 9\n".to_owned(), "f 1 2 3\n".repeat(n)])
    });
    list.add("large triangles", 300, move |n| {
        let corners = |i: usize| format!("v 0 {i} 0\nv 900 {i} 0\nv 0 {i} 900\nf -1 -2 -3\n");
        text((0..n).map(corners).collect())
    });
    list.add("a polygon", 20_000, move |n| {
        text(vec!["v 0 0 0\nv 9 0 0\nv 0 9 0\n".to_owned(), format!("f{}", " 1 2 3".repeat(n))])
    });
    list.add("holes", 2000, move |n| {
        let corners = |i: usize| format!("v {i} 0 0\nv {i} 1 0\nv {i} 0 1\nf -1 -2 -3\n");
        text((0..n).map(corners).collect())
    });
    list.add("a hole with a long rim", 2000, move |n| {
        let corner = |i: usize| format!("v {} 0 {}\nf 1 -1 -2\n", i * 7 % 97, i * 5 % 89);
        text([vec!["v 0 50 0\nv 1 0 1\n".to_owned()], (0..n).map(corner).collect()].concat())
    });
    list.add("lines that go on", 20_000, move |n| text(vec!["\\\n".repeat(n)]));
    list.add("a long number", 90_000, move |n| text(vec![format!("v {} 0 0", "1".repeat(n))]));
}

pub fn stls(list: &mut ShapeList) {
    list.add("bodies at one place", 1000, stl_bodies);
    list.add("triangles without area", 4000, |n| stl(&vec![[[1, 2, 3]; 3]; n]));
    list.add("triangles at one edge", 4000, |n| {
        let face = |i: usize| [[0, 0, 0], [9, 9, 9], [i as u8, (i >> 8) as u8, 7]];
        stl(&(0..n).map(face).collect::<Vec<_>>())
    });
    list.add("lines of text", 9000, |n| ["solid\n", &"facet\n".repeat(n)].concat().into_bytes());
    list.add("vertices of one facet", 9000, |n| {
        ["solid\n", &"vertex 1 2 3\n".repeat(n), "endfacet\n"].concat().into_bytes()
    });
}

pub fn plys(list: &mut ShapeList) {
    let vertices = "property uchar x\nproperty uchar y\nproperty uchar z\n";
    list.add("bodies at one place", 1000, ply_bodies);
    list.add("elements of nothing", 4000, |n| {
        ply_head(&format!("element dust {}\n", u64::MAX).repeat(n)).into_bytes()
    });
    list.add("properties", 4000, |n| {
        let body = format!("element vertex 9\n{}", "property uchar x\n".repeat(n));
        ply_head(&body).into_bytes()
    });
    list.add("empty lists", 20_000, |n| {
        let head = ply_head("element face 999999999\nproperty list uchar int vertex_indices\n");
        [head.as_bytes(), &vec![0; n]].concat()
    });
    list.add("a face", 20_000, move |n| {
        let body = format!(
            "element vertex 1\n{vertices}element face 1\nproperty list int uchar vertex_indices\n"
        );
        let count = (n as u32).to_le_bytes();
        [ply_head(&body).as_bytes(), &[1; 3], &count, &vec![0; n]].concat()
    });
    list.add("vertices", 20_000, move |n| {
        let body = format!("element vertex {n}\n{vertices}element face 0\nproperty int x\n");
        [ply_head(&body).as_bytes(), &vec![5; 3 * n]].concat()
    });
}

pub fn glbs(list: &mut ShapeList) {
    let mesh = r#"{"mesh":0}"#;
    list.add("empty objects", 4000, move |n| {
        glb(mesh, &format!(r#","extras":[{}{{}}]"#, r#"{"":0},"#.repeat(n)))
    });
    list.add("empty lists", 4000, move |n| {
        glb(mesh, &format!(r#","extras":[{}0]"#, "[0],".repeat(n)))
    });
    list.add("numbers", 20_000, move |n| glb(mesh, &format!(r#","extras":[{}0]"#, "0,".repeat(n))));
    list.add("keys", 4000, move |n| {
        let keys: String = (0..n).map(|i| format!(r#"{i},"{i}":"#)).collect();
        glb(mesh, &format!(r#","extras":{{"x":{keys}0}}"#))
    });
    list.add("a mesh again and again", 4000, glb_bodies);
    list.add("nodes that double", 40, move |n| {
        let node = |i: usize| format!(r#"{{"children":[{0},{0}]}},"#, i + 1);
        let nodes: String = (0..n).map(node).collect();
        glb(&format!("{nodes}{mesh}"), "")
    });
    list.add("a chain of nodes", 400, move |n| {
        let nodes: String = (0..n).map(|i| format!(r#"{{"children":[{}]}},"#, i + 1)).collect();
        glb(&format!("{nodes}{mesh}"), "")
    });
    list.add("a long text", 90_000, move |n| {
        glb(mesh, &format!(r#","extras":"{}""#, "a".repeat(n)))
    });
}
