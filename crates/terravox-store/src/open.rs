//! Opening a world file for a game: a terrain, its cells on demand, channels, undo history and loose
//! bodies.

use crate::bodies;
use crate::description::ReadView;
use crate::error::{BadPart, StoreError, StoredPart};
use crate::store::{BODIES_NAME, HISTORY_NAME, Store};
use terravox::bodies::SavedBody;
use terravox::edit::History;
use terravox::terrain::{FillRequest, Terrain, TerrainOptions};
use terravox::voxel::{ChannelGrid, GridOptions, UnlistedChunks, VoxelGrid};

impl Store {
    /// Opens the world for a game that streams it: with the file's placement, materials, channels
    /// and undo history, and no cells yet. [`Store::fill`] supplies the cells, both of complete
    /// worlds and of worlds that grow. The placement, materials and `unlisted` of `options` are
    /// ignored.
    ///
    /// # Errors
    /// If the undo history cannot be read or is damaged; `set_extra("undo", None)` removes it. If
    /// the channels cannot be read ([`Store::channels`]). If a [`Terrain`] refuses the placement
    /// ([`Placement::check`](terravox::terrain::Placement::check)).
    pub fn terrain(&self, options: TerrainOptions) -> Result<Terrain, StoreError> {
        let info = self.info();
        let grid =
            GridOptions { unlisted: UnlistedChunks::Unknown, materials: info.materials.clone() };
        self.terrain_around(VoxelGrid::new(grid), self.channels()?, options)
    }

    /// Reads the whole world into memory: for small complete worlds, and servers. Also returns
    /// the damaged parts, as [`Store::load`].
    ///
    /// # Errors
    /// As [`Store::load`] and [`Store::terrain`].
    pub fn load_terrain(
        &self,
        options: TerrainOptions,
    ) -> Result<(Terrain, Vec<BadPart>), StoreError> {
        let loaded = self.load()?;
        Ok((self.terrain_around(loaded.grid, loaded.channels, options)?, loaded.bad))
    }

    fn terrain_around(
        &self,
        grid: VoxelGrid,
        channels: ChannelGrid,
        options: TerrainOptions,
    ) -> Result<Terrain, StoreError> {
        let placement = self.info().placement();
        placement.check().map_err(|error| StoreError::Refused {
            path: self.path().to_owned(),
            what: error.to_string(),
        })?;
        let mut terrain = Terrain::from_grid(grid, TerrainOptions { placement, ..options });
        terrain.restore_channels(channels);
        let budget_bytes = terrain.history_mut().stats().budget_bytes;
        if let Some(history) = self.history(budget_bytes)? {
            terrain.restore_history(history);
        }
        Ok(terrain)
    }

    /// Fills a block with its stored cells. If none are stored, calls `generate` in a world that
    /// grows, and leaves air in a complete one. For the closures of
    /// [`Terrain::update`](terravox::terrain::Terrain::update), [`Store::save`] and the like. A
    /// block that cannot be read stays missing and is requested again later.
    ///
    /// ```no_run
    /// # use terravox::terrain::{Budget, FillRequest, TerrainOptions, Viewer};
    /// # use terravox_store::Store;
    /// # fn generate(request: &mut FillRequest<'_>) {}
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Store::open("world.tvx")?;
    /// let fill = |request: &mut FillRequest<'_>| store.fill(request, generate);
    /// let mut terrain = store.terrain(TerrainOptions::default())?;
    /// terrain.update(&[Viewer::at([0.0; 3])], Budget::Millis(3.0), fill);
    /// # Ok(())
    /// # }
    /// ```
    pub fn fill(&self, request: &mut FillRequest<'_>, generate: impl FnOnce(&mut FillRequest<'_>)) {
        let block = request.block();
        match self.block(block, request.cells()) {
            Ok(true) => {}
            // The cells are air now.
            Ok(false) if self.info().grows() => generate(request),
            Ok(false) => {}
            Err(_) => request.set_missing(),
        }
    }

    /// Returns the saved undo history, without its oldest strokes if it exceeds `budget` bytes;
    /// `None` if none was saved.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub fn history(&self, budget: usize) -> Result<Option<History>, StoreError> {
        let Some(bytes) = self.extra(HISTORY_NAME)? else { return Ok(None) };
        let read = History::from_bytes(&bytes, budget);
        let damaged = |what| self.damaged_error(StoredPart::Extra(HISTORY_NAME.to_owned()), what);
        read.map(Some).map_err(|error| damaged(error.into()))
    }

    /// The saved loose bodies.
    ///
    /// # Errors
    /// If they cannot be read or are damaged.
    pub fn bodies(&self) -> Result<Vec<SavedBody>, StoreError> {
        let ReadView { tree, info } = self.begin_read();
        let Some(bytes) = self.extra_in(&tree, BODIES_NAME)? else {
            return Ok(Vec::new());
        };
        let read = bodies::decode(&bytes, &info.materials);
        read.map_err(|what| self.damaged_error(StoredPart::Extra(BODIES_NAME.to_owned()), what))
    }
}
