//! Two players dig one world over bad links. One loses the link, digs on, and comes back; they cut
//! a tower, and see its top fall. In the end both see exactly the host's cells.

use std::error::Error;
use terravox::bodies::{BodyPose, LooseBody, LooseCutter, LooseOptions};
use terravox::edit::{Action, Brush, BrushOp, EditOp};
use terravox::replicate::{
    GeneratorId, Guest, GuestEvent, Host, HostEvent, HostOptions, HostWorld, Interest, LinkKind,
    LinkOptions, SharedBody, SharedBodyKind, Verdict, VirtualLink,
};
use terravox::terrain::{Budget, FillRequest, Placement, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{DenseBox, GridOptions, Region, UnlistedChunks, VoxelGrid, VoxelPos};

const TICK_US: u64 = 16_000;
const VIEW_M: f64 = 200.0;

/// No rotation.
const UPRIGHT: [f64; 4] = [0.0, 0.0, 0.0, 1.0];

/// Ground that the host and the players make alike.
fn hills(request: &mut FillRequest<'_>) {
    request.fill_height(2, -6.0..=6.0, |x, z| 6.0 * (x * 0.05).sin() * (z * 0.04).cos());
}

fn generator() -> GeneratorId {
    GeneratorId { name: "hills".into(), version: 1, parameters: vec![] }
}

struct Server {
    host: Host,
    grid: VoxelGrid,
    cutter: LooseCutter,
    falling: Vec<FallingPiece>,
}

/// A piece that was cut loose, on its way down.
struct FallingPiece {
    body: LooseBody,
    pose: BodyPose,
    /// Its number among the bodies of the host.
    number: u64,
    speed_m_s: f64,
}

impl FallingPiece {
    /// Whether there is ground beneath its lowest cells.
    fn has_landed(&self, grid: &VoxelGrid) -> bool {
        let Region { min, max } = self.body.bounds;
        let at = self.pose.position_voxels;
        let [x, z] = [(min.x + max.x) / 2, (min.z + max.z) / 2].map(f64::from);
        let below = [at[0] + x, at[1] + f64::from(min.y) - 0.5, at[2] + z];
        let below = VoxelPos::from(below.map(|v| v.floor() as i32));
        !matches!(grid.cell(below), Ok(cell) if cell.is_air())
    }
}

impl Server {
    fn new() -> Server {
        let generator = Some(generator());
        let unlisted = UnlistedChunks::Unknown;
        Server {
            host: Host::new(HostOptions { generator, ..HostOptions::default() }),
            grid: VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() }),
            cutter: LooseCutter::default(),
            falling: Vec::new(),
        }
    }

    fn with_world<R>(&mut self, work: impl FnOnce(&mut Host, &mut HostWorld<'_>) -> R) -> R {
        let mut decide = |_player: u64, op: &EditOp| match op {
            EditOp::Brush(BrushOp { brush: Brush::Ball { radius, .. }, .. }) if *radius <= 10.0 => {
                Verdict::Accept
            }
            _ => Verdict::Refuse("only balls with a radius of at most 10 voxels".into()),
        };
        let mut world = HostWorld {
            grid: &mut self.grid,
            placement: Placement::default(),
            ground: &hills,
            generated: &hills,
            prefetch: &|_| true,
            decide: &mut decide,
        };
        work(&mut self.host, &mut world)
    }

    fn tick(&mut self, now_us: u64) -> Result<(), Box<dyn Error>> {
        let edited = self.with_world(|host, world| {
            host.tick(world, now_us);
            let mut edited = Vec::new();
            for event in host.events() {
                match event {
                    HostEvent::Edited { region, .. } => edited.push(region),
                    HostEvent::Joining { guest, .. } => host.admit(guest, world),
                    HostEvent::Left { guest, reason, .. } => {
                        println!("player {guest} left: {reason}")
                    }
                    _ => {}
                }
            }
            edited
        });
        edited.into_iter().for_each(|region| self.cutter.touch(region));
        for body in self.cutter.cut(&mut self.grid, None, &LooseOptions::default())?.bodies {
            self.release(body);
        }
        self.drop_pieces()
    }

    /// Lets a piece fall, and tells the players of it and of the hole.
    fn release(&mut self, body: LooseBody) {
        let off = body.origin_voxel;
        let was = Region { min: body.bounds.min + off, max: body.bounds.max + off };
        self.with_world(|host, world| host.changed(world, was));
        let pose = body.first_pose();
        let Some(shared) = SharedBody::loose(&body, pose) else { return };
        println!("{} cells are loose, {} bytes", body.cells, shared.bytes.len());
        let number = self.host.add_body(shared);
        self.falling.push(FallingPiece { body, pose, number, speed_m_s: 0.0 });
    }

    /// Moves pieces down by a tick. A real game has physics for that; see `terravox-rapier`.
    fn drop_pieces(&mut self) -> Result<(), Box<dyn Error>> {
        for mut piece in std::mem::take(&mut self.falling) {
            if !piece.has_landed(&self.grid) {
                let seconds = TICK_US as f64 * 1e-6;
                piece.speed_m_s += 9.81 * seconds;
                piece.pose.position_voxels[1] -= piece.speed_m_s * seconds;
                self.host.move_body(piece.number, &piece.pose);
                self.falling.push(piece);
                continue;
            }
            let height = |pose: &BodyPose| pose.position_voxels[1];
            let fallen = height(&piece.body.first_pose()) - height(&piece.pose);
            println!("they have fallen {fallen:.1} m and are ground again"); // a voxel is a metre
            piece.body.write_back(&mut self.grid, &piece.pose, None)?;
            self.host.remove_body(piece.number);
            let [x, y, z] = piece.pose.position_voxels.map(|v| v.floor() as i32);
            let Region { min, max } = piece.body.bounds.grow(1);
            let off = VoxelPos::new(x, y, z);
            let now = Region { min: min + off, max: max + off };
            self.with_world(|host, world| host.changed(world, now));
        }
        Ok(())
    }
}

struct Player {
    name: &'static str,
    guest: Guest,
    number: u64,
    up: VirtualLink,
    down: VirtualLink,
    has_link: bool,
    terrain: Terrain,
    eye_m: [f64; 3],
}

impl Player {
    fn join(server: &mut Server, name: &'static str, eye_m: [f64; 3]) -> Player {
        let link = LinkOptions { loss: 0.05, delay_us: 50_000, ..LinkOptions::default() };
        let number = server.host.connect(LinkKind::Datagrams);
        Player {
            name,
            guest: Guest::new(LinkKind::Datagrams, b""),
            number,
            up: VirtualLink::new(link, 2 * number),
            down: VirtualLink::new(link, 2 * number + 1),
            has_link: true,
            terrain: Terrain::new(TerrainOptions::default()),
            eye_m,
        }
    }

    /// A frame of the player's game: what arrived, what is shown, what is sent.
    fn frame(&mut self, server: &mut Server, now_us: u64) -> Result<(), Box<dyn Error>> {
        while let Some(packet) = self.down.receive(now_us) {
            self.guest.receive(&packet, now_us)?;
        }
        self.guest.update(hills)?;
        for event in self.guest.events() {
            match event {
                GuestEvent::Welcome { generator: given, .. } => {
                    self.guest.start(given == Some(generator()));
                }
                GuestEvent::Refused { reason, .. } => println!("{}: {reason}", self.name),
                _ => {}
            }
        }
        // Positions are in voxels; here a voxel is a metre.
        let interest = Interest { view_voxels: VIEW_M, ..Interest::default() };
        self.guest.watch(&[self.eye_m], &interest);
        let viewer = Viewer { position_m: self.eye_m, distance_m: VIEW_M };
        self.guest.show(&mut self.terrain, hills);
        self.terrain
            .update(&[viewer], Budget::Unlimited, |request| self.guest.fill(request, hills));

        let mut packet = Vec::new();
        while self.guest.transmit(now_us, &mut packet) {
            self.up.send(now_us, &packet);
        }
        while let Some(packet) = self.up.receive(now_us) {
            if self.has_link {
                // A player who breaks the protocol is disconnected; `HostEvent::Left` says why.
                let _ = server.host.receive(self.number, &packet, now_us);
            }
        }
        while self.has_link && server.host.transmit(self.number, now_us, &mut packet) {
            self.down.send(now_us, &packet);
        }
        Ok(())
    }

    /// How far it is from the eye down to the ground that is shown, metres.
    fn depth_m(&mut self) -> Option<f64> {
        let ray = self.terrain.ray(self.eye_m, [0.0, -1.0, 0.0], 100.0);
        ray.hit().map(|hit| hit.distance_m)
    }
}

fn play(
    server: &mut Server,
    players: &mut [Player],
    now_us: &mut u64,
    seconds: f64,
) -> Result<(), Box<dyn Error>> {
    for _ in 0..(seconds * 1e6) as u64 / TICK_US {
        *now_us += TICK_US;
        server.tick(*now_us)?;
        for player in &mut *players {
            player.frame(server, *now_us)?;
        }
    }
    Ok(())
}

/// How many chunks a player's terrain holds, all of them as the host has them.
fn count_equal_chunks(server: &mut Server, player: &Player) -> usize {
    let [mut here, mut there] = [DenseBox::default(), DenseBox::default()];
    let mut count = 0;
    for block in player.guest.blocks().filter(|block| block.mip == 0) {
        // A terrain needs fewer than its guest holds.
        if player.terrain.grid().read(block.cells(), 0, &mut here).is_ok() {
            assert!(server.with_world(|host, world| host.read(world, block, &mut there)));
            assert!(here == there, "{} sees other cells in {block}", player.name);
            count += 1;
        }
    }
    count
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut server, mut now_us) = (Server::new(), 0);
    let ada = Player::join(&mut server, "Ada", [0.0, 20.0, 0.0]);
    let ben = Player::join(&mut server, "Ben", [6.0, 20.0, 0.0]);
    let mut players = [ada, ben];
    play(&mut server, &mut players, &mut now_us, 3.0)?;
    println!("ground {:.2} m below Ada's eye", players[0].depth_m().expect("there is ground"));

    // Seen at once, though the host hears of it 50 ms later.
    players[0].guest.edit(&EditOp::dig_ball([0.0, 0.0, 0.0], 4.0))?;
    let Player { guest, terrain, .. } = &mut players[0];
    guest.show(terrain, hills);
    println!("she digs: {:.2} m", players[0].depth_m().expect("there is ground"));
    players[1].guest.edit(&EditOp::fill_ball(17, [4.0, -2.0, 0.0], 3.0))?;
    players[0].guest.edit(&EditOp::dig_ball([0.0, 0.0, 0.0], 12.0))?;
    play(&mut server, &mut players, &mut now_us, 1.0)?;

    // Ben's cable is pulled. What he digs meanwhile is dug again when he is back.
    server.host.disconnect(players[1].number, "the cable was pulled");
    players[1].has_link = false;
    players[1].guest.edit(&EditOp::dig_ball([10.0, 0.0, 2.0], 3.0))?;
    players[0].guest.edit(&EditOp::dig_ball([2.0, -3.0, 5.0], 4.0))?;
    play(&mut server, &mut players, &mut now_us, 1.0)?;
    let ben = &mut players[1];
    // Packets of the old link must not reach the new one; over a network, give each link a number.
    for link in [&mut ben.up, &mut ben.down] {
        while link.receive(u64::MAX).is_some() {}
    }
    let undone = ben.guest.reconnect(LinkKind::Datagrams);
    ben.number = server.host.connect(LinkKind::Datagrams);
    ben.has_link = true;
    play(&mut server, &mut players, &mut now_us, 2.0)?;
    for op in &undone {
        players[1].guest.edit(op)?;
    }
    players[0].guest.undo()?;
    play(&mut server, &mut players, &mut now_us, 3.0)?;

    // A tower, which the game builds; Ben cuts it.
    let brush = Brush::Box { centre: [20.0, 9.0, 0.0], half: [2.0, 17.0, 2.0], rotation: UPRIGHT };
    let tower = BrushOp::new(brush, Action::Fill { material: 8 }).into();
    server.with_world(|host, world| host.edit(world, &tower))?;
    players[1].guest.edit(&EditOp::dig_ball([20.0, 12.0, 0.0], 4.0))?;
    play(&mut server, &mut players, &mut now_us, 1.0)?;
    let pieces = players[0].guest.bodies().filter(|(_, body)| body.kind == SharedBodyKind::Loose);
    assert_eq!(pieces.count(), 1, "Ada sees it fall");
    play(&mut server, &mut players, &mut now_us, 3.0)?;
    assert!(players[0].guest.bodies().next().is_none(), "it is ground again");

    for player in &players {
        assert!(player.guest.is_complete() && player.guest.pending_edits() == 0);
        let chunks = count_equal_chunks(&mut server, player);
        let (up, down) = (player.up.bytes() / 1024, player.down.bytes() / 1024);
        println!(
            "{}: {chunks} chunks as the host has them; {up} KiB up, {down} KiB down",
            player.name
        );
    }
    Ok(())
}
