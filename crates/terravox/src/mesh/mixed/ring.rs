//! Triangulates a face whose sides may have vertices between their ends.
//!
//! It becomes a fan from a corner whose two sides are not split, or from a vertex in the middle.
//! So two vertices of one side are only joined along it, and triangles of neighbouring faces
//! share no more than that side.

/// The vertices around a face, counter-clockwise seen from outside. Reusable.
#[derive(Debug, Default)]
pub(super) struct FaceRing {
    /// All vertices, from the first corner on.
    pub vertices: Vec<u32>,
    /// Index of each of the four corners in `vertices`.
    pub corners: [usize; 4],
}

impl FaceRing {
    #[inline]
    pub(super) fn clear(&mut self) {
        self.vertices.clear();
    }

    /// Whether there are no vertices between the corners.
    #[inline]
    pub(super) fn is_quad(&self) -> bool {
        self.vertices.len() == 4
    }

    /// Returns the four corners' vertices.
    #[inline]
    pub(super) fn quad(&self) -> [u32; 4] {
        self.corners.map(|at| self.vertices[at])
    }

    /// Returns the index of the first corner whose two sides are not split.
    #[inline]
    pub(super) fn apex(&self) -> Option<usize> {
        let count = self.vertices.len();
        let is_whole = |k: usize| {
            let end = if k == 3 { count } else { self.corners[k + 1] };
            end - self.corners[k] == 1
        };
        (0..4).find(|&k| is_whole(k) && is_whole((k + 3) % 4)).map(|k| self.corners[k])
    }

    /// Returns the triangles of a fan from the vertex at `apex`, or from `centre` without an
    /// `apex`.
    pub(super) fn fan(
        &self,
        apex: Option<usize>,
        centre: u32,
    ) -> impl Iterator<Item = [u32; 3]> + '_ {
        let count = self.vertices.len();
        let (from, first, triangles) = match apex {
            Some(at) => (self.vertices[at], at + 1, count - 2),
            None => (centre, 0, count),
        };
        (first..first + triangles)
            .map(move |i| [from, self.vertices[i % count], self.vertices[(i + 1) % count]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_side_fans_from_an_opposite_corner() {
        let ring = FaceRing { vertices: vec![10, 11, 12, 13, 14], corners: [0, 2, 3, 4] };
        assert_eq!(ring.apex(), Some(3));
        let fan: Vec<_> = ring.fan(ring.apex(), 99).collect();
        assert_eq!(fan, [[13, 14, 10], [13, 10, 11], [13, 11, 12]]);
    }

    #[test]
    fn a_face_with_opposite_sides_split_has_a_centre() {
        let ring = FaceRing { vertices: vec![10, 11, 12, 13, 14, 15], corners: [0, 2, 3, 5] };
        assert_eq!(ring.apex(), None);
        let fan: Vec<_> = ring.fan(None, 99).collect();
        assert_eq!((fan.len(), fan[0], fan[5]), (6, [99, 10, 11], [99, 15, 10]));
    }
}
