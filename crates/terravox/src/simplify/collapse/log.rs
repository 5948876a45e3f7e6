//! The collapses of a run, so that the next run can repeat them without checks.

/// Sample `sample` now projects onto triangle `triangle`.
#[derive(Clone, Copy)]
pub(super) struct SampleMove {
    pub sample: u32,
    pub triangle: u32,
}

/// Vertex `from` was collapsed onto vertex `onto`.
#[derive(Clone, Copy)]
pub(super) struct CollapseStep {
    pub from: u32,
    pub onto: u32,
    /// End of its range in [`CollapseLog::moves`].
    end: usize,
}

/// The steps of a run, in order.
#[derive(Default)]
pub(super) struct CollapseLog {
    steps: Vec<CollapseStep>,
    moves: Vec<SampleMove>,
}

impl CollapseLog {
    pub fn clear(&mut self) {
        self.steps.clear();
        self.moves.clear();
    }

    /// Appends a step and the samples that it moved.
    pub fn push(&mut self, from: u32, onto: u32, moves: &[SampleMove]) {
        self.moves.extend_from_slice(moves);
        self.steps.push(CollapseStep { from, onto, end: self.moves.len() });
    }

    /// Returns each step with its moves.
    pub fn steps(&self) -> impl Iterator<Item = (CollapseStep, &[SampleMove])> {
        let mut start = 0;
        self.steps.iter().map(move |step| {
            let moves = &self.moves[start..step.end];
            start = step.end;
            (*step, moves)
        })
    }
}
