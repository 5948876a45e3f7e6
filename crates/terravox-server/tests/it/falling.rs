//! Pieces that digs cut loose.

use crate::waves::{
    Folder, Outcome, all_settled, material, options, quic, serve_air, until, waves,
};
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};
use terravox::edit::{Action, Blend, Brush, BrushOp, Clip, EditOp, PasteOp, PastePose};
use terravox::replicate::SharedBodyKind;
use terravox::voxel::{Cell, DenseBox, MipBlock, Region, VoxelPos};
use terravox_server::{
    AccessList, Client, ClientOptions, JournalQuery, Right, ServedWorld, Server, ServerOptions,
};
use terravox_store::Store;

/// Fills a box of voxels.
fn fill_box(min: [f64; 3], max: [f64; 3]) -> EditOp {
    let centre = [0, 1, 2].map(|i| f64::midpoint(min[i], max[i]));
    let half = [0, 1, 2].map(|i| (max[i] - min[i]) / 2.0);
    let rotation = [0.0, 0.0, 0.0, 1.0];
    BrushOp::new(Brush::Box { centre, half, rotation }, Action::Fill { material: 8 }).into()
}

/// Cells of a region that are rock.
fn count_rock(client: &mut Client, region: Region) -> usize {
    let mut cells = DenseBox::default();
    let count = |block: MipBlock, cells: &DenseBox| {
        let voxels = block.cells().intersect(region).voxels();
        voxels.filter(|&pos| cells.cell(pos).material == 8).count()
    };
    let blocks: Vec<MipBlock> = region.blocks::<5>().map(MipBlock::from).collect();
    let counts = blocks.into_iter().map(|block| {
        assert!(client.guest().read(block, waves, &mut cells), "{block} is held");
        count(block, &cells)
    });
    counts.sum()
}

fn pieces(client: &mut Client) -> Vec<f64> {
    let bodies = client.guest().bodies();
    let loose = bodies.filter(|(_, body)| body.kind == SharedBodyKind::Loose);
    loose.map(|(_, body)| body.pose.position_voxels[1]).collect()
}

/// Makes a world with a floor, a pillar, and a plate that it carries.
fn build_table(folder: &Path) -> Outcome {
    let server = serve_air(folder, "table", options(folder))?;
    let mut ada = Client::connect(&quic(&server), ClientOptions::default())?;
    until(&mut [&mut ada], |clients| clients[0].guest().grid().is_some())?;
    let parts = [
        fill_box([-64.0, -8.0, -64.0], [64.0, 0.0, 64.0]),
        fill_box([-1.0, 0.0, -1.0], [1.0, 40.0, 1.0]),
        fill_box([-1.0, 36.0, -4.0], [9.0, 40.0, 4.0]),
    ];
    for part in &parts {
        ada.guest().edit(part)?;
    }
    until(&mut [&mut ada], all_settled)?;
    Ok(server.stop()?)
}

/// Serves it. The world is complete: its floor is known at the start.
fn serve_table(folder: &Path, access: AccessList) -> Result<Server, Box<dyn Error>> {
    serve_protected_table(folder, access, vec![])
}

fn serve_protected_table(
    folder: &Path,
    access: AccessList,
    protected: Vec<Region>,
) -> Result<Server, Box<dyn Error>> {
    let store = Store::open(folder.join("table.tvx"))?;
    let name = "table".to_owned();
    let world = ServedWorld { name, store, generate: None, protected, decide: None, share: None };
    let options = ServerOptions { access, ..options(folder) };
    Ok(Server::start(vec![world], options)?)
}

#[test]
fn a_piece_that_is_cut_off_falls_through_a_restart_and_is_ground_again_slow() -> Outcome {
    let folder = Folder::new("falling");
    build_table(&folder.0)?;
    let server = serve_table(&folder.0, AccessList::default())?;
    let mut ada = Client::connect(&quic(&server), ClientOptions::default())?;
    until(&mut [&mut ada], all_settled)?;
    assert_eq!(material(&mut ada, [0, 30, 0]), Some(8));
    ada.guest().edit(&EditOp::dig_ball([0.0, 20.0, 0.0], 4.0))?;
    until(&mut [&mut ada], |clients| !pieces(clients[0]).is_empty())?;
    until(&mut [&mut ada], |clients| material(clients[0], [0, 38, 0]) == Some(0))?;
    server.stop()?;

    let server = serve_table(&folder.0, AccessList::default())?;
    let mut ada = Client::connect(&quic(&server), ClientOptions::default())?;
    until(&mut [&mut ada], |clients| !pieces(clients[0]).is_empty())?;
    until(&mut [&mut ada], |clients| all_settled(clients) && pieces(clients[0]).is_empty())?;
    // Nothing is left up there, and the plate lies somewhere above the floor.
    assert_eq!(count_rock(&mut ada, Region::new([-60, 17, -60], [60, 64, 60])), 0);
    let cells = count_rock(&mut ada, Region::new([2, 0, -60], [60, 17, 60]));
    assert!(cells > 200, "{cells} cells of 320 and a stump");
    Ok(server.stop()?)
}

#[test]
fn a_piece_beyond_100_km_stays_where_it_is_slow() -> Outcome {
    let folder = Folder::new("far-piece");
    build_table(&folder.0)?;
    let far = 150_000.0;
    let server = serve_table(&folder.0, AccessList::default())?;
    let mut ada = Client::connect(&quic(&server), ClientOptions::default())?;
    until(&mut [&mut ada], all_settled)?;
    // A pole in the air, which is cut in two.
    ada.guest().edit(&fill_box([far, 20.0, 0.0], [far + 2.0, 60.0, 2.0]))?;
    ada.guest().edit(&EditOp::dig_ball([far + 1.0, 40.0, 1.0], 4.0))?;
    ada.guest().edit(&EditOp::dig_ball([0.0, 20.0, 0.0], 4.0))?;
    until(&mut [&mut ada], |clients| all_settled(clients) && !pieces(clients[0]).is_empty())?;
    let start = Instant::now();
    until(&mut [&mut ada], |_| start.elapsed() > Duration::from_secs(1))?;
    server.stop()?;
    let (store, mut cells) = (Store::open(folder.0.join("table.tvx"))?, DenseBox::default());
    for (at, material) in [([150_000, 25, 0], 8), ([150_000, 40, 0], 0), ([150_000, 55, 0], 8)] {
        store.cells(Region::one(VoxelPos::from(at)), 0, &mut cells)?;
        assert_eq!(cells.cell(at.into()).material, material, "{at:?}");
    }
    Ok(())
}

fn tokens() -> AccessList {
    let mut access = AccessList::default();
    access.add_named("eve's word", Right::Edit, "eve");
    access.add_named("keeper's word", Right::Administer, "keeper");
    access
}

fn with(token: &str) -> ClientOptions {
    ClientOptions { token: token.into(), ..ClientOptions::default() }
}

#[test]
fn nothing_falls_out_of_a_protected_box_or_lies_down_in_one_slow() -> Outcome {
    let folder = Folder::new("protected");
    build_table(&folder.0)?;
    // The plate; then the floor around the pillar.
    for (height, protected, stays) in [
        (20.0, Region::new([-2, 36, -5], [10, 41, 5]), true),
        (30.0, Region::new([-40, -8, -40], [40, 10, 40]), false),
    ] {
        let server = serve_protected_table(&folder.0, tokens(), vec![protected])?;
        let mut eve = Client::connect(&quic(&server), with("eve's word"))?;
        until(&mut [&mut eve], all_settled)?;
        let inside = count_rock(&mut eve, protected);
        eve.guest().edit(&EditOp::dig_ball([0.0, height, 0.0], 4.0))?;
        until(&mut [&mut eve], all_settled)?;
        if !stays {
            until(&mut [&mut eve], |clients| !pieces(clients[0]).is_empty())?;
            until(&mut [&mut eve], |clients| pieces(clients[0]).is_empty())?;
        }
        // A second dig is decided after the search around the first.
        eve.guest().edit(&EditOp::dig_ball([50.0, 0.0, 50.0], 2.0))?;
        until(&mut [&mut eve], all_settled)?;
        assert_eq!(count_rock(&mut eve, protected), inside);
        assert_eq!(material(&mut eve, [0, 38, 0]), Some(if stays { 8 } else { 0 }));
        server.stop()?;
    }
    Ok(())
}

#[test]
fn what_a_dig_let_fall_is_rolled_back_with_it_in_the_air_and_on_the_ground_slow() -> Outcome {
    let folder = Folder::new("fallen");
    build_table(&folder.0)?;
    let digest = || -> Result<_, Box<dyn Error>> {
        Ok(Store::open(folder.0.join("table.tvx"))?.load()?.grid.digest()?)
    };
    let before = digest()?;
    for has_landed in [false, true] {
        let server = serve_table(&folder.0, tokens())?;
        let mut eve = Client::connect(&quic(&server), with("eve's word"))?;
        until(&mut [&mut eve], all_settled)?;
        eve.guest().edit(&EditOp::dig_ball([0.0, 20.0, 0.0], 4.0))?;
        until(&mut [&mut eve], |clients| !pieces(clients[0]).is_empty())?;
        let address = format!("ws://{}/table", server.http_address()).parse()?;
        if has_landed {
            until(&mut [&mut eve], |clients| pieces(clients[0]).is_empty())?;
            let log = Client::journal(&address, &with("keeper's word"), &JournalQuery::default())?;
            assert_eq!(log.iter().filter(|edit| edit.author == "eve").count(), 6, "{log:?}");
        }
        let eves = JournalQuery { authors: vec!["eve".into()], ..JournalQuery::default() };
        let rolled_back = Client::roll_back(&address, &with("keeper's word"), &eves)?;
        // A dig, a cut, and a piece that became ground: the second time as well, since those of the
        // first time were rolled back already.
        assert_eq!(rolled_back.edits, 3);
        until(&mut [&mut eve], |clients| {
            material(clients[0], [0, 38, 0]) == Some(8) && pieces(clients[0]).is_empty()
        })?;
        server.stop()?;
        assert_eq!(digest()?, before, "{has_landed}");
    }
    Ok(())
}

#[test]
fn a_rollback_up_to_now_while_a_piece_is_in_the_air_does_not_double_it_slow() -> Outcome {
    let folder = Folder::new("until");
    build_table(&folder.0)?;
    let server = serve_table(&folder.0, tokens())?;
    let mut eve = Client::connect(&quic(&server), with("eve's word"))?;
    until(&mut [&mut eve], all_settled)?;
    let all = Region::new([-60, 0, -60], [60, 60, 60]);
    let before = count_rock(&mut eve, all);
    eve.guest().edit(&EditOp::dig_ball([0.0, 20.0, 0.0], 4.0))?;
    until(&mut [&mut eve], |clients| !pieces(clients[0]).is_empty())?;
    let address = format!("ws://{}/table", server.http_address()).parse()?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    let eves = JournalQuery {
        authors: vec!["eve".into()],
        until: Some(now + 1),
        ..JournalQuery::default()
    };
    Client::roll_back(&address, &with("keeper's word"), &eves)?;
    until(&mut [&mut eve], |clients| {
        pieces(clients[0]).is_empty() && count_rock(clients[0], all) == before
    })?;
    Ok(server.stop()?)
}

#[test]
fn what_falls_is_logged_under_who_dug_also_after_a_long_search_slow() -> Outcome {
    let folder = Folder::new("cause");
    build_table(&folder.0)?;
    let server = serve_table(&folder.0, tokens())?;
    let mut eve = Client::connect(&quic(&server), with("eve's word"))?;
    let mut ada = Client::connect(&quic(&server), with("keeper's word"))?;
    until(&mut [&mut eve, &mut ada], all_settled)?;
    // Grains that hang in the air, and are searched because they are a paste that replaces.
    let mut cells = DenseBox::new(Region::new([0, 0, 0], [32, 32, 32]));
    let is_grain = |v: &VoxelPos| (v.x + v.y + v.z) & 1 == 0;
    let rock = Cell::full(8);
    cells.region().voxels().filter(is_grain).for_each(|voxel| cells.set(voxel, rock));
    let pose = PastePose { at: [200, 60, 0], blend: Blend::Replace, ..PastePose::default() };
    eve.guest().edit(&EditOp::Paste(PasteOp { clip: Clip::new(cells)?, pose }))?;
    eve.guest().edit(&EditOp::dig_ball([0.0, 20.0, 0.0], 4.0))?;
    until(&mut [&mut eve, &mut ada], |clients| clients[0].guest().pending_edits() == 0)?;
    for step in 0..5 {
        ada.guest().edit(&EditOp::dig_ball([50.0, -3.0, f64::from(step)], 2.0))?;
    }
    until(&mut [&mut eve, &mut ada], |clients| !pieces(clients[0]).is_empty())?;
    until(&mut [&mut eve, &mut ada], |clients| pieces(clients[0]).is_empty())?;
    let address = format!("ws://{}/table", server.http_address()).parse()?;
    let log = Client::journal(&address, &with("keeper's word"), &JournalQuery::default())?;
    let count = |author: &str| log.iter().filter(|edit| edit.author == author).count();
    // A paste, a dig, a cut and a landing; the builder has no name.
    assert_eq!((count("eve"), count("keeper"), count("falling")), (4, 5, 0), "{log:?}");
    Ok(server.stop()?)
}
