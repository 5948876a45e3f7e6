//! Edit operations as bytes. `docs/format.md` has every byte.
//!
//! A dig of a ball is some 14 bytes: numbers that are multiples of 1/256 voxel are short, and what
//! has its default is left out.

use super::wire::{Input, MessageError, put_number, put_signed, put_varint, rounded};
use crate::codec::BitRle;
use crate::edit::{
    Action, Blend, Brush, BrushOp, Clip, CopyOp, EditMask, EditOp, HalfSpace, PasteOp, PastePose,
};
use crate::voxel::{DenseBox, Kind, Region};

/// What the first byte says besides the shape.
const HAS_FALLOFF: u8 = 0x10;
const HAS_STRENGTH: u8 = 0x20;
const HAS_MASK: u8 = 0x40;

/// The bits of the first byte that say the shape.
const SHAPE: u8 = 0x0F;
const CONVEX: u8 = 5;

const COPY: u8 = 8;
const PASTE: u8 = 9;

/// Which parts of a mask follow.
const MASK_MATERIALS: u8 = 1;
const MASK_HEIGHTS: u8 = 2;
const MASK_SLOPE: u8 = 4;

/// Appends an operation in voxels.
pub(super) fn put_op(op: &EditOp, kinds: &[Kind; 256], out: &mut Vec<u8>) {
    match op {
        EditOp::Brush(op) => put_brush_op(op, out),
        EditOp::Copy(op) => {
            out.push(COPY);
            op.from.iter().chain(&op.to).for_each(|&v| put_signed(i64::from(v), out));
            put_pose(&op.pose, out);
        }
        EditOp::Paste(op) => {
            out.push(PASTE);
            put_pose(&op.pose, out);
            op.clip.cells().region().size().iter().for_each(|&v| put_varint(v as u64, out));
            BitRle { kinds }.encode_box(op.clip.cells(), out);
        }
    }
}

/// Work of decoding and checking an operation, in the unit of
/// [`EditCost::work`](crate::edit::EditCost::work): for each byte, for each cell of a pasted clip,
/// and for the corners of a convex shape.
const WORK_PER_BYTE: u64 = 200;
const WORK_PER_CLIP_CELL: u64 = 10;
const CORNERS_WORK: u64 = 300_000;

/// Returns the work of decoding and checking an operation, from its first bytes, before any of it
/// is done.
pub(super) fn decoding_work(input: &mut Input<'_>) -> Result<u64, MessageError> {
    let bytes = input.left() as u64 * WORK_PER_BYTE;
    Ok(match input.byte()? {
        PASTE => {
            take_pose(input)?;
            bytes + take_clip_region(input)?.volume() * WORK_PER_CLIP_CELL
        }
        COPY => bytes,
        head if head & SHAPE == CONVEX => bytes + CORNERS_WORK,
        _ => bytes,
    })
}

/// Takes an operation with a brush, the only ones that hosts send: decoding a paste takes far more time
/// than its bytes tell.
pub(super) fn take_hosts_op(
    input: &mut Input<'_>,
    kinds: &[Kind; 256],
) -> Result<EditOp, MessageError> {
    match input.clone().byte()? {
        COPY | PASTE => input.wrong("a copy or paste that should have come as cells"),
        _ => take_op(input, kinds),
    }
}

/// Takes an operation. Its numbers are not checked: the editor does that.
pub(super) fn take_op(input: &mut Input<'_>, kinds: &[Kind; 256]) -> Result<EditOp, MessageError> {
    let head = input.byte()?;
    match head {
        COPY => {
            let (from, to) = (take_corner(input)?, take_corner(input)?);
            Ok(EditOp::Copy(CopyOp { from, to, pose: take_pose(input)? }))
        }
        PASTE => {
            let pose = take_pose(input)?;
            Ok(EditOp::Paste(PasteOp { clip: take_clip(input, kinds)?, pose }))
        }
        _ => Ok(EditOp::Brush(take_brush_op(input, head)?)),
    }
}

impl BrushOp {
    /// The operation as bytes, as guests and hosts exchange it: some fifteen for a dig with a ball.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_brush_op(self, &mut bytes);
        bytes
    }

    /// Decodes what [`BrushOp::to_bytes`] wrote. Whether its numbers are allowed is checked when it
    /// is applied.
    ///
    /// # Errors
    /// If the bytes are not those of one operation.
    pub fn from_bytes(bytes: &[u8]) -> Result<BrushOp, MessageError> {
        let mut input = Input::new(bytes);
        let head = input.byte()?;
        if matches!(head, COPY | PASTE) {
            return input.wrong("no operation with a brush");
        }
        let op = take_brush_op(&mut input, head)?;
        match input.is_empty() {
            true => Ok(op),
            false => input.wrong("bytes after an operation"),
        }
    }
}

/// Returns the operation with every length and position of it rounded to 1/256 voxel.
pub(super) fn rounded_op(op: &EditOp) -> EditOp {
    let mut op = op.clone();
    if let EditOp::Brush(op) = &mut op {
        for_each_number(op, |number| *number = rounded(*number));
    }
    op
}

/// Calls a function for every length and coordinate, not for rotations, normals and shares.
fn for_each_number(op: &mut BrushOp, mut edit: impl FnMut(&mut f64)) {
    match &mut op.brush {
        Brush::Ball { centre, radius } => {
            centre.iter_mut().chain([radius]).for_each(&mut edit);
        }
        Brush::Box { centre, half, .. } | Brush::Wedge { centre, half, .. } => {
            centre.iter_mut().chain(half).for_each(&mut edit);
        }
        Brush::Cylinder { centre, radius, half_height, .. } => {
            centre.iter_mut().chain([radius, half_height]).for_each(&mut edit);
        }
        Brush::Path { points, radius } => {
            points.as_flattened_mut().iter_mut().chain([radius]).for_each(&mut edit);
        }
        Brush::Mesh { vertices, .. } => vertices.as_flattened_mut().iter_mut().for_each(&mut edit),
        // A plane that moves alone opens the corner that it shares.
        Brush::Convex { .. } | Brush::Heights { .. } => {}
    }
    edit(&mut op.falloff);
    if let Action::Flatten { point, .. } = &mut op.action {
        point.iter_mut().for_each(&mut edit);
    }
}

fn put_numbers<'a>(numbers: impl IntoIterator<Item = &'a f64>, out: &mut Vec<u8>) {
    numbers.into_iter().for_each(|&number| put_number(number, out));
}

fn put_brush_op(op: &BrushOp, out: &mut Vec<u8>) {
    let shape = match &op.brush {
        Brush::Ball { .. } => 0,
        Brush::Box { .. } => 1,
        Brush::Cylinder { .. } => 2,
        Brush::Wedge { .. } => 3,
        Brush::Path { .. } => 4,
        Brush::Convex { .. } => CONVEX,
        Brush::Mesh { .. } => 6,
        Brush::Heights { .. } => 7,
    };
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    // Negative zero is not the default.
    let has_falloff = op.falloff.to_bits() != 0;
    let has_strength = op.strength.to_bits() != 1f64.to_bits();
    let has_mask = op.mask != EditMask::default();
    let flags = flag(has_falloff, HAS_FALLOFF) | flag(has_strength, HAS_STRENGTH);
    out.push(shape | flags | flag(has_mask, HAS_MASK));
    put_brush(&op.brush, out);
    put_action(&op.action, out);
    if has_falloff {
        put_number(op.falloff, out);
    }
    if has_strength {
        put_number(op.strength, out);
    }
    if has_mask {
        put_mask(&op.mask, out);
    }
}

fn put_brush(brush: &Brush, out: &mut Vec<u8>) {
    match brush {
        Brush::Ball { centre, radius } => put_numbers(centre.iter().chain([radius]), out),
        Brush::Box { centre, half, rotation } | Brush::Wedge { centre, half, rotation } => {
            put_numbers(centre.iter().chain(half).chain(rotation), out);
        }
        Brush::Cylinder { centre, radius, half_height, rotation } => {
            put_numbers(centre.iter().chain([radius, half_height]).chain(rotation), out);
        }
        Brush::Path { points, radius } => {
            put_varint(points.len() as u64, out);
            put_numbers(points.as_flattened().iter().chain([radius]), out);
        }
        Brush::Convex { planes } => {
            put_varint(planes.len() as u64, out);
            for HalfSpace { normal, offset } in planes {
                put_numbers(normal.iter().chain([offset]), out);
            }
        }
        Brush::Mesh { vertices, triangles } => {
            put_varint(vertices.len() as u64, out);
            put_numbers(vertices.as_flattened(), out);
            put_varint(triangles.len() as u64, out);
            triangles.as_flattened().iter().for_each(|&v| put_varint(u64::from(v), out));
        }
        Brush::Heights { corner, spacing, width, heights } => {
            put_numbers(corner.iter().chain([spacing]), out);
            put_varint(u64::from(*width), out);
            put_varint(heights.len() as u64, out);
            heights.iter().for_each(|height| out.extend(height.to_le_bytes()));
        }
    }
}

fn take_brush(input: &mut Input<'_>, shape: u8) -> Result<Brush, MessageError> {
    Ok(match shape {
        0 => Brush::Ball { centre: input.numbers()?, radius: input.number()? },
        1 | 3 => {
            let (centre, half, rotation) = (input.numbers()?, input.numbers()?, input.numbers()?);
            match shape {
                1 => Brush::Box { centre, half, rotation },
                _ => Brush::Wedge { centre, half, rotation },
            }
        }
        2 => Brush::Cylinder {
            centre: input.numbers()?,
            radius: input.number()?,
            half_height: input.number()?,
            rotation: input.numbers()?,
        },
        4 => {
            let count = input.count(3)?;
            let points = (0..count).map(|_| input.numbers()).collect::<Result<_, _>>()?;
            Brush::Path { points, radius: input.number()? }
        }
        CONVEX => {
            let plane = |input: &mut Input<'_>| -> Result<HalfSpace, MessageError> {
                Ok(HalfSpace { normal: input.numbers()?, offset: input.number()? })
            };
            let count = input.count(4)?;
            Brush::Convex { planes: (0..count).map(|_| plane(input)).collect::<Result<_, _>>()? }
        }
        6 => {
            let count = input.count(3)?;
            let vertices = (0..count).map(|_| input.numbers()).collect::<Result<_, _>>()?;
            let count = input.count(3)?;
            let triangles = (0..count).map(|_| take_triangle(input)).collect::<Result<_, _>>()?;
            Brush::Mesh { vertices, triangles }
        }
        7 => {
            let (corner, spacing, width) = (input.numbers()?, input.number()?, take_u32(input)?);
            let count = input.count(4)?;
            let height = |_| input.array().map(f32::from_le_bytes);
            let heights = (0..count).map(height).collect::<Result<_, _>>()?;
            Brush::Heights { corner, spacing, width, heights }
        }
        _ => return input.wrong("an unknown shape of a brush"),
    })
}

fn take_triangle(input: &mut Input<'_>) -> Result<[u32; 3], MessageError> {
    Ok([take_u32(input)?, take_u32(input)?, take_u32(input)?])
}

fn take_u32(input: &mut Input<'_>) -> Result<u32, MessageError> {
    let value = input.varint()?;
    u32::try_from(value).or_else(|_| input.wrong("a number has more than 32 bits"))
}

fn take_brush_op(input: &mut Input<'_>, head: u8) -> Result<BrushOp, MessageError> {
    let shape = head & SHAPE;
    if head & 0x80 != 0 {
        return input.wrong("an unknown kind of operation");
    }
    let brush = take_brush(input, shape)?;
    let mut op = BrushOp::new(brush, take_action(input)?);
    if head & HAS_FALLOFF != 0 {
        op.falloff = input.number()?;
        if op.falloff.to_bits() == 0 {
            return input.wrong("a default is written out");
        }
    }
    if head & HAS_STRENGTH != 0 {
        op.strength = input.number()?;
        if op.strength.to_bits() == 1f64.to_bits() {
            return input.wrong("a default is written out");
        }
    }
    if head & HAS_MASK != 0 {
        op.mask = take_mask(input)?;
    }
    Ok(op)
}

fn put_action(action: &Action, out: &mut Vec<u8>) {
    match *action {
        Action::Fill { material } => out.extend([0, material]),
        Action::Dig => out.push(1),
        Action::Paint { material } => out.extend([2, material]),
        Action::Replace { from, to } => out.extend([3, from, to]),
        Action::Smooth => out.push(4),
        Action::Flatten { point, normal, material } => {
            out.push(5 + u8::from(material.is_some()));
            put_numbers(point.iter().chain(&normal), out);
            out.extend(material);
        }
        Action::Grow { amount } => put_with_number(7, amount, out),
        Action::Erode { amount } => put_with_number(8, amount, out),
        Action::Roughen { amount, size, seed } => {
            put_with_number(9, amount, out);
            put_number(size, out);
            put_varint(seed, out);
        }
        Action::Flood { material } => out.extend([10, material]),
        Action::Drain => out.push(11),
    }
}

fn put_with_number(code: u8, number: f64, out: &mut Vec<u8>) {
    out.push(code);
    put_number(number, out);
}

fn take_action(input: &mut Input<'_>) -> Result<Action, MessageError> {
    let code = input.byte()?;
    Ok(match code {
        0 => Action::Fill { material: input.byte()? },
        1 => Action::Dig,
        2 => Action::Paint { material: input.byte()? },
        3 => Action::Replace { from: input.byte()?, to: input.byte()? },
        4 => Action::Smooth,
        5 | 6 => {
            let (point, normal) = (input.numbers()?, input.numbers()?);
            let material = if code == 6 { Some(input.byte()?) } else { None };
            Action::Flatten { point, normal, material }
        }
        7 => Action::Grow { amount: input.number()? },
        8 => Action::Erode { amount: input.number()? },
        9 => {
            let (amount, size) = (input.number()?, input.number()?);
            Action::Roughen { amount, size, seed: input.varint()? }
        }
        10 => Action::Flood { material: input.byte()? },
        11 => Action::Drain,
        _ => return input.wrong("an unknown action"),
    })
}

fn put_mask(mask: &EditMask, out: &mut Vec<u8>) {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let materials = flag(!mask.materials.is_empty(), MASK_MATERIALS);
    let heights = flag(mask.heights.is_some(), MASK_HEIGHTS);
    out.push(materials | heights | flag(mask.slope.is_some(), MASK_SLOPE));
    if materials != 0 {
        put_varint(mask.materials.len() as u64, out);
        out.extend_from_slice(&mask.materials);
    }
    put_numbers(mask.heights.iter().chain(&mask.slope).flatten(), out);
}

fn take_mask(input: &mut Input<'_>) -> Result<EditMask, MessageError> {
    let parts = input.byte()?;
    if parts == 0 || parts > 7 {
        return input.wrong("an unknown part of a mask");
    }
    let mut mask = EditMask::default();
    if parts & MASK_MATERIALS != 0 {
        let count = input.count(1)?;
        if count == 0 {
            return input.wrong("a default is written out");
        }
        if count > EditMask::MAX_MATERIALS {
            return input.wrong("more materials than there are");
        }
        mask.materials = input.take(count)?.to_vec();
    }
    if parts & MASK_HEIGHTS != 0 {
        mask.heights = Some(input.numbers()?);
    }
    if parts & MASK_SLOPE != 0 {
        mask.slope = Some(input.numbers()?);
    }
    Ok(mask)
}

fn put_pose(pose: &PastePose, out: &mut Vec<u8>) {
    pose.at.iter().for_each(|&v| put_signed(i64::from(v), out));
    let mirror = (0..3).map(|axis| u8::from(pose.mirror[axis]) << axis).sum::<u8>();
    let blend = match pose.blend {
        Blend::Over => 0,
        Blend::Replace => 1,
        Blend::Add => 2,
    };
    out.push(mirror | blend << 3);
    out.extend(pose.quarter_turns);
    put_signed(i64::from(pose.scale), out);
}

fn take_corner(input: &mut Input<'_>) -> Result<[i32; 3], MessageError> {
    Ok(input.voxel()?.to_array())
}

fn take_pose(input: &mut Input<'_>) -> Result<PastePose, MessageError> {
    let at = take_corner(input)?;
    let bits = input.byte()?;
    let blend = match bits >> 3 {
        0 => Blend::Over,
        1 => Blend::Replace,
        2 => Blend::Add,
        _ => return input.wrong("an unknown way to blend"),
    };
    let quarter_turns = input.array()?;
    let scale = input.signed()?;
    let Ok(scale) = i32::try_from(scale) else { return input.wrong("a scale is too large") };
    let mirror = [0, 1, 2].map(|axis| bits >> axis & 1 == 1);
    Ok(PastePose { at, mirror, quarter_turns, scale, blend })
}

/// Maximum number of cells of a pasted clip: what can be told of a message of some bytes is bounded
/// by its size, but not a box of one material.
const MAX_PASTE: u64 = 1 << 21;

/// Whether the other side takes an operation, if its message is not too long.
pub(super) fn can_be_sent(op: &EditOp) -> bool {
    !matches!(op, EditOp::Paste(op) if op.clip.cells().region().volume() > MAX_PASTE)
}

fn take_clip_region(input: &mut Input<'_>) -> Result<Region, MessageError> {
    let mut size = [0; 3];
    for edge in &mut size {
        let value = input.varint()?;
        if value == 0 || value > MAX_PASTE {
            return input.wrong("a copy is empty or too large");
        }
        *edge = value as i32;
    }
    let region = Region::new([0; 3], size);
    if region.volume() > MAX_PASTE {
        return input.wrong("a copy is empty or too large");
    }
    Ok(region)
}

fn take_clip(input: &mut Input<'_>, kinds: &[Kind; 256]) -> Result<Clip, MessageError> {
    let mut cells = DenseBox::new(take_clip_region(input)?);
    let code = input.rest();
    match (BitRle { kinds }).decode_box(code, &mut cells) {
        Ok(read) if read == code.len() => {
            Clip::new(cells).or_else(|_| input.wrong("a copy is empty or too large"))
        }
        _ => input.wrong("the cells of a copy are invalid"),
    }
}
