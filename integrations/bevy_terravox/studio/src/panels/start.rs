//! The start screen: recent files, templates, worlds without a name, files to open.

use bevy::prelude::*;
use bevy_egui::egui::{self, RichText, Ui};
use bevy_terravox::terravox;
use terravox::generate::Preset;

use super::browser::Browser;
use super::{Shown, style};
use crate::action::Action;
use crate::open::address;
use crate::state_dir::{UnsavedWorld, age_text};

/// What the start screen remembers while it is shown.
#[derive(Resource, Debug)]
pub struct StartScreen {
    recent: Vec<String>,
    unsaved: Vec<UnsavedWorld>,
    seed: u32,
    path: String,
    is_read: bool,
}

impl Default for StartScreen {
    fn default() -> StartScreen {
        StartScreen {
            recent: Vec::new(),
            unsaved: Vec::new(),
            seed: 7,
            path: String::new(),
            is_read: false,
        }
    }
}

/// What presets are like.
fn about(preset: Preset) -> &'static str {
    match preset {
        Preset::Continents => "All biomes, by climate",
        Preset::Alps => "Ridges, couloirs, glaciers",
        Preset::Fjords => "Deep flooded valleys",
        Preset::Canyons => "Layered plateaus, cut by rivers",
        Preset::Dunes => "A desert of sand",
        Preset::Badlands => "Layered hills with gullies",
        Preset::Wetlands => "Flat land with pools",
        Preset::Volcanoes => "Volcanoes in a warm sea",
        Preset::Arctic => "Ice and tundra",
        Preset::Skylands => "Islands above green hills",
    }
}

/// Shows it.
pub fn show(
    root: &mut Ui,
    shown: &Shown,
    browser: &mut Browser,
    start: &mut StartScreen,
    out: &mut Vec<Action>,
) {
    if !start.is_read {
        start.is_read = true;
        (start.recent, start.unsaved) = (shown.state.recent(), shown.state.unsaved());
        start.unsaved.retain(|world| !world.is_open);
        browser.refresh();
    }
    egui::CentralPanel::default().show(root, |ui| {
        ui.add_space(10.0);
        ui.horizontal(|ui| {
            ui.label(RichText::new("Terravox Studio").size(26.0).strong());
            ui.label(RichText::new("drop a file, or choose").color(style::WEAK));
        });
        if let Some(opening) = &shown.opening {
            ui.horizontal(|ui| {
                ui.spinner();
                ui.label(format!("opening {}", opening.text));
                if let Some(share) = opening.share() {
                    ui.add(egui::ProgressBar::new(share).desired_width(220.0));
                } else if ui.button("Cancel").clicked() {
                    out.push(Action::Close);
                }
            });
            if let Some(failure) = shown.notices.last_failure() {
                ui.label(RichText::new(failure).color(style::BAD));
            }
            return;
        }
        if let Some(failure) = shown.notices.last_failure() {
            ui.label(RichText::new(failure).color(style::BAD));
        }
        ui.add_space(8.0);
        ui.columns(3, |columns| {
            continue_column(&mut columns[0], start, out);
            template_column(&mut columns[1], start, out);
            file_column(&mut columns[2], start, browser, out);
        });
    });
    if !out.is_empty() {
        // What is listed may have changed when it is shown next.
        start.is_read = false;
    }
}

fn title(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).size(17.0).strong().color(style::ACCENT));
    ui.add_space(2.0);
}

fn continue_column(ui: &mut Ui, start: &StartScreen, out: &mut Vec<Action>) {
    if !start.unsaved.is_empty() {
        title(ui, "Without a name yet");
        egui::ScrollArea::vertical().id_salt("unsaved").max_height(220.0).show(ui, |ui| {
            for world in &start.unsaved {
                ui.horizontal(|ui| {
                    if ui.button("Continue").clicked() {
                        out.push(Action::Recover(world.path.clone()));
                    }
                    if ui.small_button("Delete").clicked() {
                        out.push(Action::Discard(world.path.clone()));
                    }
                    let text = format!("{}, {}", world.title, age_text(world.age));
                    ui.label(RichText::new(text).small());
                });
            }
        });
        ui.add_space(10.0);
    }
    title(ui, "Recent");
    if start.recent.is_empty() {
        ui.label(RichText::new("nothing yet").color(style::WEAK));
    }
    for recent in &start.recent {
        let name = match address(recent) {
            Some(_) => recent,
            None => recent.rsplit(['/', '\\']).next().unwrap_or(recent),
        };
        if ui.selectable_label(false, name).on_hover_text(recent).clicked() {
            out.push(Action::Open(recent.clone()));
        }
    }
}

fn template_column(ui: &mut Ui, start: &mut StartScreen, out: &mut Vec<Action>) {
    title(ui, "New");
    ui.horizontal(|ui| {
        ui.label("Seed");
        ui.add(egui::DragValue::new(&mut start.seed).speed(0.2));
    });
    let mut row = |ui: &mut Ui, name: &str, about: &str, world: String| {
        ui.horizontal(|ui| {
            if ui.add_sized([104.0, 24.0], egui::Button::new(name)).clicked() {
                out.push(Action::Open(world));
            }
            ui.label(RichText::new(about).small().color(style::WEAK));
        });
    };
    let seed = start.seed;
    row(ui, "Hills", "Hills, caves and lakes", format!("hills:{seed}"));
    for preset in Preset::ALL {
        let name = preset.name();
        let shown = name[..1].to_uppercase() + &name[1..];
        row(ui, &shown, about(preset), format!("world:{seed}:{name}"));
    }
}

fn file_column(ui: &mut Ui, start: &mut StartScreen, browser: &mut Browser, out: &mut Vec<Action>) {
    title(ui, "Open a file, or a server");
    let edit = egui::TextEdit::singleline(&mut start.path)
        .hint_text("path, hills:7, world:7:fjords or HOST:PORT")
        .desired_width(f32::INFINITY);
    let typed = ui.add(edit);
    let is_entered = typed.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
    if is_entered && !start.path.trim().is_empty() {
        out.push(Action::Open(start.path.trim().to_owned()));
    }
    let height = (ui.available_height() - 84.0).max(120.0);
    if let Some(file) = browser.show(ui, height) {
        out.push(Action::Open(file.display().to_string()));
    }
    if let Some(folder) = browser.world_folder()
        && ui.button("Open this folder").clicked()
    {
        out.push(Action::Open(folder.display().to_string()));
    }
    let kinds = "Worlds, Roblox places, heightmaps, point clouds, Minecraft, scenes, meshes";
    ui.label(RichText::new(kinds).small().color(style::WEAK));
}
