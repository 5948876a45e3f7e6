//! Everything that a user can do, as a message: keys, buttons of panels and replays go one way.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use bevy::prelude::*;

use crate::names::named;

named! {
    /// What the window is for.
    #[derive(Default)]
    Mode {
        /// Tools change the ground.
        #[default]
        Sculpt "sculpt" "Sculpt",
        /// A person walks in the world.
        Play "play" "Play",
        /// Light, overlays and pictures.
        Look "look" "Look",
    }
}

named! {
    /// What a stroke does.
    #[derive(Default)]
    Tool {
        #[default]
        Dig "dig" "Dig",
        Build "build" "Build",
        Paint "paint" "Paint",
        Replace "replace" "Replace",
        Smooth "smooth" "Smooth",
        Flatten "flatten" "Flatten",
        Grow "grow" "Grow",
        Erode "erode" "Erode",
        Roughen "roughen" "Roughen",
        Flood "flood" "Flood",
        Drain "drain" "Drain",
        Select "select" "Select",
        Paste "paste" "Paste",
    }
}

named! {
    /// The shape of a brush.
    #[derive(Default)]
    Shape {
        #[default]
        Ball "ball" "Ball",
        Box "box" "Box",
        Cylinder "cylinder" "Cylinder",
        Wedge "wedge" "Ramp",
        /// From where the button is pressed to where it is released.
        Path "path" "Line",
    }
}

named! {
    /// A number that can be set.
    Field {
        Radius "radius" "Radius",
        Strength "strength" "Strength",
        Falloff "falloff" "Falloff",
        Height "height" "Height",
        Turn "turn" "Turn",
        Amount "amount" "Amount",
        Bumps "bumps" "Bumps",
        Material "material" "Material",
        From "from" "Replaces",
        Time "time" "Time of day",
        Sun "sun" "Sun from",
        Fog "fog" "Sight",
        Speed "speed" "Speed",
        Distance "distance" "View distance",
        SlopeMin "slope-min" "Slope from",
        SlopeMax "slope-max" "Slope to",
        HeightMin "height-min" "Height from",
        HeightMax "height-max" "Height to",
        Body "body" "Body to throw",
    }
}

named! {
    /// Something that is on or off.
    Switch {
        Panels "panels" "Panels",
        Help "help" "Keys",
        LockPlane "lock-plane" "Stay in the plane of the first touch",
        AlignNormal "align" "Turn with the ground",
        SymmetryX "symmetry-x" "Mirror across x",
        SymmetryZ "symmetry-z" "Mirror across z",
        MaskMaterial "mask-material" "Only on this material",
        MaskSlope "mask-slope" "Only on slopes",
        MaskHeight "mask-height" "Only at heights",
 PasteAir "paste-air" "Paste air, too",
        TurnCopies "turn-copies" "Turn each copy at random",
        Levels "levels" "Levels of detail",
        Unsaved "unsaved" "Unsaved chunks",
        Grid "grid" "Voxels at the cursor",
        Colliders "colliders" "Colliders",
        Frames "frames" "Frame graph",
        Shadows "shadows" "Shadows",
        Waves "waves" "Waves",
        Clock "clock" "Time passes",
    }
}

/// Something that a user does.
#[derive(Message, Clone, Debug, PartialEq)]
pub enum Action {
    /// Opens a file, a folder of GeoTIFF files, a generated world by name (`hills:7`), or a world of a server
    /// by address (`localhost:4077`).
    Open(String),
    /// Continues a world that was never saved under a name.
    Recover(PathBuf),
    /// Deletes a world that was never saved under a name.
    Discard(PathBuf),
    /// Back to the start screen; what was changed is kept. Stops waiting for a server.
    Close,
    /// Saves the world; asks for a name if it has none.
    Save,
    /// Saves the world under another name, and goes on with that file.
    SaveAs(PathBuf),
    /// As `SaveAs`, over a world that exists.
    Overwrite(PathBuf),
    /// Asks for a name.
    AskSaveAs,
    /// Does what waits for a save that failed: what could not be saved is lost.
    DropChanges,
    /// Ends the studio; what was changed is kept.
    Quit,
    /// Undoes a stroke.
    Undo,
    /// Redoes a stroke.
    Redo,
    /// Undoes or redoes until so many strokes are done.
    GoTo(usize),
    /// Chooses what the window is for.
    Mode(Mode),
    /// Chooses a tool.
    Tool(Tool),
    /// Chooses the shape of the brush.
    Shape(Shape),
    /// Sets a number.
    Set(Field, f32),
    /// Adds to a number, or steps it up and down.
    Adjust(Field, f32),
    /// Turns something on or off.
    Toggle(Switch),
    /// Sets a switch.
    Switch(Switch, bool),
    /// Takes the material at the cursor.
    Pick,
    /// Copies what is selected.
    Copy,
    /// Copies what is selected and removes it.
    Cut,
    /// Turns the copy by a quarter about an axis.
    Rotate(usize),
    /// Mirrors the copy along an axis.
    Mirror(usize),
    /// Ends what was begun: a selection, a paste, a stroke of a line.
    Cancel,
    /// Moves the camera: position in metres, yaw and pitch in degrees.
    View([f32; 5]),
    /// Moves the camera to where all of a small world, or the ground below, is seen.
    Home,
    /// Moves the camera towards what the cursor is on.
    Focus,
    /// Throws a body in the direction of the view.
    Throw,
    /// Removes all thrown bodies.
    ClearBodies,
    /// Blows up what the cursor is on.
    Explode,
    /// Adds the view to the camera path.
    AddView,
    /// Forgets the camera path.
    ClearViews,
    /// Flies along the camera path.
    PlayPath,
    /// Writes a picture of the view.
    Picture(PathBuf),
    /// Writes pictures from all around.
    Turntable(PathBuf),
    /// Writes the pictures of the camera path.
    Film(PathBuf),
    /// The whole screen, or a window.
    Fullscreen,
}

/// The actions that carry nothing, by name.
const PLAIN: &[(&str, Action)] = &[
    ("close", Action::Close),
    ("save", Action::Save),
    ("ask-save-as", Action::AskSaveAs),
    ("drop-changes", Action::DropChanges),
    ("quit", Action::Quit),
    ("undo", Action::Undo),
    ("redo", Action::Redo),
    ("pick", Action::Pick),
    ("copy", Action::Copy),
    ("cut", Action::Cut),
    ("cancel", Action::Cancel),
    ("home", Action::Home),
    ("focus", Action::Focus),
    ("throw", Action::Throw),
    ("clear-bodies", Action::ClearBodies),
    ("explode", Action::Explode),
    ("add-view", Action::AddView),
    ("clear-views", Action::ClearViews),
    ("play-path", Action::PlayPath),
    ("fullscreen", Action::Fullscreen),
];

/// Axes by name.
const AXES: [&str; 3] = ["x", "y", "z"];

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = PLAIN.iter().find(|(_, action)| action == self) {
            return f.write_str(name);
        }
        let on = |is_on: &bool| if *is_on { "on" } else { "off" };
        match self {
            Action::Open(what) => write!(f, "open {what}"),
            Action::Recover(path) => write!(f, "recover {}", path.display()),
            Action::Discard(path) => write!(f, "discard {}", path.display()),
            Action::SaveAs(path) => write!(f, "save-as {}", path.display()),
            Action::Overwrite(path) => write!(f, "overwrite {}", path.display()),
            Action::Picture(path) => write!(f, "picture {}", path.display()),
            Action::Turntable(path) => write!(f, "turntable {}", path.display()),
            Action::Film(path) => write!(f, "film {}", path.display()),
            Action::GoTo(strokes) => write!(f, "go-to {strokes}"),
            Action::Mode(mode) => write!(f, "mode {}", mode.name()),
            Action::Tool(tool) => write!(f, "tool {}", tool.name()),
            Action::Shape(shape) => write!(f, "shape {}", shape.name()),
            Action::Set(field, value) => write!(f, "set {} {value}", field.name()),
            Action::Adjust(field, by) => write!(f, "adjust {} {by}", field.name()),
            Action::Toggle(switch) => write!(f, "toggle {}", switch.name()),
            Action::Switch(switch, is_on) => write!(f, "switch {} {}", switch.name(), on(is_on)),
            Action::Rotate(axis) => write!(f, "rotate {}", AXES[axis % 3]),
            Action::Mirror(axis) => write!(f, "mirror {}", AXES[axis % 3]),
            Action::View([x, y, z, yaw, pitch]) => write!(f, "view {x} {y} {z} {yaw} {pitch}"),
            // Those of `PLAIN`.
            _ => Ok(()),
        }
    }
}

/// Reads what `Display` writes.
impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Action, String> {
        let text = text.trim();
        if let Some((_, action)) = PLAIN.iter().find(|(name, _)| *name == text) {
            return Ok(action.clone());
        }
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim();
        let unknown = || format!("unknown action {text:?}");
        let named = |is_there: Option<Action>| is_there.ok_or_else(unknown);
        let path = |make: fn(PathBuf) -> Action| match rest {
            "" => Err(format!("{verb} needs a path")),
            _ => Ok(make(PathBuf::from(rest))),
        };
        let axis = || AXES.iter().position(|name| *name == rest);
        match verb {
            "open" if !rest.is_empty() => Ok(Action::Open(rest.to_owned())),
            "recover" => path(Action::Recover),
            "discard" => path(Action::Discard),
            "save-as" => path(Action::SaveAs),
            "overwrite" => path(Action::Overwrite),
            "picture" => path(Action::Picture),
            "turntable" => path(Action::Turntable),
            "film" => path(Action::Film),
            "go-to" => named(rest.parse().ok().map(Action::GoTo)),
            "mode" => named(Mode::find(rest).map(Action::Mode)),
            "tool" => named(Tool::find(rest).map(Action::Tool)),
            "shape" => named(Shape::find(rest).map(Action::Shape)),
            "toggle" => named(Switch::find(rest).map(Action::Toggle)),
            "set" => named(field(rest).map(|(field, value)| Action::Set(field, value))),
            "adjust" => named(field(rest).map(|(field, by)| Action::Adjust(field, by))),
            "switch" => named(switch(rest)),
            "rotate" => named(axis().map(Action::Rotate)),
            "mirror" => named(axis().map(Action::Mirror)),
            "view" => named(view(rest)),
            _ => Err(unknown()),
        }
    }
}

fn field(text: &str) -> Option<(Field, f32)> {
    let (name, value) = text.split_once(' ')?;
    let value: f32 = value.trim().parse().ok()?;
    value.is_finite().then_some((Field::find(name)?, value))
}

fn switch(text: &str) -> Option<Action> {
    let (name, value) = text.split_once(' ')?;
    let is_on = match value.trim() {
        "on" => true,
        "off" => false,
        _ => return None,
    };
    Some(Action::Switch(Switch::find(name)?, is_on))
}

fn view(text: &str) -> Option<Action> {
    let numbers: Vec<f32> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let view: [f32; 5] = numbers.try_into().ok()?;
    view.iter().all(|v| v.is_finite()).then_some(Action::View(view))
}

/// Actions of the buttons of panels. They become messages in the next frame, and are recorded.
#[derive(Resource, Default, Debug)]
pub struct PanelActions(pub Vec<Action>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_read_what_they_write() {
        let mut all: Vec<Action> = PLAIN.iter().map(|(_, action)| action.clone()).collect();
        all.extend(Tool::ALL.iter().map(|tool| Action::Tool(*tool)));
        all.extend(Switch::ALL.iter().map(|switch| Action::Toggle(*switch)));
        all.extend(Field::ALL.iter().map(|field| Action::Set(*field, -2.5)));
        all.extend([
            Action::Open("world:7:fjords,relief=1.5".into()),
            Action::SaveAs("/a folder/b.tvx".into()),
            Action::GoTo(12),
            Action::Adjust(Field::Radius, 1.25),
            Action::Switch(Switch::Waves, false),
            Action::Rotate(1),
            Action::View([1.0, 2.5, -3.0, 40.0, -8.0]),
        ]);
        for action in all {
            assert_eq!(action.to_string().parse(), Ok(action.clone()), "{action}");
        }
    }

    #[test]
    fn what_is_no_action_is_refused() {
        let wrong = [
            "",
            "dig",
            "tool",
            "tool spoon",
            "set radius",
            "set radius NaN",
            "set 4",
            "open",
            "switch waves",
            "view 1 2 3",
            "go-to -1",
            "rotate w",
            "save-as",
        ];
        for text in wrong {
            assert!(text.parse::<Action>().is_err(), "{text:?}");
        }
    }
}
