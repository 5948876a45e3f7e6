//! The list of keys.

use bevy_egui::egui::{self, RichText};

use super::{Shown, style};
use crate::action::{Action, Switch};
use crate::keys::{Command, label};

/// What the mouse does.
const MOUSE: &[(&str, &str)] = &[
    ("left button", "the tool; throws, when walking"),
    ("right button, or Alt and left", "look around"),
    ("wheel", "forward and back"),
    ("Ctrl and wheel", "radius"),
    ("right button and wheel", "speed"),
    ("Ctrl, Shift while sculpting", "the opposite, smooth"),
];

/// Shows it.
pub fn show(context: &egui::Context, shown: &Shown, out: &mut Vec<Action>) {
    let mut is_open = true;
    egui::Window::new("Keys")
        .open(&mut is_open)
        .collapsible(false)
        .default_size([620.0, 460.0])
        .pivot(egui::Align2::CENTER_CENTER)
        .default_pos(context.viewport_rect().center())
        .show(context, |ui| {
            egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                egui::Grid::new("mouse").num_columns(2).striped(true).show(ui, |ui| {
                    for (what, does) in MOUSE {
                        ui.label(RichText::new(*what).strong());
                        ui.label(*does);
                        ui.end_row();
                    }
                });
                ui.separator();
                ui.columns(2, |columns| keys(columns, shown));
                ui.separator();
                let file = shown.state.keys();
                let text = format!("Other keys: lines KEY = COMMAND in {}", file.display());
                ui.label(RichText::new(text).small().color(style::WEAK));
                if ui.small_button("Write that file with the keys of today").clicked() {
                    // What cannot be written is not there to be edited.
                    drop(std::fs::create_dir_all(shown.state.folder()));
                    drop(std::fs::write(file, shown.keys.text()));
                }
            });
        });
    if !is_open {
        out.push(Action::Switch(Switch::Help, false));
    }
}

/// Commands with their keys, in two columns.
fn keys(columns: &mut [egui::Ui], shown: &Shown) {
    let mut commands: Vec<&Command> = Vec::new();
    for (_, command) in &shown.keys.keys {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let half = commands.len().div_ceil(2);
    for (i, part) in commands.chunks(half.max(1)).take(2).enumerate() {
        egui::Grid::new(("keys", i)).num_columns(2).striped(true).show(&mut columns[i], |ui| {
            for command in part {
                ui.label(RichText::new(shown.keys.keys_of(command).join(", ")).strong());
                ui.label(label(command));
                ui.end_row();
            }
        });
    }
}
