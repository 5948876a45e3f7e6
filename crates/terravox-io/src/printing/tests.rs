use super::*;
use crate::ImportBudget;
use crate::obj::UpAxis;
use crate::triangles::{self, MeshFormat};
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
    PrintSurface::of(&grid.snapshot(), region, mip, &|_, _| ()).expect("all is held")
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
        let size = region.coarser(mip.into()).finer(mip.into()).size().map(|edge| edge as f32);
        let inside = |p: &[f32; 3]| (0..3).all(|i| (0.0..=size[i]).contains(&p[i]));
        assert!(surface.positions.iter().all(inside), "{region} at mip {mip}");
    }
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
    assert_eq!(
        model.matches("p1=\"1\"").count(),
        surface.materials.iter().filter(|m| **m == 8).count()
    );
    let mut again = Vec::new();
    let table = MaterialTable::default();
    write_3mf(&mut again, &PrintSurface::default(), &table, PrintFrame::default()).expect("memory");
    assert!(unzipped(&again)[2].1.contains("<triangles>\n</triangles>"));
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
