//! Widgets that write actions.

use bevy_egui::egui::{self, Color32, RichText, Ui};
use bevy_terravox::terravox;
use terravox::voxel::MaterialTable;

use super::{Shown, style};
use crate::action::{Action, Field, Switch};

/// A slider of a number.
pub fn slider(ui: &mut Ui, shown: &Shown, field: Field, out: &mut Vec<Action>) {
    let [low, high] = field.range();
    let mut value = shown.settings.get(field);
    let is_wide = high / low.max(0.01) > 40.0 && low > 0.0;
    ui.horizontal(|ui| {
        let size = egui::vec2(74.0, 18.0);
        ui.allocate_ui_with_layout(size, egui::Layout::left_to_right(egui::Align::Center), |ui| {
            ui.set_min_size(size);
            ui.label(RichText::new(field.label()).color(style::WEAK));
        });
        let slider = egui::Slider::new(&mut value, low..=high)
            .logarithmic(is_wide)
            .max_decimals(2)
            .suffix(field.unit());
        if ui.add(slider).changed() {
            out.push(Action::Set(field, value));
        }
    });
}

/// A box to tick.
pub fn tick(ui: &mut Ui, shown: &Shown, switch: Switch, out: &mut Vec<Action>) {
    let mut is_on = shown.settings.is_on(switch);
    let hint = shown.keys.hint(&Action::Toggle(switch));
    let mut response = ui.checkbox(&mut is_on, switch.label());
    if !hint.is_empty() {
        response = response.on_hover_text(hint);
    }
    if response.changed() {
        out.push(Action::Toggle(switch));
    }
}

/// A button of an action, with its keys as a hint.
pub fn button(ui: &mut Ui, shown: &Shown, text: &str, action: Action, out: &mut Vec<Action>) {
    let hint = shown.keys.hint(&action);
    let mut response = ui.button(text);
    if !hint.is_empty() {
        response = response.on_hover_text(hint);
    }
    if response.clicked() {
        out.push(action);
    }
}

/// A heading of a part of a panel.
pub fn heading(ui: &mut Ui, text: &str) {
    ui.add_space(6.0);
    ui.label(RichText::new(text).strong().color(style::ACCENT));
}

/// Colours and names of materials; the chosen one is set by an action of the field.
pub fn palette(
    ui: &mut Ui,
    shown: &Shown,
    table: &MaterialTable,
    field: Field,
    out: &mut Vec<Action>,
) {
    let chosen = shown.settings.id(field);
    let is_listed = |id: &u8| {
        table.get(*id).is_some_and(|material| material.kind != terravox::voxel::Kind::Air)
    };
    egui::ScrollArea::vertical()
        .id_salt(field.name())
        .max_height(190.0)
        .auto_shrink([false, true])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 2.0;
            for id in (0..=255u8).filter(is_listed) {
                let response = material_row(ui, &table.name(id), table.colour(id), id == chosen);
                if response.clicked() {
                    out.push(Action::Set(field, f32::from(id)));
                }
                if id == chosen && ui.ctx().cumulative_frame_nr() < 3 {
                    response.scroll_to_me(None);
                }
            }
        });
}

/// A material: its colour and its name.
fn material_row(ui: &mut Ui, name: &str, [r, g, b]: [u8; 3], is_chosen: bool) -> egui::Response {
    let size = egui::vec2(ui.available_width(), 20.0);
    let (rect, response) = ui.allocate_exact_size(size, egui::Sense::click());
    let painter = ui.painter_at(rect);
    if is_chosen || response.hovered() {
        let fill = if is_chosen { ui.visuals().selection.bg_fill } else { Color32::from_gray(52) };
        painter.rect_filled(rect, 3.0, fill);
    }
    let swatch = egui::Rect::from_min_size(rect.min + egui::vec2(3.0, 3.0), egui::vec2(22.0, 14.0));
    painter.rect_filled(swatch, 2.0, Color32::from_rgb(r, g, b));
    painter.text(
        rect.min + egui::vec2(32.0, 10.0),
        egui::Align2::LEFT_CENTER,
        name,
        egui::TextStyle::Body.resolve(ui.style()),
        ui.visuals().text_color(),
    );
    response
}
