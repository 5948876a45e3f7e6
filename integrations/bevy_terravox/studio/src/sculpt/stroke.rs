//! Strokes: from a press of the button to its release, one step of undo.

use bevy::math::DVec3;
use bevy::prelude::*;
use bevy_terravox::prelude::*;
use bevy_terravox::{EditTerrain, TerrainAction, terravox};
use terravox::math::Aabb;
use terravox::terrain::RayHit;

use super::Symmetry;
use super::brush::{Place, operation, shapes_of};
use crate::action::{Action, Field, Mode, Shape, Switch, Tool};
use crate::history::History;
use crate::keys::Held;
use crate::notices::Notices;
use crate::open::Session;
use crate::pointer::Pointer;
use crate::settings::Settings;

/// Distance between dabs, in radii.
const SPACING_RADII: f32 = 0.3;
/// Seconds between dabs while the mouse rests.
const REST_S: f32 = 0.12;
/// Cells of a far mesh, to each side, in which the ground at full detail is looked for.
const FAR_CELLS: f64 = 3.0;
/// Most metres to each side: they are loaded while the frame waits.
const MAX_AROUND_M: f64 = 64.0;
/// Voxels around a brush that operations read.
const MARGIN_VOXELS: f64 = 6.0;

/// The stroke in progress.
#[derive(Resource, Clone, Debug, Default)]
pub struct Stroke {
    /// What it does.
    pub tool: Option<Tool>,
    /// Where it began, metres of terrain space.
    pub start: Option<RayHit>,
    /// Where the last dab was.
    last: Option<DVec3>,
    since_s: f32,
    dabs: u64,
}

impl Stroke {
    /// Whether the brush is applied again, at a place.
    fn is_due(&self, at: &Place, tool: Tool, settings: &Settings) -> bool {
        let apart = f64::from(settings.get(Field::Radius) * SPACING_RADII);
        // Filling and painting the same place again would change nothing.
        let goes_on = !matches!(tool, Tool::Build | Tool::Paint | Tool::Flood);
        self.last.is_none_or(|last| last.distance(at.at) > apart)
            || (goes_on && self.since_s > REST_S)
    }

    /// Whether the button is held in the ground.
    pub fn is_open(&self) -> bool {
        self.tool.is_some()
    }
}

/// The tool of a press with these keys, as in Blender: Ctrl does the opposite, Shift smooths.
pub(crate) fn tool_with(tool: Tool, held: Held) -> Tool {
    match tool {
        _ if held.shift && !matches!(tool, Tool::Select | Tool::Paste) => Tool::Smooth,
        Tool::Dig if held.ctrl => Tool::Build,
        Tool::Build if held.ctrl => Tool::Dig,
        Tool::Grow if held.ctrl => Tool::Erode,
        Tool::Erode if held.ctrl => Tool::Grow,
        Tool::Flood if held.ctrl => Tool::Drain,
        Tool::Drain if held.ctrl => Tool::Flood,
        _ => tool,
    }
}

/// Takes the material below the cursor.
pub(super) fn pick(
    mut actions: MessageReader<Action>,
    pointer: Res<Pointer>,
    mut settings: ResMut<Settings>,
) {
    for action in actions.read() {
        if let (Action::Pick, Some(hit)) = (action, pointer.hit) {
            settings.apply(&Action::Set(Field::Material, f32::from(hit.in_terrain.material)));
        }
    }
}

/// Draws the stroke.
pub(super) fn stroke(
    buttons: Res<ButtonInput<MouseButton>>,
    keys: Res<ButtonInput<KeyCode>>,
    pointer: Res<Pointer>,
    settings: Res<Settings>,
    symmetry: Res<Symmetry>,
    session: Option<Res<Session>>,
    time: Res<Time>,
    mut terrains: Query<&mut Terrain>,
    mut stroke: ResMut<Stroke>,
    mut history: ResMut<History>,
    mut notices: ResMut<Notices>,
    mut edits: MessageWriter<EditTerrain>,
) {
    let Some(session) = session else {
        *stroke = Stroke::default();
        return;
    };
    let Ok(mut terrain) = terrains.get_mut(session.terrain) else { return };
    let begins =
        buttons.just_pressed(MouseButton::Left) && !pointer.is_over_panel && !pointer.is_looking;
    if begins && settings.mode == Mode::Sculpt && !stroke.is_open() {
        let tool = tool_with(settings.tool, Held::of(&keys));
        if shapes_of(tool).is_empty() {
            return;
        }
        let Some(hit) = exact_hit(&mut terrain, &pointer, &settings) else { return };
        let dabs = stroke.dabs;
        *stroke = Stroke { tool: Some(tool), start: Some(hit), last: None, since_s: 0.0, dabs };
        history.next = label(tool, &settings, &terrain);
        edits.write(EditTerrain { terrain: session.terrain, action: TerrainAction::BeginStroke });
    }
    let (Some(tool), Some(start)) = (stroke.tool, stroke.start) else { return };
    let is_line = settings.shape == Shape::Path;
    stroke.since_s += time.delta_secs();
    let ends = !buttons.pressed(MouseButton::Left);
    let at = place(&mut terrain, &pointer, &settings, &start, tool);
    let is_due = |at: &Place| match is_line {
        true => ends,
        // A click may be shorter than a frame.
        false => (begins || !ends) && stroke.is_due(at, tool, &settings),
    };
    if let Some(at) = at.filter(is_due) {
        let terrain = (session.terrain, &mut *terrain);
        dab(terrain, tool, at, &settings, &symmetry, &mut stroke, &mut edits, &mut notices);
    }
    if ends {
        edits.write(EditTerrain { terrain: session.terrain, action: TerrainAction::EndStroke });
        (stroke.tool, stroke.start) = (None, None);
    }
}

/// Ends a stroke when something else begins.
pub(super) fn close(
    mut actions: MessageReader<Action>,
    session: Option<Res<Session>>,
    mut stroke: ResMut<Stroke>,
    mut edits: MessageWriter<EditTerrain>,
) {
    let ends = |action: &Action| {
        matches!(
            action,
            Action::Cancel
                | Action::Undo
                | Action::Redo
                | Action::GoTo(_)
                | Action::Tool(_)
                | Action::Mode(_)
                | Action::AskSaveAs
                | Action::SaveAs(_)
                | Action::Overwrite(_)
                | Action::Close
                | Action::Quit
                | Action::Open(_)
                | Action::Recover(_)
        )
    };
    if actions.read().any(ends) && stroke.is_open() {
        (stroke.tool, stroke.start) = (None, None);
        if let Some(session) = session {
            edits.write(EditTerrain { terrain: session.terrain, action: TerrainAction::EndStroke });
        }
    }
}

/// What a stroke is called in the history.
fn label(tool: Tool, settings: &Settings, terrain: &Terrain) -> String {
    let radius = settings.get(Field::Radius);
    let table = terrain.grid().materials();
    let material = settings.material_for(tool, table).map(|id| table.name(id)).unwrap_or_default();
    match tool {
        Tool::Build | Tool::Paint | Tool::Replace | Tool::Flood => {
            format!("{} {material}, {radius:.1} m", tool.label())
        }
        _ => format!("{}, {radius:.1} m", tool.label()),
    }
}

/// The ground at the cursor at full detail; far away it is loaded first.
pub(crate) fn exact_hit(
    terrain: &mut Terrain,
    pointer: &Pointer,
    settings: &Settings,
) -> Option<RayHit> {
    let (hit, ray) = (pointer.hit?, pointer.ray?);
    if hit.in_terrain.mip == 0 {
        return Some(hit.in_terrain);
    }
    let cell_m = f64::from(1_u32 << hit.in_terrain.mip) * terrain.placement().voxel_size_m;
    let around_m =
        f64::from(settings.get(Field::Radius)).max((FAR_CELLS * cell_m).min(MAX_AROUND_M));
    let centre = DVec3::from(hit.in_terrain.point_m);
    if !hold_around(terrain, centre, around_m) {
        return Some(hit.in_terrain);
    }
    let direction = ray.direction.as_dvec3();
    let origin = centre - direction * around_m;
    let found = terrain.ray(origin.to_array(), ray.direction.to_array(), 2.0 * around_m).hit();
    found.or(Some(hit.in_terrain))
}

/// Loads the ground around a point; returns whether it is there.
pub(crate) fn hold_around(terrain: &mut Terrain, centre: DVec3, around_m: f64) -> bool {
    let placement = terrain.placement();
    let margin_m = MARGIN_VOXELS * placement.voxel_size_m;
    let [min, max] = [-1.0, 1.0].map(|sign| (centre + sign * (around_m + margin_m)).to_array());
    hold_box(terrain, min, max)
}

/// Loads the ground in a box, metres; returns whether it is there.
pub(crate) fn hold_box(terrain: &mut Terrain, min: [f64; 3], max: [f64; 3]) -> bool {
    let placement = terrain.placement();
    let bounds = Aabb::new(placement.voxel_from_world(min), placement.voxel_from_world(max));
    if terrain.collider().unknown_in(&bounds).is_none() {
        return true;
    }
    let fill = terrain.fill();
    terrain.hold(min, max, |request| fill(request)).is_ok()
}

/// Whether strokes stay in the plane of the ground that they began on. What is built would come
/// towards the eye.
pub(super) fn stays_in_plane(settings: &Settings, tool: Tool) -> bool {
    settings.is_on(Switch::LockPlane) || tool == Tool::Build
}

/// Where the mouse points in the plane of the ground where the stroke began.
pub(super) fn in_plane(pointer: &Pointer, settings: &Settings, start: &RayHit) -> Option<DVec3> {
    let ray = pointer.ray?;
    let plane = InfinitePlane3d::new(Vec3::from(start.normal));
    let origin = DVec3::from(start.point_m).as_vec3();
    let at = ray.plane_intersection_point(origin, plane)?;
    // Nearly along the plane it would run away.
    (at.distance(ray.origin) < settings.get(Field::Distance)).then(|| at.as_dvec3())
}

/// Where the brush is.
fn place(
    terrain: &mut Terrain,
    pointer: &Pointer,
    settings: &Settings,
    start: &RayHit,
    tool: Tool,
) -> Option<Place> {
    let level = DVec3::from(start.point_m);
    let level_normal = Vec3::from(start.normal).as_dvec3();
    let (at, normal) = match stays_in_plane(settings, tool) {
        true => (in_plane(pointer, settings, start)?, level_normal),
        false => {
            let hit = exact_hit(terrain, pointer, settings)?;
            (DVec3::from(hit.point_m), Vec3::from(hit.normal).as_dvec3())
        }
    };
    let turn = f64::from(settings.get(Field::Turn));
    let from = if settings.shape == Shape::Path { level } else { at };
    Some(Place { at, normal, from, level, level_normal, turn })
}

/// Applies the brush once, on all sides of the mirrors.
fn dab(
    (entity, terrain): (Entity, &mut Terrain),
    tool: Tool,
    place: Place,
    settings: &Settings,
    symmetry: &Symmetry,
    stroke: &mut Stroke,
    edits: &mut MessageWriter<EditTerrain>,
    notices: &mut Notices,
) {
    (stroke.last, stroke.since_s, stroke.dabs) = (Some(place.at), 0.0, stroke.dabs + 1);
    let voxel_size_m = terrain.placement().voxel_size_m;
    for place in symmetry.places(settings, place) {
        let table = terrain.grid().materials();
        let Some(op) = operation(settings, tool, &place, table, voxel_size_m, stroke.dabs) else {
            notices.fail("this world has no material for that");
            continue;
        };
        let op = EditOp::from(op);
        let placement = terrain.placement();
        let in_voxels = placement.op_in_voxels(&op);
        match in_voxels.region() {
            Ok(region) => {
                let region = region.grow(MARGIN_VOXELS as i32);
                let corner = |at: [i32; 3]| placement.world_from_voxel(at.map(f64::from));
                hold_box(terrain, corner(region.min.to_array()), corner(region.max.to_array()));
                edits.write(EditTerrain::new(entity, op));
            }
            Err(error) => notices.fail(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_does_the_opposite_and_shift_smooths() {
        let (ctrl, shift) = (Held { ctrl: true, ..default() }, Held { shift: true, ..default() });
        assert_eq!(tool_with(Tool::Dig, ctrl), Tool::Build);
        assert_eq!(tool_with(Tool::Erode, ctrl), Tool::Grow);
        assert_eq!(tool_with(Tool::Paint, shift), Tool::Smooth);
        assert_eq!(tool_with(Tool::Select, shift), Tool::Select);
        assert_eq!(tool_with(Tool::Dig, Held::default()), Tool::Dig);
    }
}
