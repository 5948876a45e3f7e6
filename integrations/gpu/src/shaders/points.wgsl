// Samples at points, as the search reads them: 16 bits of a signed density, 8 of a material, 2 of a
// class.

// In no surface: of the solid surface, none; of the liquid one, solid points.
const OUTSIDE = 0u;
const INSIDE = 1u;
const NEITHER = 2u;

fn point_word(density: i32, material: u32, class_: u32) -> u32 {
    return (u32(density) & 0xffffu) | (material << 16u) | (class_ << 24u);
}

struct SearchShape {
    // Points along an edge of a block.
    points: u32,
    // First block of this dispatch.
    first_block: u32,
    unused_: vec2<u32>,
}
