//! Which module may name which: the picture in `docs/design.md`, checked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// (module, modules that it may name). A module that is not listed fails the test.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("voxel", &[]),
    ("math", &["voxel"]),
    ("codec", &["voxel"]),
    ("generate", &["voxel", "math"]),
    ("edit", &["voxel", "math", "codec", "generate"]),
    ("mesh", &["voxel", "math"]),
    ("geometry", &[]),
    ("bits", &["voxel"]),
    ("collide", &["voxel", "math", "mesh", "geometry", "bits"]),
    ("contacts", &["voxel", "math", "mesh", "geometry", "collide"]),
    ("boxes", &["voxel", "math", "bits"]),
    ("octree", &["voxel", "math", "mesh"]),
    ("simplify", &["voxel", "mesh"]),
    ("lod", &["voxel", "math", "mesh", "octree", "simplify"]),
    ("scatter", &["voxel", "math", "generate", "mesh"]),
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
    ("replicate", &["voxel", "codec", "generate", "edit", "bodies", "terrain"]),
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

/// The picture of `docs/design.md`: the first fenced block, above its module box and in it.
fn picture() -> (String, Vec<String>) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design.md");
    let page = fs::read_to_string(page).expect("the design is a file");
    let block = page.split("```").nth(1).expect("it has a picture");
    let (crates, modules) = block.split_once("\n+-").expect("the picture has a box of modules");
    // Each row of the box is `| modules | remark |`.
    let rows = modules.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    (crates.to_owned(), rows.map(str::to_owned).collect())
}

#[test]
fn the_picture_in_the_design_shows_the_modules_and_their_arrows_run_down() {
    let (_, rows) = picture();
    let shown: Vec<(&str, usize)> = rows
        .iter()
        .enumerate()
        .flat_map(|(row, names)| names.split_whitespace().map(move |name| (name, row)))
        .collect();
    let mut names: Vec<&str> = shown.iter().map(|&(name, _)| name).collect();
    let mut listed: Vec<&str> = MAY_NAME.iter().map(|&(name, _)| name).collect();
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(names, listed, "the picture shows each module of the list once");
    let row_of = |name: &str| shown.iter().find(|(shown, _)| *shown == name).map(|&(_, row)| row);
    for (name, allowed) in MAY_NAME {
        for other in *allowed {
            assert!(row_of(other) > row_of(name), "{other} is drawn below {name}, which names it");
        }
    }
}

#[test]
fn the_picture_in_the_design_shows_the_crates_and_their_arrows_run_down() {
    let (text, _) = picture();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let row_of = |name: &str| {
        let mut rows = text.lines();
        rows.position(|row| row.split(|c| !is_name(c)).any(|word| word == name))
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for entry in fs::read_dir(folder).expect("the folder of crates is readable") {
        let path = entry.expect("the folder of crates is readable").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(manifest) = fs::read_to_string(path.join("Cargo.toml")) else { continue };
        if name == "terravox" {
            continue;
        }
        assert!(row_of(&name).is_some(), "the picture does not show {name}");
        // What only tests and the documentation use may lie beside.
        let manifest = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        let names = manifest.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        for other in names.filter(|other| other.starts_with("terravox-") && *other != name) {
            assert!(row_of(other) > row_of(&name), "{other} is not drawn below {name}");
        }
    }
}

#[test]
fn the_modules_in_the_design_name_what_the_list_allows() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design.md");
    let page = fs::read_to_string(page).expect("the design is a file");
    for (name, allowed) in MAY_NAME {
        let head = format!("- **`{name}`** → ");
        let (_, text) = page.split_once(&head).unwrap_or_else(|| panic!("no line has {head:?}"));
        let text = text.split('.').next().unwrap_or_default();
        let names = text.split([',', ' ', '\n']).filter(|name| !name.is_empty());
        let mut names: Vec<&str> = names.filter(|&name| name != "nothing").collect();
        let mut allowed = allowed.to_vec();
        names.sort_unstable();
        allowed.sort_unstable();
        assert_eq!(names, allowed, "what {name} may name");
    }
}
