use super::*;
use crate::obj::UpAxis;
use crate::triangles::{self, MeshFormat};
use crate::{ExportLimit, ImportBudget};
use proptest::prelude::*;
use std::collections::BTreeMap;
use terravox::generate::Hills;
use terravox::voxel::{Cell, ChunkPos, DenseBox, MaterialTable, Region, VoxelGrid, VoxelPos};

/// Counts edges that are not passed once in each direction, by number of their vertices.
fn open_edges(triangles: &[[u32; 3]]) -> usize {
    let mut uses: BTreeMap<[u32; 2], [u32; 2]> = BTreeMap::new();
    for &[a, b, c] in triangles {
        for [p, q] in [[a, b], [b, c], [c, a]] {
            assert_ne!(p, q, "a triangle passes a vertex twice");
            uses.entry([p.min(q), p.max(q)]).or_default()[usize::from(p < q)] += 1;
        }
    }
    uses.values().filter(|uses| **uses != [1, 1]).count()
}

fn surface(grid: &VoxelGrid, region: Region, mip: u8) -> PrintSurface {
    PrintSurface::of(&grid.snapshot(), region, mip, ExportLimit::default(), &|_, _| ())
        .expect("all is held")
}

/// Cubic voxels of ground in a region, in cells of a mip.
fn ground(grid: &VoxelGrid, region: Region, mip: u8) -> f64 {
    let mut cells = DenseBox::default();
    grid.read(region.coarser(mip.into()), mip, &mut cells).expect("all is held");
    let solid = |cell: Cell| cell.material > 1;
    let units = cells.region().voxels().map(|pos| cells.cell(pos)).filter(|cell| solid(*cell));
    units.map(|cell| f64::from(cell.units())).sum::<f64>() / 256.0 * f64::from(1 << (3 * mip))
}

/// Hills of 96³ voxels, down to solid ground, with water.
fn hills() -> VoxelGrid {
    let (mut grid, hills) = (VoxelGrid::default(), Hills::new(3));
    for chunk in Region::new([-1, -2, -1], [2, 2, 2]).voxels() {
        let chunk = ChunkPos::new(chunk.x, chunk.y, chunk.z);
        let mut cells = DenseBox::new(chunk.region());
        hills.fill(&mut cells, 0);
        grid.write(&cells).expect("a chunk");
    }
    grid
}

#[test]
fn ground_that_is_cut_anywhere_is_closed_and_keeps_its_volume() {
    let grid = hills();
    let all = grid.bounds();
    let part = Region::new([-9, -20, 3], [40, 30, 45]);
    for (region, mip) in [(all, 0), (part, 0), (part, 1), (all, 3)] {
        let surface = surface(&grid, region, mip);
        assert_eq!(open_edges(&surface.triangles), 0, "{region} at mip {mip}");
        assert_eq!(surface.materials.len(), surface.triangles.len());
        let (volume, expected) = (surface.volume(), ground(&grid, region, mip));
        assert!(
            (volume / expected - 1.0).abs() < 0.02,
            "{volume} of {expected}, {region} at {mip}"
        );
        let size = region.coarser(mip.into()).finer(mip.into());
        let [min, max, origin] =
            [size.min, size.max, surface.origin].map(|p| p.to_array().map(f64::from));
        let inside = |p: &[f32; 3]| {
            (0..3).all(|i| (min[i]..=max[i]).contains(&(origin[i] + f64::from(p[i]))))
        };
        assert!(surface.positions.iter().all(inside), "{region} at mip {mip}");
    }
}

#[test]
fn pieces_far_out_are_as_precise_as_at_home_and_pieces_far_apart_are_refused() {
    let ball = |centre: [i32; 3]| {
        let mut cells = DenseBox::new(Region::new(centre, centre).grow(7));
        for at in cells.region().voxels().collect::<Vec<_>>() {
            let square: i32 = (0..3).map(|i| (at.to_array()[i] - centre[i]).pow(2)).sum();
            if square < 30 {
                cells.set(at, Cell::new(8, 255 - 4 * square as u8));
            }
        }
        cells
    };
    let surface_of = |centres: &[[i32; 3]]| {
        let mut grid = VoxelGrid::default();
        centres.iter().for_each(|centre| grid.write(&ball(*centre)).expect("held"));
        PrintSurface::of(&grid.snapshot(), grid.bounds(), 0, ExportLimit::default(), &|_, _| ())
    };
    let home = surface_of(&[[0, 0, 0]]).expect("a ball");
    let far = 1 << 29;
    for centre in [[far, -far, far], [-far, 32, 0]] {
        let away = surface_of(&[centre]).expect("a ball");
        assert_eq!(away.origin, home.origin + VoxelPos::from(centre));
        assert_eq!((&away.positions, &away.triangles), (&home.positions, &home.triangles));
    }
    // As far apart as f32 can tell the vertices of each.
    let apart = surface_of(&[[0, 0, 0], [200_000, 0, 0]]).expect("two balls");
    assert_eq!(apart.triangles.len(), 2 * home.triangles.len());
    assert!((apart.volume() / home.volume() - 2.0).abs() < 0.01);
    let error = surface_of(&[[0, 0, 0], [1 << 24, 0, 0]]).expect_err("too far apart");
    assert!(matches!(error, PrintError::TooLong { voxels, .. } if voxels > 1 << 24), "{error}");
    assert!(error.to_string().contains("one by one"), "{error}");
}

#[test]
fn an_stl_reads_back_closed_and_with_z_up() {
    let grid = hills();
    let surface = surface(&grid, Region::new([-9, -20, 3], [40, 30, 45]), 0);
    for up in [UpAxis::Z, UpAxis::Y] {
        let mut file = Vec::new();
        let frame = PrintFrame { units_per_voxel: 0.25, up };
        write_stl(&mut file, &surface, frame).expect("memory");
        let mut budget = ImportBudget::for_input(file.len());
        let mesh = triangles::read(&file, MeshFormat::Stl, &mut budget).expect("our own file");
        assert!((mesh.volume() * 64.0 / surface.volume() - 1.0).abs() < 1e-4);
        let mut again = VoxelGrid::default();
        let options = triangles::VoxeliseOptions { voxels_per_unit: 4.0, up, material: 8 };
        let made = triangles::voxelise(&mesh, &options, &mut budget, &mut again, |_, _| ());
        let made = made.expect("cells");
        // Vertices have the same bits wherever they are one.
        assert_eq!(made.holes, 0);
        assert!((made.volume_voxels / surface.volume() - 1.0).abs() < 0.01, "{made:?}");
        let [low, high] = mesh.bounds().expect("bounds");
        assert_eq!(low, [0.0; 3]);
        // The part is cut at both sides: 49 wide and 42 deep.
        assert_eq!(high[0], 12.25);
        assert_eq!(high[if up == UpAxis::Z { 1 } else { 2 }], 10.5);
    }
}

#[test]
fn invalid_frames_are_refused_before_a_byte_is_written() {
    let surface = PrintSurface::default();
    for units_per_voxel in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let frame = PrintFrame { units_per_voxel, ..PrintFrame::default() };
        let (mut stl, mut model) = (Vec::new(), Vec::new());
        let results = [
            write_stl(&mut stl, &surface, frame),
            write_3mf(&mut model, &surface, &MaterialTable::default(), frame),
        ];
        for result in results {
            let line = result.expect_err("an invalid frame").to_string();
            let expected = format!("units_per_voxel is {units_per_voxel}; give a finite number");
            assert!(line.starts_with(&expected), "{line}");
        }
        assert!(stl.is_empty() && model.is_empty());
    }
}

#[test]
fn a_3mf_is_a_zip_of_its_model() {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(Region::new([0; 3], [2; 3]));
    cells.set(VoxelPos::new(1, 0, 0), Cell::full(2));
    cells.set(VoxelPos::new(1, 1, 0), Cell::full(8));
    // Water is left out.
    cells.set(VoxelPos::new(0, 0, 0), Cell::full(1));
    grid.write(&cells).expect("held");
    let surface = surface(&grid, grid.bounds(), 0);
    let mut table = MaterialTable::default().materials().to_vec();
    table[8].name = "R & \"D\" <1>".to_owned();
    let mut file = Vec::new();
    write_3mf(&mut file, &surface, &MaterialTable::new(table), PrintFrame::default())
        .expect("memory");
    let parts = unzipped(&file);
    let names: Vec<&str> = parts.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["[Content_Types].xml", "_rels/.rels", "3D/3dmodel.model"]);
    let model = &parts[2].1;
    assert!(model.contains("unit=\"millimeter\"") && model.contains("name=\"Grass\""), "{model}");
    assert!(model.contains("name=\"R &amp; &quot;D&quot; &lt;1>\""), "{model}");
    assert_eq!(model.matches("<base ").count(), 2);
    assert_eq!(model.matches("<vertex ").count(), surface.positions.len());
    assert_eq!(model.matches("<triangle ").count(), surface.triangles.len());
    // The most common one is that of the object.
    let count = |id: u8| surface.materials.iter().filter(|m| **m == id).count();
    let [grass, rock] = [2, 8].map(count);
    let common = usize::from(rock > grass);
    assert!(model.contains(&format!("pindex=\"{common}\"")), "{model}");
    let named = model.matches(&format!("pid=\"1\" p1=\"{}\"", 1 - common)).count();
    assert_eq!((named, model.matches(" p1=").count()), (grass.min(rock), grass.min(rock)));
    let mut again = Vec::new();
    let table = MaterialTable::default();
    write_3mf(&mut again, &PrintSurface::default(), &table, PrintFrame::default()).expect("memory");
    assert!(unzipped(&again)[2].1.contains("<triangles>\n</triangles>"));
}

#[test]
fn a_3mf_of_many_parts_reads_back() {
    // Ground with rough numbers: the parts are longer than any buffer on the way.
    let grid = hills();
    let mut whole = surface(&grid, grid.bounds(), 0);
    let (count, again) = (whole.positions.len() as u32, whole.clone());
    for copy in 1..4 {
        let moved = |p: &[f32; 3]| p.map(|v| v * 1.37 + 100.3 * copy as f32);
        whole.positions.extend(again.positions.iter().map(moved));
        let corners = again.triangles.iter().map(|corners| corners.map(|v| v + copy * count));
        whole.triangles.extend(corners);
        whole.materials.extend(&again.materials);
    }
    assert!(whole.triangles.len() > 3 << 15, "{}", whole.triangles.len());
    let mut file = Vec::new();
    write_3mf(&mut file, &whole, grid.materials(), PrintFrame::default()).expect("memory");
    let model = &unzipped(&file)[2].1;
    assert!(model.ends_with("</model>\n") && model.starts_with("<?xml"));
    let numbers = |line: &str| -> Vec<f32> {
        line.split('"')
            .skip(1)
            .step_by(2)
            .take(3)
            .map(|text| text.parse().expect("a number"))
            .collect()
    };
    let lines = |tag: &str| -> Vec<Vec<f32>> {
        model.lines().filter(|line| line.starts_with(tag)).map(numbers).collect()
    };
    let (vertices, triangles) = (lines("<vertex "), lines("<triangle "));
    let positions = PrintFrame::default().positions(&whole).expect("a frame");
    assert!(vertices.iter().eq(positions.iter()), "vertices differ");
    let corners = whole.triangles.iter().map(|corners| corners.map(|v| v as f32));
    assert!(triangles.into_iter().eq(corners), "triangles differ");
}

/// The files of a zip by its list, with their checksums compared.
fn unzipped(file: &[u8]) -> Vec<(String, String)> {
    use std::io::Read;
    let u16_at = |at: usize| usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
    let u32_at = |at: usize| u16_at(at) | u16_at(at + 2) << 16;
    let end = file.len() - 22;
    assert_eq!(&file[end..end + 4], b"PK\x05\x06");
    let (mut at, mut out) = (u32_at(end + 16), Vec::new());
    assert_eq!(at + u32_at(end + 12), end);
    for _ in 0..u16_at(end + 10) {
        assert_eq!(&file[at..at + 4], b"PK\x01\x02");
        let name = String::from_utf8(file[at + 46..at + 46 + u16_at(at + 28)].to_vec()).unwrap();
        let local = u32_at(at + 42);
        assert_eq!(&file[local..local + 4], b"PK\x03\x04");
        assert_eq!(&file[local + 4..local + 30], &file[at + 6..at + 32]);
        let start = local + 30 + name.len();
        let packed = &file[start..start + u32_at(at + 20)];
        let mut text = String::new();
        flate2::read::DeflateDecoder::new(packed).read_to_string(&mut text).unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        assert_eq!((crc.sum() as usize, text.len()), (u32_at(at + 16), u32_at(at + 24)));
        at += 46 + name.len();
        out.push((name, text));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_cells_across_blocks_are_closed(
        seed in prop::collection::vec((0..12_i32, 0..12_i32, 0..12_i32, 0..=255_u8, 2..9_u8), 1..300),
        cut in 0..6_i32,
    ) {
        let mut grid = VoxelGrid::default();
        let mut cells = DenseBox::new(Region::new([26; 3], [38; 3]));
        for (x, y, z, occupancy, material) in seed {
            cells.set(VoxelPos::new(26 + x, 26 + y, 26 + z), Cell { material, occupancy });
        }
        grid.write(&cells).expect("held");
        let region = Region::new([26 + cut, 26, 26], [38, 38 - cut, 38]);
        let surface = surface(&grid, region, 0);
        prop_assert_eq!(open_edges(&surface.triangles), 0);
    }
}

#[test]
fn a_surface_of_more_memory_than_is_allowed_is_refused_with_what_it_needs() {
    let grid = hills();
    let surface = surface(&grid, grid.bounds(), 0);
    let need = 36 * surface.positions.len() as u64 + 24 * surface.triangles.len() as u64;
    let of = |memory_bytes| {
        let limit = ExportLimit { memory_bytes };
        PrintSurface::of(&grid.snapshot(), grid.bounds(), 0, limit, &|_, _| ())
    };
    assert_eq!(of(4 * need).as_ref(), Ok(&surface));
    let Err(PrintError::OverLimit(error)) = of(need / 8) else { panic!("a surface") };
    assert!(error.wanted >= need / 8 && error.allowed == need / 8, "{error}");
}
