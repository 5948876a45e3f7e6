//! The figures of the project: id, unit, the bound that must hold and the goal.

/// The bound of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The value must not exceed this.
    AtMost(f64),
    /// The value must not fall below this.
    AtLeast(f64),
}

impl Bound {
    /// Returns whether `value` keeps the bound; NaN does not.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Bound::AtMost(limit) => value <= limit,
            Bound::AtLeast(limit) => value >= limit,
        }
    }
}

/// The part of the benchmark that measures a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Cells in memory and on disk.
    Storage,
    /// The surface.
    Mesh,
    /// Rays, boxes and the broadphase.
    Collide,
    /// Contacts of bodies.
    Contacts,
    /// Brushes and undo.
    Edit,
    /// Far terrain.
    Lod,
    /// Sparks and debris.
    Particles,
    /// Octrees, clusters and simplification.
    Octree,
    /// Bodies that edits cut loose.
    Bodies,
    /// The first hour of a game: streaming, own generators, saving, upload.
    Front,
    /// Hostile files, damage, kills and faults.
    Trust,
    /// Replication.
    Net,
    /// Generated worlds.
    Worlds,
    /// Worlds in a database: with the feature `cluster`, and not among all.
    Cluster,
    /// The Python package: measured by `scripts/test-python figures`, reported here.
    Python,
    /// The page in a browser: measured by `scripts/web-figures`, reported here.
    Page,
    /// The plugin for Bevy: measured by `scripts/bevy-figures`, reported here.
    Bevy,
    /// Filling and searching on the graphics card: compared by `scripts/test-gpu figures`, reported
    /// here.
    Gpu,
}

impl Area {
    /// All areas that this program measures, in the order in which they run.
    pub const MEASURED: [Area; 13] = [
        Area::Storage,
        Area::Mesh,
        Area::Collide,
        Area::Contacts,
        Area::Edit,
        Area::Lod,
        Area::Particles,
        Area::Octree,
        Area::Bodies,
        Area::Front,
        Area::Trust,
        Area::Net,
        Area::Worlds,
    ];

    /// Returns the name on the command line and in documents.
    pub fn name(self) -> &'static str {
        match self {
            Area::Storage => "storage",
            Area::Mesh => "mesh",
            Area::Collide => "collide",
            Area::Contacts => "contacts",
            Area::Edit => "edit",
            Area::Lod => "lod",
            Area::Particles => "particles",
            Area::Octree => "octree",
            Area::Bodies => "bodies",
            Area::Front => "front",
            Area::Trust => "trust",
            Area::Net => "net",
            Area::Worlds => "worlds",
            Area::Cluster => "cluster",
            Area::Python => "python",
            Area::Page => "page",
            Area::Bevy => "bevy",
            Area::Gpu => "gpu",
        }
    }
}

/// One figure and its bound.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Id, as in the JSON.
    pub id: &'static str,
    /// The area that measures it.
    pub area: Area,
    /// Unit of the value.
    pub unit: &'static str,
    /// Must hold.
    pub bound: Bound,
    /// The goal, if there is one.
    pub aim: Option<f64>,
}

const fn figure(
    area: Area,
    id: &'static str,
    unit: &'static str,
    bound: Bound,
    aim: Option<f64>,
) -> Figure {
    Figure { id, area, unit, bound, aim }
}

/// All figures, in the order in which they are shown.
pub const FIGURES: &[Figure] = {
    use Area::{
        Bevy, Bodies, Cluster, Collide, Contacts, Edit, Front, Gpu, Lod, Mesh, Net, Octree, Page,
        Particles, Python, Storage, Trust, Worlds,
    };
    use Bound::{AtLeast, AtMost};
    &[
        figure(Storage, "row_read_ratio", "×", AtLeast(0.8), Some(1.0)),
        figure(Storage, "random_read_ratio", "×", AtMost(1.3), Some(1.1)),
        figure(Storage, "row_packed_overhead", "×", AtMost(1.05), None),
        figure(Storage, "chunk_bytes_all_vs_rows", "×", AtMost(1.3), Some(1.15)),
        figure(Storage, "snapshot_us", "µs", AtMost(50.0), Some(5.0)),
        figure(Storage, "rle_encode", "GB/s", AtLeast(1.0), Some(1.4)),
        figure(Storage, "rle_decode", "GB/s", AtLeast(1.5), Some(2.2)),
        figure(Mesh, "mesh_default_64_vs_fsn", "×", AtMost(0.6), Some(0.4)),
        figure(Mesh, "mesh_default_8_vs_fsn", "×", AtMost(1.0), Some(0.65)),
        figure(Mesh, "mesh_smooth_64_vs_fsn", "×", AtMost(0.6), Some(0.38)),
        figure(Mesh, "mesh_portable_64_vs_fsn", "×", AtMost(1.5), Some(0.65)),
        figure(Mesh, "mesh_gather_64_ns", "ns/voxel", AtMost(0.3), Some(0.1)),
        figure(Mesh, "mesh_empty_block", "ns/voxel", AtMost(0.05), Some(0.0)),
        figure(Mesh, "mesh_open_edges", "edges", AtMost(0.0), None),
        figure(Mesh, "mesh_nonmanifold_edges", "edges", AtMost(0.0), None),
        figure(Mesh, "sphere24_rms", "voxels", AtMost(0.009), Some(0.0075)),
        figure(Mesh, "oblique_rms", "voxels", AtMost(0.004), Some(0.003)),
        figure(Mesh, "box_edge_rms", "voxels", AtMost(0.18), Some(0.12)),
        figure(Mesh, "plate_volume_error", "share", AtMost(0.03), Some(0.01)),
        figure(Storage, "import_place_seconds", "s", AtMost(2.0), Some(0.5)),
        figure(Storage, "core_dependencies", "crates", AtMost(15.0), Some(8.0)),
        figure(Collide, "mask_block_ns", "ns/block", AtMost(200.0), Some(80.0)),
        figure(Collide, "broad_query_ns", "ns", AtMost(30.0), None),
        figure(Collide, "broad_query_vs_parry", "×", AtLeast(3.0), None),
        figure(Collide, "index_build_vs_fsn", "×", AtMost(0.6), Some(0.45)),
        figure(Collide, "kd_build_vs_fsn", "×", AtMost(0.7), Some(0.45)),
        figure(Collide, "edge_data_vs_fsn", "×", AtMost(0.5), Some(0.2)),
        figure(Collide, "block_ready_vs_fsn", "×", AtMost(2.5), Some(1.6)),
        figure(Collide, "bytes_per_triangle", "B", AtMost(12.0), Some(10.5)),
        figure(Collide, "kd_bytes_per_triangle", "B", AtMost(13.0), Some(11.0)),
        figure(Collide, "ray_vs_parry", "×", AtLeast(2.0), Some(2.5)),
        figure(Collide, "ray_vs_embree", "×", AtLeast(1.2), Some(1.4)),
        figure(Collide, "box_vs_parry", "×", AtLeast(1.2), Some(1.4)),
        figure(Collide, "edit_to_collidable_vs_parry", "×", AtMost(0.08), Some(0.03)),
        figure(Collide, "query_allocations", "allocations", AtMost(0.0), None),
        figure(Collide, "billion_cell_mask_bytes_ratio", "×", AtMost(1.0), None),
        figure(Collide, "render_mrays", "M/s", AtLeast(1.5), Some(4.0)),
        figure(Contacts, "ghost_ball_vy", "m/s", AtMost(0.2), Some(0.15)),
        figure(Contacts, "ghost_other_vy", "m/s", AtMost(0.05), Some(0.02)),
        figure(Contacts, "ghost_core_vy", "m/s", AtMost(0.2), Some(0.05)),
        figure(Contacts, "ghost_lateral_m", "m", AtMost(0.02), Some(0.005)),
        figure(Contacts, "support_lost", "bodies", AtMost(0.0), Some(0.0)),
        figure(Contacts, "ccd_tunnelled", "balls", AtMost(0.0), Some(0.0)),
        figure(Contacts, "inside_recovered", "share", AtLeast(0.9), Some(1.0)),
        figure(Contacts, "sine_dv_vs_one_mesh", "×", AtMost(0.8), Some(0.5)),
        figure(Contacts, "rest_1000_vs_trimesh", "×", AtMost(1.4), Some(1.1)),
        figure(Contacts, "roll_1000_vs_trimesh", "×", AtMost(1.4), Some(1.1)),
        figure(Contacts, "core_manifold_ns", "ns", AtMost(1500.0), Some(500.0)),
        figure(Contacts, "rapier_edit_to_contact_us", "µs", AtMost(1000.0), Some(300.0)),
        figure(Contacts, "rapier_bytes_per_triangle", "B", AtMost(130.0), Some(40.0)),
        figure(Contacts, "float_depth_error", "share", AtMost(0.05), Some(0.02)),
        figure(Contacts, "edit_wake_steps", "steps", AtMost(1.0), None),
        figure(Contacts, "boxes_per_solid_cell", "boxes", AtMost(0.05), Some(0.02)),
        figure(Contacts, "boxes_reused_share", "share", AtLeast(0.95), None),
        figure(Contacts, "boxes_update_vs_rebuild", "×", AtMost(0.1), Some(0.02)),
        figure(Contacts, "soak_lost", "bodies", AtMost(0.0), Some(0.0)),
        figure(Edit, "ball16_cells_per_s", "M/s", AtLeast(60.0), Some(300.0)),
        figure(Edit, "undo_vs_edit", "×", AtMost(0.5), Some(0.3)),
        figure(Edit, "history_vs_raw", "×", AtMost(0.1), Some(0.05)),
        figure(Edit, "volume_error", "share", AtMost(0.01), None),
        figure(Lod, "border_vs_interior", "×", AtMost(0.5), Some(0.25)),
        figure(Lod, "mixed_vs_flat", "×", AtMost(1.3), Some(1.0)),
        figure(Lod, "view_16km_mib", "MiB", AtMost(256.0), Some(128.0)),
        figure(Lod, "view_16km_seconds", "s", AtMost(15.0), Some(5.0)),
        figure(Lod, "view_16km_triangles", "million", AtMost(4.0), Some(2.0)),
        figure(Lod, "fly_worker_ms", "ms", AtMost(6.0), Some(2.0)),
        figure(Lod, "fly_late_ms", "ms", AtMost(250.0), Some(100.0)),
        figure(Lod, "fly_memory_growth", "×", AtMost(1.05), Some(1.0)),
        figure(Lod, "stroke_visible_ms", "ms", AtMost(5.0), Some(1.0)),
        figure(Lod, "world_growth", "×", AtMost(1.1), Some(1.0)),
        figure(Particles, "particles_per_s", "M/s", AtLeast(150.0), Some(400.0)),
        figure(Particles, "particles_fell_through", "share", AtMost(0.01), Some(0.002)),
        figure(Particles, "burst_fell_through_cold", "share", AtMost(0.25), Some(0.1)),
        figure(Particles, "burst_fell_through_warm", "share", AtMost(0.03), Some(0.01)),
        figure(Particles, "v_rest", "share", AtLeast(0.98), Some(1.0)),
        figure(Particles, "particles_vs_ray_each", "×", AtLeast(30.0), Some(100.0)),
        figure(Particles, "single_particle_fell_through", "casings", AtMost(0.0), Some(0.0)),
        figure(Octree, "octree_vs_flat", "×", AtMost(4.0), Some(2.0)),
        figure(Octree, "octree_ns_voxel", "ns/voxel", AtMost(13.0), Some(5.0)),
        figure(Octree, "octree_bytes_per_leaf", "B", AtMost(32.0), Some(20.0)),
        figure(Octree, "cluster2_kept", "share", AtMost(0.28), None),
        figure(Octree, "cluster4_kept", "share", AtMost(0.09), None),
        figure(Octree, "cluster_ns_triangle", "ns", AtMost(30.0), None),
        figure(Octree, "simplify_deviation", "×", AtMost(1.0), None),
        figure(Octree, "simplify_kept_quarter_voxel", "share", AtMost(0.13), Some(0.1)),
        figure(Bodies, "connectivity_us", "µs", AtMost(300.0), Some(50.0)),
        figure(Bodies, "detach_ms", "ms", AtMost(50.0), Some(10.0)),
        figure(Front, "readme_first_dig_frame", "frame", AtMost(20.0), Some(5.0)),
        figure(Front, "first_ray_ms", "ms", AtMost(60.0), Some(15.0)),
        figure(Front, "update_over_budget_ms", "ms", AtMost(1.0), Some(0.3)),
        figure(Front, "walk_without_ground_frames", "frames", AtMost(6.0), Some(0.0)),
        figure(Front, "dig_while_streaming_frames", "frames", AtMost(10.0), Some(2.0)),
        figure(Front, "first_view_frames", "frames", AtMost(300.0), Some(60.0)),
        figure(Front, "own_height_vs_hills", "×", AtMost(1.5), Some(1.0)),
        figure(Front, "own_sdf_vs_hills", "×", AtMost(4.0), Some(2.0)),
        figure(Front, "own_uniform_block_us", "µs", AtMost(5.0), Some(1.0)),
        figure(Front, "bodies_fallen", "bodies", AtMost(0.0), None),
        figure(Front, "save_lost_edits", "edits", AtMost(0.0), None),
        figure(Front, "save_stall_ms", "ms", AtMost(1.0), Some(0.2)),
        figure(Front, "vertex_bytes", "B", AtMost(24.0), Some(16.0)),
        figure(Front, "simplify_place_s", "s", AtMost(15.0), Some(6.0)),
        figure(Front, "shore_teeth", "share", AtMost(0.01), Some(0.0)),
        figure(Front, "edit_to_collidable_us", "µs", AtMost(160.0), Some(100.0)),
        figure(Trust, "hostile_peak_mib", "MiB", AtMost(512.0), Some(256.0)),
        figure(Trust, "hostile_seconds", "s", AtMost(5.0), Some(1.0)),
        figure(Trust, "hostile_growth", "×", AtMost(2.5), Some(2.1)),
        figure(Trust, "damaged_aborts", "worlds", AtMost(0.0), None),
        figure(Trust, "damaged_silent", "worlds", AtMost(0.0), None),
        figure(Trust, "damaged_worse", "worlds", AtMost(0.0), None),
        figure(Trust, "verify_found", "share", AtLeast(1.0), None),
        figure(Trust, "repair_lost_chunks", "chunks", AtMost(1.0), None),
        figure(Trust, "file_vs_payload", "×", AtMost(1.3), Some(1.1)),
        figure(Trust, "file_vs_payload_saves", "×", AtMost(2.0), Some(1.5)),
        figure(Trust, "reopen_after_kill_ms", "ms", AtMost(20.0), Some(5.0)),
        figure(Trust, "fault_points_failed", "points", AtMost(0.0), None),
        figure(Trust, "kills_failed", "kills", AtMost(0.0), None),
        figure(Trust, "edit_estimate_error", "×", AtMost(3.0), Some(1.5)),
        figure(Net, "op_bytes", "B", AtMost(40.0), Some(24.0)),
        figure(Net, "delta_r4_bytes", "B", AtMost(700.0), Some(400.0)),
        figure(Net, "bit_rle_vs_rle", "×", AtMost(0.7), Some(0.6)),
        figure(Net, "join_bytes_vs_mip0", "×", AtMost(0.166), Some(0.077)),
        figure(Net, "join_generated_kib", "KiB", AtMost(256.0), Some(64.0)),
        figure(Net, "first_picture_s", "s", AtMost(2.0), Some(0.7)),
        figure(Net, "converge_s", "s", AtMost(1.0), Some(0.4)),
        figure(Net, "view_4km_s", "s", AtMost(30.0), Some(10.0)),
        figure(Net, "view_4km_mb", "MB", AtMost(30.0), Some(10.0)),
        figure(Net, "links_diverged", "seeds", AtMost(0.0), None),
        figure(Net, "killed_lost_edits", "edits", AtMost(0.0), None),
        figure(Net, "tick_p99_ms", "ms", AtMost(33.0), Some(12.0)),
        figure(Net, "clients_held", "clients", AtLeast(200.0), Some(1000.0)),
        figure(Net, "edit_to_other_guest_ms", "ms", AtMost(50.0), Some(10.0)),
        figure(Net, "idle_tick_us", "µs", AtMost(500.0), Some(50.0)),
        figure(Net, "host_kib_per_guest", "KiB", AtMost(512.0), Some(64.0)),
        figure(Worlds, "world_fill_ns_cell", "ns", AtMost(40.0), Some(12.0)),
        figure(Worlds, "world_uniform_block_us", "µs", AtMost(5.0), Some(1.0)),
        figure(Worlds, "world_1024_s", "s", AtMost(10.0), Some(3.0)),
        figure(Worlds, "world_view_16km_s", "s", AtMost(15.0), Some(5.0)),
        figure(Worlds, "mip_agreement", "cells", AtMost(0.15), Some(0.05)),
        figure(Worlds, "digest_differences", "blocks", AtMost(0.0), None),
        figure(Worlds, "voxelise_bunny_s", "s", AtMost(0.5), Some(0.1)),
        figure(Worlds, "voxelise_volume_error", "%", AtMost(1.0), None),
        figure(Worlds, "scatter_m_points_s", "M/s", AtLeast(1.0), Some(5.0)),
        figure(Worlds, "scatter_edit_us", "µs", AtMost(500.0), Some(100.0)),
        figure(Worlds, "navmesh_tile_ms", "ms", AtMost(50.0), Some(15.0)),
        figure(Cluster, "pg_chunks_per_s", "chunks/s", AtLeast(10_000.0), Some(25_000.0)),
        figure(Cluster, "pg_commit_ms", "ms", AtMost(15.0), Some(5.0)),
        figure(Cluster, "pg_load_region_ms", "ms", AtMost(60.0), Some(15.0)),
        figure(Cluster, "takeover_s", "s", AtMost(5.0), Some(2.0)),
        figure(Cluster, "lost_edits", "edits", AtMost(0.0), None),
        figure(Cluster, "stale_writes", "takeovers", AtMost(0.0), None),
        figure(Cluster, "doubled_or_missing_border_edits", "edits", AtMost(0.0), None),
        figure(Cluster, "border_edit_ms", "ms", AtMost(100.0), Some(30.0)),
        figure(Cluster, "crossing_stall_ms", "ms", AtMost(100.0), Some(30.0)),
        figure(Cluster, "border_takeover_s", "s", AtMost(5.0), Some(2.0)),
        figure(Cluster, "s3_first_block_ms", "ms", AtMost(120.0), Some(60.0)),
        figure(Cluster, "s3_overhead", "×", AtMost(1.1), Some(1.03)),
        figure(Python, "py_region_gb_s", "GB/s", AtLeast(1.0), Some(5.0)),
        figure(Python, "dask_digest_differences", "imports", AtMost(0.0), None),
        figure(Page, "page_kib", "KiB", AtMost(1024.0), Some(640.0)),
        figure(Page, "page_first_picture_s", "s", AtMost(4.0), Some(1.5)),
        figure(Page, "page_frame_js_ms", "ms", AtMost(6.0), Some(2.0)),
        figure(Page, "wasm_mesh_vs_native", "×", AtMost(2.2), Some(1.5)),
        figure(Page, "edit_seen_self_ms", "ms", AtMost(60.0), Some(25.0)),
        figure(Page, "edit_seen_other_ms", "ms", AtMost(150.0), Some(60.0)),
        figure(Page, "page_memory_growth", "×", AtMost(1.1), Some(1.0)),
        figure(Page, "wasm_digest_differences", "worlds", AtMost(0.0), None),
        figure(Bevy, "bevy_main_ms_p99", "ms", AtMost(2.0), Some(0.7)),
        figure(Bevy, "bevy_upload_over_budget_bytes", "bytes", AtMost(0.0), None),
        figure(Bevy, "brush_frame_ratio", "×", AtMost(2.0), Some(1.3)),
        figure(Bevy, "edit_to_drawn_frames", "frames", AtMost(2.0), Some(1.0)),
        figure(Bevy, "bodies_not_woken", "bodies", AtMost(0.0), None),
        figure(Bevy, "bodies_below", "bodies", AtMost(0.0), None),
        figure(Bevy, "plugin_lines_to_dig", "lines", AtMost(40.0), Some(25.0)),
        figure(Bevy, "studio_first_picture_s", "s", AtMost(4.0), Some(2.0)),
        figure(Gpu, "gpu_differences", "values", AtMost(0.0), None),
    ]
};

/// Returns the figure `id`.
///
/// # Panics
/// Panics if the id is unknown.
pub fn find(id: &str) -> &'static Figure {
    let Some(figure) = FIGURES.iter().find(|figure| figure.id == id) else {
        panic!("there is no figure {id}");
    };
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_aims_keep_their_bound() {
        for (at, figure) in FIGURES.iter().enumerate() {
            assert!(FIGURES[..at].iter().all(|other| other.id != figure.id), "{}", figure.id);
            assert!(figure.aim.is_none_or(|aim| figure.bound.holds(aim)), "{}", figure.id);
        }
    }

    #[test]
    fn nan_keeps_no_bound() {
        assert!(!Bound::AtMost(1.0).holds(f64::NAN));
        assert!(!Bound::AtLeast(1.0).holds(f64::NAN));
        assert!(Bound::AtMost(0.0).holds(0.0));
    }
}
