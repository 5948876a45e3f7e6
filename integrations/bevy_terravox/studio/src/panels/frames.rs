//! The graph of what frames cost.

use bevy_egui::egui::{self, Color32};

use crate::look::{FrameCosts, PARTS};

/// Size of the graph, points.
const SIZE: [f32; 2] = [340.0, 96.0];
/// Milliseconds of its height, at least.
const LEAST_MS: f32 = 20.0;

/// The colour of a part.
fn colour(part: usize) -> Color32 {
    [
        Color32::from_rgb(240, 150, 90),
        Color32::from_rgb(100, 170, 240),
        Color32::from_rgb(130, 210, 130),
        Color32::from_rgb(220, 200, 100),
        Color32::from_rgb(200, 130, 220),
        Color32::from_rgb(95, 100, 110),
    ][part % 6]
}

/// Shows it.
pub fn show(context: &egui::Context, free: egui::Rect, costs: &FrameCosts) {
    egui::Area::new("frames".into())
        .interactable(false)
        .fixed_pos(free.left_top() + egui::vec2(12.0, 12.0))
        .show(context, |ui| {
            egui::Frame::new()
                .fill(Color32::from_black_alpha(170))
                .inner_margin(8)
                .corner_radius(4)
                .show(ui, |ui| {
                    let (median, longest) = costs.summary();
                    let top = LEAST_MS.max(longest * 1.1);
                    ui.label(format!(
                        "frame: median {median:.1} ms, longest {longest:.1} ms; height {top:.0} ms"
                    ));
                    graph(ui, costs, top);
                    ui.horizontal(|ui| {
                        for (part, name) in PARTS.iter().enumerate() {
                            ui.label(egui::RichText::new(*name).small().color(colour(part)));
                        }
                    });
                });
        });
}

fn graph(ui: &mut egui::Ui, costs: &FrameCosts, top_ms: f32) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(SIZE[0], SIZE[1]), egui::Sense::hover());
    let painter = ui.painter_at(rect);
    let width = SIZE[0] / costs.frames().count() as f32;
    for (i, parts) in costs.frames().enumerate() {
        let mut low = rect.bottom();
        let left = rect.left() + i as f32 * width;
        for (part, ms) in parts.iter().enumerate() {
            let high = low - ms / top_ms * SIZE[1];
            let bar =
                egui::Rect::from_min_max(egui::pos2(left, high), egui::pos2(left + width, low));
            painter.rect_filled(bar, 0.0, colour(part));
            low = high;
        }
    }
    let line = rect.bottom() - 16.7 / top_ms * SIZE[1];
    let stroke = egui::Stroke::new(1.0, Color32::from_white_alpha(90));
    painter.hline(rect.x_range(), line, stroke);
}
