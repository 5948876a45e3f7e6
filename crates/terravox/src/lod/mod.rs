//! Level of detail: one world to the horizon, fine nearby and coarse far away, without cracks or
//! holes.
//!
//! The world is shown as blocks of 32³ cells of several mips. Each block is meshed on its own, and
//! the meshes fit by construction (see [`mesh`](crate::mesh)). [`LodView`], the entry point, keeps
//! track of the blocks that are shown, the blocks that should be shown, and the cells that are in
//! memory or requested.
//!
//! Work is planned, run and published. A plan takes the next few steps (a block into eight, eight
//! blocks into one), nearest first, together with all blocks that edits changed and all neighbours
//! whose mesh depends on a change. Its jobs can run on any thread; publishing shows all results at
//! once. So the view is always the closed surface of one state of the world.

mod active_plan;
mod changes;
mod chosen;
mod clusters;
mod draft;
mod dry;
mod edit_plan;
mod fill_queue;
mod groups;
mod island;
mod late_root;
mod mesh_job;
mod morph;
mod motion;
mod neighbour_change;
mod next_job;
mod options;
mod plan;
mod publish;
mod ray;
mod residency;
mod selection;
mod shown_mesh;
mod simplify_jobs;
mod steps;
mod stuck_roots;
mod supply;
#[cfg(test)]
mod tests;
mod ticket;
mod tiling;
mod view;

pub use clusters::ClusterFitter;
pub use mesh_job::{MeshJob, MeshScratch, MeshedBlock};
pub use morph::MorphRanges;
pub(crate) use next_job::NextJob;
pub use options::LodOptions;
pub use ray::{ShownHit, ShownSurfaces};
pub use selection::LodViewer;
pub use shown_mesh::{MeshSwap, MeshTransform, ShownMesh};
pub use simplify_jobs::{SimplifiedMeshes, SimplifyJob};
pub(crate) use ticket::Ticket as FillTicket;
pub use view::LodView;
