//! The bar at the top: world, edits, view, and what the window is for.

use bevy_egui::egui::{self, Color32, RichText, Ui};

use super::{Shown, style, widgets::button};
use crate::action::{Action, Mode, Switch};
use crate::open::{LinkState, Session};
use crate::save::SAVED_BY_SERVER;

/// Shows it.
pub fn show(root: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    egui::Panel::top("menu").show(root, |ui| {
        egui::MenuBar::new().ui(ui, |ui| {
            world(ui, shown, out);
            edit(ui, shown, out);
            view(ui, shown, out);
            ui.separator();
            for mode in Mode::ALL {
                let hint = shown.keys.hint(&Action::Mode(*mode));
                let is_on = shown.settings.mode == *mode;
                let text = RichText::new(mode.label()).strong();
                if ui.selectable_label(is_on, text).on_hover_text(hint).clicked() {
                    out.push(Action::Mode(*mode));
                }
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if let Some(session) = &shown.session {
                    let (text, colour) = state(shown, session);
                    let mut label = ui.label(RichText::new(text).color(colour));
                    if let Some(failure) = shown.saver.failure() {
                        label = label.on_hover_text(failure);
                    }
                    drop(label);
                    ui.label(RichText::new(session.name()).strong());
                }
            });
        });
    });
}

/// Where the world is saved.
fn state(shown: &Shown, session: &Session) -> (&'static str, Color32) {
    match session.link {
        Some(LinkState::Up) => return ("the server saves it", style::GOOD),
        Some(LinkState::Broken) => return ("no connection, trying again", style::BAD),
        None => {}
    }
    match (shown.saver.failure(), shown.saver.is_saved) {
        (Some(_), _) => ("not saved", style::BAD),
        (None, true) if session.path.is_none() => ("kept, without a name", style::WEAK),
        (None, true) => ("saved", style::GOOD),
        (None, false) => ("saving …", style::WEAK),
    }
}

fn item(ui: &mut Ui, shown: &Shown, text: &str, action: Action, out: &mut Vec<Action>) {
    let hint = shown.keys.hint(&action);
    let button = egui::Button::new(text).shortcut_text(hint).min_size(egui::vec2(210.0, 0.0));
    if ui.add(button).clicked() {
        out.push(action);
        ui.close();
    }
}

fn world(ui: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    ui.menu_button("World", |ui| {
        let is_joined = shown.session.as_ref().is_some_and(|session| session.link.is_some());
        if !is_joined {
            item(ui, shown, "Save", Action::Save, out);
            item(ui, shown, "Save as …", Action::AskSaveAs, out);
            ui.separator();
        }
        item(ui, shown, "Close, to open another", Action::Close, out);
        item(ui, shown, "Quit", Action::Quit, out);
        ui.separator();
        let how = match is_joined {
            true => SAVED_BY_SERVER,
            false => "Every stroke is saved at once, with its undo.",
        };
        ui.label(RichText::new(how).small().color(style::WEAK));
    });
}

fn edit(ui: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    ui.menu_button("Edit", |ui| {
        item(ui, shown, "Undo", Action::Undo, out);
        item(ui, shown, "Redo", Action::Redo, out);
        ui.separator();
        item(ui, shown, "Copy what is selected", Action::Copy, out);
        item(ui, shown, "Cut what is selected", Action::Cut, out);
        item(ui, shown, "Paste", Action::Tool(crate::action::Tool::Paste), out);
        ui.separator();
        item(ui, shown, "Take material at the cursor", Action::Pick, out);
    });
}

fn view(ui: &mut Ui, shown: &Shown, out: &mut Vec<Action>) {
    ui.menu_button("View", |ui| {
        item(ui, shown, "First view", Action::Home, out);
        item(ui, shown, "To the cursor", Action::Focus, out);
        item(ui, shown, "Whole screen", Action::Fullscreen, out);
        item(ui, shown, "Hide panels", Action::Toggle(Switch::Panels), out);
        item(ui, shown, "Keys", Action::Toggle(Switch::Help), out);
        ui.separator();
        for switch in [
            Switch::Levels,
            Switch::Grid,
            Switch::Unsaved,
            Switch::Colliders,
            Switch::Frames,
            Switch::Shadows,
        ] {
            super::widgets::tick(ui, shown, switch, out);
        }
        ui.separator();
        button(ui, shown, "Picture of this view", Action::Picture("studio.png".into()), out);
    });
}
