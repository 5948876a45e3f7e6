//! Parses operations of the command line: `dig ball 10,20,30 r=6`.

use super::in_voxels;
use crate::args::{number, triple};
use crate::world::check_point;
use std::collections::BTreeMap;
use terravox::edit::{Action, Blend, Brush, BrushOp, CopyOp, EditMask, EditOp, PastePose};
use terravox::voxel::{MaterialTable, WATER};
use terravox_store::WorldInfo;

/// Names of the shapes, for messages.
const SHAPES: [&str; 6] = ["ball", "box", "cylinder", "wedge", "capsule", "path"];

/// Names of the actions, for messages.
const ACTIONS: &str =
    "dig, fill, paint, replace, smooth, flatten, grow, erode, roughen, flood, drain or copy";

/// The words and `key=value` options of an operation. Parsing removes them, so what is left over
/// is an error.
struct Tokens<'a> {
    /// In reverse order.
    words: Vec<&'a str>,
    options: BTreeMap<&'a str, &'a str>,
}

/// Parses an operation; returns it in voxels of a world.
pub fn parse(text: &str, info: &WorldInfo) -> Result<EditOp, String> {
    let mut tokens = Tokens::new(text)?;
    let op = match tokens.next("an action")? {
        "copy" => copy(&mut tokens, info)?,
        verb => in_voxels(&EditOp::Brush(brush_op(verb, &mut tokens, &info.materials)?), info),
    };
    tokens.check_empty()?;
    Ok(op)
}

fn brush_op(
    verb: &str,
    tokens: &mut Tokens<'_>,
    materials: &MaterialTable,
) -> Result<BrushOp, String> {
    let mut action = action(verb, tokens, materials)?;
    let shape = tokens.next("a shape")?;
    let brush = brush(shape, tokens)?;
    if let (Action::Flatten { point, .. }, Some(centre)) = (&mut action, centre_of(&brush)) {
        let height = tokens.optional("at", number)?;
        *point = [centre[0], height.unwrap_or(centre[1]), centre[2]];
    }
    let mut op = BrushOp::new(brush, action);
    op.falloff = tokens.optional("falloff", number)?.unwrap_or(0.0);
    op.strength = tokens.optional("strength", number)?.unwrap_or(1.0);
    op.mask = EditMask {
        heights: tokens.optional("heights", range)?,
        slope: tokens.optional("slope", range)?,
        materials: tokens
            .optional("only", |names| names.split(',').map(|n| material(n, materials)).collect())?
            .unwrap_or_default(),
    };
    Ok(op)
}

fn action(
    verb: &str,
    tokens: &mut Tokens<'_>,
    materials: &MaterialTable,
) -> Result<Action, String> {
    let required_material =
        |tokens: &mut Tokens<'_>| material(tokens.next("a material")?, materials);
    // Without a material, the next word is a shape.
    let optional_material = |tokens: &mut Tokens<'_>| match tokens.words.last() {
        Some(word) if SHAPES.contains(word) => Ok(None),
        _ => material(tokens.next("a material or a shape")?, materials).map(Some),
    };
    let amount = |tokens: &mut Tokens<'_>| {
        let word = tokens.next("a distance in metres")?;
        number(word).map_err(|error| format!("{word:?}: {error}"))
    };
    Ok(match verb {
        "dig" => Action::Dig,
        "fill" => Action::Fill { material: required_material(tokens)? },
        "paint" => Action::Paint { material: required_material(tokens)? },
        "replace" => {
            Action::Replace { from: required_material(tokens)?, to: required_material(tokens)? }
        }
        "smooth" => Action::Smooth,
        "flatten" => {
            let material = optional_material(tokens)?;
            Action::Flatten { point: [0.0; 3], normal: [0.0, 1.0, 0.0], material }
        }
        "grow" => Action::Grow { amount: amount(tokens)? },
        "erode" => Action::Erode { amount: amount(tokens)? },
        "roughen" => Action::Roughen {
            amount: amount(tokens)?,
            size: tokens.optional("bumps", number)?.unwrap_or(6.0),
            seed: tokens.optional("seed", integer)?.unwrap_or(0),
        },
        "flood" => Action::Flood { material: optional_material(tokens)?.unwrap_or(WATER) },
        "drain" => Action::Drain,
        _ => return Err(format!("unknown action {verb:?}; give {ACTIONS}")),
    })
}

fn brush(shape: &str, tokens: &mut Tokens<'_>) -> Result<Brush, String> {
    let half = |tokens: &mut Tokens<'_>| {
        tokens.required("size", triple).map(|size| size.map(|edge| edge / 2.0))
    };
    Ok(match shape {
        "ball" => Brush::Ball { centre: tokens.point()?, radius: tokens.required("r", number)? },
        "box" => {
            Brush::Box { centre: tokens.point()?, half: half(tokens)?, rotation: turn(tokens)? }
        }
        "wedge" => {
            Brush::Wedge { centre: tokens.point()?, half: half(tokens)?, rotation: turn(tokens)? }
        }
        "cylinder" => Brush::Cylinder {
            centre: tokens.point()?,
            radius: tokens.required("r", number)?,
            half_height: tokens.required("h", number)? / 2.0,
            rotation: turn(tokens)?,
        },
        "capsule" => Brush::Path {
            points: vec![tokens.point()?, tokens.point()?],
            radius: tokens.required("r", number)?,
        },
        "path" => {
            let mut points = vec![tokens.point()?];
            while !tokens.words.is_empty() {
                points.push(tokens.point()?);
            }
            Brush::Path { points, radius: tokens.required("r", number)? }
        }
        _ => {
            let known = SHAPES.join(", ");
            return Err(format!("unknown shape {shape:?}; give one of {known}"));
        }
    })
}

/// Returns the turn about y as a quaternion.
fn turn(tokens: &mut Tokens<'_>) -> Result<[f64; 4], String> {
    let Some(degrees) = tokens.optional("turn", number)? else { return Ok(Brush::NO_ROTATION) };
    let half = degrees.to_radians() / 2.0;
    Ok([0.0, half.sin(), 0.0, half.cos()])
}

fn centre_of(brush: &Brush) -> Option<[f64; 3]> {
    match brush {
        Brush::Ball { centre, .. }
        | Brush::Box { centre, .. }
        | Brush::Cylinder { centre, .. }
        | Brush::Wedge { centre, .. } => Some(*centre),
        Brush::Path { points, .. } => points.first().copied(),
        _ => None,
    }
}

fn copy(tokens: &mut Tokens<'_>, info: &WorldInfo) -> Result<EditOp, String> {
    let voxel = |name: &str, point_m: [f64; 3]| -> Result<[i32; 3], String> {
        check_point(name, point_m, info).map_err(|failure| failure.to_string())?;
        Ok(info.placement().voxel_at(point_m).to_array())
    };
    let a = voxel("the first corner", tokens.point()?)?;
    let b = voxel("the second corner", tokens.point()?)?;
    let place = PastePose {
        at: voxel("to=", tokens.required("to", triple)?)?,
        quarter_turns: [0, tokens.optional("turn", quarter_turns)?.unwrap_or(0), 0],
        mirror: tokens.optional("mirror", axes)?.unwrap_or_default(),
        scale: tokens.optional("scale", integer)?.unwrap_or(1),
        blend: tokens.optional("blend", blend)?.unwrap_or_default(),
    };
    let from = [0, 1, 2].map(|i| a[i].min(b[i]));
    let to = [0, 1, 2].map(|i| a[i].max(b[i]).saturating_add(1));
    Ok(EditOp::Copy(CopyOp { from, to, pose: place }))
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Result<Tokens<'a>, String> {
        let mut tokens = Tokens { words: Vec::new(), options: BTreeMap::new() };
        for word in text.split_whitespace() {
            match word.split_once('=') {
                None => tokens.words.push(word),
                Some((key, value)) => {
                    if tokens.options.insert(key, value).is_some() {
                        return Err(format!("{key}= is given twice; give it once"));
                    }
                }
            }
        }
        tokens.words.reverse();
        Ok(tokens)
    }

    fn next(&mut self, what: &str) -> Result<&'a str, String> {
        self.words.pop().ok_or_else(|| format!("{what} is missing; see terravox edit --help"))
    }

    fn point(&mut self) -> Result<[f64; 3], String> {
        let word = self.next("a point X,Y,Z")?;
        triple(word).map_err(|error| format!("{word:?}: {error}"))
    }

    fn optional<T>(
        &mut self,
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let value = self.options.remove(key);
        value.map(|value| read(value).map_err(|e| format!("{key}={value}: {e}"))).transpose()
    }

    fn required<T>(
        &mut self,
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        self.optional(key, read)?.ok_or_else(|| format!("{key}= is missing; add {key}=VALUE"))
    }

    fn check_empty(&self) -> Result<(), String> {
        if let Some(word) = self.words.last() {
            return Err(format!("unexpected {word:?}; remove it"));
        }
        match self.options.keys().next() {
            Some(key) => Err(format!("{key}= does not apply here; remove it")),
            None => Ok(()),
        }
    }
}

fn integer<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "give an integer".to_owned())
}

fn range(text: &str) -> Result<[f64; 2], String> {
    let (low, high) = text.split_once("..").ok_or("give LOW..HIGH")?;
    Ok([number(low)?, number(high)?])
}

fn quarter_turns(text: &str) -> Result<u8, String> {
    match text {
        "0" => Ok(0),
        "90" => Ok(1),
        "180" => Ok(2),
        "270" => Ok(3),
        _ => Err("give 0, 90, 180 or 270".to_owned()),
    }
}

fn axes(text: &str) -> Result<[bool; 3], String> {
    let mut mirror = [false; 3];
    for axis in text.split(',') {
        match axis {
            "x" => mirror[0] = true,
            "y" => mirror[1] = true,
            "z" => mirror[2] = true,
            _ => return Err("give x, y or z, separated by commas".to_owned()),
        }
    }
    Ok(mirror)
}

fn blend(text: &str) -> Result<Blend, String> {
    match text {
        "over" => Ok(Blend::Over),
        "add" => Ok(Blend::Add),
        "replace" => Ok(Blend::Replace),
        _ => Err("give over, add or replace".to_owned()),
    }
}

fn material(name: &str, materials: &MaterialTable) -> Result<u8, String> {
    materials.find(name).ok_or_else(|| {
        let known = materials.materials().iter().map(|m| m.name.as_str());
        let known = known.collect::<Vec<_>>().join(", ");
        format!("unknown material {name:?}; known are {known}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<EditOp, String> {
        let info = WorldInfo { voxel_size_m: 0.5, origin_m: [1.0, 0.0, 0.0], ..Default::default() };
        parse(text, &info)
    }

    #[test]
    fn metres_become_voxels() {
        let ball = Brush::Ball { centre: [18.0, 40.0, 60.0], radius: 12.0 };
        let dig = BrushOp::new(ball, Action::Dig);
        assert_eq!(read("dig ball 10,20,30 r=6"), Ok(dig.clone().into()));
        let soft = BrushOp { falloff: 4.0, strength: 0.5, ..dig };
        assert_eq!(read("dig ball r=6 10,20,30 strength=0.5 falloff=2"), Ok(soft.into()));
        let copied = read("copy 2,0,0 1,1,1 to=5,5,5 turn=90 mirror=x scale=-2 blend=add");
        let place = PastePose {
            at: [8, 10, 10],
            mirror: [true, false, false],
            quarter_turns: [0, 1, 0],
            scale: -2,
            blend: Blend::Add,
        };
        assert_eq!(copied, Ok(EditOp::Copy(CopyOp { from: [0; 3], to: [3, 3, 3], pose: place })));
    }

    #[test]
    fn errors_are_named() {
        for (text, words) in [
            ("", "an action"),
            ("explode ball 0,0,0 r=3", "unknown action"),
            ("dig", "a shape"),
            ("dig cube 0,0,0 r=3", "unknown shape"),
            ("dig ball 0,0 r=3", "3 numbers"),
            ("dig ball 0,0,0", "r= is missing"),
            ("dig ball 0,0,0 r=wide", "r=wide"),
            ("dig ball 0,0,0 r=3 r=4", "twice"),
            ("dig ball 0,0,0 r=3 h=4", "h= does not apply"),
            ("dig ball 0,0,0 r=3 deep", "\"deep\""),
            ("fill Cheese ball 0,0,0 r=3", "known are Air"),
            ("paint ball 0,0,0 r=3", "unknown material"),
            ("smooth ball 0,0,0 r=3 slope=1", "LOW..HIGH"),
            ("copy 0,0,0 1,1,1", "to= is missing"),
            ("copy 0,0,0 1,1,1 to=0,0,0 turn=45", "90"),
            ("copy 0,0,0 1,1e12,1 to=0,0,0", "the second corner is beyond the world"),
            ("copy 0,0,0 1,1,1 to=0,0,-6e8", "to= is beyond the world; give at most 536870912 m"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
