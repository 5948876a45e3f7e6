//! What a real, intricate place shows: reversed triangles, sheets that cross, and
//! how well the mesh agrees with the fills.
//!
//! - *Reversed*: a triangle whose normal forms an obtuse angle with the mean of its
//!   vertex normals, so that a renderer shows its back where the shading shows a
//!   front. Beside it the same against the face that the triangle belongs to: on the
//!   cell corners (the keys) it has the normal of that face, from solid to air. A
//!   sliver on the side of a step may oppose its face and still look outwards.
//! - *Crossed*: a solid cell that is alone in its line along an axis, air or liquid
//!   before and behind, the vertices of whose upper face lie lower along that axis,
//!   on the mean, than those of its lower face. A cell counts once an axis.
//! - *Fidelity*: of solid cells beside one that is not, the distance from the cell's
//!   centre to the mesh less |fill − ½|, root mean square.

use glam::DVec3;
use rustc_hash::FxHashMap;
use terravox::voxel::{DenseBox, Kind, SurfaceShape, VoxelPos};

use super::distance::Nearest;
use super::ours::{Keyed, table_of};
use super::surface::{Accumulator, Spread, Surface, area_vector};
use crate::report::{Report, detail};
use crate::worlds::World;

const BLOCK: i32 = 64;

/// Measures `mesh_reversed_share` and `caves_crossed_runs` on Caves.
pub fn run(report: &mut Report, caves: Result<&World, &String>) {
    let caves = match caves {
        Ok(caves) => caves,
        Err(why) => {
            report.not_measured("mesh_reversed_share", why);
            report.not_measured("caves_crossed_runs", why);
            return;
        }
    };
    let mut lines = Vec::new();
    let cells = whole(caves);
    let runs = one_cell_runs(&cells);
    for (name, shape) in [
        ("default", SurfaceShape::Default),
        ("smooth", SurfaceShape::Smooth),
        ("sharp", SurfaceShape::Sharp),
    ] {
        let surface = mesh_of(caves, shape);
        let reversed = reversed(&surface);
        let crossed = crossed(&surface, &runs);
        let share = |count: usize| count as f64 / surface.triangles.len() as f64;
        if shape == SurfaceShape::Default {
            let note = format!("{} of {} triangles", reversed.by_shading, surface.triangles.len());
            report.set("mesh_reversed_share", share(reversed.by_shading), note);
            report.set("caves_crossed_runs", crossed as f64, format!("of {} runs", runs.len()));
            let found = fidelity(&surface, &cells);
            lines.push(detail("default: fidelity", found.rms, "voxels"));
        }
        let by_face = format!("against their faces {:.6}", share(reversed.by_face));
        lines.push(
            detail(format!("{name}: reversed"), share(reversed.by_shading), "share").note(by_face),
        );
        lines.push(detail(format!("{name}: crossed"), crossed as f64, "runs"));
    }
    report.details("Caves", lines);
}

fn mesh_of(world: &World, shape: SurfaceShape) -> Surface {
    let mut surface = Surface::default();
    Keyed::new(shape).mesh_world(world, BLOCK, |block| surface.append(&block));
    surface
}

/// All cells of a world, and one beyond on each side.
fn whole(world: &World) -> DenseBox {
    let mut cells = DenseBox::default();
    world.read(world.grid.bounds().grow(1), &mut cells);
    cells
}

/// Reversed triangles.
struct Reversed {
    by_face: usize,
    by_shading: usize,
}

fn reversed(surface: &Surface) -> Reversed {
    let mut found = Reversed { by_face: 0, by_shading: 0 };
    for &triangle in &surface.triangles {
        let normal = area_vector(surface.corners(triangle));
        let face = area_vector(surface.lattice_corners(triangle));
        let shading: DVec3 = triangle.iter().map(|&v| surface.normals[v as usize]).sum();
        found.by_face += usize::from(normal.dot(face) < 0.0);
        found.by_shading += usize::from(normal.dot(shading) < 0.0);
    }
    found
}

fn solid_at(cells: &DenseBox, kinds: &[Kind; 256], p: VoxelPos) -> bool {
    kinds[usize::from(cells.cell(p).material)] == Kind::Solid
}

/// A solid cell with none before or behind it along an axis.
type Run = (VoxelPos, usize);

const STEPS: [VoxelPos; 3] =
    [VoxelPos::new(1, 0, 0), VoxelPos::new(0, 1, 0), VoxelPos::new(0, 0, 1)];

/// All runs of one cell, along each axis.
fn one_cell_runs(cells: &DenseBox) -> Vec<Run> {
    let table = table_of(SurfaceShape::Default);
    let solid = |p: VoxelPos| solid_at(cells, table.kinds(), p);
    let alone = |&(p, axis): &Run| solid(p) && !solid(p + STEPS[axis]) && !solid(p - STEPS[axis]);
    let inner = cells.region().grow(-1).voxels();
    inner.flat_map(|p| [(p, 0), (p, 1), (p, 2)]).filter(alone).collect()
}

/// Runs whose upper face lies below their lower one.
fn crossed(surface: &Surface, runs: &[Run]) -> usize {
    let mut faces: FxHashMap<(Run, bool), Vec<u32>> = FxHashMap::default();
    for &run in runs {
        faces.insert((run, true), Vec::new());
        faces.insert((run, false), Vec::new());
    }
    for &triangle in &surface.triangles {
        let Some(face) = face_of(surface, triangle) else { continue };
        if let Some(vertices) = faces.get_mut(&face) {
            vertices.extend(triangle);
        }
    }
    let height = |run: Run, up: bool| mean_height(surface, &faces[&(run, up)], run.1);
    let crosses = |run: &&Run| match (height(**run, true), height(**run, false)) {
        (Some(top), Some(bottom)) => top < bottom,
        _ => false,
    };
    runs.iter().filter(crosses).count()
}

/// The solid cell, the axis and the side of the face that a triangle belongs to, by
/// where it lies on the cell corners; none if it has no area there.
fn face_of(surface: &Surface, triangle: [u32; 3]) -> Option<(Run, bool)> {
    let lattice = surface.lattice_corners(triangle);
    let direction = area_vector(lattice).to_array();
    let axis = direction.iter().position(|&d| d != 0.0)?;
    let low = lattice[0].min(lattice[1]).min(lattice[2]).floor().as_ivec3().to_array();
    let (beyond, up) = (VoxelPos::from(low), direction[axis] > 0.0);
    let cell = if up { beyond - STEPS[axis] } else { beyond };
    Some(((cell, axis), up))
}

/// Mean coordinate along `axis` of the different vertices of a face.
fn mean_height(surface: &Surface, vertices: &[u32], axis: usize) -> Option<f64> {
    let mut different = vertices.to_vec();
    different.sort_unstable();
    different.dedup();
    let sum: f64 = different.iter().map(|&v| surface.positions[v as usize][axis]).sum();
    (!different.is_empty()).then(|| sum / different.len() as f64)
}

/// How far the mesh is from where the cells at the surface say it is.
fn fidelity(surface: &Surface, cells: &DenseBox) -> Spread {
    let table = table_of(SurfaceShape::Default);
    let nearest = Nearest::new(surface);
    let mut errors = Accumulator::default();
    for p in cells.region().grow(-1).voxels() {
        let cell = cells.cell(p);
        if solid_at(cells, table.kinds(), p) && touches_another_kind(cells, table.kinds(), p) {
            let centre = DVec3::from(p.to_array().map(f64::from)) + 0.5;
            let expected = (f64::from(cell.fraction()) - 0.5).abs();
            errors.add(nearest.distance(centre) - expected, 1.0);
        }
    }
    errors.finish()
}

fn touches_another_kind(cells: &DenseBox, kinds: &[Kind; 256], p: VoxelPos) -> bool {
    let open = |q| !solid_at(cells, kinds, q);
    STEPS.into_iter().any(|step| open(p + step) || open(p - step))
}

#[cfg(test)]
mod tests {
    use terravox::mesh::PAD;
    use terravox::voxel::{Cell, Region};

    use super::*;

    /// A plate one cell thick, its mesh and its runs.
    fn plate(units: u32) -> (DenseBox, Surface) {
        let region = Region::new([0; 3], [16; 3]).grow(PAD);
        let cells = crate::worlds::shapes::plate(region, 1, 8, units);
        let surface = Keyed::new(SurfaceShape::Default).mesh(&cells);
        (cells, surface)
    }

    #[test]
    fn a_plate_is_runs_of_one_cell_that_do_not_cross() {
        let (cells, surface) = plate(200);
        let runs = one_cell_runs(&cells);
        assert_eq!(runs.len(), 64);
        assert!(runs.iter().all(|run| run.1 == 1));
        assert_eq!(crossed(&surface, &runs), 0);
    }

    #[test]
    fn a_plate_mirrored_in_itself_crosses_and_reverses_its_sides() {
        let (cells, mut surface) = plate(200);
        let middle = 8.5;
        for p in &mut surface.positions {
            p.y = 2.0 * middle - p.y;
        }
        let runs = one_cell_runs(&cells);
        assert_eq!(crossed(&surface, &runs), 64);
        // The upper and the lower side keep their direction in changing places.
        let sides = surface.triangles.iter().filter(|&&t| {
            let [a, b, c] = surface.lattice_corners(t).map(|p| p.y);
            a != b || b != c
        });
        assert_eq!(reversed(&surface).by_face, sides.count());
    }

    #[test]
    fn plates_across_every_axis_are_runs_along_it() {
        for axis in 0..3 {
            let region = Region::new([0; 3], [16; 3]).grow(PAD);
            let cells = crate::worlds::shapes::plate(region, axis, 8, 256);
            let runs = one_cell_runs(&cells);
            assert!(runs.len() == 64 && runs.iter().all(|run| run.1 == axis));
            let surface = Keyed::new(SurfaceShape::Default).mesh(&cells);
            let found: Vec<_> =
                surface.triangles.iter().filter_map(|&t| face_of(&surface, t)).collect();
            for run in runs {
                assert_eq!(found.iter().filter(|face| **face == (run, true)).count(), 2);
                assert_eq!(found.iter().filter(|face| **face == (run, false)).count(), 2);
            }
        }
    }

    #[test]
    fn one_flipped_vertex_reverses_its_triangles_only() {
        let (_, mut surface) = plate(256);
        assert_eq!((reversed(&surface).by_face, reversed(&surface).by_shading), (0, 0));
        let inner = surface.keys.iter().position(|key| key[..3] == [16, 18, 16]);
        // Pushed beyond its neighbours, it folds the triangles on one side of it.
        surface.positions[inner.unwrap()].x += 2.5;
        let found = reversed(&surface);
        assert!((1..=8).contains(&found.by_face), "{}", found.by_face);
        assert!((1..=8).contains(&found.by_shading), "{}", found.by_shading);
    }

    #[test]
    fn a_thicker_plate_has_no_runs_of_one_cell() {
        let (mut cells, _) = plate(256);
        for (p, _) in one_cell_runs(&cells) {
            cells.set(p - VoxelPos::new(0, 1, 0), Cell::full(2));
        }
        assert!(one_cell_runs(&cells).is_empty());
    }
}
