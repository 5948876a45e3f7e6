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
//! end of the file. Elements are pulled from the text one by one and only the values needed are
//! kept, so memory is bounded by the length of the file.
//!
//! Source: rbx-dom's `docs/xml.md` and real files.

use super::error::{FilePart, RobloxError};
use super::limits::ImportLimits;
use super::terrain_instance::{RobloxFile, TerrainInstance, TerrainProperty};
use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// The version attribute of all current files.
const VERSION: u32 = 4;
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
    // Only names and scripts may hold invalid UTF-8, and neither is needed.
    let text = String::from_utf8_lossy(bytes);
    let mut finder = XmlTerrainFinder::new(limits);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().allow_dangling_amp = true;
    loop {
        let offset = reader.buffer_position() as usize;
        let event = reader.read_event().map_err(|error| {
            let what = format!("XML: {}", printable(&error.to_string()));
            RobloxError::damaged(FilePart::File, reader.error_position() as usize, what)
        })?;
        match event {
            Event::Start(tag) => finder.open_element(&tag, offset)?,
            Event::Empty(tag) => {
                finder.open_element(&tag, offset)?;
                finder.close_element()?;
            }
            Event::End(_) => finder.close_element()?,
            Event::Text(text) => finder.add_text(&text),
            Event::CData(text) => finder.add_text(&text),
            Event::GeneralRef(_) => finder.add_text("&"),
            Event::Eof => break,
            _ => {}
        }
    }
    finder.finish(text.len())
}

/// An open element.
enum OpenElement {
    /// An instance, with its index in [`XmlTerrainFinder::terrains`] if it is a Terrain.
    Item(Option<usize>),
    /// The properties of an instance.
    Properties(Option<usize>),
    /// An element whose text is captured.
    Captured(CapturedText),
    SharedStrings,
    Other,
}

/// What the captured text is.
enum CapturedText {
    /// The value of a property, in base64.
    Value(PropertySlot),
    /// The hash of the shared string that is the value of a property.
    Hash(PropertySlot),
    /// A shared string, in base64.
    SharedString {
        /// Its hash.
        hash: String,
    },
}

/// A property of one of the Terrains.
#[derive(Clone, Copy)]
struct PropertySlot {
    /// Index in [`XmlTerrainFinder::terrains`].
    terrain: usize,
    property: TerrainProperty,
}

/// A property whose value is a shared string.
struct SharedProperty {
    slot: PropertySlot,
    /// Hash of the shared string.
    hash: String,
}

/// Collects the Terrains of a file, element by element.
struct XmlTerrainFinder<'l> {
    limits: &'l ImportLimits,
    open_elements: Vec<OpenElement>,
    terrains: Vec<TerrainInstance>,
    /// Text of the captured element.
    text: String,
    /// Offset of the captured element.
    text_offset: usize,
    /// Properties whose shared string has not been read yet.
    shared: Vec<SharedProperty>,
    classes: FxHashSet<String>,
    instances: u64,
    has_root: bool,
    /// Bytes of all property values so far.
    value_bytes: u64,
}

impl<'l> XmlTerrainFinder<'l> {
    fn new(limits: &'l ImportLimits) -> XmlTerrainFinder<'l> {
        XmlTerrainFinder {
            limits,
            open_elements: Vec::new(),
            terrains: Vec::new(),
            text: String::new(),
            text_offset: 0,
            shared: Vec::new(),
            classes: FxHashSet::default(),
            instances: 0,
            has_root: false,
            value_bytes: 0,
        }
    }

    fn open_element(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<(), RobloxError> {
        let name = tag.name();
        let element = match (self.open_elements.last(), name.as_ref()) {
            (None, root) => {
                self.check_root(root, tag, offset)?;
                OpenElement::Other
            }
            (Some(OpenElement::Captured(_)), inner) => {
                let what = format!("an element {} inside a value", printable(inner));
                return Err(RobloxError::damaged(FilePart::File, offset, what));
            }
            (Some(_), "Item") => self.start_item(attribute(tag, "class", offset)?),
            (Some(&OpenElement::Item(terrain)), "Properties") => OpenElement::Properties(terrain),
            (Some(&OpenElement::Properties(Some(terrain))), kind) => {
                let property = attribute(tag, "name", offset)?;
                start_property(terrain, kind, &property, offset)?
            }
            (Some(_), "SharedStrings") => OpenElement::SharedStrings,
            (Some(OpenElement::SharedStrings), "SharedString") => {
                let hash = attribute(tag, "md5", offset)?.into_owned();
                let is_needed = self.shared.iter().any(|shared| shared.hash == hash);
                if is_needed {
                    OpenElement::Captured(CapturedText::SharedString { hash })
                } else {
                    OpenElement::Other
                }
            }
            _ => OpenElement::Other,
        };
        if matches!(element, OpenElement::Captured(_)) {
            self.text.clear();
            self.text_offset = offset;
        }
        self.open_elements.push(element);
        Ok(())
    }

    fn check_root(
        &mut self,
        root: &str,
        tag: &BytesStart<'_>,
        offset: usize,
    ) -> Result<(), RobloxError> {
        if self.has_root || root != "roblox" {
            let root = printable(root);
            let what = match self.has_root {
                true => format!("a second root element, {root}"),
                false => format!("the root element is {root}, not roblox"),
            };
            return Err(RobloxError::damaged(FilePart::File, offset, what));
        }
        self.has_root = true;
        let version = attribute(tag, "version", offset)?;
        if version != VERSION.to_string() {
            let found = if version.is_empty() { "(none)".to_owned() } else { printable(&version) };
            return Err(RobloxError::Version {
                part: FilePart::File,
                offset,
                found,
                known: VERSION,
            });
        }
        Ok(())
    }

    fn start_item(&mut self, class: Cow<'_, str>) -> OpenElement {
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

    /// Appends to the captured text, without white space.
    fn add_text(&mut self, text: &str) {
        if let Some(OpenElement::Captured(_)) = self.open_elements.last() {
            self.text.extend(text.split_ascii_whitespace());
        }
    }

    fn close_element(&mut self) -> Result<(), RobloxError> {
        let Some(OpenElement::Captured(capture)) = self.open_elements.pop() else { return Ok(()) };
        match capture {
            CapturedText::Value(slot) => {
                let value = self.decode_text()?;
                self.set_value(slot, value)?;
            }
            CapturedText::Hash(slot) => {
                let hash = std::mem::take(&mut self.text);
                self.shared.push(SharedProperty { slot, hash });
            }
            CapturedText::SharedString { hash } => {
                let value = self.decode_text()?;
                let users = self.shared.extract_if(.., |shared| shared.hash == hash);
                for user in users.collect::<Vec<_>>() {
                    self.set_value(user.slot, value.clone())?;
                }
            }
        }
        Ok(())
    }

    /// Sets the value of a property, within the limit of all values.
    fn set_value(&mut self, slot: PropertySlot, value: Vec<u8>) -> Result<(), RobloxError> {
        self.value_bytes += value.len() as u64;
        if self.value_bytes > self.limits.unpacked_bytes {
            return Err(RobloxError::TooLarge {
                part: FilePart::File,
                offset: self.text_offset,
                what: "too many bytes of terrain",
                limit: self.limits.unpacked_bytes,
            });
        }
        self.terrains[slot.terrain].set(slot.property, value);
        Ok(())
    }

    /// Decodes the captured text.
    fn decode_text(&self) -> Result<Vec<u8>, RobloxError> {
        BASE64.decode(&self.text).map_err(|error| {
            let what = format!("the value of this element is not base64: {error}");
            RobloxError::damaged(FilePart::File, self.text_offset, what)
        })
    }

    fn finish(self, end: usize) -> Result<RobloxFile, RobloxError> {
        if !self.has_root || !self.open_elements.is_empty() {
            let what = format!("the file ends with {} elements open", self.open_elements.len());
            return Err(RobloxError::damaged(FilePart::File, end, what));
        }
        if let Some(SharedProperty { slot, hash }) = self.shared.first() {
            let what = format!(
                "{} names the shared string {}, which is not in the file",
                slot.property.name(),
                printable(hash)
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

/// Returns how to read a property of a Terrain.
fn start_property(
    terrain: usize,
    kind: &str,
    name: &str,
    offset: usize,
) -> Result<OpenElement, RobloxError> {
    let Some(property) = TerrainProperty::from_name(name.as_bytes()) else {
        return Ok(OpenElement::Other);
    };
    let slot = PropertySlot { terrain, property };
    match kind {
        "BinaryString" => Ok(OpenElement::Captured(CapturedText::Value(slot))),
        "SharedString" => Ok(OpenElement::Captured(CapturedText::Hash(slot))),
        other => {
            let what = format!("{name} is of type {}, not BinaryString", printable(other));
            Err(RobloxError::damaged(FilePart::File, offset, what))
        }
    }
}

/// Returns the value of an attribute; empty if the element does not have it.
fn attribute<'t>(
    tag: &'t BytesStart<'_>,
    name: &str,
    offset: usize,
) -> Result<Cow<'t, str>, RobloxError> {
    match tag.try_get_attribute(name) {
        Ok(attribute) => Ok(attribute.map_or(Cow::Borrowed(""), |attribute| attribute.value)),
        Err(error) => {
            let what = format!("XML: {}", printable(&error.to_string()));
            Err(RobloxError::damaged(FilePart::File, offset, what))
        }
    }
}

/// Shortens text from a file to one printable line, for an error message.
fn printable(text: &str) -> String {
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
