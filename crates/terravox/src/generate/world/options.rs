//! What a [`World`](super::World) is like: its parameters, presets by name, and their text.
//!
//! The text of options is a preset and what differs from it: `fjords`, or `fjords,relief=1.5`. It
//! names a world on the command line, in files and between host and guest.

use std::fmt;

/// Parameters of a [`World`](super::World): plain numbers, each within a range. Checked by
/// [`World::with_options`](super::World::with_options); out-of-range values can be built and
/// deserialised.
///
/// ```
/// use terravox::generate::{Preset, WorldOptions};
///
/// let options = WorldOptions { relief: 1.5, ..Preset::Fjords.options() };
/// assert_eq!(options.to_string(), "fjords,relief=1.5");
/// assert_eq!("fjords,relief=1.5".parse(), Ok(options));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct WorldOptions {
    /// More land (above 0) or more sea, −1 to 1.
    pub land: f32,
    /// Width of continents, climates and mountains, relative to the default, 0.25 to 4.
    pub scale: f32,
    /// Height of mountains and hills, relative to the default, 0 to 2.
    pub relief: f32,
    /// Share of the land that is mountains, 0 to 1.
    pub mountains: f32,
    /// Warmer (above 0) or colder, −1 to 1.
    pub temperature: f32,
    /// Wetter (above 0) or drier, −1 to 1.
    pub humidity: f32,
    /// Depth of gullies and couloirs, 0 to 1.
    pub erosion: f32,
    /// Share of hot dry land that is mesas and canyons, 0 to 1.
    pub canyons: f32,
    /// Share of hot dry land that is dunes, 0 to 1.
    pub dunes: f32,
    /// Share of warm land that is badlands, 0 to 1.
    pub badlands: f32,
    /// Share of low wet land that is swamp, 0 to 1.
    pub wetlands: f32,
    /// Depth and number of valleys that the sea has flooded, 0 to 1.
    pub fjords: f32,
    /// Number of volcanoes, 0 to 1.
    pub volcanoes: f32,
    /// Width of rivers and lakes, 0 (none) to 1.
    pub rivers: f32,
    /// Number of caves, tunnels, arches and sinkholes, 0 to 1.
    pub caves: f32,
    /// Number of floating islands, 0 to 1.
    pub islands: f32,
}

/// Options by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Preset {
    /// All biomes, by climate.
    #[default]
    Continents,
    /// High mountains with ridges, couloirs, snow and glaciers.
    Alps,
    /// Cold mountains by the sea, with deep flooded valleys.
    Fjords,
    /// Plateaus of layered stone, cut by rivers.
    Canyons,
    /// A desert of sand.
    Dunes,
    /// Layered hills with deep gullies.
    Badlands,
    /// Flat wet land with pools.
    Wetlands,
    /// Volcanoes in a warm sea.
    Volcanoes,
    /// Ice and tundra.
    Arctic,
    /// Islands that float above green hills.
    Skylands,
}

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 10] = [
        Preset::Continents,
        Preset::Alps,
        Preset::Fjords,
        Preset::Canyons,
        Preset::Dunes,
        Preset::Badlands,
        Preset::Wetlands,
        Preset::Volcanoes,
        Preset::Arctic,
        Preset::Skylands,
    ];

    /// The name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Continents => "continents",
            Preset::Alps => "alps",
            Preset::Fjords => "fjords",
            Preset::Canyons => "canyons",
            Preset::Dunes => "dunes",
            Preset::Badlands => "badlands",
            Preset::Wetlands => "wetlands",
            Preset::Volcanoes => "volcanoes",
            Preset::Arctic => "arctic",
            Preset::Skylands => "skylands",
        }
    }

    /// The preset of a name; `None` if there is none.
    pub fn find(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The options of the preset.
    pub fn options(self) -> WorldOptions {
        match self {
            Preset::Continents => CONTINENTS,
            Preset::Alps => ALPS,
            Preset::Fjords => FJORDS,
            Preset::Canyons => CANYONS,
            Preset::Dunes => DUNES,
            Preset::Badlands => BADLANDS,
            Preset::Wetlands => WETLANDS,
            Preset::Volcanoes => VOLCANOES,
            Preset::Arctic => ARCTIC,
            Preset::Skylands => SKYLANDS,
        }
    }
}

/// The default.
const CONTINENTS: WorldOptions = WorldOptions {
    land: 0.05,
    scale: 1.0,
    relief: 1.0,
    mountains: 0.5,
    temperature: 0.0,
    humidity: 0.0,
    erosion: 0.6,
    canyons: 0.5,
    dunes: 0.5,
    badlands: 0.3,
    wetlands: 0.4,
    fjords: 0.3,
    volcanoes: 0.2,
    rivers: 0.5,
    caves: 0.35,
    islands: 0.0,
};

/// The default without volcanoes and fjords, which most presets start from.
const CALM: WorldOptions = WorldOptions { fjords: 0.0, volcanoes: 0.0, ..CONTINENTS };

const ALPS: WorldOptions = WorldOptions {
    land: 0.4,
    relief: 1.3,
    mountains: 0.9,
    temperature: -0.1,
    humidity: 0.25,
    erosion: 0.8,
    ..CALM
};

const FJORDS: WorldOptions = WorldOptions {
    land: 0.16,
    relief: 1.15,
    mountains: 0.85,
    temperature: -0.2,
    humidity: 0.3,
    erosion: 0.7,
    fjords: 1.0,
    ..CALM
};

const ARCTIC: WorldOptions = WorldOptions {
    land: 0.15,
    mountains: 0.55,
    temperature: -0.8,
    fjords: 0.5,
    volcanoes: 0.1,
    ..CALM
};

const CANYONS: WorldOptions = WorldOptions {
    land: 0.45,
    mountains: 0.2,
    temperature: 0.8,
    humidity: -0.7,
    canyons: 1.0,
    dunes: 0.1,
    badlands: 0.2,
    rivers: 0.7,
    ..CALM
};

const DUNES: WorldOptions = WorldOptions {
    land: 0.4,
    mountains: 0.15,
    temperature: 0.8,
    humidity: -0.8,
    canyons: 0.12,
    dunes: 1.0,
    badlands: 0.0,
    rivers: 0.2,
    ..CALM
};

const BADLANDS: WorldOptions = WorldOptions {
    land: 0.4,
    mountains: 0.3,
    temperature: 0.5,
    humidity: -0.45,
    erosion: 1.0,
    canyons: 0.25,
    dunes: 0.1,
    badlands: 1.0,
    ..CALM
};

const WETLANDS: WorldOptions = WorldOptions {
    land: 0.1,
    relief: 0.6,
    mountains: 0.2,
    temperature: 0.15,
    humidity: 0.6,
    wetlands: 1.0,
    rivers: 0.9,
    ..CALM
};

const VOLCANOES: WorldOptions = WorldOptions {
    land: -0.1,
    mountains: 0.2,
    temperature: 0.6,
    humidity: 0.3,
    volcanoes: 1.0,
    ..CALM
};

const SKYLANDS: WorldOptions = WorldOptions {
    land: 0.3,
    mountains: 0.3,
    temperature: 0.1,
    humidity: 0.3,
    islands: 0.8,
    ..CALM
};

impl Default for WorldOptions {
    fn default() -> WorldOptions {
        Preset::default().options()
    }
}

/// Longest text of options: names of generators have at most 200 bytes, between host and guest.
const MAX_TEXT_BYTES: usize = 190;

/// A parameter: its name and its range.
struct Parameter {
    name: &'static str,
    range: [f32; 2],
    get: fn(&WorldOptions) -> f32,
    set: fn(&mut WorldOptions, f32),
}

macro_rules! parameters {
    ($($name:ident: $low:literal to $high:literal,)*) => {
        [$(Parameter {
            name: stringify!($name),
            range: [$low, $high],
            get: |options| options.$name,
            set: |options, value| options.$name = value,
        },)*]
    };
}

const PARAMETERS: [Parameter; 16] = parameters! {
    land: -1.0 to 1.0,
    scale: 0.25 to 4.0,
    relief: 0.0 to 2.0,
    mountains: 0.0 to 1.0,
    temperature: -1.0 to 1.0,
    humidity: -1.0 to 1.0,
    erosion: 0.0 to 1.0,
    canyons: 0.0 to 1.0,
    dunes: 0.0 to 1.0,
    badlands: 0.0 to 1.0,
    wetlands: 0.0 to 1.0,
    fjords: 0.0 to 1.0,
    volcanoes: 0.0 to 1.0,
    rivers: 0.0 to 1.0,
    caves: 0.0 to 1.0,
    islands: 0.0 to 1.0,
};

/// Options that are not valid; the text says which, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldOptionsError(String);

impl fmt::Display for WorldOptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WorldOptionsError {}

impl WorldOptions {
    /// Checks that every parameter is a number within its range.
    ///
    /// # Errors
    /// Names the first that is not; or if the text of all is longer than names of generators may
    /// be.
    pub fn check(&self) -> Result<(), WorldOptionsError> {
        for Parameter { name, range: [low, high], get, .. } in PARAMETERS {
            let value = get(self);
            if !(low..=high).contains(&value) {
                let what = format!("{name} is {value}; it must be {low} to {high}");
                return Err(WorldOptionsError(what));
            }
        }
        let length = self.to_string().len();
        if length > MAX_TEXT_BYTES {
            let what = format!(
                "the options as text have {length} bytes; at most {MAX_TEXT_BYTES} are stored, so \
                 use numbers with fewer digits"
            );
            return Err(WorldOptionsError(what));
        }
        Ok(())
    }

    /// Returns the preset that differs in the fewest parameters; of equals the first.
    fn nearest_preset(&self) -> Preset {
        let differences = |preset: &Preset| {
            let options = preset.options();
            PARAMETERS.iter().filter(|p| (p.get)(self) != (p.get)(&options)).count()
        };
        Preset::ALL.into_iter().min_by_key(differences).unwrap_or_default()
    }
}

impl fmt::Display for WorldOptions {
    /// The nearest preset, and every parameter that differs from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let preset = self.nearest_preset();
        f.write_str(preset.name())?;
        let options = preset.options();
        for Parameter { name, get, .. } in PARAMETERS {
            if get(self) != get(&options) {
                write!(f, ",{name}={}", get(self))?;
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for WorldOptions {
    type Err = WorldOptionsError;

    /// Reads what [`Display`](fmt::Display) writes, in any order; each parameter at most once.
    fn from_str(text: &str) -> Result<WorldOptions, WorldOptionsError> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let preset = Preset::find(name).ok_or_else(|| {
            let known = Preset::ALL.map(Preset::name).join(", ");
            WorldOptionsError(format!("unknown preset {name:?}; known are {known}"))
        })?;
        let mut options = preset.options();
        let mut given = Vec::new();
        for part in parts {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                WorldOptionsError(format!("{part:?} is not NAME=NUMBER, for example relief=1.5"))
            })?;
            let parameter = PARAMETERS.iter().find(|p| p.name == name).ok_or_else(|| {
                let known = PARAMETERS.each_ref().map(|p| p.name).join(", ");
                WorldOptionsError(format!("unknown parameter {name:?}; known are {known}"))
            })?;
            if given.contains(&name) {
                return Err(WorldOptionsError(format!("{name} is given twice; give it once")));
            }
            given.push(name);
            let number = value.parse().map_err(|_| {
                WorldOptionsError(format!("{name} is {value:?}; it must be a number"))
            })?;
            (parameter.set)(&mut options, number);
        }
        options.check()?;
        Ok(options)
    }
}

#[cfg(test)]
impl WorldOptions {
    /// Sets the parameter of an index to a part `t` of its range.
    pub(super) fn set_within_range(&mut self, i: usize, t: f32) {
        let Parameter { range: [low, high], set, .. } = PARAMETERS[i];
        set(self, (low + t * (high - low)).clamp(low, high));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn presets_are_valid_differ_and_read_back() {
        for (i, preset) in Preset::ALL.into_iter().enumerate() {
            let options = preset.options();
            options.check().unwrap();
            assert_eq!(options.to_string(), preset.name());
            assert_eq!(preset.name().parse(), Ok(options));
            assert!(Preset::ALL[..i].iter().all(|other| other.options() != options));
        }
    }

    #[test]
    fn numbers_outside_of_their_range_are_refused_by_name() {
        for Parameter { name, range: [low, high], set, .. } in PARAMETERS {
            for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, low - 0.01, high + 0.01] {
                let mut options = WorldOptions::default();
                set(&mut options, value);
                let error = options.check().unwrap_err().to_string();
                assert!(error.starts_with(name) && error.contains("must be"), "{error}");
                let text = format!("alps,{name}={value}");
                assert!(text.parse::<WorldOptions>().is_err(), "{text}");
            }
        }
    }

    #[test]
    fn texts_that_are_wrong_say_what_is_known() {
        let refused = |text: &str| text.parse::<WorldOptions>().unwrap_err().to_string();
        assert!(refused("").contains("known are continents"));
        assert!(refused("Alps").contains("known are continents"));
        assert!(refused("alps,").contains("NAME=NUMBER"));
        assert!(refused("alps,height=2").contains("known are land"));
        assert!(refused("alps,relief=high").contains("must be a number"));
    }

    #[test]
    fn a_parameter_that_is_given_twice_is_refused_by_name() {
        for text in ["alps,relief=1,land=0.5,relief=1", "alps,relief=1,relief=2"] {
            let error = text.parse::<WorldOptions>().unwrap_err().to_string();
            assert!(error.starts_with("relief is given twice"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_options_read_back_from_their_text(
            preset in 0usize..10,
            which in prop::collection::vec((0usize..16, 0.0f32..=1.0), 0..6),
        ) {
            let mut options = Preset::ALL[preset].options();
            for (i, t) in which {
                options.set_within_range(i, t);
            }
            prop_assert_eq!(options.to_string().parse(), Ok(options));
        }
    }
}
