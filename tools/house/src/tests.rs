//! The measures on a crate of a few lines, made in a folder of the test's own.

use std::fs;
use std::path::PathBuf;

use crate::bounds::Bounds;
use crate::source::Krate;
use crate::{Measure, functions, names, phrases};

/// A crate of these files, below `src`; removed when dropped.
struct Made(PathBuf);

impl Made {
    fn new(name: &str, files: &[(&str, &str)]) -> Made {
        let folder = std::env::temp_dir().join(format!("house-{}-{name}", std::process::id()));
        for (file, text) in files {
            let path = folder.join("src").join(file);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        Made(folder)
    }

    fn read(&self) -> Krate {
        Krate::read(&self.0)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn value(measures: &[Measure], id: &str) -> usize {
    measures.iter().find(|measure| measure.id.starts_with(id)).expect("it is measured").value
}

#[test]
fn a_circle_through_a_reexport_is_found_and_one_of_tests_is_not() {
    let made = Made::new(
        "circle",
        &[
            ("lib.rs", "mod a; mod b; mod c; pub use a::One; pub use b::Two;"),
            ("a.rs", "use crate::Two; pub struct One(Two);"),
            ("b.rs", "pub struct Two; fn f() { let x: Vec<crate::a::One> = vec![]; }"),
            ("c.rs", "use crate::One; #[cfg(test)] mod tests { use crate::b::f; }"),
        ],
    );
    let circles = made.read().circles();
    assert_eq!(circles, [[PathBuf::from("a.rs"), PathBuf::from("b.rs")]]);
}

#[test]
fn a_reexport_alone_is_no_arrow() {
    let files = [
        ("lib.rs", "mod room;"),
        ("room/mod.rs", "mod part; pub use part::Part; pub struct Whole;"),
        ("room/part.rs", "use super::Whole; pub struct Part(Whole);"),
    ];
    assert!(Made::new("reexport", &files).read().circles().is_empty());
}

#[test]
fn paths_in_macros_and_by_aliases_are_arrows() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b as other; pub fn f() { println!(\"{}\", other::g()); }"),
        ("b.rs", "pub fn g() -> u8 { 1 } fn h() { crate::a::f() }"),
    ];
    assert_eq!(Made::new("macros", &files).read().circles().len(), 1);
}

#[test]
fn public_names_are_those_that_a_user_reaches_and_once_each() {
    let files = [
        ("lib.rs", "pub mod open; mod shut; pub use open::Seen; pub use shut::Shown as Alias;"),
        ("open.rs", "pub struct Seen; struct Private; pub fn call() {}"),
        ("shut.rs", "pub struct Shown; pub struct Unreachable;"),
    ];
    let measures = names::report(&[Made::new("public", &files).read()]);
    assert_eq!(value(&measures, "public_names"), 3);
    assert_eq!(value(&measures, "public_types_twice"), 0);
}

#[test]
fn a_long_function_is_found_in_an_impl_and_not_in_tests() {
    let long = format!("{{ {} }}", "call();\n".repeat(70));
    let text =
        format!("struct A; impl A {{ fn f() {long} }} #[cfg(test)] mod tests {{ fn g() {long} }}");
    let made = Made::new("long", &[("lib.rs", &text)]);
    assert_eq!(value(&functions::report(&[made.read()]), "functions_over_60_lines"), 1);
}

#[test]
fn phrases_are_found_across_the_line_breaks_of_a_comment() {
    assert_eq!(phrases::words("/// what is\n    //! Far, then_some"), " what is far then_some ");
}

#[test]
fn a_measure_over_its_bound_or_without_one_is_named() {
    let made = Made::new("bounds", &[("lib.rs", "")]);
    let path = made.0.join("bounds.txt");
    fs::write(&path, "# comment\na 3\nb 4\n").expect("writable");
    let bounds = Bounds::read(&path);
    let measures = [Measure::new("a", 4), Measure::new("b", 2), Measure::new("c", 0)];
    let worse = bounds.exceeded(&measures);
    assert_eq!(worse.len(), 2);
    assert!(worse[0].contains("a is 4, and at most 3"), "{worse:?}");
    bounds.tightened(&measures).write(&path);
    let tightened = Bounds::read(&path);
    assert_eq!(
        (tightened.of("a"), tightened.of("b"), tightened.of("c")),
        (Some(3), Some(2), Some(0))
    );
}
