//! Models of a game's own, placed many times: plants, rocks, buildings.
//!
//! Source: the glTF 2.0 specification, "Nodes and Hierarchy": many nodes may have one mesh; and
//! EXT_mesh_gpu_instancing (Khronos, 2019): attributes of a node, an entry for each instance.

use super::binary_chunk::{
    ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER, FLOAT, UNSIGNED_INT, UNSIGNED_SHORT,
};
use super::colours::opaque;
use super::writer::{GlbError, GlbWriter};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use terravox::voxel::VoxelPos;

/// A model that [`GlbWriter::add_instances`] places: its triangles, in units of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlbModel {
    /// Name of its mesh.
    pub name: String,
    /// Positions of its vertices.
    pub positions: Vec<[f32; 3]>,
    /// Unit normals, one for each vertex.
    pub normals: Vec<[f32; 3]>,
    /// sRGB colours, one for each vertex.
    pub colours: Vec<[u8; 3]>,
    /// Three for each triangle, counter-clockwise as seen from outside.
    pub indices: Vec<u32>,
}

/// Where an instance of a model is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GlbPose {
    /// Where the origin of the model is, in voxels from the origin of the world.
    pub position: [f64; 3],
    /// Unit quaternion: x, y, z, w.
    pub rotation: [f32; 4],
    /// Voxels for each unit of the model.
    pub scale: f64,
}

/// Bytes of a vertex: position and normal of three f32 each, colour of four u16.
const VERTEX_BYTES: usize = 32;

/// Bytes of the attributes of an instance: ten f32.
const POSE_BYTES: u64 = 40;

impl GlbModel {
    fn assert_valid(&self) {
        let count = self.positions.len();
        let lengths = [self.normals.len(), self.colours.len()];
        assert_eq!(lengths, [count; 2], "a model needs a normal and a colour for each position");
        assert!(self.indices.len().is_multiple_of(3), "a model consists of whole triangles");
        let is_vertex = |&index: &u32| (index as usize) < count;
        assert!(self.indices.iter().all(is_vertex), "an index of a model is not a vertex");
    }

    fn vertices(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(VERTEX_BYTES * self.positions.len());
        let all = self.positions.iter().zip(&self.normals).zip(&self.colours);
        for ((position, normal), &colour) in all {
            bytes.extend(position.iter().chain(normal).flat_map(|v| v.to_le_bytes()));
            bytes.extend(opaque(colour).iter().flat_map(|v| v.to_le_bytes()));
        }
        bytes
    }

    /// The lowest and the highest coordinates of its vertices.
    fn bounds(&self) -> [[f32; 3]; 2] {
        let extreme = |pick: fn(f32, f32) -> f32| {
            let all = self.positions.iter().copied();
            all.reduce(|a, b| [0, 1, 2].map(|axis| pick(a[axis], b[axis]))).unwrap_or_default()
        };
        [extreme(f32::min), extreme(f32::max)]
    }
}

/// A number with the few digits of its f32.
fn short(v: f64) -> f64 {
    (v as f32).to_string().parse().unwrap_or(v)
}

/// Edge of the cubes in each of which a node has all instances, in voxels: from one corner of it to another,
/// positions are exact to 1/64 voxel and more as f32.
const NODE_VOXELS: f64 = 262_144.0;

/// Poses by the cube in which they are, one of which has the origin in its middle.
fn near_ones(poses: &[GlbPose]) -> BTreeMap<[i64; 3], Vec<GlbPose>> {
    let mut near: BTreeMap<_, Vec<GlbPose>> = BTreeMap::new();
    for pose in poses {
        // The casts saturate.
        let cube = pose.position.map(|v| (v / NODE_VOXELS).round() as i64);
        near.entry(cube).or_default().push(*pose);
    }
    near
}

impl GlbWriter {
    /// Adds instances of a model, which share its mesh. Without poses or triangles nothing is added.
    ///
    /// ```
    /// use terravox::voxel::MaterialTable;
    /// use terravox_io::gltf::{GlbModel, GlbOptions, GlbPose, GlbWriter};
    ///
    /// let leaf = GlbModel {
    ///     name: "leaf".into(),
    ///     positions: vec![[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.1, 1.0, 0.0]],
    ///     normals: vec![[0.0, 0.0, 1.0]; 3],
    ///     colours: vec![[70, 110, 40]; 3],
    ///     indices: vec![0, 1, 2],
    /// };
    /// let pose = |x| GlbPose { position: [x, 10.0, 0.0], rotation: [0.0, 0.0, 0.0, 1.0], scale: 2.0 };
    /// let mut writer = GlbWriter::new(GlbOptions::default(), &MaterialTable::default());
    /// writer.add_instances(&leaf, &[pose(0.0), pose(3.0)]).unwrap();
    /// let mut file = Vec::new();
    /// assert_eq!(writer.finish(&mut file).unwrap().instances, 2);
    /// ```
    ///
    /// # Errors
    /// [`GlbError::TooLarge`] if the file would exceed 4 GiB.
    ///
    /// # Panics
    /// If normals or colours are not as many as positions, or an index is not a vertex.
    pub fn add_instances(&mut self, model: &GlbModel, poses: &[GlbPose]) -> Result<(), GlbError> {
        model.assert_valid();
        if poses.is_empty() || model.indices.is_empty() {
            return Ok(());
        }
        let bytes = VERTEX_BYTES * model.positions.len() + 4 * model.indices.len();
        self.check_size(bytes as u64 + POSE_BYTES * poses.len() as u64)?;
        let mesh = self.add_model(model);
        self.stats.instances += poses.len() as u64;
        match self.options.gpu_instancing {
            true => {
                for poses in near_ones(poses).values() {
                    let node = self.instanced_node(&model.name, mesh, poses);
                    self.nodes.push(&node);
                }
            }
            false => {
                for pose in poses {
                    self.nodes.push(&self.instance_node(&model.name, mesh, pose));
                    self.check_size(0)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the mesh of a model; returns its index.
    fn add_model(&mut self, model: &GlbModel) -> usize {
        let view = json!({ "byteStride": VERTEX_BYTES, "target": ARRAY_BUFFER });
        let view = self.binary.add_view(model.vertices(), view);
        let [min, max] = model.bounds();
        let mut attribute = |offset: usize, kind: u32, shape: &str, more: Value| {
            let mut accessor = json!({
                "bufferView": view, "byteOffset": offset, "count": model.positions.len(),
                "componentType": kind, "type": shape,
            });
            if let (Some(accessor), Some(more)) = (accessor.as_object_mut(), more.as_object()) {
                accessor.extend(more.clone());
            }
            self.binary.add_accessor(accessor)
        };
        let bounds = json!({ "min": min.map(f64::from), "max": max.map(f64::from) });
        let attributes = json!({
            "POSITION": attribute(0, FLOAT, "VEC3", bounds),
            "NORMAL": attribute(12, FLOAT, "VEC3", json!({})),
            "COLOR_0": attribute(24, UNSIGNED_SHORT, "VEC4", json!({ "normalized": true })),
        });
        let bytes = model.indices.iter().flat_map(|index| index.to_le_bytes()).collect();
        let view = self.binary.add_view(bytes, json!({ "target": ELEMENT_ARRAY_BUFFER }));
        let indices = self.binary.add_accessor(json!({
            "bufferView": view, "byteOffset": 0, "count": model.indices.len(),
            "componentType": UNSIGNED_INT, "type": "SCALAR",
        }));
        let material = self.model_material();
        let primitive =
            json!({ "attributes": attributes, "indices": indices, "material": material });
        self.meshes.push(json!({ "name": model.name, "primitives": [primitive] }));
        self.meshes.len() - 1
    }

    /// The node of an instance.
    fn instance_node(&self, name: &str, mesh: usize, pose: &GlbPose) -> Value {
        let frame = self.options.frame;
        let origin = frame.origin.to_array();
        let metres = [0, 1, 2].map(|axis| {
            let metres = (pose.position[axis] - f64::from(origin[axis])) * frame.voxel_size_m;
            frame.digits(metres).parse().unwrap_or(metres)
        });
        let scale = short(pose.scale * frame.voxel_size_m);
        json!({
            "name": name, "mesh": mesh, "translation": metres,
            "rotation": pose.rotation.map(|v| short(v.into())), "scale": [scale, scale, scale],
        })
    }

    /// The node of instances that are near each other, whose attributes are in accessors.
    fn instanced_node(&mut self, name: &str, mesh: usize, poses: &[GlbPose]) -> Value {
        self.is_instanced = true;
        let frame = self.options.frame;
        // Positions relative to it are exact as f32.
        let lowest = |axis: usize| {
            poses.iter().map(|pose| pose.position[axis]).fold(f64::INFINITY, f64::min)
        };
        // The casts saturate.
        let lowest = VoxelPos::from([0, 1, 2].map(|axis| lowest(axis).floor() as i32));
        let near = frame.of_object(lowest);
        let (origin, voxel) = (near.origin.to_array(), frame.voxel_size_m);
        let (mut positions, mut rotations, mut scales) = (Vec::new(), Vec::new(), Vec::new());
        for pose in poses {
            let metres =
                [0, 1, 2].map(|axis| (pose.position[axis] - f64::from(origin[axis])) * voxel);
            positions.extend(metres.iter().flat_map(|&v| (v as f32).to_le_bytes()));
            rotations.extend(pose.rotation.iter().flat_map(|v| v.to_le_bytes()));
            scales.extend([(pose.scale * voxel) as f32; 3].iter().flat_map(|v| v.to_le_bytes()));
        }
        let mut attribute = |bytes: Vec<u8>, shape: &str| {
            let view = self.binary.add_view(bytes, json!({}));
            self.binary.add_accessor(json!({
                "bufferView": view, "byteOffset": 0, "count": poses.len(),
                "componentType": FLOAT, "type": shape,
            }))
        };
        let attributes = json!({
            "TRANSLATION": attribute(positions, "VEC3"),
            "ROTATION": attribute(rotations, "VEC4"),
            "SCALE": attribute(scales, "VEC3"),
        });
        let mut node = json!({
            "name": name, "mesh": mesh,
            "extensions": { "EXT_mesh_gpu_instancing": { "attributes": attributes } },
        });
        if near.origin != frame.origin {
            node["translation"] = json!(frame.way_to(&near));
        }
        node
    }

    /// Returns the glTF material of all models, created on first use. Vertices hold the colours.
    fn model_material(&mut self) -> usize {
        *self.model_material.get_or_insert_with(|| {
            self.materials.push(json!({
                "name": "models",
                "pbrMetallicRoughness": { "metallicFactor": 0.0, "roughnessFactor": 0.95 },
            }));
            self.materials.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{elements, number, parsed, vector};
    use super::*;
    use crate::gltf::GlbOptions;
    use crate::tiles::ExportFrame;
    use terravox::voxel::MaterialTable;

    fn leaf() -> GlbModel {
        GlbModel {
            name: "leaf".into(),
            positions: vec![[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 1.5, 0.25]],
            normals: vec![[0.0, 0.0, 1.0]; 3],
            colours: vec![[255, 0, 188], [0, 0, 0], [1, 2, 3]],
            indices: vec![0, 1, 2],
        }
    }

    fn poses(near: f64) -> Vec<GlbPose> {
        let pose = |i: i32| {
            let (sin, cos) = (0.1 * i as f32).sin_cos();
            let position = [near + f64::from(i) * 1.75, 10.5, -f64::from(i)];
            let rotation = [0.0, sin, 0.0, cos];
            GlbPose { position, rotation, scale: 0.5 + f64::from(i) }
        };
        (0..7).map(pose).collect()
    }

    fn written(options: GlbOptions, poses: &[GlbPose]) -> (Value, Vec<u8>) {
        let mut writer = GlbWriter::new(options, &MaterialTable::default());
        writer.add_instances(&leaf(), poses).expect("it is small");
        writer.add_instances(&leaf(), &[]).expect("it is small");
        writer.add_instances(&GlbModel::default(), poses).expect("it is small");
        let mut file = Vec::new();
        let stats = writer.finish(&mut file).expect("written");
        assert_eq!(stats.instances, poses.len() as u64);
        parsed(&file)
    }

    fn numbers(value: &Value) -> Vec<f64> {
        let all = value.as_array().map_or(&[][..], Vec::as_slice);
        all.iter().map(|v| v.as_f64().expect("a number")).collect()
    }

    #[test]
    fn instances_share_a_mesh_and_stand_where_their_poses_say() {
        for (origin, near) in [(0, 0.0), (32, 40.0), (0, 5e8)] {
            let frame = ExportFrame { voxel_size_m: 0.5, origin: VoxelPos::splat(origin) };
            let poses = poses(near);
            let (json, _) = written(GlbOptions { frame, ..GlbOptions::default() }, &poses);
            assert!(json["extensionsUsed"].is_null());
            assert_eq!(json["meshes"].as_array().map(Vec::len), Some(1));
            let nodes = json["nodes"].as_array().expect("nodes");
            let root = nodes.last().expect("the root");
            assert_eq!(root["children"].as_array().map(Vec::len), Some(poses.len()));
            for (node, pose) in nodes.iter().zip(&poses) {
                assert_eq!(node["mesh"], 0);
                let metres = numbers(&node["translation"]);
                for axis in 0..3 {
                    let wanted = (pose.position[axis] - f64::from(origin)) * 0.5;
                    assert!((metres[axis] - wanted).abs() < 1e-4, "{metres:?} {pose:?}");
                }
                let turn = numbers(&node["rotation"]);
                assert!((0..4).all(|i| turn[i] as f32 == pose.rotation[i]), "{turn:?}");
                assert_eq!(numbers(&node["scale"]), [pose.scale * 0.5; 3]);
            }
        }
    }

    #[test]
    fn one_node_has_all_instances_by_the_extension() {
        for near in [0.0, 5e8] {
            let frame = ExportFrame { voxel_size_m: 0.5, ..ExportFrame::default() };
            let options = GlbOptions { frame, gpu_instancing: true, ..GlbOptions::default() };
            let poses = poses(near);
            let (json, binary) = written(options, &poses);
            for list in ["extensionsUsed", "extensionsRequired"] {
                assert_eq!(json[list], json!(["EXT_mesh_gpu_instancing"]));
            }
            let node = &json["nodes"][0];
            let of = &node["extensions"]["EXT_mesh_gpu_instancing"]["attributes"];
            let base = match numbers(&node["translation"])[..] {
                [x, y, z] => [x, y, z],
                _ => [0.0; 3],
            };
            let places = elements(&json, &binary, &of["TRANSLATION"]);
            let turns = elements(&json, &binary, &of["ROTATION"]);
            let scales = elements(&json, &binary, &of["SCALE"]);
            assert_eq!([places.len(), turns.len(), scales.len()], [poses.len(); 3]);
            for ((place, scale), pose) in places.into_iter().zip(scales).zip(&poses) {
                let place = vector(place);
                for axis in 0..3 {
                    let metres = base[axis] + f64::from(place[axis]);
                    assert!((metres - pose.position[axis] * 0.5).abs() < 1e-4);
                }
                assert_eq!(vector(scale), [(pose.scale * 0.5) as f32; 3]);
            }
        }
    }

    #[test]
    fn instances_far_from_each_other_have_nodes_of_their_own() {
        let options = GlbOptions { gpu_instancing: true, ..GlbOptions::default() };
        let far = [-1.07e9, 0.0, 3.0, 1.0e6, 1.073e9].map(poses);
        let (json, binary) = written(options, &far.concat());
        let nodes = json["nodes"].as_array().expect("nodes");
        let mut written: Vec<[f64; 3]> = Vec::new();
        for node in &nodes[..nodes.len() - 1] {
            let base = numbers(&node["translation"]);
            let of = &node["extensions"]["EXT_mesh_gpu_instancing"]["attributes"];
            for place in elements(&json, &binary, &of["TRANSLATION"]) {
                let place = vector(place);
                let base = |axis: usize| base.get(axis).copied().unwrap_or_default();
                written.push([0, 1, 2].map(|axis| base(axis) + f64::from(place[axis])));
            }
        }
        for pose in far.concat() {
            let is_there = |at: &[f64; 3]| (0..3).all(|i| (at[i] - pose.position[i]).abs() < 0.01);
            assert!(written.iter().any(is_there), "{pose:?}");
        }
        assert_eq!((written.len(), nodes.len()), (35, 5), "four places are far from each other");
    }

    #[test]
    fn a_model_keeps_its_vertices() {
        let (json, binary) = written(GlbOptions::default(), &poses(0.0));
        let primitive = &json["meshes"][0]["primitives"][0];
        let of = &primitive["attributes"];
        let positions: Vec<[f32; 3]> =
            elements(&json, &binary, &of["POSITION"]).into_iter().map(vector).collect();
        assert_eq!(positions, leaf().positions);
        let bounds = &json["accessors"][number(&of["POSITION"])];
        assert_eq!(numbers(&bounds["min"]), [-0.5, 0.0, 0.0]);
        assert_eq!(numbers(&bounds["max"]), [0.5, 1.5, 0.25]);
        let colours = elements(&json, &binary, &of["COLOR_0"]);
        assert_eq!(colours[0][..4], [255, 255, 0, 0]);
        assert_eq!(elements(&json, &binary, &primitive["indices"])[2], [2, 0, 0, 0]);
    }

    #[test]
    #[should_panic(expected = "an index of a model is not a vertex")]
    fn an_index_beyond_the_vertices_is_refused() {
        let model = GlbModel { indices: vec![0, 1, 3], ..leaf() };
        let mut writer = GlbWriter::new(GlbOptions::default(), &MaterialTable::default());
        let _ = writer.add_instances(&model, &poses(0.0));
    }
}
