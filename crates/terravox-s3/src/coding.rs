//! Numbers and keys as the objects of a published world hold them, read with bounds.

use std::fmt;

/// Longest key of a record, as in a world file.
pub(crate) const MAX_KEY_BYTES: usize = 256;

/// What is wrong with bytes that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FormatFault {
    /// Offset of the field.
    pub at: usize,
    pub what: &'static str,
}

impl fmt::Display for FormatFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.what)
    }
}

/// Writes a number: seven bits a byte, lowest first; the highest bit says that more follow.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes what a key adds to the one before it.
pub(crate) fn put_key(out: &mut Vec<u8>, before: &[u8], key: &[u8]) {
    let shared = before.iter().zip(key).take_while(|(a, b)| a == b).count();
    put_number(out, shared as u64);
    put_number(out, (key.len() - shared) as u64);
    out.extend_from_slice(&key[shared..]);
}

/// Bytes that are read from their start.
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { bytes, at: 0 }
    }

    /// The offset of what comes next.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub fn fault<T>(&self, what: &'static str) -> Result<T, FormatFault> {
        Err(FormatFault { at: self.at, what })
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], FormatFault> {
        match self.bytes[self.at..].get(..count) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => self.fault("it ends early"),
        }
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatFault> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn u64(&mut self) -> Result<u64, FormatFault> {
        self.array().map(u64::from_le_bytes)
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// A number of at most `limit`, in its shortest form.
    pub fn number(&mut self, limit: u64) -> Result<u64, FormatFault> {
        let start = self.at;
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return match number <= limit {
                    true => Ok(number),
                    false => Err(FormatFault { at: start, what: "a number is too large" }),
                };
            }
        }
        Err(FormatFault { at: start, what: "a number is not in its shortest form" })
    }

    /// Makes `key` the next key, of which it is the one before; keys ascend.
    pub fn next_key(&mut self, key: &mut Vec<u8>, is_first: bool) -> Result<(), FormatFault> {
        let start = self.at;
        let shared = self.number(key.len() as u64)? as usize;
        let added = self.number((MAX_KEY_BYTES - shared) as u64)? as usize;
        let added = self.take(added)?;
        let ascends = is_first || key[shared..] < *added;
        if !ascends || shared + added.len() == 0 {
            return Err(FormatFault { at: start, what: "a key is empty or not above the last" });
        }
        key.truncate(shared);
        key.extend_from_slice(added);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_one_form_and_limits() {
        let read = |bytes: &[u8], limit| Input::new(bytes).number(limit);
        assert_eq!(read(&[0x80], 9).unwrap_err().what, "it ends early");
        assert_eq!(read(&[10], 9).unwrap_err().what, "a number is too large");
        assert_eq!(read(&[0x80, 0], 9).unwrap_err().what, "a number is not in its shortest form");
        assert_eq!(read(&[0xff; 11], u64::MAX).unwrap_err().at, 0);
        let mut most = Vec::new();
        put_number(&mut most, u64::MAX);
        assert_eq!((read(&most, u64::MAX), most.len()), (Ok(u64::MAX), 10));
    }

    proptest! {
        #[test]
        fn numbers_come_back(number in any::<u64>(), shift in 0..64u32) {
            let (number, mut bytes) = (number >> shift, Vec::new());
            put_number(&mut bytes, number);
            let mut input = Input::new(&bytes);
            prop_assert_eq!(input.number(u64::MAX), Ok(number));
            prop_assert!(input.is_at_end());
        }

        #[test]
        fn keys_come_back_in_order(mut keys in prop::collection::btree_set(
            prop::collection::vec(0..3u8, 1..20), 1..20,
        )) {
            let (mut bytes, mut before) = (Vec::new(), Vec::new());
            for key in &keys {
                put_key(&mut bytes, &before, key);
                before.clone_from(key);
            }
            let (mut input, mut key) = (Input::new(&bytes), Vec::new());
            let mut is_first = true;
            while !input.is_at_end() {
                input.next_key(&mut key, is_first).unwrap();
                prop_assert_eq!(keys.pop_first(), Some(key.clone()));
                is_first = false;
            }
            prop_assert!(keys.is_empty());
        }
    }
}
