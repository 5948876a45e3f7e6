//! Edits, undo and redo as messages, applied in the order in which they were written.

use bevy::prelude::*;
use terravox::edit::{EditOp, Volume};
use terravox::terrain::TerrainError;
use terravox::voxel::Region;

use crate::plugin::{TerravoxStats, timed};
use crate::queries::TerrainHit;
use crate::terrain::Terrain;

/// A request to change a terrain.
#[derive(Message, Clone, Debug, PartialEq)]
pub struct EditTerrain {
    /// The terrain.
    pub terrain: Entity,
    /// What to do.
    pub action: TerrainAction,
}

/// What [`EditTerrain`] does.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "nearly all are operations; a box each costs more")]
pub enum TerrainAction {
    /// Applies an operation in metres of terrain space. Outside a stroke each is a step of undo.
    Apply(EditOp),
    /// Undoes the last stroke.
    Undo,
    /// Redoes the last stroke that was undone.
    Redo,
    /// Begins a stroke: what follows is one step of undo, until `EndStroke`.
    BeginStroke,
    /// Ends the stroke.
    EndStroke,
}

impl EditTerrain {
    /// Applies an operation in metres of terrain space.
    pub fn new(terrain: Entity, op: EditOp) -> EditTerrain {
        EditTerrain { terrain, action: TerrainAction::Apply(op) }
    }

    /// Digs a ball where a ray hit.
    pub fn dig(hit: &TerrainHit, radius_m: f32) -> EditTerrain {
        EditTerrain::new(hit.terrain, EditOp::dig_ball(hit.in_terrain.point_m, radius_m.into()))
    }

    /// Fills a ball with a material where a ray hit.
    pub fn fill(hit: &TerrainHit, material: u8, radius_m: f32) -> EditTerrain {
        let (at, radius) = (hit.in_terrain.point_m, radius_m.into());
        EditTerrain::new(hit.terrain, EditOp::fill_ball(material, at, radius))
    }

    /// Undoes the last stroke of a terrain.
    pub fn undo(terrain: Entity) -> EditTerrain {
        EditTerrain { terrain, action: TerrainAction::Undo }
    }

    /// Redoes the last stroke of a terrain that was undone.
    pub fn redo(terrain: Entity) -> EditTerrain {
        EditTerrain { terrain, action: TerrainAction::Redo }
    }
}

/// Sent when a terrain was edited, and triggered on its entity, for observers.
#[derive(Message, EntityEvent, Clone, Debug, PartialEq)]
pub struct TerrainEdited {
    /// The terrain.
    #[event_target]
    pub terrain: Entity,
    /// What was done.
    pub action: TerrainAction,
    /// Voxels that changed.
    pub region: Region,
    /// Their bounds, metres of terrain space.
    pub min_m: [f64; 3],
    /// Their bounds, metres of terrain space.
    pub max_m: [f64; 3],
    /// What an operation removed, by material; empty for undo and redo.
    pub removed: Volume,
    /// What an operation added, by material; empty for undo and redo.
    pub added: Volume,
}

/// Sent when an edit was refused, and triggered on the entity of the terrain. Nothing was changed.
#[derive(Message, EntityEvent, Clone, Debug, PartialEq)]
pub struct TerrainEditFailed {
    /// The terrain.
    #[event_target]
    pub terrain: Entity,
    /// What was to be done.
    pub action: TerrainAction,
    /// Why it was not.
    pub error: TerrainError,
}

/// On a terrain whose edits another system takes.
#[derive(Component, Default)]
pub(crate) struct EditedElsewhere;

/// Applies the edits of the frame.
pub(crate) fn apply(
    mut edits: MessageReader<EditTerrain>,
    elsewhere: Query<(), With<EditedElsewhere>>,
    mut terrains: Query<&mut Terrain>,
    mut edited: MessageWriter<TerrainEdited>,
    mut failed: MessageWriter<TerrainEditFailed>,
    mut commands: Commands,
    mut stats: ResMut<TerravoxStats>,
) {
    for EditTerrain { terrain, action } in edits.read() {
        if elsewhere.contains(*terrain) {
            continue;
        }
        let Ok(mut voxels) = terrains.get_mut(*terrain) else {
            warn!("EditTerrain names {terrain}, which has no Terrain");
            continue;
        };
        let done = timed(&mut stats.edit_ms, || apply_one(*terrain, &mut voxels, action));
        match done {
            Ok(Some(done)) => {
                commands.trigger(done.clone());
                edited.write(done);
            }
            Ok(None) => {}
            Err(error) => {
                let refused =
                    TerrainEditFailed { terrain: *terrain, action: action.clone(), error };
                commands.trigger(refused.clone());
                failed.write(refused);
            }
        }
    }
}

/// Applies one edit; `None` if it changed no voxel.
fn apply_one(
    entity: Entity,
    terrain: &mut Terrain,
    action: &TerrainAction,
) -> Result<Option<TerrainEdited>, TerrainError> {
    let (region, removed, added) = match action {
        TerrainAction::Apply(op) => {
            let done = terrain.edit(op)?;
            (done.region, done.removed, done.added)
        }
        TerrainAction::Undo => {
            (terrain.undo()?.unwrap_or_default(), Volume::default(), Volume::default())
        }
        TerrainAction::Redo => {
            (terrain.redo()?.unwrap_or_default(), Volume::default(), Volume::default())
        }
        TerrainAction::BeginStroke => {
            terrain.history_mut().begin_stroke();
            return Ok(None);
        }
        TerrainAction::EndStroke => {
            terrain.history_mut().end_stroke();
            return Ok(None);
        }
    };
    if region.is_empty() {
        return Ok(None);
    }
    let placement = terrain.placement();
    let [min_m, max_m] = [region.min, region.max]
        .map(|corner| placement.world_from_voxel(corner.to_array().map(f64::from)));
    let action = action.clone();
    Ok(Some(TerrainEdited { terrain: entity, action, region, min_m, max_m, removed, added }))
}
