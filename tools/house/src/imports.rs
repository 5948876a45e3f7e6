//! Files that import each other, directly or in a circle.
//!
//! An import counts for the file that declares the name, not for the module that re-exports it.
//! Re-exports themselves (`pub use`) are no arrows: they only pass a name on. Circles are the
//! strongly connected components of the graph of files (Tarjan, 1972).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::Measure;
use crate::source::{Krate, ModuleId};

/// Re-exports of re-exports: deeper chains are given up.
const MAX_DEPTH: usize = 12;

/// What a name in a module stands for.
pub enum Resolved {
    Module(ModuleId),
    /// Declared in this module, under this name.
    Item(ModuleId, String),
}

impl Krate {
    /// What `path`, as written in module `from`, stands for; `None` if it leaves the crate.
    pub fn resolve(&self, from: ModuleId, path: &[String], depth: usize) -> Option<Resolved> {
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => Resolved::Module(0),
            "self" => Resolved::Module(from),
            "super" => Resolved::Module(self.modules[from].parent?),
            name => self.lookup(from, name, depth)?,
        };
        let mut at = start;
        for name in rest {
            at = match at {
                Resolved::Module(module) if name == "super" => {
                    Resolved::Module(self.modules[module].parent?)
                }
                Resolved::Module(module) => self.lookup(module, name, depth)?,
                // An associated function or a variant.
                item @ Resolved::Item(..) => return Some(item),
            };
        }
        Some(at)
    }

    /// What `name` stands for inside of `module`.
    pub fn lookup(&self, module: ModuleId, name: &str, depth: usize) -> Option<Resolved> {
        let node = &self.modules[module];
        if let Some(child) = node.children.get(name) {
            return Some(Resolved::Module(child.id));
        }
        if node.declared.contains_key(name) {
            return Some(Resolved::Item(module, name.to_owned()));
        }
        if depth >= MAX_DEPTH {
            return None;
        }
        let named = node.imports.iter().filter(|import| import.alias == name);
        let named = named.filter_map(|import| self.resolve(module, &import.path, depth + 1)).next();
        named.or_else(|| {
            let globs = node.imports.iter().filter(|import| import.alias == "*");
            globs
                .filter_map(|import| self.resolve(module, &import.path, depth + 1))
                .filter_map(|resolved| match resolved {
                    Resolved::Module(other) if other != module => {
                        self.lookup(other, name, depth + 1)
                    }
                    _ => None,
                })
                .next()
        })
    }

    /// Arrows from file to file.
    fn arrows(&self) -> BTreeMap<&Path, BTreeSet<&Path>> {
        let mut arrows: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
        for (id, module) in self.modules.iter().enumerate() {
            let imports = module.imports.iter().filter(|import| !import.is_reexport);
            let imports = imports.map(|import| &import.path);
            for path in imports.chain(&module.paths) {
                let target = match self.resolve(id, path, 0) {
                    Some(Resolved::Item(target, _)) => target,
                    // `use super::child;` names a module; what is used of it stands in the code.
                    Some(Resolved::Module(_)) | None => continue,
                };
                let (from, to) = (&module.file, &self.modules[target].file);
                if from != to {
                    arrows.entry(from).or_default().insert(to);
                }
            }
        }
        arrows
    }

    /// Groups of files that reach each other, two files or more each.
    pub fn circles(&self) -> Vec<Vec<PathBuf>> {
        let arrows = self.arrows();
        let files: BTreeSet<&Path> = self.modules.iter().map(|m| m.file.as_path()).collect();
        let mut search = Search {
            arrows: &arrows,
            order: BTreeMap::new(),
            stack: Vec::new(),
            found: Vec::new(),
        };
        for file in files {
            if !search.order.contains_key(file) {
                search.visit(file);
            }
        }
        let mut circles: Vec<Vec<PathBuf>> =
            search.found.into_iter().filter(|circle| circle.len() > 1).collect();
        circles.sort_by_key(|circle| (usize::MAX - circle.len(), circle.clone()));
        circles
    }
}

struct Search<'a> {
    arrows: &'a BTreeMap<&'a Path, BTreeSet<&'a Path>>,
    /// Index and low link of every file that was visited; `usize::MAX` once its group is known.
    order: BTreeMap<&'a Path, [usize; 2]>,
    stack: Vec<&'a Path>,
    found: Vec<Vec<PathBuf>>,
}

impl<'a> Search<'a> {
    fn visit(&mut self, file: &'a Path) -> usize {
        let index = self.order.len();
        self.order.insert(file, [index, index]);
        self.stack.push(file);
        let mut low = index;
        for &next in self.arrows.get(file).into_iter().flatten() {
            low = low.min(match self.order.get(next) {
                None => self.visit(next),
                Some(&[index, link]) if link != usize::MAX => index,
                Some(_) => continue,
            });
        }
        self.order.insert(file, [index, low]);
        if low == index {
            let start = self.stack.iter().position(|&other| other == file).expect("on the stack");
            let group = self.stack.split_off(start);
            for &member in &group {
                self.order.insert(member, [usize::MAX, usize::MAX]);
            }
            let mut group: Vec<PathBuf> = group.into_iter().map(Path::to_owned).collect();
            group.sort();
            self.found.push(group);
        }
        low
    }
}

pub fn report(crates: &[Krate]) -> Vec<Measure> {
    println!("== import circles");
    let (mut files, mut largest, mut between) = (0, 0, 0);
    for krate in crates {
        for circle in krate.circles() {
            let folders: BTreeSet<_> = circle.iter().map(|file| file.parent()).collect();
            let note = if folders.len() > 1 { ", between folders" } else { "" };
            println!("{}: {} files{note}", krate.name, circle.len());
            for file in &circle {
                println!("    {}", file.display());
            }
            files += circle.len();
            largest = largest.max(circle.len());
            between += usize::from(folders.len() > 1) * circle.len();
        }
    }
    vec![
        Measure::new("files_in_circles", files),
        Measure::new("files_in_circles_between_folders", between),
        Measure::new("files_of_largest_circle", largest),
    ]
}
