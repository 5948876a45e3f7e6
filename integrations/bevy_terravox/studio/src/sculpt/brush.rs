//! Tool, shape and numbers become an operation of the terrain.

use bevy::math::{DQuat, DVec3};
use bevy_terravox::terravox;
use terravox::edit::{Action as Edit, Brush, BrushOp};
use terravox::voxel::MaterialTable;

use crate::action::{Field, Shape, Switch, Tool};
use crate::settings::Settings;

/// Where a brush is applied, metres of terrain space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The ground below the brush.
    pub at: DVec3,
    /// Out of the ground, length 1.
    pub normal: DVec3,
    /// Where the line began, for [`Shape::Path`]; else the same as `at`.
    pub from: DVec3,
    /// Where the stroke began: what is flattened to.
    pub level: DVec3,
    /// Out of the ground there.
    pub level_normal: DVec3,
    /// Degrees by which the shape is turned about the vertical.
    pub turn: f64,
}

/// The shapes that a tool can have.
pub fn shapes_of(tool: Tool) -> &'static [Shape] {
    match tool {
        Tool::Select | Tool::Paste => &[],
        _ => Shape::ALL,
    }
}

/// The numbers that matter for a tool of a shape.
pub fn used_fields(tool: Tool, shape: Shape) -> Vec<Field> {
    let mut fields = vec![Field::Radius];
    if matches!(tool, Tool::Select | Tool::Paste) {
        return Vec::new();
    }
    // A liquid is there or not, and so is a material.
    let is_soft = !matches!(tool, Tool::Flood | Tool::Drain | Tool::Replace);
    if is_soft && !matches!(tool, Tool::Paint) {
        fields.push(Field::Strength);
    }
    if matches!(tool, Tool::Smooth | Tool::Flatten | Tool::Grow | Tool::Erode | Tool::Roughen) {
        fields.push(Field::Falloff);
    }
    if matches!(shape, Shape::Box | Shape::Cylinder | Shape::Wedge) {
        fields.push(Field::Height);
    }
    if matches!(shape, Shape::Box | Shape::Wedge) {
        fields.push(Field::Turn);
    }
    if matches!(tool, Tool::Grow | Tool::Erode | Tool::Roughen) {
        fields.push(Field::Amount);
    }
    if tool == Tool::Roughen {
        fields.push(Field::Bumps);
    }
    fields
}

/// The rotation of a brush at a place.
pub(super) fn rotation(settings: &Settings, place: &Place) -> DQuat {
    let turn = DQuat::from_rotation_y(place.turn.to_radians());
    match settings.is_on(Switch::AlignNormal) {
        true => DQuat::from_rotation_arc(DVec3::Y, place.normal) * turn,
        false => turn,
    }
}

/// The centre of a brush at a place. Digging and building go as deep as they are strong.
pub(super) fn centre(settings: &Settings, tool: Tool, shape: Shape, place: &Place) -> DVec3 {
    let radius = f64::from(settings.get(Field::Radius));
    let height = match shape {
        Shape::Box | Shape::Cylinder | Shape::Wedge => {
            radius * f64::from(settings.get(Field::Height))
        }
        Shape::Ball | Shape::Path => radius,
    };
    let up = if settings.is_on(Switch::AlignNormal) || shape == Shape::Ball {
        place.normal
    } else {
        DVec3::Y
    };
    let out = height * (1.0 - f64::from(settings.get(Field::Strength)));
    match (tool, shape) {
        // A ramp stands on the ground.
        (Tool::Build, Shape::Wedge) => place.at + up * height * 0.9,
        (Tool::Dig, _) => place.at + up * out,
        (Tool::Build, _) => place.at - up * out,
        _ => place.at,
    }
}

/// The shape of a brush at a place, metres.
pub(super) fn brush(settings: &Settings, tool: Tool, shape: Shape, place: &Place) -> Brush {
    let radius = f64::from(settings.get(Field::Radius));
    let half_height = radius * f64::from(settings.get(Field::Height));
    let rotation = rotation(settings, place).to_array();
    let centre = centre(settings, tool, shape, place).to_array();
    let half = [radius, half_height, radius];
    match shape {
        Shape::Ball => Brush::Ball { centre, radius },
        Shape::Box => Brush::Box { centre, half, rotation },
        Shape::Cylinder => Brush::Cylinder { centre, radius, half_height, rotation },
        Shape::Wedge => Brush::Wedge { centre, half, rotation },
        Shape::Path => {
            let moved = DVec3::from(centre) - place.at;
            let points = vec![(place.from + moved).to_array(), centre];
            Brush::Path { points, radius }
        }
    }
}

/// What a tool does at a place; `None` for tools that are no brushes, and if the table has no
/// material for it.
pub fn operation(
    settings: &Settings,
    tool: Tool,
    place: &Place,
    table: &MaterialTable,
    voxel_size_m: f64,
    dab: u64,
) -> Option<BrushOp> {
    let number = |field| f64::from(settings.get(field));
    let material = settings.material_for(tool, table);
    let amount = number(Field::Amount) * voxel_size_m;
    let normal = if settings.is_on(Switch::AlignNormal) { place.level_normal } else { DVec3::Y };
    let action = match tool {
        Tool::Dig => Edit::Dig,
        Tool::Build => Edit::Fill { material: material? },
        Tool::Paint => Edit::Paint { material: material? },
        Tool::Replace => Edit::Replace { from: settings.id(Field::From), to: material? },
        Tool::Smooth => Edit::Smooth,
        Tool::Flatten => Edit::Flatten {
            point: place.level.to_array(),
            normal: normal.to_array(),
            material: None,
        },
        Tool::Grow => Edit::Grow { amount },
        Tool::Erode => Edit::Erode { amount },
        Tool::Roughen => {
            let size = number(Field::Bumps).max(voxel_size_m);
            Edit::Roughen { amount, size, seed: dab }
        }
        Tool::Flood => Edit::Flood { material: material? },
        Tool::Drain => Edit::Drain,
        Tool::Select | Tool::Paste => return None,
    };
    let fields = used_fields(tool, settings.shape);
    // Digging and building use it as their depth.
    let is_scaled = fields.contains(&Field::Strength) && !matches!(tool, Tool::Dig | Tool::Build);
    let falloff = match fields.contains(&Field::Falloff) {
        true => number(Field::Falloff) * number(Field::Radius),
        false => 0.0,
    };
    Some(BrushOp {
        falloff,
        strength: if is_scaled { number(Field::Strength) } else { 1.0 },
        mask: settings.mask(),
        ..BrushOp::new(brush(settings, tool, settings.shape, place), action)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;
    use terravox::Terrain;
    use terravox::edit::EditOp;

    fn place() -> Place {
        Place {
            at: DVec3::new(0.0, 0.0, 0.0),
            normal: DVec3::Y,
            from: DVec3::new(-8.0, 0.0, 0.0),
            level: DVec3::ZERO,
            level_normal: DVec3::Y,
            turn: 30.0,
        }
    }

    /// A plain of grass at height 0 with a lake.
    fn plain() -> Terrain {
        let mut terrain = Terrain::default();
        terrain
            .hold([-48.0; 3], [48.0; 3], |request| {
                request.fill_height(2, -6.0..=3.0, |x, z| {
                    3.0 * (x * 0.2).sin() * (z * 0.17).cos() - 1.0
                });
                request.fill_air_below(1, -2.0);
            })
            .unwrap();
        terrain
    }

    #[test]
    fn every_tool_of_every_shape_is_an_operation_that_changes_ground_or_water() {
        for tool in Tool::ALL.iter().filter(|tool| !shapes_of(**tool).is_empty()) {
            for shape in shapes_of(*tool) {
                let mut terrain = plain();
                let mut settings = Settings::default();
                settings.apply(&Action::Shape(*shape));
                settings.apply(&Action::Set(Field::Strength, 1.0));
                let table = terrain.grid().materials().clone();
                let op = operation(&settings, *tool, &place(), &table, 1.0, 1).unwrap();
                let done = terrain
                    .edit(&EditOp::from(op))
                    .unwrap_or_else(|e| panic!("{tool:?} {shape:?}: {e}"));
                assert!(!done.region.is_empty(), "{tool:?} {shape:?} changed nothing");
            }
        }
    }

    #[test]
    fn weaker_digs_are_less_deep() {
        let dug = |strength: f32| {
            let mut terrain = plain();
            let mut settings = Settings::default();
            settings.apply(&Action::Set(Field::Strength, strength));
            let table = terrain.grid().materials().clone();
            let op = operation(&settings, Tool::Dig, &place(), &table, 1.0, 0).unwrap();
            terrain.edit(&op.into()).unwrap().removed.voxels(2)
        };
        let [weak, strong] = [dug(0.2), dug(1.0)];
        assert!(weak > 1.0 && strong > 4.0 * weak, "{weak} {strong}");
    }

    #[test]
    fn only_numbers_that_matter_are_offered() {
        assert_eq!(used_fields(Tool::Flood, Shape::Ball), [Field::Radius]);
        assert!(used_fields(Tool::Roughen, Shape::Box).contains(&Field::Bumps));
        assert!(!used_fields(Tool::Dig, Shape::Ball).contains(&Field::Falloff));
        assert!(used_fields(Tool::Select, Shape::Ball).is_empty());
    }
}
