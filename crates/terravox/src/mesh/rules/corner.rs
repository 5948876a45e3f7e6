//! How the faces around one cell corner connect: the sheets of the surface there.
//!
//! Eight cells (octants) meet at a corner, with twelve possible faces between them
//! and six mesh edges leaving it. A face lies between an inside and an outside
//! octant. Two faces that meet along a mesh edge are connected; where four meet (a
//! checkerboard edge) each inside octant keeps its own two, so that solids touching
//! along an edge stay apart. Each connected set of faces is a sheet and gets one
//! vertex. This is the boundary of a union of boxes, made manifold; compare
//! "Dual Marching Cubes: primal contouring of dual grids" (Nielson 2004) and
//! Wenger's "Isosurfaces" (2013) for the vertex-centred form.
//!
//! Octant `o` lies on the high side of x, z, y where bit 0, 1, 2 of `o` is set.
//! Face `4 * axis + su + 2 * sv` has its normal along `axis` and lies on sides
//! `su`, `sv` of the two next axes. Mesh edge `2 * axis + side`.
//! Offsets are doubled: in half cells from the corner.

/// Maximum number of sheets at a corner.
pub(crate) const MAX_SHEETS: usize = 4;

/// `face_sheet` of an absent face.
pub(crate) const NO_SHEET: u8 = 255;

/// By axis: the bit of an octant's number that is set on the high side.
pub(crate) const SIDE: [u8; 3] = [1, 4, 2];

/// One connected part of the surface at a corner, and what determines its vertex. Offsets are
/// doubled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CornerSheet {
    /// Octants whose planes determine the vertex: all inside ones if this is the only sheet,
    /// else those behind its faces.
    pub planes: u8,
    /// Initial offset of the vertex: the mean of the faces' centres; for an open sheet three
    /// quarters of a cell into the ground, the octants that are neither inside nor outside.
    pub middle: [f32; 3],
    /// Whether the sheet ends here.
    pub is_open: bool,
    /// Sum of the faces' normals.
    pub direction: [f32; 3],
    /// Lower bound of the vertex's offset.
    pub low: [f32; 3],
    /// Upper bound of the vertex's offset.
    pub high: [f32; 3],
}

/// How the faces at a corner connect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CornerSheets {
    /// Inside octants.
    pub inside: u8,
    /// Outside octants.
    pub outside: u8,
    /// Number of sheets.
    pub count: u8,
    /// Sheet of each face, or [`NO_SHEET`].
    pub face_sheet: [u8; 12],
    /// Bit per mesh edge: four faces of one sheet meet there, so that two solids touch along it.
    pub pinched: u8,
}

/// By inside octants: the corner at which all other octants are outside.
pub(crate) static CORNERS: [CornerSheets; 256] = {
    let mut corners = [CornerSheets::new(0, 255); 256];
    let mut inside = 0;
    while inside < 256 {
        corners[inside] = CornerSheets::new(inside as u8, !(inside as u8));
        inside += 1;
    }
    corners
};

/// The sheets of [`CORNERS`]; entries from the corner's `count` on are unused.
pub(crate) static SHEETS: [[CornerSheet; MAX_SHEETS]; 256] = {
    let mut sheets = [[CornerSheet::NONE; MAX_SHEETS]; 256];
    let mut inside = 0;
    while inside < 256 {
        let corner = CornerSheets::new(inside as u8, !(inside as u8));
        let mut sheet = 0;
        while sheet < corner.count && (sheet as usize) < MAX_SHEETS {
            sheets[inside][sheet as usize] = CornerSheet::new(&corner, sheet);
            sheet += 1;
        }
        inside += 1;
    }
    sheets
};

impl CornerSheets {
    /// Connects the faces at a corner with these inside and outside octants; the rest are
    /// neither.
    pub(crate) const fn new(inside: u8, outside: u8) -> CornerSheets {
        let face_sheet = label_faces(inside, outside);
        let mut count = 0;
        while count < 12 && contains(&face_sheet, count) {
            count += 1;
        }
        CornerSheets { inside, outside, count, face_sheet, pinched: pinched_edges(&face_sheet) }
    }

    /// Returns a sheet by its number.
    #[inline]
    pub(crate) fn sheet(&self, sheet: u8) -> CornerSheet {
        if self.inside | self.outside == 255 {
            SHEETS[usize::from(self.inside)][usize::from(sheet)]
        } else {
            CornerSheet::new(self, sheet)
        }
    }

    /// Returns the sheet of the face with its normal along `axis` on the sides of `octant`.
    #[inline]
    pub(crate) const fn sheet_of_face(&self, axis: usize, octant: u8) -> u8 {
        self.face_sheet[face_at(axis, octant) as usize]
    }

    /// Whether four faces of one sheet meet at the mesh edge on a side of an axis.
    #[inline]
    pub(crate) const fn is_pinched(&self, axis: usize, is_high: bool) -> bool {
        self.pinched >> (2 * axis + is_high as usize) & 1 == 1
    }

    /// Whether the corner may need more than one vertex: it has several sheets, or a mesh edge
    /// that may have to be split.
    #[inline]
    pub(crate) const fn is_special(&self) -> bool {
        self.count > 1 || self.pinched != 0
    }
}

impl CornerSheet {
    const NONE: CornerSheet = CornerSheet {
        planes: 0,
        middle: [0.0; 3],
        is_open: false,
        direction: [0.0; 3],
        low: [0.0; 3],
        high: [0.0; 3],
    };

    const fn new(corner: &CornerSheets, sheet: u8) -> CornerSheet {
        let CornerSheets { inside, outside, count, face_sheet, .. } = corner;
        let (inside, outside) = (*inside, *outside);
        let mut of = CornerSheet::NONE;
        let mut behind = 0;
        let mut faces = 0.0;
        let mut face = 0;
        while face < 12 {
            if face_sheet[face as usize] == sheet {
                let (low, high) = face_octants(face);
                let axis = (face / 4) as usize;
                let (inner, up) = if inside >> low & 1 == 1 { (low, 1.0) } else { (high, -1.0) };
                behind |= 1 << inner;
                of.direction[axis] += up;
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                of.middle[u] += if face & 1 == 0 { -1.0 } else { 1.0 };
                of.middle[v] += if face & 2 == 0 { -1.0 } else { 1.0 };
                faces += 1.0;
            }
            face += 1;
        }
        of.planes = if *count == 1 { inside } else { behind };
        of.is_open = is_open(face_sheet, sheet);
        let mut axis = 0;
        while axis < 3 {
            of.middle[axis] /= faces;
            (of.low[axis], of.high[axis]) = offset_bounds(of.planes, SIDE[axis]);
            axis += 1;
        }
        if of.is_open {
            of.middle = toward(!(inside | outside));
            // Into the ground along x and z, while y keeps the bounds of the cells.
            (of.low[0], of.high[0]) = (-1.5, 1.5);
            (of.low[2], of.high[2]) = (-1.5, 1.5);
        }
        of
    }
}

/// Returns the bounds of a vertex along an axis: with cells on one side only, that side's unit
/// cell; on both, three quarters of a cell either way.
const fn offset_bounds(planes: u8, side: u8) -> (f32, f32) {
    let (mut low, mut high) = (false, false);
    let mut octant = 0;
    while octant < 8 {
        if planes >> octant & 1 == 1 {
            if octant & side == 0 { low = true } else { high = true }
        }
        octant += 1;
    }
    match (low, high) {
        (true, false) => (-2.0, 0.0),
        (false, true) => (0.0, 2.0),
        _ => (-1.5, 1.5),
    }
}

/// Returns a doubled offset toward the majority of some octants on each axis: three quarters of
/// a cell along x and z, half a cell along y, 0 where they balance.
pub(crate) const fn toward(octants: u8) -> [f32; 3] {
    let mut sum = [0i32; 3];
    let mut octant = 0u8;
    while octant < 8 {
        if octants >> octant & 1 == 1 {
            let mut axis = 0;
            while axis < 3 {
                sum[axis] += if octant & SIDE[axis] == 0 { -1 } else { 1 };
                axis += 1;
            }
        }
        octant += 1;
    }
    let [x, y, z] = [sum[0].signum() as f32, sum[1].signum() as f32, sum[2].signum() as f32];
    [1.5 * x, y, 1.5 * z]
}

/// Returns the octants on the low and the high side of a face.
const fn face_octants(face: u8) -> (u8, u8) {
    let axis = (face / 4) as usize;
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let mut low = 0;
    if face & 1 != 0 {
        low |= SIDE[u];
    }
    if face & 2 != 0 {
        low |= SIDE[v];
    }
    (low, low | SIDE[axis])
}

/// Returns the number of the face with its normal along `axis` on the sides of `octant`.
const fn face_at(axis: usize, octant: u8) -> u8 {
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let su = (octant & SIDE[u] != 0) as u8;
    let sv = (octant & SIDE[v] != 0) as u8;
    4 * axis as u8 + su + 2 * sv
}

/// Returns the four faces around a mesh edge, in cyclic order.
const fn edge_faces(edge: u8) -> [u8; 4] {
    let axis = (edge / 2) as usize;
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let along = if edge & 1 == 0 { 0 } else { SIDE[axis] };
    // Around the edge lie the octants --, +-, ++, -+ of (u, v); a face between each two.
    [face_at(u, along), face_at(v, along | SIDE[u]), face_at(u, along | SIDE[v]), face_at(v, along)]
}

/// Returns the sheet of each face: faces joined along mesh edges, numbered by lowest face.
const fn label_faces(inside: u8, outside: u8) -> [u8; 12] {
    let mut label = [NO_SHEET; 12];
    let mut face = 0;
    while face < 12 {
        let (low, high) = face_octants(face);
        let up = inside >> low & 1 == 1 && outside >> high & 1 == 1;
        let down = inside >> high & 1 == 1 && outside >> low & 1 == 1;
        if up || down {
            label[face as usize] = face;
        }
        face += 1;
    }
    let mut changed = true;
    while changed {
        changed = false;
        let mut edge = 0;
        while edge < 6 {
            changed |= join_around(&mut label, &edge_faces(edge), inside);
            edge += 1;
        }
    }
    renumber(label)
}

/// Gives faces that are connected across one mesh edge the lower label. Returns whether a label
/// changed.
const fn join_around(label: &mut [u8; 12], faces: &[u8; 4], inside: u8) -> bool {
    let mut changed = false;
    let mut present = 0;
    let mut i = 0;
    while i < 4 {
        present += (label[faces[i] as usize] != NO_SHEET) as u8;
        i += 1;
    }
    if present < 2 {
        return false;
    }
    i = 0;
    while i < 4 {
        let mut j = i + 1;
        while j < 4 {
            let (a, b) = (faces[i] as usize, faces[j] as usize);
            let both = label[a] != NO_SHEET && label[b] != NO_SHEET;
            let same = inner_octant(a as u8, inside) == inner_octant(b as u8, inside);
            if both && (present == 2 || same) {
                let low = if label[a] < label[b] { label[a] } else { label[b] };
                changed |= label[a] != label[b];
                label[a] = low;
                label[b] = low;
            }
            j += 1;
        }
        i += 1;
    }
    changed
}

/// Returns the inside octant of a present face.
const fn inner_octant(face: u8, inside: u8) -> u8 {
    let (low, high) = face_octants(face);
    if inside >> low & 1 == 1 { low } else { high }
}

/// Renumbers labels to 0, 1, 2 … in order of first appearance.
const fn renumber(label: [u8; 12]) -> [u8; 12] {
    let mut sheets = [NO_SHEET; 12];
    let mut next = 0;
    let mut face = 0;
    while face < 12 {
        if label[face] as usize == face {
            sheets[face] = next;
            next += 1;
        } else if label[face] != NO_SHEET {
            sheets[face] = sheets[label[face] as usize];
        }
        face += 1;
    }
    sheets
}

/// Returns the mesh edges with four faces, all on one sheet.
const fn pinched_edges(sheets: &[u8; 12]) -> u8 {
    let mut pinched = 0;
    let mut edge = 0;
    while edge < 6 {
        let f = edge_faces(edge);
        let first = sheets[f[0] as usize];
        let mut all = first != NO_SHEET;
        let mut i = 1;
        while i < 4 {
            all = all && sheets[f[i] as usize] == first;
            i += 1;
        }
        if all {
            pinched |= 1 << edge;
        }
        edge += 1;
    }
    pinched
}

/// Whether a sheet ends at some mesh edge: one of its faces is alone there.
const fn is_open(sheets: &[u8; 12], sheet: u8) -> bool {
    let mut edge = 0;
    while edge < 6 {
        let f = edge_faces(edge);
        let mut present = 0;
        let mut mine = 0;
        let mut i = 0;
        while i < 4 {
            present += (sheets[f[i] as usize] != NO_SHEET) as u8;
            mine += (sheets[f[i] as usize] == sheet) as u8;
            i += 1;
        }
        if present == 1 && mine == 1 {
            return true;
        }
        edge += 1;
    }
    false
}

/// Whether a face is on the sheet.
const fn contains(sheets: &[u8; 12], sheet: u8) -> bool {
    let mut face = 0;
    while face < 12 {
        if sheets[face] == sheet {
            return true;
        }
        face += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every assignment of inside, outside and neither to the octants.
    fn ternary_corners() -> impl Iterator<Item = (u8, u8)> {
        (0..=255u8).flat_map(|inside| {
            (0..=255u8).filter(move |outside| inside & outside == 0).map(move |out| (inside, out))
        })
    }

    #[test]
    fn a_flat_corner_has_one_sheet_facing_up() {
        let corner = &CORNERS[0b0000_1111];
        assert_eq!((corner.count, corner.pinched), (1, 0));
        assert_eq!(corner.sheet(0).direction, [0.0, 4.0, 0.0]);
        assert_eq!(corner.sheet(0).middle, [0.0; 3]);
        assert_eq!(corner.sheet(0).low, [-1.5, -2.0, -1.5]);
        assert_eq!(corner.sheet(0).high, [1.5, 0.0, 1.5]);
    }

    #[test]
    fn solids_that_touch_along_an_edge_or_a_point_are_apart() {
        assert_eq!(CORNERS[0b1000_0001].count, 2);
        assert_eq!(CORNERS[0b0000_1001].count, 2);
        assert_eq!(CORNERS[0b0110_1001].count, 4);
        assert!(CORNERS.iter().all(|corner| usize::from(corner.count) <= MAX_SHEETS));
        assert_eq!(CORNERS[0].count + CORNERS[255].count, 0);
    }

    #[test]
    fn sheets_of_closed_surfaces_are_cycles() {
        for corner in &CORNERS {
            for edge in 0..6 {
                let faces = edge_faces(edge).map(|f| corner.face_sheet[f as usize]);
                for sheet in 0..corner.count {
                    let on = faces.iter().filter(|&&s| s == sheet).count();
                    assert!(matches!(on, 0 | 2 | 4));
                    assert_eq!(on == 4, corner.pinched >> edge & 1 == 1);
                }
            }
        }
    }

    #[test]
    fn any_mix_with_octants_that_are_neither_fits_the_table() {
        for (inside, outside) in ternary_corners() {
            let corner = CornerSheets::new(inside, outside);
            assert!(usize::from(corner.count) <= MAX_SHEETS, "{inside:08b} {outside:08b}");
            for sheet in (0..corner.count).map(|sheet| corner.sheet(sheet)) {
                assert!(sheet.planes != 0 && sheet.planes & !inside == 0);
            }
        }
    }

    #[test]
    fn an_open_sheet_starts_in_the_ground() {
        // Water low on the left, air above it, a wall on the right.
        let corner = CornerSheets::new(0b0000_0101, 0b0101_0000);
        assert_eq!(corner.count, 1);
        assert_eq!(corner.sheet(0).middle, [1.5, 0.0, 0.0]);
        assert_eq!(corner.sheet(0).direction, [0.0, 2.0, 0.0]);
    }
}
