//! Walks the nodes of a glTF scene, and lists the meshes that they place.

use super::error::MeshError;
use crate::import_budget::ImportBudget;
use serde_json::Value;

/// Units of work to visit a node.
const VISIT_WORK: u64 = 1024;
/// Memory of a placed mesh, while the list grows.
const PLACED_BYTES: u64 = 320;
/// Memory of a node on the way from the root.
const LEVEL_BYTES: u64 = 400;

/// Where a node places points: three columns, and the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Transform {
    columns: [[f64; 3]; 4],
}

impl Transform {
    const NONE: Transform =
        Transform { columns: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0; 3]] };

    /// Moves a point.
    pub fn apply(&self, p: [f64; 3]) -> [f64; 3] {
        let [x, y, z, origin] = self.columns;
        [0, 1, 2].map(|i| x[i] * p[0] + y[i] * p[1] + z[i] * p[2] + origin[i])
    }

    /// Whether it turns triangles inside out.
    pub fn is_mirror(&self) -> bool {
        let [[ax, ay, az], [bx, by, bz], [cx, cy, cz], _] = self.columns;
        ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx) < 0.0
    }

    /// The inner transform first, then this one.
    fn after(&self, inner: &Transform) -> Transform {
        let origin = self.columns[3];
        let [x, y, z, at] = inner.columns;
        let turned = |v: [f64; 3]| {
            let moved = self.apply(v);
            [0, 1, 2].map(|i| moved[i] - origin[i])
        };
        Transform { columns: [turned(x), turned(y), turned(z), self.apply(at)] }
    }

    /// The transform of a node: a matrix, or a translation, a rotation and a scale.
    fn of(node: &Value) -> Result<Transform, InvalidTransform> {
        if let Some(matrix) = numbers::<16>(&node["matrix"])? {
            let column = |i: usize| [matrix[4 * i], matrix[4 * i + 1], matrix[4 * i + 2]];
            return Ok(Transform { columns: [0, 1, 2, 3].map(column) });
        }
        let [x, y, z, w] = numbers(&node["rotation"])?.unwrap_or([0.0, 0.0, 0.0, 1.0]);
        let scale = numbers(&node["scale"])?.unwrap_or([1.0; 3]);
        let origin = numbers(&node["translation"])?.unwrap_or([0.0; 3]);
        let axes = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)],
            [2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)],
            [2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)],
        ];
        let [a, b, c] = [0, 1, 2].map(|i: usize| axes[i].map(|v| v * scale[i]));
        Ok(Transform { columns: [a, b, c, origin] })
    }
}

/// A part of a transform is not a list of as many numbers as it has.
#[derive(Debug)]
struct InvalidTransform;

/// Reads N numbers; `None` if the node does not have them.
fn numbers<const N: usize>(value: &Value) -> Result<Option<[f64; N]>, InvalidTransform> {
    if value.is_null() {
        return Ok(None);
    }
    let values = value.as_array().ok_or(InvalidTransform)?.iter().map(Value::as_f64);
    let values = values.collect::<Option<Vec<f64>>>().ok_or(InvalidTransform)?;
    values.try_into().map(Some).map_err(|_| InvalidTransform)
}

/// A node with children that are left to visit.
struct NodeLevel<'a> {
    /// Number of the node; `None` for the scene.
    node: Option<u64>,
    children: std::slice::Iter<'a, Value>,
    transform: Transform,
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], |all| all)
}

/// Lists the meshes of the scene by number, each with its place. A node may have several parents
/// although glTF forbids it, so each visit is paid for.
pub(super) fn placed_meshes(
    json: &Value,
    budget: &mut ImportBudget,
) -> Result<Vec<(u64, Transform)>, MeshError> {
    let wrong = |node: u64, what: &str| MeshError::Damaged {
        location: format!("node {node}"),
        what: what.to_owned(),
    };
    let scene = json["scene"].as_u64().unwrap_or(0);
    let scene = usize::try_from(scene).ok().and_then(|scene| list(&json["scenes"]).get(scene));
    let Some(scene) = scene else {
        let what = "the file has no scene; export it with one".to_owned();
        return Err(MeshError::Unsupported { what });
    };
    let mut placed = Vec::new();
    let roots = list(&scene["nodes"]).iter();
    let mut path = vec![NodeLevel { node: None, children: roots, transform: Transform::NONE }];
    while let Some(level) = path.last_mut() {
        let transform = level.transform;
        let Some(child) = level.children.next() else {
            path.pop();
            continue;
        };
        budget.spend_work("its nodes", VISIT_WORK)?;
        let number = child.as_u64().unwrap_or(u64::MAX);
        let node = usize::try_from(number).ok().and_then(|at| list(&json["nodes"]).get(at));
        let node = node.ok_or_else(|| wrong(number, "it is missing"))?;
        if path.iter().any(|level| level.node == Some(number)) {
            return Err(wrong(number, "it is below itself"));
        }
        let own = Transform::of(node)
            .map_err(|InvalidTransform| wrong(number, "its transform is invalid"))?;
        let transform = transform.after(&own);
        if let Some(mesh) = node["mesh"].as_u64() {
            budget.spend_memory("its nodes", PLACED_BYTES)?;
            placed.push((mesh, transform));
        }
        let children = list(&node["children"]);
        if !children.is_empty() {
            budget.reach_depth("its nodes", path.len())?;
            budget.spend_memory("its nodes", LEVEL_BYTES)?;
            path.push(NodeLevel { node: Some(number), children: children.iter(), transform });
        }
    }
    Ok(placed)
}
