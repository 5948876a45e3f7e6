//! What files cost that were built to cost much. Work is counted in units of the budget and memory
//! by the allocator of this program, so nothing is timed.

mod files;
mod imports;
mod meshes;
mod shape_list;
mod shapes;

use shapes::{HostileShape, Importer, shapes};
use terravox_io::roblox::RobloxMetadata;
use terravox_io::triangles::MeshFormat;
use terravox_io::{ImportBudget, ImportCost, ImportLimits};

/// A share of the default limits, so that what reaches them does not take long.
fn limits(bytes: usize) -> ImportLimits {
    let ImportLimits { memory_bytes, work, depth } = ImportLimits::for_input(bytes);
    ImportLimits { memory_bytes: memory_bytes / 8, work: work / 16, depth }
}

/// What an import cost and whether it was refused.
struct Outcome {
    cost: ImportCost,
    /// The most bytes allocated at one time.
    peak_bytes: u64,
    error: Option<String>,
}

fn run(importer: Importer, file: &[u8]) -> Outcome {
    let mut budget = ImportBudget::new(limits(file.len()));
    let mut error = None;
    let counted =
        allocation_counter::measure(|| error = imports::import(importer, file, &mut budget).err());
    Outcome { cost: budget.spent(), peak_bytes: counted.bytes_max, error }
}

/// Checks what holds for any file; `name` is for messages.
fn check(name: &str, file: &[u8], outcome: &Outcome) {
    let limits = limits(file.len());
    assert!(outcome.cost.work <= limits.work, "{name}: {:?}", outcome.cost);
    assert!(outcome.cost.memory_bytes <= limits.memory_bytes, "{name}: {:?}", outcome.cost);
    // What is too little to be counted: tables of decoders, lists, the copies of a writer.
    let allowed = outcome.cost.memory_bytes * 5 / 4 + file.len() as u64 + (2 << 20);
    let peak = outcome.peak_bytes;
    assert!(peak <= allowed, "{name}: a peak of {peak} bytes, but {:?}", outcome.cost);
    if let Some(line) = &outcome.error {
        assert!(!line.contains('\n') && line.len() < 600, "{name}: {line}");
    }
}

#[test]
fn there_are_a_hundred_shapes_with_names_of_their_own() {
    let mut names: Vec<String> = shapes().into_iter().map(|shape| shape.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(count >= 100, "{count}");
}

#[test]
fn hostile_shapes_of_twice_the_size_cost_at_most_two_and_a_half_times_as_much_slow() {
    for HostileShape { name, importer, n, file } in shapes() {
        let files = [file(n), file(2 * n)];
        let outcomes = [0, 1].map(|i| run(importer, &files[i]));
        for i in 0..2 {
            check(&name, &files[i], &outcomes[i]);
        }
        let [single, double] = outcomes.map(|outcome| outcome.cost);
        // Some shapes are as long as the square of n.
        let longer = (files[1].len() as u64).div_ceil(files[0].len() as u64).max(2);
        let most = |cost: u64| cost * longer * 5 / 4 + (1 << 16);
        assert!(double.work <= most(single.work), "{name}: {single:?} to {double:?}");
        let memory = most(single.memory_bytes);
        assert!(double.memory_bytes <= memory, "{name}: {single:?} to {double:?}");
    }
}

/// Valid files of every format, whose fields the next test changes.
fn valid_files() -> Vec<(&'static str, Importer, Vec<u8>)> {
    use files::*;
    let grid = smooth_grid([[0, 0, 0], [1, -1, 0]], &rough());
    let strings = shared(&[vec![1], grid.clone()]);
    let mut out = Vec::new();
    for packing in PACKINGS {
        let file = binary(&[
            chunk(packing, b"SSTR", &strings),
            chunk(packing, b"INST", &inst(7, "Terrain", 2)),
            chunk(packing, b"INST", &inst(1, "Part", 3)),
            chunk(packing, b"PROP", &prop(1, "Tags", &[vec![5; 300], vec![], vec![1]])),
            chunk(packing, b"PROP", &shared_prop(7, "SmoothGrid", 2, 1)),
            chunk(packing, b"PROP", &prop(7, "MaterialColors", &[vec![1; 69], vec![2; 69]])),
        ]);
        out.push(("rbxm", Importer::Roblox, file));
    }
    let value = format!("<BinaryString name=\"SmoothGrid\">{}</BinaryString>", base64(&grid));
    out.push(("rbxmx", Importer::Roblox, xml(&terrain(&value))));
    out.push(("SmoothGrid", Importer::SmoothGrid, grid));
    let [grey, rgb] = [png::ColorType::Grayscale, png::ColorType::Rgb];
    out.push(("PNG", Importer::Png, png([40, 30], grey, png::BitDepth::Sixteen)));
    out.push(("PNG", Importer::Png, png([40, 30], rgb, png::BitDepth::Eight)));
    out.push(("raw", Importer::RawHeights, vec![9; 2 * 400]));
    let metadata = RobloxMetadata {
        order: Some(vec![terravox::voxel::ChunkPos::new(1, 2, 3); 4]),
        colours: Some(vec![1; 69]),
    };
    out.push(("metadata", Importer::Metadata, metadata.to_bytes()));
    let scene = vox(&[
        vox_model([3, 2, 1], &[[0, 0, 0, 1], [2, 1, 0, 9]]),
        vox_model([200, 1, 200], &[[199, 0, 199, 255]]),
        vox_transform(0, 1, &[("_name", "all")]),
        vox_group(1, &[2, 4]),
        vox_transform(2, 3, &[("_r", "17"), ("_t", "1 -2 30")]),
        vox_shape(3, 0),
        vox_transform(4, 5, &[("_t", "-500 0 4")]),
        vox_shape(5, 1),
        vox_layer(0, &[("_hidden", "1")]),
        vox_chunk(b"RGBA", &[77; 1024]),
    ]);
    out.push(("vox", Importer::Vox, scene));
    out.push(("STL", Importer::Mesh(MeshFormat::Stl), meshes::stl_bodies(1)));
    out.push(("PLY", Importer::Mesh(MeshFormat::Ply), meshes::ply_bodies(1)));
    out.push(("glTF", Importer::Mesh(MeshFormat::Glb), meshes::glb_bodies(2)));
    out
}

/// Returns what stands in a field of `bytes` at `at` instead: the value times powers of two, and
/// the largest.
fn larger_fields(bytes: &[u8], at: usize) -> Vec<Vec<u8>> {
    let Some(field) = bytes[at..].first_chunk::<4>() else { return Vec::new() };
    let mut out = vec![vec![0xFF; 4]];
    for (value, big) in [(u32::from_le_bytes(*field), false), (u32::from_be_bytes(*field), true)] {
        for shift in [1, 4, 8, 12, 16, 20, 24] {
            let value = u64::from(value.max(1)) << shift;
            let value = u32::try_from(value).unwrap_or(u32::MAX);
            out.push(if big { value.to_be_bytes() } else { value.to_le_bytes() }.to_vec());
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// Counts and lengths are fields of two or four bytes at any place, so each place is one.
#[test]
fn no_field_multiplied_by_any_power_of_two_exceeds_the_budget_slow() {
    for (name, importer, file) in valid_files() {
        // Headers in full, then samples of the rest, all runs alike.
        let places = (0..file.len()).filter(|&at| at < 400 || at % 61 == 0);
        for at in places {
            for field in larger_fields(&file, at) {
                let mut changed = file.clone();
                changed[at..at + 4].copy_from_slice(&field);
                if name == "PNG" {
                    repair_png(&mut changed);
                }
                let outcome = run(importer, &changed);
                check(&format!("{name}, byte {at} as {field:?}"), &changed, &outcome);
            }
        }
    }
}

/// Makes the checksum of the header right, so that what it claims is believed.
fn repair_png(file: &mut [u8]) {
    let header = files::png_chunk(b"IHDR", &file[16..29]);
    file[8..33].copy_from_slice(&header);
}

/// The files of `shared/data/hostile` were built by someone who read the code.
#[test]
fn the_known_hostile_files_are_cheap() {
    let folder = std::env::var_os("TERRAVOX_REAL_DATA").map_or_else(
        || std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        std::path::PathBuf::from,
    );
    for name in ["inst1.rbxm", "shared40000.rbxm", "time20.rbxm"] {
        let path = folder.join("hostile").join(name);
        let Ok(file) = std::fs::read(&path) else {
            eprintln!("skipped: nothing at {}", path.display());
            continue;
        };
        let outcome = run(Importer::Roblox, &file);
        check(name, &file, &outcome);
        eprintln!("{name}: {:?}, {:?}, {} bytes", outcome.error, outcome.cost, outcome.peak_bytes);
    }
}
