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

use super::place::{Place, Terrain, Wanted};
use super::{FilePart, Limits, RobloxError};
use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// The version attribute of all files of today.
const VERSION: &str = "4";
/// Characters in a line of base64.
const LINE: usize = 72;

/// Some writers leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Finds all Terrain instances, in the order of the file.
pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Place, RobloxError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    // A name or script that is not UTF-8 is none of our business.
    let text = String::from_utf8_lossy(bytes);
    let mut search = Search::new(limits);
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

/// An element that is open.
enum Level {
    /// An instance, with its place in [`Search::terrains`] if it is a Terrain.
    Item(Option<usize>),
    /// The properties of an instance.
    Properties(Option<usize>),
    /// An element whose text is gathered.
    Captured(Capture),
    SharedStrings,
    Other,
}

enum Capture {
    Value(usize, Wanted),
    /// The text is the hash of a shared string.
    Hash(usize, Wanted),
    /// A shared string, by its hash.
    Shared(String),
}

struct Search<'l> {
    limits: &'l Limits,
    levels: Vec<Level>,
    terrains: Vec<Terrain>,
    /// Text of the captured element, and where that element starts.
    text: String,
    text_at: usize,
    /// Properties that are shared strings: Terrain, property, hash.
    hashes: Vec<(usize, Wanted, String)>,
    classes: FxHashSet<String>,
    instances: u64,
    rooted: bool,
    /// Bytes of values kept.
    kept: u64,
}

impl<'l> Search<'l> {
    fn new(limits: &'l Limits) -> Search<'l> {
        Search {
            limits,
            levels: Vec::new(),
            terrains: Vec::new(),
            text: String::new(),
            text_at: 0,
            hashes: Vec::new(),
            classes: FxHashSet::default(),
            instances: 0,
            rooted: false,
            kept: 0,
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<(), RobloxError> {
        let name = tag.name();
        let level = match (self.levels.last(), name.as_ref()) {
            (None, root) => {
                self.check_root(root, tag, offset)?;
                Level::Other
            }
            (Some(Level::Captured(_)), inner) => {
                let what = format!("an element {} inside a value", shortened(inner));
                return Err(RobloxError::damaged(FilePart::File, offset, what));
            }
            (Some(_), "Item") => self.item(attribute(tag, "class", offset)?),
            (Some(&Level::Item(terrain)), "Properties") => Level::Properties(terrain),
            (Some(&Level::Properties(Some(terrain))), kind) => {
                let property = attribute(tag, "name", offset)?;
                self.property(terrain, kind, &property, offset)?
            }
            (Some(_), "SharedStrings") => Level::SharedStrings,
            (Some(Level::SharedStrings), "SharedString") => {
                let hash = attribute(tag, "md5", offset)?.into_owned();
                let wanted = self.hashes.iter().any(|entry| entry.2 == hash);
                if wanted { Level::Captured(Capture::Shared(hash)) } else { Level::Other }
            }
            _ => Level::Other,
        };
        if matches!(level, Level::Captured(_)) {
            self.text.clear();
            self.text_at = offset;
        }
        self.levels.push(level);
        Ok(())
    }

    fn check_root(
        &mut self,
        root: &str,
        tag: &BytesStart<'_>,
        offset: usize,
    ) -> Result<(), RobloxError> {
        if root != "roblox" || self.rooted {
            let what = format!("the outermost element is {}, not one roblox", shortened(root));
            return Err(RobloxError::damaged(FilePart::File, offset, what));
        }
        self.rooted = true;
        let version = attribute(tag, "version", offset)?;
        if version != VERSION {
            let found = if version.is_empty() { "(none)".to_owned() } else { shortened(&version) };
            return Err(RobloxError::Version { part: FilePart::File, offset, found, known: 4 });
        }
        Ok(())
    }

    fn item(&mut self, class: Cow<'_, str>) -> Level {
        self.instances += 1;
        let terrain = (class == "Terrain").then_some(self.terrains.len());
        if terrain.is_some() {
            self.terrains.push(Terrain::default());
        }
        if !self.classes.contains(class.as_ref()) {
            self.classes.insert(class.into_owned());
        }
        Level::Item(terrain)
    }

    fn property(
        &self,
        terrain: usize,
        kind: &str,
        name: &str,
        offset: usize,
    ) -> Result<Level, RobloxError> {
        let Some(wanted) = Wanted::named(name.as_bytes()) else { return Ok(Level::Other) };
        match kind {
            "BinaryString" => Ok(Level::Captured(Capture::Value(terrain, wanted))),
            "SharedString" => Ok(Level::Captured(Capture::Hash(terrain, wanted))),
            other => {
                let what = format!("{name} is a {}, not a BinaryString", shortened(other));
                Err(RobloxError::damaged(FilePart::File, offset, what))
            }
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(Level::Captured(_)) = self.levels.last() {
            self.text.extend(text.split_ascii_whitespace());
        }
    }

    fn close(&mut self) -> Result<(), RobloxError> {
        let Some(Level::Captured(capture)) = self.levels.pop() else { return Ok(()) };
        match capture {
            Capture::Value(terrain, wanted) => {
                let value = self.decoded()?;
                self.keep(terrain, wanted, value)?;
            }
            Capture::Hash(terrain, wanted) => {
                self.hashes.push((terrain, wanted, std::mem::take(&mut self.text)));
            }
            Capture::Shared(hash) => {
                let value = self.decoded()?;
                let users: Vec<_> = self.hashes.extract_if(.., |entry| entry.2 == hash).collect();
                for (terrain, wanted, _) in users {
                    self.keep(terrain, wanted, value.clone())?;
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, terrain: usize, wanted: Wanted, value: Vec<u8>) -> Result<(), RobloxError> {
        self.kept += value.len() as u64;
        if self.kept > self.limits.unpacked_bytes {
            return Err(RobloxError::TooLarge {
                part: FilePart::File,
                offset: self.text_at,
                what: "too many bytes of terrain",
                limit: self.limits.unpacked_bytes,
            });
        }
        self.terrains[terrain].set(wanted, value);
        Ok(())
    }

    /// The captured text's bytes.
    fn decoded(&self) -> Result<Vec<u8>, RobloxError> {
        BASE64.decode(&self.text).map_err(|error| {
            let what = format!("the value of the element here is not base64: {error}");
            RobloxError::damaged(FilePart::File, self.text_at, what)
        })
    }

    fn finish(self, end: usize) -> Result<Place, RobloxError> {
        if !self.rooted || !self.levels.is_empty() {
            let what = format!("the file ends with {} elements open", self.levels.len());
            return Err(RobloxError::damaged(FilePart::File, end, what));
        }
        if let Some((_, wanted, hash)) = self.hashes.first() {
            let what = format!(
                "{} names the shared string {}, which is not there",
                wanted.name(),
                shortened(hash)
            );
            return Err(RobloxError::damaged(FilePart::File, end, what));
        }
        Ok(Place {
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

/// A model, `.rbxmx`, that holds one Terrain with these properties.
pub(super) fn write(properties: &[(Wanted, &[u8])]) -> Vec<u8> {
    let mut out = String::from(
        "<roblox version=\"4\">\n\t<Item class=\"Terrain\" referent=\"RBX0\">\n\t\t<Properties>\n",
    );
    out.push_str("\t\t\t<string name=\"Name\">Terrain</string>\n");
    for (wanted, value) in properties {
        out.push_str(&format!("\t\t\t<BinaryString name=\"{}\"><![CDATA[", wanted.name()));
        let encoded = BASE64.encode(value);
        for (i, line) in encoded.as_bytes().chunks(LINE).enumerate() {
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
