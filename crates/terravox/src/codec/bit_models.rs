//! Coding of single decisions, each by several adaptive predictions: a binary range coder, models
//! of contexts, and a mixer.
//!
//! A model is the probability of yes in one context; it adapts fast at first, then slower. The
//! mixer sums the predictions of a decision's models, as logarithms of odds, by weights that adapt,
//! too. Only integers, so that both sides predict the same.
//!
//! Source: M. Mahoney, `lpaq1` (2007): the mixer, its tables and the range coder without carries.

/// Maximum number of contexts of a decision.
pub(super) const MAX_CONTEXTS: usize = 8;

/// Sets of weights.
const SETS: usize = 128;

/// Models, by a hash of their contexts. Two contexts may share one, which costs some bits.
const MODELS_LOG2: u32 = 17;

/// Decisions after which a model learns no slower.
const MAX_SEEN: usize = 60;

/// Bounds of a model, in 2⁻¹⁶.
const SURE: u32 = 20;

/// Largest weight, in 2⁻¹⁶.
const MAX_WEIGHT: i32 = 8 << 16;

/// How fast a model that has seen this many decisions learns: 1 / (seen + 1.6), in 2⁻¹⁶.
const RATES: [u32; MAX_SEEN + 1] = {
    let mut rates = [0; MAX_SEEN + 1];
    let mut seen = 0;
    while seen <= MAX_SEEN {
        rates[seen] = 655_360 / (10 * seen as u32 + 16);
        seen += 1;
    }
    rates
};

/// How much such a model counts: seen / (seen + 1.5), in 2⁻⁸.
const TRUST: [i32; MAX_SEEN + 1] = {
    let mut trust = [0; MAX_SEEN + 1];
    let mut seen = 0;
    while seen <= MAX_SEEN {
        trust[seen] = 512 * seen as i32 / (2 * seen as i32 + 3);
        seen += 1;
    }
    trust
};

/// 4096 / (1 + e^−x) for x from −8 to 8 in steps of 1/2.
pub(super) const LOGISTIC: [i32; 33] = [
    1, 2, 3, 6, 10, 16, 27, 45, 73, 120, 194, 310, 488, 747, 1101, 1546, 2047, 2549, 2994, 3348,
    3607, 3785, 3901, 3975, 4022, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094,
];

/// The probability of odds, in 2⁻¹², 1 to 4,094. The odds are their logarithm in 1/256.
const fn probability(log_odds: i32) -> i32 {
    if log_odds >= 2047 {
        return 4094;
    }
    if log_odds <= -2047 {
        return 1;
    }
    let (step, part) = ((log_odds >> 7) + 16, log_odds & 127);
    let (low, high) = (LOGISTIC[step as usize], LOGISTIC[step as usize + 1]);
    (low * (128 - part) + high * part + 64) >> 7
}

/// The logarithm of the odds of each probability: the smallest that gives it.
const LOG_ODDS: [i16; 4096] = {
    let mut table = [0; 4096];
    let (mut log_odds, mut next) = (-2047, 0);
    while log_odds <= 2047 {
        let reached = probability(log_odds);
        while next <= reached {
            table[next as usize] = log_odds as i16;
            next += 1;
        }
        log_odds += 1;
    }
    while next < 4096 {
        table[next as usize] = 2047;
        next += 1;
    }
    table
};

/// Codes decisions with a given probability of yes, in 2⁻¹².
pub(super) trait Decisions {
    /// Codes a decision; a reader ignores `is_yes`.
    fn code(&mut self, yes: u32, is_yes: bool) -> bool;
}

/// Decisions that a model counts as at the start of a box, if it saw enough before.
const START_SEEN: i32 = 4;
const ENOUGH_SEEN: i32 = 30;

/// The models and weights of a box.
#[derive(Clone)]
pub(super) struct Models {
    /// The share of yes less a half, in 2⁻¹⁶, and below it how many decisions were seen, up to
    /// [`MAX_SEEN`], in a byte.
    table: Vec<i32>,
    /// Weights less those at first, in 2⁻¹⁶.
    weights: Vec<[i32; MAX_CONTEXTS]>,
}

impl Models {
    pub fn new() -> Models {
        Models { table: vec![0; 1 << MODELS_LOG2], weights: vec![[0; MAX_CONTEXTS]; SETS] }
    }

    /// Makes these the models that a box begins with: they keep what they learned, but adapt fast.
    pub fn settle(&mut self) {
        for model in &mut self.table {
            *model = match *model & 255 {
                ENOUGH_SEEN.. => *model & !255 | START_SEEN,
                _ => 0,
            };
        }
    }

    /// Codes a decision of a kind by its contexts, with the weights of a set.
    #[inline]
    pub fn code<D: Decisions, const N: usize>(
        &mut self,
        coder: &mut D,
        (kind, set): (u32, usize),
        contexts: [u32; N],
        is_yes: bool,
    ) -> bool {
        // Together a little more than one.
        let first = if N == 1 { 1 << 16 } else { (12 << 16) / (10 * N as i32) };
        let weights = &mut self.weights[set];
        let (mut places, mut inputs) = ([0; N], [0; N]);
        let mut sum = 0i64;
        for at in 0..N {
            places[at] = place_of(kind, at as u32, contexts[at]);
            let model = self.table[places[at]];
            let share = (model >> 8) + (1 << 15);
            let odds = i32::from(LOG_ODDS[(share >> 4) as usize]);
            inputs[at] = (odds * TRUST[(model & 255) as usize]) >> 8;
            sum += i64::from(inputs[at]) * i64::from(weights[at] + first);
        }
        let yes = probability((sum >> 16).clamp(-2047, 2047) as i32);
        let is_yes = coder.code(yes as u32, is_yes);
        let error = (i32::from(is_yes) << 12) - yes;
        for at in 0..N {
            let step = (inputs[at] * error * 5) >> 12;
            weights[at] = (weights[at] + step).clamp(-MAX_WEIGHT, MAX_WEIGHT);
            let model = &mut self.table[places[at]];
            *model = learned(*model, is_yes);
        }
        is_yes
    }
}

fn place_of(kind: u32, slot: u32, context: u32) -> usize {
    let key = u64::from(kind) << 40 | u64::from(slot) << 36 | u64::from(context);
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - MODELS_LOG2)) as usize
}

/// A model after one more decision.
fn learned(model: i32, is_yes: bool) -> i32 {
    let (share, seen) = (((model >> 8) + (1 << 15)) as u32, (model & 255) as usize);
    let rate = RATES[seen];
    let share = match is_yes {
        true => share + (((65_536 - share) * rate) >> 16),
        false => share - ((share * rate) >> 16),
    };
    let share = share.clamp(SURE, 65_536 - SURE) as i32;
    (share - (1 << 15)) << 8 | (seen + 1).min(MAX_SEEN) as i32
}

/// Appends decisions to bytes.
pub(super) struct DecisionWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    low: u32,
    high: u32,
}

impl DecisionWriter<'_> {
    pub fn new(out: &mut Vec<u8>) -> DecisionWriter<'_> {
        let start = out.len();
        DecisionWriter { out, start, low: 0, high: u32::MAX }
    }

    /// Writes the fewest bytes that hold all decisions. Beyond the end, readers take zeros.
    pub fn finish(self) {
        let round_up = |bytes: u32| u64::from(self.low).next_multiple_of(1 << (32 - 8 * bytes));
        let code = (0..=4).map(round_up).find(|&code| code <= u64::from(self.high));
        // With four bytes, it is `low`.
        let code = code.unwrap_or(u64::from(self.low)) as u32;
        self.out.extend(code.to_be_bytes());
        while self.out.len() > self.start && self.out.last() == Some(&0) {
            self.out.pop();
        }
    }
}

/// Where a range is split: the lower part is yes.
fn split(low: u32, high: u32, yes: u32) -> u32 {
    low + ((u64::from(high - low) * u64::from(yes)) >> 12) as u32
}

impl Decisions for DecisionWriter<'_> {
    #[inline]
    fn code(&mut self, yes: u32, is_yes: bool) -> bool {
        let middle = split(self.low, self.high, yes);
        match is_yes {
            true => self.high = middle,
            false => self.low = middle + 1,
        }
        while (self.low ^ self.high) >> 24 == 0 {
            self.out.push((self.high >> 24) as u8);
            self.low <<= 8;
            self.high = self.high << 8 | 255;
        }
        is_yes
    }
}

/// Takes decisions from bytes. Any bytes are some decisions.
pub(super) struct DecisionReader<'a> {
    bytes: &'a [u8],
    low: u32,
    high: u32,
    code: u32,
}

impl<'a> DecisionReader<'a> {
    pub fn new(bytes: &'a [u8]) -> DecisionReader<'a> {
        let mut reader = DecisionReader { bytes, low: 0, high: u32::MAX, code: 0 };
        (0..4).for_each(|_| reader.shift());
        reader
    }

    fn shift(&mut self) {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        self.code = self.code << 8 | u32::from(*first);
    }
}

impl Decisions for DecisionReader<'_> {
    #[inline]
    fn code(&mut self, yes: u32, _: bool) -> bool {
        let middle = split(self.low, self.high, yes);
        let is_yes = self.code <= middle;
        match is_yes {
            true => self.high = middle,
            false => self.low = middle + 1,
        }
        while (self.low ^ self.high) >> 24 == 0 {
            self.low <<= 8;
            self.high = self.high << 8 | 255;
            self.shift();
        }
        is_yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decisions_are_read_as_they_were_written(
            list in prop::collection::vec((0..4u32, any::<u8>()), 0..3000), odds: [u8; 4],
        ) {
            let decide = |&(at, roll): &(u32, u8)| (at, roll < odds[at as usize]);
            let mut bytes = vec![9];
            let mut models = Models::new();
            let mut writer = DecisionWriter::new(&mut bytes);
            for (at, is_yes) in list.iter().map(decide) {
                models.code(&mut writer, (at, at as usize), [at, 7], is_yes);
            }
            writer.finish();
            let mut models = Models::new();
            let mut reader = DecisionReader::new(&bytes[1..]);
            for (at, is_yes) in list.iter().map(decide) {
                let read = models.code(&mut reader, (at, at as usize), [at, 7], false);
                prop_assert_eq!(read, is_yes);
            }
            prop_assert!(reader.bytes.is_empty());
        }
    }

    #[test]
    fn what_is_nearly_always_so_takes_next_to_nothing() {
        let (mut bytes, mut models) = (Vec::new(), Models::new());
        let mut writer = DecisionWriter::new(&mut bytes);
        for at in 0..100_000 {
            models.code(&mut writer, (0, 0), [0], at % 10_000 != 0);
        }
        writer.finish();
        assert!(bytes.len() < 100, "{}", bytes.len());
    }

    #[test]
    fn odds_and_probabilities_are_each_others() {
        for share in 1..4095 {
            let again = probability(i32::from(LOG_ODDS[share as usize]));
            assert!((again - share).abs() <= 4, "{share} {again}");
        }
        assert_eq!(probability(0), 2047);
    }
}
