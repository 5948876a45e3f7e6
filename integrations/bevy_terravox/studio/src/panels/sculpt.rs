//! The panels of sculpting: tools on the left; brush, materials and history on the right.

use bevy_egui::egui::{self, RichText, Ui};

use super::widgets::{button, heading, palette, slider, tick};
use super::{Shown, style};
use crate::action::{Action, Field, Shape, Switch, Tool};
use crate::sculpt::{shapes_of, used_fields};

/// Shows them.
pub fn show(root: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    egui::Panel::left("tools")
        .exact_size(122.0)
        .resizable(false)
        .show(root, |ui| tools(ui, shown, out));
    egui::Panel::right("brush").exact_size(286.0).resizable(false).show(root, |ui| {
        egui::Panel::bottom("history").exact_size(150.0).resizable(false).show(ui, |ui| {
            history(ui, shown, out);
        });
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| match shown.settings.tool {
            Tool::Select => select(ui, shown, out),
            Tool::Paste => paste(ui, shown, out),
            _ => brush(ui, shown, out),
        });
    });
}

fn tools(ui: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    ui.spacing_mut().item_spacing.y = 3.0;
    heading(ui, "Tools");
    for tool in Tool::ALL {
        let is_on = shown.settings.tool == *tool;
        let hint = shown.keys.hint(&Action::Tool(*tool));
        let button = egui::Button::selectable(is_on, tool.label())
            .shortcut_text(hint)
            .min_size(egui::vec2(ui.available_width(), 24.0));
        if ui.add(button).clicked() {
            out.push(Action::Tool(*tool));
        }
    }
    ui.add_space(6.0);
    ui.label(
        RichText::new("Ctrl: opposite\nShift: smooth\nright button: look")
            .small()
            .color(style::WEAK),
    );
}

/// Shape, numbers, material, mirrors and masks of a brush.
fn brush(ui: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    let (tool, shape) = (shown.settings.tool, shown.settings.shape);
    heading(ui, "Brush");
    ui.horizontal_wrapped(|ui| {
        for other in shapes_of(tool) {
            let hint = shown.keys.hint(&Action::Shape(*other));
            if ui.selectable_label(*other == shape, other.label()).on_hover_text(hint).clicked() {
                out.push(Action::Shape(*other));
            }
        }
    });
    for field in used_fields(tool, shape) {
        slider(ui, shown, field, out);
    }
    if shape == Shape::Path {
        ui.label(RichText::new("Drag from one end to the other.").small().color(style::WEAK));
    }
    let has_material = matches!(tool, Tool::Build | Tool::Paint | Tool::Replace | Tool::Flood);
    if let (true, Some((terrain, _))) = (has_material, shown.terrain()) {
        let table = terrain.grid().materials();
        if tool == Tool::Replace {
            heading(ui, "Replaces");
            palette(ui, shown, table, Field::From, out);
        }
        let chosen = shown.settings.material_for(tool, table);
        heading(ui, &format!("Material: {}", chosen.map(|id| table.name(id)).unwrap_or_default()));
        palette(ui, shown, table, Field::Material, out);
    }
    mirrors_and_masks(ui, shown, out);
}

fn mirrors_and_masks(ui: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    egui::CollapsingHeader::new("Mirrors and plane").default_open(false).show(ui, |ui| {
        for switch in [Switch::SymmetryX, Switch::SymmetryZ, Switch::LockPlane, Switch::AlignNormal]
        {
            tick(ui, shown, switch, out);
        }
        ui.label(
            RichText::new("A mirror stands where the cursor was (Shift+X, Shift+Z).")
                .small()
                .color(style::WEAK),
        );
    });
    egui::CollapsingHeader::new("Masks").default_open(false).show(ui, |ui| {
        tick(ui, shown, Switch::MaskMaterial, out);
        if let (true, Some((terrain, _))) =
            (shown.settings.is_on(Switch::MaskMaterial), shown.terrain())
        {
            palette(ui, shown, terrain.grid().materials(), Field::From, out);
        }
        tick(ui, shown, Switch::MaskSlope, out);
        if shown.settings.is_on(Switch::MaskSlope) {
            slider(ui, shown, Field::SlopeMin, out);
            slider(ui, shown, Field::SlopeMax, out);
        }
        tick(ui, shown, Switch::MaskHeight, out);
        if shown.settings.is_on(Switch::MaskHeight) {
            slider(ui, shown, Field::HeightMin, out);
            slider(ui, shown, Field::HeightMax, out);
        }
    });
}

fn select(ui: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    heading(ui, "Selection");
    match shown.selection.region {
        None => drop(ui.label("Drag a box on the ground.")),
        Some(region) => {
            let [x, y, z] = region.size();
            ui.label(format!("{x} × {y} × {z} voxels"));
        }
    }
    slider(ui, shown, Field::Radius, out);
    ui.label(
        RichText::new("The radius is how far the box reaches above and below.")
            .small()
            .color(style::WEAK),
    );
    ui.horizontal(|ui| {
        button(ui, shown, "Copy", Action::Copy, out);
        button(ui, shown, "Cut", Action::Cut, out);
        button(ui, shown, "Clear", Action::Cancel, out);
    });
}

fn paste(ui: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    heading(ui, "Paste");
    match shown.clipboard.size() {
        None => drop(ui.label("Nothing is copied: draw a box with Select, then copy.")),
        Some([x, y, z]) => {
            ui.label(format!("{x} × {y} × {z} voxels; click to paste, drag to scatter"));
        }
    }
    ui.horizontal(|ui| {
        ui.label("Turn");
        for (axis, name) in ["X", "Y", "Z"].iter().enumerate() {
            button(ui, shown, name, Action::Rotate(axis), out);
        }
    });
    ui.horizontal(|ui| {
        ui.label("Mirror");
        for (axis, name) in ["X", "Y", "Z"].iter().enumerate() {
            button(ui, shown, name, Action::Mirror(axis), out);
        }
    });
    tick(ui, shown, Switch::PasteAir, out);
    tick(ui, shown, Switch::TurnCopies, out);
}

fn history(ui: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    ui.horizontal(|ui| {
        ui.label(RichText::new("History").strong().color(style::ACCENT));
        button(ui, shown, "Undo", Action::Undo, out);
        button(ui, shown, "Redo", Action::Redo, out);
        let megabytes = shown.history.bytes() as f64 / 1e6;
        ui.label(RichText::new(format!("{megabytes:.1} MB")).small().color(style::WEAK));
    });
    egui::ScrollArea::vertical().id_salt("strokes").stick_to_bottom(true).auto_shrink(false).show(
        ui,
        |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            let done = shown.history.done().len();
            let first = done.saturating_sub(200);
            for (i, label) in shown.history.done().enumerate().skip(first) {
                let is_last = i + 1 == done;
                if ui.selectable_label(is_last, label).on_hover_text("back to here").clicked() {
                    out.push(Action::GoTo(i + 1));
                }
            }
            for (i, label) in shown.history.undone().enumerate() {
                let text = RichText::new(label).color(style::WEAK).italics();
                if ui.selectable_label(false, text).on_hover_text("redo to here").clicked() {
                    out.push(Action::GoTo(done + i + 1));
                }
            }
        },
    );
}
