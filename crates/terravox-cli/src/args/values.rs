//! Parsers of argument values. Error messages say what is allowed.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Morphing of vertices towards the next coarser level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MorphChoice {
    /// All by one factor.
    All(f32),
    /// Each by its distance from the camera.
    ByDistance,
    /// None; the model has morph targets.
    Targets,
}

/// A plane across an axis, beyond which the world is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cutaway {
    /// 0 to 2: x, y, z.
    pub axis: usize,
    /// Whether what lies above `at_m` is left out; else what lies below.
    pub is_beyond: bool,
    /// Metres.
    pub at_m: f64,
}

pub(super) fn cutaway(text: &str) -> Result<Cutaway, String> {
    let wrong = || "give an axis, < or >, and metres, such as 'z>40'".to_owned();
    let (sign, (axis, at)) = ['<', '>']
        .into_iter()
        .find_map(|sign| Some((sign, text.split_once(sign)?)))
        .ok_or_else(wrong)?;
    let axis = ["x", "y", "z"].iter().position(|name| *name == axis.trim()).ok_or_else(wrong)?;
    let at_m = number(at).map_err(|_| wrong())?;
    Ok(Cutaway { axis, is_beyond: sign == '>', at_m })
}

/// Largest magnitude of a number: twice the extent of a world with voxels of a kilometre.
const MAX_NUMBER: f64 = 2e12;

/// Parses a number.
pub fn number(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| "not a number".to_owned())?;
    let is_valid = value.abs() <= MAX_NUMBER;
    is_valid.then_some(value).ok_or_else(|| "give a number from -2e12 to 2e12".to_owned())
}

/// Parses an integer of a range.
pub(super) fn integer<T>(text: &str, range: RangeInclusive<T>) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    let value = text.parse().ok().filter(|value| range.contains(value));
    value.ok_or_else(|| format!("give an integer from {} to {}", range.start(), range.end()))
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    let is_valid = (1e-6..=1e9).contains(&value);
    is_valid.then_some(value).ok_or_else(|| "give a number from 0.000001 to 1e9".to_owned())
}

pub(super) fn morph(text: &str) -> Result<MorphChoice, String> {
    match text {
        "distance" => return Ok(MorphChoice::ByDistance),
        "targets" => return Ok(MorphChoice::Targets),
        _ => {}
    }
    match text.parse() {
        Ok(factor) if (0.0..=1.0).contains(&factor) => Ok(MorphChoice::All(factor)),
        _ => Err("give a number from 0 to 1, distance, or targets".to_owned()),
    }
}

pub(super) fn detail(text: &str) -> Result<f32, String> {
    let value = number(text)?;
    if (1.0..=16.0).contains(&value) {
        Ok(value as f32)
    } else {
        Err("give a number from 1 to 16".to_owned())
    }
}

pub(super) fn cluster(text: &str) -> Result<u32, String> {
    let edge = text.parse().ok().filter(|edge: &u32| edge.is_power_of_two() && *edge <= 16);
    edge.ok_or_else(|| "give 1, 2, 4, 8 or 16".to_owned())
}

pub(super) fn fov(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if (1.0..=150.0).contains(&value) {
        Ok(value)
    } else {
        Err("give a number from 1 to 150".to_owned())
    }
}

/// Parses numbers separated by commas.
pub(super) fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let values: Result<Vec<f64>, String> = text.split(',').map(number).collect();
    values?.try_into().map_err(|_| format!("give {N} numbers separated by commas"))
}

/// Parses three numbers separated by commas.
pub fn triple(text: &str) -> Result<[f64; 3], String> {
    numbers(text)
}

pub(super) fn earth_location(text: &str) -> Result<[f64; 3], String> {
    let location @ [longitude, latitude, _] = numbers(text)?;
    let is_on_earth = longitude.abs() <= 180.0 && latitude.abs() <= 90.0;
    let wrong =
        || "give degrees east, -180 to 180, degrees north, -90 to 90, and metres".to_owned();
    is_on_earth.then_some(location).ok_or_else(wrong)
}

pub(super) fn pair(text: &str) -> Result<[f64; 2], String> {
    numbers(text)
}

pub(super) fn pixels(text: &str) -> Result<[usize; 2], String> {
    let wrong = || "give WIDTHxHEIGHT, such as 1280x720, each 1 to 16384".to_owned();
    let (width, height) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
    let edge = |text: &str| text.parse().ok().filter(|edge| (1..=16384).contains(edge));
    match (edge(width), edge(height)) {
        (Some(width), Some(height)) => Ok([width, height]),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parsed_strictly() {
        assert_eq!(triple("1,-2.5, 3"), Ok([1.0, -2.5, 3.0]));
        assert!(triple("1,2").is_err() && triple("1,2,nan").is_err() && number("inf").is_err());
        assert_eq!(pixels("640x360"), Ok([640, 360]));
        assert!(pixels("640").is_err() && pixels("0x5").is_err() && pixels("99999x5").is_err());
        assert_eq!(integer("32", 32..=64_u32), Ok(32));
        let error = integer("31", 32..=64_u32).err();
        assert_eq!(error.as_deref(), Some("give an integer from 32 to 64"));
        assert!(integer("x", 0..=9_u8).is_err());
        assert!(positive("0").is_err() && fov("180").is_err());
        assert_eq!(cutaway("z > -4"), Ok(Cutaway { axis: 2, is_beyond: true, at_m: -4.0 }));
        assert!(cutaway("w<3").is_err() && cutaway("x=3").is_err() && cutaway("y<").is_err());
        assert!(cluster("8") == Ok(8) && cluster("3").is_err() && cluster("32").is_err());
        assert!(detail("0.9").is_err() && detail("nan").is_err() && detail("2") == Ok(2.0));
    }
}
