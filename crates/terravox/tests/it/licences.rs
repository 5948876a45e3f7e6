//! Every crate that any member builds on has a permissive licence.

use serde_json::Value;
use std::process::Command;

const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether a licence expression lets us choose permissive terms only. `/` is an old way
/// to write OR. Brackets are read as in `(A OR B) AND C`.
fn is_permissive(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    if let Some(open) = expression.find('(')
        && let Some(length) = expression[open..].find(')')
    {
        let inner = &expression[open + 1..open + length];
        let stand_in = if is_permissive(inner) { "MIT" } else { "unknown" };
        let outer =
            format!("{}{stand_in}{}", &expression[..open], &expression[open + length + 1..]);
        return is_permissive(&outer);
    }
    expression
        .split(" OR ")
        .any(|choice| choice.split(" AND ").all(|licence| PERMISSIVE.contains(&licence.trim())))
}

#[test]
fn every_dependency_has_a_permissive_licence() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    assert!(packages.len() > 5);
    let wrong: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(is_permissive))
        .map(|package| {
            format!("{} {}: {}", package["name"], package["version"], package["license"])
        })
        .collect();
    assert!(wrong.is_empty(), "not known to be permissive: {wrong:#?}");
}

#[test]
fn licence_expressions_are_read_as_written() {
    assert!(is_permissive("MIT OR Apache-2.0"));
    assert!(is_permissive("MIT/Apache-2.0"));
    assert!(is_permissive("GPL-3.0 OR MIT"));
    assert!(is_permissive("(MIT OR GPL-2.0) AND Unicode-3.0"));
    assert!(!is_permissive("(MIT OR Apache-2.0) AND GPL-2.0"));
    assert!(!is_permissive("AGPL-3.0"));
    assert!(!is_permissive(""));
}
