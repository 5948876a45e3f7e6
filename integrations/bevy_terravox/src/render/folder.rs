//! Textures from a folder of the game.

use std::path::Path;

use bevy::asset::RenderAssetUsages;
use bevy::image::{CompressedImageFormats, ImageSampler, ImageType};
use bevy::prelude::*;
use bevy::render::render_resource::TextureFormat;

use super::looks::LAYER_NAMES;
use super::textures::{Layer, Layers, finished, made};

/// Largest side of a texture.
const MAX_SIZE: u32 = 4096;
/// Largest file.
const MAX_FILE_BYTES: u64 = 128 << 20;

/// A layer that a folder has, RGBA.
struct FolderLayer {
    /// Texels along a side.
    size: u32,
    colour: Vec<u8>,
    /// Normal, roughness and occlusion, if there is a file of them.
    surface: Option<Vec<u8>>,
}

/// Reads the layers that a folder has; the others are ours, in its size.
pub(super) fn read(folder: &Path) -> Result<Layers, String> {
    let mut own: Vec<Option<FolderLayer>> = Vec::new();
    let mut fault = None;
    for name in LAYER_NAMES {
        let colour = texels(&folder.join(format!("{name}.png")), true);
        let surface = texels(&folder.join(format!("{name}_surface.png")), false);
        own.push(match (colour, surface) {
            (Ok((size, colour)), Ok((other, surface))) if size == other => {
                Some(FolderLayer { size, colour, surface: Some(surface) })
            }
            (Ok((size, colour)), _) => Some(FolderLayer { size, colour, surface: None }),
            (Err(error), _) => {
                fault.get_or_insert(error);
                None
            }
        });
    }
    let Some(size) = own.iter().flatten().map(|layer| layer.size).next() else {
        let fault = fault.unwrap_or_default();
        return Err(format!("{} has no texture that can be read ({fault})", folder.display()));
    };
    if let Some(other) = own.iter().flatten().find(|layer| layer.size != size) {
        let other = other.size;
        return Err(format!("{}: textures of {size} and of {other} texels", folder.display()));
    }
    let ours = made(size as usize).layers;
    let layers = own.into_iter().zip(ours).map(|(own, ours)| merged(size, own, ours)).collect();
    Ok(Layers { size: size as usize, layers })
}

fn merged(size: u32, own: Option<FolderLayer>, ours: Layer) -> Layer {
    let Some(FolderLayer { colour, surface, .. }) = own else { return ours };
    // Flat, of the roughness of the palette.
    let flat = || [128, 128, 128, 255].repeat((size * size) as usize);
    finished(size as usize, colour, surface.unwrap_or_else(flat))
}

/// The side and the texels of a square file, RGBA.
fn texels(path: &Path, is_srgb: bool) -> Result<(u32, Vec<u8>), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let length = std::fs::metadata(path).map_err(|error| format!("{name}: {error}"))?.len();
    if length > MAX_FILE_BYTES {
        return Err(format!("{name}: {length} bytes"));
    }
    let bytes = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
    let image = Image::from_buffer(
        &bytes,
        ImageType::Extension("png"),
        CompressedImageFormats::NONE,
        is_srgb,
        ImageSampler::Default,
        RenderAssetUsages::MAIN_WORLD,
    )
    .map_err(|error| format!("{name}: {error}"))?;
    let UVec2 { x, y } = image.size();
    let is_rgba = matches!(
        image.texture_descriptor.format,
        TextureFormat::Rgba8UnormSrgb | TextureFormat::Rgba8Unorm
    );
    if x != y || !x.is_power_of_two() || x > MAX_SIZE || !is_rgba {
        return Err(format!(
            "{name}: {x} × {y} texels; a square of a power of two of 8 bits is needed"
        ));
    }
    image.data.map(|data| (x, data)).ok_or_else(|| format!("{name}: it is empty"))
}
