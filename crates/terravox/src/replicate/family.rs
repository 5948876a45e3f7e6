//! The eight child blocks of a parent, which a guest gets for the first time: in one message, so
//! that a block takes a few bytes besides its cells, and air below air next to none.

use super::wire::{Input, MessageError, put_bytes, put_region_in, put_signed};
use crate::voxel::{MAX_FAR_MIP, MipBlock, Region};

/// Maximum number of blocks in one message.
pub(super) const MAX_SENT: usize = 4096;

/// What a message says of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum FamilyChild {
    /// Not in this message.
    #[default]
    NotSent,
    /// It is as the guest's generator makes it, or air without one.
    Ground,
    /// As `Ground`, and so are some of its children: each is `NotSent`, `Ground` or `GroundOver`.
    GroundOver(Box<Children>),
    /// Its cells, as the difference from what the parent's cells, which the guest holds, predict:
    /// in the code of [`Refinement`](crate::codec::Refinement). `check` is the lowest bits of the
    /// block's digest.
    Refined { check: u16, code: Vec<u8> },
    /// Its cells in a region, by [`BitRle`](crate::codec::BitRle), over what the guest's generator
    /// makes, or air without one. Cells of material `marker`, if that is not air, are left as they
    /// are made.
    Made { marker: u8, region: Region, code: Vec<u8> },
}

/// The eight child blocks of a parent, x fastest, then z, then y.
pub(super) type Children = [FamilyChild; 8];

/// Some of the child blocks of a parent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    /// The parent. Its mip is above the coarsest one of the world if the children are of that.
    pub parent: MipBlock,
    pub children: Children,
}

impl FamilyChild {
    /// Bytes of its cells.
    pub fn code_bytes(&self) -> usize {
        match self {
            FamilyChild::Refined { code, .. } | FamilyChild::Made { code, .. } => code.len(),
            _ => 0,
        }
    }

    /// Its kind in a message.
    fn kind(&self) -> u32 {
        match self {
            FamilyChild::NotSent => 0,
            FamilyChild::Ground => 1,
            FamilyChild::GroundOver(_) => 2,
            FamilyChild::Refined { .. } => 3,
            FamilyChild::Made { .. } => 4,
        }
    }
}

impl Family {
    pub fn new(parent: MipBlock) -> Family {
        Family { parent, children: Children::default() }
    }

    /// One block.
    pub fn of_one(block: MipBlock, child: FamilyChild) -> Family {
        let mut family = Family::new(block.parent());
        family.put(block, child);
        family
    }

    /// Sets what is brought of one of the blocks.
    pub fn put(&mut self, block: MipBlock, child: FamilyChild) {
        let blocks = self.parent.children();
        if let Some(at) = blocks.iter().position(|&other| other == block) {
            self.children[at] = child;
        }
    }

    /// All blocks that it brings, coarse ones before those below them.
    pub fn blocks(&self) -> Vec<MipBlock> {
        let mut blocks = Vec::new();
        add_blocks(self.parent, &self.children, &mut blocks);
        blocks
    }

    /// The same as families of one block and those below it each.
    pub fn split(self) -> impl Iterator<Item = Family> {
        let sent = self.parent.children().into_iter().zip(self.children);
        sent.filter(|(_, child)| *child != FamilyChild::NotSent)
            .map(|(block, child)| Family::of_one(block, child))
    }

    /// Whether it brings one block, and perhaps some below it.
    pub fn is_one(&self) -> bool {
        self.children.iter().filter(|child| **child != FamilyChild::NotSent).count() == 1
    }

    pub fn put_bytes(&self, out: &mut Vec<u8>) {
        out.push(self.parent.mip - 1);
        self.parent.pos.to_array().iter().for_each(|&v| put_signed(i64::from(v), out));
        put_children(self.parent, &self.children, out);
    }

    pub fn take(input: &mut Input<'_>) -> Result<Family, MessageError> {
        let mip = input.byte()?;
        let pos = input.voxel()?;
        if mip > MAX_FAR_MIP {
            return input.wrong("a block is beyond the limits of the grid");
        }
        let parent = MipBlock { mip: mip + 1, pos };
        let mut sent = 0;
        Ok(Family { parent, children: take_children(parent, input, &mut sent)? })
    }
}

fn add_blocks(parent: MipBlock, children: &Children, out: &mut Vec<MipBlock>) {
    for (block, child) in parent.children().into_iter().zip(children) {
        if *child != FamilyChild::NotSent {
            out.push(block);
        }
        if let FamilyChild::GroundOver(below) = child {
            add_blocks(block, below, out);
        }
    }
}

/// Appends the kinds of eight blocks in three bits each, then the data of each.
fn put_children(parent: MipBlock, children: &Children, out: &mut Vec<u8>) {
    let kinds = (0..).zip(children).fold(0, |all, (at, child)| all | child.kind() << (3 * at));
    out.extend_from_slice(&u32::to_le_bytes(kinds)[..3]);
    for (block, child) in parent.children().into_iter().zip(children) {
        match child {
            FamilyChild::NotSent | FamilyChild::Ground => {}
            FamilyChild::GroundOver(below) => put_children(block, below, out),
            FamilyChild::Refined { check, code } => {
                out.extend(check.to_le_bytes());
                put_bytes(code, out);
            }
            FamilyChild::Made { marker, region, code } => {
                out.push(*marker);
                put_region_in(block, *region, out);
                put_bytes(code, out);
            }
        }
    }
}

/// Reads eight blocks, at least one of which was sent; in all at most [`MAX_SENT`] may be.
fn take_children(
    parent: MipBlock,
    input: &mut Input<'_>,
    sent: &mut usize,
) -> Result<Children, MessageError> {
    if !parent.within_limits() {
        return input.wrong("a block is beyond the limits of the grid");
    }
    let [low, middle, high] = input.array()?;
    let kinds = u32::from_le_bytes([low, middle, high, 0]);
    if kinds == 0 {
        return input.wrong("a list of blocks is empty");
    }
    let mut children = Children::default();
    for (at, block) in parent.children().into_iter().enumerate() {
        children[at] = take_child(block, kinds >> (3 * at) & 7, input, sent)?;
    }
    Ok(children)
}

fn take_child(
    block: MipBlock,
    kind: u32,
    input: &mut Input<'_>,
    sent: &mut usize,
) -> Result<FamilyChild, MessageError> {
    *sent += usize::from(kind != 0);
    if *sent > MAX_SENT {
        return input.wrong("more than 4096 blocks in one message");
    }
    // No longer than the message, which is bounded.
    let code = |input: &mut Input<'_>| input.bytes(usize::MAX).map(<[u8]>::to_vec);
    Ok(match kind {
        0 => FamilyChild::NotSent,
        1 => FamilyChild::Ground,
        2 if block.mip > 0 => FamilyChild::GroundOver(Box::new(take_ground(block, input, sent)?)),
        3 => FamilyChild::Refined { check: u16::from_le_bytes(input.array()?), code: code(input)? },
        4 => {
            let (marker, region) = (input.byte()?, input.region_in(block)?);
            FamilyChild::Made { marker, region, code: code(input)? }
        }
        _ => return input.wrong("an unknown kind of block"),
    })
}

/// Reads eight blocks that are as they are made, if they were sent.
fn take_ground(
    block: MipBlock,
    input: &mut Input<'_>,
    sent: &mut usize,
) -> Result<Children, MessageError> {
    let below = take_children(block, input, sent)?;
    match below.iter().all(|child| matches!(child.kind(), 0..=2)) {
        true => Ok(below),
        false => input.wrong("cells below a block that has none"),
    }
}
