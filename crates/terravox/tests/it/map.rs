//! The maps of `docs/design.md` name functions and files that exist, and every hop of a journey is
//! called from the file of the hop above it; links and file names of all pages lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};

/// One line of a map: `name  file  remark`, in columns that are two or more spaces apart.
struct Hop<'a> {
    /// Spaces before the name: a hop is called from the nearest line above with fewer.
    indent: usize,
    /// `function` or `Owner::function`.
    name: &'a str,
    /// Below `crates/terravox/src`, or below `crates`.
    file: &'a str,
}

impl<'a> Hop<'a> {
    fn parse(line: &'a str) -> Option<Hop<'a>> {
        let mut columns = line.trim().split("  ").filter(|column| !column.is_empty());
        let (name, file) = (columns.next()?, columns.next()?.trim());
        columns.next()?;
        Some(Hop { indent: line.len() - line.trim_start().len(), name, file })
    }

    fn function(&self) -> &'a str {
        self.name.rsplit("::").next().unwrap_or(self.name)
    }

    /// Whether `text` defines the function; if it has an owner, on that type or in that module.
    fn is_defined_in(&self, text: &str) -> bool {
        let is_fn = |line: &str| words(line).any(|[a, b]| a == "fn" && b == self.function());
        match self.name.split_once("::") {
            Some((owner, _)) if owner.starts_with(char::is_uppercase) => {
                // Between `impl … Owner` and the brace at the start of a line that ends it.
                let mut is_inside = false;
                code(text).any(|line| {
                    match line.starts_with("impl") {
                        true => is_inside = line.split(|c| !is_word(c)).any(|word| word == owner),
                        false => is_inside &= !line.starts_with('}'),
                    }
                    is_inside && is_fn(line)
                })
            }
            Some((owner, _)) => {
                self.file.split(['/', '.']).any(|part| part == owner) && code(text).any(is_fn)
            }
            None => code(text).any(is_fn),
        }
    }

    /// Whether `text` names the function other than to define it.
    fn is_called_in(&self, text: &str) -> bool {
        code(text).any(|line| words(line).any(|[a, b]| a != "fn" && b == self.function()))
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Each word of a line with the word before it, the first with none.
fn words(line: &str) -> impl Iterator<Item = [&str; 2]> {
    let words = line.split(|c| !is_word(c)).filter(|word| !word.is_empty());
    let mut last = "";
    words.map(move |word| [std::mem::replace(&mut last, word), word])
}

/// Lines of source without comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Text of a source file that a map or page names.
fn source(file: &str) -> Option<String> {
    let crates = root().join("crates");
    let places = [crates.join("terravox/src").join(file), crates.join(file)];
    places.iter().find_map(|path| fs::read_to_string(path).ok())
}

/// The fenced blocks below the headings of the maps, as (line number, line).
fn maps(page: &str) -> Vec<Vec<(usize, &str)>> {
    let (mut maps, mut is_map, mut is_inside) = (Vec::new(), false, false);
    for (at, line) in page.lines().enumerate() {
        if line.starts_with("## ") {
            is_map = ["## Journeys", "## Where is it?"].contains(&line);
        } else if is_map && line.starts_with("```") {
            is_inside = !is_inside;
            maps.extend(is_inside.then(Vec::new));
        } else if let Some(map) = maps.last_mut().filter(|_| is_inside) {
            map.push((at + 1, line));
        }
    }
    maps
}

#[test]
fn the_maps_lead_to_functions_that_exist_and_call_one_another() {
    let page = fs::read_to_string(root().join("docs/design.md")).expect("the design is a file");
    let maps = maps(&page);
    assert!(maps.len() > 3, "the journeys are where this test looks");
    let mut wrong = Vec::new();
    for map in maps {
        // The hops that the next one may be called from.
        let mut above: Vec<(usize, String)> = Vec::new();
        for (number, line) in map {
            let mut problem = |what: &str| wrong.push(format!("line {number}, {line:?}: {what}"));
            let Some(hop) = Hop::parse(line) else {
                problem("is not `name  file  remark`");
                continue;
            };
            let Some(text) = source(hop.file) else {
                problem("no such file");
                continue;
            };
            if !hop.is_defined_in(&text) {
                problem("the file does not define it");
            }
            above.retain(|&(indent, _)| indent < hop.indent);
            if above.last().is_some_and(|(_, caller)| !hop.is_called_in(caller)) {
                problem("is not named in the file of the hop that it is indented under");
            }
            above.push((hop.indent, text));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn links_of_the_pages_lead_to_files_and_headings() {
    let slug = |heading: &str| -> String {
        let kept = heading.trim_start_matches(['#', ' ']).to_lowercase();
        let kept = kept.chars().filter(|&c| c.is_alphanumeric() || " -_".contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    let mut pages: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "fuzz/README.md"]
            .map(|p| root().join(p))
            .into();
    let docs = fs::read_dir(root().join("docs")).expect("the pages are a folder");
    pages.extend(docs.map(|entry| entry.expect("it is readable").path()));
    let mut wrong = Vec::new();
    for path in pages.iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let page = fs::read_to_string(path).expect("a page is text");
        let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let links = links.filter(|link| !link.contains("://") && !link.contains('\n'));
        for link in links {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let folder = path.parent().expect("a file lies in a folder");
            let target = if file.is_empty() { path.clone() } else { folder.join(file) };
            let text = fs::read(&target).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let found = match text {
                Ok(text) => {
                    let mut headings = text.lines().filter(|line| line.starts_with('#'));
                    heading.is_empty() || headings.any(|line| slug(line) == heading)
                }
                Err(_) => target.is_dir() && heading.is_empty(),
            };
            if !found {
                wrong.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// All source below a folder, as one text.
fn sources_below(folder: &Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("it is readable").path());
    let texts = paths.map(|path| match path.is_dir() {
        true => sources_below(&path),
        false => fs::read_to_string(&path).unwrap_or_default(),
    });
    texts.collect()
}

#[test]
fn entries_of_the_modules_exist() {
    let page = fs::read_to_string(root().join("docs/design.md")).expect("the design is a file");
    let (_, list) = page.split_once("## Modules").expect("the design lists the modules");
    let list = list.split("\n## ").next().unwrap_or_default();
    let mut wrong = Vec::new();
    for item in list.split("\n- ").skip(1) {
        let mut spans = item.split('`').skip(1).step_by(2);
        let module = spans.next().expect("an item begins with the module");
        let text = sources_below(&root().join("crates/terravox/src").join(module));
        for name in spans.filter(|span| span.contains("::")) {
            let entry = Hop { indent: 0, name, file: module };
            if !entry.is_defined_in(&text) {
                wrong.push(format!("{module}: {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn source_files_that_the_decisions_name_exist() {
    let page = root().join("docs/decisions.md");
    let page = fs::read_to_string(page).expect("the decisions are a file");
    let spans = page.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let files = spans.filter(|span| span.ends_with(".rs"));
    let lost: Vec<&str> = files.filter(|file| source(file).is_none()).collect();
    assert!(lost.is_empty(), "{lost:#?}");
}
