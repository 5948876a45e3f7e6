//! Coding chunks: run-length codes compared with LZ4 and zstd on the raw cells, each chunk by
//! itself; speed in dense bytes, and bytes per cell that is not air.

use std::cell::RefCell;

use terravox::codec::Rle;
use terravox::voxel::{AIR, DenseBox};

use crate::harness::{Entrant, RoundBudget, Timing, contest};
use crate::report::{AreaReport, Better, ReportRow, detail};
use crate::worlds::World;

/// Chunks of one item.
const CHUNKS_PER_ITEM: usize = 32;
/// Bytes of a chunk's cells.
const CHUNK_BYTES: usize = 65_536;

/// A world's chunks, raw and coded.
struct CodedChunks<'a> {
    world: &'a World,
    boxes: Vec<DenseBox>,
    /// Materials, then occupancies.
    raw: Vec<Vec<u8>>,
    rle: Vec<Vec<u8>>,
    lz4: Vec<Vec<u8>>,
    zstd: Vec<Vec<u8>>,
    non_air: usize,
}

impl<'a> CodedChunks<'a> {
    fn new(world: &'a World) -> CodedChunks<'a> {
        let boxes: Vec<DenseBox> = world.chunk_boxes().collect();
        let raw: Vec<Vec<u8>> =
            boxes.iter().map(|b| [b.materials(), b.occupancies()].concat()).collect();
        let rle = boxes.iter().map(|b| encoded(world, b)).collect();
        let lz4 = raw.iter().map(|raw| lz4_flex::compress(raw)).collect();
        let zstd = raw.iter().map(|raw| zstd_of(raw)).collect();
        let filled = |b: &DenseBox| b.materials().iter().filter(|&&m| m != AIR).count();
        let non_air = boxes.iter().map(filled).sum();
        CodedChunks { world, boxes, raw, rle, lz4, zstd, non_air }
    }

    fn items(&self) -> usize {
        self.boxes.len().div_ceil(CHUNKS_PER_ITEM)
    }

    fn chunks(&self, item: usize) -> std::ops::Range<usize> {
        let from = item * CHUNKS_PER_ITEM;
        from..(from + CHUNKS_PER_ITEM).min(self.boxes.len())
    }

    fn gigabytes_per_second(&self, seconds: f64) -> f64 {
        (self.boxes.len() * CHUNK_BYTES) as f64 / seconds / 1e9
    }
}

fn encoded(world: &World, cells: &DenseBox) -> Vec<u8> {
    let mut bytes = Vec::new();
    Rle::wide(world.grid.materials().kinds()).encode_box(cells, &mut bytes);
    bytes
}

fn zstd_of(raw: &[u8]) -> Vec<u8> {
    let Ok(bytes) = zstd::bulk::compress(raw, 3) else { unreachable!("memory is a good sink") };
    bytes
}

/// Speeds in one world, GB/s of dense bytes.
#[derive(Clone, Copy)]
struct CodingSpeed {
    world: &'static str,
    rle: f64,
    lz4: f64,
}

/// Measures `rle_encode` and `rle_decode`: of all worlds the one on which it is slowest.
pub fn run(report: &mut AreaReport, worlds: &[&World]) {
    let (mut speeds, mut sizes) = (Vec::new(), Vec::new());
    let mut slowest: [Option<CodingSpeed>; 2] = [None; 2];
    for world in worlds {
        let coded = CodedChunks::new(world);
        for (at, timings) in [encode(&coded), decode(&coded)].iter().enumerate() {
            let speed = |t: &Timing| coded.gigabytes_per_second(t.min);
            let (rle, lz4) = (speed(&timings[0]), speed(&timings[1]));
            if slowest[at].is_none_or(|slowest| rle < slowest.rle) {
                slowest[at] = Some(CodingSpeed { world: world.name, rle, lz4 });
            }
            for timing in timings {
                let name = format!("{}: {}, {}", world.name, ["encode", "decode"][at], timing.name);
                let median = coded.gigabytes_per_second(timing.median);
                let line = detail(name, speed(timing), "GB/s").beside(lz4);
                speeds.push(line.note(format!("median {median:.2}")));
                let what = format!("{} of chunks, {}", ["encoding", "decoding"][at], world.name);
                let peer = (timing.name, speed(timing));
                report.compare(&what, "GB/s", Better::More, rle, peer);
            }
        }
        add_sizes(report, &mut sizes, &coded);
    }
    for (id, slowest) in ["rle_encode", "rle_decode"].into_iter().zip(slowest) {
        if let Some(CodingSpeed { world, rle, lz4 }) = slowest {
            let note = format!("{world}, the slowest of all worlds; baseline LZ4 on raw chunks");
            report.set_beside(id, rle, lz4, note);
        }
    }
    report.details("coding chunks, dense bytes a second", speeds);
    report.details("bytes of coded chunks, a cell that is not air", sizes);
}

fn encode(coded: &CodedChunks) -> [Timing; 3] {
    let kinds = coded.world.grid.materials().kinds();
    let (mut out, mut block) =
        (Vec::new(), vec![0; lz4_flex::block::get_maximum_output_size(CHUNK_BYTES)]);
    let mut packed = vec![0; zstd::zstd_safe::compress_bound(CHUNK_BYTES)];
    let Ok(mut zstd) = zstd::bulk::Compressor::new(3) else { unreachable!("level 3 exists") };
    let entrants = [
        Entrant::new("rle", |item| {
            let chunk = |i: usize| {
                out.clear();
                Rle::wide(kinds).encode_box(&coded.boxes[i], &mut out);
                out.len() as u64
            };
            coded.chunks(item).map(chunk).sum()
        }),
        Entrant::new("LZ4", |item| {
            let chunk = |i: usize| {
                let size = lz4_flex::compress_into(&coded.raw[i], &mut block);
                assert_eq!(size.ok(), Some(coded.lz4[i].len()));
                u64::from(block[0])
            };
            coded.chunks(item).map(chunk).sum()
        }),
        Entrant::new("zstd 3", |item| {
            let chunk = |i: usize| {
                let size = zstd.compress_to_buffer(&coded.raw[i], &mut packed[..]);
                assert_eq!(size.ok(), Some(coded.zstd[i].len()));
                u64::from(packed[0])
            };
            coded.chunks(item).map(chunk).sum()
        }),
    ];
    contest(coded.items(), RoundBudget::seconds(3.0), entrants)
}

fn decode(coded: &CodedChunks) -> [Timing; 3] {
    let kinds = coded.world.grid.materials().kinds();
    let mut cells = coded.boxes[0].clone();
    let block = RefCell::new(vec![0; CHUNK_BYTES]);
    let Ok(mut zstd) = zstd::bulk::Decompressor::new() else { unreachable!("no dictionary") };
    let entrants = [
        Entrant::new("rle", |item| {
            let chunk = |i: usize| {
                let used = Rle::wide(kinds).decode_box(&coded.rle[i], &mut cells);
                assert_eq!(used, Ok(coded.rle[i].len()));
                u64::from(cells.materials()[7])
            };
            coded.chunks(item).map(chunk).sum()
        }),
        Entrant::new("LZ4", |item| {
            let mut block = block.borrow_mut();
            let chunk = |i: usize| {
                let used = lz4_flex::decompress_into(&coded.lz4[i], &mut block);
                assert_eq!(used.ok(), Some(CHUNK_BYTES));
                u64::from(block[7])
            };
            coded.chunks(item).map(chunk).sum()
        }),
        Entrant::new("zstd 3", |item| {
            let mut block = block.borrow_mut();
            let chunk = |i: usize| {
                let used = zstd.decompress_to_buffer(&coded.zstd[i], &mut block[..]);
                assert_eq!(used.ok(), Some(CHUNK_BYTES));
                u64::from(block[7])
            };
            coded.chunks(item).map(chunk).sum()
        }),
    ];
    contest(coded.items(), RoundBudget::seconds(3.0), entrants)
}

fn add_sizes(report: &mut AreaReport, sizes: &mut Vec<ReportRow>, coded: &CodedChunks) {
    let total = |bytes: &[Vec<u8>]| bytes.iter().map(Vec::len).sum::<usize>();
    let per_cell = |bytes: usize| bytes as f64 / coded.non_air as f64;
    let again = |bytes: &[Vec<u8>], code: &dyn Fn(&[u8]) -> Vec<u8>| {
        bytes.iter().map(|chunk| code(chunk).len()).sum::<usize>()
    };
    let rows = [
        ("rle", total(&coded.rle)),
        ("rle + LZ4", again(&coded.rle, &|b| lz4_flex::compress(b))),
        ("rle + zstd 3", again(&coded.rle, &zstd_of)),
        ("LZ4", total(&coded.lz4)),
        ("zstd 3", total(&coded.zstd)),
    ];
    for (name, bytes) in rows {
        let line = detail(format!("{}: {name}", coded.world.name), per_cell(bytes), "B");
        sizes.push(line.beside(per_cell(total(&coded.lz4))));
        let what = format!("bytes a cell of coded chunks, {}", coded.world.name);
        // Ours on disk is runs, and LZ4 over them.
        let ours = [rows[0].1, rows[1].1].map(per_cell);
        if name == "LZ4" || name == "zstd 3" {
            let peer = (name, per_cell(bytes));
            report.compare(&what, "B", Better::Less, ours[0].min(ours[1]), peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use terravox::voxel::{ChunkPos, GridOptions, VoxelGrid};

    use super::*;
    use crate::worlds::random::closed_grid;

    #[test]
    fn what_is_coded_holds_the_cells() {
        let mut grid = VoxelGrid::new(GridOptions::default());
        for seed in 0..3 {
            let mut cells = closed_grid(seed, 32);
            cells.move_to(ChunkPos::new(seed as i32, 0, 0).min_voxel());
            grid.write(&cells).unwrap();
        }
        let world = World::new("test", grid);
        let coded = CodedChunks::new(&world);
        assert_eq!((coded.items(), coded.chunks(0)), (1, 0..3));
        for i in 0..3 {
            let raw = &coded.raw[i];
            assert_eq!(&raw[..32_768], coded.boxes[i].materials());
            assert_eq!(&lz4_flex::decompress(&coded.lz4[i], CHUNK_BYTES).unwrap(), raw);
            assert_eq!(&zstd::bulk::decompress(&coded.zstd[i], CHUNK_BYTES).unwrap(), raw);
            let mut cells = DenseBox::new(coded.boxes[i].region());
            let rle = Rle::wide(world.grid.materials().kinds());
            rle.decode_box(&coded.rle[i], &mut cells).unwrap();
            assert_eq!(cells, coded.boxes[i]);
        }
    }
}
