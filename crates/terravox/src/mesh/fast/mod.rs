//! The fast twin: finds faces and corners by masks of sign rows, numbers vertices by
//! counting bits, places them eight at a time.
//!
//! What is out of the ordinary (corners with several sheets, cells one cell thick,
//! water beside ground) goes through the rules of [`vertex`](super::vertex) one by one.

mod planes;
mod quads;
mod rows;
mod simd;
mod vertices;

use std::array;

use rustc_hash::FxHashMap;

use crate::voxel::{AIR, DenseBox, Kind, MaterialTable, Shape, VoxelPos, WATER};

use super::PAD;
use super::blend::blend;
use super::cells::{Cells, LiquidCells, SolidCells};
use super::corner::{CORNERS, Corner, NO_SHEET};
use super::place::{firmness, rubble};
use super::surface::{BlockMesh, Surface, VertexKey};
use super::vertex::{DIRECTIONS, SplitEdges, Writer};
use planes::{Planes, Source};
use quads::{SpecialFace, WriteQuads};
use rows::{Bits, Class, ClassRows, Faces, Find, Grid, Ranked, any, for_bits, or, pair, row};
#[cfg(target_arch = "x86_64")]
use simd::{Avx2, Sse2};
use simd::{Job, Machine, Plain};
use vertices::{Batch, PlaceBatches, Placed8, Shapes};

/// Which code runs.
#[derive(Clone, Copy, Debug)]
enum Path {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Sse2,
    #[cfg(target_arch = "x86_64")]
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
    /// Inside cells around corners.
    around: Ranked,
    planes: Planes,
    positions: Vec<[f32; 4]>,
    quads: Vec<[u32; 4]>,
    special_faces: Vec<SpecialFace>,
    /// Corners to be placed by the rules: corner row and bit.
    by_rules: Vec<[u32; 2]>,
    /// What the last table says.
    known: Known,
    /// Copies in which solid cells that hold water are water.
    wet_materials: Vec<u8>,
    wet_occupancies: Vec<u8>,
}

/// What a material table says, looked up once.
#[derive(Debug)]
struct Known {
    kinds: [Kind; 256],
    shapes: [Shape; 256],
    /// Whether ids 0 and 1 are air and liquid and all others solid.
    usual: bool,
    /// The shape of all solids, and of all liquids, if they do not differ.
    only: [Option<Shape>; 2],
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
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            return Fast { path: Path::Avx2(avx2), scratch: Scratch::default() };
        }
        Fast::portable()
    }

    /// With the instructions that all machines of this architecture have.
    pub(super) fn portable() -> Fast {
        #[cfg(target_arch = "x86_64")]
        let path = Path::Sse2;
        #[cfg(not(target_arch = "x86_64"))]
        let path = Path::Plain;
        Fast { path, scratch: Scratch::default() }
    }

    /// Without vector instructions of our own.
    pub(super) fn plain() -> Fast {
        Fast { path: Path::Plain, scratch: Scratch::default() }
    }

    /// Meshes a padded box into a cleared mesh.
    pub(super) fn mesh(
        &mut self,
        cells: &DenseBox,
        table: &MaterialTable,
        keyed: bool,
        out: &mut BlockMesh,
    ) {
        let job = Block { cells, table, keyed, scratch: &mut self.scratch, out };
        match self.path {
            Path::Plain => Plain.run(job),
            #[cfg(target_arch = "x86_64")]
            Path::Sse2 => Sse2.run(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.run(job),
        }
    }
}

/// A block to be meshed.
struct Block<'a> {
    cells: &'a DenseBox,
    table: &'a MaterialTable,
    keyed: bool,
    scratch: &'a mut Scratch,
    out: &'a mut BlockMesh,
}

/// Which kinds of cell a box has.
#[derive(Clone, Copy, Default)]
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
    fn run_rows<M: Machine, const W: usize>(self, m: M) {
        let Block { cells, table, keyed, scratch, out } = self;
        scratch.known.update(table);
        let usual = scratch.known.usual;
        let materials = cells.materials();
        let present = if usual { survey_usual(m, materials) } else { survey_any(table, materials) };
        let origin = out.block.min;
        if present.solid && (present.air || present.liquid) {
            let solid = table.kinds().map(|kind| kind == Kind::Solid);
            let rules = SolidCells::new(cells, table);
            let input = Input {
                cells: &rules,
                materials,
                occupancies: cells.occupancies(),
                inside: if usual { Class::AtLeast(WATER + 1) } else { Class::Table(&solid) },
                outside: None,
            };
            let writer = Writer { cells: &rules, table, origin, keyed, out: &mut out.solid };
            surface::<M, _, W>(m, scratch, &input, writer);
        }
        let wet = present.liquid || !cells.water().is_empty();
        if !(wet && present.air) {
            return;
        }
        let rules = LiquidCells::new(cells, table);
        let writer = Writer { cells: &rules, table, origin, keyed, out: &mut out.liquid };
        if !cells.water().is_empty() && table.kind(WATER) != Kind::Liquid {
            super::naive::surface(super::edges(out.block), writer);
            return;
        }
        let (mut wet_materials, mut wet_occupancies) = (
            std::mem::take(&mut scratch.wet_materials),
            std::mem::take(&mut scratch.wet_occupancies),
        );
        let (materials, occupancies) = if cells.water().is_empty() {
            (materials, cells.occupancies())
        } else {
            soak(cells, table, &mut wet_materials, &mut wet_occupancies);
            (wet_materials.as_slice(), wet_occupancies.as_slice())
        };
        let liquid = table.kinds().map(|kind| kind == Kind::Liquid);
        let input = Input {
            cells: &rules,
            materials,
            occupancies,
            inside: if usual { Class::Is(WATER) } else { Class::Table(&liquid) },
            outside: Some(Class::Is(AIR)),
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
    m.run(Find::<W> {
        grid: &grid,
        inside: &s.inside,
        outside,
        faces: &mut s.faces,
        corners: &mut s.corners,
        around: &mut s.around,
    });
    if s.faces.rows.is_empty() {
        return;
    }
    let source = Source {
        grid: &grid,
        materials,
        occupancies: input.occupancies,
        class,
        cells: input.cells,
        inside: &s.inside,
        outside,
        wanted: &s.around,
    };
    s.planes.compute::<M, C, W>(m, &source);
    m.run(PlaceVertices::<C, W> { s, grid: &grid, input, writer: &mut writer });
    let special = place_by_rules::<C, W>(s, &grid, &mut writer);
    m.run(WriteQuads::<W> {
        grid: &grid,
        faces: &s.faces,
        corners: &s.corners,
        special: &s.special,
        materials,
        positions: &s.positions,
        quads: &mut s.quads,
        indices: &mut writer.out.indices,
        quad_materials: &mut writer.out.quad_materials,
        special_faces: &mut s.special_faces,
    });
    if !s.special_faces.is_empty() {
        special_quads::<C, W>(s, &grid, &special, &mut writer);
    }
}

/// [`Corner::special`] by inside octants, where all others are outside.
static SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut inside = 0;
    while inside < 256 {
        special[inside] = CORNERS[inside].special();
        inside += 1;
    }
    special
};

/// All bits of the bytes of the octants.
static BYTES: [u64; 256] = {
    let mut bytes = [0; 256];
    let mut octants = 0;
    while octants < 256 {
        let mut octant = 0;
        while octant < 8 {
            if octants >> octant & 1 == 1 {
                bytes[octants] |= 255 << (8 * octant);
            }
            octant += 1;
        }
        octants += 1;
    }
    bytes
};

/// The shape of all materials of a kind, if they do not differ.
fn only_shape(table: &MaterialTable, kind: Kind) -> Option<Shape> {
    let mut shapes = (0..=255).filter(|&id| table.kind(id) == kind).map(|id| table.shape(id));
    let first = shapes.next()?;
    shapes.all(|shape| shape == first).then_some(first)
}

/// Sets what a shape asks of a lane.
#[inline(always)]
fn set_shape(shapes: &mut Shapes, lane: usize, shape: Shape, corner: VoxelPos) {
    let firmness = firmness(shape);
    shapes.softness_third[lane] = firmness.softness_third.unwrap_or(0.0);
    shapes.smooth[lane] = u32::from(firmness.softness_third.is_none());
    shapes.ridge[lane] = firmness.ridge;
    shapes.blocky[lane] = u32::from(shape == Shape::Blocky);
    let push = if shape == Shape::Rubble { rubble(corner.to_array()) } else { [0.0; 3] };
    for axis in 0..3 {
        shapes.push[axis][lane] = push[axis];
    }
}

/// Batches that are placed at a time.
const BATCHES: usize = 4;

/// Places all vertices of first sheets as if no corner were special, and lists the
/// corners that are, or that have cells which are neither inside nor outside.
struct PlaceVertices<'a, 'b, C, const W: usize> {
    s: &'a mut Scratch,
    grid: &'a Grid,
    input: &'a Input<'a, C>,
    writer: &'a mut Writer<'b, C>,
}

/// What the corners of a row look up: the four cell rows around it.
struct Around<const W: usize> {
    /// Numbers of the rows.
    rows: [usize; 4],
    inside: [Bits<W>; 4],
    /// Inside or outside.
    filled: [Bits<W>; 4],
    thin: [Bits<W>; 4],
    any_thin: bool,
}

impl<const W: usize> Around<W> {
    #[inline(always)]
    fn new(s: &Scratch, first: usize, step: usize, liquid: bool) -> Around<W> {
        let mut around = Around {
            rows: [first, first + 1, first + step, first + step + 1],
            inside: [[0; W]; 4],
            filled: [[!0; W]; 4],
            thin: [[0; W]; 4],
            any_thin: false,
        };
        for j in 0..4 {
            let r = around.rows[j];
            around.inside[j] = row(&s.inside, r);
            if liquid {
                around.filled[j] = or(around.inside[j], row(&s.outside, r));
            }
            if !s.planes.thin.is_empty() {
                around.thin[j] = row(&s.planes.thin, r);
                around.any_thin |= any(around.thin[j]);
            }
        }
        around
    }
}

impl<C: Cells, const W: usize> Job for PlaceVertices<'_, '_, C, W> {
    #[inline(always)]
    fn run<M: Machine>(self, m: M) {
        let PlaceVertices { s, grid, input, writer } = self;
        let [sx, _, sz] = grid.size;
        let [_, ny, nz] = grid.own;
        let liquid = input.outside.is_some();
        let origin = writer.origin;
        let only = s.known.only[usize::from(liquid)];
        let count = s.corners.count;
        let out = &mut *writer.out;
        let padded = count.next_multiple_of(8);
        out.positions.resize(padded, [0.0; 3]);
        out.normals.resize(padded, [0.0; 3]);
        out.materials.resize(count, [0; 4]);
        out.weights.resize(count, [255, 0, 0, 0]);
        s.positions.resize(padded, [0.0; 4]);
        s.special.clear();
        s.by_rules.clear();
        let firmness = match only {
            None | Some(Shape::Rubble | Shape::Blocky) => None,
            Some(shape) => Some(firmness(shape)),
        };
        let mut batches = [Batch::EMPTY; BATCHES];
        let mut placed: [Placed8; BATCHES] = [[[[0.0; 4]; 8]; 2]; BATCHES];
        let mut number = 0;
        for y in 0..=ny {
            for z in 0..=nz {
                let c = y * (nz + 1) + z;
                let active: Bits<W> = row(&s.corners.rows, c);
                if !any(active) {
                    continue;
                }
                let around = Around::<W>::new(s, (y + 1) * sz + z + 1, sz, liquid);
                for k in 0..W {
                    let mut left = active[k];
                    let (mut words, mut ranks) = ([0; 4], [0; 4]);
                    for j in 0..4 {
                        words[j] = s.around.rows[W * around.rows[j] + k];
                        ranks[j] = s.around.ranks[W * around.rows[j] + k];
                    }
                    while left != 0 {
                        let b = left.trailing_zeros() as usize;
                        left &= left - 1;
                        let bit = 64 * k + b;
                        let lane = number % 8;
                        let batch = &mut batches[number / 8 % BATCHES];
                        let below = (1u64 << b) - 1;
                        let (mut octants, mut bytes) = (0, 0);
                        for j in 0..4 {
                            let two = pair(&around.inside[j], k, b);
                            octants |= two << (2 * j);
                            let first = ranks[j] + (words[j] & below).count_ones();
                            batch.planes[j][lane] = first + (two & 1);
                            let i = around.rows[j] * sx + bit;
                            let pair = &input.materials[i..i + 2];
                            let pair = u16::from_le_bytes([pair[0], pair[1]]);
                            bytes |= u64::from(pair) << (16 * j);
                        }
                        batch.inside[lane] = octants;
                        batch.corner[0][lane] = (bit - 1) as f32;
                        batch.corner[1][lane] = y as f32;
                        batch.corner[2][lane] = z as f32;
                        batch.thin[lane] = 0;
                        if around.any_thin {
                            thin_planes(batch, lane, &around, k, b, &mut s.planes.planes);
                        }

                        let mut material = (bytes >> (8 * octants.trailing_zeros())) as u8;
                        let same = u64::from(material) * 0x0101_0101_0101_0101;
                        out.materials[number][0] = material;
                        if (bytes ^ same) & BYTES[octants as usize & 255] != 0 {
                            let blended = blend_octants(bytes, octants);
                            (out.materials[number], out.weights[number]) = blended;
                            material = blended.0[0];
                        }
                        if firmness.is_none() {
                            let at = VoxelPos::new(bit as i32 - 1, y as i32, z as i32);
                            let shape = writer.table.shape(material);
                            set_shape(&mut batch.shapes, lane, shape, origin + at);
                        }

                        let mut filled = 255;
                        if liquid {
                            filled = 0;
                            for j in 0..4 {
                                filled |= pair(&around.filled[j], k, b) << (2 * j);
                            }
                        }
                        if SPECIAL[octants as usize & 255] || filled != 255 {
                            s.by_rules.push([c as u32, bit as u32]);
                        }

                        number += 1;
                        if number % (8 * BATCHES) == 0 {
                            let (batches, planes) = (&batches, &s.planes.planes);
                            m.run(PlaceBatches { batches, planes, firmness, out: &mut placed });
                            for (i, placed) in placed.iter().enumerate() {
                                put8(placed, number - 8 * (BATCHES - i), out, &mut s.positions);
                            }
                        }
                    }
                }
            }
        }
        let first = number - number % (8 * BATCHES);
        let batches = &batches[..(number - first).div_ceil(8)];
        m.run(PlaceBatches { batches, planes: &s.planes.planes, firmness, out: &mut placed });
        for (i, placed) in placed[..batches.len()].iter().enumerate() {
            put8(placed, first + 8 * i, out, &mut s.positions);
        }
        out.positions.truncate(count);
        out.normals.truncate(count);
    }
}

/// Lets a lane use, of its thin cells, the planes for its corner: copies of pairs.
#[inline(never)]
fn thin_planes<const W: usize>(
    batch: &mut Batch,
    lane: usize,
    around: &Around<W>,
    k: usize,
    b: usize,
    planes: &mut Vec<[f32; 4]>,
) {
    for j in 0..4 {
        let two = pair(&around.thin[j], k, b);
        if two == 0 {
            continue;
        }
        let at = batch.planes[j][lane] as usize;
        batch.planes[j][lane] = planes.len() as u32;
        batch.thin[lane] = 1;
        for side in 0..2 {
            let plane = planes[at + side];
            let first = plane[3].to_bits() as usize;
            let thin = two >> side & 1 == 1;
            planes.push(if thin { planes[first + (7 ^ (2 * j + side))] } else { plane });
        }
    }
}

/// Copies eight placed vertices to their place.
#[inline(always)]
fn put8(placed: &Placed8, at: usize, out: &mut Surface, positions: &mut [[f32; 4]]) {
    if let Some(padded) = positions[at..].first_chunk_mut() {
        *padded = placed[0];
    }
    let positions = &mut out.positions[at..at + 8];
    for lane in 0..8 {
        positions[lane] = [placed[0][lane][0], placed[0][lane][1], placed[0][lane][2]];
    }
    let normals = &mut out.normals[at..at + 8];
    for lane in 0..8 {
        normals[lane] = [placed[1][lane][0], placed[1][lane][1], placed[1][lane][2]];
    }
}

/// Blends the bytes of some octants.
fn blend_octants(bytes: u64, octants: u32) -> ([u8; 4], [u8; 4]) {
    let mut ids = [0; 8];
    let mut count = 0;
    for (octant, id) in bytes.to_le_bytes().into_iter().enumerate() {
        if octants >> octant & 1 == 1 {
            ids[count] = id;
            count += 1;
        }
    }
    blend(&ids[..count])
}

/// What a special corner's sheets are numbered.
struct SpecialCorner {
    /// The lowest used sheet, which has the corner's own number.
    first: u8,
    /// Vertices of the other used sheets.
    others: [u32; 4],
}

type SpecialCorners = FxHashMap<[i32; 3], SpecialCorner>;

/// Places by the rules the vertices of the listed corners: those of first sheets in
/// their place, all others behind. Writes the keys.
fn place_by_rules<C: Cells, const W: usize>(
    s: &mut Scratch,
    grid: &Grid,
    writer: &mut Writer<'_, C>,
) -> SpecialCorners {
    let mut special = SpecialCorners::default();
    if writer.keyed {
        plain_keys::<W>(&s.corners.rows, grid, writer.origin, &mut writer.out.keys);
    }
    let corner_at = |&[c, bit]: &[u32; 2]| {
        let step = grid.own[2] + 1;
        [bit as i32 - 1, (c as usize / step) as i32, (c as usize % step) as i32]
    };
    for listed in &s.by_rules {
        let at = corner_at(listed);
        let corner = writer.corner(at);
        let used = used_sheets(grid, writer, at, &corner);
        let first = used.trailing_zeros() as u8;
        writer.push_vertex(at, &corner, first);
        let bit = listed[1] as usize;
        let number = s.corners.at::<W>(listed[0] as usize, bit / 64, bit % 64) as usize;
        let out = &mut *writer.out;
        out.positions.swap_remove(number);
        out.normals.swap_remove(number);
        out.materials.swap_remove(number);
        out.weights.swap_remove(number);
        if writer.keyed {
            out.keys.swap_remove(number);
        }
        let [x, y, z] = out.positions[number];
        s.positions[number] = [x, y, z, 0.0];
        if corner.special() {
            special.insert(at, SpecialCorner { first, others: [u32::MAX; 4] });
            s.special.resize(s.corners.rows.len(), 0);
            s.special[W * listed[0] as usize + bit / 64] |= 1 << (bit % 64);
        }
    }
    for at in s.by_rules.iter().map(corner_at) {
        let Some(found) = special.get_mut(&at) else { continue };
        let corner = writer.corner(at);
        let used = used_sheets(grid, writer, at, &corner);
        for sheet in (found.first + 1..corner.count).filter(|sheet| used >> sheet & 1 == 1) {
            found.others[usize::from(sheet)] = writer.out.positions.len() as u32;
            writer.push_vertex(at, &corner, sheet);
        }
    }
    special
}

/// Keys of all first sheets, as if no corner were special.
fn plain_keys<const W: usize>(
    corners: &[u64],
    grid: &Grid,
    origin: VoxelPos,
    keys: &mut Vec<VertexKey>,
) {
    let [_, ny, nz] = grid.own;
    for (y, z) in (0..=ny).flat_map(|y| (0..=nz).map(move |z| (y, z))) {
        let active: Bits<W> = row(corners, y * (nz + 1) + z);
        for_bits!(active, |bit, _k, _b| {
            let at = VoxelPos::new(bit as i32 - 1, y as i32, z as i32);
            keys.push(VertexKey { corner: origin + at, between: 0, part: 0 });
        });
    }
}

/// The sheets at a corner that have a face of a cell of the block.
fn used_sheets<C: Cells>(grid: &Grid, writer: &Writer<'_, C>, at: [i32; 3], corner: &Corner) -> u8 {
    let mut used = 0;
    for (face, sheet) in corner.face_sheet.into_iter().enumerate() {
        if sheet == NO_SHEET {
            continue;
        }
        let axis = face / 4;
        let sides = [(axis + 1) % 3, (axis + 2) % 3];
        for high in [false, true] {
            let mut cell = at;
            cell[axis] -= i32::from(!high);
            for (side, axis) in sides.into_iter().enumerate() {
                cell[axis] -= i32::from(face >> side & 1 == 0);
            }
            let own = (0..3).all(|a| (0..grid.own[a] as i32).contains(&cell[a]));
            if own && writer.cells.inside(writer.index(cell)) {
                used |= 1 << sheet;
            }
        }
    }
    used
}

/// Writes the faces that touch special corners.
fn special_quads<C: Cells, const W: usize>(
    s: &Scratch,
    grid: &Grid,
    special: &SpecialCorners,
    writer: &mut Writer<'_, C>,
) {
    let [sx, _, sz] = grid.size;
    let vertex = |at: [i32; 3], sheet: u8| match special.get(&at) {
        Some(corner) if corner.first != sheet => corner.others[usize::from(sheet)],
        _ => {
            let c = at[1] as usize * (grid.own[2] + 1) + at[2] as usize;
            let bit = at[0] as usize + 1;
            s.corners.at::<W>(c, bit / 64, bit % 64)
        }
    };
    let mut split = SplitEdges::default();
    for &(i, direction) in &s.special_faces {
        let i = i as usize;
        let padded = [i % sx, i / (sx * sz), i / sx % sz];
        let cell = array::from_fn(|axis| padded[axis] as i32 - PAD);
        writer.push_special(cell, DIRECTIONS[usize::from(direction)], &mut split, vertex);
    }
}
