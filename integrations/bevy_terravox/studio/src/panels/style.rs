//! Colours and sizes of the panels: dark, so that the world is bright.

use bevy_egui::egui::{self, Color32, CornerRadius, FontId, Stroke, TextStyle};

/// Of what is chosen.
pub const ACCENT: Color32 = Color32::from_rgb(86, 156, 214);
/// Of failures.
pub const BAD: Color32 = Color32::from_rgb(240, 120, 100);
/// Of what went well.
pub const GOOD: Color32 = Color32::from_rgb(130, 200, 130);
/// Of what matters less.
pub const WEAK: Color32 = Color32::from_rgb(165, 172, 180);
/// Behind panels.
pub const PANEL: Color32 = Color32::from_rgb(30, 33, 38);

/// Applies them.
pub fn apply(context: &egui::Context) {
    context.set_theme(egui::Theme::Dark);
    context.all_styles_mut(|style| {
        style.text_styles.insert(TextStyle::Body, FontId::proportional(14.0));
        style.text_styles.insert(TextStyle::Button, FontId::proportional(14.0));
        style.text_styles.insert(TextStyle::Small, FontId::proportional(12.0));
        style.text_styles.insert(TextStyle::Heading, FontId::proportional(18.0));
        style.spacing.item_spacing = egui::vec2(6.0, 5.0);
        style.spacing.button_padding = egui::vec2(8.0, 4.0);
        style.spacing.slider_width = 120.0;
        style.spacing.interact_size.y = 22.0;
        let visuals = &mut style.visuals;
        visuals.panel_fill = PANEL;
        visuals.window_fill = PANEL;
        visuals.override_text_color = Some(Color32::from_rgb(226, 230, 235));
        visuals.selection.bg_fill = Color32::from_rgb(46, 98, 148);
        visuals.selection.stroke = Stroke::new(1.0, Color32::WHITE);
        visuals.widgets.hovered.bg_stroke = Stroke::new(1.0, ACCENT);
        visuals.window_corner_radius = CornerRadius::same(6);
    });
}
