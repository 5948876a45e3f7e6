//! Bodies that a host shows to its guests: loose pieces, avatars of players, and what a game adds.

use super::pose_wire::WirePose;
use super::wire::{Input, MessageError, put_bytes, put_region_in, put_signed, put_varint};
use crate::bodies::{BodyPose, LooseBody};
use crate::codec::BitRle;
use crate::voxel::{
    AIR, DenseBox, GridOptions, MaterialTable, MipBlock, Region, UnlistedChunks, VoxelGrid,
    VoxelPos,
};
use std::sync::Arc;

/// Maximum number of chunks of a loose piece that is sent.
const MAX_CHUNKS: usize = 256;

/// Maximum number of cells that are not air in a loose piece that is sent: a few kilobytes can
/// encode millions of cells, whose meshes take seconds.
const MAX_SOLID: usize = 1 << 18;

/// Chunks of a piece lie within this many chunks of its voxel (0, 0, 0), on each axis.
const MAX_CHUNK_OFFSET: i32 = 64;

/// What a [`SharedBody`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedBodyKind {
    /// A piece of the world that was cut loose; [`SharedBody::to_loose`] makes it.
    Loose,
    /// The avatar of a guest, with its number. The bytes are those of
    /// [`Guest::set_avatar`](super::Guest::set_avatar).
    Avatar(u64),
    /// A kind of the game's own, by number.
    Game(u16),
}

/// A body that a host shows to the guests near it, see [`Host::add_body`](super::Host::add_body).
///
/// ```
/// use terravox::bodies::{BodyPose, LooseBody};
/// use terravox::replicate::SharedBody;
/// use terravox::voxel::{DenseBox, Region, VoxelGrid};
///
/// let mut grid = VoxelGrid::default();
/// let mut cells = DenseBox::new(Region::new([1, 2, 3], [4, 4, 4]));
/// cells.fill(8);
/// grid.write(&cells)?;
/// let piece = LooseBody::new(grid, [64, 0, -32].into())?;
/// let sent = SharedBody::loose(&piece, piece.first_pose()).expect("it is small");
/// let arrived = sent.to_loose(piece.grid.materials())?;
/// assert_eq!((arrived.cells, arrived.mass), (6, piece.mass));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SharedBody {
    /// What it is.
    pub kind: SharedBodyKind,
    /// Its position, in voxels, and its rotation. Guests get the position to 1/64 voxel, and the
    /// rotation to about 0.1°.
    pub pose: BodyPose,
    /// What guests need to know about it, at most [`SharedBody::MAX_BYTES`] bytes: the cells of a
    /// loose piece, the data of an avatar, or the game's own.
    pub bytes: Arc<[u8]>,
}

impl SharedBody {
    /// Maximum size of a body in bytes.
    pub const MAX_BYTES: usize = 64 << 10;

    /// Returns a loose piece with its cells encoded as bytes. Returns `None` if the piece is too
    /// large to be sent: more than 262,144 cells, more than [`SharedBody::MAX_BYTES`] encoded, more
    /// than 256 chunks, or a chunk 64 chunks or more from the piece's voxel (0, 0, 0). Write such a
    /// piece back into the terrain. Pieces of up to 32,768 cells nearly always fit. Also returns
    /// `None` if the pose is invalid.
    pub fn loose(body: &LooseBody, pose: BodyPose) -> Option<SharedBody> {
        let chunks = body.grid.chunks();
        let is_near = |v: i32| (-MAX_CHUNK_OFFSET..MAX_CHUNK_OFFSET).contains(&v);
        if WirePose::of(&pose).is_none()
            || chunks.len() > MAX_CHUNKS
            || body.cells > MAX_SOLID as u64
            || !chunks.iter().all(|c| [c.x, c.y, c.z].into_iter().all(is_near))
        {
            return None;
        }
        let mut bytes = Vec::new();
        let put = |pos: [i32; 3], out: &mut Vec<u8>| {
            pos.iter().for_each(|&v| put_signed(i64::from(v), out));
        };
        put(body.origin_voxel.to_array(), &mut bytes);
        let parts: Vec<(MipBlock, Region)> = chunks
            .iter()
            .map(|&chunk| (chunk.into(), chunk.region().intersect(body.bounds)))
            .filter(|(_, region)| !region.is_empty())
            .collect();
        put_varint(parts.len() as u64, &mut bytes);
        let coder = BitRle { kinds: body.grid.materials().kinds() };
        let (mut cells, mut code) = (DenseBox::default(), Vec::new());
        for (block, region) in parts {
            body.grid.read(region, 0, &mut cells).ok()?;
            code.clear();
            coder.encode_box(&cells, &mut code);
            put(block.pos.to_array(), &mut bytes);
            put_region_in(block, region, &mut bytes);
            put_bytes(&code, &mut bytes);
        }
        let fits = bytes.len() <= SharedBody::MAX_BYTES;
        fits.then(|| SharedBody { kind: SharedBodyKind::Loose, pose, bytes: bytes.into() })
    }

    /// Decodes the loose piece, with mass and meshes, which takes milliseconds for a large one.
    /// `materials` are those of the world: of [`Guest::grid`](super::Guest::grid).
    ///
    /// # Errors
    /// [`MessageError`] if the bytes are not those of a loose piece.
    pub fn to_loose(&self, materials: &MaterialTable) -> Result<LooseBody, MessageError> {
        let mut input = Input::new(&self.bytes);
        let origin = input.voxel()?;
        let options = GridOptions { unlisted: UnlistedChunks::Air, materials: materials.clone() };
        let mut grid = VoxelGrid::new(options);
        let count = input.count(10)?;
        if count > MAX_CHUNKS {
            return input.wrong("a loose piece of more than 256 chunks");
        }
        let mut solid = 0;
        for _ in 0..count {
            let pos = input.voxel()?;
            let is_near = |v: i32| (-MAX_CHUNK_OFFSET..MAX_CHUNK_OFFSET).contains(&v);
            if !pos.to_array().into_iter().all(is_near) {
                return input.wrong("a loose piece reaches too far");
            }
            let cells = take_part(&mut input, pos, materials)?;
            solid += cells.materials().iter().filter(|&&material| material != AIR).count();
            if solid > MAX_SOLID {
                return input.wrong("a loose piece of more than 262144 cells");
            }
            if grid.write(&cells).is_err() {
                return input.wrong("a loose piece reaches too far");
            }
        }
        input.finish()?;
        match LooseBody::new(grid, origin) {
            Ok(body) if body.cells > 0 => Ok(body),
            _ => input.wrong("a loose piece without cells"),
        }
    }
}

/// Reads the cells of a chunk of a piece.
fn take_part(
    input: &mut Input<'_>,
    chunk: VoxelPos,
    materials: &MaterialTable,
) -> Result<DenseBox, MessageError> {
    let mut cells = DenseBox::new(input.region_in(MipBlock { mip: 0, pos: chunk })?);
    let code = input.bytes(SharedBody::MAX_BYTES)?;
    match (BitRle { kinds: materials.kinds() }).decode_box(code, &mut cells) {
        Ok(read) if read == code.len() => Ok(cells),
        _ => input.wrong("the cells of a loose piece are invalid"),
    }
}

/// Appends what a body is.
pub(super) fn put_kind(kind: SharedBodyKind, out: &mut Vec<u8>) {
    let (code, number) = match kind {
        SharedBodyKind::Loose => return out.push(0),
        SharedBodyKind::Avatar(guest) => (1, guest),
        SharedBodyKind::Game(number) => (2, u64::from(number)),
    };
    out.push(code);
    put_varint(number, out);
}

/// Reads what a body is.
pub(super) fn take_kind(input: &mut Input<'_>) -> Result<SharedBodyKind, MessageError> {
    match input.byte()? {
        0 => Ok(SharedBodyKind::Loose),
        1 => Ok(SharedBodyKind::Avatar(input.varint()?)),
        2 => match u16::try_from(input.varint()?) {
            Ok(number) => Ok(SharedBodyKind::Game(number)),
            Err(_) => input.wrong("a kind of body has more than 16 bits"),
        },
        _ => input.wrong("an unknown kind of body"),
    }
}
