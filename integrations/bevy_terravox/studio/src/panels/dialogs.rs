//! Questions: a name to save under, whether to replace a file, whether to lose what cannot be saved.

use bevy_egui::egui;

use super::Shown;
use super::browser::Browser;
use crate::action::Action;

/// Shows them.
pub fn show(context: &egui::Context, shown: &Shown, browser: &mut Browser, out: &mut Vec<Action>) {
    if let Some(path) = &shown.saver.asks_overwrite {
        egui::Modal::new("overwrite".into()).show(context, |ui| {
            ui.set_width(380.0);
            ui.heading("Replace this world?");
            ui.label(format!("{} exists. What is in it will be gone.", path.display()));
            ui.add_space(8.0);
            ui.horizontal(|ui| {
                if ui.button("Replace").clicked() {
                    out.push(Action::Overwrite(path.clone()));
                }
                if ui.button("Keep it").clicked() {
                    out.push(Action::Cancel);
                }
            });
        });
    } else if shown.saver.asks_name {
        ask_name(context, shown, browser, out);
    } else if shown.saver.asks_to_drop_changes() {
        ask_to_drop_changes(context, shown, out);
    }
}

fn ask_to_drop_changes(context: &egui::Context, shown: &Shown, out: &mut Vec<Action>) {
    egui::Modal::new("drop-changes".into()).show(context, |ui| {
        ui.set_width(420.0);
        ui.heading("The last changes cannot be saved");
        ui.label(shown.saver.failure().unwrap_or_default());
        ui.label("Save the world somewhere else, or lose what was changed since the last save.");
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            if ui.button("Save as …").clicked() {
                out.push(Action::AskSaveAs);
            }
            if ui.button("Close without them").clicked() {
                out.push(Action::DropChanges);
            }
            if ui.button("Stay").clicked() {
                out.push(Action::Cancel);
            }
        });
    });
}

fn ask_name(context: &egui::Context, shown: &Shown, browser: &mut Browser, out: &mut Vec<Action>) {
    let modal = egui::Modal::new("save-as".into()).show(context, |ui| {
        ui.set_width(460.0);
        ui.heading("Save the world as");
        if browser.text.is_empty() {
            let title =
                shown.session.as_ref().map(|session| session.title.replace([':', '/'], "-"));
            browser.text = format!("{}.tvx", title.unwrap_or_default());
            browser.refresh();
        }
        if let Some(file) = browser.show(ui, 200.0) {
            browser.text = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        let edit = egui::TextEdit::singleline(&mut browser.text).desired_width(f32::INFINITY);
        let typed = ui.add(edit);
        let is_entered =
            typed.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            let has_name = !browser.text.trim().is_empty();
            let is_saved = ui.add_enabled(has_name, egui::Button::new("Save")).clicked();
            if has_name && (is_saved || is_entered) {
                out.push(Action::SaveAs(browser.path()));
            }
            if ui.button("Cancel").clicked() {
                out.push(Action::Cancel);
            }
        });
    });
    if modal.should_close() {
        out.push(Action::Cancel);
    }
}
