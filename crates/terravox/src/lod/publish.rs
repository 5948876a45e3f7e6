//! From a draft to meshes on screen: the jobs of a plan, handed out one by one or all together, and
//! their results, shown all at once.

use super::active_plan::ActivePlan;
use super::clusters::ClusterFitter;
use super::draft::{HasTime, PlanDraft};
use super::mesh_job::{MeshJob, MeshedBlock};
use super::residency::has_no_faces;
use super::selection::Selector;
use super::shown_mesh::{MeshSwap, ShownMesh, is_same, triangle_count};
use super::ticket::Ticket;
use super::view::LodView;
use crate::mesh::NeighbourMips;
use crate::voxel::{MipBlock, UnlistedChunks, VoxelGrid};
use rustc_hash::FxHashMap;

impl LodView {
    /// Makes a plan of a draft, if there is anything to do in it.
    pub(super) fn new_plan(
        &mut self,
        grid: &VoxelGrid,
        mut draft: PlanDraft,
        selector: &Selector,
    ) -> Option<ActivePlan> {
        draft.removed.retain(|block| self.shown.contains_key(block));
        draft.rebuild.retain(|&block| self.tiling.is_leaf(block));
        if draft.rebuild.is_empty() && draft.removed.is_empty() {
            return None;
        }
        self.plan_count += 1;
        let blocks: Vec<MipBlock> = draft.rebuild.into_iter().collect();
        let mut queue: Vec<(f64, MipBlock)> =
            blocks.iter().map(|&block| (selector.distance_edges(block), block)).collect();
        queue.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        Some(ActivePlan {
            plan: self.plan_count,
            snapshot: grid.snapshot(),
            blocks,
            removed: draft.removed.into_iter().collect(),
            queue: queue.into_iter().map(|(_, block)| block).collect(),
            pending: FxHashMap::default(),
            done: Vec::new(),
            retiled: draft.retiled,
            has_edits: draft.edited > 0,
        })
    }

    /// Returns the job for a block of the active plan; `None` if it has no surface.
    fn job(&mut self, active: &ActivePlan, block: MipBlock) -> Option<MeshJob> {
        let snapshot = &active.snapshot;
        if has_no_faces(snapshot, block, &mut self.scratch) {
            return None;
        }
        let is_known = snapshot.unlisted() == UnlistedChunks::Air;
        let morph_to = self.options.morph.then(|| self.tiling.top());
        let max_cluster_mip = self.options.cluster_mips.min(ClusterFitter::MAX_MIP);
        let beyond = if is_known { block.mip } else { NeighbourMips::UNKNOWN };
        let around = self.tiling.around(block, beyond);
        let clusters = (1..=max_cluster_mip).contains(&block.mip);
        let (plan, snapshot) = (active.plan, snapshot.clone());
        Some(MeshJob { plan, block, around, clusters, snapshot, morph_to, ticket: None })
    }

    /// Returns all jobs of the active plan, to be published together.
    pub(super) fn jobs_of_plan(&mut self) -> Vec<MeshJob> {
        let Some(mut active) = self.active_plan.take() else { return Vec::new() };
        let mut jobs = Vec::new();
        for block in std::mem::take(&mut active.queue) {
            match self.job(&active, block) {
                Some(job) => jobs.push(job),
                None => active.finish_empty(block),
            }
        }
        jobs.sort_unstable_by_key(MeshJob::block);
        self.active_plan = Some(active);
        jobs
    }

    /// Hands out the next job of the edit plan, or of the other plan if `is_edit` is false; `None`
    /// if there is none, or if time ran out while skipping blocks without a surface. It comes back
    /// through [`LodView::finish_mesh`], or is handed out again when it was dropped.
    pub(super) fn take_mesh_job(
        &mut self,
        is_edit: bool,
        has_time: HasTime<'_>,
    ) -> Option<MeshJob> {
        let mut active = self.plan_slot(is_edit).take()?;
        let mut taken = None;
        while let Some(block) = active.queue.pop() {
            match self.job(&active, block) {
                None => {
                    active.finish_empty(block);
                    if !has_time() {
                        break;
                    }
                }
                Some(mut job) => {
                    let ticket = Ticket::default();
                    active.pending.insert(block, ticket.receipt());
                    job.ticket = Some(ticket);
                    taken = Some(job);
                    break;
                }
            }
        }
        *self.plan_slot(is_edit) = Some(active);
        if !is_edit && taken.is_some() {
            self.pay_job();
        }
        taken
    }

    fn plan_slot(&mut self, is_edit: bool) -> &mut Option<ActivePlan> {
        if is_edit { &mut self.edit_plan } else { &mut self.active_plan }
    }

    /// Whether a plan has jobs that are not handed out yet.
    pub(super) fn has_mesh_jobs(&self) -> bool {
        let plans = self.edit_plan.iter().chain(&self.active_plan);
        plans.into_iter().any(|plan| !plan.queue.is_empty())
    }

    /// Takes back the result of a job.
    pub(crate) fn finish_mesh(&mut self, mut result: MeshedBlock) {
        let plans = self.edit_plan.iter_mut().chain(&mut self.active_plan);
        let Some(active) = plans.into_iter().find(|plan| plan.plan == result.plan) else { return };
        let receipt = active.pending.get(&result.block);
        let is_expected = match (receipt, &result.ticket) {
            (Some(receipt), Some(ticket)) => receipt.is_of(ticket),
            _ => false,
        };
        if is_expected {
            active.pending.remove(&result.block);
            // Compared here, one by one, rather than all in the frame that publishes.
            let shown = self.shown.get(&result.block);
            if is_same(shown, result.mesh.as_ref()) {
                result.mesh = shown.cloned();
            }
            active.done.push(result);
        }
    }

    /// Publishes a plan of which all results are back, the edit plan first.
    pub(crate) fn publish_complete(&mut self) -> Option<MeshSwap> {
        if let Some(plan) = self.edit_plan.take_if(|plan| plan.is_complete()) {
            return Some(self.publish_plan(plan, Vec::new()));
        }
        let plan = self.active_plan.take_if(|plan| plan.is_complete())?;
        Some(self.publish_plan(plan, Vec::new()))
    }

    /// Requests and hands out again what was dropped.
    pub(crate) fn begin_round(&mut self) {
        self.fills.begin_round();
        self.groups.begin_round();
        self.has_held_near = false;
        let plans = self.edit_plan.iter_mut().chain(&mut self.active_plan);
        plans.for_each(ActivePlan::requeue_lost);
    }

    /// Shows the results of the last plan.
    ///
    /// # Panics
    /// Unless `results` are those of every job of the last plan, in any order.
    pub fn publish(&mut self, results: Vec<MeshedBlock>) -> MeshSwap {
        match self.active_plan.take() {
            Some(plan) => self.publish_plan(plan, results),
            None => {
                assert!(results.is_empty(), "publish needs a plan that is not published yet");
                MeshSwap::default()
            }
        }
    }

    fn publish_plan(&mut self, active: ActivePlan, mut results: Vec<MeshedBlock>) -> MeshSwap {
        let ActivePlan { plan, blocks, removed, done, .. } = active;
        results.extend(done);
        results.sort_unstable_by_key(|result| result.block);
        let is_complete = results.iter().map(|result| result.block).eq(blocks)
            && results.iter().all(|result| result.plan == plan);
        assert!(is_complete, "publish needs the result of every job of the last plan exactly once");
        // Edits that had to wait for this plan may be shown ahead of the next one.
        self.has_late_edits = false;
        let mut swap = MeshSwap::default();
        for block in removed {
            self.hide(block, &mut swap);
        }
        for MeshedBlock { block, mesh, .. } in results {
            if is_same(self.shown.get(&block), mesh.as_ref()) {
                continue;
            }
            self.hide(block, &mut swap);
            if let Some(mesh) = mesh {
                self.triangles += triangle_count(&mesh);
                self.has_water |= !mesh.liquid.is_empty();
                self.shown.insert(block, mesh.clone());
                swap.added.push(ShownMesh { block, mip: block.mip, mesh });
            }
        }
        self.adjust_detail();
        self.groups.apply(swap, &self.shown)
    }

    fn hide(&mut self, block: MipBlock, swap: &mut MeshSwap) {
        if let Some(mesh) = self.shown.remove(&block) {
            self.triangles -= triangle_count(&mesh);
            swap.removed.push(block);
        }
    }

    /// Lowers the detail if there are too many triangles, and raises it again if there are few.
    fn adjust_detail(&mut self) {
        let most = self.options.max_triangles;
        let share = if self.triangles > most {
            self.detail_share * 0.97
        } else if self.triangles < most / 5 * 4 {
            self.detail_share * 1.01
        } else {
            self.detail_share
        };
        self.detail_share = share.clamp(1.0 / f64::from(self.options.detail), 1.0);
    }
}
