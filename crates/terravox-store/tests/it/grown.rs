//! Worlds that grow from a generator: only what was edited is stored, near and far.

use crate::scratch::{Folder, growing_world};
use terravox::generate::Hills;
use terravox::terrain::{FillRequest, UnsavedChanges};
use terravox::voxel::{
    Cell, ChunkPos, DenseBox, GridOptions, Knowledge, MAX_MIP, MipBlock, Region, UnlistedChunks,
    VoxelGrid, VoxelPos,
};
use terravox_store::{Overwrite, Store, StoreError, WorldInfo};

const HILLS: u64 = 11;

fn new_world(folder: &Folder) -> Store {
    growing_world(&folder.file("grown.tvx"), HILLS)
}

fn generate(block: MipBlock, out: &mut DenseBox) {
    assert_eq!(out.region(), block.cells());
    Hills::new(HILLS).fill(out, block.mip);
}

/// What `Terrain::update` would be given.
fn fill(request: &mut FillRequest<'_>) {
    let block = request.block();
    generate(block, request.cells());
}

/// A grid with whatever the world is made of near and far.
struct Game {
    grid: VoxelGrid,
}

/// The chunks that are loaded near the origin.
fn near() -> impl Iterator<Item = ChunkPos> {
    Region::new([-2, -1, -2], [1, 2, 1]).voxels().map(|p| ChunkPos::new(p.x, p.y, p.z))
}

/// The far blocks around the origin, coarse ones first, one mip more than is stored.
fn far() -> impl Iterator<Item = MipBlock> {
    let at = |mip| Region::new([-1; 3], [1; 3]).voxels().map(move |pos| MipBlock { mip, pos });
    (1..=MAX_MIP + 1).rev().flat_map(at)
}

impl Game {
    fn new() -> Game {
        let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
        Game { grid: VoxelGrid::new(options) }
    }

    fn save(&mut self, store: &Store) {
        let unsaved = UnsavedChanges::from(self.grid.unsaved());
        store.save(&unsaved, fill).unwrap();
        self.grid.mark_saved(&unsaved.chunks);
    }

    fn load(&mut self, store: &Store, far: impl Iterator<Item = MipBlock>, chunks: bool) {
        let mut cells = DenseBox::default();
        let mut source = |block: MipBlock| {
            if !store.block(block, &mut cells).unwrap() {
                generate(block, &mut cells);
            }
            cells.clone()
        };
        for block in far {
            self.grid.write_far(block, &source(block));
        }
        if chunks {
            near().for_each(|chunk| assert_eq!(self.grid.load(&source(chunk.into())), 0));
        }
    }

    fn dig(&mut self, centre: [i32; 3], radius: i32) {
        let centre = VoxelPos::from(centre);
        let region = Region::one(centre).grow(radius);
        let mut cells = DenseBox::default();
        self.grid.read(region, 0, &mut cells).unwrap();
        for pos in region.voxels() {
            let d = pos - centre;
            if d.x * d.x + d.y * d.y + d.z * d.z <= radius * radius {
                cells.set(pos, Cell::AIR);
                cells.set_water(pos, None);
            }
        }
        self.grid.write(&cells).unwrap();
    }
}

fn assert_verifies(store: &mut Store) {
    assert_eq!(store.verify().unwrap().bad, []);
}

#[test]
fn a_world_that_left_memory_comes_back_near_and_far_slow() {
    let folder = Folder::new("grown");
    let mut store = new_world(&folder);
    let (mut stays, mut leaves) = (Game::new(), Game::new());
    for game in [&mut stays, &mut leaves] {
        game.load(&store, far(), true);
        assert!(game.grid.is_saved(), "what was loaded is saved");
    }
    let holes = [[-1, 5, 3], [-33, 2, -31]];
    for (i, &hole) in holes.iter().enumerate() {
        let clean = leaves.grid.digest().unwrap();
        stays.dig(hole, 6);
        leaves.dig(hole, 6);
        assert_ne!(leaves.grid.digest().unwrap(), clean, "hole {i} meets the ground");
        let edited = VoxelPos::from(hole).chunk();
        assert!(!leaves.grid.forget(edited), "an unsaved chunk stays");
        leaves.save(&store);
        assert_verifies(&mut store);

        for chunk in near() {
            assert!(leaves.grid.forget(chunk));
        }
        leaves.grid.far_blocks().iter().for_each(|&block| leaves.grid.forget_far(block));
        assert!(leaves.grid.chunks().is_empty() && leaves.grid.far_blocks().is_empty());

        drop(store);
        store = Store::open(folder.file("grown.tvx")).unwrap();
        let finest_first = far().collect::<Vec<_>>().into_iter().rev();
        match i % 2 {
            0 => leaves.load(&store, far(), true),
            _ => leaves.load(&store, finest_first, true),
        }
        assert!(leaves.grid.is_saved());
        assert_eq!(leaves.grid.digest().unwrap(), stays.grid.digest().unwrap());
        assert_eq!(leaves.grid.far_blocks(), stays.grid.far_blocks());
        let (mut a, mut b) = (DenseBox::default(), DenseBox::default());
        for block in stays.grid.far_blocks() {
            stays.grid.read_known(block.cells(), block.mip, &mut a);
            leaves.grid.read_known(block.cells(), block.mip, &mut b);
            assert!(a == b, "{block} after hole {i}");
        }
    }
    let stored = store.chunks().unwrap();
    assert!(stored.len() < near().count() * 2 / 3, "only edited chunks are stored: {stored:?}");
}

#[test]
fn a_stored_far_block_is_right_by_itself_and_a_missing_one_is_the_generators() {
    let folder = Folder::new("grown-far");
    let mut store = new_world(&folder);
    let mut game = Game::new();
    game.load(&store, std::iter::empty(), true);
    game.dig([-1, 5, 3], 9);
    game.dig([-40, 12, -20], 5);
    game.save(&store);
    assert_verifies(&mut store);
    let stored = store.chunks().unwrap();
    let (mut cells, mut made, mut edited) = Default::default();
    for block in far().filter(|block| block.mip <= MAX_MIP) {
        let mip = u32::from(block.mip);
        made = DenseBox::new(block.cells());
        generate(block, &mut made);
        let over = |chunk: &&ChunkPos| MipBlock::from(**chunk).over(block.mip) == block;
        let beneath: Vec<&ChunkPos> = stored.iter().filter(over).collect();
        assert_eq!(store.block(block, &mut cells).unwrap(), !beneath.is_empty(), "{block}");
        if beneath.is_empty() || mip > 5 {
            continue;
        }
        for chunk in beneath {
            game.grid.read(chunk.region().coarser(mip), block.mip, &mut edited).unwrap();
            made.copy_from(&edited);
        }
        assert!(cells == made, "{block}");
    }
    // Above mip 5 the cells of a page that has edits follow from its cells of mip 5.
    let mut far = Game::new();
    far.load(&store, far_of([5, 6, 7, 8]), false);
    for block in far_of([6, 7, 8]) {
        assert_eq!(far.grid.read_known(block.cells(), block.mip, &mut made), Knowledge::AtMip);
        assert_eq!(store.block(block, &mut cells).unwrap(), has(&stored, block));
        for page in stored.iter().map(|chunk| MipBlock::from(*chunk).over(3)) {
            let part = page.voxels().coarser(block.mip.into()).intersect(block.cells());
            part.voxels().for_each(|pos| assert_eq!(cells.cell(pos), made.cell(pos), "{block}"));
        }
    }
}

fn far_of<const N: usize>(mips: [u8; N]) -> impl Iterator<Item = MipBlock> {
    far().filter(move |block| mips.contains(&block.mip))
}

fn has(stored: &[ChunkPos], block: MipBlock) -> bool {
    stored.iter().any(|&chunk| MipBlock::from(chunk).over(block.mip) == block)
}

#[test]
fn growing_worlds_need_their_generator() {
    let folder = Folder::new("grown-refusals");
    let store = new_world(&folder);
    assert!(store.info().grows());
    store.check_generator(Hills::NAME, Hills::VERSION, HILLS).unwrap();
    let error = store.check_generator(Hills::NAME, Hills::VERSION + 1, HILLS).unwrap_err();
    assert!(matches!(error, StoreError::OtherGenerator { .. }));
    let text = error.to_string();
    assert!(text.contains("version 1, seed 11, this program has hills version 2"), "{text}");
    assert!(store.check_generator("flat", Hills::VERSION, HILLS).is_err());
    assert!(store.check_generator(Hills::NAME, Hills::VERSION, HILLS + 1).is_err());

    let mut game = Game::new();
    game.load(&store, std::iter::empty(), true);
    game.dig([0, 5, 0], 3);
    let unsaved = UnsavedChanges::from(game.grid.unsaved());
    let error = store.save(&unsaved, |request| request.set_missing()).unwrap_err();
    assert!(matches!(error, StoreError::NotGenerated { .. }), "{error}");
    assert!(!game.grid.is_saved(), "what was not saved stays unsaved");
    assert!(store.chunks().unwrap().is_empty(), "nothing is written by halves");
    let error = store.write_all(game.grid.as_snapshot(), |_, _| {}).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    game.save(&store);
    assert!(!store.chunks().unwrap().is_empty());

    // One whose generator has no name grows all the same.
    let info = WorldInfo { unlisted: UnlistedChunks::Unknown, ..WorldInfo::default() };
    let plain = Store::create(folder.file("plain.tvx"), &info, Overwrite::No).unwrap();
    game.dig([0, 5, 0], 4);
    plain.save(&game.grid.unsaved().into(), fill).unwrap();
    let over = VoxelPos::new(0, 5, 0).chunk();
    let block = MipBlock::from(over).over(3);
    let (mut cells, mut made) = (DenseBox::default(), DenseBox::new(block.cells()));
    assert!(plain.block(block, &mut cells).unwrap());
    generate(block, &mut made);
    assert!(block.cells().voxels().any(|pos| !cells.cell(pos).is_air()));
    let beside = block.cells().voxels().filter(|pos| !over.region().coarser(3).contains(*pos));
    assert!(beside.into_iter().all(|pos| cells.cell(pos) == made.cell(pos)));
}
