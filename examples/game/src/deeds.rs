//! What changes the ground, as data that can be written down and done again.

use crate::Result;
use terravox::edit::{EditError, EditOp};
use terravox::terrain::{Part, Terrain};
use terravox::voxel::VoxelPos;

/// A change of the ground, in voxels, which stay when the origin moves.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    /// Fills a ball with a material; digs it, if that is air.
    Ball {
        material: u8,
        at: [f64; 3],
        radius: f64,
    },
    Undo,
    Redo,
}

impl Deed {
    /// A ball about a local point, in whole sixteenths: the same wherever the origin is.
    pub fn ball(terrain: &Terrain, material: u8, local: [f64; 3], radius: f64) -> Deed {
        let at = terrain.placement().voxel_from_world(local).map(|v| (v * 16.0).round() / 16.0);
        Deed::Ball { material, at, radius }
    }

    /// Does it; false if there is nothing to undo or redo. Ground that is needed and not here is
    /// fetched: an undo may be about a place that the player left.
    pub fn apply(self, terrain: &mut Terrain, fill: impl Fn(&mut Part<'_>) + Sync) -> Result<bool> {
        loop {
            match self.try_apply(terrain) {
                Err(EditError::NotHeld(missing)) => {
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

    fn try_apply(self, terrain: &mut Terrain) -> std::result::Result<bool, EditError> {
        match self {
            Deed::Ball { material, at, radius } => {
                let at = terrain.placement().world_from_voxel(at);
                let radius = radius * terrain.placement().voxel_size_m;
                terrain.edit(&match material {
                    0 => EditOp::dig_ball(at, radius),
                    _ => EditOp::fill_ball(material, at, radius),
                })?;
                Ok(true)
            }
            Deed::Undo => Ok(terrain.undo()?.is_some()),
            Deed::Redo => Ok(terrain.redo()?.is_some()),
        }
    }

    /// Numbers that say it, for [`Deed::from_numbers`].
    pub fn to_numbers(self) -> Vec<f64> {
        match self {
            Deed::Ball { material, at: [x, y, z], radius } => {
                vec![material.into(), x, y, z, radius]
            }
            Deed::Undo => vec![-1.0],
            Deed::Redo => vec![-2.0],
        }
    }

    pub fn from_numbers(numbers: &[f64]) -> Result<Deed> {
        match *numbers {
            [material, x, y, z, radius] => {
                Ok(Deed::Ball { material: material as u8, at: [x, y, z], radius })
            }
            [-1.0] => Ok(Deed::Undo),
            [-2.0] => Ok(Deed::Redo),
            _ => Err(format!("no deed: {numbers:?}").into()),
        }
    }
}

/// Holds all ground that deeds reach.
pub fn hold(
    terrain: &mut Terrain,
    deeds: &[Deed],
    fill: impl Fn(&mut Part<'_>) + Sync,
) -> Result<()> {
    for deed in deeds {
        if let Deed::Ball { at, radius, .. } = *deed {
            let corner = |by| terrain.placement().world_from_voxel(at.map(|v| v + by));
            terrain.hold(corner(-radius - 2.0), corner(radius + 2.0), &fill)?;
        }
    }
    Ok(())
}
