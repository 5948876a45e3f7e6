//! Phrases that a reader has to decode, in comments, documentation and messages.

use std::fs;
use std::path::Path;

use crate::Measure;

/// Words in lower case, and what to write instead. A phrase is found as whole words, across line
/// breaks too.
const PHRASES: &[(&str, &str)] = &[
    ("answers", "returns; results"),
    ("is none", "does not exist; is invalid"),
    ("are none", "do not exist; are invalid"),
    ("is no number", "is NaN"),
    ("are no numbers", "are NaN or infinite"),
    ("whoever", "the caller"),
    ("those who", "callers that"),
    ("who keeps", "with"),
    ("foretell", "predict"),
    ("foretold", "predicted"),
    ("by the hand", "manually"),
    ("nobody", "no caller; nothing"),
    ("somebody", "a caller; another thread"),
    ("what is far", "distant blocks"),
    ("what is near", "nearby blocks"),
    ("what it costs", "its cost"),
    ("what is large", "large pieces"),
    ("be it", "whether"),
    ("or they be", "or they are"),
    ("as few as", "the fewest"),
    ("such as are", "those that are"),
    ("of its own accord", "by itself"),
    ("nothing else is needed", "you only need"),
    ("say so if", "pass a flag"),
    ("asks ahead", "prefetches"),
    ("it be", "it is"),
    ("not a one", "none"),
    ("none that matters", "nothing important"),
    ("none such", "none"),
    ("there be", "there are"),
    ("lest", "so that … not"),
    ("whence", "from where"),
    ("thereof", "of it"),
    ("in the stead", "instead"),
    ("in the place of", "instead of"),
    ("what goes wrong", "errors"),
    ("what was asked", "the request"),
    ("lower case of", "lowercase"),
];

/// Letters and digits of `text` in lower case, words parted by one blank, marks of comments gone.
pub fn words(text: &str) -> String {
    let mut words = String::from(" ");
    for line in text.lines() {
        let line = line.trim_start().trim_start_matches(['/', '!', '>', '*']);
        for word in line.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '_')) {
            if !word.is_empty() {
                words.push_str(&word.to_lowercase());
                words.push(' ');
            }
        }
    }
    words
}

fn prose_files(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).expect("the repository is readable") {
        let path = entry.expect("the repository is readable").path();
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | "data" | "pictures" | "tools" | "node_modules")
                && !name.starts_with('.')
            {
                prose_files(&path, files);
            }
        } else if name.ends_with(".rs")
            || name.ends_with(".md")
            || !(name.contains('.') || name.starts_with("LICENSE"))
        {
            files.push(path);
        }
    }
}

pub fn report(root: &Path) -> Vec<Measure> {
    let mut files = Vec::new();
    for folder in ["crates", "docs", "examples", "integrations", "scripts"] {
        prose_files(&root.join(folder), &mut files);
    }
    files.extend(["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|file| root.join(file)));
    files.sort();
    println!("\n== phrases");
    let mut total = 0;
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        // "If there is none" is plain English; "a ray that is none" is not.
        let words = words(&text).replace(" there is none ", " ").replace(" there are none ", " ");
        for (phrase, instead) in PHRASES {
            let count = words.matches(&format!(" {phrase} ")).count();
            if count > 0 {
                let file = file.strip_prefix(root).unwrap_or(&file).display();
                println!("    {file}: {count} × \"{phrase}\" ({instead})");
                total += count;
            }
        }
    }
    vec![Measure::new("phrases", total)]
}
