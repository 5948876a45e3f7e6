//! What host and guest say to each other. `docs/format.md` has every byte.
//!
//! Reading is total: any bytes return a message or an error with an offset, and take memory in
//! proportion to their number, a paste aside, which may be a box of 2²¹ cells. Each message has one
//! code.

use super::family::Family;
use super::op_wire::{decoding_work, put_op, take_hosts_op, take_op};
use super::pose_wire::WirePose;
use super::reasons::{Refusal, RefusalCode};
use super::shared_body::{SharedBody, SharedBodyKind, put_kind, take_kind};
use super::wire::{
    Input, MessageError, put_block, put_bytes, put_region_in, put_signed, put_text, put_varint,
    take_line,
};
use super::world_info::{
    WorldInfo, put_changed_materials, put_place, take_changed_materials, take_place,
};
use crate::edit::EditOp;
use crate::voxel::{Kind, MipBlock, Region};
use std::sync::Arc;

/// Version of the protocol: both sides must have the same.
pub const PROTOCOL_VERSION: u8 = 7;

/// Maximum size of a message in bytes: 32³ cells that do not compress fit.
pub(super) const MAX_MESSAGE: usize = 1 << 17;

/// Maximum size of an access token in bytes.
pub(super) const MAX_TOKEN: usize = 256;

/// Maximum size of the avatar of a guest in bytes.
pub(super) const MAX_AVATAR_BYTES: usize = 256;

/// Maximum size of a message to or from the game in bytes.
pub(super) const MAX_GAME_MESSAGE: usize = 1024;

/// Messages of the game are refused while more bytes than this wait for the link.
pub(super) const GAME_MESSAGE_BACKLOG: usize = 64 << 10;

/// Minimum number of bytes of a block in a list.
const BLOCK_BYTES: usize = 4;

/// From a guest to its host.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ToHost {
    Hello {
        version: u8,
        token: Vec<u8>,
    },
    /// The reply to `Welcome`: whether the guest makes the ground itself, and the number of its last
    /// operation that it sent to this host over an earlier link, or 0.
    Start {
        makes_ground: bool,
        last_number: u64,
    },
    /// Wants these blocks; those of which it has the cells come with a digest of them.
    Subscribe(Vec<(MipBlock, Option<u64>)>),
    Unsubscribe(Vec<MipBlock>),
    Edit {
        number: u64,
        op: Box<EditOp>,
    },
    /// Undoes (or redoes) the last stroke of this guest.
    Undo {
        number: u64,
        is_redo: bool,
    },
    /// These blocks may be wrong: send them again.
    Refresh(Vec<MipBlock>),
    /// The avatar of this guest.
    Avatar {
        pose: WirePose,
        bytes: Vec<u8>,
    },
    /// What the game understands.
    Game(Vec<u8>),
    /// This guest has no avatar any more.
    NoAvatar,
}

/// From a host to a guest.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ToGuest {
    /// The run of the host, 0 if it does not say, and its world.
    Welcome {
        instance: u64,
        info: Box<WorldInfo>,
    },
    /// An operation of someone else, and the digest of the cells that it changed.
    Op {
        author: u64,
        op: EditOp,
        digest: u32,
    },
    /// The guest's own operation was applied as it is.
    Confirm {
        number: u64,
        digest: u32,
    },
    /// What the guest's own operation changed was sent before this.
    Done {
        after: u64,
        number: u64,
        has_changed: bool,
    },
    Refuse {
        number: u64,
        refusal: Refusal,
    },
    /// Cells of a block that the guest holds, by [`BitRle`](crate::codec::BitRle).
    Cells {
        after: u64,
        block: MipBlock,
        region: Region,
        code: Vec<u8>,
    },
    /// Blocks that the guest does not hold yet.
    Family {
        after: u64,
        family: Box<Family>,
    },
    /// The cells that the guest has of these blocks are right.
    Unchanged {
        after: u64,
        blocks: Vec<MipBlock>,
    },
    /// A body, or its new bytes.
    Body(BodyMessage),
    BodyGone {
        after: u64,
        number: u64,
    },
    /// Bodies that moved, by number.
    Poses(Vec<(u64, WirePose)>),
    /// The guest's own operations up to this one are saved.
    Saved {
        number: u64,
    },
    /// What the game understands.
    Game(Vec<u8>),
}

/// All of a body.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BodyMessage {
    pub after: u64,
    pub number: u64,
    pub kind: SharedBodyKind,
    pub pose: WirePose,
    pub bytes: Arc<[u8]>,
}

impl BodyMessage {
    /// Appends all but what it comes after.
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(self.number, out);
        put_kind(self.kind, out);
        self.pose.put(out);
        put_bytes(&self.bytes, out);
    }

    fn take(input: &mut Input<'_>) -> Result<BodyMessage, MessageError> {
        Ok(BodyMessage {
            after: input.varint()?,
            number: input.varint()?,
            kind: take_kind(input)?,
            pose: WirePose::take(input)?,
            bytes: input.bytes(SharedBody::MAX_BYTES)?.into(),
        })
    }
}

fn numbered(code: u8, number: u64, out: &mut Vec<u8>) {
    out.push(code);
    put_varint(number, out);
}

fn put_pose(number: u64, pose: WirePose, out: &mut Vec<u8>) {
    put_varint(number, out);
    pose.put(out);
}

fn put_blocks(blocks: &[MipBlock], out: &mut Vec<u8>) {
    put_varint(blocks.len() as u64, out);
    let mut last = MipBlock::default();
    for &block in blocks {
        out.push(block.mip);
        let off = block.pos - last.pos;
        off.to_array().iter().for_each(|&v| put_signed(i64::from(v), out));
        last = block;
    }
}

fn take_blocks(input: &mut Input<'_>) -> Result<Vec<MipBlock>, MessageError> {
    let count = input.count(BLOCK_BYTES)?;
    let mut last = MipBlock::default();
    let mut blocks = Vec::with_capacity(count);
    for _ in 0..count {
        let mip = input.byte()?;
        let off = input.voxel_offset()?;
        let [x, y, z] = last.pos.to_array();
        let pos = [x.checked_add(off[0]), y.checked_add(off[1]), z.checked_add(off[2])];
        let block = match pos {
            [Some(x), Some(y), Some(z)] => MipBlock::new(mip, [x, y, z]),
            _ => return input.wrong("a block is beyond the limits of the grid"),
        };
        if mip > crate::voxel::MAX_FAR_MIP || !block.within_limits() {
            return input.wrong("a block is beyond the limits of the grid");
        }
        blocks.push(block);
        last = block;
    }
    Ok(blocks)
}

impl ToHost {
    pub fn encode(&self, kinds: &[Kind; 256], out: &mut Vec<u8>) {
        match self {
            ToHost::Hello { version, token } => {
                out.extend([0, *version]);
                put_bytes(token, out);
            }
            ToHost::Start { makes_ground, last_number } => {
                out.extend([1, u8::from(*makes_ground)]);
                put_varint(*last_number, out);
            }
            ToHost::Subscribe(blocks) => {
                out.push(2);
                let (positions, digests): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                put_blocks(&positions, out);
                for digest in digests {
                    out.push(u8::from(digest.is_some()));
                    out.extend(digest.iter().flat_map(|digest| digest.to_le_bytes()));
                }
            }
            ToHost::Unsubscribe(blocks) => {
                out.push(3);
                put_blocks(blocks, out);
            }
            ToHost::Edit { number, op } => {
                out.push(4);
                put_varint(*number, out);
                put_op(op, kinds, out);
            }
            ToHost::Undo { number, is_redo } => {
                out.extend([5, u8::from(*is_redo)]);
                put_varint(*number, out);
            }
            ToHost::Refresh(blocks) => {
                out.push(6);
                put_blocks(blocks, out);
            }
            ToHost::Avatar { pose, bytes } => {
                out.push(7);
                pose.put(out);
                put_bytes(bytes, out);
            }
            ToHost::Game(bytes) => {
                out.push(8);
                put_bytes(bytes, out);
            }
            ToHost::NoAvatar => out.push(9),
        }
    }

    /// Whether it is one of the two messages that come before all others.
    pub fn is_greeting(bytes: &[u8]) -> bool {
        matches!(bytes.first(), Some(0 | 1))
    }

    /// Whether a message is about blocks, and belongs in the stream of cells; all others belong in
    /// that of edits.
    pub fn is_about_blocks(bytes: &[u8]) -> bool {
        matches!(bytes.first(), Some(2 | 3 | 6))
    }

    /// Returns the number of an operation and the [work](decoding_work) of decoding it, or `None`
    /// for other messages.
    pub fn operation(bytes: &[u8]) -> Result<Option<(u64, u64)>, MessageError> {
        let mut input = Input::new(bytes);
        match input.byte()? {
            4 => Ok(Some((input.varint()?, decoding_work(&mut input)?))),
            5 => {
                input.flag()?;
                Ok(Some((input.varint()?, 0)))
            }
            _ => Ok(None),
        }
    }

    /// Returns how many blocks a request lists; `None` for other messages.
    pub fn listed_blocks(bytes: &[u8]) -> Result<Option<u64>, MessageError> {
        let mut input = Input::new(bytes);
        input.byte()?;
        match ToHost::is_about_blocks(bytes) {
            true => Ok(Some(input.count(BLOCK_BYTES)? as u64)),
            false => Ok(None),
        }
    }

    pub fn decode(bytes: &[u8], kinds: &[Kind; 256]) -> Result<ToHost, MessageError> {
        let mut input = Input::new(bytes);
        let message = match input.byte()? {
            0 => {
                let version = input.byte()?;
                ToHost::Hello { version, token: input.bytes(MAX_TOKEN)?.to_vec() }
            }
            1 => ToHost::Start { makes_ground: input.flag()?, last_number: input.varint()? },
            2 => {
                let blocks = take_blocks(&mut input)?;
                let mut digest = |block| -> Result<(MipBlock, Option<u64>), MessageError> {
                    let is_known = input.flag()?;
                    let digest = if is_known { Some(input.array()?) } else { None };
                    Ok((block, digest.map(u64::from_le_bytes)))
                };
                let blocks = blocks.into_iter().map(&mut digest).collect::<Result<_, _>>()?;
                ToHost::Subscribe(blocks)
            }
            3 => ToHost::Unsubscribe(take_blocks(&mut input)?),
            4 => {
                let number = input.varint()?;
                ToHost::Edit { number, op: Box::new(take_op(&mut input, kinds)?) }
            }
            5 => {
                let is_redo = input.flag()?;
                ToHost::Undo { is_redo, number: input.varint()? }
            }
            6 => ToHost::Refresh(take_blocks(&mut input)?),
            7 => {
                let pose = WirePose::take(&mut input)?;
                ToHost::Avatar { pose, bytes: input.bytes(MAX_AVATAR_BYTES)?.to_vec() }
            }
            8 => ToHost::Game(input.bytes(MAX_GAME_MESSAGE)?.to_vec()),
            9 => ToHost::NoAvatar,
            _ => return input.wrong("an unknown kind of message"),
        };
        input.finish()?;
        Ok(message)
    }
}

impl ToGuest {
    /// The blocks whose cells it brings.
    pub fn written(&self) -> Vec<MipBlock> {
        match self {
            ToGuest::Cells { block, .. } => vec![*block],
            ToGuest::Family { family, .. } => family.blocks(),
            _ => Vec::new(),
        }
    }

    pub fn encode(&self, kinds: &[Kind; 256], out: &mut Vec<u8>) {
        match self {
            ToGuest::Welcome { instance, info } => {
                out.push(0);
                out.extend(instance.to_le_bytes());
                put_place(info, out);
                put_changed_materials(&info.materials, out);
            }
            ToGuest::Op { author, op, digest } => {
                numbered(1, *author, out);
                out.extend(digest.to_le_bytes());
                put_op(op, kinds, out);
            }
            ToGuest::Confirm { number, digest } => {
                numbered(2, *number, out);
                out.extend(digest.to_le_bytes());
            }
            ToGuest::Done { after, number, has_changed } => {
                numbered(3, *after, out);
                put_varint(*number, out);
                out.push(u8::from(*has_changed));
            }
            ToGuest::Refuse { number, refusal } => {
                numbered(4, *number, out);
                refusal.code.put(out);
                put_text(&refusal.reason, out);
            }
            ToGuest::Cells { after, block, region, code } => {
                numbered(5, *after, out);
                put_block(*block, out);
                put_region_in(*block, *region, out);
                out.extend_from_slice(code);
            }
            ToGuest::Family { after, family } => {
                numbered(6, *after, out);
                family.put_bytes(out);
            }
            ToGuest::Unchanged { after, blocks } => {
                numbered(7, *after, out);
                put_blocks(blocks, out);
            }
            ToGuest::Body(body) => {
                numbered(8, body.after, out);
                body.put(out);
            }
            ToGuest::BodyGone { after, number } => {
                numbered(9, *after, out);
                put_varint(*number, out);
            }
            ToGuest::Poses(poses) => {
                numbered(10, poses.len() as u64, out);
                poses.iter().for_each(|(number, pose)| put_pose(*number, *pose, out));
            }
            ToGuest::Saved { number } => numbered(11, *number, out),
            ToGuest::Game(bytes) => {
                out.push(12);
                put_bytes(bytes, out);
            }
        }
    }

    pub fn decode(bytes: &[u8], kinds: &[Kind; 256]) -> Result<ToGuest, MessageError> {
        let mut input = Input::new(bytes);
        let message = match input.byte()? {
            0 => {
                let instance = u64::from_le_bytes(input.array()?);
                let mut info = Box::new(take_place(&mut input)?);
                info.materials = take_changed_materials(&mut input)?;
                ToGuest::Welcome { instance, info }
            }
            1 => {
                let (author, digest) = (input.varint()?, u32::from_le_bytes(input.array()?));
                ToGuest::Op { author, digest, op: take_hosts_op(&mut input, kinds)? }
            }
            2 => {
                let number = input.varint()?;
                ToGuest::Confirm { number, digest: u32::from_le_bytes(input.array()?) }
            }
            3 => ToGuest::Done {
                after: input.varint()?,
                number: input.varint()?,
                has_changed: input.flag()?,
            },
            4 => {
                let (number, code) = (input.varint()?, RefusalCode::take(&mut input)?);
                let refusal = Refusal { code, reason: take_line(&mut input)? };
                ToGuest::Refuse { number, refusal }
            }
            5 => {
                let (after, block) = (input.varint()?, input.block()?);
                let region = input.region_in(block)?;
                ToGuest::Cells { after, block, region, code: input.rest().to_vec() }
            }
            6 => ToGuest::Family {
                after: input.varint()?,
                family: Box::new(Family::take(&mut input)?),
            },
            7 => ToGuest::Unchanged { after: input.varint()?, blocks: take_blocks(&mut input)? },
            8 => ToGuest::Body(BodyMessage::take(&mut input)?),
            9 => ToGuest::BodyGone { after: input.varint()?, number: input.varint()? },
            10 => {
                let count = input.count(8)?;
                let mut pose = || Ok((input.varint()?, WirePose::take(&mut input)?));
                ToGuest::Poses((0..count).map(|_| pose()).collect::<Result<_, MessageError>>()?)
            }
            11 => ToGuest::Saved { number: input.varint()? },
            12 => ToGuest::Game(input.bytes(MAX_GAME_MESSAGE)?.to_vec()),
            _ => return input.wrong("an unknown kind of message"),
        };
        input.finish()?;
        Ok(message)
    }
}
