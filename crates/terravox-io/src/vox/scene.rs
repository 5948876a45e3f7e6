//! Walks the scene graph, and lists the models that it places.

use super::chunks::{Node, VoxFile};
use super::error::VoxError;
use super::pose::{NO_ROTATION, Pose};
use crate::import_budget::ImportBudget;
use std::collections::HashSet;

/// Units of work to visit a node.
const VISIT_WORK: u64 = 256;
/// Memory of a placed model, while the list grows.
const INSTANCE_BYTES: u64 = 128;

/// A model at a place in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instance {
    /// Number of the model.
    pub model: usize,
    pub pose: Pose,
}

/// Children that are left to visit, below a pose.
struct Level<'a> {
    node: u32,
    children: std::slice::Iter<'a, [u8; 4]>,
    pose: Pose,
}

/// Lists all models that are shown, in the order of the graph. A node may have several parents, so
/// the graph may place more models than it has nodes: each visit is paid for.
pub(super) fn instances(
    file: &VoxFile<'_>,
    budget: &mut ImportBudget,
) -> Result<Vec<Instance>, VoxError> {
    let Some(root) = file.root else { return Ok(alone(file)) };
    let mut found = Vec::new();
    // The root is below the whole, which has no id of its own.
    let whole = Level { node: u32::MAX, children: root.as_chunks().0.iter(), pose: Pose::Y_UP };
    let mut path = vec![whole];
    while let Some(level) = path.last_mut() {
        let (parent, pose) = (level.node, level.pose);
        let Some(id) = level.children.next() else {
            path.pop();
            continue;
        };
        budget.spend_work("its scene", VISIT_WORK)?;
        let node = u32::from_le_bytes(*id);
        let Some(Node { children, model, layer, is_hidden, pose: local }) = file.nodes.get(&node)
        else {
            let what = format!("its child {node} is missing");
            return Err(VoxError::Node { node: parent, what });
        };
        if *is_hidden || file.hidden_layers.contains(layer) {
            continue;
        }
        let pose = pose.then(local);
        if let Some(model) = *model {
            found.push(placed(file, node, model, pose, budget)?);
            continue;
        }
        if let Err(error) = budget.reach_depth("scene nodes", path.len()) {
            let mut above = HashSet::new();
            let again = path.iter().find(|level| !above.insert(level.node));
            return Err(again.map_or(error.into(), |level| VoxError::Cycle { node: level.node }));
        }
        path.push(Level { node, children: children.iter(), pose });
    }
    Ok(found)
}

fn placed(
    file: &VoxFile<'_>,
    node: u32,
    model: u32,
    pose: Pose,
    budget: &mut ImportBudget,
) -> Result<Instance, VoxError> {
    let count = file.models.len();
    let model = model as usize;
    if model >= count {
        let what = format!("it shows model {model}, but the file has {count}, counted from 0");
        return Err(VoxError::Node { node, what });
    }
    budget.spend_memory("its scene", INSTANCE_BYTES)?;
    Ok(Instance { model, pose })
}

/// The first model of a file without a scene, standing on the ground; others are frames of an
/// animation.
fn alone(file: &VoxFile<'_>) -> Vec<Instance> {
    let stands = |size: [u16; 3]| {
        let local = Pose::from_packed(NO_ROTATION, [0, 0, i32::from(size[2] / 2)])?;
        Some(Instance { model: 0, pose: Pose::Y_UP.then(&local) })
    };
    file.models.first().and_then(|model| stands(model.size)).into_iter().collect()
}
