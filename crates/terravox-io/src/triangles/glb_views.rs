//! The arrays of a binary glTF file: accessors of views of its single buffer.

use super::error::{MeshError, shown};
use serde_json::Value;

/// The JSON of a file, and its data.
pub(super) struct GlbFile<'a> {
    pub json: &'a Value,
    pub data: &'a [u8],
}

/// The type of the numbers of an accessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GlbScalar {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

/// An array of numbers or vectors.
#[derive(Debug)]
pub(super) struct GlbArray<'a> {
    /// Starts at the first number of the first element.
    bytes: &'a [u8],
    stride: usize,
    pub count: usize,
    scalar: GlbScalar,
    is_normalised: bool,
}

impl<'a> GlbFile<'a> {
    /// Returns an entry of a list.
    pub fn entry(&self, list: &str, number: u64) -> Result<&'a Value, MeshError> {
        let place = usize::try_from(number).ok();
        let entry = place.and_then(|place| self.json[list].as_array()?.get(place));
        entry.ok_or_else(|| MeshError::Damaged {
            location: "its JSON".to_owned(),
            what: format!("entry {number} of {list} is missing"),
        })
    }

    /// Returns an entry of a list by its number in the JSON.
    fn referenced(&self, list: &str, number: &Value) -> Result<&'a Value, MeshError> {
        match number.as_u64() {
            Some(number) => self.entry(list, number),
            None => Err(MeshError::Damaged {
                location: "its JSON".to_owned(),
                what: format!(
                    "{} is not a valid index into {list}",
                    shown(number.to_string().as_bytes())
                ),
            }),
        }
    }

    /// Returns the array of an accessor, with `width` numbers per element; errors name `location`.
    pub fn accessor(
        &self,
        location: &str,
        number: &Value,
        width: usize,
    ) -> Result<GlbArray<'a>, MeshError> {
        let damaged = |what: String| MeshError::Damaged { location: location.to_owned(), what };
        let unsupported =
            |what: &str| MeshError::Unsupported { what: format!("{location}: {what}") };
        let whole = |value: &Value, name: &str| -> Result<usize, MeshError> {
            let number = if value.is_null() { Some(0) } else { value.as_u64() };
            let number = number.and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(|| damaged(format!("{name} is not a count")))
        };
        let accessor = self.referenced("accessors", number)?;
        if accessor.get("sparse").is_some() || accessor.get("bufferView").is_none() {
            let what = "sparse and empty accessors are not supported; export it without them";
            return Err(unsupported(what));
        }
        let view = self.referenced("bufferViews", &accessor["bufferView"])?;
        if whole(&view["buffer"], "a buffer")? != 0 || self.json["buffers"][0].get("uri").is_some()
        {
            return Err(unsupported("its data is in another file; export it as one .glb"));
        }
        let scalar = match accessor["componentType"].as_u64() {
            Some(5120) => GlbScalar::I8,
            Some(5121) => GlbScalar::U8,
            Some(5122) => GlbScalar::I16,
            Some(5123) => GlbScalar::U16,
            Some(5125) => GlbScalar::U32,
            Some(5126) => GlbScalar::F32,
            _ => return Err(damaged("the type of an accessor is unknown".to_owned())),
        };
        let kind = if width == 1 { "SCALAR" } else { "VEC3" };
        let is_index = matches!(scalar, GlbScalar::U8 | GlbScalar::U16 | GlbScalar::U32);
        if accessor["type"] != kind || (width == 1 && !is_index) {
            let what = format!("an accessor is not of type {kind}, or not of numbers for it");
            return Err(damaged(what));
        }
        let count = whole(&accessor["count"], "the count of an accessor")?;
        let start = whole(&view["byteOffset"], "an offset")?;
        let length = whole(&view["byteLength"], "a length")?;
        let view_bytes = part(self.data, start, length).map_err(damaged)?;
        let offset = whole(&accessor["byteOffset"], "an offset")?;
        let element = width * scalar.bytes();
        let stride = match whole(&view["byteStride"], "a stride")? {
            0 => element,
            stride if stride >= element => stride,
            stride => {
                return Err(damaged(format!("a stride of {stride} is shorter than an element")));
            }
        };
        let all = count.saturating_sub(1).checked_mul(stride).and_then(|v| v.checked_add(element));
        let all = if count == 0 { 0 } else { all.unwrap_or(usize::MAX) };
        let bytes = part(view_bytes, offset, all).map_err(damaged)?;
        let is_normalised = is_normalised(accessor, scalar, width).map_err(damaged)?;
        Ok(GlbArray { bytes, stride, count, scalar, is_normalised })
    }
}

/// Whether integers stand for 0 to 1 or −1 to 1; an error where that is not allowed.
fn is_normalised(accessor: &Value, scalar: GlbScalar, width: usize) -> Result<bool, String> {
    let is_normalised = accessor["normalized"] == true;
    if is_normalised && (width == 1 || scalar.bytes() == 4) {
        let what = "an accessor of indices, or of numbers of 32 bits, is normalised";
        return Err(what.to_owned());
    }
    Ok(is_normalised)
}

/// Returns a part of `bytes`; the error says where it would end.
fn part(bytes: &[u8], offset: usize, length: usize) -> Result<&[u8], String> {
    let part = bytes.get(offset..).and_then(|rest| rest.get(..length));
    part.ok_or_else(|| {
        let end = offset.saturating_add(length);
        format!("an accessor or its view ends at byte {end} of {}", bytes.len())
    })
}

impl GlbScalar {
    fn bytes(self) -> usize {
        match self {
            GlbScalar::I8 | GlbScalar::U8 => 1,
            GlbScalar::I16 | GlbScalar::U16 => 2,
            GlbScalar::U32 | GlbScalar::F32 => 4,
        }
    }
}

impl GlbArray<'_> {
    /// Returns number `axis` of element `i`.
    ///
    /// # Panics
    /// If `i` is not below `count`, or may panic if `axis` is not below the width of the accessor.
    pub fn value(&self, i: usize, axis: usize) -> f64 {
        let size = self.scalar.bytes();
        let at = i * self.stride + axis * size;
        let mut field = [0; 4];
        field[..size].copy_from_slice(&self.bytes[at..at + size]);
        let [a, b, ..] = field;
        let (value, most) = match self.scalar {
            GlbScalar::I8 => (f64::from(a as i8), 127.0),
            GlbScalar::U8 => (f64::from(a), 255.0),
            GlbScalar::I16 => (f64::from(i16::from_le_bytes([a, b])), 32_767.0),
            GlbScalar::U16 => (f64::from(u16::from_le_bytes([a, b])), 65_535.0),
            GlbScalar::U32 => (f64::from(u32::from_le_bytes(field)), 1.0),
            GlbScalar::F32 => (f64::from(f32::from_le_bytes(field)), 1.0),
        };
        if self.is_normalised { (value / most).max(-1.0) } else { value }
    }
}
