//! Selecting a box, copying it, and pasting copies.

use bevy::prelude::*;
use bevy_terravox::prelude::*;
use bevy_terravox::{EditTerrain, TerrainAction, terravox};
use terravox::edit::{Blend, Clip, PasteOp, PastePose};
use terravox::voxel::{DenseBox, Region, VoxelPos};

use super::stroke::{exact_hit, hold_box};
use crate::action::{Action, Field, Mode, Switch, Tool};
use crate::history::History;
use crate::notices::Notices;
use crate::open::Session;
use crate::pointer::Pointer;
use crate::settings::Settings;

/// The box that is selected, voxels.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Selection {
    /// From where to where it was drawn.
    corners: Option<[VoxelPos; 2]>,
    /// The box.
    pub region: Option<Region>,
    is_drawn: bool,
}

impl Selection {
    /// Draws the box on to a voxel.
    fn draw(&mut self, to: Option<VoxelPos>, ends: bool, settings: &Settings, voxel_size_m: f64) {
        if let Some(to) = to {
            let first = match self.corners {
                Some([first, _]) if self.is_drawn => first,
                _ => to,
            };
            let corners = [first, to];
            self.region = Some(boxed(corners, settings, voxel_size_m));
            (self.corners, self.is_drawn) = (Some(corners), true);
        }
        self.is_drawn &= !ends;
    }
}

/// What was copied.
#[derive(Resource, Clone, Debug, Default)]
pub struct Clipboard {
    /// The cells, as they were.
    pub clip: Option<Clip>,
    /// How the next copy is turned and mirrored.
    pub pose: PastePose,
    /// Height of the ground in the copy, voxels above its lowest.
    ground: i32,
    last: Option<VoxelPos>,
    pasted: u32,
}

impl Clipboard {
    /// Size of the next copy, voxels.
    pub fn size(&self) -> Option<[i32; 3]> {
        let mut size = self.clip.as_ref()?.cells().region().size().map(|v| v as i32);
        for (axis, turns) in self.pose.quarter_turns.iter().enumerate() {
            if turns % 2 == 1 {
                size.swap((axis + 1) % 3, (axis + 2) % 3);
            }
        }
        Some(size)
    }

    /// The lowest voxel of a copy whose ground is at a voxel.
    pub fn corner(&self, at: VoxelPos) -> Option<VoxelPos> {
        let [x, _, z] = self.size()?;
        Some(VoxelPos::new(at.x - x / 2, at.y - self.ground, at.z - z / 2))
    }
}

/// Draws the box, pastes copies.
pub(super) fn drag(
    buttons: Res<ButtonInput<MouseButton>>,
    pointer: Res<Pointer>,
    settings: Res<Settings>,
    session: Option<Res<Session>>,
    mut terrains: Query<&mut Terrain>,
    mut selection: ResMut<Selection>,
    mut clipboard: ResMut<Clipboard>,
    mut history: ResMut<History>,
    mut edits: MessageWriter<EditTerrain>,
) {
    let Some(session) = session else {
        *selection = Selection::default();
        return;
    };
    let is_ours =
        settings.mode == Mode::Sculpt && matches!(settings.tool, Tool::Select | Tool::Paste);
    let begins =
        buttons.just_pressed(MouseButton::Left) && !pointer.is_over_panel && !pointer.is_looking;
    let Ok(mut terrain) = terrains.get_mut(session.terrain) else { return };
    let end_stroke = EditTerrain { terrain: session.terrain, action: TerrainAction::EndStroke };
    if (!is_ours || settings.tool == Tool::Select) && clipboard.last.take().is_some() {
        // The tool was changed while the button was held.
        edits.write(end_stroke.clone());
    }
    if !is_ours || !(begins || selection.is_drawn || clipboard.last.is_some()) {
        // The box follows the reach that is set.
        if let Some(corners) = selection.corners {
            let region = Some(boxed(corners, &settings, terrain.placement().voxel_size_m));
            selection.set_if_neq(Selection { region, ..*selection });
        }
        return;
    }
    let hit = exact_hit(&mut terrain, &pointer, &settings);
    let ends = !buttons.pressed(MouseButton::Left);
    if settings.tool == Tool::Select {
        let hit = hit.filter(|_| begins || selection.is_drawn).map(|hit| hit.voxel);
        selection.draw(hit, ends, &settings, terrain.placement().voxel_size_m);
        return;
    }
    // A click may be shorter than a frame.
    if let (Some(hit), Some([x, _, z])) = (hit.filter(|_| begins || !ends), clipboard.size()) {
        if begins {
            let action = TerrainAction::BeginStroke;
            edits.write(EditTerrain { terrain: session.terrain, action });
        }
        let far =
            |last: VoxelPos| (last.x - hit.voxel.x).abs() >= x || (last.z - hit.voxel.z).abs() >= z;
        if clipboard.last.is_none_or(far) {
            clipboard.last = Some(hit.voxel);
            history.next = "Paste".to_owned();
            paste(&mut terrain, session.terrain, hit.voxel, &settings, &mut clipboard, &mut edits);
        }
    }
    if ends && clipboard.last.take().is_some() {
        edits.write(end_stroke);
    }
}

/// The box between two corners, as far above and below as the radius says.
fn boxed([a, b]: [VoxelPos; 2], settings: &Settings, voxel_size_m: f64) -> Region {
    let reach = (f64::from(settings.get(Field::Radius)) / voxel_size_m).ceil() as i32;
    let up = VoxelPos::new(0, reach, 0);
    Region { min: a.min(b) - up, max: a.max(b) + up + VoxelPos::new(1, 1, 1) }
}

/// Pastes a copy with its ground at a voxel.
fn paste(
    terrain: &mut Terrain,
    entity: Entity,
    at: VoxelPos,
    settings: &Settings,
    clipboard: &mut Clipboard,
    edits: &mut MessageWriter<EditTerrain>,
) {
    clipboard.pasted += 1;
    if settings.is_on(Switch::TurnCopies) {
        // The same turns in every replay.
        let turns = clipboard.pasted.wrapping_mul(0x9e37_79b9) >> 30;
        clipboard.pose.quarter_turns[1] = turns as u8;
    }
    let blend = if settings.is_on(Switch::PasteAir) { Blend::Replace } else { Blend::Over };
    let (Some(corner), Some(size), Some(clip)) =
        (clipboard.corner(at), clipboard.size(), clipboard.clip.clone())
    else {
        return;
    };
    let pose = PastePose { at: corner.to_array(), blend, ..clipboard.pose };
    let region = Region { min: corner, max: corner + VoxelPos::from(size) };
    hold_region(terrain, region.grow(2));
    edits.write(EditTerrain::new(entity, EditOp::Paste(PasteOp { clip, pose })));
}

fn hold_region(terrain: &mut Terrain, region: Region) -> bool {
    let placement = terrain.placement();
    let corner = |at: VoxelPos| placement.world_from_voxel(at.to_array().map(f64::from));
    hold_box(terrain, corner(region.min), corner(region.max))
}

/// Copies, cuts, turns.
pub(super) fn act(
    mut actions: MessageReader<Action>,
    session: Option<Res<Session>>,
    mut terrains: Query<&mut Terrain>,
    mut selection: ResMut<Selection>,
    mut clipboard: ResMut<Clipboard>,
    mut settings: ResMut<Settings>,
    mut history: ResMut<History>,
    mut notices: ResMut<Notices>,
    mut edits: MessageWriter<EditTerrain>,
) {
    let Some(session) = session else { return };
    for action in actions.read() {
        match action {
            Action::Copy | Action::Cut => {
                let Ok(mut terrain) = terrains.get_mut(session.terrain) else { continue };
                let Some(region) = selection.region else {
                    notices.say("nothing is selected; draw a box with the tool Select");
                    continue;
                };
                match copy(&mut terrain, region, &selection) {
                    Ok(copied) => *clipboard = copied,
                    Err(error) => {
                        notices.fail(error);
                        continue;
                    }
                }
                notices.say("copied; paste with a click");
                if *action == Action::Cut {
                    history.next = "Cut".to_owned();
                    if let Ok(air) = Clip::new(DenseBox::new(region)) {
                        edits.write(EditTerrain::new(
                            session.terrain,
                            EditOp::write(air, region.min),
                        ));
                    }
                }
                settings.apply(&Action::Tool(Tool::Paste));
            }
            Action::Rotate(axis) => {
                let turns = &mut clipboard.pose.quarter_turns[axis % 3];
                *turns = (*turns + 1) % 4;
            }
            Action::Mirror(axis) => {
                let mirror = &mut clipboard.pose.mirror[axis % 3];
                *mirror = !*mirror;
            }
            Action::Cancel => *selection = Selection::default(),
            _ => {}
        }
    }
}

/// Copies a box.
fn copy(terrain: &mut Terrain, region: Region, selection: &Selection) -> Result<Clipboard, String> {
    if region.volume() > Clip::MAX_CELLS {
        return Err(format!("a copy has at most {} voxels; select a smaller box", Clip::MAX_CELLS));
    }
    hold_region(terrain, region);
    let clip =
        Clip::copy(terrain.grid().as_snapshot(), region).map_err(|error| error.to_string())?;
    let ground = selection.corners.map_or(0, |[a, b]| a.min(b).y - region.min.y);
    Ok(Clipboard { clip: Some(clip), ground, ..Clipboard::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turned_copies_swap_their_sides_and_stand_on_the_ground() {
        let cells = DenseBox::new(Region::new([0; 3], [8, 5, 2]));
        let mut clipboard =
            Clipboard { clip: Some(Clip::new(cells).unwrap()), ground: 3, ..Clipboard::default() };
        assert_eq!(clipboard.size(), Some([8, 5, 2]));
        assert_eq!(clipboard.corner([10, 20, 30].into()), Some([6, 17, 29].into()));
        clipboard.pose.quarter_turns = [0, 1, 0];
        assert_eq!(clipboard.size(), Some([2, 5, 8]));
        let placed = clipboard.clip.as_ref().unwrap().placed(&clipboard.pose).unwrap();
        assert_eq!(placed.cells().region().size(), [2, 5, 8]);
    }
}
