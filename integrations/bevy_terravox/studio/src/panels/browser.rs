//! Folders and files to choose from.

use std::path::{Path, PathBuf};

use bevy::prelude::*;
use bevy_egui::egui::{self, RichText, Ui};
use terravox_io::files::ImportFiles;

use super::style;
use crate::open::is_known;

/// Most entries that are shown.
const MAX_ENTRIES: usize = 2000;

/// Where the user looks.
#[derive(Resource, Debug)]
pub struct Browser {
    /// The folder.
    folder: PathBuf,
    /// What was typed.
    pub text: String,
    /// Folders and files of it.
    entries: Vec<(PathBuf, bool)>,
    /// Whether the folder as a whole is a world.
    is_world: bool,
    fault: Option<String>,
    is_read: bool,
}

impl Default for Browser {
    fn default() -> Browser {
        let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        Browser {
            folder,
            text: String::new(),
            entries: Vec::new(),
            is_world: false,
            fault: None,
            is_read: false,
        }
    }
}

impl Browser {
    /// Reads the folder anew when it is shown next.
    pub fn refresh(&mut self) {
        self.is_read = false;
    }

    /// What was typed, in the folder that is shown.
    pub fn path(&self) -> PathBuf {
        self.folder.join(self.text.trim())
    }

    fn go(&mut self, folder: &Path) {
        self.folder = folder.to_owned();
        self.is_read = false;
    }

    fn read(&mut self) {
        self.is_read = true;
        (self.entries, self.fault) = (Vec::new(), None);
        self.is_world = ImportFiles::find(&self.folder).is_ok();
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) => {
                self.fault = Some(format!("{}: {error}", self.folder.display()));
                return;
            }
        };
        for entry in entries.filter_map(Result::ok).take(MAX_ENTRIES) {
            let path = entry.path();
            let name = entry.file_name();
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            let is_folder = path.is_dir();
            let kind = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
            if is_folder || is_known(&kind) {
                self.entries.push((path, is_folder));
            }
        }
        self.entries.sort_by_key(|(path, is_folder)| (!is_folder, path.clone()));
    }

    /// The folder, if it is a world as a whole: parts of a map, or of Minecraft.
    pub fn world_folder(&self) -> Option<&Path> {
        self.is_world.then_some(&*self.folder)
    }

    /// Shows the folder; returns the file that was chosen.
    pub fn show(&mut self, ui: &mut Ui, height: f32) -> Option<PathBuf> {
        if !self.is_read {
            self.read();
        }
        let (mut go, mut chosen) = (None, None);
        ui.horizontal(|ui| {
            if ui.button("Up").clicked() {
                go = self.folder.parent().map(Path::to_owned);
            }
            ui.label(RichText::new(self.folder.display().to_string()).small().color(style::WEAK));
        });
        if let Some(fault) = &self.fault {
            ui.label(RichText::new(fault).color(style::BAD));
        }
        egui::ScrollArea::vertical()
            .id_salt("files")
            .max_height(height)
            .auto_shrink([false, true])
            .show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 1.0;
                for (path, is_folder) in &self.entries {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    let text = if *is_folder { format!("{name}/") } else { name.into_owned() };
                    if ui.selectable_label(false, text).clicked() {
                        match is_folder {
                            true => go = Some(path.clone()),
                            false => chosen = Some(path.clone()),
                        }
                    }
                }
                if self.entries.is_empty() && self.fault.is_none() {
                    ui.label(RichText::new("no worlds here").color(style::WEAK));
                }
            });
        if let Some(folder) = go {
            self.go(&folder);
        }
        chosen
    }
}
