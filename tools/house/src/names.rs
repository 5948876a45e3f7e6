//! Public names: what a user of a crate can reach from its root by modules and re-exports.

use std::collections::{BTreeMap, BTreeSet};

use crate::Measure;
use crate::imports::Resolved;
use crate::source::{Krate, ModuleId};

/// Crates that others build on; the rest are programs.
const PROGRAMS: [&str; 2] = ["terravox-bench", "terravox-cli"];

/// A declared name: module and name.
type Declared = (ModuleId, String);

impl Krate {
    /// Every public item, with the path by which it is reached first.
    fn public_names(&self) -> BTreeMap<Declared, String> {
        let mut names = BTreeMap::new();
        let mut modules = BTreeSet::new();
        self.walk_public(0, &self.name.replace('-', "_"), &mut modules, &mut names);
        names
    }

    fn walk_public(
        &self,
        module: ModuleId,
        path: &str,
        modules: &mut BTreeSet<ModuleId>,
        names: &mut BTreeMap<Declared, String>,
    ) {
        if !modules.insert(module) {
            return;
        }
        let node = &self.modules[module];
        for (name, _) in node.declared.iter().filter(|(_, is_public)| **is_public) {
            names.entry((module, name.clone())).or_insert_with(|| format!("{path}::{name}"));
        }
        for (name, child) in node.children.iter().filter(|(_, child)| child.is_public) {
            self.walk_public(child.id, &format!("{path}::{name}"), modules, names);
        }
        for import in node.imports.iter().filter(|import| import.is_public) {
            match self.resolve(module, &import.path, 0) {
                Some(Resolved::Item(owner, name)) => {
                    let path = format!("{path}::{}", import.alias);
                    names.entry((owner, name)).or_insert(path);
                }
                Some(Resolved::Module(other)) if import.alias == "*" => {
                    self.walk_public(other, path, modules, names);
                }
                Some(Resolved::Module(other)) => {
                    let path = format!("{path}::{}", import.alias);
                    self.walk_public(other, &path, modules, names);
                }
                None => {}
            }
        }
    }
}

/// Types begin with a capital and have small letters; functions and constants do not.
fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

pub fn report(crates: &[Krate]) -> Vec<Measure> {
    println!("\n== public names");
    let mut measures = Vec::new();
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for krate in crates.iter().filter(|krate| !PROGRAMS.contains(&krate.name.as_str())) {
        let names = krate.public_names();
        let types = names.keys().filter(|(_, name)| is_type(name)).count();
        println!("{}: {} ({types} types)", krate.name, names.len());
        measures.push(Measure::new(format!("public_names/{}", krate.name), names.len()));
        for ((_, name), path) in names {
            // Each version of parry has a module with the same names.
            if !path.contains("::parry_") {
                by_name.entry(name).or_default().push(path);
            }
        }
    }
    println!("twice:");
    let twice: Vec<_> = by_name.into_iter().filter(|(_, paths)| paths.len() > 1).collect();
    for (name, paths) in &twice {
        println!("    {name}: {}", paths.join(", "));
    }
    let types = twice.iter().filter(|(name, _)| is_type(name)).count();
    measures.push(Measure::new("public_types_twice", types));

    println!("types of the library, private ones too, that are declared more than once:");
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for krate in crates.iter().filter(|krate| krate.name == "terravox") {
        for module in &krate.modules {
            for name in module.declared.keys().filter(|name| is_type(name)) {
                places.entry(name).or_default().push(module.file.display().to_string());
            }
        }
    }
    places.retain(|_, files| files.len() > 1);
    for (name, files) in &places {
        println!("    {name}: {}", files.join(", "));
    }
    measures.push(Measure::new("types_declared_twice", places.len()));
    measures
}
