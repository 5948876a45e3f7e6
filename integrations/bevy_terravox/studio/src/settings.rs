//! Numbers and switches of the studio, set by [`Action`] alone.

use std::collections::BTreeSet;

use bevy::prelude::*;
use bevy_terravox::terravox;
use terravox::edit::EditMask;
use terravox::voxel::{Kind, MaterialTable};

use crate::action::{Action, Field, Mode, Shape, Switch, Tool};
use crate::open::Session;

/// Everything that can be set.
#[derive(Resource, Clone, Debug, PartialEq)]
pub struct Settings {
    /// What the window is for.
    pub mode: Mode,
    /// What a stroke does.
    pub tool: Tool,
    /// The shape of the brush.
    pub shape: Shape,
    numbers: [f32; Field::ALL.len()],
    on: BTreeSet<Switch>,
}

impl Default for Settings {
    fn default() -> Settings {
        let mut settings = Settings {
            mode: Mode::default(),
            tool: Tool::default(),
            shape: Shape::default(),
            numbers: [0.0; Field::ALL.len()],
            on: [Switch::Panels, Switch::Shadows, Switch::Waves].into(),
        };
        for field in Field::ALL {
            settings.numbers[*field as usize] = field.default();
        }
        settings
    }
}

impl Field {
    /// What it is at first.
    pub fn default(self) -> f32 {
        match self {
            Field::Radius => 6.0,
            Field::Strength | Field::Amount => 0.5,
            Field::Falloff => 0.3,
            Field::Height => 1.0,
            Field::Bumps => 6.0,
            Field::Material => 8.0,
            Field::From => 2.0,
            Field::Time => 10.5,
            Field::Sun => 135.0,
            Field::Fog => 1.0,
            Field::Speed => 24.0,
            Field::Distance => 1500.0,
            Field::SlopeMax => 0.6,
            Field::HeightMax => 100.0,
            Field::Turn | Field::SlopeMin | Field::HeightMin | Field::Body => 0.0,
        }
    }

    /// What it may be.
    pub fn range(self) -> [f32; 2] {
        match self {
            Field::Radius => [0.25, 128.0],
            Field::Strength => [0.05, 1.0],
            Field::Falloff => [0.0, 1.0],
            Field::Height => [0.1, 8.0],
            Field::Turn | Field::Sun => [0.0, 360.0],
            Field::Amount => [0.05, 1.0],
            Field::Bumps => [1.0, 64.0],
            Field::Material | Field::From => [0.0, 255.0],
            Field::Time => [0.0, 24.0],
            Field::Fog => [0.1, 4.0],
            Field::Speed => [1.0, 2000.0],
            Field::Distance => [100.0, 16_000.0],
            Field::SlopeMin | Field::SlopeMax => [0.0, 8.0],
            Field::HeightMin | Field::HeightMax => [-10_000.0, 10_000.0],
            Field::Body => [0.0, 4.0],
        }
    }

    /// Its unit, with a space before it.
    pub fn unit(self) -> &'static str {
        match self {
            Field::Radius
            | Field::Bumps
            | Field::Distance
            | Field::HeightMin
            | Field::HeightMax => " m",
            Field::Height => " ×",
            Field::Turn | Field::Sun => "°",
            Field::Amount => " voxels",
            Field::Time => " h",
            Field::Speed => " m/s",
            _ => "",
        }
    }

    /// Whether steps multiply.
    fn is_geometric(self) -> bool {
        matches!(self, Field::Radius | Field::Speed | Field::Distance | Field::Fog | Field::Bumps)
    }

    /// Whether it goes around, as the time of day does.
    fn is_cyclic(self) -> bool {
        matches!(self, Field::Time | Field::Turn | Field::Sun)
    }
}

impl Settings {
    /// A number.
    pub fn get(&self, field: Field) -> f32 {
        self.numbers[field as usize]
    }

    /// A number that is an id.
    pub fn id(&self, field: Field) -> u8 {
        self.get(field) as u8
    }

    /// Whether something is on.
    pub fn is_on(&self, switch: Switch) -> bool {
        self.on.contains(&switch)
    }

    /// Sets a number, within its range.
    pub fn set(&mut self, field: Field, value: f32) {
        let [low, high] = field.range();
        let value = match field.is_cyclic() {
            true => low + (value - low).rem_euclid(high - low),
            false => value.clamp(low, high),
        };
        if value.is_finite() {
            self.numbers[field as usize] = value;
        }
    }

    fn adjust(&mut self, field: Field, by: f32) {
        let value = self.get(field);
        // A step of 1 is a quarter more, or less.
        self.set(field, if field.is_geometric() { value * 1.25_f32.powf(by) } else { value + by });
    }

    fn switch(&mut self, switch: Switch, is_on: bool) {
        match is_on {
            true => self.on.insert(switch),
            false => self.on.remove(&switch),
        };
    }

    /// Does what an action says of settings.
    pub fn apply(&mut self, action: &Action) {
        match *action {
            Action::Mode(mode) => self.mode = mode,
            Action::Tool(tool) => (self.mode, self.tool) = (Mode::Sculpt, tool),
            Action::Shape(shape) => self.shape = shape,
            Action::Set(field, value) => self.set(field, value),
            Action::Adjust(field, by) => self.adjust(field, by),
            Action::Toggle(switch) => self.switch(switch, !self.is_on(switch)),
            Action::Switch(switch, is_on) => self.switch(switch, is_on),
            _ => {}
        }
    }

    /// Which cells strokes may change.
    pub fn mask(&self) -> EditMask {
        let range = |switch, low, high| {
            let [low, high] = [self.get(low), self.get(high)].map(f64::from);
            self.is_on(switch).then_some([low.min(high), low.max(high)])
        };
        let materials = match self.is_on(Switch::MaskMaterial) {
            true => vec![self.id(Field::From)],
            false => Vec::new(),
        };
        EditMask {
            materials,
            heights: range(Switch::MaskHeight, Field::HeightMin, Field::HeightMax),
            slope: range(Switch::MaskSlope, Field::SlopeMin, Field::SlopeMax),
        }
    }

    /// A material of the kind that a tool needs: that of the palette, else the first.
    pub fn material_for(&self, tool: Tool, table: &MaterialTable) -> Option<u8> {
        let needed = if matches!(tool, Tool::Flood) { Kind::Liquid } else { Kind::Solid };
        let chosen = self.id(Field::Material);
        if table.get(chosen).is_some() && table.kind(chosen) == needed {
            return Some(chosen);
        }
        (0..=255).find(|id| table.get(*id).is_some() && table.kind(*id) == needed)
    }
}

/// Applies the actions of the frame.
pub(crate) fn apply(
    mut actions: MessageReader<Action>,
    mut settings: ResMut<Settings>,
    session: Option<Res<Session>>,
) {
    for action in actions.read() {
        // Without a world there is nothing to walk in.
        if matches!(action, Action::Mode(_)) && session.is_none() {
            continue;
        }
        settings.apply(action);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_within_their_ranges() {
        let mut settings = Settings::default();
        for field in Field::ALL {
            let [low, high] = field.range();
            assert!((low..=high).contains(&field.default()), "{field:?}");
            settings.apply(&Action::Set(*field, 1e9));
            assert!(settings.get(*field) <= high, "{field:?}");
            settings.apply(&Action::Set(*field, f32::NAN));
            assert!(settings.get(*field).is_finite(), "{field:?}");
        }
        settings.apply(&Action::Set(Field::Time, 23.0));
        settings.apply(&Action::Adjust(Field::Time, 2.0));
        assert_eq!(settings.get(Field::Time), 1.0);
        settings.apply(&Action::Set(Field::Radius, 8.0));
        settings.apply(&Action::Adjust(Field::Radius, -1.0));
        assert_eq!(settings.get(Field::Radius), 6.4);
    }

    #[test]
    fn floods_take_liquids_and_fills_solids() {
        let table = MaterialTable::default();
        let mut settings = Settings::default();
        assert_eq!(settings.material_for(Tool::Build, &table), Some(8));
        assert_eq!(settings.material_for(Tool::Flood, &table), Some(1));
        settings.apply(&Action::Set(Field::Material, 1.0));
        assert_eq!(settings.material_for(Tool::Flood, &table), Some(1));
        let solid = settings.material_for(Tool::Paint, &table).unwrap();
        assert_eq!(table.kind(solid), Kind::Solid);
    }
}
