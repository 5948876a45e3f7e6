//! The shaders in the documentation are valid.

use std::fs;
use std::path::Path;

use naga::front::wgsl;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use terravox::mesh::UNPACK_WGSL;

/// Returns why a shader is invalid, if it is.
fn shader_error(shader: &str) -> Option<String> {
    let module = match wgsl::parse_str(shader) {
        Ok(module) => module,
        Err(error) => return Some(error.emit_to_string(shader)),
    };
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    validator.validate(&module).err().map(|error| error.emit_to_string(shader))
}

/// Returns the shaders in a page.
fn shaders(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("\n```wgsl\n").skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap_or(block))
}

#[test]
fn every_shader_in_the_documentation_is_valid() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut count = 0;
    for entry in fs::read_dir(docs).expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let page = fs::read_to_string(&path).expect("pages are text");
        for shader in shaders(&page) {
            let before = if shader.starts_with("// After UNPACK_WGSL.") { UNPACK_WGSL } else { "" };
            let error = shader_error(&format!("{before}{shader}"));
            assert!(error.is_none(), "{}: {}", path.display(), error.unwrap_or_default());
            count += 1;
        }
    }
    assert!(count >= 4, "found only {count}");
}

#[test]
fn the_page_has_the_unpacking_shader() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gpu.md");
    let page = fs::read_to_string(page).expect("the page is readable");
    assert!(shaders(&page).any(|shader| shader == UNPACK_WGSL.trim_end()));
}

#[test]
fn invalid_shaders_are_found() {
    let page = "a\n\n```wgsl\nfn f() -> u32 { return 1u; }\n```\nb\n```wgsl\nfn f() {}\n```\n";
    let found: Vec<&str> = shaders(page).collect();
    assert_eq!(found, ["fn f() -> u32 { return 1u; }", "fn f() {}"]);
    assert_eq!(shader_error(found[0]), None);
    assert!(shader_error("fn f() -> u32 { return 1.0; }").is_some(), "a type error");
    assert!(shader_error("fn f() -> u32 { return 1u }").is_some(), "a syntax error");
}
