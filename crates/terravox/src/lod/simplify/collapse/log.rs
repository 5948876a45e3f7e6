//! What was collapsed in a run, so that the next can do it again without a look.

/// A vertex was drawn onto another.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub gone: u32,
    pub onto: u32,
    /// The end of its part of [`Log::points`].
    end: usize,
}

/// The steps of a run, in their order.
#[derive(Default)]
pub(super) struct Log {
    steps: Vec<Step>,
    /// Points that came to lie under triangles that changed, each with the triangle.
    points: Vec<[u32; 2]>,
}

impl Log {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.points.clear();
    }

    /// Adds a step, and which points came to lie under which triangles.
    pub fn push(&mut self, gone: u32, onto: u32, points: &[[u32; 2]]) {
        self.points.extend_from_slice(points);
        self.steps.push(Step { gone, onto, end: self.points.len() });
    }

    /// Each step with its points.
    pub fn steps(&self) -> impl Iterator<Item = (Step, &[[u32; 2]])> {
        let mut start = 0;
        self.steps.iter().map(move |step| {
            let points = &self.points[start..step.end];
            start = step.end;
            (*step, points)
        })
    }
}
