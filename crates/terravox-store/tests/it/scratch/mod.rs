//! What the tests of this crate share: a folder that goes away, and worlds to store.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use terravox::generate::Hills;
use terravox::terrain::UnsavedChanges;
use terravox::voxel::{
    Cell, ChunkPos, DenseBox, GridOptions, Region, UnlistedChunks, VoxelGrid, VoxelPos,
};
use terravox_store::{Generator, Overwrite, SaveStats, Store, StoreError, WorldInfo};

/// A folder that is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let folder = format!("terravox-store-{name}-{}", std::process::id());
        // In memory where the system offers that: nothing here is about power cuts, and
        // waiting for a disk is most of the time.
        let memory = PathBuf::from("/dev/shm");
        let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let path = place.join(folder);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary folder can be made");
        Folder(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Names of all files in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(&self.0)
            .expect("the folder is there")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Numbers that look random, the same on every run.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: i32) -> i32 {
        (self.next() % end as u64) as i32
    }
}

/// Writes a ball of a material with a partial rim, with water in some of its cells.
pub fn ball(grid: &mut VoxelGrid, centre: [i32; 3], radius: i32, material: u8) {
    let centre = VoxelPos::from(centre);
    let mut cells = DenseBox::default();
    let region = Region::one(centre).grow(radius);
    grid.read(region, 0, &mut cells).expect("the world is held");
    let mut water = cells.water().to_vec();
    for pos in region.voxels() {
        let d = pos - centre;
        let left = radius * radius - (d.x * d.x + d.y * d.y + d.z * d.z);
        if left >= 0 {
            cells.set(pos, Cell::new(material, left.min(255) as u8));
            if left < 9 && material > 1 {
                water.push((cells.index(pos) as u32, (left * 20) as u8));
            }
        }
    }
    cells.set_all_water(water);
    grid.write(&cells).expect("the world is held");
}

/// A small world with everything in it: uniform chunks, listed air, water in solid cells,
/// material ids up to 255, far places, both sides of the origin.
pub fn small_world() -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    fill(&mut grid, Region::new([-64, -64, -32], [64, 0, 64]), 8);
    fill(&mut grid, Region::new([-40, -20, 0], [10, -4, 40]), 1);
    ball(&mut grid, [0, 0, 0], 20, 2);
    ball(&mut grid, [-50, 5, 33], 12, 255);
    ball(&mut grid, [300, -300, 5], 9, 63);
    ball(&mut grid, [1 << 29, 77, -(1 << 29)], 5, 13);
    let air = ChunkPos::new(-9, 3, 4).region();
    grid.write(&DenseBox::new(air)).expect("the world is held");
    grid
}

/// A smaller one: two balls and some rock.
pub fn few_chunks() -> VoxelGrid {
    let mut grid = VoxelGrid::default();
    fill(&mut grid, Region::new([-32, -32, -64], [64, 0, 0]), 8);
    ball(&mut grid, [-3, 2, -30], 14, 2);
    ball(&mut grid, [300, 0, 300], 9, 100);
    grid
}

/// Notes that all of a grid is saved.
pub fn mark_saved(grid: &mut VoxelGrid) {
    let unsaved = grid.unsaved();
    grid.mark_saved(&unsaved);
}

/// Saves what is unsaved of a grid to a world that is complete.
pub fn save(store: &Store, grid: &mut VoxelGrid) -> Result<SaveStats, StoreError> {
    let unsaved = UnsavedChanges::from(grid.unsaved());
    let stats = store.save(&unsaved, |_| panic!("a complete world needs no generator"))?;
    grid.mark_saved(&unsaved.chunks);
    Ok(stats)
}

/// Makes a chunk unsaved as it is.
pub fn touch(grid: &mut VoxelGrid, chunk: ChunkPos) {
    let mut cells = DenseBox::default();
    grid.read(chunk.region(), 0, &mut cells).expect("it is held");
    grid.write(&cells).expect("a whole chunk");
}

pub fn fill(grid: &mut VoxelGrid, region: Region, material: u8) {
    let mut cells = DenseBox::new(region);
    cells.fill(material);
    grid.write(&cells).expect("the world is held");
}

/// A world that grows from the hills of `seed`, of which nothing was edited.
pub fn growing_world(path: &Path, seed: u64) -> Store {
    let generator = Generator {
        name: Hills::NAME.to_owned(),
        version: Hills::VERSION,
        seed,
        saved_region: None,
    };
    let unlisted = UnlistedChunks::Unknown;
    let info = WorldInfo { unlisted, generator: Some(generator), ..WorldInfo::default() };
    Store::create(path, &info, Overwrite::No).unwrap().finish().unwrap()
}
