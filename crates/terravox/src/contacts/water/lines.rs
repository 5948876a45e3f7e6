//! A shape cut into vertical lines, and the sum of their parts under water.

use glam::Vec3;

use super::submersion::Submersion;
use crate::geometry::{ShapeCore, Slices};

/// Fewest and most lines along an axis.
const LINE_COUNT_RANGE: [f32; 2] = [16.0, 32.0];

/// Lines per voxel along an axis, clamped to that range.
const LINES_PER_VOXEL: f32 = 2.0;

/// The vertical lines of a shape: rows of `width` lines along x over its bounds.
#[derive(Debug, Default)]
pub(super) struct BodyLines {
    /// Position of the first line, and the spacing of lines, along x and z.
    start: [f32; 2],
    step: [f32; 2],
    width: usize,
    /// Lowest and highest point of each line, relative to the shape's origin; empty where the
    /// highest is lower. X fastest.
    spans: Vec<[f32; 2]>,
    /// Cross section of a line, voxels²: its step along x times that along z, corrected by the
    /// shape's volume where that is known.
    across: f32,
    slices: Slices,
}

impl BodyLines {
    /// Cuts a shape into lines.
    pub fn cut(&mut self, core: &ShapeCore<'_>) {
        let (min, max) = core.bounds();
        let size = [max[0] - min[0], max[2] - min[2]];
        let count = size.map(|size| {
            (LINES_PER_VOXEL * size).ceil().clamp(LINE_COUNT_RANGE[0], LINE_COUNT_RANGE[1])
        });
        self.step = [size[0] / count[0], size[1] / count[1]];
        self.start = [min[0] + 0.5 * self.step[0], min[2] + 0.5 * self.step[1]];
        self.width = count[0] as usize;
        self.spans.clear();
        let mut depths = [0.0; LINE_COUNT_RANGE[1] as usize];
        let depths = &mut depths[..count[1] as usize];
        for (row, z) in depths.iter_mut().enumerate() {
            [_, *z] = self.position(row * self.width);
        }
        core.cut(depths, &mut self.slices);
        for (row, &z) in depths.iter().enumerate() {
            core.select(row, &mut self.slices);
            for column in 0..self.width {
                let [x, _] = self.position(column);
                self.spans.push(core.vertical_span(x, z, &self.slices).unwrap_or([0.0, -1.0]));
            }
        }
        self.across = self.step[0] * self.step[1];
        if let Some(volume) = core.volume() {
            let summed = self.volume();
            self.across *= if summed > 0.0 { volume / summed } else { 1.0 };
        }
    }

    /// Position of a line, x and z.
    fn position(&self, line: usize) -> [f32; 2] {
        let (x, z) = (line % self.width, line / self.width);
        [self.start[0] + x as f32 * self.step[0], self.start[1] + z as f32 * self.step[1]]
    }

    /// The shape's volume.
    pub fn volume(&self) -> f32 {
        let lengths = self.spans.iter().map(|[low, high]| (high - low).max(0.0));
        lengths.sum::<f32>() * self.across
    }

    /// Sums up what is under water. `water` calls its last argument for the wet intervals at x
    /// and z; all relative to the shape's origin.
    pub fn sum(&self, water: impl Fn(f32, f32, &mut dyn FnMut(f32, f32))) -> Submersion {
        let across = self.across;
        let (mut volume, mut moment, mut area) = (0.0, Vec3::ZERO, [0.0; 3]);
        let mut by_x = [[f32::INFINITY, f32::NEG_INFINITY]; LINE_COUNT_RANGE[1] as usize];
        let mut by_z = [f32::INFINITY, f32::NEG_INFINITY];
        for (line, &[low, high]) in self.spans.iter().enumerate() {
            let at = line % self.width;
            if low <= high {
                let [x, z] = self.position(line);
                let mut wet = [f32::INFINITY, f32::NEG_INFINITY];
                water(x, z, &mut |from, to| {
                    let (from, to) = (from.max(low), to.min(high));
                    if to > from {
                        let length = to - from;
                        volume += length * across;
                        moment += Vec3::new(x, 0.5 * (from + to), z) * (length * across);
                        wet = [wet[0].min(from), wet[1].max(to)];
                    }
                });
                if wet[1] > wet[0] {
                    area[1] += across;
                    for span in [&mut by_x[at], &mut by_z] {
                        *span = [span[0].min(wet[0]), span[1].max(wet[1])];
                    }
                }
            }
            if at + 1 == self.width {
                area[0] += (by_z[1] - by_z[0]).max(0.0) * self.step[1];
                by_z = [f32::INFINITY, f32::NEG_INFINITY];
            }
        }
        let by_x = by_x.iter().map(|[low, high]| (high - low).max(0.0));
        area[2] = by_x.sum::<f32>() * self.step[0];
        let centre = if volume > 0.0 { (moment / volume).to_array() } else { [0.0; 3] };
        Submersion { body_volume: self.volume(), volume, centre, area }
    }
}
