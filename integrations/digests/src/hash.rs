//! Digests of what the library returns, bit by bit.

use terravox::mesh::{PackedIndices, PackedSurface, Surface};
use terravox::voxel::DenseBox;
use xxhash_rust::xxh3::Xxh3;

fn hash_vectors(vectors: &[[f32; 3]], hash: &mut Xxh3) {
    for vector in vectors {
        vector.iter().for_each(|v| hash.update(&v.to_bits().to_le_bytes()));
    }
}

/// Positions, normals, materials and triangles.
pub fn hash_surface(surface: &Surface, hash: &mut Xxh3) {
    for (position, normal) in surface.positions.iter().zip(&surface.normals) {
        hash_vectors(&[*position, *normal], hash);
    }
    surface.materials.iter().chain(&surface.weights).for_each(|four| hash.update(four));
    surface.indices.iter().for_each(|index| hash.update(&index.to_le_bytes()));
}

/// Morph targets.
pub fn hash_targets(surface: &Surface, hash: &mut Xxh3) {
    hash_vectors(&surface.targets.positions, hash);
    hash_vectors(&surface.targets.normals, hash);
    hash.update(&surface.targets.steps);
}

/// The buffers of a graphics card.
pub fn hash_packed(packed: &PackedSurface, hash: &mut Xxh3) {
    packed.vertices.iter().for_each(|vertex| hash.update(&vertex.to_bytes()));
    let words = packed.targets.iter().flat_map(|target| target.words);
    words.for_each(|word| hash.update(&word.to_le_bytes()));
    match &packed.indices {
        PackedIndices::U16(all) => all.iter().for_each(|i| hash.update(&i.to_le_bytes())),
        PackedIndices::U32(all) => all.iter().for_each(|i| hash.update(&i.to_le_bytes())),
    }
}

/// Cells and water.
pub fn hash_cells(cells: &DenseBox, hash: &mut Xxh3) {
    hash.update(cells.materials());
    hash.update(cells.occupancies());
    for (at, level) in cells.water() {
        hash.update(&at.to_le_bytes());
        hash.update(&[*level]);
    }
}
