//! Writes 3MF: a zip of a model in XML, with a colour for every material.
//!
//! Source: 3MF Consortium, "3D Manufacturing Format Core Specification" 1.3; ISO/IEC 29500-2 for the
//! package.

use super::closed::{PrintFrame, PrintSurface};
use super::zip::ZipWriter;
use std::io::{self, Write};
use terravox::voxel::MaterialTable;

const TYPES: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">\
    <Default Extension=\"rels\" \
    ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
    <Default Extension=\"model\" \
    ContentType=\"application/vnd.ms-package.3dmanufacturing-3dmodel+xml\"/></Types>\n";

const RELATIONSHIPS: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">\
    <Relationship Id=\"model\" Target=\"/3D/3dmodel.model\" \
    Type=\"http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel\"/></Relationships>\n";

/// Writes a surface as 3MF, in millimetres. `out` should be buffered.
///
/// # Errors
/// If `out` fails, `frame` is invalid, or the model has more than 4 GB.
pub fn write_3mf(
    out: &mut impl Write,
    surface: &PrintSurface,
    materials: &MaterialTable,
    frame: PrintFrame,
) -> io::Result<()> {
    let positions = frame.positions(surface)?;
    let mut zip = ZipWriter::new(out);
    zip.file("[Content_Types].xml", |file| file.write_all(TYPES.as_bytes()))?;
    zip.file("_rels/.rels", |file| file.write_all(RELATIONSHIPS.as_bytes()))?;
    zip.file("3D/3dmodel.model", |file| write_model(file, surface, &positions, materials))?;
    zip.finish()
}

fn write_model(
    out: &mut dyn Write,
    surface: &PrintSurface,
    positions: &[[f32; 3]],
    materials: &MaterialTable,
) -> io::Result<()> {
    let mut used: Vec<u8> = surface.materials.clone();
    used.sort_unstable();
    used.dedup();
    // By material.
    let mut places = [0; 256];
    write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<model unit=\"millimeter\" xml:lang=\"en-US\" \
         xmlns=\"http://schemas.microsoft.com/3dmanufacturing/core/2015/02\">\n\
         <metadata name=\"Application\">terravox</metadata>\n<resources>\n<basematerials id=\"1\">\n"
    )?;
    for (place, &id) in used.iter().enumerate() {
        places[usize::from(id)] = place;
        let [r, g, b] = materials.colour(id);
        let name = escaped(&materials.name(id));
        writeln!(out, "<base name=\"{name}\" displaycolor=\"#{r:02X}{g:02X}{b:02X}\"/>")?;
    }
    write!(
        out,
        "</basematerials>\n<object id=\"2\" type=\"model\" pid=\"1\" pindex=\"0\">\n<mesh>\n\
         <vertices>\n"
    )?;
    for [x, y, z] in positions {
        writeln!(out, "<vertex x=\"{x}\" y=\"{y}\" z=\"{z}\"/>")?;
    }
    writeln!(out, "</vertices>\n<triangles>")?;
    for ([a, b, c], material) in surface.triangles.iter().zip(&surface.materials) {
        let place = places[usize::from(*material)];
        writeln!(out, "<triangle v1=\"{a}\" v2=\"{b}\" v3=\"{c}\" pid=\"1\" p1=\"{place}\"/>")?;
    }
    write!(
        out,
        "</triangles>\n</mesh>\n</object>\n</resources>\n<build><item objectid=\"2\"/></build>\n\
         </model>\n"
    )
}

/// Escapes what ends an attribute, and leaves out what XML cannot hold.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().filter(|c| !c.is_control() && !('\u{FFFE}'..='\u{FFFF}').contains(c)) {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
    out
}
