//! What the studio says: one line each, in the status bar and on standard error.

use bevy::prelude::*;

/// Seconds for which a line is shown.
const SHOWN_S: f32 = 12.0;

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// What is said.
    pub text: String,
    /// Whether something failed.
    pub is_error: bool,
    /// Seconds since it was said.
    pub age_s: f32,
}

/// What was said lately, newest last.
#[derive(Resource, Default, Debug)]
pub struct Notices {
    lines: Vec<Notice>,
}

impl Notices {
    /// Says something.
    pub fn say(&mut self, text: impl Into<String>) {
        self.add(text.into(), false);
    }

    /// Says that something failed.
    pub fn fail(&mut self, text: impl Into<String>) {
        self.add(text.into(), true);
    }

    fn add(&mut self, text: String, is_error: bool) {
        match is_error {
            true => error!("{text}"),
            false => info!("{text}"),
        }
        self.lines.retain(|line| line.text != text);
        self.lines.push(Notice { text, is_error, age_s: 0.0 });
    }

    /// What is shown, newest last.
    pub fn lines(&self) -> &[Notice] {
        &self.lines
    }

    /// The last failure that is still shown.
    pub fn last_failure(&self) -> Option<&str> {
        self.lines.iter().rev().find(|line| line.is_error).map(|line| &*line.text)
    }
}

/// Lets lines go.
pub(crate) fn age(mut notices: ResMut<Notices>, time: Res<Time<Real>>) {
    if notices.lines.is_empty() {
        return;
    }
    for line in &mut notices.lines {
        line.age_s += time.delta_secs();
    }
    notices.lines.retain(|line| line.age_s < SHOWN_S * if line.is_error { 2.0 } else { 1.0 });
}
