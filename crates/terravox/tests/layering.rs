//! Which module may name which: the picture in `docs/design.md`, checked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// (module, modules that it may name). A module that is not listed fails the test.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("voxel", &[]),
    ("math", &["voxel"]),
    ("codec", &["voxel"]),
    ("generate", &["voxel"]),
    ("edit", &["voxel", "math", "codec", "generate"]),
    ("mesh", &["voxel", "math"]),
    ("geometry", &[]),
    ("bits", &["voxel"]),
    ("collide", &["voxel", "math", "mesh", "geometry", "bits"]),
    ("contacts", &["voxel", "math", "mesh", "geometry", "collide"]),
    ("boxes", &["voxel", "math", "bits"]),
    ("octree", &["voxel", "mesh"]),
    ("simplify", &["voxel", "mesh"]),
    ("lod", &["voxel", "math", "mesh", "octree", "simplify"]),
    ("particles", &["math"]),
    ("bodies", &["voxel", "mesh", "bits", "edit"]),
    (
        "terrain",
        &[
            "voxel",
            "generate",
            "math",
            "mesh",
            "collide",
            "edit",
            "simplify",
            "lod",
            "particles",
            "bodies",
        ],
    ),
];

fn source_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the source folder is readable") {
        let path = entry.expect("the source folder is readable").path();
        match path.is_dir() {
            true => source_files(&path, files),
            false => files.push(path),
        }
    }
}

/// Modules that `text` names as `crate::MODULE`, comments and documentation aside.
fn named_modules(text: &str) -> BTreeSet<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.collect::<Vec<_>>().join("\n");
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = BTreeSet::new();
    for part in code.split("crate::").skip(1) {
        match part.strip_prefix('{') {
            None => drop(names.insert(part.split(|c| !is_name(c)).next().unwrap_or("").to_owned())),
            Some(list) => {
                let list = list.split('}').next().unwrap_or("");
                names.extend(list.split(',').map(|item| {
                    item.trim().split(|c| !is_name(c)).next().unwrap_or("").to_owned()
                }));
            }
        }
    }
    names
}

#[test]
fn modules_name_only_what_the_design_allows() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    let mut files = Vec::new();
    source_files(&source, &mut files);
    assert!(files.len() > 10, "the source is where this test looks");
    for path in files {
        let inside = path.strip_prefix(&source).expect("found below it");
        let module = inside.components().next().expect("a file has a name").as_os_str();
        let module = module.to_string_lossy().trim_end_matches(".rs").to_owned();
        if module == "lib" {
            continue;
        }
        let Some((_, allowed)) = MAY_NAME.iter().find(|(name, _)| *name == module) else {
            wrong.push(format!("{module} is not in the list"));
            continue;
        };
        let text = fs::read_to_string(&path).expect("source is text");
        for name in named_modules(&text) {
            if name != module && !allowed.contains(&name.as_str()) {
                wrong.push(format!("{} names crate::{name}", inside.display()));
            }
        }
        seen.insert(module);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let listed: BTreeSet<String> = MAY_NAME.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(seen, listed, "the list names modules that are not there");
}

#[test]
fn named_modules_are_found_in_every_form() {
    let text = "use crate::voxel::Cell;\n// crate::nothing\nlet x = crate::mesh::PAD;\n\
                use crate::{codec::rle, generate};\npub(in crate::terrain) fn f() {}";
    let names: Vec<_> = named_modules(text).into_iter().collect();
    assert_eq!(names, ["codec", "generate", "mesh", "terrain", "voxel"]);
}
