//! What changes the ground, as data that can be written down and done again.

use crate::Result;
use terravox::edit::{EditError, EditOp};
use terravox::terrain::{FillRequest, Terrain, TerrainError};
use terravox::voxel::VoxelPos;

/// A change of the ground, in voxels, which stay when the origin moves.
#[derive(Clone, Copy, Debug)]
pub enum Stroke {
    /// Fills a ball with a material; digs it, if that is air.
    Ball {
        material: u8,
        at: [f64; 3],
        radius_voxels: f64,
    },
    Undo,
    Redo,
}

impl Stroke {
    /// A ball about a local point, in whole sixteenths: the same wherever the origin is.
    pub fn ball(terrain: &Terrain, material: u8, local: [f64; 3], radius_m: f64) -> Stroke {
        let at = terrain.placement().voxel_from_world(local).map(|v| (v * 16.0).round() / 16.0);
        let radius_voxels = radius_m / terrain.placement().voxel_size_m;
        Stroke::Ball { material, at, radius_voxels }
    }

    /// Does it; false if there is nothing to undo or redo. Ground that is needed and not here is
    /// fetched: an undo may be about a place that the player left.
    pub fn apply(
        self,
        terrain: &mut Terrain,
        fill: impl Fn(&mut FillRequest<'_>) + Sync,
    ) -> Result<bool> {
        loop {
            match self.try_apply(terrain) {
                Err(TerrainError { reason: EditError::NotHeld(missing), .. }) => {
                    let region = missing.chunk.region();
                    let corner = |v| terrain.placement().voxel_centre(v);
                    let (first, last) =
                        (corner(region.min), corner(region.max - VoxelPos::splat(1)));
                    terrain.hold(first, last, &fill)?;
                }
                done => return Ok(done?),
            }
        }
    }

    fn try_apply(self, terrain: &mut Terrain) -> std::result::Result<bool, TerrainError> {
        match self {
            Stroke::Ball { material, at, radius_voxels } => {
                let at = terrain.placement().world_from_voxel(at);
                let radius_m = radius_voxels * terrain.placement().voxel_size_m;
                terrain.edit(&match material {
                    0 => EditOp::dig_ball(at, radius_m),
                    _ => EditOp::fill_ball(material, at, radius_m),
                })?;
                Ok(true)
            }
            Stroke::Undo => Ok(terrain.undo()?.is_some()),
            Stroke::Redo => Ok(terrain.redo()?.is_some()),
        }
    }

    /// Numbers that say it, for [`Stroke::from_numbers`].
    pub fn to_numbers(self) -> Vec<f64> {
        match self {
            Stroke::Ball { material, at: [x, y, z], radius_voxels } => {
                vec![material.into(), x, y, z, radius_voxels]
            }
            Stroke::Undo => vec![-1.0],
            Stroke::Redo => vec![-2.0],
        }
    }

    pub fn from_numbers(numbers: &[f64]) -> Result<Stroke> {
        match *numbers {
            [material, x, y, z, radius_voxels] => {
                Ok(Stroke::Ball { material: material as u8, at: [x, y, z], radius_voxels })
            }
            [-1.0] => Ok(Stroke::Undo),
            [-2.0] => Ok(Stroke::Redo),
            _ => Err(format!("no stroke: {numbers:?}").into()),
        }
    }
}

/// Holds all ground that strokes reach.
pub fn hold(
    terrain: &mut Terrain,
    strokes: &[Stroke],
    fill: impl Fn(&mut FillRequest<'_>) + Sync,
) -> Result<()> {
    for stroke in strokes {
        if let Stroke::Ball { at, radius_voxels, .. } = *stroke {
            let corner = |by| terrain.placement().world_from_voxel(at.map(|v| v + by));
            terrain.hold(corner(-radius_voxels - 2.0), corner(radius_voxels + 2.0), &fill)?;
        }
    }
    Ok(())
}
