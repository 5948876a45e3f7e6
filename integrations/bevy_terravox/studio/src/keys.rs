//! Keys: what each does, as in Blender and Unreal, and as the user's file `keys.txt` says.

use std::fmt;
use std::str::FromStr;

use bevy::prelude::*;

use crate::action::{Action, Field, Mode, Shape, Switch, Tool};
use crate::names::named;
use crate::notices::Notices;
use crate::open::Session;
use crate::pointer::Pointer;
use crate::state_dir::StateDir;

named! {
    /// A direction in which a held key moves the camera or the person.
    Motion {
        Forward "forward" "Forward",
        Back "back" "Back",
        Left "left" "Left",
        Right "right" "Right",
        Up "up" "Up, jump",
        Down "down" "Down",
        TurnLeft "turn-left" "Turn left",
        TurnRight "turn-right" "Turn right",
        TurnUp "turn-up" "Look up",
        TurnDown "turn-down" "Look down",
        Faster "faster" "Faster",
    }
}

/// A key with those held beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chord {
    /// The key.
    pub key: KeyCode,
    /// Whether Ctrl (or Command) is held.
    pub ctrl: bool,
    /// Whether Shift is held.
    pub shift: bool,
    /// Whether Alt is held.
    pub alt: bool,
}

/// What a key does.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Once, when it is pressed.
    Do(Action),
    /// As long as it is held.
    Move(Motion),
}

/// All keys.
#[derive(Resource, Clone, Debug, PartialEq)]
pub struct KeyMap {
    /// In the order in which they are listed.
    pub keys: Vec<(Chord, Command)>,
}

/// Keys by name, besides letters and digits.
const NAMES: &[(&str, KeyCode)] = &[
    ("space", KeyCode::Space),
    ("tab", KeyCode::Tab),
    ("escape", KeyCode::Escape),
    ("enter", KeyCode::Enter),
    ("delete", KeyCode::Delete),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("[", KeyCode::BracketLeft),
    ("]", KeyCode::BracketRight),
    ("-", KeyCode::Minus),
    ("equal", KeyCode::Equal),
    (",", KeyCode::Comma),
    (".", KeyCode::Period),
    ("/", KeyCode::Slash),
    (";", KeyCode::Semicolon),
    ("'", KeyCode::Quote),
    ("`", KeyCode::Backquote),
    ("arrowleft", KeyCode::ArrowLeft),
    ("arrowright", KeyCode::ArrowRight),
    ("arrowup", KeyCode::ArrowUp),
    ("arrowdown", KeyCode::ArrowDown),
    ("shift", KeyCode::ShiftLeft),
    ("f1", KeyCode::F1),
    ("f2", KeyCode::F2),
    ("f3", KeyCode::F3),
    ("f4", KeyCode::F4),
    ("f5", KeyCode::F5),
    ("f6", KeyCode::F6),
    ("f7", KeyCode::F7),
    ("f8", KeyCode::F8),
    ("f9", KeyCode::F9),
    ("f10", KeyCode::F10),
    ("f11", KeyCode::F11),
    ("f12", KeyCode::F12),
];

/// `KeyA` to `KeyZ`, `Digit0` to `Digit9`.
const LETTERS: [KeyCode; 26] = {
    use KeyCode::*;
    [
        KeyA, KeyB, KeyC, KeyD, KeyE, KeyF, KeyG, KeyH, KeyI, KeyJ, KeyK, KeyL, KeyM, KeyN, KeyO,
        KeyP, KeyQ, KeyR, KeyS, KeyT, KeyU, KeyV, KeyW, KeyX, KeyY, KeyZ,
    ]
};
const DIGITS: [KeyCode; 10] = {
    use KeyCode::*;
    [Digit0, Digit1, Digit2, Digit3, Digit4, Digit5, Digit6, Digit7, Digit8, Digit9]
};

/// The key of a name.
pub fn key_of(name: &str) -> Option<KeyCode> {
    let mut chars = name.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        match c {
            'a'..='z' => return Some(LETTERS[c as usize - 'a' as usize]),
            '0'..='9' => return Some(DIGITS[c as usize - '0' as usize]),
            _ => {}
        }
    }
    NAMES.iter().find(|(text, _)| *text == name).map(|(_, key)| *key)
}

/// The name of a key.
pub fn name_of(key: KeyCode) -> Option<String> {
    if let Some(i) = LETTERS.iter().position(|letter| *letter == key) {
        return Some(char::from(b'a' + i as u8).to_string());
    }
    if let Some(i) = DIGITS.iter().position(|digit| *digit == key) {
        return Some(i.to_string());
    }
    NAMES.iter().find(|(_, other)| *other == key).map(|(name, _)| (*name).to_owned())
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = [(self.ctrl, "ctrl+"), (self.shift, "shift+"), (self.alt, "alt+")];
        held.iter().filter(|(is_held, _)| *is_held).try_for_each(|(_, text)| f.write_str(text))?;
        f.write_str(&name_of(self.key).unwrap_or_default())
    }
}

impl FromStr for Chord {
    type Err = String;

    fn from_str(text: &str) -> Result<Chord, String> {
        let mut chord = Chord { key: KeyCode::Space, ctrl: false, shift: false, alt: false };
        let lower = text.trim().to_lowercase();
        let mut rest = &*lower;
        while let Some((held, next)) = rest.split_once('+').filter(|(held, _)| !held.is_empty()) {
            match held {
                "ctrl" | "cmd" => chord.ctrl = true,
                "shift" => chord.shift = true,
                "alt" => chord.alt = true,
                _ => return Err(format!("unknown key {text:?}")),
            }
            rest = next;
        }
        chord.key = key_of(rest).ok_or_else(|| format!("unknown key {text:?}"))?;
        Ok(chord)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Do(action) => action.fmt(f),
            Command::Move(motion) => write!(f, "move {}", motion.name()),
        }
    }
}

impl FromStr for Command {
    type Err = String;

    fn from_str(text: &str) -> Result<Command, String> {
        match text.trim().strip_prefix("move ") {
            Some(name) => {
                let motion = Motion::find(name.trim());
                motion.map(Command::Move).ok_or_else(|| format!("unknown motion {name:?}"))
            }
            None => text.parse().map(Command::Do),
        }
    }
}

impl Default for KeyMap {
    fn default() -> KeyMap {
        // The list is checked by a test.
        let keys = DEFAULT_KEYS
            .iter()
            .filter_map(|(chord, command)| Some((chord.parse().ok()?, command.parse().ok()?)));
        KeyMap { keys: keys.collect() }
    }
}

/// Keys as people know them: moving as in Unreal, sculpting as in Blender.
pub const DEFAULT_KEYS: &[(&str, &str)] = &[
    ("w", "move forward"),
    ("s", "move back"),
    ("a", "move left"),
    ("d", "move right"),
    ("e", "move up"),
    ("space", "move up"),
    ("q", "move down"),
    ("shift", "move faster"),
    ("arrowleft", "move turn-left"),
    ("arrowright", "move turn-right"),
    ("arrowup", "move turn-up"),
    ("arrowdown", "move turn-down"),
    ("equal", "adjust speed 1"),
    ("-", "adjust speed -1"),
    ("home", "home"),
    (".", "focus"),
    ("1", "tool dig"),
    ("2", "tool build"),
    ("3", "tool paint"),
    ("4", "tool smooth"),
    ("5", "tool flatten"),
    ("6", "tool grow"),
    ("7", "tool erode"),
    ("8", "tool roughen"),
    ("9", "tool flood"),
    ("0", "tool drain"),
    ("r", "tool replace"),
    ("b", "tool select"),
    ("[", "adjust radius -1"),
    ("]", "adjust radius 1"),
    ("shift+[", "adjust strength -0.1"),
    ("shift+]", "adjust strength 0.1"),
    ("ctrl+[", "adjust falloff -0.1"),
    ("ctrl+]", "adjust falloff 0.1"),
    (",", "adjust turn -15"),
    ("/", "adjust turn 15"),
    ("shift+1", "shape ball"),
    ("shift+2", "shape box"),
    ("shift+3", "shape cylinder"),
    ("shift+4", "shape wedge"),
    ("shift+5", "shape path"),
    ("i", "pick"),
    ("shift+x", "toggle symmetry-x"),
    ("shift+z", "toggle symmetry-z"),
    ("l", "toggle lock-plane"),
    ("n", "toggle align"),
    ("ctrl+z", "undo"),
    ("ctrl+shift+z", "redo"),
    ("ctrl+y", "redo"),
    ("ctrl+c", "copy"),
    ("ctrl+x", "cut"),
    ("ctrl+v", "tool paste"),
    ("x", "rotate x"),
    ("y", "rotate y"),
    ("z", "rotate z"),
    ("m", "mirror x"),
    ("escape", "cancel"),
    ("ctrl+s", "save"),
    ("ctrl+shift+s", "ask-save-as"),
    ("ctrl+w", "close"),
    ("ctrl+q", "quit"),
    ("f1", "toggle help"),
    ("f2", "mode sculpt"),
    ("f3", "mode play"),
    ("f4", "mode look"),
    ("tab", "toggle panels"),
    ("f5", "toggle levels"),
    ("f6", "toggle grid"),
    ("f7", "toggle unsaved"),
    ("f8", "toggle colliders"),
    ("f9", "toggle frames"),
    ("t", "adjust time 0.5"),
    ("shift+t", "adjust time -0.5"),
    ("k", "add-view"),
    ("p", "play-path"),
    ("f", "throw"),
    ("g", "adjust body 1"),
    ("shift+f", "explode"),
    ("f11", "fullscreen"),
    ("f12", "picture studio.png"),
];

impl KeyMap {
    /// Changes keys as lines `KEY = COMMAND` say; a command loses the keys that it had.
    ///
    /// # Errors
    /// The first line that says nothing; those before it count.
    pub fn change(&mut self, text: &str) -> Result<(), String> {
        let mut moved: Vec<Command> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let at = |error: String| format!("line {}: {error}", i + 1);
            let (chord, command) =
                line.split_once(" = ").ok_or_else(|| at("give KEY = COMMAND".to_owned()))?;
            let (chord, command): (Chord, Command) =
                (chord.parse().map_err(at)?, command.parse().map_err(at)?);
            // Several lines may give a command several keys.
            if !moved.contains(&command) {
                self.keys.retain(|(_, other)| *other != command);
                moved.push(command.clone());
            }
            self.keys.retain(|(other, _)| *other != chord);
            self.keys.push((chord, command));
        }
        Ok(())
    }

    /// The keys of a command, for menus and hints.
    pub fn keys_of(&self, command: &Command) -> Vec<String> {
        let own = self.keys.iter().filter(|(_, other)| other == command);
        own.map(|(chord, _)| chord.to_string()).collect()
    }

    /// The keys of an action, as a hint.
    pub fn hint(&self, action: &Action) -> String {
        self.keys_of(&Command::Do(action.clone())).join(", ")
    }

    /// How far a motion is on.
    pub fn is_moving(&self, motion: Motion, keys: &ButtonInput<KeyCode>) -> bool {
        let wanted = Command::Move(motion);
        self.keys.iter().any(|(chord, command)| *command == wanted && is_held(chord.key, keys))
    }

    /// All of it as the text of a file.
    pub fn text(&self) -> String {
        let lines = self.keys.iter().map(|(chord, command)| format!("{chord} = {command}\n"));
        format!(
            "# Keys of terravox-studio: KEY = COMMAND. Delete a line, and the default is back.\n{}",
            { lines.collect::<String>() }
        )
    }
}

/// Whether a key is held, left or right.
fn is_held(key: KeyCode, keys: &ButtonInput<KeyCode>) -> bool {
    keys.pressed(key) || (key == KeyCode::ShiftLeft && keys.pressed(KeyCode::ShiftRight))
}

/// What is held beside a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Ctrl or Command.
    pub ctrl: bool,
    /// Shift.
    pub shift: bool,
    /// Alt.
    pub alt: bool,
}

impl Held {
    /// What is held.
    pub fn of(keys: &ButtonInput<KeyCode>) -> Held {
        use KeyCode::{
            AltLeft, AltRight, ControlLeft, ControlRight, ShiftLeft, ShiftRight, SuperLeft,
            SuperRight,
        };
        Held {
            ctrl: keys.any_pressed([ControlLeft, ControlRight, SuperLeft, SuperRight]),
            shift: keys.any_pressed([ShiftLeft, ShiftRight]),
            alt: keys.any_pressed([AltLeft, AltRight]),
        }
    }
}

/// Reads the user's keys.
pub(crate) fn load(state: Res<StateDir>, mut map: ResMut<KeyMap>, mut notices: ResMut<Notices>) {
    let file = state.keys();
    let Ok(text) = std::fs::read_to_string(&file) else { return };
    if let Err(error) = map.change(&text) {
        notices.fail(format!("{}: {error}; the rest of the file is ignored", file.display()));
    }
}

/// Turns keys into actions.
pub(crate) fn read(
    keys: Res<ButtonInput<KeyCode>>,
    map: Res<KeyMap>,
    pointer: Res<Pointer>,
    session: Option<Res<Session>>,
    mut actions: MessageWriter<Action>,
) {
    if pointer.has_keyboard {
        return;
    }
    let held = Held::of(&keys);
    for (chord, command) in &map.keys {
        let Command::Do(action) = command else { continue };
        let is_exact =
            chord.ctrl == held.ctrl && chord.shift == held.shift && chord.alt == held.alt;
        if is_exact && keys.just_pressed(chord.key) {
            let needs_world =
                !matches!(action, Action::Quit | Action::Fullscreen | Action::Toggle(Switch::Help));
            if session.is_some() || !needs_world {
                actions.write(action.clone());
            }
        }
    }
}

/// What a command does, for the list of keys.
pub fn label(command: &Command) -> String {
    let of = |field: &Field, by: &f32| {
        format!("{} {}", field.label(), if *by > 0.0 { "up" } else { "down" })
    };
    match command {
        Command::Move(motion) => motion.label().to_owned(),
        Command::Do(Action::Tool(tool)) => format!("Tool: {}", Tool::label(*tool)),
        Command::Do(Action::Shape(shape)) => format!("Shape: {}", Shape::label(*shape)),
        Command::Do(Action::Mode(mode)) => format!("Mode: {}", Mode::label(*mode)),
        Command::Do(Action::Adjust(field, by)) => of(field, by),
        Command::Do(Action::Toggle(switch)) => switch.label().to_owned(),
        Command::Do(action) => {
            let mut text = action.to_string().replace('-', " ");
            if let Some(first) = text.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_keys_are_valid_and_none_does_two_things() {
        let map = KeyMap::default();
        assert_eq!(map.keys.len(), DEFAULT_KEYS.len(), "a line of DEFAULT_KEYS is not read");
        for (i, (chord, command)) in map.keys.iter().enumerate() {
            assert!(!map.keys[..i].iter().any(|(other, _)| other == chord), "{chord} twice");
            assert_eq!(chord.to_string().parse(), Ok(*chord));
            assert_eq!(command.to_string().parse(), Ok(command.clone()));
        }
        for tool in Tool::ALL {
            assert!(!map.hint(&Action::Tool(*tool)).is_empty(), "{tool:?} has no key");
        }
        for motion in Motion::ALL {
            assert!(!map.keys_of(&Command::Move(*motion)).is_empty(), "{motion:?} has no key");
        }
    }

    #[test]
    fn a_file_changes_keys_and_takes_them_from_others() {
        let mut map = KeyMap::default();
        map.change("# mine\nu = undo\nctrl+u = undo\n1 = tool build\n").unwrap();
        assert_eq!(map.hint(&Action::Undo), "u, ctrl+u");
        assert_eq!(map.hint(&Action::Tool(Tool::Build)), "1");
        assert_eq!(map.hint(&Action::Tool(Tool::Dig)), "");
        let mut again = KeyMap { keys: Vec::new() };
        again.change(&map.text()).unwrap();
        assert_eq!(again, map);
        assert_eq!(map.change("hyper+u = undo"), Err("line 1: unknown key \"hyper+u\"".to_owned()));
        assert!(map.change("u").is_err() && map.change("u = fly").is_err());
    }
}
