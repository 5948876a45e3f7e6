//! Ground that changes beneath a host.

use super::simulation::hills;
use crate::edit::EditOp;
use crate::replicate::{
    GeneratorId, Guest, GuestEvent, Host, HostEvent, HostOptions, HostWorld, Interest, LinkKind,
    RefusalCode, Verdict,
};
use crate::terrain::{FillRequest, Placement};
use crate::voxel::{
    ChunkPos, DenseBox, GridOptions, MipBlock, UnlistedChunks, VoxelGrid, VoxelPos,
};
use std::cell::Cell;
use std::collections::BTreeSet;

/// What another program makes of chunks.
const THEIRS: u8 = 9;

/// A host whose ground others change, and guests that see it.
struct World {
    host: Host,
    grid: VoxelGrid,
    guests: Vec<(u64, Guest)>,
    /// Chunks that others made full of a material.
    theirs: BTreeSet<ChunkPos>,
    now_us: u64,
    refused: Vec<RefusalCode>,
}

impl World {
    fn new() -> World {
        let unlisted = UnlistedChunks::Unknown;
        let generator = Some(GeneratorId::default());
        World {
            host: Host::new(HostOptions { generator, max_mip: 4, ..HostOptions::default() }),
            grid: VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() }),
            guests: Vec::new(),
            theirs: BTreeSet::new(),
            now_us: 0,
            refused: Vec::new(),
        }
    }

    fn join(&mut self) {
        let number = self.host.connect(LinkKind::Reliable);
        self.guests.push((number, Guest::new(LinkKind::Reliable, b"")));
    }

    fn run(&mut self, changed: &[ChunkPos]) {
        let theirs = self.theirs.clone();
        let ground = |request: &mut FillRequest<'_>| {
            let block = request.block();
            let chunk = ChunkPos::new(block.pos.x, block.pos.y, block.pos.z);
            match block.mip == 0 && theirs.contains(&chunk) {
                true => request.fill(THEIRS),
                false => hills(request),
            }
        };
        let mut packet = Vec::new();
        for tick in 0..60 {
            self.now_us += 10_000;
            for (number, guest) in &mut self.guests {
                while guest.transmit(self.now_us, &mut packet) {
                    self.host.receive(*number, &packet, self.now_us).unwrap();
                }
            }
            let mut decide = |_: u64, _: &EditOp| Verdict::Accept;
            let mut world = HostWorld {
                grid: &mut self.grid,
                placement: Placement::default(),
                ground: &ground,
                generated: &hills,
                prefetch: &|_| true,
                decide: &mut decide,
            };
            if tick == 0 {
                self.host.ground_changed(&mut world, changed.iter().copied());
            }
            self.host.tick(&mut world, self.now_us);
            for event in self.host.events() {
                if let HostEvent::Joining { guest, .. } = event {
                    self.host.admit(guest, &world);
                }
            }
            for (number, guest) in &mut self.guests {
                while self.host.transmit(*number, self.now_us, &mut packet) {
                    guest.receive(&packet, self.now_us).unwrap();
                }
                guest.update(hills).unwrap();
                for event in guest.events() {
                    match event {
                        GuestEvent::Welcome { .. } => guest.start(true),
                        GuestEvent::Refused { code, .. } => self.refused.push(code),
                        _ => {}
                    }
                }
                let interest = Interest { view_voxels: 90.0, ..Interest::default() };
                guest.watch(&[[0.0, 4.0, 0.0]], &interest);
            }
        }
        assert!(self.guests.iter().all(|(_, guest)| guest.is_complete()));
    }

    /// The materials of a voxel at the host, with its mip 1, and at each guest.
    fn seen(&self, voxel: VoxelPos) -> Vec<u8> {
        let cell = |guest: &Guest| guest.cell(voxel, hills).unwrap().material;
        self.guests.iter().map(|(_, guest)| cell(guest)).collect()
    }
}

#[test]
fn a_block_that_cannot_be_read_keeps_back_only_what_lies_below_it() {
    let bad = Cell::new(MipBlock::new(3, [0, 0, 0]));
    let ground = |request: &mut FillRequest<'_>| match request.block() == bad.get() {
        true => request.set_missing(),
        false => hills(request),
    };
    let options = HostOptions { max_mip: 4, ..HostOptions::default() };
    let (mut host, mut guest) = (Host::new(options), Guest::new(LinkKind::Reliable, b""));
    let unlisted = UnlistedChunks::Unknown;
    let mut grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
    let number = host.connect(LinkKind::Reliable);
    let (mut packet, mut now_us) = (Vec::new(), 0);
    let mut run = |guest: &mut Guest| {
        for _ in 0..200 {
            now_us += 10_000;
            while guest.transmit(now_us, &mut packet) {
                host.receive(number, &packet, now_us).unwrap();
            }
            let mut decide = |_: u64, _: &EditOp| Verdict::Accept;
            let mut world = HostWorld {
                grid: &mut grid,
                placement: Placement::default(),
                ground: &ground,
                generated: &ground,
                prefetch: &|_| true,
                decide: &mut decide,
            };
            host.tick(&mut world, now_us);
            for event in host.events() {
                if let HostEvent::Joining { guest, .. } = event {
                    host.admit(guest, &world);
                }
            }
            while host.transmit(number, now_us, &mut packet) {
                guest.receive(&packet, now_us).unwrap();
            }
            guest.update(|request| request.set_missing()).unwrap();
            if guest.events().any(|event| matches!(event, GuestEvent::Welcome { .. })) {
                guest.start(false);
            }
            let interest = Interest { view_voxels: 300.0, ..Interest::default() };
            guest.watch(&[[0.0, 4.0, 0.0]], &interest);
        }
    };
    run(&mut guest);
    let is_below = |block: MipBlock| block.mip <= 3 && block.over(3) == bad.get();
    let (below, beside): (Vec<_>, Vec<_>) = guest.blocks().partition(|&block| is_below(block));
    assert!(below.len() > 20 && beside.len() > 60, "{} and {}", below.len(), beside.len());
    assert!(beside.iter().all(|&block| guest.has(block)));
    assert!(!below.iter().any(|&block| guest.has(block)) && !guest.is_complete());
    // The disk is mended.
    bad.set(MipBlock::new(9, [0; 3]));
    run(&mut guest);
    assert!(guest.is_complete());
}

/// Strokes that the first guest may undo.
fn undoable(world: &World) -> usize {
    world.host.guests[&world.guests[0].0].history.stats().undoable
}

#[test]
fn guests_see_ground_that_others_change_and_own_edits_stay() {
    let mut world = World::new();
    world.join();
    world.run(&[]);
    let (theirs, ours) = (ChunkPos::new(1, 1, 0), ChunkPos::new(-1, 1, 0));
    let (there, here) = (VoxelPos::new(40, 50, 10), VoxelPos::new(-16, 50, 10));
    assert_eq!(world.seen(there), [0]);
    let root = MipBlock::from(theirs).over(4);
    let watched: Vec<_> = world.host.watched_roots(world.guests[0].0).collect();
    assert!(watched.iter().any(|&(block, chunks)| block == root && chunks > 9), "{watched:?}");
    assert_eq!(world.host.watched_roots(77).count(), 0);
    // Held by the host, as by an operation beside it, and not changed here.
    let op = EditOp::fill_ball(5, here.to_array().map(f64::from), 3.0);
    world.guests[0].1.edit(&op).unwrap();
    world.run(&[]);
    world.theirs = BTreeSet::from([theirs, ours]);
    world.run(&[theirs, ours]);
    assert_eq!(world.seen(there), [THEIRS]);
    assert_eq!(world.seen(here), [5], "what is unsaved here stays");
    // Also of a guest that comes later and makes unedited ground itself, and at coarse mips.
    world.join();
    world.run(&[]);
    assert_eq!(world.seen(there), [THEIRS, THEIRS]);
    assert_eq!(world.seen(here), [5, 5]);
    let [a, b] = [0, 1].map(|guest| {
        let mut cells = DenseBox::default();
        let block = MipBlock::from(theirs).over(1);
        assert!(world.guests[guest].1.read(block, hills, &mut cells));
        cells
    });
    assert_eq!(a.cell([20, 25, 5].into()).material, THEIRS);
    assert_eq!(a.materials().len(), b.materials().len());
    // What was done before cannot be undone any more.
    world.host.forget_strokes(theirs.region());
    assert_eq!(undoable(&world), 1, "it lies elsewhere");
    world.host.forget_strokes(ours.region());
    world.guests[0].1.undo().unwrap();
    world.run(&[]);
    assert_eq!(world.refused, [RefusalCode::NothingToUndo]);
    assert_eq!(world.seen(here), [5, 5]);
}

#[test]
fn the_state_of_what_is_watched_grows_when_other_roots_are_watched_or_seen_at_mip_0() {
    let mut world = World::new();
    world.join();
    assert_eq!(world.host.watched_state(), 0);
    world.run(&[]);
    let settled = world.host.watched_state();
    assert!(settled > 0);
    world.run(&[]);
    assert_eq!(world.host.watched_state(), settled, "nothing is new");
    let number = world.guests[0].0;
    let entry = world.host.guests.get_mut(&number).unwrap();
    let chunks = |(root, chunks): &(MipBlock, u32)| (*chunks > 1).then_some(*root);
    let root = entry.blocks.roots().collect::<Vec<_>>().iter().find_map(chunks).unwrap();
    let is_one = |block: &MipBlock| block.over(4) == root;
    let held: Vec<_> = world.guests[0].1.blocks().filter(|b| b.mip == 0 && is_one(b)).collect();
    for (at, &chunk) in held.iter().enumerate() {
        entry.blocks.remove(chunk, 4);
        let is_last = at + 1 == held.len();
        let state = entry.blocks.roots_state();
        assert_eq!(state, settled + u64::from(is_last), "{at} of {}", held.len());
    }
    let before = world.host.watched_state();
    world.host.disconnect(number, "it leaves");
    assert!(world.host.watched_state() > before, "its roots are watched no more");
}

#[test]
fn coarse_cells_over_ground_that_others_change_keep_unsaved_edits_beside_it() {
    let mut world = World::new();
    world.join();
    world.run(&[]);
    let (theirs, here) = (ChunkPos::new(1, 1, 0), VoxelPos::new(16, 48, 16));
    let op = EditOp::fill_ball(5, here.to_array().map(f64::from), 6.0);
    world.guests[0].1.edit(&op).unwrap();
    world.run(&[]);
    let root = MipBlock::from(theirs).over(1);
    assert_eq!(root, MipBlock::from(here.chunk()).over(1));
    world.theirs.insert(theirs);
    world.run(&[theirs]);
    // One who comes later is sent what the host has.
    world.join();
    world.run(&[]);
    for (_, guest) in &world.guests {
        let mut cells = DenseBox::default();
        assert!(guest.read(root, hills, &mut cells));
        assert_eq!(cells.cell([8, 24, 8].into()).material, 5);
    }
}

#[test]
fn coarse_blocks_that_are_read_again_are_listed_once() {
    let mut world = World::new();
    world.join();
    let op = EditOp::dig_ball([16.0, 0.0, 16.0], 4.0);
    world.run(&[]);
    world.guests[0].1.edit(&op).unwrap();
    world.run(&[]);
    let coarse = world.host.truth.coarse_blocks();
    // Beside the unsaved dig, so that what is over both is made again each time.
    let beside = ChunkPos::new(2, 0, 0);
    (0..3).for_each(|_| world.run(&[beside]));
    assert_eq!(world.host.truth.coarse_blocks(), coarse);
}

#[test]
fn a_chunk_that_was_saved_is_read_anew() {
    let mut world = World::new();
    world.join();
    world.run(&[]);
    let (chunk, voxel) = (ChunkPos::new(0, 1, 0), VoxelPos::new(16, 48, 16));
    let op = EditOp::fill_ball(5, voxel.to_array().map(f64::from), 3.0);
    world.guests[0].1.edit(&op).unwrap();
    world.run(&[]);
    assert_eq!(world.seen(voxel), [5]);
    let saved = world.grid.unsaved();
    world.grid.mark_saved(&saved);
    world.theirs.insert(chunk);
    world.run(&[chunk]);
    assert_eq!(world.seen(voxel), [THEIRS]);
}
