//! Replaces the SmoothGrid of a place, and nothing else in its bytes.

use super::super::error::{FilePart, RobloxError};
use super::super::limits::MAX_VALUE_BYTES;
use super::super::terrain_instance::TerrainProperty;
use super::payload::SharedStrings;
use super::write::{push_chunk, push_string};
use super::{BinaryTerrainFinder, TYPE_STRING, TerrainLocation};
use std::ops::Range;

impl BinaryTerrainFinder<'_, '_> {
    /// Returns `bytes`, the file, with another SmoothGrid in the Terrain that an import takes.
    pub(super) fn replace(
        mut self,
        bytes: &[u8],
        smooth_grid: &[u8],
    ) -> Result<Vec<u8>, RobloxError> {
        let shared = self.index_shared()?;
        let (Some(found), _) = self.find_terrain(shared.as_ref())? else {
            let (instances, classes) = (self.instances, self.class_count);
            return Err(RobloxError::NoTerrain { instances, classes });
        };
        let (property, range) = self.column_with(&found, shared.as_ref(), smooth_grid)?;
        let mut out = bytes[..range.start].to_vec();
        push_chunk(&mut out, b"PROP", &property);
        out.extend(&bytes[range.end..]);
        Ok(out)
    }

    /// Returns a SmoothGrid column with another value for one Terrain, and which bytes of the file
    /// it replaces. It holds the values of the other Terrains of the class: they stay, and shared
    /// strings may have other users.
    fn column_with(
        &mut self,
        found: &TerrainLocation,
        shared: Option<&SharedStrings<'_>>,
        smooth_grid: &[u8],
    ) -> Result<(Vec<u8>, Range<usize>), RobloxError> {
        let class = &self.classes[found.class];
        let mut property = class.id.to_le_bytes().to_vec();
        push_string(&mut property, TerrainProperty::SmoothGrid.name().as_bytes());
        property.push(TYPE_STRING);
        let range = match &class.smooth_grids {
            Some(column) => column.chunk.offset..column.chunk.end,
            None => self.after_properties..self.after_properties,
        };
        let over_budget =
            |error| RobloxError::OverBudget { part: FilePart::File, offset: range.start, error };
        let column = class.smooth_grids.as_ref();
        let mut old = column.map(|column| column.strings(class.instances, shared)).transpose()?;
        for instance in 0..class.instances {
            // Without a column all are empty.
            let kept = old.as_mut().and_then(Iterator::next).transpose()?.unwrap_or_default();
            // The new value is the caller's own.
            let (value, copied) = match instance == found.instance {
                true => (smooth_grid, 0),
                false => (kept, kept.len() as u64),
            };
            self.budget.spend_memory("its Terrains", copied + 4).map_err(over_budget)?;
            let bytes = property.len() + value.len();
            if bytes > MAX_VALUE_BYTES {
                return Err(RobloxError::TooLong { bytes });
            }
            push_string(&mut property, value);
        }
        Ok((property, range))
    }
}
