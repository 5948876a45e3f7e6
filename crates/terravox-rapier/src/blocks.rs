//! The colliders of the blocks near bodies: added, replaced and removed.

use std::sync::Arc;

use rapier3d::prelude::{
    ColliderBuilder, ColliderHandle, ColliderSet, InteractionGroups, SoftBodySet, Vector,
};
use rustc_hash::FxHashMap;
use terravox::collide::{BuildPolicy, Collider, CollisionBlock};
use terravox::terrain::Placement;
use terravox::voxel::Changes;

use crate::ground::{BlockGround, Coefficients, GroundScratch, PROBE_PADDING_VOXELS, grounds};
use crate::interest::BlockChanges;
use crate::options::{RapierSets, SyncReport, TerrainColliderStats};
use crate::parry_0_31::GroundShape;

/// A collider of ground.
#[derive(Clone, Debug)]
struct GroundCollider {
    coefficients: Coefficients,
    ground: Arc<BlockGround>,
    handle: ColliderHandle,
}

/// The colliders of one block.
#[derive(Clone, Debug, Default)]
struct BlockColliders {
    /// Number of bodies near it.
    users: u32,
    colliders: Vec<GroundCollider>,
    /// Whether its cells are not held.
    is_missing: bool,
}

/// What colliders are built from.
#[derive(Clone, Copy)]
pub struct GroundSource<'a> {
    pub ground: &'a Collider,
    pub placement: Placement,
    pub collision_groups: InteractionGroups,
}

/// The colliders of all blocks near bodies.
#[derive(Default)]
pub struct BlockTable {
    blocks: FxHashMap<CollisionBlock, BlockColliders>,
    /// Whether a block became missing or available since [`BlockTable::take_missing_changed`].
    missing_changed: bool,
    scratch: GroundScratch,
}

impl BlockTable {
    /// Handles of all colliders with their blocks, unsorted.
    pub fn colliders(&self) -> impl Iterator<Item = (CollisionBlock, ColliderHandle)> {
        self.blocks.iter().flat_map(|(&block, entry)| {
            entry.colliders.iter().map(move |collider| (block, collider.handle))
        })
    }

    /// Counts and memory.
    pub fn stats(&self, colliders: &ColliderSet) -> TerrainColliderStats {
        let mut stats =
            TerrainColliderStats { blocks: self.blocks.len(), ..TerrainColliderStats::default() };
        for (_, handle) in self.colliders() {
            let shape = colliders.get(handle).and_then(|c| c.shape().as_shape::<GroundShape>());
            let Some(shape) = shape else { continue };
            stats.colliders += 1;
            let bytes = shape.bytes();
            if bytes.bvh + bytes.mesh > 0 {
                stats.touched += 1;
                stats.touched_triangles += shape.ground().triangle_count();
                stats.touched_bytes.ground += bytes.ground;
                stats.touched_bytes.bvh += bytes.bvh;
                stats.touched_bytes.mesh += bytes.mesh;
            }
        }
        stats
    }

    /// Whether a block near a body cannot be built because its cells are not held.
    pub fn is_missing(&self, block: &CollisionBlock) -> bool {
        self.blocks.get(block).is_some_and(|entry| entry.is_missing)
    }

    /// Number of missing blocks.
    pub fn missing_count(&self) -> usize {
        self.blocks.values().filter(|entry| entry.is_missing).count()
    }

    /// Whether a block became missing or available since the last call.
    pub fn take_missing_changed(&mut self) -> bool {
        std::mem::take(&mut self.missing_changed)
    }

    /// Blocks of the table that an edit may have changed, sorted.
    pub fn changed_by(&self, changes: &Changes) -> Vec<CollisionBlock> {
        let mut blocks: Vec<CollisionBlock> = match changes {
            Changes::Everything => self.blocks.keys().copied().collect(),
            Changes::Regions(regions) => {
                let is_changed = |block: &&CollisionBlock| {
                    let reached = block.region().grow(PROBE_PADDING_VOXELS);
                    regions.iter().any(|&region| !region.intersect(reached).is_empty())
                };
                match regions.is_empty() {
                    true => Vec::new(),
                    false => self.blocks.keys().filter(is_changed).copied().collect(),
                }
            }
        };
        blocks.sort_unstable();
        blocks
    }

    /// Forgets all blocks; the caller removes their colliders.
    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Rebuilds the colliders of a block; keeps those that did not change.
    pub fn rebuild(
        &mut self,
        block: CollisionBlock,
        source: GroundSource<'_>,
        sets: &mut RapierSets<'_>,
        report: &mut SyncReport,
    ) {
        let Some(entry) = self.blocks.get_mut(&block) else { return };
        let new = grounds_of(block, source, &mut self.scratch);
        let is_missing = new.is_none();
        let new = new.unwrap_or_default();
        self.missing_changed |= entry.is_missing != is_missing;
        entry.is_missing = is_missing;
        for collider in entry.colliders.drain(new.len().min(entry.colliders.len())..) {
            remove(collider.handle, sets);
            report.removed += 1;
        }
        for (at, (coefficients, ground)) in new.into_iter().enumerate() {
            let Some(old) = entry.colliders.get_mut(at) else {
                entry.colliders.extend(insert(coefficients, ground, source, sets.colliders));
                report.added += 1;
                continue;
            };
            if *old.ground == ground && old.coefficients == coefficients {
                continue;
            }
            let ground = Arc::new(ground);
            let shape = GroundShape::new(ground.clone());
            if let (Some(collider), Some(shape)) = (sets.colliders.get_mut(old.handle), shape) {
                collider.set_shape(shape.shared());
                collider.set_friction(coefficients.friction);
                collider.set_restitution(coefficients.restitution);
                report.changed += 1;
            }
            (old.coefficients, old.ground) = (coefficients, ground);
        }
    }

    /// Builds blocks that a body came near and removes those that the last body left.
    pub fn apply(
        &mut self,
        changes: &BlockChanges,
        source: GroundSource<'_>,
        sets: &mut RapierSets<'_>,
        report: &mut SyncReport,
    ) {
        for &block in &changes.entered {
            let entry = self.blocks.entry(block).or_default();
            entry.users += 1;
            if entry.users == 1 && entry.colliders.is_empty() {
                self.rebuild(block, source, sets, report);
            }
        }
        let mut unused = Vec::new();
        for &block in &changes.left {
            if let Some(entry) = self.blocks.get_mut(&block) {
                entry.users -= 1;
                if entry.users == 0 {
                    unused.push(block);
                }
            }
        }
        for block in unused {
            if self.blocks.get(&block).is_some_and(|entry| entry.users == 0)
                && let Some(entry) = self.blocks.remove(&block)
            {
                for collider in entry.colliders {
                    remove(collider.handle, sets);
                    report.removed += 1;
                }
            }
        }
    }
}

/// The grounds of a block; `None` if its cells are not held.
fn grounds_of(
    block: CollisionBlock,
    source: GroundSource<'_>,
    scratch: &mut GroundScratch,
) -> Option<Vec<(Coefficients, BlockGround)>> {
    let GroundSource { ground, placement, .. } = source;
    let surfaces = ground.block(block, BuildPolicy::Build).ok()?;
    let Some(tree) = surfaces.and_then(|surfaces| surfaces.solid) else { return Some(Vec::new()) };
    Some(grounds(tree, block, ground.snapshot(), placement.voxel_size_m as f32, scratch))
}

fn insert(
    coefficients: Coefficients,
    ground: BlockGround,
    source: GroundSource<'_>,
    colliders: &mut ColliderSet,
) -> Option<GroundCollider> {
    let corner = corner_m(ground.block(), source.placement);
    let ground = Arc::new(ground);
    let collider = ColliderBuilder::new(GroundShape::new(ground.clone())?.shared())
        .translation(corner)
        .friction(coefficients.friction)
        .restitution(coefficients.restitution)
        .collision_groups(source.collision_groups);
    Some(GroundCollider { coefficients, ground, handle: colliders.insert(collider) })
}

/// The min corner of a block, which is the position of its colliders, metres.
pub fn corner_m(block: CollisionBlock, placement: Placement) -> Vector {
    let corner = block.min_voxel().to_array().map(f64::from);
    placement.world_from_voxel(corner).map(|v| v as f32).into()
}

/// Removes a collider of ground.
pub fn remove(handle: ColliderHandle, sets: &mut RapierSets<'_>) {
    // Colliders of ground have no soft body, and no body that would have to be woken.
    let RapierSets { bodies, colliders, islands } = sets;
    colliders.remove(handle, islands, bodies, &mut SoftBodySet::new(), false);
}
