//! Brushes, strokes, selections, copies.

mod brush;
#[cfg(feature = "window")]
mod ghost;
mod select;
mod stroke;
mod symmetry;

pub use brush::{Place, operation, shapes_of, used_fields};
#[cfg(feature = "window")]
pub(crate) use ghost::GhostPlugin;
pub use select::{Clipboard, Selection};
pub use stroke::Stroke;
pub use symmetry::Symmetry;

use bevy::prelude::*;

/// Changes the ground.
pub struct SculptPlugin;

impl Plugin for SculptPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Stroke>()
            .init_resource::<Selection>()
            .init_resource::<Clipboard>()
            .init_resource::<Symmetry>()
            .add_systems(
                Update,
                (
                    symmetry::act,
                    stroke::pick,
                    select::act,
                    select::drag,
                    stroke::close,
                    stroke::stroke,
                )
                    .chain()
                    .in_set(crate::StudioSystems::Stroke),
            );
    }
}
