//! The text of recordings.

use std::fmt;

use bevy::input::ButtonState;
use bevy::prelude::*;

use crate::action::Action;
use crate::keys::{key_of, name_of};

/// The first line of a recording.
pub(super) const HEADER: &str = "terravox-replay 1";
/// Most frames of a step, and most microseconds of a frame.
const MOST: u64 = 10_000_000;

/// A line of a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// An action of a panel.
    Do(Action),
    /// Until the ground of the view is there.
    Wait,
    /// So many frames of so many microseconds.
    Frames(u32, u64),
    /// A key.
    Key(KeyCode, ButtonState),
    /// A button of the mouse.
    Button(MouseButton, ButtonState),
    /// The mouse is at a position of the window.
    Move(Vec2),
    /// The mouse turns the camera.
    Motion(Vec2),
    /// Lines of the wheel.
    Wheel(f32),
    /// Prints the digest.
    Digest,
    /// Fails unless the digest is this.
    Expect(u64),
}

/// Keys that are held beside others, and have no name in key maps.
const HELD: [(&str, KeyCode); 3] =
    [("ctrl", KeyCode::ControlLeft), ("shift", KeyCode::ShiftLeft), ("alt", KeyCode::AltLeft)];
const BUTTONS: [(&str, MouseButton); 3] =
    [("left", MouseButton::Left), ("right", MouseButton::Right), ("middle", MouseButton::Middle)];

fn key_name(key: KeyCode) -> Option<String> {
    let held = HELD.iter().find(|(_, other)| *other == key).map(|(name, _)| (*name).to_owned());
    held.or_else(|| name_of(key))
}

fn button_name(button: MouseButton) -> Option<&'static str> {
    BUTTONS.iter().find(|(_, other)| *other == button).map(|(name, _)| *name)
}

impl Step {
    /// Whether it can be written: keys and buttons without a name cannot.
    pub(super) fn has_name(&self) -> bool {
        match self {
            Step::Key(key, _) => key_name(*key).is_some(),
            Step::Button(button, _) => button_name(*button).is_some(),
            _ => true,
        }
    }
}

fn state(text: &str) -> Option<ButtonState> {
    match text {
        "down" => Some(ButtonState::Pressed),
        "up" => Some(ButtonState::Released),
        _ => None,
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = |state: &ButtonState| if state.is_pressed() { "down" } else { "up" };
        match self {
            Step::Do(action) => write!(f, "do {action}"),
            Step::Wait => f.write_str("wait"),
            Step::Frames(count, us) => write!(f, "frames {count} {us}"),
            Step::Key(key, state) => {
                write!(f, "key {} {}", way(state), key_name(*key).unwrap_or_default())
            }
            Step::Button(button, state) => {
                write!(f, "button {} {}", way(state), button_name(*button).unwrap_or_default())
            }
            Step::Move(at) => write!(f, "move {} {}", at.x, at.y),
            Step::Motion(by) => write!(f, "motion {} {}", by.x, by.y),
            Step::Wheel(lines) => write!(f, "wheel {lines}"),
            Step::Digest => f.write_str("digest"),
            Step::Expect(digest) => write!(f, "expect {digest:016x}"),
        }
    }
}

/// Reads a line.
fn step(line: &str) -> Result<Step, String> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let unknown = || format!("unknown step {line:?}");
    let pair = || {
        let (x, y) = rest.split_once(' ')?;
        let at = Vec2::new(x.parse().ok()?, y.trim().parse().ok()?);
        at.is_finite().then_some(at)
    };
    let found = match verb {
        "do" => return rest.parse().map(Step::Do),
        "wait" => Some(Step::Wait),
        "digest" => Some(Step::Digest),
        "expect" => u64::from_str_radix(rest, 16).ok().map(Step::Expect),
        "frames" => rest.split_once(' ').and_then(|(count, us)| {
            let (count, us): (u64, u64) = (count.parse().ok()?, us.trim().parse().ok()?);
            (1..=MOST).contains(&count).then_some(())?;
            (us <= MOST).then_some(Step::Frames(count as u32, us))
        }),
        "key" => rest.split_once(' ').and_then(|(way, name)| {
            let held = HELD.iter().find(|(other, _)| *other == name).map(|(_, key)| *key);
            Some(Step::Key(held.or_else(|| key_of(name))?, state(way)?))
        }),
        "button" => rest.split_once(' ').and_then(|(way, name)| {
            let (_, button) = BUTTONS.iter().find(|(other, _)| *other == name)?;
            Some(Step::Button(*button, state(way)?))
        }),
        "move" => pair().map(Step::Move),
        "motion" => pair().map(Step::Motion),
        "wheel" => rest.parse().ok().filter(|lines: &f32| lines.is_finite()).map(Step::Wheel),
        _ => None,
    };
    found.ok_or_else(unknown)
}

/// Reads a recording.
///
/// # Errors
/// The first line that says nothing.
pub fn parse(text: &str) -> Result<Vec<Step>, String> {
    let mut lines = text.lines().enumerate();
    if lines.next().is_none_or(|(_, first)| first.trim() != HEADER) {
        return Err(format!("not a recording; its first line must be {HEADER:?}"));
    }
    let mut steps = Vec::new();
    for (i, line) in lines {
        let line = line.trim();
        // Names of files may have a `#`.
        if !line.is_empty() && !line.starts_with('#') {
            steps.push(step(line).map_err(|error| format!("line {}: {error}", i + 1))?);
        }
    }
    Ok(steps)
}

/// The text of a recording.
pub(super) fn text(steps: &[Step]) -> String {
    steps.iter().map(|step| format!("{step}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_read_what_they_write() {
        let steps = vec![
            Step::Do(Action::Open("world:7:fjords".into())),
            Step::Do(Action::SaveAs("/tmp/world #2.tvx".into())),
            Step::Wait,
            Step::Frames(30, 16_667),
            Step::Key(KeyCode::KeyW, ButtonState::Pressed),
            Step::Key(KeyCode::ShiftLeft, ButtonState::Released),
            Step::Key(KeyCode::BracketLeft, ButtonState::Pressed),
            Step::Button(MouseButton::Right, ButtonState::Pressed),
            Step::Move(Vec2::new(640.5, 360.0)),
            Step::Motion(Vec2::new(-3.0, 0.25)),
            Step::Wheel(-1.0),
            Step::Digest,
            Step::Expect(0x0123_4567_89ab_cdef),
        ];
        assert!(steps.iter().all(Step::has_name));
        let written = text(&steps);
        assert_eq!(parse(&format!("{HEADER}\n# a comment\n  # and one\n{written}")), Ok(steps));
        assert!(!Step::Key(KeyCode::LaunchMail, ButtonState::Pressed).has_name());
        assert!(!Step::Button(MouseButton::Back, ButtonState::Pressed).has_name());
    }

    #[test]
    fn what_is_no_recording_is_refused_with_its_line() {
        assert!(parse("").is_err() && parse("wait").is_err());
        for line in [
            "fly",
            "frames 0 1",
            "frames 3",
            "key w",
            "key down hyper",
            "move 1",
            "move 1 NaN",
            "do fly",
        ] {
            let error = parse(&format!("{HEADER}\nwait\n{line}")).unwrap_err();
            assert!(error.starts_with("line 3: "), "{line}: {error}");
        }
    }
}
