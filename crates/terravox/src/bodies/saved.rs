//! Loose bodies in a form that can be saved.

use super::{BodyPose, LooseBody};
use crate::edit::EditError;
use crate::voxel::{Snapshot, VoxelGrid, VoxelPos};

/// A loose body as plain data, to be saved on any thread.
#[derive(Clone)]
pub struct SavedBody {
    /// The cells, in voxels of the body.
    pub cells: Snapshot,
    /// Where it was cut off ([`LooseBody::origin_voxel`]).
    pub origin_voxel: VoxelPos,
    /// Its pose in the world.
    pub pose: BodyPose,
    /// Velocity of its centre of mass in metres per second, in world axes.
    pub linear_velocity_m_s: [f64; 3],
    /// Angular velocity in radians per second, in world axes.
    pub angular_velocity_rad_s: [f64; 3],
}

impl SavedBody {
    /// Saves a body at rest.
    pub fn new(body: &LooseBody, pose: BodyPose) -> SavedBody {
        SavedBody {
            cells: body.grid.snapshot(),
            origin_voxel: body.origin_voxel,
            pose,
            linear_velocity_m_s: [0.0; 3],
            angular_velocity_rad_s: [0.0; 3],
        }
    }

    /// Returns the body, with mass and meshes computed again: the same as before.
    ///
    /// ```
    /// use terravox::bodies::{LooseBody, SavedBody};
    /// use terravox::voxel::{DenseBox, Region, VoxelGrid};
    ///
    /// let mut grid = VoxelGrid::default();
    /// let mut cells = DenseBox::new(Region::new([1, 2, 3], [4, 4, 4]));
    /// cells.fill(8);
    /// grid.write(&cells)?;
    /// let body = LooseBody::new(grid, [64, 0, -32].into())?;
    /// let again = SavedBody::new(&body, body.first_pose()).to_body()?;
    /// assert_eq!((again.cells, again.mass), (6, body.mass));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`EditError::NotHeld`] if a chunk is not held at mip 0.
    pub fn to_body(&self) -> Result<LooseBody, EditError> {
        LooseBody::new(VoxelGrid::from_snapshot(&self.cells), self.origin_voxel)
    }
}

impl std::fmt::Debug for SavedBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("SavedBody");
        debug.field("from", &self.origin_voxel).field("pose", &self.pose).finish_non_exhaustive()
    }
}
