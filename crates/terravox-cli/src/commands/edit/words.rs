//! Parsing operations of the command line: `dig ball 10,20,30 r=6`.

use super::in_voxels;
use std::collections::BTreeMap;
use terravox::edit::{Action, Blend, Brush, BrushOp, CopyOp, EditMask, EditOp, PastePose};
use terravox::voxel::{MaterialTable, WATER};
use terravox_store::WorldInfo;

/// Names of the shapes, for messages.
const SHAPES: [&str; 6] = ["ball", "box", "cylinder", "wedge", "capsule", "path"];

/// Names of the actions, for messages.
const ACTIONS: &str = "dig fill paint replace smooth flatten grow erode roughen flood drain copy";

/// The words and `key=value` options of an operation. They are removed as they are parsed, so
/// that leftovers are errors.
struct Words<'a> {
    words: Vec<&'a str>,
    keys: BTreeMap<&'a str, &'a str>,
}

/// Parses an operation; returns it in voxels of a world.
pub fn parse(text: &str, info: &WorldInfo) -> Result<EditOp, String> {
    let mut words = Words::new(text)?;
    let op = match words.next("an action")? {
        "copy" => copy(&mut words, info)?,
        verb => in_voxels(&EditOp::Brush(brush_op(verb, &mut words, &info.materials)?), info),
    };
    words.check_empty()?;
    Ok(op)
}

fn brush_op(
    verb: &str,
    words: &mut Words<'_>,
    materials: &MaterialTable,
) -> Result<BrushOp, String> {
    let mut action = action(verb, words, materials)?;
    let shape = words.next("a shape")?;
    let brush = brush(shape, words)?;
    if let (Action::Flatten { point, .. }, Some(centre)) = (&mut action, centre_of(&brush)) {
        let height = words.optional("at", number)?;
        *point = [centre[0], height.unwrap_or(centre[1]), centre[2]];
    }
    let mut op = BrushOp::new(brush, action);
    op.falloff = words.optional("falloff", number)?.unwrap_or(0.0);
    op.strength = words.optional("strength", number)?.unwrap_or(1.0);
    op.mask = EditMask {
        heights: words.optional("heights", range)?,
        slope: words.optional("slope", range)?,
        materials: words
            .optional("only", |names| names.split(',').map(|n| material(n, materials)).collect())?
            .unwrap_or_default(),
    };
    Ok(op)
}

fn action(verb: &str, words: &mut Words<'_>, materials: &MaterialTable) -> Result<Action, String> {
    let named = |words: &mut Words<'_>| material(words.next("a material")?, materials);
    // Without a material, the next word is a shape.
    let maybe = |words: &mut Words<'_>| match words.words.last() {
        Some(word) if SHAPES.contains(word) => Ok(None),
        _ => material(words.next("a material or a shape")?, materials).map(Some),
    };
    let amount = |words: &mut Words<'_>| number(words.next("a distance in metres")?);
    Ok(match verb {
        "dig" => Action::Dig,
        "fill" => Action::Fill { material: named(words)? },
        "paint" => Action::Paint { material: named(words)? },
        "replace" => Action::Replace { from: named(words)?, to: named(words)? },
        "smooth" => Action::Smooth,
        "flatten" => {
            let material = maybe(words)?;
            Action::Flatten { point: [0.0; 3], normal: [0.0, 1.0, 0.0], material }
        }
        "grow" => Action::Grow { amount: amount(words)? },
        "erode" => Action::Erode { amount: amount(words)? },
        "roughen" => Action::Roughen {
            amount: amount(words)?,
            size: words.optional("bumps", number)?.unwrap_or(6.0),
            seed: words.optional("seed", whole)?.unwrap_or(0),
        },
        "flood" => Action::Flood { material: maybe(words)?.unwrap_or(WATER) },
        "drain" => Action::Drain,
        _ => return Err(format!("unknown action {verb:?}; there are: {ACTIONS}")),
    })
}

fn brush(shape: &str, words: &mut Words<'_>) -> Result<Brush, String> {
    let half = |words: &mut Words<'_>| {
        words.needed("size", triple).map(|size| size.map(|edge| edge / 2.0))
    };
    Ok(match shape {
        "ball" => Brush::Ball { centre: words.point()?, radius: words.needed("r", number)? },
        "box" => Brush::Box { centre: words.point()?, half: half(words)?, rotation: turn(words)? },
        "wedge" => {
            Brush::Wedge { centre: words.point()?, half: half(words)?, rotation: turn(words)? }
        }
        "cylinder" => Brush::Cylinder {
            centre: words.point()?,
            radius: words.needed("r", number)?,
            half_height: words.needed("h", number)? / 2.0,
            rotation: turn(words)?,
        },
        "capsule" => Brush::Path {
            points: vec![words.point()?, words.point()?],
            radius: words.needed("r", number)?,
        },
        "path" => {
            let mut points = vec![words.point()?];
            while !words.words.is_empty() {
                points.push(words.point()?);
            }
            Brush::Path { points, radius: words.needed("r", number)? }
        }
        _ => {
            let known = SHAPES.join(" ");
            return Err(format!("unknown shape {shape:?}; there are: {known}"));
        }
    })
}

/// Returns the turn about y as a quaternion.
fn turn(words: &mut Words<'_>) -> Result<[f64; 4], String> {
    let Some(degrees) = words.optional("turn", number)? else { return Ok(Brush::NO_ROTATION) };
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

fn copy(words: &mut Words<'_>, info: &WorldInfo) -> Result<EditOp, String> {
    let voxel = |p: [f64; 3]| {
        // The casts saturate; positions beyond the limits are refused later.
        [0, 1, 2].map(|i| ((p[i] - info.origin_m[i]) / info.voxel_size_m).floor() as i32)
    };
    let [a, b] = [voxel(words.point()?), voxel(words.point()?)];
    let place = PastePose {
        at: voxel(words.needed("to", triple)?),
        quarter_turns: [0, words.optional("turn", quarter_turns)?.unwrap_or(0), 0],
        mirror: words.optional("mirror", axes)?.unwrap_or_default(),
        scale: words.optional("scale", whole)?.unwrap_or(1),
        blend: words.optional("blend", blend)?.unwrap_or_default(),
    };
    let from = [0, 1, 2].map(|i| a[i].min(b[i]));
    let to = [0, 1, 2].map(|i| a[i].max(b[i]).saturating_add(1));
    Ok(EditOp::Copy(CopyOp { from, to, pose: place }))
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Result<Words<'a>, String> {
        let mut words = Words { words: Vec::new(), keys: BTreeMap::new() };
        for word in text.split_whitespace() {
            match word.split_once('=') {
                None => words.words.push(word),
                Some((key, value)) => {
                    if words.keys.insert(key, value).is_some() {
                        return Err(format!("{key}= is given twice"));
                    }
                }
            }
        }
        // Popped from the end.
        words.words.reverse();
        Ok(words)
    }

    fn next(&mut self, what: &str) -> Result<&'a str, String> {
        self.words.pop().ok_or_else(|| format!("{what} is missing"))
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
        let value = self.keys.remove(key);
        value.map(|value| read(value).map_err(|e| format!("{key}={value}: {e}"))).transpose()
    }

    fn needed<T>(
        &mut self,
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        self.optional(key, read)?.ok_or_else(|| format!("{key}= is missing"))
    }

    fn check_empty(&self) -> Result<(), String> {
        if let Some(word) = self.words.last() {
            return Err(format!("unexpected {word:?}"));
        }
        match self.keys.keys().next() {
            Some(key) => Err(format!("{key}= does not apply here")),
            None => Ok(()),
        }
    }
}

fn number(text: &str) -> Result<f64, String> {
    let value: Result<f64, _> = text.parse();
    value.ok().filter(|v| v.is_finite()).ok_or_else(|| format!("{text:?} is not a number"))
}

fn whole<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "not an integer".to_owned())
}

fn triple(text: &str) -> Result<[f64; 3], String> {
    let values: Result<Vec<f64>, String> = text.split(',').map(number).collect();
    values?.try_into().map_err(|_| "give 3 numbers separated by commas".to_owned())
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
        format!("unknown material {name:?}; there are: {known}")
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
            ("fill Cheese ball 0,0,0 r=3", "there are: Air"),
            ("paint ball 0,0,0 r=3", "unknown material"),
            ("smooth ball 0,0,0 r=3 slope=1", "LOW..HIGH"),
            ("copy 0,0,0 1,1,1", "to= is missing"),
            ("copy 0,0,0 1,1,1 to=0,0,0 turn=45", "90"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
