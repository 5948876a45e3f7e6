//! Reads PLY, the format of scans: text, and binary of either byte order.
//!
//! Source: Greg Turk, "The PLY Polygon File Format", 1994. Elements other than `vertex` and `face`
//! are skipped, and so are properties other than x, y, z and the list of a face's vertices.

use super::error::{MeshError, shown};
use super::file_mesh::{FileMesh, MeshCollector, PolygonFan};
use super::ply_header::{PlyCoding, PlyElement, PlyHeader, PlyProperty, PlyScalar};
use super::text::number;
use crate::import_budget::ImportBudget;

/// Units of work of a byte.
const BYTE_WORK: u64 = 8;

/// Reads a file.
pub(super) fn read(bytes: &[u8], budget: &mut ImportBudget) -> Result<FileMesh, MeshError> {
    budget.spend_work("its elements", BYTE_WORK.saturating_mul(bytes.len() as u64))?;
    let header = PlyHeader::read(bytes, budget)?;
    let mut values = PlyValues { bytes, at: header.data, coding: header.coding };
    let mut mesh = MeshCollector::new(budget);
    let mut has_faces = false;
    for element in &header.elements {
        // Without properties an element has no bytes, whatever its count.
        if element.properties.is_empty() {
            continue;
        }
        match element.name {
            b"vertex" => read_vertices(element, &mut values, &mut mesh)?,
            b"face" => {
                has_faces = true;
                read_faces(element, &mut values, &mut mesh)?;
            }
            _ => (0..element.count).try_for_each(|_| values.skip(element))?,
        }
    }
    if !has_faces {
        let what = "the file has no faces; points enclose nothing, and strips are not supported";
        return Err(MeshError::Unsupported { what: what.to_owned() });
    }
    mesh.finish()
}

fn read_vertices(
    element: &PlyElement<'_>,
    values: &mut PlyValues<'_>,
    mesh: &mut MeshCollector<'_>,
) -> Result<(), MeshError> {
    let mut axes = [usize::MAX; 3];
    for (place, property) in element.properties.iter().enumerate() {
        let axis = [&b"x"[..], b"y", b"z"].iter().position(|name| *name == property.name);
        if let (Some(axis), None) = (axis, property.counted_by) {
            axes[axis] = place;
        }
    }
    if axes.contains(&usize::MAX) {
        return Err(MeshError::Damaged {
            location: "the header".to_owned(),
            what: "vertices lack x, y or z".to_owned(),
        });
    }
    for _ in 0..element.count {
        let mut position = [0.0; 3];
        for (place, property) in element.properties.iter().enumerate() {
            match axes.iter().position(|axis| *axis == place) {
                Some(axis) => position[axis] = values.next(property.scalar)?,
                None => values.skip_property(property)?,
            }
        }
        mesh.vertex(position)?;
    }
    Ok(())
}

fn read_faces(
    element: &PlyElement<'_>,
    values: &mut PlyValues<'_>,
    mesh: &mut MeshCollector<'_>,
) -> Result<(), MeshError> {
    let is_list = |property: &PlyProperty<'_>| {
        [&b"vertex_indices"[..], b"vertex_index"].contains(&property.name)
    };
    for _ in 0..element.count {
        for property in &element.properties {
            let (Some(count), true) = (property.counted_by, is_list(property)) else {
                values.skip_property(property)?;
                continue;
            };
            let mut fan = PolygonFan::default();
            for _ in 0..values.next_whole(count)? {
                let vertex = values.next_whole(property.scalar)?;
                fan.push(u32::try_from(vertex).unwrap_or(u32::MAX), mesh)?;
            }
        }
    }
    Ok(())
}

/// The values behind the header, one by one.
struct PlyValues<'a> {
    bytes: &'a [u8],
    /// Offset of the next one.
    at: usize,
    coding: PlyCoding,
}

impl PlyValues<'_> {
    /// Reads a value; every one takes at least a byte.
    fn next(&mut self, scalar: PlyScalar) -> Result<f64, MeshError> {
        let rest = &self.bytes[self.at..];
        if self.coding == PlyCoding::Text {
            let start = rest.len() - rest.trim_ascii_start().len();
            let word = rest[start..].split(u8::is_ascii_whitespace).next().unwrap_or_default();
            self.at += start;
            if word.is_empty() {
                return Err(self.ends());
            }
            let value = number(word);
            let wrong = || MeshError::at_byte(self.at, format!("{} is not a number", shown(word)));
            let value = value.ok_or_else(wrong)?;
            self.at += word.len();
            return Ok(value);
        }
        let Some(bytes) = rest.get(..scalar.bytes()) else { return Err(self.ends()) };
        self.at += bytes.len();
        Ok(scalar.value(bytes, self.coding == PlyCoding::BigEndian))
    }

    /// Reads a whole number that is not negative.
    fn next_whole(&mut self, scalar: PlyScalar) -> Result<u64, MeshError> {
        let at = self.at;
        let value = self.next(scalar)?;
        match value.fract() == 0.0 && (0.0..9e15).contains(&value) {
            true => Ok(value as u64),
            false => Err(MeshError::at_byte(at, format!("{value} is not a count or a vertex"))),
        }
    }

    fn skip(&mut self, element: &PlyElement<'_>) -> Result<(), MeshError> {
        element.properties.iter().try_for_each(|property| self.skip_property(property))
    }

    fn skip_property(&mut self, property: &PlyProperty<'_>) -> Result<(), MeshError> {
        let count = match property.counted_by {
            None => 1,
            Some(count) => self.next_whole(count)?,
        };
        (0..count).try_for_each(|_| self.next(property.scalar).map(drop))
    }

    fn ends(&self) -> MeshError {
        MeshError::at_byte(self.at, "the file ends within its elements")
    }
}
