//! Number of crates that `terravox` depends on with its default features.
//!
//! Counted by `cargo tree`, which resolves the features of this one package;
//! `cargo metadata` would mix in those that other members enable.

use std::collections::BTreeSet;
use std::process::Command;

use crate::report::AreaReport;

/// Measures `core_dependencies`.
pub fn run(report: &mut AreaReport) {
    match crates_under("terravox") {
        Ok(crates) => {
            let names = crates.iter().cloned().collect::<Vec<_>>().join(" ");
            report.set("core_dependencies", crates.len() as f64, names);
        }
        Err(why) => report.not_measured("core_dependencies", why),
    }
}

fn crates_under(package: &str) -> Result<BTreeSet<String>, String> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--manifest-path", manifest, "--package", package])
        .args(["--edges", "normal,build", "--prefix", "none", "--offline"])
        .output()
        .map_err(|error| format!("cargo tree did not start: {error}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo tree: {}", words.lines().next().unwrap_or("failed")));
    }
    Ok(names(&String::from_utf8_lossy(&output.stdout), package))
}

/// The packages named in the lines of `cargo tree --prefix none`, but `root`. A crate
/// in two versions counts twice.
fn names(tree: &str, root: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, version) = (words.next()?, words.next()?);
        (name != root).then(|| format!("{name}-{}", version.trim_start_matches('v')))
    };
    tree.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_counts_once_a_version() {
        let tree = "terravox v0.1.0 (/somewhere)\nglam v0.34.2\nlibm v0.2.16\n\nglam v0.34.2 (*)\nglam v0.29.3\n";
        let found: Vec<_> = names(tree, "terravox").into_iter().collect();
        assert_eq!(found, ["glam-0.29.3", "glam-0.34.2", "libm-0.2.16"]);
    }

    #[test]
    fn the_core_has_few_crates_under_it() {
        match crates_under("terravox") {
            Ok(crates) => assert!((1..=15).contains(&crates.len()), "{crates:?}"),
            Err(why) => println!("skipped: {why}"),
        }
    }
}
