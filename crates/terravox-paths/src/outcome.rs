//! What a search returns.

/// A path over the ground.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// From the start to the end, metres: straight between two points, and turning only where it
    /// has to. The height of each point is between those of the path cells around it; points that
    /// are left out lie within ⅛ of a voxel of the line in height.
    pub points_m: Vec<[f64; 3]>,
    /// Its length, metres.
    pub length_m: f64,
    /// The part of that in water deeper than the agent wades, metres.
    pub wet_m: f64,
    /// Rectangles that the search looked at.
    pub looked_at: usize,
}

/// Why a path ends before the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialReason {
    /// No ground leads there.
    Unreachable,
    /// The search came to tiles that are not covered, not made yet or unknown: ground may lead
    /// there.
    NotLoaded,
    /// The search looked at [`max_rects`](crate::PathOptions::max_rects) rectangles.
    SearchLimit,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub enum PathOutcome {
    /// The path to the goal.
    Complete(Path),
    /// The path to the reachable point nearest to the goal, and why it ends there.
    Partial(Path, PartialReason),
    /// No ground near the start can be walked on.
    StartOffMesh,
    /// No ground near the goal can be walked on.
    GoalOffMesh,
    /// The ground at the start is not covered, not made yet or unknown.
    StartNotLoaded,
    /// The ground at the goal is not covered, not made yet or unknown. There is no path: walk towards
    /// a waypoint on ground that is covered.
    GoalNotLoaded,
}

impl PathOutcome {
    /// The path to the goal, or to the point nearest to it.
    pub fn path(&self) -> Option<&Path> {
        match self {
            PathOutcome::Complete(path) | PathOutcome::Partial(path, _) => Some(path),
            _ => None,
        }
    }

    /// Whether the path leads to the goal.
    pub fn is_complete(&self) -> bool {
        matches!(self, PathOutcome::Complete(_))
    }
}
