//! The XML container, `.rbxmx` and `.rbxlx`: finds the Terrain in a model or place, replaces
//! its voxels, and writes a model that holds one.
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
use super::smooth_grid::has_chunks;
use super::terrain_instance::{RobloxFile, SkippedParts, TerrainProperty, TerrainValues};
use crate::import_budget::{BudgetError, ImportBudget};
use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// The version attribute of all current files.
const VERSION: u32 = 4;
/// Characters in a line of base64.
const BASE64_LINE_CHARS: usize = 72;
/// Units of work of a byte of text.
const TEXT_WORK: u64 = 16;
/// Units of work of an element.
const ELEMENT_WORK: u64 = 256;
/// Memory of a Terrain, a property or a class, with its entries in lists.
const ENTRY_BYTES: u64 = 128;

/// Some writers omit the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Finds the Terrain to import: the first that has chunks, else the first.
pub(super) fn read(
    bytes: &[u8],
    budget: &mut ImportBudget,
) -> Result<RobloxFile<'static>, RobloxError> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let text = valid_text(bytes, budget).map_err(over_budget(0))?;
    scan(&text, budget)?.finish()
}

/// Returns the file with another SmoothGrid in the Terrain that an import takes. All else stays as
/// it is, byte for byte.
pub(super) fn replace(
    bytes: &[u8],
    budget: &mut ImportBudget,
    smooth_grid: &[u8],
) -> Result<Vec<u8>, RobloxError> {
    let (mark, text) = bytes.split_at(if bytes.starts_with(BYTE_ORDER_MARK) { 3 } else { 0 });
    let readable = valid_text(text, budget).map_err(over_budget(0))?;
    let range = scan(&readable, budget)?.range_of_smooth_grid(readable.len())?;
    let [start, end] = [range.start, range.end].map(|offset| byte_offset(text, offset));
    let mut out = [mark, &text[..start]].concat();
    push_value(&mut out, TerrainProperty::SmoothGrid, smooth_grid);
    out.extend(&text[end..]);
    Ok(out)
}

/// Returns the offset in a file of an offset in its [`valid_text`].
fn byte_offset(bytes: &[u8], text_offset: usize) -> usize {
    let (mut at, mut text_at) = (0, 0);
    for part in bytes.utf8_chunks() {
        if text_offset <= text_at + part.valid().len() {
            break;
        }
        at += part.valid().len() + part.invalid().len();
        text_at += part.valid().len();
        text_at +=
            if part.invalid().is_empty() { 0 } else { char::REPLACEMENT_CHARACTER.len_utf8() };
    }
    at + text_offset - text_at
}

/// Collects the Terrains of a file.
fn scan<'b>(text: &str, budget: &'b mut ImportBudget) -> Result<XmlTerrainFinder<'b>, RobloxError> {
    let mut finder = XmlTerrainFinder::new(budget);
    let mut reader = Reader::from_str(text);
    reader.config_mut().allow_dangling_amp = true;
    loop {
        let offset = reader.buffer_position() as usize;
        let event = reader.read_event().map_err(|error| {
            let what = format!("XML: {}", printable(&error.to_string()));
            RobloxError::damaged(FilePart::File, reader.error_position() as usize, what)
        })?;
        let end = reader.buffer_position() as usize;
        match event {
            Event::Start(tag) => finder.open_element(&tag, offset)?,
            Event::Empty(tag) => {
                finder.open_element(&tag, offset)?;
                finder.close_element(end..end)?;
            }
            Event::End(_) => finder.close_element(offset..end)?,
            Event::Text(text) => finder.add_text(&text)?,
            Event::CData(text) => finder.add_text(&text)?,
            Event::GeneralRef(_) => finder.add_text("&")?,
            Event::Eof => break,
            _ => {}
        }
    }
    finder.check_whole(text.len())?;
    Ok(finder)
}

/// Returns the text of a file. Only names and scripts may hold invalid UTF-8, and neither is
/// needed.
fn valid_text<'b>(bytes: &'b [u8], budget: &mut ImportBudget) -> Result<Cow<'b, str>, BudgetError> {
    let length = bytes.len() as u64;
    budget.spend_work("its text", TEXT_WORK * length)?;
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Cow::Borrowed(text));
    }
    // Each invalid byte becomes a character of three.
    budget.spend_memory("its text", 3 * length)?;
    Ok(String::from_utf8_lossy(bytes))
}

/// For `map_err`: what lies at `offset` exceeds the budget.
fn over_budget(offset: usize) -> impl Fn(BudgetError) -> RobloxError {
    move |error| RobloxError::OverBudget { part: FilePart::File, offset, error }
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
#[derive(Clone, Copy)]
enum CapturedText {
    /// The value of a property, in base64.
    Value(PropertySlot),
    /// The hash of the shared string that is the value of a property.
    Hash(PropertySlot),
    /// A shared string, in base64, by its index in [`XmlTerrainFinder::shared`].
    SharedString(usize),
}

/// A property of one of the Terrains.
#[derive(Clone, Copy)]
struct PropertySlot {
    /// Index in [`XmlTerrainFinder::terrains`].
    terrain: usize,
    property: TerrainProperty,
}

/// The properties of a Terrain.
#[derive(Clone, Copy, Default)]
struct XmlTerrain {
    smooth_grid: Option<XmlValue>,
    colours: Option<XmlValue>,
    /// Offsets of the SmoothGrid's element and of the end of the properties.
    smooth_grid_element: Option<(usize, usize)>,
    properties_end: Option<usize>,
}

/// Where the value of a property is.
#[derive(Clone, Copy)]
enum XmlValue {
    /// Index in [`XmlTerrainFinder::values`].
    Own(usize),
    /// Index in [`XmlTerrainFinder::shared`].
    Shared(usize),
}

/// A shared string that a Terrain uses.
struct SharedValue {
    /// The first property that uses it.
    user: TerrainProperty,
    /// Index in [`XmlTerrainFinder::values`], once it has been read.
    value: Option<usize>,
}

/// Collects the Terrains of a file, element by element.
struct XmlTerrainFinder<'b> {
    budget: &'b mut ImportBudget,
    open_elements: Vec<OpenElement>,
    terrains: Vec<XmlTerrain>,
    /// Decoded values. Terrains that share one do not copy it.
    values: Vec<Vec<u8>>,
    shared: Vec<SharedValue>,
    /// Indices in `shared`. Hashes come from the file, so the map's is keyed.
    shared_by_hash: HashMap<String, usize>,
    /// Text of the captured element.
    text: String,
    /// Offset of the captured element.
    text_offset: usize,
    /// Keyed hashes of the names of classes, only to count them.
    classes: HashSet<u64>,
    class_hasher: RandomState,
    instances: u64,
    has_root: bool,
}

impl<'b> XmlTerrainFinder<'b> {
    fn new(budget: &'b mut ImportBudget) -> XmlTerrainFinder<'b> {
        XmlTerrainFinder {
            budget,
            open_elements: Vec::new(),
            terrains: Vec::new(),
            values: Vec::new(),
            shared: Vec::new(),
            shared_by_hash: HashMap::new(),
            text: String::new(),
            text_offset: 0,
            classes: HashSet::new(),
            class_hasher: RandomState::new(),
            instances: 0,
            has_root: false,
        }
    }

    fn open_element(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<(), RobloxError> {
        self.budget.spend_work("its elements", ELEMENT_WORK).map_err(over_budget(offset))?;
        let depth = self.open_elements.len() + 1;
        self.budget.reach_depth("elements", depth).map_err(over_budget(offset))?;
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
            (Some(_), "Item") => self.start_item(&attribute(tag, "class", offset)?, offset)?,
            (Some(&OpenElement::Item(terrain)), "Properties") => OpenElement::Properties(terrain),
            (Some(&OpenElement::Properties(Some(terrain))), kind) => {
                let property = attribute(tag, "name", offset)?;
                start_property(terrain, kind, &property, offset)?
            }
            (Some(_), "SharedStrings") => OpenElement::SharedStrings,
            (Some(OpenElement::SharedStrings), "SharedString") => {
                let hash = attribute(tag, "md5", offset)?;
                let needed = self.shared_by_hash.get(hash.as_ref());
                match needed.filter(|&&index| self.shared[index].value.is_none()) {
                    Some(&index) => OpenElement::Captured(CapturedText::SharedString(index)),
                    None => OpenElement::Other,
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

    fn start_item(&mut self, class: &str, offset: usize) -> Result<OpenElement, RobloxError> {
        self.instances += 1;
        let is_new_class = self.classes.insert(self.class_hasher.hash_one(class));
        let terrain = (class == "Terrain").then_some(self.terrains.len());
        if is_new_class || terrain.is_some() {
            self.budget.spend_memory("its instances", ENTRY_BYTES).map_err(over_budget(offset))?;
        }
        if terrain.is_some() {
            self.terrains.push(XmlTerrain::default());
        }
        Ok(OpenElement::Item(terrain))
    }

    /// Appends to the captured text, without white space.
    fn add_text(&mut self, text: &str) -> Result<(), RobloxError> {
        if let Some(OpenElement::Captured(_)) = self.open_elements.last() {
            // A string may take twice its length, and what it decodes to takes less.
            let memory = self.budget.spend_memory("a value", 3 * text.len() as u64);
            memory.map_err(over_budget(self.text_offset))?;
            self.text.extend(text.split_ascii_whitespace());
        }
        Ok(())
    }

    /// Closes the innermost element, whose closing tag is at `tag`: empty behind an empty element.
    fn close_element(&mut self, tag: Range<usize>) -> Result<(), RobloxError> {
        let capture = match self.open_elements.pop() {
            Some(OpenElement::Captured(capture)) => capture,
            Some(OpenElement::Properties(Some(terrain))) if !tag.is_empty() => {
                self.terrains[terrain].properties_end = Some(tag.start);
                return Ok(());
            }
            _ => return Ok(()),
        };
        if let CapturedText::Value(slot) | CapturedText::Hash(slot) = capture
            && slot.property == TerrainProperty::SmoothGrid
        {
            self.terrains[slot.terrain].smooth_grid_element = Some((self.text_offset, tag.end));
        }
        let memory = self.budget.spend_memory("its properties", ENTRY_BYTES);
        memory.map_err(over_budget(self.text_offset))?;
        match capture {
            CapturedText::Value(slot) => {
                let value = self.decode_text()?;
                self.set(slot, XmlValue::Own(value));
            }
            CapturedText::Hash(slot) => {
                let hash = std::mem::take(&mut self.text);
                let next = self.shared.len();
                let index = *self.shared_by_hash.entry(hash).or_insert(next);
                if index == next {
                    self.shared.push(SharedValue { user: slot.property, value: None });
                }
                self.set(slot, XmlValue::Shared(index));
            }
            CapturedText::SharedString(index) => {
                let value = self.decode_text()?;
                self.shared[index].value = Some(value);
            }
        }
        Ok(())
    }

    fn set(&mut self, slot: PropertySlot, value: XmlValue) {
        let terrain = &mut self.terrains[slot.terrain];
        match slot.property {
            TerrainProperty::SmoothGrid => terrain.smooth_grid = Some(value),
            TerrainProperty::MaterialColors => terrain.colours = Some(value),
        }
    }

    /// Decodes the captured text; returns the index of the value.
    fn decode_text(&mut self) -> Result<usize, RobloxError> {
        let value = BASE64.decode(&self.text).map_err(|error| {
            let what = format!("the value of this element is not base64: {error}");
            RobloxError::damaged(FilePart::File, self.text_offset, what)
        })?;
        self.values.push(value);
        Ok(self.values.len() - 1)
    }

    /// Returns the index of a value in [`Self::values`].
    fn index_of(&self, value: Option<XmlValue>) -> Option<usize> {
        match value? {
            XmlValue::Own(index) => Some(index),
            XmlValue::Shared(index) => self.shared[index].value,
        }
    }

    /// Refuses files that are cut short or lack a shared string.
    fn check_whole(&self, end: usize) -> Result<(), RobloxError> {
        if !self.has_root || !self.open_elements.is_empty() {
            let what = format!("the file ends with {} elements open", self.open_elements.len());
            return Err(RobloxError::damaged(FilePart::File, end, what));
        }
        if let Some(missing) = self.shared.iter().position(|shared| shared.value.is_none()) {
            let hash = self.shared_by_hash.iter().find(|(_, index)| **index == missing);
            let what = format!(
                "{} names the shared string {}, which is not in the file",
                self.shared[missing].user.name(),
                printable(hash.map_or("", |(hash, _)| hash))
            );
            return Err(RobloxError::damaged(FilePart::File, end, what));
        }
        Ok(())
    }

    fn lists_chunks(&self, terrain: &XmlTerrain) -> bool {
        let index = self.index_of(terrain.smooth_grid);
        index.is_some_and(|index| has_chunks(&self.values[index]))
    }

    /// Returns the Terrain to import.
    fn found(&self) -> Option<XmlTerrain> {
        let with_chunks = self.terrains.iter().find(|terrain| self.lists_chunks(terrain));
        with_chunks.or(self.terrains.first()).copied()
    }

    /// Returns where the element of the SmoothGrid is or may be inserted.
    fn range_of_smooth_grid(&self, end: usize) -> Result<Range<usize>, RobloxError> {
        let Some(found) = self.found() else {
            let (instances, classes) = (self.instances, self.classes.len() as u64);
            return Err(RobloxError::NoTerrain { instances, classes });
        };
        let element = found.smooth_grid_element.map(|(start, end)| start..end);
        let range = element.or(found.properties_end.map(|end| end..end));
        range.ok_or_else(|| {
            let what = "its Terrain has no property, not even a name";
            RobloxError::damaged(FilePart::File, end, what)
        })
    }

    fn finish(mut self) -> Result<RobloxFile<'static>, RobloxError> {
        let lists_chunks = |terrain: &&XmlTerrain| self.lists_chunks(terrain);
        let terrains_with_chunks = self.terrains.iter().filter(lists_chunks).count() as u64;
        let found = self.found();
        let terrain = found.map(|terrain| {
            let indices = [terrain.colours, terrain.smooth_grid].map(|value| self.index_of(value));
            // Both may be the same shared string.
            let colours = indices[0].map(|index| self.values[index].clone());
            let smooth_grid = indices[1].map(|index| std::mem::take(&mut self.values[index]));
            TerrainValues { smooth_grid: smooth_grid.unwrap_or_default().into(), colours }
        });
        Ok(RobloxFile {
            terrain,
            terrains_with_chunks,
            classes: self.classes.len() as u64,
            instances: self.instances,
            skipped: SkippedParts::default(),
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

/// Returns the value of an attribute, with references such as `&#71;` resolved; empty if the
/// element does not have it. One with an unknown reference, which some writers leave in names,
/// stays as it is.
fn attribute<'t>(
    tag: &'t BytesStart<'_>,
    name: &str,
    offset: usize,
) -> Result<Cow<'t, str>, RobloxError> {
    match tag.try_get_attribute(name) {
        Ok(None) => Ok(Cow::Borrowed("")),
        Ok(Some(attribute)) => Ok(match attribute.value {
            Cow::Borrowed(raw) => unescape(raw).unwrap_or(Cow::Borrowed(raw)),
            Cow::Owned(raw) => Cow::Owned(unescape(&raw).map(Cow::into_owned).unwrap_or(raw)),
        }),
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
    let mut out = out.into_bytes();
    for (property, value) in properties {
        out.extend(b"\t\t\t");
        push_value(&mut out, *property, value);
        out.push(b'\n');
    }
    out.extend(b"\t\t</Properties>\n\t</Item>\n</roblox>\n");
    out
}

/// Writes the element of a property.
fn push_value(out: &mut Vec<u8>, property: TerrainProperty, value: &[u8]) {
    out.extend(format!("<BinaryString name=\"{}\"><![CDATA[", property.name()).bytes());
    for (i, line) in BASE64.encode(value).as_bytes().chunks(BASE64_LINE_CHARS).enumerate() {
        if i > 0 {
            out.push(b'\n');
        }
        out.extend(line);
    }
    out.extend(b"]]></BinaryString>");
}
