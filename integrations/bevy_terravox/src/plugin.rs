//! The plugin: its systems, their order, settings and what was measured.

use std::time::Instant;

use bevy::asset::AssetEventSystems;
use bevy::camera::visibility::VisibilitySystems;
use bevy::prelude::*;

use crate::{
    EditTerrain, GroundReady, PieceCutLoose, TerrainEditFailed, TerrainEdited, TerrainPalette,
    TerrainViewer, WaitForGround,
};
use crate::{chunks, edits, ground, loose, palette, streaming};

/// Adds terrain to an app. Fields are copied into the resource [`TerravoxSettings`].
#[derive(Clone, Debug, Default)]
pub struct TerravoxPlugin {
    /// Budgets of a frame.
    pub settings: TerravoxSettings,
}

/// Budgets of a frame. May be changed at any time.
#[derive(Resource, Clone, Debug, PartialEq, Reflect)]
#[reflect(Resource, Default)]
pub struct TerravoxSettings {
    /// Bytes of vertices and indices that are handed to the renderer in a frame, at most; no less
    /// than [`TerravoxSettings::MIN_UPLOAD_BYTES`]. Larger meshes are split.
    pub upload_bytes: usize,
    /// Milliseconds for taking jobs back and for planning in a frame, for each terrain. Planning gets what
    /// is left, and a quarter at least.
    pub plan_ms: f32,
    /// Jobs in flight for each thread of the `AsyncComputeTaskPool`. Those of edits are not limited and
    /// begin first. Fewer leave threads idle until the next frame.
    pub jobs_per_thread: usize,
    /// Whether meshes stay in memory after they were handed to the renderer, for systems of the
    /// game that read them. Rays need none.
    pub keep_meshes: bool,
}

impl TerravoxSettings {
    /// The least that [`upload_bytes`](field@TerravoxSettings::upload_bytes) counts as.
    pub const MIN_UPLOAD_BYTES: usize = 64 << 10;

    pub(crate) fn upload_bytes(&self) -> usize {
        self.upload_bytes.max(TerravoxSettings::MIN_UPLOAD_BYTES)
    }
}

impl Default for TerravoxSettings {
    /// 2 MiB, 1 ms, 8 jobs.
    fn default() -> TerravoxSettings {
        TerravoxSettings {
            upload_bytes: 2 << 20,
            plan_ms: 1.0,
            jobs_per_thread: 8,
            keep_meshes: false,
        }
    }
}

/// What the last frame cost on the main thread.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Reflect)]
#[reflect(Resource, Default)]
pub struct TerravoxStats {
    /// Milliseconds of edits and of cutting pieces loose.
    pub edit_ms: f64,
    /// Milliseconds of planning and of taking jobs back.
    pub stream_ms: f64,
    /// Milliseconds of handing over meshes and of showing and hiding them.
    pub draw_ms: f64,
    /// Milliseconds of looking whether ground is ready.
    pub ground_ms: f64,
    /// Milliseconds of what servers sent and are sent.
    pub online_ms: f64,
    /// Bytes that were handed to the renderer.
    pub uploaded_bytes: usize,
    /// Meshes that were handed to the renderer.
    pub uploaded_meshes: usize,
}

impl TerravoxStats {
    /// Milliseconds of all systems.
    pub fn main_ms(&self) -> f64 {
        self.edit_ms + self.stream_ms + self.draw_ms + self.ground_ms + self.online_ms
    }
}

/// Runs `work` and adds the milliseconds that it took.
pub(crate) fn timed<T>(total_ms: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    *total_ms += ms_since(start);
    done
}

pub(crate) fn ms_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// What the plugin does in `PostUpdate`, in this order, before transforms are propagated. Systems
/// that write [`EditTerrain`] before `Edit` are drawn soonest.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TerravoxSystems {
    /// Edits are applied; queries see them from then on.
    Edit,
    /// Jobs are taken back and queued. In `Last` they are given to the task pool.
    Stream,
    /// Meshes are made, shown and hidden.
    Draw,
    /// [`GroundReady`] is sent.
    Ground,
}

impl Plugin for TerravoxPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.settings.clone())
            .init_resource::<TerravoxStats>()
            .add_message::<EditTerrain>()
            .add_message::<TerrainEdited>()
            .add_message::<TerrainEditFailed>()
            .add_message::<PieceCutLoose>()
            .add_message::<GroundReady>()
            .register_type::<TerrainViewer>()
            .register_type::<WaitForGround>()
            .register_type::<TerravoxSettings>()
            .register_type::<TerravoxStats>();
        use TerravoxSystems::{Draw, Edit, Ground, Stream};
        app.configure_sets(
            PostUpdate,
            (Edit, Stream, Draw, Ground)
                .chain()
                .before(TransformSystems::Propagate)
                .before(VisibilitySystems::VisibilityPropagate),
        );
        // Else the mesh of a spare chunk that is used again may be handed over before the event that
        // says so, and once more after it, in vain.
        app.configure_sets(PostUpdate, Draw.before(AssetEventSystems));
        app.add_systems(
            PostUpdate,
            (
                clear_stats.before(Edit),
                (edits::apply, loose::cut).chain().in_set(Edit),
                streaming::stream.in_set(Stream),
                chunks::draw.run_if(resource_exists::<Assets<Mesh>>).in_set(Draw),
                ground::announce.in_set(Ground),
            ),
        );
        app.add_systems(Last, streaming::spawn);
        app.add_observer(chunks::on_discard).add_observer(palette::on_terrain);
        #[cfg(feature = "store")]
        crate::store::build(app);
        #[cfg(feature = "online")]
        crate::online::build(app);
        #[cfg(feature = "picking")]
        crate::picking::build(app);
        #[cfg(feature = "render")]
        app.add_plugins(crate::render::TerrainRenderPlugin);
    }

    fn finish(&self, app: &mut App) {
        // Without assets, as on a server, terrains use the table of their options.
        if app.world().contains_resource::<AssetServer>() {
            app.init_asset::<TerrainPalette>();
            app.add_systems(PostUpdate, palette::apply.before(TerravoxSystems::Edit));
        }
    }
}

fn clear_stats(mut stats: ResMut<TerravoxStats>) {
    *stats = TerravoxStats::default();
}
