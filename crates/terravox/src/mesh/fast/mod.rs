//! The fast twin: finds faces and corners by masks of sign rows, numbers vertices by
//! counting bits, places them eight at a time.
//!
//! What is out of the ordinary (corners with several sheets, cells one cell thick,
//! water beside ground) goes through the rules of [`vertex`](super::vertex) one by one.

mod active;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
#[path = "avx2/simd.rs"]
mod avx2;
mod corners;
mod machine;
mod plain;
mod planes;
mod quads;
mod rows;
mod special;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
#[path = "sse2/simd.rs"]
mod sse2;
mod vertices;
mod walk;

use crate::voxel::{AIR, DenseBox, Kind, MaterialTable, SurfaceShape, WATER};

use super::cells::{Cells, LiquidCells, SoakedCells, SolidCells};
use super::mixed::Features;
use super::surface::BlockMesh;
use super::vertex::Writer;
pub(crate) use active::ActiveCorner;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
use avx2::Avx2;
pub(super) use corners::{PlacedCorners, Standing};
use machine::{Job, Machine};
use plain::Plain;
use planes::{Planes, Source};
use quads::SpecialFace;
use quads::WriteQuads;
use rows::{Class, ClassRows, Faces, Find, Grid, Ranked};
use special::{SpecialCorners, number, place_by_rules, special_quads};
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
use sse2::Sse2;
use walk::PlaceVertices;

/// Which code runs.
#[derive(Clone, Copy, Debug)]
enum Path {
    Plain,
    #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
    Sse2,
    #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
    Avx2(Avx2),
}

/// Memory and choice of code of a mesher.
#[derive(Debug)]
pub(super) struct Fast {
    path: Path,
    scratch: Scratch,
}

/// Reused between blocks.
#[derive(Debug, Default)]
struct Scratch {
    inside: Vec<u64>,
    outside: Vec<u64>,
    faces: Faces,
    /// Corners that own faces touch.
    corners: Ranked,
    /// Corners that are special, if there are any.
    special: Vec<u64>,
    /// Vertices on features of the hull whose faces are left out.
    hull: PlacedCorners,
    /// How those are numbered.
    special_corners: SpecialCorners,
    /// Inside cells around corners.
    around: Ranked,
    planes: Planes,
    quads: Vec<[u32; 4]>,
    special_faces: Vec<SpecialFace>,
    /// Corners to be placed by the rules: corner row and bit.
    by_rules: Vec<[u32; 2]>,
    /// What the last table says.
    known: Known,
    /// What the last box has.
    present: Present,
    /// Copies in which solid cells that hold water are water.
    wet_materials: Vec<u8>,
    wet_occupancies: Vec<u8>,
}

/// What a material table says, looked up once.
#[derive(Debug)]
struct Known {
    kinds: [Kind; 256],
    shapes: [SurfaceShape; 256],
    solid: [bool; 256],
    liquid: [bool; 256],
    /// Whether ids 0 and 1 are air and liquid and all others solid.
    usual: bool,
    /// The shape of all solids, and of all liquids, if they do not differ.
    only: [Option<SurfaceShape>; 2],
}

impl Default for Known {
    fn default() -> Known {
        Known::of(&MaterialTable::default())
    }
}

impl Known {
    fn of(table: &MaterialTable) -> Known {
        let others = &table.kinds()[2..];
        let all_solid = others.iter().all(|&kind| kind == Kind::Solid);
        Known {
            kinds: *table.kinds(),
            shapes: *table.shapes(),
            solid: table.kinds().map(|kind| kind == Kind::Solid),
            liquid: table.kinds().map(|kind| kind == Kind::Liquid),
            usual: table.kind(WATER) == Kind::Liquid && all_solid,
            only: [only_shape(table, Kind::Solid), only_shape(table, Kind::Liquid)],
        }
    }

    /// Looks the table up again if it is another one.
    fn update(&mut self, table: &MaterialTable) {
        let mut differs = false;
        for id in 0..256 {
            differs |= (self.kinds[id] as u8 != table.kinds()[id] as u8)
                | (self.shapes[id] as u8 != table.shapes()[id] as u8);
        }
        if differs {
            *self = Known::of(table);
        }
    }
}

impl Fast {
    /// With the widest instructions of this machine.
    pub(super) fn widest() -> Fast {
        #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
        if let Some(avx2) = Avx2::detect() {
            return Fast { path: Path::Avx2(avx2), scratch: Scratch::default() };
        }
        Fast::portable()
    }

    /// With the instructions that all machines of this architecture have.
    pub(super) fn portable() -> Fast {
        #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
        let path = Path::Sse2;
        #[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
        let path = Path::Plain;
        Fast { path, scratch: Scratch::default() }
    }

    /// Without vector instructions of our own.
    pub(super) fn plain() -> Fast {
        Fast { path: Path::Plain, scratch: Scratch::default() }
    }

    /// Meshes a padded box over what a mesh held: buffers are overwritten rather than
    /// cleared, which would fill them twice.
    pub(super) fn mesh(
        &mut self,
        cells: &DenseBox,
        table: &MaterialTable,
        keyed: bool,
        out: &mut BlockMesh,
    ) {
        self.scratch.hull.features = Features::NONE;
        self.run(cells, table, keyed, (Parts::Both, Features::NONE), out);
    }

    /// Meshes one of the two surfaces but for the faces that touch a corner on one of
    /// the features of the hull; says of the corners on some of those, `levels`, what would
    /// stand there ([`Fast::standing`]). Returns whether the box has cells inside that surface.
    pub(super) fn mesh_without(
        &mut self,
        [features, levels]: [Features; 2],
        part: Part,
        (cells, table): (&DenseBox, &MaterialTable),
        keyed: bool,
        out: &mut BlockMesh,
    ) -> bool {
        self.scratch.hull.reset(cells.region().size(), levels);
        self.scratch.corners.rows.clear();
        self.scratch.special_corners.clear();
        self.scratch.special.clear();
        self.scratch.faces.left_out.clear();
        self.run(cells, table, keyed, (Parts::One(part), features), out);
        let present = self.scratch.present;
        match part {
            Part::Solid => present.solid,
            Part::Liquid => present.liquid || !cells.water().is_empty(),
        }
    }

    /// Places the vertices that one of the two surfaces has at the corners on `features` of a
    /// padded box, and nothing else; `scratch` is meshed into.
    pub(super) fn place_corners(
        &mut self,
        features: Features,
        part: Part,
        (cells, table): (&DenseBox, &MaterialTable),
        scratch: &mut BlockMesh,
        out: &mut PlacedCorners,
    ) {
        let asked = [Features::ALL, features];
        self.mesh_without(asked, part, (cells, table), false, scratch);
        std::mem::swap(&mut self.scratch.hull, out);
    }

    /// What stands at a corner on a foreign feature whose faces [`Fast::mesh_without`] left
    /// out, of the levels that it was asked for, if the padding is what is there.
    #[inline]
    pub(super) fn standing(&self, at: [i32; 3]) -> Standing {
        self.scratch.hull.at(at)
    }

    /// Places the vertices of the solid surface, makes no face, and calls for every corner
    /// that has one, in the order of the vertices.
    pub(super) fn corners(
        &mut self,
        cells: &DenseBox,
        table: &MaterialTable,
        out: &mut BlockMesh,
        each: impl FnMut(ActiveCorner),
    ) {
        self.scratch.corners.rows.clear();
        self.run(cells, table, false, (Parts::Vertices, Features::NONE), out);
        active::each(&self.scratch, cells, each);
    }

    /// The faces that [`Fast::mesh_without`] left out, of those that there are if the
    /// padding is what is there: index of the padded cell, number of the direction.
    pub(super) fn left_out(&self) -> &[(u32, u8)] {
        &self.scratch.faces.left_out
    }

    /// The vertex that [`Fast::mesh_without`] made at a corner, if it did and the corner is
    /// not special. `size` is that of the padded box.
    #[inline]
    pub(super) fn plain_vertex(&self, size: [usize; 3], at: [i32; 3]) -> Option<u32> {
        let s = &self.scratch;
        if s.corners.rows.is_empty() {
            return None;
        }
        let grid = Grid::new(size);
        let (c, bit) = (at[1] as usize * (grid.own[2] + 1) + at[2] as usize, at[0] as usize + 1);
        let word = if size[0] <= 64 { c } else { 2 * c + bit / 64 };
        let (corners, below) = (s.corners.rows[word], 1 << (bit % 64));
        if corners & below == 0 || s.special.get(word).is_some_and(|special| special & below != 0) {
            return None;
        }
        Some(s.corners.ranks[word] + (corners & (below - 1)).count_ones())
    }

    /// The vertex that [`Fast::mesh_without`] made for a sheet at a corner, if it did.
    /// `size` is that of the padded box.
    #[inline]
    pub(super) fn vertex(&self, size: [usize; 3], at: [i32; 3], sheet: u8) -> Option<u32> {
        let s = &self.scratch;
        if s.corners.rows.is_empty() {
            return None;
        }
        let grid = Grid::new(size);
        let words = if size[0] <= 64 { 1 } else { 2 };
        let (c, bit) = (at[1] as usize * (grid.own[2] + 1) + at[2] as usize, at[0] as usize + 1);
        if s.corners.rows[words * c + bit / 64] >> (bit % 64) & 1 == 0 {
            return None;
        }
        let found = match words {
            1 => number::<1>(s, &grid, at, sheet),
            _ => number::<2>(s, &grid, at, sheet),
        };
        (found != u32::MAX).then_some(found)
    }

    fn run(
        &mut self,
        cells: &DenseBox,
        table: &MaterialTable,
        keyed: bool,
        (parts, left_out): (Parts, Features),
        out: &mut BlockMesh,
    ) {
        let job = Block { cells, table, keyed, parts, left_out, scratch: &mut self.scratch, out };
        match self.path {
            Path::Plain => Plain.run(job),
            #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
            Path::Sse2 => Sse2.run(job),
            #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
            Path::Avx2(machine) => machine.run(job),
        }
    }
}

/// One of a block's two surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Solid,
    Liquid,
}

/// Which surfaces are meshed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    Both,
    One(Part),
    /// The vertices of the solid one, without faces.
    Vertices,
}

/// A block to be meshed.
struct Block<'a> {
    cells: &'a DenseBox,
    table: &'a MaterialTable,
    keyed: bool,
    parts: Parts,
    /// Features of the hull whose faces are left out.
    left_out: Features,
    scratch: &'a mut Scratch,
    out: &'a mut BlockMesh,
}

/// Which kinds of cell a box has.
#[derive(Clone, Copy, Debug, Default)]
struct Present {
    air: bool,
    liquid: bool,
    solid: bool,
}

#[inline(always)]
fn survey_usual<M: Machine>(m: M, materials: &[u8]) -> Present {
    let (mut air, mut liquid, mut neither) = (0, 0, 0);
    let (chunks, rest) = materials.as_chunks::<32>();
    for many in chunks.chunks(64) {
        for chunk in many {
            let (a, b) = (m.equal(chunk, AIR), m.equal(chunk, WATER));
            air |= a;
            liquid |= b;
            neither |= !(a | b);
        }
        if air != 0 && liquid != 0 && neither != 0 {
            break;
        }
    }
    Present {
        air: air != 0 || rest.contains(&AIR),
        liquid: liquid != 0 || rest.contains(&WATER),
        solid: neither != 0 || rest.iter().any(|&material| material > WATER),
    }
}

fn survey_any(table: &MaterialTable, materials: &[u8]) -> Present {
    let mut seen = [false; 256];
    for &material in materials {
        seen[usize::from(material)] = true;
    }
    let has = |kind| (0..256).any(|id| seen[id] && table.kinds()[id] == kind);
    Present { air: has(Kind::Air), liquid: has(Kind::Liquid), solid: has(Kind::Solid) }
}

impl Job for Block<'_> {
    #[inline(always)]
    fn run<M: Machine>(self, m: M) {
        if self.cells.region().size()[0] <= 64 {
            self.run_rows::<M, 1>(m);
        } else {
            self.run_rows::<M, 2>(m);
        }
    }
}

impl Block<'_> {
    #[inline(always)]
    fn run_rows<M: Machine, const W: usize>(mut self, m: M) {
        self.scratch.known.update(self.table);
        let materials = self.cells.materials();
        let present = match self.scratch.known.usual {
            true => survey_usual(m, materials),
            false => survey_any(self.table, materials),
        };
        self.scratch.present = present;
        if self.parts != Parts::One(Part::Liquid) {
            if present.solid && (present.air || present.liquid) {
                self.solid::<M, W>(m);
            } else {
                self.out.solid.clear();
            }
        }
        if matches!(self.parts, Parts::Both | Parts::One(Part::Liquid)) {
            let wet = present.liquid || !self.cells.water().is_empty();
            if wet && present.air {
                self.liquid::<M, W>(m);
            } else {
                self.out.liquid.clear();
            }
        }
    }

    #[inline(always)]
    fn solid<M: Machine, const W: usize>(&mut self, m: M) {
        let Block { cells, table, keyed, left_out, .. } = *self;
        let usual = self.scratch.known.usual;
        let solid = if usual { [false; 256] } else { self.scratch.known.solid };
        let rules = SolidCells::new(cells, table);
        let input = Input {
            cells: &rules,
            materials: cells.materials(),
            occupancies: cells.occupancies(),
            inside: if usual { Class::AtLeast(WATER + 1) } else { Class::Table(&solid) },
            outside: None,
            left_out,
            faces: self.parts != Parts::Vertices,
        };
        let origin = self.out.block.min;
        let writer = Writer { cells: &rules, table, origin, keyed, out: &mut self.out.solid };
        surface::<M, _, W>(m, self.scratch, &input, writer);
    }

    #[inline(always)]
    fn liquid<M: Machine, const W: usize>(&mut self, m: M) {
        let Block { cells, table, keyed, left_out, .. } = *self;
        let Block { scratch, out, .. } = self;
        let (origin, usual) = (out.block.min, scratch.known.usual);
        if !cells.water().is_empty() && table.kind(WATER) != Kind::Liquid {
            let rules = LiquidCells::new(cells, table);
            let writer = Writer { cells: &rules, table, origin, keyed, out: &mut out.liquid };
            writer.out.clear();
            let list = &mut scratch.faces.left_out;
            super::naive::surface(super::edges(out.block), writer, left_out, list);
            scratch.hull.features = Features::NONE;
            return;
        }
        let (mut wet_materials, mut wet_occupancies) = (
            std::mem::take(&mut scratch.wet_materials),
            std::mem::take(&mut scratch.wet_occupancies),
        );
        let (materials, occupancies) = if cells.water().is_empty() {
            (cells.materials(), cells.occupancies())
        } else {
            soak(cells, table, &mut wet_materials, &mut wet_occupancies);
            (wet_materials.as_slice(), wet_occupancies.as_slice())
        };
        let size = cells.region().size();
        let rules = SoakedCells { materials, occupancies, kinds: table.kinds(), size, cells };
        let writer = Writer { cells: &rules, table, origin, keyed, out: &mut out.liquid };
        let liquid = if usual { [false; 256] } else { scratch.known.liquid };
        let input = Input {
            cells: &rules,
            materials,
            occupancies,
            inside: if usual { Class::Is(WATER) } else { Class::Table(&liquid) },
            outside: Some(Class::Is(AIR)),
            left_out,
            faces: true,
        };
        surface::<M, _, W>(m, scratch, &input, writer);
        (scratch.wet_materials, scratch.wet_occupancies) = (wet_materials, wet_occupancies);
    }
}

/// Copies the cells with those solid ones that hold water turned into water.
fn soak(
    cells: &DenseBox,
    table: &MaterialTable,
    materials: &mut Vec<u8>,
    occupancies: &mut Vec<u8>,
) {
    materials.clear();
    materials.extend_from_slice(cells.materials());
    occupancies.clear();
    occupancies.extend_from_slice(cells.occupancies());
    for &(i, level) in cells.water() {
        let i = i as usize;
        if table.kind(materials[i]) == Kind::Solid {
            (materials[i], occupancies[i]) = (WATER, level);
        }
    }
}

/// One surface's cells.
struct Input<'a, C> {
    cells: &'a C,
    materials: &'a [u8],
    occupancies: &'a [u8],
    inside: Class<'a>,
    /// None: all that is not inside.
    outside: Option<Class<'a>>,
    /// Features of the hull whose faces are left out.
    left_out: Features,
    /// Whether faces are wanted, not vertices alone.
    faces: bool,
}

/// Meshes one surface.
fn surface<M: Machine, C: Cells, const W: usize>(
    m: M,
    s: &mut Scratch,
    input: &Input<'_, C>,
    mut writer: Writer<'_, C>,
) {
    let grid = Grid::new(input.cells.size());
    let Input { materials, inside: class, .. } = *input;
    m.run(ClassRows::<W> { grid: &grid, materials, class, rows: &mut s.inside });
    if let Some(class) = input.outside {
        m.run(ClassRows::<W> { grid: &grid, materials, class, rows: &mut s.outside });
    }
    let outside = input.outside.map(|_| s.outside.as_slice());
    let grid = &grid;
    m.run(Find::<W> {
        grid,
        inside: &s.inside,
        outside,
        left_out: input.left_out,
        faces: &mut s.faces,
        corners: &mut s.corners,
        hull: &mut s.hull,
        around: &mut s.around,
    });
    if s.faces.rows.is_empty() && s.hull.is_empty() {
        writer.out.clear();
        return;
    }
    let source = Source {
        grid,
        materials,
        occupancies: input.occupancies,
        class,
        cells: input.cells,
        inside: &s.inside,
        outside,
        wanted: &s.around,
    };
    writer.out.keys.clear();
    writer.out.targets.clear();
    writer.out.inner.clear();
    writer.out.loose_materials.clear();
    s.planes.compute::<M, C, W>(m, &source);
    m.run(PlaceVertices::<C, W> { s, grid, input, writer: &mut writer });
    place_by_rules::<C, W>(s, grid, &mut writer);
    if !input.faces {
        return;
    }
    writer.out.positions.push([0.0; 3]);
    m.run(WriteQuads::<W> {
        grid,
        faces: &s.faces,
        corners: &s.corners,
        special: &s.special,
        materials,
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
        special_quads::<C, W>(s, grid, &mut writer);
    }
    if !s.hull.is_empty() {
        place_hull::<M, C, W>(m, s, grid, input, writer);
    }
}

/// Places the vertices on features of the hull whose faces are left out.
fn place_hull<M: Machine, C: Cells, const W: usize>(
    m: M,
    s: &mut Scratch,
    grid: &Grid,
    input: &Input<'_, C>,
    writer: Writer<'_, C>,
) {
    let mut hull = std::mem::take(&mut s.hull);
    let special = std::mem::take(&mut s.special);
    std::mem::swap(&mut s.corners, &mut hull.corners);
    let mut writer = Writer { out: &mut hull.surface, keyed: false, ..writer };
    m.run(PlaceVertices::<C, W> { s, grid, input, writer: &mut writer });
    std::mem::swap(&mut s.corners, &mut hull.corners);
    hull.mark(&s.by_rules);
    (s.hull, s.special) = (hull, special);
}

/// The shape of all materials of a kind, if they do not differ.
fn only_shape(table: &MaterialTable, kind: Kind) -> Option<SurfaceShape> {
    let mut shapes = (0..=255).filter(|&id| table.kind(id) == kind).map(|id| table.shape(id));
    let first = shapes.next()?;
    shapes.all(|shape| shape == first).then_some(first)
}
