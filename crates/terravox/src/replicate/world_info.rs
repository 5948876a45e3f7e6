//! What a guest needs to know of a world to begin, as bytes.

use super::generator_id::GeneratorId;
use super::wire::{Input, MAX_TEXT, MessageError, put_bytes, put_text, put_varint, take_text};
use crate::voxel::{Kind, Material, MaterialTable, SurfaceShape};
use xxhash_rust::xxh3::xxh3_64;

/// Maximum size of the parameters of a generator in bytes.
const MAX_PARAMETERS: usize = 4096;

/// Bytes of a material without a name: the length of the name, kind, shape, colour, four numbers.
const MIN_MATERIAL_BYTES: usize = 1 + 1 + 1 + 3 + 4 * 4;

/// What a guest needs to know of a world to begin.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WorldInfo {
    /// Number of the guest: the author of its edits.
    pub author: u64,
    /// The coarsest mip.
    pub max_mip: u8,
    pub voxel_size_m: f64,
    pub origin_m: [f64; 3],
    pub generator: Option<GeneratorId>,
    pub materials: MaterialTable,
}

/// Checks that a message can hold a generator.
///
/// # Panics
/// If its name or its parameters are too long.
pub(super) fn check_generator(generator: &GeneratorId) {
    let GeneratorId { name, parameters, .. } = generator;
    let bytes = name.len();
    assert!(bytes <= MAX_TEXT, "GeneratorId::name: {bytes} bytes, at most {MAX_TEXT}");
    let bytes = parameters.len();
    assert!(bytes <= MAX_PARAMETERS, "GeneratorId::parameters: {bytes} bytes, at most 4,096");
}

/// Appends what a guest needs to know, with all materials.
pub(super) fn put_info(info: &WorldInfo, out: &mut Vec<u8>) {
    put_place(info, out);
    put_varint(info.materials.materials().len() as u64, out);
    info.materials.materials().iter().for_each(|material| put_material(material, out));
}

/// All but the materials.
pub(super) fn put_place(info: &WorldInfo, out: &mut Vec<u8>) {
    put_varint(info.author, out);
    out.push(info.max_mip);
    [info.voxel_size_m, info.origin_m[0], info.origin_m[1], info.origin_m[2]]
        .iter()
        .for_each(|v| out.extend(v.to_le_bytes()));
    out.push(u8::from(info.generator.is_some()));
    if let Some(generator) = &info.generator {
        put_text(&generator.name, out);
        put_varint(u64::from(generator.version), out);
        put_bytes(&generator.parameters, out);
    }
}

/// Appends materials as what differs from the default ones, of which it has a digest: these alone
/// would take two kilobytes.
pub(super) fn put_changed_materials(table: &MaterialTable, out: &mut Vec<u8>) {
    let default = MaterialTable::default();
    let (own, known) = (table.materials(), default.materials());
    out.extend(materials_digest(&default).to_le_bytes());
    put_varint(own.len() as u64, out);
    let is_same = |at: usize| known.get(at) == Some(&own[at]);
    let mut at = 0;
    while at < own.len() {
        let changed = (at..own.len()).find(|&at| !is_same(at)).unwrap_or(own.len());
        put_varint((changed - at) as u64, out);
        at = (changed..own.len()).find(|&at| is_same(at)).unwrap_or(own.len());
        if changed < own.len() {
            put_varint((at - changed) as u64, out);
            own[changed..at].iter().for_each(|material| put_material(material, out));
        }
    }
}

/// By which both sides know that they have the same default materials.
pub(super) fn materials_digest(table: &MaterialTable) -> u32 {
    let mut bytes = Vec::new();
    table.materials().iter().for_each(|material| put_material(material, &mut bytes));
    xxh3_64(&bytes) as u32
}

fn put_material(material: &Material, out: &mut Vec<u8>) {
    put_text(&material.name, out);
    let kind = match material.kind {
        Kind::Air => 0,
        Kind::Liquid => 1,
        Kind::Solid => 2,
    };
    let shape = match material.shape {
        SurfaceShape::Default => 0,
        SurfaceShape::Smooth => 1,
        SurfaceShape::Sharp => 2,
        SurfaceShape::Blocky => 3,
        SurfaceShape::Rubble => 4,
    };
    out.extend([kind, shape]);
    out.extend(material.colour);
    let Material { friction, restitution, density, hardness, .. } = material;
    [friction, restitution, density, hardness].iter().for_each(|v| out.extend(v.to_le_bytes()));
}

pub(super) fn take_info(input: &mut Input<'_>) -> Result<WorldInfo, MessageError> {
    let mut info = take_place(input)?;
    let count = input.count(MIN_MATERIAL_BYTES)?;
    let materials = (0..count).map(|_| take_material(input)).collect::<Result<Vec<_>, _>>()?;
    info.materials = valid_table(materials, input)?;
    Ok(info)
}

pub(super) fn take_place(input: &mut Input<'_>) -> Result<WorldInfo, MessageError> {
    let (author, max_mip) = (input.varint()?, input.byte()?);
    if max_mip > crate::voxel::MAX_FAR_MIP {
        return input.wrong("the coarsest mip is above 12");
    }
    let mut placement = [0.0; 4];
    for value in &mut placement {
        *value = f64::from_le_bytes(input.array()?);
    }
    let generator = match input.flag()? {
        false => None,
        true => {
            let (name, version) = (take_text(input)?, input.varint()?);
            let Ok(version) = u32::try_from(version) else {
                return input.wrong("a number has more than 32 bits");
            };
            let parameters = input.bytes(MAX_PARAMETERS)?.to_vec();
            Some(GeneratorId { name, version, parameters })
        }
    };
    let [voxel_size_m, x, y, z] = placement;
    let (origin_m, materials) = ([x, y, z], MaterialTable::default());
    Ok(WorldInfo { author, max_mip, voxel_size_m, origin_m, generator, materials })
}

fn valid_table(materials: Vec<Material>, input: &Input<'_>) -> Result<MaterialTable, MessageError> {
    MaterialTable::try_from(materials).or_else(|_| input.wrong("the materials are invalid"))
}

/// Reads what [`put_changed_materials`] writes, in that form only.
pub(super) fn take_changed_materials(input: &mut Input<'_>) -> Result<MaterialTable, MessageError> {
    let default = MaterialTable::default();
    let start = input.offset();
    if u32::from_le_bytes(input.array()?) != materials_digest(&default) {
        return input.wrong("the default materials of both sides differ; update the older one");
    }
    let count = input.varint()?;
    let mut materials = Vec::new();
    while (materials.len() as u64) < count {
        let same = input.varint()?;
        let known = default.materials().get(materials.len()..).unwrap_or_default();
        let Some(known) = usize::try_from(same).ok().and_then(|same| known.get(..same)) else {
            return input.wrong("there are not so many default materials");
        };
        materials.extend_from_slice(known);
        if (materials.len() as u64) < count {
            for _ in 0..input.count(MIN_MATERIAL_BYTES)? {
                materials.push(take_material(input)?);
            }
        }
    }
    let table = valid_table(materials, input)?;
    let mut canonical = Vec::new();
    put_changed_materials(&table, &mut canonical);
    match input.since(start) == canonical {
        true => Ok(table),
        false => input.wrong("materials are not in the shortest form"),
    }
}

fn take_material(input: &mut Input<'_>) -> Result<Material, MessageError> {
    let name = take_text(input)?;
    let kind = match input.byte()? {
        0 => Kind::Air,
        1 => Kind::Liquid,
        2 => Kind::Solid,
        _ => return input.wrong("an unknown kind of material"),
    };
    let shape = match input.byte()? {
        0 => SurfaceShape::Default,
        1 => SurfaceShape::Smooth,
        2 => SurfaceShape::Sharp,
        3 => SurfaceShape::Blocky,
        4 => SurfaceShape::Rubble,
        _ => return input.wrong("an unknown shape of a surface"),
    };
    let colour = input.array()?;
    let mut values = [0.0; 4];
    for value in &mut values {
        *value = f32::from_le_bytes(input.array()?);
    }
    let [friction, restitution, density, hardness] = values;
    Ok(Material { name, kind, shape, colour, friction, restitution, density, hardness })
}
