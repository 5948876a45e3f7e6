//! The time of a point, as LAZ compresses it: a point's other fields follow it in one stream, so it is
//! decoded, and not used.
//!
//! The decoder of `laz` calls itself for each switch between sequences, and a stream can have millions in
//! a few bytes. Source: Isenburg, "LASzip: lossless compression of LiDAR data" (2013).

use laz::decoders::ArithmeticDecoder;
use laz::decompressors::{IntegerDecompressor, IntegerDecompressorBuilder};
use laz::models::{ArithmeticModel, ArithmeticModelBuilder};
use laz::record::FieldDecompressor;
use std::io::{self, Read};

/// Symbols of a difference as a multiple of the last one: beyond the largest multiple come those below
/// zero, an unchanged time, one in full, and switches to the three other sequences.
const LARGEST_MULTIPLE: u32 = 500;
const UNCHANGED: u32 = 511;
const IN_FULL: u32 = 512;
const SYMBOLS: u32 = 516;
/// The same after a difference of zero.
const DIFFERENCE_AFTER_ZERO: u32 = 1;
const IN_FULL_AFTER_ZERO: u32 = 2;
const SYMBOLS_AFTER_ZERO: u32 = 6;
/// The lowest multiple.
const LOWEST_MULTIPLE: i32 = -10;
/// Extreme multiples after which a sequence has a new difference.
const MAX_EXTREMES: u32 = 3;
/// Switches before a time; compressors need one.
const MAX_SWITCHES: usize = 4;

/// Times of points that take turns, such as those of one scanner.
#[derive(Clone, Copy, Default)]
struct Sequence {
    time: i64,
    difference: i32,
    /// How often in a row the difference was an extreme multiple of the last one.
    extremes: u32,
}

/// Decodes times.
pub(super) struct GpsTimes {
    multiples: ArithmeticModel,
    after_zero: ArithmeticModel,
    integers: IntegerDecompressor,
    sequences: [Sequence; 4],
    last: usize,
    newest: usize,
}

impl Default for GpsTimes {
    fn default() -> GpsTimes {
        GpsTimes {
            multiples: ArithmeticModelBuilder::new(SYMBOLS).build(),
            after_zero: ArithmeticModelBuilder::new(SYMBOLS_AFTER_ZERO).build(),
            integers: IntegerDecompressorBuilder::new().bits(32).contexts(9).build_initialized(),
            sequences: Default::default(),
            last: 0,
            newest: 0,
        }
    }
}

impl GpsTimes {
    /// Decodes what follows in the sequence of the last point; returns whether that was a time, and not
    /// a switch to another sequence.
    fn step<R: Read>(&mut self, decoder: &mut ArithmeticDecoder<R>) -> io::Result<bool> {
        let Sequence { difference, .. } = self.sequences[self.last];
        let (symbol, in_full) = match difference {
            0 => (decoder.decode_symbol(&mut self.after_zero)?, IN_FULL_AFTER_ZERO),
            _ => (decoder.decode_symbol(&mut self.multiples)?, IN_FULL),
        };
        if symbol > in_full {
            self.last = (self.last + (symbol - in_full) as usize) % self.sequences.len();
            return Ok(false);
        }
        if symbol == in_full {
            self.start_sequence(decoder)?;
            return Ok(true);
        }
        let sequence = &mut self.sequences[self.last];
        match (difference, symbol) {
            (0, DIFFERENCE_AFTER_ZERO) => {
                let by = self.integers.decompress(decoder, 0, 0)?;
                *sequence = Sequence {
                    time: sequence.time.wrapping_add(by.into()),
                    difference: by,
                    extremes: 0,
                };
            }
            (0, _) | (_, UNCHANGED) => {}
            _ => {
                let Multiple { times, context, is_extreme } = Multiple::of(symbol);
                let expected = difference.wrapping_mul(times);
                let by = self.integers.decompress(decoder, expected, context)?;
                sequence.time = sequence.time.wrapping_add(by.into());
                if symbol == 1 {
                    sequence.extremes = 0;
                } else if is_extreme {
                    sequence.extremes += 1;
                    if sequence.extremes > MAX_EXTREMES {
                        (sequence.difference, sequence.extremes) = (by, 0);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Starts a sequence with a time in full, instead of the oldest.
    fn start_sequence<R: Read>(&mut self, decoder: &mut ArithmeticDecoder<R>) -> io::Result<()> {
        let near = (self.sequences[self.last].time >> 32) as i32;
        let high = self.integers.decompress(decoder, near, 8)?;
        let low = decoder.read_int()?;
        self.newest = (self.newest + 1) % self.sequences.len();
        self.last = self.newest;
        let time = i64::from(high) << 32 | i64::from(low);
        self.sequences[self.last] = Sequence { time, ..Sequence::default() };
        Ok(())
    }
}

/// How a difference follows from the last one.
struct Multiple {
    times: i32,
    /// Context of what is left.
    context: u32,
    is_extreme: bool,
}

impl Multiple {
    fn of(symbol: u32) -> Multiple {
        let below_zero = LARGEST_MULTIPLE as i32 - symbol as i32;
        let (times, context, is_extreme) = match symbol {
            0 => (0, 7, true),
            1 => (1, 1, false),
            2..10 => (symbol as i32, 2, false),
            10..LARGEST_MULTIPLE => (symbol as i32, 3, false),
            LARGEST_MULTIPLE => (symbol as i32, 4, true),
            _ if below_zero > LOWEST_MULTIPLE => (below_zero, 5, false),
            _ => (LOWEST_MULTIPLE, 6, true),
        };
        Multiple { times, context, is_extreme }
    }
}

impl<R: Read> FieldDecompressor<R> for GpsTimes {
    fn size_of_field(&self) -> usize {
        size_of::<i64>()
    }

    fn decompress_first(&mut self, from: &mut R, first: &mut [u8]) -> io::Result<()> {
        let mut bytes = [0; 8];
        from.read_exact(&mut bytes)?;
        self.sequences[0].time = i64::from_le_bytes(bytes);
        first.copy_from_slice(&bytes);
        Ok(())
    }

    fn decompress_with(
        &mut self,
        decoder: &mut ArithmeticDecoder<R>,
        to: &mut [u8],
    ) -> io::Result<()> {
        for _ in 0..=MAX_SWITCHES {
            if self.step(decoder)? {
                to.copy_from_slice(&self.sequences[self.last].time.to_le_bytes());
                return Ok(());
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "the times of points switch without end"))
    }
}
