//! Texture arrays of ground: colour with height, normal with roughness and occlusion. Twelve are
//! made at start, on other threads.

use bevy::asset::RenderAssetUsages;
use bevy::image::{ImageAddressMode, ImageFilterMode, ImageSampler, ImageSamplerDescriptor};
use bevy::prelude::*;
use bevy::render::render_resource::{
    Extent3d, TextureDimension, TextureFormat, TextureViewDescriptor, TextureViewDimension,
};
use bevy::tasks::AsyncComputeTaskPool;

use super::looks::LAYERS;
use super::patterns::{PATTERNS, Texel};

/// Texels along a side of the textures that are made here.
const SIZE: usize = 256;
/// How steep the normals are, for textures of [`SIZE`]: texels of height.
const RELIEF: f32 = 9.0;

/// One layer: both textures with all mips, finest first, and the mean colour.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layer {
    pub colour: Vec<u8>,
    pub surface: Vec<u8>,
    /// Linear.
    pub mean: Vec3,
}

/// Layers of one size.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layers {
    pub size: usize,
    pub layers: Vec<Layer>,
}

/// Makes the twelve, in the usual size.
pub(super) fn ours() -> Layers {
    made(SIZE)
}

/// Makes the twelve.
pub(super) fn made(size: usize) -> Layers {
    let pool = AsyncComputeTaskPool::get();
    let layers = pool.scope(|scope| {
        PATTERNS.iter().for_each(|&pattern| scope.spawn(async move { layer_of(size, pattern) }));
    });
    Layers { size, layers }
}

fn layer_of(size: usize, pattern: fn(f32, f32) -> Texel) -> Layer {
    let at = |i: usize| {
        let [u, v] = [i % size, i / size].map(|c| (c as f32 + 0.5) / size as f32);
        pattern(u, v)
    };
    let texels: Vec<Texel> = (0..size * size).map(at).collect();
    let colour = texels.iter().flat_map(colour_bytes).collect();
    let surface = (0..size * size).flat_map(|i| surface_bytes(&texels, size, i)).collect();
    finished(size, colour, surface)
}

fn byte(v: f32) -> u8 {
    (v.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// Colour and height.
fn colour_bytes(texel: &Texel) -> [u8; 4] {
    let warm = 0.16 * texel.warmth;
    let [r, g, b] = [1.0 + warm, 1.0 + 0.2 * warm, 1.0 - warm].map(|v| byte(v * texel.tone));
    [r, g, b, byte(texel.height)]
}

/// The normal along u and up (−v), roughness about ½, occlusion.
fn surface_bytes(texels: &[Texel], size: usize, i: usize) -> [u8; 4] {
    let (x, y) = (i % size, i / size);
    let height = |x: usize, y: usize| texels[(y % size) * size + x % size].height;
    let right = height(x + size - 1, y) - height(x + 1, y);
    let up = height(x, y + 1) - height(x, y + size - 1);
    let far = 5 * size / SIZE;
    let around = 0.25
        * (height(x + far, y)
            + height(x + size - far, y)
            + height(x, y + far)
            + height(x, y + size - far));
    let open = 1.0 - 1.6 * (around - texels[i].height).max(0.0);
    let relief = RELIEF * size as f32 / SIZE as f32;
    let normal = Vec3::new(right * relief, up * relief, 2.0).normalize();
    [normal.x, normal.y, texels[i].rough, 2.0 * open - 1.0].map(|v| byte(0.5 + 0.5 * v))
}

/// Adds the mips and the mean.
pub(super) fn finished(size: usize, mut colour: Vec<u8>, mut surface: Vec<u8>) -> Layer {
    add_mips(size, &mut colour);
    add_mips(size, &mut surface);
    let last = &colour[colour.len() - 4..];
    let mean = Color::srgb_u8(last[0], last[1], last[2]).to_linear().to_vec3();
    Layer { colour, surface, mean }
}

/// Appends halved images to an image of four bytes a texel, down to one texel.
fn add_mips(size: usize, bytes: &mut Vec<u8>) {
    let (mut size, mut from) = (size, 0);
    while size > 1 {
        let half = size / 2;
        for i in 0..half * half {
            let corner = from + 4 * (2 * (i / half) * size + 2 * (i % half));
            for channel in 0..4 {
                let at = |offset: usize| u32::from(bytes[corner + offset + channel]);
                let sum = at(0) + at(4) + at(4 * size) + at(4 * size + 4);
                bytes.push((sum / 4 + u32::from(sum % 4 >= 2)) as u8);
            }
        }
        from += 4 * size * size;
        size = half;
    }
}

/// The two texture arrays of layers.
pub(super) fn images(layers: &Layers) -> [Image; 2] {
    let colour = layers.layers.iter().flat_map(|layer| layer.colour.iter().copied()).collect();
    let surface = layers.layers.iter().flat_map(|layer| layer.surface.iter().copied()).collect();
    [
        array(layers.size, colour, TextureFormat::Rgba8UnormSrgb),
        array(layers.size, surface, TextureFormat::Rgba8Unorm),
    ]
}

/// What is bound until textures are there.
pub(super) fn empty_images() -> [Image; 2] {
    let layer = Layer { colour: vec![128; 4], surface: vec![128; 4], mean: Vec3::splat(0.2) };
    images(&Layers { size: 1, layers: vec![layer; LAYERS] })
}

fn array(size: usize, data: Vec<u8>, format: TextureFormat) -> Image {
    let extent =
        Extent3d { width: size as u32, height: size as u32, depth_or_array_layers: LAYERS as u32 };
    let usage = RenderAssetUsages::RENDER_WORLD;
    let mut image = Image::new_uninit(extent, TextureDimension::D2, format, usage);
    image.data = Some(data);
    image.texture_descriptor.mip_level_count = size.ilog2() + 1;
    image.texture_view_descriptor =
        Some(TextureViewDescriptor { dimension: Some(TextureViewDimension::D2Array), ..default() });
    image.sampler = ImageSampler::Descriptor(ImageSamplerDescriptor {
        address_mode_u: ImageAddressMode::Repeat,
        address_mode_v: ImageAddressMode::Repeat,
        mag_filter: ImageFilterMode::Linear,
        min_filter: ImageFilterMode::Linear,
        mipmap_filter: ImageFilterMode::Linear,
        anisotropy_clamp: 4,
        ..default()
    });
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textures_have_no_seam_and_are_not_even() {
        for (number, pattern) in PATTERNS.iter().enumerate() {
            let layer = layer_of(SIZE, *pattern);
            assert_eq!(layer, layer_of(SIZE, *pattern), "layer {number} is another each time");
            let at = |x: usize, y: usize| i32::from(layer.colour[4 * (y * SIZE + x) + 1]);
            let step = |columns: bool, c: usize| -> i32 {
                let next = (c + 1) % SIZE;
                let pair = |i| match columns {
                    true => at(c, i) - at(next, i),
                    false => at(i, c) - at(i, next),
                };
                (0..SIZE).map(|i| pair(i).abs()).sum()
            };
            for columns in [true, false] {
                let most = (0..SIZE - 1).map(|c| step(columns, c)).max().unwrap_or(0);
                assert!(step(columns, SIZE - 1) <= most, "layer {number} has a seam");
            }
            let greens = layer.colour[..4 * SIZE * SIZE].iter().skip(1).step_by(4);
            let (low, high) = (greens.clone().min(), greens.max());
            assert!(high > low.map(|low| low + 12).as_ref(), "layer {number} is even");
            assert!(layer.mean.min_element() > 0.03 && layer.mean.max_element() < 0.6);
        }
    }

    #[test]
    fn mips_end_in_the_mean() {
        let layer = finished(
            2,
            vec![10, 20, 30, 40, 30, 40, 50, 60, 10, 20, 30, 40, 30, 40, 50, 60],
            vec![7; 16],
        );
        assert_eq!(layer.colour[16..], [20, 30, 40, 50]);
        assert_eq!(layer.surface[16..], [7; 4]);
    }
}
