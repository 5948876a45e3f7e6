//! One stream of a link, as its end receives it: frames in any order become messages in order.

use super::PipeError;
use super::message::MAX_MESSAGE;
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of bytes that a peer may be sent beyond what it has read.
pub(super) const WINDOW: u64 = 1 << 18;

/// Frames that wait for an earlier one: more than ever fill the window.
const MAX_PIECES: usize = 1024;

/// Maximum size of the length of a message in bytes.
const MAX_LENGTH_BYTES: usize = 3;

/// What has arrived of a stream.
#[derive(Default)]
pub(super) struct ReceiveStream {
    /// In order, not yet read.
    pub bytes: VecDeque<u8>,
    /// Offset of the next byte in order.
    pub next: u64,
    /// Beyond it, by offset.
    pub later: BTreeMap<u64, Vec<u8>>,
    pub later_bytes: u64,
    /// Offset of the next byte to be read.
    pub read: u64,
    /// How far the peer was told that it may send.
    pub told: u64,
}

impl ReceiveStream {
    /// Takes a frame; false if the peer sent more than it may.
    pub fn put(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let end = offset.saturating_add(bytes.len() as u64);
        if end > self.read + 2 * WINDOW {
            return false;
        }
        if end <= self.next {
            return true;
        }
        let before = self.later.range(..=offset).next_back();
        if before.is_some_and(|(&from, piece)| from + piece.len() as u64 >= end) {
            return true;
        }
        let longest = self.later.get(&offset).map_or(0, Vec::len);
        if self.later.len() >= MAX_PIECES || self.later_bytes + bytes.len() as u64 > 4 * WINDOW {
            return false;
        }
        if bytes.len() > longest {
            self.later.insert(offset, bytes.to_vec());
            self.later_bytes += (bytes.len() - longest) as u64;
        }
        while let Some(entry) = self.later.first_entry() {
            if *entry.key() > self.next {
                break;
            }
            let (offset, bytes) = entry.remove_entry();
            self.later_bytes -= bytes.len() as u64;
            let known = (self.next - offset) as usize;
            if known < bytes.len() {
                self.bytes.extend(&bytes[known..]);
                self.next = offset + bytes.len() as u64;
            }
        }
        true
    }

    /// Takes the next whole message. Messages begin with their length, a varint.
    pub fn message(&mut self) -> Result<Option<Vec<u8>>, PipeError> {
        let (mut length, mut head) = (0, 0);
        loop {
            let Some(&byte) = self.bytes.get(head) else { return Ok(None) };
            length |= usize::from(byte & 0x7F) << (7 * head);
            head += 1;
            if byte < 0x80 {
                if byte == 0 && head > 1 {
                    // As every number, it has one code.
                    return Err(PipeError::Invalid);
                }
                break;
            }
            if head == MAX_LENGTH_BYTES {
                return Err(PipeError::TooLong);
            }
        }
        if length > MAX_MESSAGE {
            return Err(PipeError::TooLong);
        }
        if self.bytes.len() < head + length {
            return Ok(None);
        }
        self.bytes.drain(..head);
        self.read += (head + length) as u64;
        Ok(Some(self.bytes.drain(..length).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_message_has_one_code() {
        let message = |bytes: &[u8]| {
            ReceiveStream { bytes: bytes.iter().copied().collect(), ..ReceiveStream::default() }
                .message()
        };
        assert_eq!(message(&[3, 0, 5, 0]), Ok(Some(vec![0, 5, 0])));
        assert_eq!(message(&[0]), Ok(Some(Vec::new())));
        assert_eq!(message(&[0x83, 0x00, 0, 5, 0]), Err(PipeError::Invalid));
        assert_eq!(message(&[0x83]), Ok(None));
    }
}
