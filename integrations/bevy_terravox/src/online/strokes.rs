//! Strokes of a guest. A server keeps a step of undo for each operation: a stroke is undone by as many
//! steps as operations of it changed something.

use std::collections::HashMap;

use terravox::edit::EditError;
use terravox::replicate::{GuestEvent, RefusalCode};

/// A stroke that changed something. Later ones have larger numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stroke {
    id: u64,
    steps: usize,
}

/// A stroke that is being undone or redone.
struct Swap {
    is_redo: bool,
    id: u64,
    unsent: usize,
    swapped: usize,
    refused: usize,
}

/// What can be undone and redone, and what the server has not answered.
#[derive(Default)]
pub(super) struct Strokes {
    done: Vec<Stroke>,
    /// The next one to redo is last.
    undone: Vec<Stroke>,
    /// The stroke of the last operation.
    current: u64,
    is_open: bool,
    swap: Option<Swap>,
    /// The stroke of what was sent and not answered, by its number.
    unanswered: HashMap<u64, u64>,
}

impl Strokes {
    /// What follows is one stroke, until [`Strokes::end`].
    pub fn begin(&mut self) {
        (self.current, self.is_open) = (self.current + 1, true);
    }

    pub fn end(&mut self) {
        self.is_open = false;
    }

    /// Notes that an operation was sent. Outside of a stroke it is one of its own.
    pub fn note_sent(&mut self, number: u64) {
        self.current += u64::from(!self.is_open);
        self.unanswered.insert(number, self.current);
    }

    /// Forgets all, since the server remembers strokes only for as long as the link lasts.
    pub fn reset(&mut self) {
        *self = Strokes { current: self.current + 1, is_open: self.is_open, ..Strokes::default() };
    }

    /// Takes a reply of the server.
    pub fn take(&mut self, event: &GuestEvent) {
        let (number, has_changed, is_over) = match *event {
            GuestEvent::Confirmed { number, has_changed } => (number, has_changed, false),
            GuestEvent::Refused { number, code, .. } => {
                (number, false, code == RefusalCode::NothingToUndo)
            }
            _ => return,
        };
        let is_refused = matches!(event, GuestEvent::Refused { .. });
        let Some(id) = self.unanswered.remove(&number) else { return };
        match &mut self.swap {
            // The server has no more steps: what is left of the stroke is forgotten.
            Some(_) if is_over => {}
            Some(swap) if is_refused => swap.refused += 1,
            Some(swap) => swap.swapped += 1,
            None if has_changed => self.add_step(id),
            None => {}
        }
    }

    fn add_step(&mut self, id: u64) {
        self.undone.clear();
        // Replies may come in another order than operations were sent.
        let at = self.done.partition_point(|stroke| stroke.id < id);
        match self.done.get_mut(at).filter(|stroke| stroke.id == id) {
            Some(stroke) => stroke.steps += 1,
            None => self.done.insert(at, Stroke { id, steps: 1 }),
        }
    }

    /// Begins to undo or redo a stroke, if there is one; nothing else may be unanswered.
    pub fn begin_swap(&mut self, is_redo: bool) {
        let from = if is_redo { &mut self.undone } else { &mut self.done };
        let swap =
            |Stroke { id, steps }| Swap { is_redo, id, unsent: steps, swapped: 0, refused: 0 };
        self.swap = from.pop().map(swap);
    }

    /// Goes on with what [`Strokes::begin_swap`] began. `send` sends a step, and is told whether to redo.
    pub fn go_on(&mut self, mut send: impl FnMut(bool) -> Result<u64, EditError>) {
        let Some(swap) = &mut self.swap else { return };
        // More steps than the guest may have in flight wait for replies.
        while swap.unsent > 0
            && let Ok(number) = send(swap.is_redo)
        {
            swap.unsent -= 1;
            self.unanswered.insert(number, swap.id);
        }
        if swap.unsent > 0 || !self.unanswered.is_empty() {
            return;
        }
        let Swap { is_redo, id, swapped, refused, .. } = *swap;
        self.swap = None;
        let (from, to) = match is_redo {
            false => (&mut self.done, &mut self.undone),
            true => (&mut self.undone, &mut self.done),
        };
        from.extend((refused > 0).then_some(Stroke { id, steps: refused }));
        to.extend((swapped > 0).then_some(Stroke { id, steps: swapped }));
    }

    /// Whether a stroke is being undone or redone.
    pub fn is_swapping(&self) -> bool {
        self.swap.is_some()
    }

    /// What was sent and not answered.
    pub fn unanswered(&self) -> usize {
        self.unanswered.len()
    }

    /// The last stroke of which something was sent, or that was begun.
    pub fn current(&self) -> u64 {
        self.current
    }

    /// The strokes that can be undone or redone, the next one last. One that is being undone or redone
    /// has not left yet.
    pub fn ready(&self, is_redo: bool) -> impl Iterator<Item = u64> {
        let swap = self.swap.as_ref().filter(|swap| swap.is_redo == is_redo);
        let strokes = if is_redo { &self.undone } else { &self.done };
        strokes.iter().map(|stroke| stroke.id).chain(swap.map(|swap| swap.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confirmed(number: u64) -> GuestEvent {
        GuestEvent::Confirmed { number, has_changed: true }
    }

    fn refused(number: u64, code: RefusalCode) -> GuestEvent {
        GuestEvent::Refused { number, code, reason: String::new() }
    }

    fn counts(strokes: &Strokes) -> [usize; 2] {
        [false, true].map(|is_redo| strokes.ready(is_redo).count())
    }

    /// Two strokes: of four operations, of which one changes nothing and one is refused, and of two.
    fn drawn() -> Strokes {
        let mut strokes = Strokes::default();
        strokes.begin();
        (1..=4).for_each(|number| strokes.note_sent(number));
        strokes.end();
        strokes.begin();
        (5..=6).for_each(|number| strokes.note_sent(number));
        strokes.end();
        strokes.take(&confirmed(5));
        strokes.take(&confirmed(1));
        strokes.take(&GuestEvent::Confirmed { number: 2, has_changed: false });
        strokes.take(&refused(3, RefusalCode::Game(0)));
        strokes.take(&confirmed(4));
        strokes.take(&confirmed(6));
        strokes
    }

    /// Undoes or redoes; returns the numbers of the steps that were sent.
    fn swap(strokes: &mut Strokes, is_redo: bool, first: u64) -> Vec<u64> {
        let mut sent = Vec::new();
        strokes.begin_swap(is_redo);
        strokes.go_on(|redoes| {
            assert_eq!(redoes, is_redo);
            sent.push(first + sent.len() as u64);
            Ok(*sent.last().unwrap())
        });
        sent
    }

    fn none(_: bool) -> Result<u64, EditError> {
        Err(EditError::Invalid("nothing may be sent"))
    }

    #[test]
    fn a_stroke_is_undone_by_the_steps_that_changed_something() {
        let mut strokes = drawn();
        assert_eq!((counts(&strokes), strokes.unanswered()), ([2, 0], 0));
        assert!(strokes.ready(false).eq([1, 2]) && strokes.current() == 2);
        assert_eq!(swap(&mut strokes, false, 7), [7, 8]);
        assert!(strokes.is_swapping());
        [7, 8].iter().for_each(|number| strokes.take(&confirmed(*number)));
        strokes.go_on(none);
        assert_eq!((counts(&strokes), strokes.is_swapping()), ([1, 1], false));
        assert_eq!(swap(&mut strokes, false, 9), [9, 10]);
        [9, 10].iter().for_each(|number| strokes.take(&confirmed(*number)));
        strokes.go_on(none);
        assert_eq!(counts(&strokes), [0, 2]);
        strokes.begin_swap(false);
        assert!(!strokes.is_swapping(), "there is nothing to undo");
        assert_eq!(swap(&mut strokes, true, 11).len(), 2);
        [11, 12].iter().for_each(|number| strokes.take(&confirmed(*number)));
        strokes.go_on(none);
        assert_eq!(counts(&strokes), [1, 1]);
        // What is new ends what could be redone, and is a stroke of its own.
        strokes.note_sent(13);
        strokes.take(&confirmed(13));
        assert_eq!(counts(&strokes), [2, 0]);
    }

    #[test]
    fn steps_that_the_server_refuses_stay_unless_it_has_none() {
        let mut strokes = drawn();
        swap(&mut strokes, false, 7);
        strokes.take(&confirmed(7));
        strokes.take(&refused(8, RefusalCode::TooMuchWork));
        strokes.go_on(none);
        assert_eq!(counts(&strokes), [2, 1]);
        assert_eq!(swap(&mut strokes, false, 9), [9]);
        strokes.take(&refused(9, RefusalCode::NothingToUndo));
        strokes.go_on(none);
        assert_eq!(counts(&strokes), [1, 1]);
        strokes.reset();
        assert_eq!(counts(&strokes), [0, 0]);
    }

    #[test]
    fn steps_that_are_too_many_at_once_are_sent_later() {
        let mut strokes = drawn();
        strokes.begin_swap(false);
        strokes.go_on(none);
        assert!(strokes.is_swapping() && strokes.unanswered() == 0);
        let mut next = 6;
        strokes.go_on(|_| {
            next += 1;
            Ok(next)
        });
        assert_eq!(strokes.unanswered(), 2);
    }
}
