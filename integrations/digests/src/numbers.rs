//! Random numbers, the same on every machine: `splitmix64`.

/// A sequence of numbers, by its state.
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number from `low` to `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A point in a box of voxels.
    pub fn point(&mut self, region: terravox::voxel::Region) -> [f64; 3] {
        let ([x0, y0, z0], [x1, y1, z1]) = (region.min.to_array(), region.max.to_array());
        [(x0, x1), (y0, y1), (z0, z1)].map(|(a, b)| self.between(f64::from(a), f64::from(b)))
    }
}
