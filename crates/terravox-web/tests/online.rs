//! A world of a host: refusals, breaks of the link, and another world after one.

use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::lod::LodOptions;
use terravox::replicate::{
    GeneratorId, Host, HostEvent, HostOptions, HostWorld, LinkKind, Verdict,
};
use terravox::terrain::{Budget, FillRequest, Placement};
use terravox::voxel::{GridOptions, Region, UnlistedChunks, VoxelGrid};
use terravox_web::{News, PlayerWorld, PlayerWorldOptions};

const EYE_M: [f64; 3] = [0.0, 60.0, 0.0];
const FRAME_US: u64 = 16_000;

fn options() -> PlayerWorldOptions {
    let lod = LodOptions { detail: 1.2, max_mip: 3, ..PlayerWorldOptions::default().lod };
    PlayerWorldOptions { view_m: 80.0, lod, clock: None }
}

/// A host of hills.
struct Server {
    host: Host,
    grid: VoxelGrid,
    placement: Placement,
    seed: u64,
    guest: u64,
    now_us: u64,
    is_linked: bool,
    /// Operations beyond this x are forbidden.
    end_x: i32,
}

impl Server {
    fn new(seed: u64, placement: Placement, now_us: u64) -> Server {
        let generator = Some(GeneratorId::of_hills(seed));
        let mut host = Host::new(HostOptions { generator, ..HostOptions::default() });
        let unlisted = UnlistedChunks::Unknown;
        let grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
        let guest = host.connect(LinkKind::Reliable);
        Server { host, grid, placement, seed, guest, now_us, is_linked: true, end_x: 50 }
    }

    /// A server and a world that has joined it and shows all.
    fn with_guest() -> (Server, PlayerWorld) {
        let mut server = Server::new(7, Placement::default(), 0);
        let mut world = PlayerWorld::join(b"", options()).expect("a short token");
        server.settle(&mut world);
        assert_eq!(world.take_news(), Some(News::Joined));
        (server, world)
    }

    /// Carries packets to and fro, as far as there is a link, for some frames.
    fn exchange(&mut self, world: &mut PlayerWorld, frames: u32) {
        let hills = Hills::new(self.seed);
        let ground = |request: &mut FillRequest<'_>| {
            let mip = request.mip();
            hills.fill(request.cells(), mip);
        };
        let mut packet = Vec::new();
        for _ in 0..frames {
            self.now_us += FRAME_US;
            match self.is_linked {
                true => world.update(self.now_us, EYE_M, Budget::Unlimited).expect("it is honest"),
                false => world.update_terrain(EYE_M, Budget::Unlimited),
            }
            while self.is_linked && world.transmit(self.now_us, &mut packet) {
                self.host.receive(self.guest, &packet, self.now_us).expect("the guest is honest");
            }
            let end_x = self.end_x;
            let mut decide = |_, op: &EditOp| match op.region() {
                Ok(region) if region.min.x > end_x => Verdict::Refuse("not here".into()),
                _ => Verdict::Accept,
            };
            let mut of_host = HostWorld {
                grid: &mut self.grid,
                placement: self.placement,
                ground: &ground,
                generated: &ground,
                prefetch: &|_| true,
                decide: &mut decide,
            };
            self.host.tick(&mut of_host, self.now_us);
            for event in self.host.events() {
                if let HostEvent::Joining { guest, .. } = event {
                    self.host.admit(guest, &of_host);
                }
            }
            while self.is_linked && self.host.transmit(self.guest, self.now_us, &mut packet) {
                world.receive(&packet, self.now_us).expect("the host is honest");
            }
        }
    }

    /// Carries packets until all is shown and decided.
    fn settle(&mut self, world: &mut PlayerWorld) {
        for _ in 0..200 {
            self.exchange(world, 10);
            if world.is_settled() {
                return;
            }
        }
        panic!("not settled after 2000 frames; {} edits are pending", world.pending_edits());
    }

    fn mend(&mut self, world: &mut PlayerWorld) {
        self.guest = self.host.connect(LinkKind::Reliable);
        self.is_linked = true;
        world.reconnect();
    }
}

fn depth_at(world: &PlayerWorld, x: f64, z: f64) -> f64 {
    let from = [x, EYE_M[1], z];
    world.ray(from, [0.0, -1.0, 0.0], 200.0).expect("there is ground").distance_m
}

fn depth(world: &PlayerWorld) -> f64 {
    depth_at(world, 0.0, 0.0)
}

fn news(world: &mut PlayerWorld) -> Vec<News> {
    std::iter::from_fn(|| world.take_news()).collect()
}

#[test]
fn what_the_server_refuses_vanishes_and_what_got_no_reply_is_sent_again() {
    let (mut server, mut world) = Server::with_guest();
    let whole = depth(&world);
    let at = |x: f64| EditOp::dig_ball([x, EYE_M[1] - whole, 0.0], 4.0);
    world.edit(&at(60.0)).expect("it is sent");
    server.exchange(&mut world, 10);
    assert_eq!(news(&mut world), [News::Refused("not here".into())]);

    // The link breaks before the server hears of a dig.
    world.edit(&at(0.0)).expect("it is shown");
    server.is_linked = false;
    server.exchange(&mut world, 5);
    server.mend(&mut world);
    server.settle(&mut world);
    assert!(depth(&world) > whole + 3.0);
}

#[test]
fn edits_go_on_without_a_link_and_more_than_the_server_takes_at_once_is_sent_by_and_by() {
    let (mut server, mut world) = Server::with_guest();
    server.is_linked = false;
    // More than may be in flight, and four times as many as this host takes at once.
    let places: Vec<[f64; 2]> =
        (0..280).map(|i| [f64::from(i % 20) * 4.0 - 40.0, f64::from(i / 20) * 4.0]).collect();
    let before: Vec<f64> = places.iter().map(|[x, z]| depth_at(&world, *x, *z)).collect();
    for (at, [x, z]) in places.iter().enumerate() {
        let point = [*x, EYE_M[1] - before[at], *z];
        world.edit(&EditOp::dig_ball(point, 1.6)).expect("it is shown, or waits");
    }
    server.exchange(&mut world, 1);
    assert_eq!(world.pending_edits(), places.len());
    let is_dug = |world: &PlayerWorld, at: usize| {
        let [x, z] = places[at];
        depth_at(world, x, z) > before[at] + 0.5
    };
    assert!((0..200).all(|at| is_dug(&world, at)), "they are shown at once");
    assert!(world.undo().is_err_and(|error| error.contains("earlier edits wait")));
    server.mend(&mut world);
    server.settle(&mut world);
    assert_eq!((world.pending_edits(), news(&mut world)), (0, vec![News::Joined]));
    assert!((0..places.len()).all(|at| is_dug(&world, at)));
}

#[test]
fn what_is_dug_without_a_server_stays_in_sight_however_often_a_link_breaks_at_once() {
    let (mut server, mut world) = Server::with_guest();
    let places = [[0.0, 0.0], [12.0, 0.0], [24.0, 4.0], [-12.0, 4.0]];
    let before = places.map(|[x, z]| depth_at(&world, x, z));
    let dig = |world: &mut PlayerWorld, at: usize| {
        let [x, z] = places[at];
        let point = [x, EYE_M[1] - before[at], z];
        world.edit(&EditOp::dig_ball(point, 3.0)).expect("it is shown");
    };
    let is_dug = |world: &PlayerWorld, at: usize| {
        let [x, z] = places[at];
        depth_at(world, x, z) > before[at] + 2.0
    };
    dig(&mut world, 0);
    server.is_linked = false;
    server.exchange(&mut world, 2);
    for at in 1..places.len() {
        // A link that opens, and on which no server replies.
        world.reconnect();
        dig(&mut world, at);
        for _ in 0..5 {
            server.now_us += FRAME_US;
            world.update(server.now_us, EYE_M, Budget::Unlimited).expect("nothing came");
            assert!((0..=at).all(|at| is_dug(&world, at)), "link {at}");
        }
    }
    assert_eq!(world.pending_edits(), places.len());
    server.mend(&mut world);
    server.settle(&mut world);
    assert_eq!((world.pending_edits(), news(&mut world)), (0, vec![News::Joined]));
    assert!((0..places.len()).all(|at| is_dug(&world, at)));
    // What is refused after all is gone again.
    (server.is_linked, server.end_x) = (false, -100);
    let whole = depth_at(&world, 0.0, 20.0);
    world.reconnect();
    world.edit(&EditOp::dig_ball([0.0, EYE_M[1] - whole, 20.0], 3.0)).expect("it is shown");
    assert!(depth_at(&world, 0.0, 20.0) > whole + 2.0);
    server.mend(&mut world);
    server.settle(&mut world);
    assert!((depth_at(&world, 0.0, 20.0) - whole).abs() < 1e-9);
}

#[test]
fn an_undo_that_a_break_cuts_off_is_told() {
    let (mut server, mut world) = Server::with_guest();
    let point = [0.0, EYE_M[1] - depth(&world), 0.0];
    world.edit(&EditOp::dig_ball(point, 4.0)).expect("it is sent");
    server.exchange(&mut world, 20);
    world.undo().expect("it is sent");
    server.is_linked = false;
    server.exchange(&mut world, 2);
    server.mend(&mut world);
    server.settle(&mut world);
    let told = news(&mut world);
    assert!(matches!(&told[..], [News::Refused(why), News::Joined] if why.contains("undo")));
}

#[test]
fn after_a_break_another_world_replaces_all_meshes() {
    let (mut server, mut world) = Server::with_guest();
    assert!(!world.take_mesh_reset() && !world.mesh_swaps().is_empty());
    server.is_linked = false;
    server.exchange(&mut world, 2);
    // The same again keeps them.
    server.mend(&mut world);
    server.settle(&mut world);
    assert!(!world.take_mesh_reset());
    let placement = Placement { voxel_size_m: 0.5, ..Placement::default() };
    let mut other = Server::new(8, placement, server.now_us);
    world.reconnect();
    other.settle(&mut world);
    assert!(world.take_mesh_reset() && !world.take_mesh_reset());
    let added = world.mesh_swaps().into_iter().flat_map(|swap| swap.added);
    assert!(added.count() > 10, "those of the other world");
}

#[test]
fn what_was_dug_and_copied_in_one_world_does_not_get_into_another() {
    let (mut server, mut world) = Server::with_guest();
    let whole = depth(&world);
    let low = (EYE_M[1] - whole) as i32 - 4;
    world.copy(Region::new([0, low, 0], [4, low + 4, 4]), false).expect("it is held");
    let mut other = Server::new(8, Placement::default(), 0);
    let mut alone = PlayerWorld::join(b"", options()).expect("a short token");
    other.settle(&mut alone);
    let as_generated = depth(&alone);

    world.edit(&EditOp::dig_ball([0.0, EYE_M[1] - whole, 0.0], 4.0)).expect("it is shown");
    server.is_linked = false;
    server.exchange(&mut world, 2);
    // Only the seed differs.
    let mut other = Server::new(8, Placement::default(), server.now_us);
    world.reconnect();
    let at = [0.0, EYE_M[1] - whole, 0.0];
    world.edit(&EditOp::dig_ball(at, 4.0)).expect("it waits until a server lets it in");
    news(&mut world);
    other.settle(&mut world);
    assert!(world.take_mesh_reset(), "those of the world before");
    assert!((depth(&world) - as_generated).abs() < 1e-9, "dug in another world");
    assert_eq!((world.pending_edits(), world.copied_size()), (0, None));
    let told = news(&mut world);
    let is_told = |why: &str| why.contains("another world") && why.contains("2 edits");
    assert!(matches!(&told[..], [News::Refused(why), News::Joined] if is_told(why)), "{told:?}");
}

#[test]
fn all_meshes_are_had_again_for_a_new_graphics_card() {
    let (_, mut world) = Server::with_guest();
    let mut shown = std::collections::BTreeSet::new();
    for swap in world.mesh_swaps() {
        shown.retain(|block| !swap.removed.contains(block));
        shown.extend(swap.added.iter().map(|mesh| mesh.block));
    }
    world.reset_mesh_swaps();
    assert!(world.take_mesh_reset());
    let again: Vec<_> = world.mesh_swaps().into_iter().flat_map(|swap| swap.added).collect();
    assert!(again.len() >= shown.len() && !shown.is_empty());
    assert!(world.mesh_swaps().is_empty());
}

#[test]
fn what_the_game_of_the_server_says_is_news() {
    let (mut server, mut world) = Server::with_guest();
    assert!(server.host.send_message(server.guest, b"the gate is open"));
    server.exchange(&mut world, 3);
    assert_eq!(news(&mut world), [News::Message(b"the gate is open".to_vec())]);
}
