//! The description of a world: scale, materials, generator; and its bytes.

use crate::value::{ValueError, checksum};
use terravox::generate::{Hills, Seeded};
use terravox::terrain::Placement;
use terravox::voxel::{
    Channel, ChannelGrid, ChannelKind, ChannelWidth, Kind, Material, MaterialTable, MipRule,
    Region, SurfaceShape, UnlistedChunks,
};

/// Version of the file format, and of the description of a world without channels. Older versions
/// are not read. The description of a world with channels has version 4.
pub const FORMAT_VERSION: u16 = 3;

/// Version of the description of a world that has channels: programs that do not know channels
/// refuse it.
const CHANNELS_VERSION: u16 = 4;

/// The newest version of a description that this code reads.
pub(crate) const NEWEST_VERSION: u16 = CHANNELS_VERSION;

/// What the checksum of a description begins with.
const INFO_KEY: &str = "world";

/// Longest description: 256 materials and a generator with names of 255 bytes.
pub(crate) const MAX_INFO_BYTES: usize = 1 << 17;

/// Longest name of a material, a generator or extra data, in bytes.
pub const MAX_NAME_BYTES: usize = 255;

/// The description of a world: everything but its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldInfo {
    /// Metres along the edge of a voxel; finite and above 0.
    pub voxel_size_m: f64,
    /// Position of the minimum corner of voxel (0, 0, 0), in metres; finite.
    pub origin_m: [f64; 3],
    /// What chunks that are not stored count as: air in a complete world, unknown in one that
    /// grows.
    pub unlisted: UnlistedChunks,
    /// The materials by id.
    pub materials: MaterialTable,
    /// The generator of the cells, if there is one.
    pub generator: Option<Generator>,
    /// The channels by number; saving a terrain adds those that it declares.
    pub channels: Vec<Channel>,
}

/// The generator of a world, by name, so that a program can check that it has the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generator {
    /// Name, at most [`MAX_NAME_BYTES`] long.
    pub name: String,
    /// Version: a different version makes different cells.
    pub version: u32,
    /// Seed.
    pub seed: u64,
    /// The region that was generated and stored when the world was made, if there is one.
    pub saved_region: Option<Region>,
}

impl Generator {
    /// The generator [`Hills`](terravox::generate::Hills) with a seed.
    ///
    /// ```
    /// use terravox_store::{Generator, WorldInfo};
    ///
    /// let hills = WorldInfo::growing(Default::default(), Generator::hills(7));
    /// assert!(hills.grows());
    /// ```
    pub fn hills(seed: u64) -> Generator {
        let (name, version) = (Hills::NAME.to_owned(), Hills::VERSION);
        Generator { name, version, seed, saved_region: None }
    }

    /// A generator of terravox, by name.
    ///
    /// ```
    /// use terravox_store::Generator;
    ///
    /// let fjords = "world:7:fjords".parse()?;
    /// assert_eq!(Generator::of(&fjords).seeded(), Some(fjords));
    /// # Ok::<(), terravox::generate::SeededError>(())
    /// ```
    pub fn of(seeded: &Seeded) -> Generator {
        let (name, version) = (seeded.stored_name(), seeded.version());
        Generator { name, version, seed: seeded.seed(), saved_region: None }
    }

    /// Returns the generator if it is one of terravox, of the version that it has.
    pub fn seeded(&self) -> Option<Seeded> {
        Seeded::of_stored(&self.name, self.version, self.seed)
    }
}

impl Default for WorldInfo {
    /// Voxels of a metre, the default materials, unlisted chunks are air.
    fn default() -> WorldInfo {
        WorldInfo {
            voxel_size_m: 1.0,
            origin_m: [0.0; 3],
            unlisted: UnlistedChunks::Air,
            materials: MaterialTable::default(),
            generator: None,
            channels: Vec::new(),
        }
    }
}

impl WorldInfo {
    /// A complete world at `placement`: chunks that are not stored are air.
    pub fn complete(placement: Placement) -> WorldInfo {
        WorldInfo {
            voxel_size_m: placement.voxel_size_m,
            origin_m: placement.origin_m,
            ..WorldInfo::default()
        }
    }

    /// A world at `placement` that grows from a generator ([`WorldInfo::grows`]).
    pub fn growing(placement: Placement, generator: Generator) -> WorldInfo {
        WorldInfo {
            unlisted: UnlistedChunks::Unknown,
            generator: Some(generator),
            ..WorldInfo::complete(placement)
        }
    }

    /// Where the voxels lie, for a [`Terrain`](terravox::terrain::Terrain).
    pub fn placement(&self) -> Placement {
        Placement { voxel_size_m: self.voxel_size_m, origin_m: self.origin_m }
    }

    /// Whether chunks that are not stored come from a generator. Such a world stores only edited
    /// chunks and the coarse blocks over them. In a complete world chunks that are not stored are
    /// air.
    pub fn grows(&self) -> bool {
        self.unlisted == UnlistedChunks::Unknown
    }

    /// Why this description is invalid; `None` if it is valid.
    pub(crate) fn fault(&self) -> Option<String> {
        if let Err(error) = self.placement().check() {
            return Some(error.to_string());
        }
        if let Err(error) = ChannelGrid::of_saved(self.channels.iter().cloned()) {
            return Some(error.to_string());
        }
        let materials = self.materials.materials().iter().map(|m| m.name.as_str());
        let generator = self.generator.iter().map(|g| g.name.as_str());
        let long = materials.chain(generator).find(|name| name.len() > MAX_NAME_BYTES)?;
        Some(format!("a name of {} bytes; at most {MAX_NAME_BYTES} are stored", long.len()))
    }

    /// The bytes of a valid description.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let version = if self.channels.is_empty() { FORMAT_VERSION } else { CHANNELS_VERSION };
        let mut out = version.to_le_bytes().to_vec();
        out.extend([0; 8]);
        out.extend(self.voxel_size_m.to_le_bytes());
        self.origin_m.iter().for_each(|v| out.extend(v.to_le_bytes()));
        out.push(match self.unlisted {
            UnlistedChunks::Air => 0,
            UnlistedChunks::Unknown => 1,
        });
        let materials = self.materials.materials();
        out.extend((materials.len() as u16).to_le_bytes());
        materials.iter().for_each(|material| put_material(material, &mut out));
        out.push(self.generator.is_some().into());
        if let Some(generator) = &self.generator {
            put_generator(generator, &mut out);
        }
        if !self.channels.is_empty() {
            out.push(self.channels.len() as u8);
            self.channels.iter().for_each(|channel| put_channel(channel, &mut out));
        }
        let sum = info_checksum(&out);
        out[2..10].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Decodes a description; its memory is bounded by that of `bytes`.
    pub(crate) fn decode(bytes: &[u8]) -> Result<WorldInfo, InfoError> {
        let limit = MAX_INFO_BYTES;
        if bytes.len() > limit {
            return Err(ValueError::TooLong { bytes: bytes.len(), limit }.into());
        }
        let mut reader = InfoReader { bytes, at: 0 };
        let version = u16::from_le_bytes(reader.take()?);
        if version > NEWEST_VERSION {
            return Err(InfoError::Version(version));
        }
        if version < FORMAT_VERSION {
            return Err(reader.wrong("a format version that is no longer read"));
        }
        if reader.take::<8>()? != info_checksum(bytes).to_le_bytes() {
            return Err(ValueError::Checksum.into());
        }
        let info = WorldInfo {
            voxel_size_m: reader.f64()?,
            origin_m: [reader.f64()?, reader.f64()?, reader.f64()?],
            unlisted: match reader.u8()? {
                0 => UnlistedChunks::Air,
                1 => UnlistedChunks::Unknown,
                _ => return Err(reader.wrong("neither air nor unknown")),
            },
            materials: read_materials(&mut reader)?,
            generator: match reader.u8()? {
                0 => None,
                1 => Some(read_generator(&mut reader)?),
                _ => return Err(reader.wrong("neither a generator nor none")),
            },
            channels: match version {
                CHANNELS_VERSION => read_channels(&mut reader)?,
                _ => Vec::new(),
            },
        };
        match (bytes.len() - reader.at, info.fault()) {
            (0, None) => Ok(info),
            (0, Some(_)) => Err(ValueError::Field {
                at: 10,
                what: "the voxel size or the origin is out of its range",
            }
            .into()),
            (more, _) => Err(ValueError::Trailing { bytes: more }.into()),
        }
    }
}

/// Why a description cannot be decoded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InfoError {
    /// A format version newer than ours.
    Version(u16),
    /// As for other values.
    Value(ValueError),
}

impl From<ValueError> for InfoError {
    fn from(error: ValueError) -> InfoError {
        InfoError::Value(error)
    }
}

/// The checksum of a description, which is in its bytes 2 to 9.
fn info_checksum(bytes: &[u8]) -> u64 {
    // As for blocks, with the first version byte before the gap of 8 bytes.
    let key = [INFO_KEY.as_bytes(), &bytes[..1]].concat();
    checksum(&key, &bytes[1..])
}

fn put_name(name: &str, out: &mut Vec<u8>) {
    assert!(name.len() <= MAX_NAME_BYTES, "checked before");
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
}

fn put_material(material: &Material, out: &mut Vec<u8>) {
    put_name(&material.name, out);
    out.push(match material.kind {
        Kind::Air => 0,
        Kind::Liquid => 1,
        Kind::Solid => 2,
    });
    out.push(match material.shape {
        SurfaceShape::Default => 0,
        SurfaceShape::Smooth => 1,
        SurfaceShape::Sharp => 2,
        SurfaceShape::Blocky => 3,
        SurfaceShape::Rubble => 4,
    });
    out.extend(material.colour);
    let Material { friction, restitution, density, hardness, .. } = *material;
    for value in [friction, restitution, density, hardness] {
        out.extend(value.to_le_bytes());
    }
}

fn put_generator(generator: &Generator, out: &mut Vec<u8>) {
    put_name(&generator.name, out);
    out.extend(generator.version.to_le_bytes());
    out.extend(generator.seed.to_le_bytes());
    out.push(generator.saved_region.is_some().into());
    if let Some(Region { min, max }) = generator.saved_region {
        let corners = [min.to_array(), max.to_array()];
        corners.as_flattened().iter().for_each(|v| out.extend(v.to_le_bytes()));
    }
}

fn put_channel(channel: &Channel, out: &mut Vec<u8>) {
    put_name(&channel.name, out);
    let ChannelKind::Values { width, mips } = channel.kind else {
        out.extend([0, 0]);
        return;
    };
    out.push(width.bytes() as u8);
    out.push(match mips {
        MipRule::Max => 0,
        MipRule::Min => 1,
        MipRule::Mean => 2,
        MipRule::MeanPresent => 3,
        MipRule::MostFrequent => 4,
    });
}

fn read_channels(reader: &mut InfoReader<'_>) -> Result<Vec<Channel>, InfoError> {
    let count = reader.u8()?;
    if count == 0 || usize::from(count) > ChannelGrid::MAX_CHANNELS {
        return Err(reader.wrong("no channels, or more than 16"));
    }
    let channels: Vec<Channel> =
        (0..count).map(|_| read_channel(reader)).collect::<Result<_, InfoError>>()?;
    match ChannelGrid::of_saved(channels.iter().cloned()) {
        Ok(_) => Ok(channels),
        Err(_) => Err(reader.wrong("a channel without a name of its own, of 1 to 64 bytes")),
    }
}

fn read_channel(reader: &mut InfoReader<'_>) -> Result<Channel, InfoError> {
    let name = reader.name()?;
    let width = match reader.u8()? {
        0 => None,
        1 => Some(ChannelWidth::U8),
        2 => Some(ChannelWidth::U16),
        4 => Some(ChannelWidth::U32),
        _ => return Err(reader.wrong("a width of values that does not exist")),
    };
    let mips = match (reader.u8()?, width) {
        (0, None) => return Ok(Channel::bytes(name)),
        (0, Some(_)) => MipRule::Max,
        (1, Some(_)) => MipRule::Min,
        (2, Some(_)) => MipRule::Mean,
        (3, Some(_)) => MipRule::MeanPresent,
        (4, Some(_)) => MipRule::MostFrequent,
        _ => return Err(reader.wrong("a rule of coarse values that does not exist")),
    };
    let kind = width.map_or(ChannelKind::Bytes, |width| ChannelKind::Values { width, mips });
    Ok(Channel { name, kind })
}

fn read_materials(reader: &mut InfoReader<'_>) -> Result<MaterialTable, InfoError> {
    let count = usize::from(u16::from_le_bytes(reader.take()?));
    if count > 256 {
        return Err(reader.wrong("more than 256 materials"));
    }
    let mut materials = Vec::with_capacity(count);
    for id in 0..count {
        materials.push(read_material(id, reader)?);
    }
    let table = MaterialTable::try_from(materials);
    table.map_err(|_| reader.wrong("a number of a material is out of its range"))
}

fn read_material(id: usize, reader: &mut InfoReader<'_>) -> Result<Material, InfoError> {
    let name = reader.name()?;
    let kind = match (reader.u8()?, id) {
        (0, 0) => Kind::Air,
        (1, 1..) => Kind::Liquid,
        (2, 1..) => Kind::Solid,
        (0..=2, _) => return Err(reader.wrong("only material 0 is air")),
        _ => return Err(reader.wrong("a kind of material that does not exist")),
    };
    let shape = match reader.u8()? {
        0 => SurfaceShape::Default,
        1 => SurfaceShape::Smooth,
        2 => SurfaceShape::Sharp,
        3 => SurfaceShape::Blocky,
        4 => SurfaceShape::Rubble,
        _ => return Err(reader.wrong("a shape that does not exist")),
    };
    Ok(Material {
        name,
        kind,
        shape,
        colour: reader.take()?,
        friction: f32::from_le_bytes(reader.take()?),
        restitution: f32::from_le_bytes(reader.take()?),
        density: f32::from_le_bytes(reader.take()?),
        hardness: f32::from_le_bytes(reader.take()?),
    })
}

fn read_generator(reader: &mut InfoReader<'_>) -> Result<Generator, InfoError> {
    let name = reader.name()?;
    let version = u32::from_le_bytes(reader.take()?);
    let seed = u64::from_le_bytes(reader.take()?);
    let saved_region = match reader.u8()? {
        0 => None,
        1 => {
            let mut corners = [0; 6];
            for v in &mut corners {
                *v = i32::from_le_bytes(reader.take()?);
            }
            let [x0, y0, z0, x1, y1, z1] = corners;
            Some(Region::new([x0, y0, z0], [x1, y1, z1]))
        }
        _ => return Err(reader.wrong("neither a region nor none")),
    };
    Ok(Generator { name, version, seed, saved_region })
}

/// Reads consecutive fields, never beyond the end.
struct InfoReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl InfoReader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], InfoError> {
        let Some(field) = self.bytes[self.at..].first_chunk::<N>() else {
            let (bytes, least) = (self.bytes.len(), self.at + N);
            return Err(ValueError::TooShort { bytes, least }.into());
        };
        self.at += N;
        Ok(*field)
    }

    fn u8(&mut self) -> Result<u8, InfoError> {
        Ok(self.take::<1>()?[0])
    }

    fn f64(&mut self) -> Result<f64, InfoError> {
        Ok(f64::from_le_bytes(self.take()?))
    }

    fn name(&mut self) -> Result<String, InfoError> {
        let length = usize::from(self.u8()?);
        let end = self.at + length;
        let Some(name) = self.bytes.get(self.at..end) else {
            return Err(ValueError::TooShort { bytes: self.bytes.len(), least: end }.into());
        };
        let Ok(name) = str::from_utf8(name) else {
            let what = "a name that is not UTF-8";
            return Err(ValueError::Field { at: self.at, what }.into());
        };
        self.at = end;
        Ok(name.to_owned())
    }

    /// The error that the last byte read is invalid.
    fn wrong(&self, what: &'static str) -> InfoError {
        ValueError::Field { at: self.at - 1, what }.into()
    }
}

#[cfg(test)]
#[path = "info_tests.rs"]
mod tests;
