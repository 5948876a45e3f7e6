//! Bits in bytes, lowest bit of the first byte first.

/// Appends bits to bytes.
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    word: u64,
    used: u32,
}

impl BitWriter<'_> {
    pub fn new(out: &mut Vec<u8>) -> BitWriter<'_> {
        BitWriter { out, word: 0, used: 0 }
    }

    /// Appends the low `count` bits of `value`, at most 32; the others are 0.
    #[inline]
    pub fn put(&mut self, value: u32, count: u32) {
        debug_assert!(count <= 32 && u64::from(value) >> count == 0);
        self.word |= u64::from(value) << self.used;
        self.used += count;
        if self.used >= 32 {
            self.out.extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.used -= 32;
        }
    }

    /// Appends a number by an exponential Golomb code of order `order`.
    #[inline]
    pub fn put_golomb(&mut self, number: u32, order: u32) {
        let high = (number >> order) + 1;
        let width = high.ilog2();
        self.put(0, width);
        self.put(1, 1);
        self.put(high - (1 << width), width);
        self.put(number & ((1 << order) - 1), order);
    }

    /// Fills the last byte with zeros.
    pub fn finish(self) {
        let bytes = self.used.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.word.to_le_bytes()[..bytes]);
    }
}

/// Takes bits from bytes. Behind their end come zeros.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The next bit.
    pub at: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, at: 0 }
    }

    /// Whether more bits were taken than there are.
    pub fn is_over(&self) -> bool {
        self.at > 8 * self.bytes.len()
    }

    /// Returns the next 57 bits, and perhaps some behind them.
    #[inline]
    fn window(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => {
                let mut word = [0; 8];
                word[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(word)
            }
        };
        word >> (self.at % 8)
    }

    /// Takes `count` bits, at most 32.
    #[inline]
    pub fn take(&mut self, count: u32) -> u32 {
        let value = self.window() & ((1 << count) - 1);
        self.at += count as usize;
        value as u32
    }

    /// Takes ones up to the first zero, which is taken too, but no more than `most` bits; returns
    /// the number of ones.
    #[inline]
    pub fn take_ones(&mut self, most: u32) -> u32 {
        let ones = self.window().trailing_ones().min(most);
        self.at += (ones + u32::from(ones < most)) as usize;
        ones
    }

    /// Takes a number by an exponential Golomb code of order `order`; `None` if it has more than 24
    /// high bits.
    #[inline]
    pub fn take_golomb(&mut self, order: u32) -> Option<u32> {
        let width = self.window().trailing_zeros();
        self.at += width as usize + 1;
        if width > 24 {
            return None;
        }
        let high = (1 << width) - 1 + self.take(width);
        Some((high << order) + self.take(order))
    }

    /// Ends at the next whole byte and returns its offset; `None` if a bit before it is set.
    pub fn finish(mut self) -> Option<usize> {
        let padding = (8 - self.at % 8) % 8;
        (self.take(padding as u32) == 0).then_some(self.at / 8)
    }
}
