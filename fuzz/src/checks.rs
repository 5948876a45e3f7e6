//! One check for each importer and decoder. Any bytes are fine; what is accepted is encoded again
//! and must decode to the same. The tests of `terravox-io` include this file, and replay seeds.

use std::io::Cursor;

use terravox::codec::{BitRle, Dialect, Refinement, Rle};
use terravox::edit::{EditOp, History, Journal, JournalFilter, Rollback};
use terravox::replicate::{
    Guest, GuestEvent, Host, HostEvent, HostOptions, HostWorld, Interest, LinkKind, Verdict,
};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{Cell, DenseBox, Kind, MaterialTable, Region, VoxelGrid};
use terravox_io::heightmap::{self, ColourPolicy, Heights};
use terravox_io::roblox::{
    self, Container, ImportOptions, RobloxMetadata, SmoothGridReader, SmoothGridWriter,
};
use terravox_io::vox::{self, VoxExportError, VoxOptions};
use terravox_io::{ImportBudget, ImportLimits};

/// A check by the name of its target.
pub type NamedCheck = (&'static str, fn(&[u8]));

/// All checks.
pub const CHECKS: [NamedCheck; 19] = [
    ("roblox_binary", roblox_binary),
    ("roblox_xml", roblox_xml),
    ("smooth_grid", smooth_grid),
    ("png", png),
    ("raw", raw),
    ("tiff", tiff),
    ("grid", grid),
    ("cloud", cloud),
    ("vox", vox),
    ("anvil", crate::region_checks::anvil),
    ("triangles", crate::mesh_checks::triangles),
    ("metadata", metadata),
    ("codec", codec),
    ("values", crate::value_checks::values),
    ("history", history),
    ("journal", journal),
    ("edit_op", edit_op),
    ("host_packets", host_packets),
    ("guest_packets", guest_packets),
];

/// Small, so that a fuzzer does not spend its time on what is refused anyway.
fn budget() -> ImportBudget {
    ImportBudget::new(ImportLimits { memory_bytes: 16 << 20, work: 1 << 26, depth: 64 })
}

/// Imports a file; what is accepted is exported and imported again.
fn import(bytes: &[u8], container: Container) {
    let (options, mut grid) = (ImportOptions { container: Some(container) }, VoxelGrid::default());
    let imported =
        match roblox::import_with_progress(bytes, &options, &mut budget(), &mut grid, |_, _| ()) {
            Ok(imported) => imported,
            Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
        };
    let stored = RobloxMetadata::from_bytes(&imported.metadata.to_bytes());
    assert_eq!(stored.as_ref(), Ok(&imported.metadata));
    let file = roblox::export(grid.as_snapshot(), &imported.metadata, container).expect("a file");
    let mut again = VoxelGrid::default();
    let mut budget = ImportBudget::new(ImportLimits::for_input(file.len()).times(16));
    let second = roblox::import_with_progress(&file, &options, &mut budget, &mut again, |_, _| ())
        .expect("our own file");
    assert_eq!(again.digest(), grid.digest());
    assert_eq!(second.metadata.order, imported.metadata.order);
}

/// Files as they are, and files of mutated chunks: the fuzzer would not find its way through a
/// packed payload. Such input is chunks of a packing and a name (one byte), a length (two) and an
/// unpacked payload.
pub fn roblox_binary(bytes: &[u8]) {
    if bytes.starts_with(b"<roblox!") {
        return import(bytes, Container::Binary);
    }
    let mut file = b"<roblox!\x89\xff\r\n\x1a\n\0\0".to_vec();
    file.resize(32, 0);
    let mut rest = bytes;
    while let [kind, low, high, payload @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(payload.len());
        let (payload, after) = payload.split_at(length);
        let names = [b"INST", b"PROP", b"SSTR", b"PRNT", b"META"];
        put_chunk(&mut file, names[usize::from(kind >> 2) % names.len()], kind & 3, payload);
        rest = after;
    }
    put_chunk(&mut file, b"END\0", 0, b"</roblox>");
    import(&file, Container::Binary);
}

fn put_chunk(file: &mut Vec<u8>, name: &[u8; 4], packing: u8, payload: &[u8]) {
    let packed = match packing {
        1 => lz4_flex::block::compress(payload),
        2 => zstd(payload),
        _ => Vec::new(),
    };
    file.extend(name);
    file.extend((packed.len() as u32).to_le_bytes());
    file.extend((payload.len() as u32).to_le_bytes());
    file.extend([0; 4]);
    file.extend(if packed.is_empty() { payload } else { &packed });
}

/// A frame of one raw block.
fn zstd(payload: &[u8]) -> Vec<u8> {
    let header = (payload.len() as u32) << 3 | 1;
    let mut out = vec![0x28, 0xB5, 0x2F, 0xFD, 0, 7 << 3];
    out.extend(&header.to_le_bytes()[..3]);
    out.extend(payload);
    out
}

/// Files as they are, and what may stand inside a Terrain.
pub fn roblox_xml(bytes: &[u8]) {
    if bytes.first() != Some(&b'+') {
        return import(bytes, Container::Xml);
    }
    let start = b"<roblox version=\"4\"><Item class=\"Terrain\"><Properties>";
    import(&[start, &bytes[1..], b"</roblox>"].concat(), Container::Xml);
}

/// Chunks that are accepted are written and read again.
pub fn smooth_grid(bytes: &[u8]) {
    import(bytes, Container::SmoothGrid);
    let table = MaterialTable::default();
    let Ok(mut reader) = SmoothGridReader::new(bytes, table.kinds()) else { return };
    let (mut writer, mut budget) = (SmoothGridWriter::new(table.kinds()), budget());
    let (mut cells, mut chunks) = (DenseBox::default(), Vec::new());
    while let Ok(Some(_)) = reader.next_chunk(&mut cells, &mut budget) {
        writer.push(&cells).expect("what was read can be written");
        chunks.push(cells.clone());
    }
    let written = writer.finish();
    let mut again = SmoothGridReader::new(&written, table.kinds()).expect("our own bytes");
    let mut budget = ImportBudget::new(ImportLimits::for_input(written.len()).times(16));
    for chunk in chunks {
        again.next_chunk(&mut cells, &mut budget).expect("our own chunk");
        assert_eq!(cells, chunk);
    }
}

/// Heights that are accepted are as many as claimed, and from 0 to 1.
fn check_heights(heights: Result<Heights, heightmap::HeightmapError>) {
    match heights {
        Ok(heights) => {
            let [low, high] = heights.range();
            assert!(0.0 <= low && low <= high && high <= 1.0, "{low} to {high}");
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}

/// Files as they are, and pictures of mutated chunks with right checksums. Such input is the header
/// (width, height, depth, colour type, interlacing: a byte each), then chunks: a name (one byte), a
/// length (two) and what is in it, unpacked.
pub fn png(bytes: &[u8]) {
    let forged = match bytes {
        [0x89, b'P', ..] => None,
        [width, height, depth, colour, interlace, chunks @ ..] => {
            let mut header = vec![0, 0, 0, *width, 0, 0, 0, *height, *depth, *colour, 0, 0];
            header.push(*interlace);
            Some(forged_png(&header, chunks))
        }
        _ => None,
    };
    let file = forged.as_deref().unwrap_or(bytes);
    check_heights(heightmap::read_png(file, ColourPolicy::Refuse, &mut budget()));
    check_heights(heightmap::read_png(file, ColourPolicy::Luminance, &mut budget()));
}

/// Files as they are.
pub fn grid(bytes: &[u8]) {
    match heightmap::read_grid(bytes, &mut budget()) {
        Ok(read) => assert!(read.heights.range().iter().all(|height| height.is_finite())),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}

/// Files as they are.
pub fn cloud(bytes: &[u8]) {
    match heightmap::read_point_cloud(vec![Cursor::new(bytes)], None, &mut budget()) {
        Ok(read) => assert!(read.heights.range().iter().all(|height| height.is_finite())),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}

/// Files as they are, alone and as two parts of one map.
pub fn tiff(bytes: &[u8]) {
    for parts in [vec![Cursor::new(bytes)], vec![Cursor::new(bytes); 2]] {
        match heightmap::read_geotiff(parts, &mut budget()) {
            Ok(read) => {
                let [low, high] = read.heights.range();
                assert!(low.is_finite() && low <= high && high.is_finite(), "{low} to {high}");
                let [width, depth] = read.heights.size();
                assert!(read.without_data < (width * depth) as u64);
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
}

/// Kind and colour of the cells of a grid that are not air, by position.
fn colours(grid: &VoxelGrid) -> Vec<([i32; 3], Kind, [u8; 3])> {
    let (table, mut cells, mut all) = (grid.materials(), DenseBox::default(), Vec::new());
    for chunk in grid.chunks() {
        grid.read(chunk.region(), 0, &mut cells).expect("a chunk");
        let looks = chunk.region().voxels().zip(cells.materials());
        let solid = looks.filter(|(_, material)| **material != 0);
        all.extend(solid.map(|(pos, id)| (pos.to_array(), table.kind(*id), table.colour(*id))));
    }
    all
}

/// A scene that is accepted is exported and imported again. Without a magic number, the input is
/// what stands in MAIN.
pub fn vox(bytes: &[u8]) {
    let whole = if vox::is_vox(bytes) {
        bytes.to_vec()
    } else {
        let length = (bytes.len() as u32).to_le_bytes();
        [&b"VOX \x96\0\0\0MAIN\0\0\0\0"[..], &length, bytes].concat()
    };
    let (options, mut grid) = (VoxOptions::default(), VoxelGrid::default());
    let imported = vox::import(&whole, &options, &mut budget(), &mut grid, |_, _| ());
    let imported = match imported {
        Ok(imported) => imported,
        Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
    };
    let file = match vox::export(grid.as_snapshot()) {
        Ok(file) => file,
        Err(error) => {
            assert_eq!((error, imported.voxels), (VoxExportError::Empty, 0));
            return;
        }
    };
    let mut again = VoxelGrid::default();
    let mut budget = ImportBudget::new(ImportLimits::for_input(file.len()).times(16));
    vox::import(&file, &options, &mut budget, &mut again, |_, _| ()).expect("our own file");
    assert_eq!(colours(&again), colours(&grid));
}

fn forged_png(header: &[u8], mut chunks: &[u8]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    put_png_chunk(&mut file, b"IHDR", header);
    while let [kind, low, high, payload @ ..] = chunks {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(payload.len());
        let (payload, after) = payload.split_at(length);
        match kind & 7 {
            0 => put_png_chunk(&mut file, b"PLTE", payload),
            1 => put_png_chunk(&mut file, b"tRNS", payload),
            2 => put_png_chunk(&mut file, b"tEXt", payload),
            3 => put_png_chunk(&mut file, b"IDAT", payload),
            _ => put_png_chunk(&mut file, b"IDAT", &zlib(payload)),
        }
        chunks = after;
    }
    put_png_chunk(&mut file, b"IEND", b"");
    file
}

fn put_png_chunk(file: &mut Vec<u8>, name: &[u8; 4], payload: &[u8]) {
    file.extend((payload.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(name);
    file.extend(payload);
    let crc = !file[start..].iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1)))
    });
    file.extend(crc.to_be_bytes());
}

/// A stream of one stored block.
fn zlib(payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut out = vec![0x78, 1, 1];
    out.extend(length.to_le_bytes());
    out.extend((!length).to_le_bytes());
    out.extend(payload);
    let (a, b) = payload.iter().fold((1u32, 0u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65521;
        (a, (b + a) % 65521)
    });
    out.extend((b << 16 | a).to_be_bytes());
    out
}

/// The first two bytes are the size.
pub fn raw(bytes: &[u8]) {
    check_heights(heightmap::read_raw_u16(bytes, None, &mut budget()));
    if let [width, depth, samples @ ..] = bytes {
        let size = [usize::from(*width), usize::from(*depth)];
        check_heights(heightmap::read_raw_u16(samples, Some(size), &mut budget()));
    }
}

/// Metadata that are accepted have one encoding only.
pub fn metadata(bytes: &[u8]) {
    if let Ok(metadata) = RobloxMetadata::from_bytes(bytes) {
        assert_eq!(metadata.to_bytes(), bytes);
    }
}

/// The first bytes are the dialect, or that the code is in bits, and the size of a box.
pub fn codec(bytes: &[u8]) {
    let [dialect, x, y, z, runs @ ..] = bytes else { return };
    let table = MaterialTable::default();
    let size = [x, y, z].map(|edge| i32::from(edge % 33));
    let mut cells = DenseBox::new(Region::new([0; 3], size));
    if dialect & 4 != 0 {
        return refinement(size, runs);
    }
    if dialect & 2 != 0 {
        let coder = BitRle { kinds: table.kinds() };
        if let Ok(read) = coder.decode_box(runs, &mut cells) {
            let mut encoded = Vec::new();
            coder.encode_box(&cells, &mut encoded);
            assert_eq!(encoded, runs[..read]);
        }
        return;
    }
    let dialect = if dialect & 1 == 0 { Dialect::Wide } else { Dialect::Narrow };
    let rle = Rle { kinds: table.kinds(), dialect };
    let decoded = rle.decode_box(runs, &mut cells);
    if let Some(material) = rle.uniform(runs, cells.len()) {
        let mut uniform = DenseBox::new(cells.region());
        uniform.fill(material);
        assert!(decoded == Ok(runs.len()) && cells == uniform);
    }
    if decoded.is_err() {
        return;
    }
    let mut again = DenseBox::new(cells.region());
    let mut encoded = Vec::new();
    rle.encode_box(&cells, &mut encoded);
    assert_eq!(rle.decode_box(&encoded, &mut again), Ok(encoded.len()));
    assert_eq!(again, cells);
}

/// Cells over a box, material and occupancy in turns, then the code of the box.
fn refinement(size: [i32; 3], bytes: &[u8]) {
    let table = MaterialTable::default();
    let coder = Refinement { kinds: table.kinds() };
    let groups = Region::new([0; 3], size.map(|edge| edge / 2));
    let mut coarser = DenseBox::new(groups);
    let (over, code) = bytes.split_at(bytes.len().min(2 * groups.volume() as usize));
    for (pos, cell) in groups.voxels().zip(over.chunks_exact(2)) {
        coarser.set(pos, Cell::new(cell[0], cell[1]));
    }
    let [mut cells, mut again] = [0; 2].map(|_| DenseBox::new(groups.finer(1)));
    coder.decode_box(code, &coarser, &mut cells);
    let mut encoded = Vec::new();
    coder.encode_box(&cells, &coarser, &mut encoded);
    coder.decode_box(&encoded, &coarser, &mut again);
    assert_eq!(again, cells);
}

/// The first byte of strokes whose lengths and counts are made right: see [`structured`].
pub const STRUCTURED: u8 = 0xFF;

/// A version and a checksum before the bytes, since no fuzzer finds the latter.
fn sealed(version: u8, bytes: &[u8]) -> Vec<u8> {
    [&[version][..], &xxhash_rust::xxh3::xxh3_64(bytes).to_le_bytes(), bytes].concat()
}

/// Strokes or entries whose numbers and lengths fit: `head` before each, then a patch of a few
/// cells. Each is a byte of flags, six of the region, and, where the flags say so, rows or cells in
/// the input's own bytes behind their length.
fn structured(bytes: &[u8], head: impl Fn(u8) -> Vec<u8>) -> (Vec<u8>, u8) {
    let (mut out, mut count, mut rest) = (Vec::new(), 0, bytes);
    while let [flags, x, y, z, width, high, deep, after @ ..] = rest
        && count < 100
    {
        rest = after;
        let mut own = |is_own: bool, made: &[u8]| {
            let [length, after @ ..] = rest else { return made.to_vec() };
            if !is_own {
                return made.to_vec();
            }
            let (bytes, after) = after.split_at(usize::from(*length).min(after.len()));
            rest = after;
            bytes.to_vec()
        };
        let size = [width, high, deep].map(|edge| 1 + edge % 8);
        // Every cell, in one run a row; then all of them rock.
        let mut rows = vec![0xFF, 1, 0, size[0]];
        rows.resize(3 + usize::from(size[1] * size[2]), 0x77);
        let cells = usize::from(size[0]) * usize::from(size[1] * size[2]);
        let mut runs = vec![0];
        runs.extend((0..cells).step_by(256).flat_map(|at| match (cells - at).min(256) {
            1 => vec![8],
            run => vec![0x88, (run - 1) as u8],
        }));
        let (rows, runs) = (own(flags & 1 != 0, &rows), own(flags & 2 != 0, &runs));
        out.extend(head(*flags));
        out.push(1);
        out.extend([x, y, z].map(|v| v % 128));
        out.extend(size);
        for part in [rows, runs] {
            put_number(part.len(), &mut out);
            out.extend(part);
        }
        count += 1;
    }
    (out, count)
}

/// Seven bits a byte, lowest first.
fn put_number(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A history behind its checksum, in each version, or strokes of cells after [`STRUCTURED`] and how
/// many are undone.
pub fn history(bytes: &[u8]) {
    (1..=2).for_each(|version| history_of(version, bytes));
}

fn history_of(version: u8, bytes: &[u8]) {
    let sealed = match bytes {
        [STRUCTURED, undone, strokes @ ..] if version == 1 => {
            let (strokes, count) = structured(strokes, |_| Vec::new());
            let undone = undone % (count + 1);
            sealed(1, &[&[count - undone, undone], &strokes[..]].concat())
        }
        _ => sealed(version, bytes),
    };
    let Ok(history) = History::from_bytes(&sealed, 1 << 20) else { return };
    let encoded = history.to_bytes();
    let again = History::from_bytes(&encoded, 1 << 20).expect("our own bytes");
    assert_eq!(again.to_bytes(), encoded);
    crate::value_checks::undo(history, version > 1);
}

/// As a history, in each version; the flags of a structured entry tell its number, time and author.
pub fn journal(bytes: &[u8]) {
    (1..=3).for_each(|version| journal_of(version, bytes));
}

fn journal_of(version: u8, bytes: &[u8]) {
    let sealed = match bytes {
        [STRUCTURED, entries @ ..] => {
            let head = |flags: u8| {
                let author = b'a' + (flags >> 2 & 3);
                let mut head = vec![1 + (flags >> 6), flags >> 4 & 3, 1, author];
                // From version 2 on: what made it.
                head.extend((version > 1).then_some(0));
                head
            };
            let (entries, count) = structured(entries, head);
            sealed(version, &[&[count], &entries[..]].concat())
        }
        _ => sealed(version, bytes),
    };
    let entries = match Journal::decode(&sealed) {
        Ok(entries) => entries,
        Err(error) => return assert!(error.offset <= sealed.len(), "{error}"),
    };
    let encoded = Journal::encode(&entries);
    assert_eq!(Journal::decode(&encoded).as_ref(), Ok(&entries));
    let (journal, mut grid) = (Journal::new(0), VoxelGrid::default());
    let patches: usize = entries.iter().map(|entry| entry.before.bytes()).sum();
    let mut job = Rollback::new(entries, JournalFilter::default());
    for _ in 0..job.chunks_left().min(8 + patches / 1024) {
        job.step(&journal, &mut grid).expect("all is held");
    }
}

/// An operation of a script, as JSON.
pub fn edit_op(bytes: &[u8]) {
    let Ok(op) = serde_json::from_slice::<EditOp>(bytes) else { return };
    let Ok(text) = serde_json::to_string(&op) else { return };
    // Numbers that JSON cannot hold become null.
    if let Ok(again) = serde_json::from_str::<EditOp>(&text) {
        assert_eq!(serde_json::to_string(&again).expect("an operation"), text);
    }
}

/// Microseconds between packets.
const TICK_US: u64 = 10_000;

/// Packets, each behind its length in two bytes.
fn split_packets(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let [low, high, packets @ ..] = rest else { return None };
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(packets.len());
        let (packet, after) = packets.split_at(length);
        rest = after;
        Some(packet)
    })
}

/// Ground of both sides.
pub fn waves(request: &mut FillRequest<'_>) {
    request.fill_height(8, -8.0..=8.0, |x, _z| 8.0 * (x * 0.05).sin());
}

/// A host with a world, and one guest.
pub struct Hosted {
    pub host: Host,
    grid: VoxelGrid,
    pub guest: u64,
    now_us: u64,
    is_gone: bool,
}

impl Hosted {
    /// A small world that is all air, with one that connects.
    pub fn new() -> Hosted {
        let mut host = Host::new(HostOptions { max_mip: 2, ..HostOptions::default() });
        let guest = host.connect(LinkKind::Reliable);
        Hosted { host, grid: VoxelGrid::default(), guest, now_us: 0, is_gone: false }
    }

    /// Takes a packet, if there is one, and does what follows. Returns what is sent.
    pub fn take(&mut self, packet: Option<&[u8]>) -> Vec<Vec<u8>> {
        self.now_us += TICK_US;
        if let Some(packet) = packet {
            // It may end the link.
            let _ = self.host.receive(self.guest, packet, self.now_us);
        }
        let mut world = HostWorld {
            grid: &mut self.grid,
            placement: Placement::default(),
            ground: &waves,
            generated: &waves,
            prefetch: &|_| true,
            decide: &mut |_, _| Verdict::Accept,
        };
        self.host.tick(&mut world, self.now_us);
        for event in self.host.events() {
            match event {
                HostEvent::Joining { guest, .. } => self.host.admit(guest, &world),
                HostEvent::Left { .. } => self.is_gone = true,
                _ => {}
            }
        }
        let mut packets = Vec::new();
        let mut packet = Vec::new();
        while self.host.transmit(self.guest, self.now_us, &mut packet) {
            packets.push(std::mem::take(&mut packet));
        }
        packets
    }
}

/// What a guest says to a host, which must stay small whatever it is.
pub fn host_packets(bytes: &[u8]) {
    let mut hosted = Hosted::new();
    for packet in split_packets(bytes) {
        hosted.take(Some(packet));
        assert!(hosted.host.guest_memory(hosted.guest) < 8 << 20, "a guest costs too much");
        if hosted.is_gone {
            return;
        }
    }
}

/// Does what a guest does in a frame. Returns what it sends.
pub fn guest_frame(guest: &mut Guest, packet: Option<&[u8]>, now_us: u64) -> Option<Vec<Vec<u8>>> {
    if let Some(packet) = packet {
        guest.receive(packet, now_us).ok()?;
    }
    if let Err(end) = guest.update(waves) {
        assert!(!end.reason.contains('\n'), "{end}");
        return None;
    }
    for event in guest.events() {
        if let GuestEvent::Welcome { .. } = event {
            guest.start(true);
        }
    }
    let interest = Interest { view_voxels: 100.0, near_voxels: 16.0, ..Interest::default() };
    guest.watch(&[[0.0; 3]], &interest);
    let mut packets = Vec::new();
    let mut packet = Vec::new();
    while guest.transmit(now_us, &mut packet) {
        packets.push(std::mem::take(&mut packet));
    }
    Some(packets)
}

/// What a host says to a guest.
pub fn guest_packets(bytes: &[u8]) {
    let mut guest = Guest::new(LinkKind::Reliable, b"token");
    for (number, packet) in (1..).zip(split_packets(bytes)) {
        if guest_frame(&mut guest, Some(packet), number * TICK_US).is_none() {
            return;
        }
        // An operation in flight, so that the reply can be wrong.
        if number == 2 {
            let _ = guest.edit(&EditOp::fill_ball(8, [0.0; 3], 3.0));
        }
    }
}
