//! The panel of playing.

use bevy_egui::egui::{self, RichText, Ui};

use super::widgets::{button, heading};
use super::{Shown, style};
use crate::action::{Action, Field};
use crate::play::BodyKind;

/// Shows it.
pub fn show(root: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    egui::Panel::right("play").exact_size(220.0).resizable(false).show(root, |ui| {
        heading(ui, "You");
        let text = match shown.walkers.iter().next() {
            None => "waiting for the ground",
            Some(walker) if walker.swims => "swimming",
            Some(walker) if walker.stands => "standing",
            Some(_) => "in the air",
        };
        ui.label(text);
        if let Some(walker) = shown.walkers.iter().next() {
            ui.label(format!("{:.1} m/s", walker.velocity.length()));
        }
        heading(ui, "Throw");
        let chosen = BodyKind::of(shown.settings.id(Field::Body));
        for (i, kind) in BodyKind::ALL.iter().enumerate() {
            let (_, density) = kind.half_height_and_density();
            let text = format!("{}, {}", kind.label(), if density < 1.0 { "floats" } else { "sinks" });
            if ui.selectable_label(*kind == chosen, text).clicked() {
                out.push(Action::Set(Field::Body, i as f32));
            }
        }
        ui.horizontal(|ui| {
            button(ui, shown, "Throw", Action::Throw, out);
            button(ui, shown, "Clear", Action::ClearBodies, out);
        });
        ui.label(format!("{} bodies", shown.thrown.iter().len()));
        button(ui, shown, "Explosion", Action::Explode, out);
        ui.add_space(8.0);
        let lines = "W A S D walk, Space jumps\nShift runs, Q dives\nleft button throws\nright button looks";
        ui.label(RichText::new(lines).small().color(style::WEAK));
    });
}
