//! What a guest holds, as bytes for its next visit.
//!
//! `docs/format.md` has every byte. The host compares digests of the cells, so one that is old, damaged
//! or of another world shows nothing wrong. Only blocks that are of interest are asked for.

use super::guest::Guest;
use super::interest::{Interest, WatchedFrom};
use super::replica::{BlockState, GroundMaker, Replica};
use super::wire::{Input, MessageError, put_block, put_bytes, put_varint};
use super::world_info::{put_info, take_info};
use crate::codec::BitRle;
use crate::terrain::Placement;
use crate::voxel::{DenseBox, MipBlock};

/// The only version.
const VERSION: u8 = 1;

/// Maximum number of blocks of a cache.
const MAX_BLOCKS: usize = 1 << 14;

/// Maximum size of the code of a block in bytes: 32³ cells that do not compress fit.
const MAX_CODE: usize = 1 << 17;

impl Guest {
    /// Returns up to 16,384 of the blocks that are held as bytes, for [`Guest::use_cache`] in a later
    /// visit: coarse ones, and those near the viewers. Empty before [`Guest::start`]. Takes some 20 µs
    /// for each block with cells.
    pub fn cache(&self) -> Vec<u8> {
        let (Some(info), Some(replica)) = (&self.info, &self.replica) else { return Vec::new() };
        let mut out = vec![VERSION];
        put_info(info, &mut out);
        out.push(u8::from(replica.maker.makes_ground));
        let held = replica.blocks.keys().copied();
        let held = held.filter(|block| replica.blocks[block] != BlockState::Wanted);
        let viewers = self.watched.as_ref().map_or(&[][..], WatchedFrom::viewers);
        let mut blocks = Interest::coarse_first(held, viewers);
        blocks.truncate(MAX_BLOCKS);
        put_varint(blocks.len() as u64, &mut out);
        let coder = BitRle { kinds: replica.grid.materials().kinds() };
        let (mut cells, mut code) = (DenseBox::default(), Vec::new());
        for block in blocks {
            code.clear();
            if replica.blocks[&block].stale() == BlockState::Stale
                && replica.read_own(block, &mut cells)
            {
                coder.encode_box(&cells, &mut code);
            }
            put_block(block, &mut out);
            put_bytes(&code, &mut out);
        }
        out
    }

    /// Takes what [`Guest::cache`] returned in an earlier visit, before [`Guest::start`]: of the
    /// blocks in it, only those that changed since are sent. It asks for each by a digest of its cells,
    /// so it pays where much was built or the world has no generator: ground that was never edited takes
    /// next to nothing either way. It is dropped if generator, scale, origin, materials or coarsest mip
    /// of the world have changed. Takes memory in proportion to the cells, at most 16,384 blocks.
    ///
    /// # Errors
    /// [`MessageError`] if the bytes are not those of a cache; nothing is then changed.
    pub fn use_cache(&mut self, bytes: &[u8]) -> Result<(), MessageError> {
        if self.is_started || bytes.is_empty() {
            return Ok(());
        }
        self.replica = Some(read_cache(bytes)?);
        Ok(())
    }
}

fn read_cache(bytes: &[u8]) -> Result<Replica, MessageError> {
    let mut input = Input::new(bytes);
    if input.byte()? != VERSION {
        return input.wrong("an unknown version of the cache");
    }
    let info = take_info(&mut input)?;
    let makes_ground = input.flag()?;
    let placement = Placement { voxel_size_m: info.voxel_size_m, origin_m: info.origin_m };
    let mut replica = Replica::new(&info, GroundMaker { placement, makes_ground });
    let kinds = *info.materials.kinds();
    let count = input.count(5)?;
    if count > MAX_BLOCKS {
        return input.wrong("a cache of more than 16384 blocks");
    }
    for _ in 0..count {
        let block: MipBlock = input.block()?;
        let code = input.bytes(MAX_CODE)?;
        let is_below = replica.blocks.contains_key(&block.parent());
        if block.mip > info.max_mip || block.mip < info.max_mip && !is_below {
            return input.wrong("a block without the coarser ones over it");
        }
        let mut state = BlockState::StaleGround;
        if !code.is_empty() {
            state = BlockState::Stale;
            let mut cells = DenseBox::new(block.cells());
            match (BitRle { kinds: &kinds }).decode_box(code, &mut cells) {
                Ok(read) if read == code.len() => replica.put(block, &cells),
                _ => return input.wrong("the cells of a block are invalid"),
            }
        }
        replica.blocks.insert(block, state);
    }
    input.finish()?;
    Ok(replica)
}
