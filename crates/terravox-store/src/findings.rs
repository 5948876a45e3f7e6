//! Damaged parts of a world, in memory linear in the file, texts at most 1 MiB.
//!
//! Most take some dozens of bytes. Those with a text of their own, such as a name, take up to a
//! kilobyte, and a forged file has one for each thirty bytes: once the texts fill 1 MiB, further
//! ones are only counted.

use crate::error::{BadPart, StoredPart};
use crate::value::ValueError;
use std::borrow::Cow;

/// Bytes of texts of all parts together.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The damaged parts that a pass over a world found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    parts: Vec<BadPart>,
    text_bytes: usize,
    /// Parts that were only counted; those of the index apart.
    unnamed: usize,
    unnamed_of_index: usize,
}

impl Findings {
    /// Adds a part, or counts it.
    pub fn push(&mut self, part: BadPart) {
        let text = text_bytes(&part);
        if text == 0 || self.text_bytes + text <= MAX_TEXT_BYTES {
            self.text_bytes += text;
            self.parts.push(part);
        } else {
            match part.part {
                StoredPart::Index => self.unnamed_of_index += 1,
                _ => self.unnamed += 1,
            }
        }
    }

    /// Adds a part unless it equals the last one: any number of keys may be wrong.
    pub fn push_unless_last(&mut self, part: BadPart) {
        if self.parts.last() != Some(&part) {
            self.push(part);
        }
    }

    /// Adds a part unless an equal one is present. Compares with all: for a few parts only.
    pub fn push_unless_present(&mut self, part: BadPart) {
        if !self.parts.contains(&part) {
            self.push(part);
        }
    }

    /// Adds what another pass found, without lost parts of the index.
    pub fn append_without_index(&mut self, other: Findings) {
        let parts = other.parts.into_iter().filter(|bad| bad.part != StoredPart::Index);
        parts.for_each(|part| self.push(part));
        self.unnamed += other.unnamed;
    }

    /// Returns all parts; last, how many were only counted.
    pub fn into_parts(self) -> Vec<BadPart> {
        let mut parts = self.parts;
        let unnamed = self.unnamed + self.unnamed_of_index;
        if unnamed > 0 {
            let what = format!("{unnamed} more parts are damaged or lost, too many to name");
            parts.push(BadPart {
                part: StoredPart::Index,
                what: ValueError::Unreadable(what.into()),
            });
        }
        parts
    }
}

impl Extend<BadPart> for Findings {
    fn extend<T: IntoIterator<Item = BadPart>>(&mut self, parts: T) {
        parts.into_iter().for_each(|part| self.push(part));
    }
}

/// Bytes of a part besides its own size.
fn text_bytes(BadPart { part, what }: &BadPart) -> usize {
    let name = if let StoredPart::Extra(name) = part { name.len() } else { 0 };
    let text = if let ValueError::Unreadable(Cow::Owned(text)) = what { text.len() } else { 0 };
    name + text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_takes_some_dozens_of_bytes_and_texts_are_bounded() {
        assert!(size_of::<BadPart>() <= 96, "{} bytes", size_of::<BadPart>());
        let mut found = Findings::default();
        let named = |i: usize| BadPart {
            part: StoredPart::Extra(format!("{i:0>250}")),
            what: ValueError::Checksum,
        };
        found.extend((0..10_000).map(named));
        let chunk = BadPart { part: StoredPart::Table("cells"), what: ValueError::Key };
        found.push(chunk.clone());
        let parts = found.into_parts();
        let kept = MAX_TEXT_BYTES / 250;
        assert_eq!(parts.len(), kept + 2);
        assert_eq!(parts[kept], chunk);
        let last = format!(
            "the index of the file: {} more parts are damaged or lost, too many to name",
            10_000 - kept
        );
        assert_eq!(parts[kept + 1].to_string(), last);
    }

    #[test]
    fn what_was_only_counted_of_the_index_is_not_added_twice() {
        let lost = |text: String| BadPart {
            part: StoredPart::Index,
            what: ValueError::Unreadable(text.into()),
        };
        let (mut first, mut second) = (Findings::default(), Findings::default());
        let key = BadPart { part: StoredPart::Table("cells"), what: ValueError::Key };
        second.extend([lost("x".repeat(MAX_TEXT_BYTES)), lost("y".to_owned()), key.clone()]);
        second.push_unless_last(key.clone());
        first.append_without_index(second);
        first.push_unless_present(key.clone());
        assert_eq!(first.into_parts(), [key]);
    }
}
