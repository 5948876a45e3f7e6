//! Coding chunks: run-length against LZ4 and zstd on the raw cells, each chunk by
//! itself; speed in dense bytes, and bytes a cell that is not air.

use std::cell::RefCell;

use terravox::codec::Rle;
use terravox::voxel::{AIR, DenseBox};

use crate::harness::{Budget, Entrant, Timing, contest};
use crate::report::{Report, Row, detail};
use crate::worlds::World;

/// Chunks of one item.
const CHUNKS_PER_ITEM: usize = 32;
/// Bytes of a chunk's cells.
const CHUNK_BYTES: usize = 65_536;

/// A world's chunks, raw and coded.
struct Coded<'a> {
    world: &'a World,
    boxes: Vec<DenseBox>,
    /// Materials, then occupancies.
    raw: Vec<Vec<u8>>,
    rle: Vec<Vec<u8>>,
    lz4: Vec<Vec<u8>>,
    zstd: Vec<Vec<u8>>,
    non_air: usize,
}

impl<'a> Coded<'a> {
    fn new(world: &'a World) -> Coded<'a> {
        let boxes: Vec<DenseBox> = world.chunk_boxes().collect();
        let raw: Vec<Vec<u8>> =
            boxes.iter().map(|b| [b.materials(), b.occupancies()].concat()).collect();
        let rle = boxes.iter().map(|b| encoded(world, b)).collect();
        let lz4 = raw.iter().map(|raw| lz4_flex::compress(raw)).collect();
        let zstd = raw.iter().map(|raw| zstd_of(raw)).collect();
        let filled = |b: &DenseBox| b.materials().iter().filter(|&&m| m != AIR).count();
        let non_air = boxes.iter().map(filled).sum();
        Coded { world, boxes, raw, rle, lz4, zstd, non_air }
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

/// Measures `rle_encode` and `rle_decode` on the first of `worlds`, the others as details.
pub fn run(report: &mut Report, worlds: &[&World]) {
    let mut speeds = Vec::new();
    let mut sizes = Vec::new();
    for (at, world) in worlds.iter().enumerate() {
        let coded = Coded::new(world);
        let (encode, decode) = (encode(&coded), decode(&coded));
        let official = at == 0;
        for (id, timings) in [("rle_encode", &encode), ("rle_decode", &decode)] {
            let speed = |t: &Timing| coded.gigabytes_per_second(t.min);
            if official {
                let note = format!("{} world; baseline LZ4 on raw chunks", world.name);
                report.set_beside(id, speed(&timings[0]), speed(&timings[1]), note);
            }
            for timing in timings {
                let median = coded.gigabytes_per_second(timing.median);
                let line =
                    detail(format!("{}: {id}, {}", world.name, timing.name), speed(timing), "GB/s");
                speeds.push(line.beside(speed(&timings[1])).note(format!("median {median:.2}")));
            }
        }
        add_sizes(&mut sizes, &coded);
    }
    report.details("coding chunks, dense bytes a second", speeds);
    report.details("bytes of coded chunks, a cell that is not air", sizes);
}

fn encode(coded: &Coded) -> Vec<Timing> {
    let kinds = coded.world.grid.materials().kinds();
    let (mut out, mut block) =
        (Vec::new(), vec![0; lz4_flex::block::get_maximum_output_size(CHUNK_BYTES)]);
    let mut packed = vec![0; zstd::zstd_safe::compress_bound(CHUNK_BYTES)];
    let Ok(mut zstd) = zstd::bulk::Compressor::new(3) else { unreachable!("level 3 exists") };
    let entrants = vec![
        Entrant::new("rle", |item| {
            let chunk = |i: usize| {
                out.clear();
                Rle::wide(kinds).encode_box(&coded.boxes[i], &mut out);
                out.len() as u64
            };
            coded.chunks(item).map(chunk).sum()
        }),
        Entrant::new("LZ4", |item| {
            let chunk =
                |i: usize| lz4_flex::compress_into(&coded.raw[i], &mut block).unwrap_or(0) as u64;
            coded.chunks(item).map(chunk).sum()
        }),
        Entrant::new("zstd 3", |item| {
            let chunk =
                |i: usize| zstd.compress_to_buffer(&coded.raw[i], &mut packed).unwrap_or(0) as u64;
            coded.chunks(item).map(chunk).sum()
        }),
    ];
    contest(coded.items(), Budget::seconds(3.0), entrants)
}

fn decode(coded: &Coded) -> Vec<Timing> {
    let kinds = coded.world.grid.materials().kinds();
    let mut cells = coded.boxes[0].clone();
    let block = RefCell::new(vec![0; CHUNK_BYTES]);
    let Ok(mut zstd) = zstd::bulk::Decompressor::new() else { unreachable!("no dictionary") };
    let entrants = vec![
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
    contest(coded.items(), Budget::seconds(3.0), entrants)
}

fn add_sizes(sizes: &mut Vec<Row>, coded: &Coded) {
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
    }
}
