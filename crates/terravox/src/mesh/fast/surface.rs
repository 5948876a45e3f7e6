//! The steps of one surface.

use crate::mesh::rules::cells::SurfaceCells;

use super::bits::RowGrid;
use super::class_rows::ClassRows;
use super::faces::FindFaces;
use super::input::SurfaceInput;
use super::mesh_simd::MeshSimd;
use super::planes::PlaneInput;
use super::quads::WriteQuads;
use super::scratch::FastScratch;
use super::special::{place_by_rules, special_quads};
use super::walk::PlaceVertices;
use super::writer::SurfaceWriter;

/// Meshes one surface.
pub(super) fn mesh_surface<M: MeshSimd, C: SurfaceCells, const W: usize>(
    m: M,
    s: &mut FastScratch,
    input: &SurfaceInput<'_, C>,
    mut writer: SurfaceWriter<'_, C>,
) {
    let grid = &RowGrid::new(input.cells.size());
    find_faces::<M, C, W>(m, s, grid, input);
    if s.faces.rows.is_empty() && s.boundary.is_empty() {
        writer.out.clear();
        return;
    }
    writer.out.keys.clear();
    writer.out.targets.clear();
    writer.out.inner.clear();
    writer.out.loose_materials.clear();
    compute_planes::<M, C, W>(m, s, grid, input);
    m.run(PlaceVertices::<C, W> { s, grid, input, writer: &mut writer });
    place_by_rules::<C, W>(s, grid, &mut writer);
    if !input.has_faces {
        // The steps below overwrite what an older mesh has left.
        writer.out.clear_faces();
        return;
    }
    write_quads::<M, C, W>(m, s, grid, input, &mut writer);
    if !s.boundary.is_empty() {
        place_boundary::<M, C, W>(m, s, grid, input, writer);
    }
}

/// Makes the rows of inside and outside cells, and finds faces and corners in them.
#[inline(always)]
fn find_faces<M: MeshSimd, C: SurfaceCells, const W: usize>(
    m: M,
    s: &mut FastScratch,
    grid: &RowGrid,
    input: &SurfaceInput<'_, C>,
) {
    let classes = input.classes;
    m.run(ClassRows::<W> { grid, classes, set: input.inside, rows: &mut s.inside });
    if let Some(set) = input.outside {
        m.run(ClassRows::<W> { grid, classes, set, rows: &mut s.outside });
    }
    m.run(FindFaces::<W> {
        grid,
        inside: &s.inside,
        outside: input.outside.map(|_| s.outside.as_slice()),
        left_out: input.left_out,
        faces: &mut s.faces,
        corners: &mut s.corners,
        boundary: &mut s.boundary,
        around: &mut s.around,
    });
}

/// Computes the planes of the cells around all corners.
#[inline(always)]
fn compute_planes<M: MeshSimd, C: SurfaceCells, const W: usize>(
    m: M,
    s: &mut FastScratch,
    grid: &RowGrid,
    input: &SurfaceInput<'_, C>,
) {
    let plane_input = PlaneInput {
        grid,
        classes: input.classes,
        occupancies: input.occupancies,
        set: input.inside,
        cells: input.cells,
        inside: &s.inside,
        outside: input.outside.map(|_| s.outside.as_slice()),
        wanted: &s.around,
    };
    s.planes.compute::<M, C, W>(m, &plane_input);
}

/// Writes all quads: the plain ones, then those that touch special corners.
#[inline(always)]
fn write_quads<M: MeshSimd, C: SurfaceCells, const W: usize>(
    m: M,
    s: &mut FastScratch,
    grid: &RowGrid,
    input: &SurfaceInput<'_, C>,
    writer: &mut SurfaceWriter<'_, C>,
) {
    // One more: vectors read four numbers of the last.
    writer.out.positions.push([0.0; 3]);
    m.run(WriteQuads::<W> {
        grid,
        faces: &s.faces,
        corners: &s.corners,
        special: &s.special,
        materials: input.materials,
        positions: &writer.out.positions,
        quads: &mut s.quads,
        indices: &mut writer.out.indices,
        quad_materials: &mut writer.out.quad_materials,
        quad_faces: &mut writer.out.quad_faces,
        special_faces: &mut s.special_faces,
    });
    writer.out.positions.pop();
    writer.out.plain_quads = writer.out.quad_count();
    if !s.special_faces.is_empty() {
        special_quads::<C, W>(s, grid, writer);
    }
}

/// Places the vertices on features of the boundary whose faces are left out.
fn place_boundary<M: MeshSimd, C: SurfaceCells, const W: usize>(
    m: M,
    s: &mut FastScratch,
    grid: &RowGrid,
    input: &SurfaceInput<'_, C>,
    writer: SurfaceWriter<'_, C>,
) {
    let mut boundary = std::mem::take(&mut s.boundary);
    let special = std::mem::take(&mut s.special);
    std::mem::swap(&mut s.corners, &mut boundary.corners);
    let mut writer = SurfaceWriter { out: &mut boundary.surface, is_keyed: false, ..writer };
    m.run(PlaceVertices::<C, W> { s, grid, input, writer: &mut writer });
    std::mem::swap(&mut s.corners, &mut boundary.corners);
    boundary.mark(&s.by_rules);
    (s.boundary, s.special) = (boundary, special);
}
