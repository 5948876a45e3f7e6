//! The component that is a terrain.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bevy::prelude::*;
use terravox::terrain::{FillRequest, LodOptions, TerrainOptions};

use crate::chunks::TerrainChunks;
use crate::streaming::Work;

/// Fills a block of cells: a generator, a store, or both.
pub(crate) type Fill = Arc<dyn Fn(&mut FillRequest<'_>) + Send + Sync>;

/// A terrain. Its voxels lie where the `Transform` of the entity puts them, which may be moved and
/// rotated; scale must stay 1 (`Placement::voxel_size_m` is the size of a voxel). There may be
/// several.
///
/// Dereferences to [`terravox::Terrain`], whose metres are those of the entity: *terrain space*.
/// [`Terrains`](crate::Terrains) has rays in world space.
///
/// ```
/// use bevy_terravox::prelude::*;
///
/// let terrain = Terrain::new(|request| request.fill_height(2, -4.0..=4.0, |x, _| 4.0 * (x * 0.1).sin()));
/// assert!(!terrain.is_settled());
/// ```
#[derive(Component)]
#[require(Transform, Visibility, TerrainChunks)]
pub struct Terrain {
    pub(crate) voxels: terravox::Terrain,
    pub(crate) fill: Fill,
    pub(crate) work: Work,
}

impl Terrain {
    /// A terrain with voxels of one metre that `fill` generates block by block, on other threads.
    /// It must give a block the same cells each time. For views of up to some kilometres: the
    /// coarsest blocks, which are always generated whole, are 1 km wide (`max_mip` 5).
    pub fn new(fill: impl Fn(&mut FillRequest<'_>) + Send + Sync + 'static) -> Terrain {
        let lod = LodOptions { max_mip: 5, ..LodOptions::default() };
        Terrain::with_options(TerrainOptions { lod, ..TerrainOptions::default() }, fill)
    }

    /// As [`Terrain::new`], with options.
    ///
    /// # Panics
    /// If an option is out of its range; the message names it.
    pub fn with_options(
        options: TerrainOptions,
        fill: impl Fn(&mut FillRequest<'_>) + Send + Sync + 'static,
    ) -> Terrain {
        Terrain::from_voxels(terravox::Terrain::new(options), fill)
    }

    /// A terrain that exists already. `fill` is called where blocks are unknown.
    pub fn from_voxels(
        voxels: terravox::Terrain,
        fill: impl Fn(&mut FillRequest<'_>) + Send + Sync + 'static,
    ) -> Terrain {
        Terrain { voxels, fill: Arc::new(fill), work: Work::default() }
    }

    /// What fills blocks, for [`terravox::Terrain::hold`] and `Store::save`.
    pub fn fill(&self) -> Arc<dyn Fn(&mut FillRequest<'_>) + Send + Sync> {
        self.fill.clone()
    }

    /// Whether its generator panicked. Nothing more is streamed in then.
    pub fn has_failed(&self) -> bool {
        self.work.has_failed
    }
}

impl Deref for Terrain {
    type Target = terravox::Terrain;
    fn deref(&self) -> &terravox::Terrain {
        &self.voxels
    }
}

impl DerefMut for Terrain {
    fn deref_mut(&mut self) -> &mut terravox::Terrain {
        self.work.is_dirty = true;
        &mut self.voxels
    }
}
