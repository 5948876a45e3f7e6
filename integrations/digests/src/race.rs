//! Rounds of meshing blocks of 64³ at the surface of hills, to be timed here and in a browser. The
//! blocks are chosen as those of `crates/terravox-bench`.

use std::io::BufRead;
use std::time::Instant;

use terravox::generate::Hills;
use terravox::mesh::{BlockMesh, Mesher, PAD};
use terravox::voxel::{BlockPos, DenseBox, MaterialTable, Region};

const SEED: u64 = 2026;

/// Blocks that are meshed in a round.
const BLOCKS: usize = 8;

/// Blocks along x and z to choose from.
const ACROSS: i32 = 12;

/// Padded boxes and what meshes them.
pub struct Race {
    boxes: Vec<DenseBox>,
    table: MaterialTable,
    mesher: Mesher,
    mesh: BlockMesh,
}

impl Race {
    /// Chooses blocks evenly among those with at least a third of the surface of the fullest. They
    /// are meshed with what every machine of this architecture has.
    pub fn new() -> Race {
        let mut race = Race {
            boxes: Vec::new(),
            table: MaterialTable::default(),
            mesher: Mesher::portable(),
            mesh: BlockMesh::new(),
        };
        let mut blocks = Vec::new();
        let (low, high) = (Hills::HEIGHTS.start >> 6, (Hills::HEIGHTS.end + 63) >> 6);
        let half = ACROSS / 2;
        let all = Region::new([-half, low, -half], [half, high, half]);
        for block in all.voxels().map(|at| BlockPos::<6>::new(at.x, at.y, at.z).region()) {
            race.mesher.mesh(&padded(block), &race.table, &mut race.mesh);
            blocks.push((race.mesh.solid.vertex_count(), block));
        }
        let fullest = blocks.iter().map(|block| block.0).max().unwrap_or(0);
        blocks.retain(|block| 3 * block.0 >= fullest);
        let count = blocks.len().min(BLOCKS);
        race.boxes = (0..count).map(|i| padded(blocks[i * blocks.len() / count].1)).collect();
        race
    }

    /// Meshes all blocks. Returns the number of triangles.
    pub fn round(&mut self) -> u32 {
        let mut triangles = 0;
        for cells in &self.boxes {
            self.mesher.mesh(cells, &self.table, &mut self.mesh);
            triangles += self.mesh.solid.triangle_count() + self.mesh.liquid.triangle_count();
        }
        triangles as u32
    }

    /// Runs rounds, as many at a time as each line of the input says. Prints milliseconds for all
    /// of them and the triangles of one.
    pub fn serve(mut self, lines: impl BufRead) -> std::io::Result<()> {
        for line in lines.lines() {
            let rounds: u32 = line?.trim().parse().map_err(std::io::Error::other)?;
            let (start, mut triangles) = (Instant::now(), 0);
            for _ in 0..rounds {
                triangles = self.round();
            }
            println!("{} {triangles}", start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(())
    }
}

fn padded(block: Region) -> DenseBox {
    let mut cells = DenseBox::new(block.grow(PAD));
    Hills::new(SEED).fill(&mut cells, 0);
    cells
}
