//! A link for tests: it loses, doubles, delays and reorders packets, by a seed, on a clock of its
//! own.

use std::collections::BTreeMap;

/// What a [`VirtualLink`] does to packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkOptions {
    /// Share of packets that are lost, 0 to 1.
    pub loss: f64,
    /// Share of packets that arrive twice, 0 to 1.
    pub duplicates: f64,
    /// Time that each packet takes, microseconds.
    pub delay_us: u64,
    /// Maximum additional delay, microseconds: packets overtake each other.
    pub jitter_us: u64,
    /// Bytes a second; packets that do not fit wait, at most half a second, then are lost.
    pub bytes_per_s: u64,
}

impl Default for LinkOptions {
    /// 25 ms, 10 MB/s, nothing lost.
    fn default() -> LinkOptions {
        LinkOptions {
            loss: 0.0,
            duplicates: 0.0,
            delay_us: 25_000,
            jitter_us: 0,
            bytes_per_s: 10_000_000,
        }
    }
}

/// Packets that wait longer than this for their turn are lost.
const MAX_WAIT_US: u64 = 500_000;

/// One direction of a link, to test netcode without a network, reproducible by its seed.
///
/// ```
/// use terravox::replicate::{LinkOptions, VirtualLink};
///
/// let mut link = VirtualLink::new(LinkOptions::default(), 7);
/// link.send(0, b"hello");
/// assert_eq!(link.receive(24_000), None);
/// assert_eq!(link.receive(26_000).as_deref(), Some(&b"hello"[..]));
/// ```
pub struct VirtualLink {
    options: LinkOptions,
    /// Packets by arrival, and the order in which they were sent.
    packets: BTreeMap<(u64, u64), Vec<u8>>,
    sent: u64,
    /// When the link is free again.
    free_us: u64,
    random: u64,
    /// Bytes of all packets that were sent, lost ones too.
    bytes: u64,
}

impl VirtualLink {
    /// A link whose losses, delays and duplicates follow from the seed.
    pub fn new(options: LinkOptions, seed: u64) -> VirtualLink {
        let random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        VirtualLink { options, packets: BTreeMap::new(), sent: 0, free_us: 0, random, bytes: 0 }
    }

    /// Changes the options for the packets from now on.
    pub fn set_options(&mut self, options: LinkOptions) {
        self.options = options;
    }

    /// The next random number, 0 to 1 (xorshift64*, S. Vigna, 2014).
    fn random(&mut self) -> f64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let bits = self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        bits as f64 / (1u64 << 53) as f64
    }

    /// Sends a packet.
    pub fn send(&mut self, now_us: u64, packet: &[u8]) {
        self.bytes += packet.len() as u64;
        let start = self.free_us.max(now_us);
        if start - now_us > MAX_WAIT_US {
            return;
        }
        self.free_us = start + packet.len() as u64 * 1_000_000 / self.options.bytes_per_s.max(1);
        let copies = 1 + u32::from(self.random() < self.options.duplicates);
        for _ in 0..copies {
            let jitter = (self.random() * self.options.jitter_us as f64) as u64;
            if self.random() >= self.options.loss {
                self.sent += 1;
                let arrival = self.free_us + self.options.delay_us + jitter;
                self.packets.insert((arrival, self.sent), packet.to_vec());
            }
        }
    }

    /// Takes the next packet that has arrived by now.
    pub fn receive(&mut self, now_us: u64) -> Option<Vec<u8>> {
        let entry = self.packets.first_entry()?;
        (entry.key().0 <= now_us).then(|| entry.remove())
    }

    /// Bytes of all packets that were sent.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
