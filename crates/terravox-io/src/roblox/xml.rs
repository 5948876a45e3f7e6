//! The XML container, `.rbxmx` and `.rbxlx`: finds the Terrain in a model or place, and
//! writes a model that holds one.
//!
//! ```xml
//! <roblox version="4">
//!   <Item class="Terrain" referent="…">      <!-- items nest -->
//!     <Properties>
//!       <BinaryString name="SmoothGrid">base64, also in CDATA and with line breaks
//! ```
//!
//! A `SharedString` property names, by hash, a value in the `SharedStrings` element at the
//! end of the file. Elements are pulled from the text one by one and only what is wanted
//! is kept, so memory is bounded by the file's length.
//!
//! Source: rbx-dom's `docs/xml.md` and real files.

use super::terrain_instance::{RobloxFile, TerrainInstance, TerrainProperty};
use super::{FilePart, ImportLimits, RobloxError};
use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// The version attribute of all current files.
const VERSION: &str = "4";
/// Characters in a line of base64.
const BASE64_LINE_CHARS: usize = 72;

/// Some writers omit the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Finds all Terrain instances, in the order of the file.
pub(super) fn read(bytes: &[u8], limits: &ImportLimits) -> Result<RobloxFile, RobloxError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    // Names and scripts that are not UTF-8 do not matter here.
    let text = String::from_utf8_lossy(bytes);
    let mut search = TerrainFinder::new(limits);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().allow_dangling_amp = true;
    loop {
        let offset = reader.buffer_position() as usize;
        let event = reader.read_event().map_err(|error| {
            let what = format!("XML: {}", shortened(&error.to_string()));
            RobloxError::damaged(FilePart::File, reader.error_position() as usize, what)
        })?;
        match event {
            Event::Start(tag) => search.open(&tag, offset)?,
            Event::Empty(tag) => {
                search.open(&tag, offset)?;
                search.close()?;
            }
            Event::End(_) => search.close()?,
            Event::Text(text) => search.text(&text),
            Event::CData(text) => search.text(&text),
            Event::GeneralRef(_) => search.text("&"),
            Event::Eof => break,
            _ => {}
        }
    }
    search.finish(text.len())
}

/// An open element.
enum OpenElement {
    /// An instance, with its index in [`TerrainFinder::terrains`] if it is a Terrain.
    Item(Option<usize>),
    /// The properties of an instance.
    Properties(Option<usize>),
    /// An element whose text is captured.
    Captured(CapturedText),
    SharedStrings,
    Other,
}

enum CapturedText {
    Value(usize, TerrainProperty),
    /// The text is the hash of a shared string.
    Hash(usize, TerrainProperty),
    /// A shared string, by its hash.
    Shared(String),
}

struct TerrainFinder<'l> {
    limits: &'l ImportLimits,
    open_elements: Vec<OpenElement>,
    terrains: Vec<TerrainInstance>,
    /// Text of the captured element, and where that element starts.
    text: String,
    text_at: usize,
    /// Properties that are shared strings: Terrain, property, hash.
    hashes: Vec<(usize, TerrainProperty, String)>,
    classes: FxHashSet<String>,
    instances: u64,
    has_root: bool,
    /// Bytes of property values so far.
    kept_bytes: u64,
}

impl<'l> TerrainFinder<'l> {
    fn new(limits: &'l ImportLimits) -> TerrainFinder<'l> {
        TerrainFinder {
            limits,
            open_elements: Vec::new(),
            terrains: Vec::new(),
            text: String::new(),
            text_at: 0,
            hashes: Vec::new(),
            classes: FxHashSet::default(),
            instances: 0,
            has_root: false,
            kept_bytes: 0,
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<(), RobloxError> {
        let name = tag.name();
        let level = match (self.open_elements.last(), name.as_ref()) {
            (None, root) => {
                self.check_root(root, tag, offset)?;
                OpenElement::Other
            }
            (Some(OpenElement::Captured(_)), inner) => {
                let what = format!("an element {} inside a value", shortened(inner));
                return Err(RobloxError::damaged(FilePart::File, offset, what));
            }
            (Some(_), "Item") => self.item(attribute(tag, "class", offset)?),
            (Some(&OpenElement::Item(terrain)), "Properties") => OpenElement::Properties(terrain),
            (Some(&OpenElement::Properties(Some(terrain))), kind) => {
                let property = attribute(tag, "name", offset)?;
                self.property(terrain, kind, &property, offset)?
            }
            (Some(_), "SharedStrings") => OpenElement::SharedStrings,
            (Some(OpenElement::SharedStrings), "SharedString") => {
                let hash = attribute(tag, "md5", offset)?.into_owned();
                let is_needed = self.hashes.iter().any(|entry| entry.2 == hash);
                if is_needed {
                    OpenElement::Captured(CapturedText::Shared(hash))
                } else {
                    OpenElement::Other
                }
            }
            _ => OpenElement::Other,
        };
        if matches!(level, OpenElement::Captured(_)) {
            self.text.clear();
            self.text_at = offset;
        }
        self.open_elements.push(level);
        Ok(())
    }

    fn check_root(
        &mut self,
        root: &str,
        tag: &BytesStart<'_>,
        offset: usize,
    ) -> Result<(), RobloxError> {
        if root != "roblox" || self.has_root {
            let what = format!("the outermost element is {}, not one roblox", shortened(root));
            return Err(RobloxError::damaged(FilePart::File, offset, what));
        }
        self.has_root = true;
        let version = attribute(tag, "version", offset)?;
        if version != VERSION {
            let found = if version.is_empty() { "(none)".to_owned() } else { shortened(&version) };
            return Err(RobloxError::Version { part: FilePart::File, offset, found, known: 4 });
        }
        Ok(())
    }

    fn item(&mut self, class: Cow<'_, str>) -> OpenElement {
        self.instances += 1;
        let terrain = (class == "Terrain").then_some(self.terrains.len());
        if terrain.is_some() {
            self.terrains.push(TerrainInstance::default());
        }
        if !self.classes.contains(class.as_ref()) {
            self.classes.insert(class.into_owned());
        }
        OpenElement::Item(terrain)
    }

    fn property(
        &self,
        terrain: usize,
        kind: &str,
        name: &str,
        offset: usize,
    ) -> Result<OpenElement, RobloxError> {
        let Some(property) = TerrainProperty::named(name.as_bytes()) else {
            return Ok(OpenElement::Other);
        };
        match kind {
            "BinaryString" => Ok(OpenElement::Captured(CapturedText::Value(terrain, property))),
            "SharedString" => Ok(OpenElement::Captured(CapturedText::Hash(terrain, property))),
            other => {
                let what = format!("{name} is a {}, not a BinaryString", shortened(other));
                Err(RobloxError::damaged(FilePart::File, offset, what))
            }
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(OpenElement::Captured(_)) = self.open_elements.last() {
            self.text.extend(text.split_ascii_whitespace());
        }
    }

    fn close(&mut self) -> Result<(), RobloxError> {
        let Some(OpenElement::Captured(capture)) = self.open_elements.pop() else { return Ok(()) };
        match capture {
            CapturedText::Value(terrain, property) => {
                let value = self.decoded()?;
                self.keep(terrain, property, value)?;
            }
            CapturedText::Hash(terrain, property) => {
                self.hashes.push((terrain, property, std::mem::take(&mut self.text)));
            }
            CapturedText::Shared(hash) => {
                let value = self.decoded()?;
                let users: Vec<_> = self.hashes.extract_if(.., |entry| entry.2 == hash).collect();
                for (terrain, property, _) in users {
                    self.keep(terrain, property, value.clone())?;
                }
            }
        }
        Ok(())
    }

    fn keep(
        &mut self,
        terrain: usize,
        property: TerrainProperty,
        value: Vec<u8>,
    ) -> Result<(), RobloxError> {
        self.kept_bytes += value.len() as u64;
        if self.kept_bytes > self.limits.unpacked_bytes {
            return Err(RobloxError::TooLarge {
                part: FilePart::File,
                offset: self.text_at,
                what: "too many bytes of terrain",
                limit: self.limits.unpacked_bytes,
            });
        }
        self.terrains[terrain].set(property, value);
        Ok(())
    }

    /// The captured text's bytes.
    fn decoded(&self) -> Result<Vec<u8>, RobloxError> {
        BASE64.decode(&self.text).map_err(|error| {
            let what = format!("the value of the element here is not base64: {error}");
            RobloxError::damaged(FilePart::File, self.text_at, what)
        })
    }

    fn finish(self, end: usize) -> Result<RobloxFile, RobloxError> {
        if !self.has_root || !self.open_elements.is_empty() {
            let what = format!("the file ends with {} elements open", self.open_elements.len());
            return Err(RobloxError::damaged(FilePart::File, end, what));
        }
        if let Some((_, property, hash)) = self.hashes.first() {
            let what = format!(
                "{} names the shared string {}, which is not there",
                property.name(),
                shortened(hash)
            );
            return Err(RobloxError::damaged(FilePart::File, end, what));
        }
        Ok(RobloxFile {
            terrains: self.terrains,
            classes: self.classes.len() as u64,
            instances: self.instances,
        })
    }
}

/// An attribute's value; empty if there is none.
fn attribute<'t>(
    tag: &'t BytesStart<'_>,
    name: &str,
    offset: usize,
) -> Result<Cow<'t, str>, RobloxError> {
    match tag.try_get_attribute(name) {
        Ok(attribute) => Ok(attribute.map_or(Cow::Borrowed(""), |attribute| attribute.value)),
        Err(error) => {
            let what = format!("XML: {}", shortened(&error.to_string()));
            Err(RobloxError::damaged(FilePart::File, offset, what))
        }
    }
}

/// Text of a file for an error message.
fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// Writes a model, `.rbxmx`, that holds one Terrain with these properties.
pub(super) fn write(properties: &[(TerrainProperty, &[u8])]) -> Vec<u8> {
    let mut out = String::from(
        "<roblox version=\"4\">\n\t<Item class=\"Terrain\" referent=\"RBX0\">\n\t\t<Properties>\n",
    );
    out.push_str("\t\t\t<string name=\"Name\">Terrain</string>\n");
    for (property, value) in properties {
        out.push_str(&format!("\t\t\t<BinaryString name=\"{}\"><![CDATA[", property.name()));
        let encoded = BASE64.encode(value);
        for (i, line) in encoded.as_bytes().chunks(BASE64_LINE_CHARS).enumerate() {
            if i > 0 {
                out.push('\n');
            }
            out.extend(line.iter().map(|&c| char::from(c)));
        }
        out.push_str("]]></BinaryString>\n");
    }
    out.push_str("\t\t</Properties>\n\t</Item>\n</roblox>\n");
    out.into_bytes()
}
