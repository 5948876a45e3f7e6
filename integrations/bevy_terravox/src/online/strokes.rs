//! Strokes of a guest. A server keeps a step of undo for each operation: a stroke is undone by as many
//! steps as operations of it changed something.

/// A stroke that changed something. Later ones have larger numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stroke {
    pub id: u64,
    pub steps: usize,
}

/// What can be undone and redone, as far as the server has replied.
#[derive(Default)]
pub(super) struct Strokes {
    done: Vec<Stroke>,
    /// The next one to redo is last.
    undone: Vec<Stroke>,
    /// The stroke of the last operation.
    current: u64,
    is_open: bool,
}

impl Strokes {
    /// What follows is one stroke, until [`Strokes::end`].
    pub fn begin(&mut self) {
        (self.current, self.is_open) = (self.current + 1, true);
    }

    pub fn end(&mut self) {
        self.is_open = false;
    }

    /// Returns the stroke of the next operation. Outside of a stroke it is one of its own.
    pub fn next_operation(&mut self) -> u64 {
        self.current += u64::from(!self.is_open);
        self.current
    }

    /// Forgets what can be undone and redone: the server remembers it only for as long as the link lasts.
    pub fn forget_all(&mut self) {
        (self.done, self.undone) = Default::default();
    }

    /// Notes that an operation of a stroke changed something.
    pub fn add_step(&mut self, id: u64) {
        self.undone.clear();
        // Replies may come in another order than operations were sent.
        let at = self.done.partition_point(|stroke| stroke.id < id);
        match self.done.get_mut(at).filter(|stroke| stroke.id == id) {
            Some(stroke) => stroke.steps += 1,
            None => self.done.insert(at, Stroke { id, steps: 1 }),
        }
    }

    /// Notes that a step of the next stroke to be undone or redone was.
    pub fn reverse_step(&mut self, is_redo: bool) {
        let (from, to) = match is_redo {
            false => (&mut self.done, &mut self.undone),
            true => (&mut self.undone, &mut self.done),
        };
        let Some(stroke) = from.last_mut() else { return };
        let id = stroke.id;
        stroke.steps -= 1;
        from.pop_if(|stroke| stroke.steps == 0);
        match to.last_mut().filter(|stroke| stroke.id == id) {
            Some(stroke) => stroke.steps += 1,
            None => to.push(Stroke { id, steps: 1 }),
        }
    }

    /// Forgets the next stroke to be undone or redone if it is this one: the server has no more steps.
    pub fn forget(&mut self, is_redo: bool, id: u64) {
        let from = if is_redo { &mut self.undone } else { &mut self.done };
        from.pop_if(|stroke| stroke.id == id);
    }

    /// Returns the strokes that can be undone or redone, the next one last.
    pub fn ready(&self, is_redo: bool) -> &[Stroke] {
        if is_redo { &self.undone } else { &self.done }
    }

    /// Returns the last stroke of which something was sent, or that was begun.
    pub fn current(&self) -> u64 {
        self.current
    }
}
