//! The panel of light, overlays and pictures.

use bevy_egui::egui::{self, RichText, Ui};

use super::widgets::{button, heading, slider, tick};
use super::{Shown, style};
use crate::action::{Action, Field, Switch};

/// Shows it.
pub fn show(root: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    egui::Panel::right("look").exact_size(286.0).resizable(false).show(root, |ui| {
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            heading(ui, "Light");
            for field in [Field::Time, Field::Sun, Field::Fog, Field::Distance] {
                slider(ui, shown, field, out);
            }
            for switch in [Switch::Shadows, Switch::Waves, Switch::Clock] {
                tick(ui, shown, switch, out);
            }
            heading(ui, "Overlays");
            for switch in
                [Switch::Levels, Switch::Grid, Switch::Unsaved, Switch::Colliders, Switch::Frames]
            {
                tick(ui, shown, switch, out);
            }
            memory(ui, shown);
            heading(ui, "Pictures");
            button(ui, shown, "This view", Action::Picture("studio.png".into()), out);
            button(ui, shown, "From all around, 48", Action::Turntable("turntable".into()), out);
            heading(ui, "Camera path");
            ui.horizontal(|ui| {
                button(ui, shown, "Add view", Action::AddView, out);
                button(ui, shown, "Fly", Action::PlayPath, out);
                button(ui, shown, "Clear", Action::ClearViews, out);
            });
            let count = shown.path.views.len();
            ui.label(format!(
                "{count} views{}",
                if shown.path.is_flown() { ", flying" } else { "" }
            ));
            button(ui, shown, "Pictures along it", Action::Film("film".into()), out);
            ui.label(
                RichText::new("Pictures go into the folder that the studio was started in.")
                    .small()
                    .color(style::WEAK),
            );
        });
    });
}

/// Memory by part.
fn memory(ui: &mut Ui, shown: &Shown) {
    let Some((terrain, chunks)) = shown.terrain() else { return };
    heading(ui, "Memory");
    let memory = terrain.grid().memory();
    let rows = [
        ("cells", memory.mip_0 + memory.water),
        ("coarser cells", memory.mips + memory.far),
        ("tables", memory.pages_bytes + memory.hash),
        ("undo", shown.history.bytes()),
        ("to upload", chunks.backlog_bytes()),
    ];
    egui::Grid::new("memory").num_columns(2).spacing([18.0, 2.0]).show(ui, |ui| {
        for (name, bytes) in rows {
            ui.label(RichText::new(name).color(style::WEAK));
            ui.label(format!("{:.1} MB", bytes as f64 / 1e6));
            ui.end_row();
        }
    });
}
