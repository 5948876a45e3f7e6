//! Where viewers will be when meshes that are planned now are shown: blocks there are split early, so
//! that a moving viewer does not see ground that is too coarse.

use super::selection::LodViewer;

/// Updates over which the speed of a viewer is averaged.
const MEASURED_UPDATES: usize = 8;

/// Updates from the choice of a block until its mesh is shown, a third of a second at 60 a second.
const LEAD_UPDATES: f64 = 20.0;

/// Maximum distance ahead. Faster viewers outrun the meshes anyway.
const MAX_LEAD_VOXELS: f64 = 32.0;

/// Less is the jitter of a viewer that stands.
const MIN_LEAD_VOXELS: f64 = 0.5;

/// A larger step in one update is a teleport.
const MAX_STEP_VOXELS: f64 = 32.0;

/// How viewers moved in the last updates.
#[derive(Default)]
pub(super) struct Motion {
    /// By index of the viewer: viewers should keep their order between updates.
    tracks: Vec<Track>,
}

/// The last positions of a viewer, in voxels.
struct Track {
    positions: [[f64; 3]; MEASURED_UPDATES + 1],
    /// Index of the latest.
    latest: usize,
}

impl Motion {
    /// Records where the viewers are in a new update. Others count as standing still.
    pub fn note(&mut self, viewers: &[LodViewer]) {
        self.tracks.truncate(viewers.len());
        for (track, viewer) in self.tracks.iter_mut().zip(viewers) {
            track.note(viewer.position_voxels);
        }
        let known = self.tracks.len();
        self.tracks.extend(viewers[known..].iter().map(|viewer| Track::at(viewer.position_voxels)));
    }

    /// Returns where those viewers that move will be. `viewers` are those that were noted.
    pub fn ahead(&self, viewers: &[LodViewer]) -> impl Iterator<Item = LodViewer> {
        viewers.iter().zip(&self.tracks).filter_map(|(viewer, track)| {
            let lead = track.lead()?;
            let at = viewer.position_voxels;
            Some(LodViewer { position_voxels: [0, 1, 2].map(|i| at[i] + lead[i]), ..*viewer })
        })
    }
}

impl Track {
    fn at(position: [f64; 3]) -> Track {
        Track { positions: [position; MEASURED_UPDATES + 1], latest: 0 }
    }

    fn note(&mut self, position: [f64; 3]) {
        let step = length(difference(position, self.positions[self.latest]));
        if step.is_nan() || step > MAX_STEP_VOXELS {
            *self = Track::at(position);
            return;
        }
        self.latest = (self.latest + 1) % self.positions.len();
        self.positions[self.latest] = position;
    }

    /// Returns how far ahead of its position the viewer will be; `None` if it stands.
    fn lead(&self) -> Option<[f64; 3]> {
        let oldest = (self.latest + 1) % self.positions.len();
        let moved = difference(self.positions[self.latest], self.positions[oldest]);
        let lead = moved.map(|v| v / MEASURED_UPDATES as f64 * LEAD_UPDATES);
        let share = (MAX_LEAD_VOXELS / length(lead)).min(1.0);
        // Infinite positions yield NaN, and no lead.
        (length(lead) >= MIN_LEAD_VOXELS).then(|| lead.map(|v| v * share))
    }
}

fn difference(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|i| a[i] - b[i])
}

fn length([x, y, z]: [f64; 3]) -> f64 {
    (x * x + y * y + z * z).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewer(x: f64) -> LodViewer {
        LodViewer { position_voxels: [x, 0.0, 0.0], distance_voxels: 100.0 }
    }

    /// Returns how far ahead of the last of these positions is looked.
    fn lead(positions: impl IntoIterator<Item = f64>) -> Option<f64> {
        let mut motion = Motion::default();
        let mut last = 0.0;
        for x in positions {
            motion.note(&[viewer(x)]);
            last = x;
        }
        motion.ahead(&[viewer(last)]).next().map(|ahead| ahead.position_voxels[0] - last)
    }

    #[test]
    fn moving_viewers_lead_by_20_updates() {
        let lead = lead((0..20).map(|i| 0.5 * f64::from(i))).unwrap();
        assert!((lead - 10.0).abs() < 1e-9, "{lead}");
    }

    #[test]
    fn viewers_that_stand_or_teleport_have_no_lead() {
        assert_eq!(lead([]), None);
        assert_eq!(lead([3.0; 20]), None);
        assert_eq!(lead((0..40).map(|i| 3.0 + 0.1 * f64::from(i % 2))), None, "jitter");
        assert_eq!(lead([0.0, 1000.0]), None);
        assert_eq!(lead((0..20).map(|i| f64::from(i.min(11)))), None, "stood for eight updates");
        assert_eq!(lead([0.0, f64::NAN, f64::INFINITY, f64::INFINITY]), None);
    }

    #[test]
    fn leads_are_bounded() {
        assert_eq!(lead((0..20).map(|i| 30.0 * f64::from(i))), Some(MAX_LEAD_VOXELS));
    }

    #[test]
    fn viewers_that_come_and_go_have_a_lead_from_then_on() {
        let mut motion = Motion::default();
        motion.note(&[viewer(0.0), viewer(5.0)]);
        motion.note(&[viewer(1.0)]);
        motion.note(&[viewer(2.0), viewer(5.0)]);
        let viewers = [viewer(2.0), viewer(5.0)];
        let ahead: Vec<_> = motion.ahead(&viewers).map(|v| v.position_voxels[0]).collect();
        assert_eq!(ahead, [7.0]);
        motion.note(&[]);
        assert!(motion.ahead(&viewers).next().is_none());
    }
}
