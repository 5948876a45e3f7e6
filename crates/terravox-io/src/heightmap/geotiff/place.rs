//! Where a world lies on the Earth, kept with it so that its heights can be written back.

use super::super::error::HeightmapError;
use super::reference::GeoReference;

/// Version of the bytes.
const VERSION: u8 = 1;
/// Bytes before the keys.
const HEAD_BYTES: usize = 1 + 5 * 8 + 3 * 4;

/// Where a world lies on the Earth, as the GeoTIFF said that it was imported from. Store it with the
/// world, for [`GroundHeights::write_geotiff`](super::super::GroundHeights::write_geotiff).
#[derive(Clone, Debug, PartialEq)]
pub struct WorldReference {
    /// The reference system; its corner is where x and z of the world are 0, and its steps are those of a
    /// metre of the world along x and z.
    pub system: GeoReference,
    /// Metres of the world of a unit of height.
    pub height_unit_m: f64,
}

impl WorldReference {
    /// The name under which a world file has it, as extra data.
    pub const EXTRA_NAME: &str = "geotiff";

    /// The reference of a world whose x and z are 0 at the corner of the first sample, with `sample_m`
    /// metres between samples and `height_unit_m` of a unit of height; `None` if the file has no
    /// place on the Earth.
    pub fn of(
        reference: &GeoReference,
        sample_m: f64,
        height_unit_m: f64,
    ) -> Option<WorldReference> {
        let step = reference.step.map(|step| step / sample_m);
        let is_placed = step.iter().all(|v| v.is_finite() && *v != 0.0);
        let system = GeoReference { step, ..reference.clone() };
        is_placed.then_some(WorldReference { system, height_unit_m })
    }

    /// Returns the reference of samples `sample_m` apart, the first of which begins at x and z in metres.
    pub(in super::super) fn at(&self, [x, z]: [f64; 2], sample_m: f64) -> GeoReference {
        let GeoReference { corner, step, .. } = &self.system;
        GeoReference {
            corner: [corner[0] + x * step[0], corner[1] + z * step[1]],
            step: step.map(|step| step * sample_m),
            ..self.system.clone()
        }
    }

    /// Encodes it, for a world file:
    ///
    /// ```text
    /// u8 version (1)
    /// 2 f64 corner, 2 f64 step of a metre, f64 metres of a unit of height
    /// u32 keys, u32 doubles, u32 bytes of text
    /// keys × u16, doubles × f64, text
    /// ```
    ///
    /// Little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let GeoReference { corner, step, keys, doubles, text, .. } = &self.system;
        let mut out = vec![VERSION];
        let numbers = corner.iter().chain(step).chain([&self.height_unit_m]);
        out.extend(numbers.flat_map(|v| v.to_le_bytes()));
        let counts = [keys.len(), doubles.len(), text.len()];
        out.extend(counts.iter().flat_map(|count| (*count as u32).to_le_bytes()));
        out.extend(keys.iter().flat_map(|v| v.to_le_bytes()));
        out.extend(doubles.iter().flat_map(|v| v.to_le_bytes()));
        out.extend(text.as_bytes());
        out
    }

    /// Decodes what [`Self::to_bytes`] encoded. Memory is bounded by the length of `bytes`.
    ///
    /// # Errors
    /// If the version is unknown, the bytes are too few or too many, or a number is not finite.
    pub fn from_bytes(bytes: &[u8]) -> Result<WorldReference, HeightmapError> {
        let wrong = || {
            let what = "the place of the world on the Earth cannot be read: it is damaged, or of a newer \
                        terravox";
            HeightmapError::Tiff(what.to_owned())
        };
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES).ok_or_else(wrong)?;
        let (numbers, counts) = head[1..].split_at(40);
        let number = |bytes: &[u8; 8]| f64::from_le_bytes(*bytes);
        let numbers: Vec<f64> = numbers.as_chunks::<8>().0.iter().map(number).collect();
        let counts: Vec<usize> =
            counts.as_chunks::<4>().0.iter().map(|v| u32::from_le_bytes(*v) as usize).collect();
        let (&[x, y, step_x, step_y, height_unit_m], &[keys, doubles, text]) =
            (&numbers[..], &counts[..])
        else {
            return Err(wrong());
        };
        let wanted = 2 * keys as u64 + 8 * doubles as u64 + text as u64;
        let is_finite = numbers.iter().all(|v| v.is_finite());
        if head[0] != VERSION || wanted != rest.len() as u64 || !is_finite || height_unit_m <= 0.0 {
            return Err(wrong());
        }
        let (keys, rest) = rest.split_at(2 * keys);
        let (doubles, text) = rest.split_at(8 * doubles);
        let system = GeoReference {
            corner: [x, y],
            step: [step_x, step_y],
            keys: keys.as_chunks::<2>().0.iter().map(|v| u16::from_le_bytes(*v)).collect(),
            doubles: doubles.as_chunks::<8>().0.iter().map(number).collect(),
            text: str::from_utf8(text).map_err(|_| wrong())?.to_owned(),
            ..GeoReference::default()
        };
        Ok(WorldReference { system: system.with_meaning(), height_unit_m })
    }
}
