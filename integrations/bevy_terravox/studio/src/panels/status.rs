//! The bar at the bottom, and lines that come and go.

use bevy::prelude::*;
use bevy_egui::egui::{self, Color32, RichText, Ui};

use super::{Shown, style};
use crate::action::{Field, Mode};
use crate::open::name_of;

/// Metres from the middle of a person to their name.
const NAME_HEIGHT_M: f32 = 1.1;

/// Shows the bar.
pub fn show(root: &mut Ui, shown: &Shown) {
    egui::Panel::bottom("status").show(root, |ui| {
        ui.horizontal(|ui| {
            if let Some(camera) = shown.cameras.iter().next() {
                let [x, y, z, yaw, pitch] = camera.view();
                ui.label(format!("{x:.1}, {y:.1}, {z:.1} m"));
                ui.label(RichText::new(format!("{yaw:.0}° {pitch:.0}°")).color(style::WEAK));
            }
            if let (Some(hit), Some((terrain, _))) = (shown.pointer.hit, shown.terrain()) {
                let name = terrain.grid().materials().name(hit.in_terrain.material);
                let far = if hit.in_terrain.mip > 0 { ", coarse" } else { "" };
                ui.separator();
                ui.label(format!("{name} at {:.1} m{far}", hit.distance));
            }
            if shown.settings.mode != Mode::Play {
                ui.separator();
                ui.label(format!("{:.0} m/s", shown.settings.get(Field::Speed)));
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let (median, longest) = shown.costs.summary();
                let rate = if median > 0.0 { 1e3 / median } else { 0.0 };
                ui.label(format!("{rate:.0} frames/s"))
                    .on_hover_text(format!("median {median:.1} ms, longest {longest:.1} ms"));
                let Some((terrain, chunks)) = shown.terrain() else { return };
                ui.separator();
                ui.label(format!("{} blocks", chunks.shown_count()));
                if !terrain.is_settled() || !chunks.is_complete() {
                    ui.label(RichText::new("ground is coming").color(style::WEAK));
                }
            });
        });
    });
}

/// Shows what was said lately, above the bar.
pub fn toasts(context: &egui::Context, free: egui::Rect, shown: &Shown) {
    let lines = shown.notices.lines();
    if lines.is_empty() {
        return;
    }
    let at = egui::pos2(free.left() + 12.0, free.bottom() - 12.0);
    egui::Area::new("notices".into())
        .order(egui::Order::Tooltip)
        .interactable(false)
        .fade_in(false)
        .pivot(egui::Align2::LEFT_BOTTOM)
        .fixed_pos(at)
        .show(context, |ui| {
            ui.set_max_width((free.width() - 24.0).clamp(200.0, 620.0));
            for line in lines.iter().rev().take(4).rev() {
                let frame = egui::Frame::new()
                    .fill(Color32::from_black_alpha(190))
                    .corner_radius(4)
                    .inner_margin(egui::Margin::symmetric(10, 6));
                let colour = if line.is_error { style::BAD } else { Color32::WHITE };
                frame.show(ui, |ui| ui.label(RichText::new(&line.text).color(colour)));
            }
        });
}

/// The names of other people, above them.
pub fn names(context: &egui::Context, free: egui::Rect, shown: &Shown) {
    let Some((camera, at)) = shown.eyes.iter().next() else { return };
    let painter = context.layer_painter(egui::LayerId::background()).with_clip_rect(free);
    for (body, place) in &shown.people {
        let above = place.translation() + Vec3::Y * NAME_HEIGHT_M;
        let (Some(name), Ok(point)) = (name_of(body), camera.world_to_viewport(at, above)) else {
            continue;
        };
        let point = egui::pos2(point.x, point.y);
        let font = egui::FontId::proportional(15.0);
        for (off, colour) in [(1.0, Color32::BLACK), (0.0, Color32::WHITE)] {
            let point = point + egui::vec2(off, off);
            painter.text(point, egui::Align2::CENTER_BOTTOM, &name, font.clone(), colour);
        }
    }
}

/// The crosshair of walking.
pub fn crosshair(context: &egui::Context, shown: &Shown) {
    let painter =
        context.layer_painter(egui::LayerId::new(egui::Order::Middle, "crosshair".into()));
    let at = context.viewport_rect().center();
    let colour =
        if shown.pointer.hit.is_some() { Color32::WHITE } else { Color32::from_white_alpha(120) };
    for (width, colour) in [(4.0, Color32::from_black_alpha(140)), (2.0, colour)] {
        let stroke = egui::Stroke::new(width, colour);
        painter.line_segment([at - egui::vec2(8.0, 0.0), at + egui::vec2(8.0, 0.0)], stroke);
        painter.line_segment([at - egui::vec2(0.0, 8.0), at + egui::vec2(0.0, 8.0)], stroke);
    }
}
