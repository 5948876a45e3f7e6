//! What a frame of Zstandard costs besides its bytes.
//!
//! A block may bring three tables of codes and give three bytes: sixteen bytes of a file that take more
//! than twenty microseconds. Blocks say how long they are, so they can be counted before any is unpacked.
//!
//! Source: RFC 8878, 3.1.1.

/// First bytes of a frame.
pub(crate) const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// Units of work of a block that is packed, for its tables.
const TABLES_WORK: u64 = 24_000;
/// Units of work of any block.
const BLOCK_WORK: u64 = 256;
/// Bytes of the header of a block.
const BLOCK_HEADER_BYTES: usize = 3;

/// Returns the length of the header of a frame; `None` if it is no frame, or cut short.
pub(crate) fn header_bytes(frame: &[u8]) -> Option<usize> {
    let descriptor = *frame.strip_prefix(&MAGIC)?.first()?;
    let has_window = descriptor & 0x20 == 0;
    let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_bytes = match descriptor >> 6 {
        0 => usize::from(!has_window),
        log2 => 1 << log2,
    };
    let bytes = 5 + usize::from(has_window) + dictionary_bytes + content_bytes;
    (frame.len() >= bytes).then_some(bytes)
}

/// Returns the units of work of each block, in their order. They follow the header.
pub(crate) fn block_works(frame: &[u8]) -> impl Iterator<Item = u64> {
    let mut rest = header_bytes(frame).and_then(|start| frame.get(start..));
    std::iter::from_fn(move || {
        let (&[flags, middle, high], content) = rest?.split_first_chunk::<BLOCK_HEADER_BYTES>()?;
        let size = usize::from(flags >> 3) | usize::from(middle) << 5 | usize::from(high) << 13;
        let (stored, work) = match flags >> 1 & 3 {
            1 => (1, BLOCK_WORK),
            2 => (size, BLOCK_WORK + TABLES_WORK),
            _ => (size, BLOCK_WORK),
        };
        let is_last = flags & 1 == 1;
        rest = content.get(stored..).filter(|_| !is_last);
        Some(work)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// A block with a table for each of its three codes, which gives three bytes.
    pub(crate) fn costly_block() -> Vec<u8> {
        // A table of one symbol that takes all of 2ⁿ places.
        let table = |log2: u32| {
            let most = (1u32 << log2) + 1;
            let bits = u32::BITS - most.leading_zeros();
            let value = most + (1 << bits) - 1 - most;
            let word = (log2 - 5) | (value << 4);
            word.to_le_bytes()[..(4 + bits as usize).div_ceil(8)].to_vec()
        };
        let start = 1u32 << 26;
        let content =
            [&[0, 1, 0xA8][..], &table(9), &table(8), &table(9), &start.to_le_bytes()].concat();
        let header = (2 << 1 | content.len() << 3) as u32;
        [&header.to_le_bytes()[..3], &content].concat()
    }

    #[test]
    fn each_block_of_a_frame_is_counted() {
        let text: Vec<u8> = (0..300_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8 & 15).collect();
        let packed = compress_to_vec(&text[..], CompressionLevel::Fastest);
        let works: Vec<u64> = block_works(&packed).collect();
        assert_eq!(works, [BLOCK_WORK + TABLES_WORK; 3]);
        let plain = compress_to_vec(&text[..], CompressionLevel::Uncompressed);
        assert_eq!(block_works(&plain).collect::<Vec<_>>(), [BLOCK_WORK; 3]);
        for end in 0..40 {
            assert!(block_works(&packed[..end]).count() <= 1);
        }
        assert_eq!(block_works(b"no frame").count(), 0);
    }
}
