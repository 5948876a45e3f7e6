//! The first bytes of an LZ4 block, without unpacking the rest: enough to see what a chunk of a
//! file is. Time is proportional to the bytes requested and the length bytes before them, whatever
//! the block claims.
//!
//! Source: the LZ4 block format description.

/// Shortest match.
const MIN_MATCH: usize = 4;

/// Unpacks the first bytes of `packed` into `out`. Returns how many: all of `out`, unless the
/// block is shorter; `None` if the block is damaged before that.
pub(super) fn unpack_prefix(packed: &[u8], out: &mut [u8]) -> Option<usize> {
    let (mut at, mut length) = (0, 0);
    while length < out.len() {
        let token = *packed.get(at)?;
        at += 1;
        let room = out.len() - length;
        let literals = read_length(packed, &mut at, token >> 4)?;
        let copied = literals.min(room);
        out[length..length + copied].copy_from_slice(packed.get(at..at + copied)?);
        length += copied;
        at = at.checked_add(literals)?;
        // The last sequence has no match.
        if length == out.len() || at == packed.len() {
            break;
        }
        let offset = packed.get(at..at + 2)?;
        let offset = usize::from(u16::from_le_bytes([offset[0], offset[1]]));
        at += 2;
        let room = out.len() - length;
        let matched = MIN_MATCH + read_length(packed, &mut at, token & 15)?;
        if offset == 0 || offset > length {
            return None;
        }
        // Matches may overlap what they write.
        for _ in 0..matched.min(room) {
            out[length] = out[length - offset];
            length += 1;
        }
    }
    Some(length)
}

/// Reads a length that starts with the four bits `start`.
fn read_length(packed: &[u8], at: &mut usize, start: u8) -> Option<usize> {
    let mut length = usize::from(start);
    let mut byte = if start == 15 { 255 } else { 0 };
    while byte == 255 {
        byte = *packed.get(*at)?;
        *at += 1;
        length += usize::from(byte);
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix(packed: &[u8], length: usize) -> Option<Vec<u8>> {
        let mut out = vec![0; length];
        let found = unpack_prefix(packed, &mut out)?;
        out.truncate(found);
        Some(out)
    }

    /// Bytes with repetitions of all distances.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let part = (prop::collection::vec(0..4u8, 1..40), 1..60usize)
            .prop_map(|(bytes, count)| bytes.repeat(count));
        prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn the_prefix_of_what_lz4_packed_is_that_of_the_text(text in text(), length in 0..300usize) {
            let packed = lz4_flex::block::compress(&text);
            let expected = &text[..length.min(text.len())];
            prop_assert_eq!(prefix(&packed, length), Some(expected.to_vec()));
        }

        /// Where both unpack the whole block they agree.
        #[test]
        fn on_any_bytes_it_agrees_with_the_whole_decoder(
            packed in prop::collection::vec(prop_oneof![0..32u8, any::<u8>()], 0..60),
        ) {
            let mut whole = vec![0; 4096];
            if let Ok(length) = lz4_flex::block::decompress_into(&packed, &mut whole) {
                prop_assert_eq!(prefix(&packed, 4096), Some(whole[..length].to_vec()));
            }
            for length in [1, 16, 128] {
                if let Some(prefix) = prefix(&packed, length) {
                    prop_assert!(prefix.len() <= length);
                }
            }
        }
    }

    #[test]
    fn long_runs_are_not_unpacked() {
        let text = vec![7; 1 << 20];
        let packed = lz4_flex::block::compress(&text);
        assert_eq!(prefix(&packed, 128), Some(vec![7; 128]));
        // The rest is not read either.
        let noise: Vec<u8> = (0..4000u32).map(|i| ((i * i) >> 5) as u8).collect();
        let packed = lz4_flex::block::compress(&noise);
        assert_eq!(prefix(&packed[..200], 128).as_deref(), Some(&noise[..128]));
        assert_eq!(prefix(&[0x10], 4), None);
        assert_eq!(prefix(&[0x10, 1, 0, 0, 0], 9), None, "a match at distance 0");
    }
}
