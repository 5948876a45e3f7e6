//! Families of hostile files, and lists of them.

use super::files::{binary, xml};
use terravox_io::triangles::MeshFormat;

/// The importer that a shape is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importer {
    Roblox,
    SmoothGrid,
    Png,
    RawHeights,
    Metadata,
    Vox,
    Mesh(MeshFormat),
}

/// A family of files.
pub struct HostileShape {
    pub name: String,
    pub importer: Importer,
    /// Size for tests.
    pub n: usize,
    pub file: Box<dyn Fn(usize) -> Vec<u8>>,
}

/// Shapes of one format.
pub struct ShapeList {
    prefix: String,
    importer: Importer,
    pub shapes: Vec<HostileShape>,
}

impl ShapeList {
    pub fn new(prefix: impl Into<String>, importer: Importer) -> ShapeList {
        ShapeList { prefix: prefix.into(), importer, shapes: Vec::new() }
    }

    pub fn add(&mut self, name: &str, n: usize, file: impl Fn(usize) -> Vec<u8> + 'static) {
        let name = format!("{}: {name}", self.prefix);
        let (importer, file) = (self.importer, Box::new(file));
        self.shapes.push(HostileShape { name, importer, n, file });
    }

    /// Adds a binary file of chunks.
    pub fn add_chunks(
        &mut self,
        name: &str,
        n: usize,
        chunks: impl Fn(usize) -> Vec<Vec<u8>> + 'static,
    ) {
        self.add(name, n, move |n| binary(&chunks(n)));
    }

    /// Adds an XML file with this body.
    pub fn add_xml(&mut self, name: &str, n: usize, body: impl Fn(usize) -> String + 'static) {
        self.add(name, n, move |n| xml(&body(n)));
    }
}
