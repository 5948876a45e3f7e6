//! Writes 3MF: a zip of a model in XML, with a colour for every material.
//!
//! Source: 3MF Consortium, "3D Manufacturing Format Core Specification" 1.3; ISO/IEC 29500-2 for
//! the package.

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

/// A model up to its materials.
const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<model unit=\"millimeter\" \
    xml:lang=\"en-US\" xmlns=\"http://schemas.microsoft.com/3dmanufacturing/core/2015/02\">\n\
    <metadata name=\"Application\">terravox</metadata>\n<resources>\n<basematerials id=\"1\">\n";

/// A model behind its triangles.
const FOOT: &str = "</triangles>\n</mesh>\n</object>\n</resources>\n\
    <build><item objectid=\"2\"/></build>\n</model>\n";

/// Vertices or triangles that are written at a time: some 2 MB of text, of which each ends a block
/// of deflate.
const PART_LINES: usize = 1 << 15;

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
    let copy = |text: &&str, out: &mut Vec<u8>| out.extend(text.bytes());
    zip.file("[Content_Types].xml", &[TYPES], copy)?;
    zip.file("_rels/.rels", &[RELATIONSHIPS], copy)?;
    let used = UsedMaterials::of(&surface.materials);
    let mut parts = vec![ModelPart::Text(used.head(materials))];
    parts.extend(positions.chunks(PART_LINES).map(ModelPart::Vertices));
    parts.push(ModelPart::Text("</vertices>\n<triangles>\n".to_owned()));
    let triangles = surface.triangles.chunks(PART_LINES);
    let triangles = triangles.zip(surface.materials.chunks(PART_LINES));
    parts.extend(triangles.map(|(corners, materials)| ModelPart::Triangles(corners, materials)));
    parts.push(ModelPart::Text(FOOT.to_owned()));
    zip.file("3D/3dmodel.model", &parts, |part, out| part.write(&used, out))?;
    zip.finish()
}

/// A part of the text of a model.
enum ModelPart<'a> {
    Text(String),
    Vertices(&'a [[f32; 3]]),
    /// Corners, and the material of each.
    Triangles(&'a [[u32; 3]], &'a [u8]),
}

/// The materials of a model.
struct UsedMaterials {
    /// Ids, sorted.
    ids: Vec<u8>,
    /// Index in `ids`, by id.
    places: [u8; 256],
    /// Index of the most common one, which triangles need not name.
    common: u8,
}

impl UsedMaterials {
    fn of(materials: &[u8]) -> UsedMaterials {
        let mut counts = [0_usize; 256];
        materials.iter().for_each(|&id| counts[usize::from(id)] += 1);
        let ids: Vec<u8> = (0..=255).filter(|&id| counts[usize::from(id)] > 0).collect();
        let (mut places, mut common) = ([0; 256], 0);
        for (place, &id) in (0..).zip(&ids) {
            places[usize::from(id)] = place;
            if counts[usize::from(id)] > counts[usize::from(ids[usize::from(common)])] {
                common = place;
            }
        }
        UsedMaterials { ids, places, common }
    }

    /// Returns the text of a model up to its vertices.
    fn head(&self, materials: &MaterialTable) -> String {
        let base = |&id: &u8| {
            let ([r, g, b], name) = (materials.colour(id), escaped(&materials.name(id)));
            format!("<base name=\"{name}\" displaycolor=\"#{r:02X}{g:02X}{b:02X}\"/>\n")
        };
        let bases: String = self.ids.iter().map(base).collect();
        format!(
            "{HEAD}{bases}</basematerials>\n<object id=\"2\" type=\"model\" pid=\"1\" \
             pindex=\"{}\">\n<mesh>\n<vertices>\n",
            self.common
        )
    }
}

impl ModelPart<'_> {
    fn write(&self, used: &UsedMaterials, out: &mut Vec<u8>) {
        match self {
            ModelPart::Text(text) => out.extend(text.bytes()),
            ModelPart::Vertices(positions) => {
                for [x, y, z] in *positions {
                    // A `Vec` takes all.
                    let _ = writeln!(out, "<vertex x=\"{x}\" y=\"{y}\" z=\"{z}\"/>");
                }
            }
            ModelPart::Triangles(triangles, materials) => {
                for ([a, b, c], material) in triangles.iter().zip(*materials) {
                    let place = used.places[usize::from(*material)];
                    let _ = match place == used.common {
                        true => writeln!(out, "<triangle v1=\"{a}\" v2=\"{b}\" v3=\"{c}\"/>"),
                        false => writeln!(
                            out,
                            "<triangle v1=\"{a}\" v2=\"{b}\" v3=\"{c}\" pid=\"1\" p1=\"{place}\"/>"
                        ),
                    };
                }
            }
        }
    }
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
