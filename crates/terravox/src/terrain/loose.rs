//! Pieces of the world that edits detach.

use super::{Terrain, TerrainError};
use crate::bodies::{BodyPose, LooseBody, LooseCut, LooseOptions, WriteBackMethod};
use crate::voxel::Region;

impl Terrain {
    /// Removes from the world what edits since the last call left without an anchor, and returns it
    /// as bodies, within the limits of the options: [`LooseCut::has_more`] says whether there is
    /// more for the next call. Options are in voxels. Undoing and filling detach nothing; direct
    /// writes ([`Terrain::grid_mut`]) are checked only where [`Terrain::touch`] was called.
    ///
    /// The cells go to the history as a stroke of their own, or as part of an open stroke: begin
    /// one before an edit and end it after this, and one undo reverts both. Drop the bodies then.
    ///
    /// ```
    /// use terravox::bodies::LooseOptions;
    /// use terravox::edit::EditOp;
    /// use terravox::terrain::{Terrain, TerrainOptions};
    /// use terravox::voxel::UnlistedChunks;
    ///
    /// let unlisted = UnlistedChunks::Air; // around what is filled there is air
    /// let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
    /// let tower = |p: [f64; 3]| (3.0 - p[0].hypot(p[2])).min(20.0 - p[1].abs());
    /// terrain.fill([-8.0, -24.0, -8.0], [8.0, 24.0, 8.0], |request| request.fill_sdf(8, tower))?;
    /// terrain.edit(&EditOp::dig_ball([0.0, 0.0, 0.0], 5.0))?;
    /// let cut = terrain.cut_loose(&LooseOptions::floor(-16))?;
    /// let upper = &cut.bodies[0];
    /// assert!(upper.mass.mass > 700_000.0 && upper.mass.centre[1] > 10.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`LooseCutter::cut`](crate::bodies::LooseCutter::cut).
    pub fn cut_loose(&mut self, options: &LooseOptions) -> Result<LooseCut, TerrainError> {
        let cut = self.loose.cut(&mut self.grid, Some(&mut self.history), options);
        self.follow_edits();
        cut.map_err(self.in_metres())
    }

    /// Makes the next [`Terrain::cut_loose`] check the voxels of a region, as if they were edited.
    pub fn touch(&mut self, region: Region) {
        self.loose.touch(region);
    }

    /// Writes a body that came to rest back into the world, with undo: `position_m` is the
    /// position of the min corner of its voxel (0, 0, 0), world metres, `rotation` its rotation
    /// about that corner, a quaternion x, y, z, w of any non-zero length. Returns whether its cells
    /// were moved without loss ([`WriteBackMethod::Turned`]) or sampled.
    ///
    /// ```
    /// use terravox::bodies::{LooseOptions, WriteBackMethod};
    /// # use terravox::{EditOp, Terrain, TerrainOptions, voxel::UnlistedChunks};
    /// # let unlisted = UnlistedChunks::Air;
    /// # let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
    /// # let tower = |p: [f64; 3]| (3.0 - p[0].hypot(p[2])).min(20.0 - p[1].abs());
    /// # terrain.fill([-8.0, -24.0, -8.0], [8.0, 24.0, 8.0], |part| part.fill_sdf(8, tower))?;
    /// terrain.edit(&EditOp::dig_ball([0.0; 3], 5.0))?; // through a tower
    /// let cut = terrain.cut_loose(&LooseOptions::floor(-16))?;
    /// let mut position_m = terrain.original_position_m(&cut.bodies[0]);
    /// position_m[1] -= 3.0; // it fell by 3 m
    /// let method = terrain.write_back(&cut.bodies[0], position_m, [0.0, 0.0, 0.0, 1.0])?;
    /// assert!(matches!(method, WriteBackMethod::Turned(_)));
    /// # Ok::<(), terravox::TerrainError>(())
    /// ```
    ///
    /// # Errors
    /// As [`LooseBody::write_back`].
    pub fn write_back(
        &mut self,
        body: &LooseBody,
        position_m: impl Into<[f64; 3]>,
        rotation: impl Into<[f32; 4]>,
    ) -> Result<WriteBackMethod, TerrainError> {
        let position_voxels = self.placement.voxel_from_world(position_m);
        let pose = BodyPose { position_voxels, rotation: rotation.into().map(f64::from) };
        let written = body.write_back(&mut self.grid, &pose, Some(&mut self.history));
        self.follow_edits();
        written.map_err(self.in_metres())
    }

    /// Returns where the min corner of a body's voxel (0, 0, 0) was when it was cut loose, world
    /// metres. Positions in the body are voxels from there.
    pub fn original_position_m(&self, body: &LooseBody) -> [f64; 3] {
        self.placement.world_from_voxel(body.origin_voxel.to_array().map(f64::from))
    }
}
