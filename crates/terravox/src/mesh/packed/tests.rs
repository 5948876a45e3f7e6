use super::*;
use crate::mesh::{BlockMesh, MAX_EDGE};
use proptest::prelude::*;

/// The slow twin of unpacking: reads single bits, computes in f64.
fn unpacked(bytes: &[u8]) -> ([f64; 3], [f64; 3], u32) {
    let bit = |at: usize| u32::from(bytes[at / 8] >> (at % 8) & 1);
    let number = |from: usize, count: usize| (0..count).map(|i| bit(from + i) << i).sum::<u32>();
    let position = [0, 32, 64].map(|at| f64::from(number(at, 22)) / 32768.0 - 32.0);
    let [x, z] = [22, 54].map(|at| (f64::from(number(at, 10)) - 511.0) / 511.0);
    let y = 1.0 - x.abs() - z.abs();
    let [x, z] = match y < 0.0 {
        true => [(1.0 - z.abs()).copysign(x), (1.0 - x.abs()).copysign(z)],
        false => [x, z],
    };
    let length = (x * x + y * y + z * z).sqrt();
    (position, [x, y, z].map(|v| v / length), number(86, 10))
}

/// Returns the angle between two directions, degrees.
fn degrees(a: [f64; 3], b: [f64; 3]) -> f64 {
    let cross =
        [0, 1, 2].map(|i| a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3]);
    let dot: f64 = (0..3).map(|i| a[i] * b[i]).sum();
    cross.iter().map(|v| v * v).sum::<f64>().sqrt().atan2(dot).to_degrees()
}

fn unit(v: [f32; 3]) -> [f32; 3] {
    crate::mesh::unit_normal(v, [0.0, 1.0, 0.0])
}

/// Returns all weights that the vertices of cells can have, with the numbers of cells.
fn all_weights() -> Vec<([u8; 4], [u32; 4])> {
    let mut all = Vec::new();
    for code in 0..9u32.pow(4) {
        let counts = [0, 1, 2, 3].map(|i| code / 9u32.pow(i) % 9);
        let total: u32 = counts.iter().sum();
        if counts.is_sorted_by(|a, b| a >= b) && (1..=8).contains(&total) {
            let ids: Vec<u8> = (0..4).flat_map(|i| vec![i as u8 + 2; counts[i] as usize]).collect();
            all.push((crate::mesh::blend(&ids).weights, counts));
        }
    }
    all
}

proptest! {
    #[test]
    fn unpacking_reverses_packing(
        steps in prop::array::uniform3(0..1u32 << 22),
        direction in prop::array::uniform3(-1.0f32..1.0),
        materials in any::<[u8; 4]>(),
        which in any::<prop::sample::Index>(),
        step in 0..4u8,
    ) {
        let position = steps.map(|q| (f64::from(q) / 32768.0 - 32.0) as f32);
        let normal = unit(direction);
        let all = all_weights();
        let weights = all[which.index(all.len())].0;
        let vertex = PackedVertex::new(position, normal, materials, weights);
        prop_assert_eq!(vertex.position(), position);
        prop_assert_eq!((vertex.materials, vertex.weights()), (materials, weights));
        let (slow, slow_normal, counts) = unpacked(&vertex.to_bytes());
        prop_assert_eq!(slow, position.map(f64::from));
        prop_assert!(degrees(slow_normal, vertex.normal().map(f64::from)) < 1e-4);
        prop_assert!(degrees(slow_normal, normal.map(f64::from)) < 0.24, "{:?}", normal);
        let cells = [(counts & 7) + 1, counts >> 3 & 7, counts >> 6 & 3, counts >> 8];
        prop_assert_eq!(weights_of(cells), weights);

        let target = PackedTarget::new(position, normal, step);
        prop_assert_eq!((target.position(), target.step()), (position, step));
        prop_assert_eq!(target.normal(), vertex.normal());
        prop_assert_eq!(unpacked(&target.to_bytes()).2, u32::from(step));
    }
}

#[test]
fn any_weights_sum_to_255_and_stay_near() {
    let mut most = 0;
    for (b, c, d) in (0..=127u8)
        .flat_map(|b| (0..=b.min(85)).map(move |c| (b, c)))
        .flat_map(|(b, c)| (0..=c.min(63)).map(move |d| (b, c, d)))
    {
        let rest = u32::from(b) + u32::from(c) + u32::from(d);
        if 255 - rest.min(255) < u32::from(b) {
            continue;
        }
        let weights = [(255 - rest) as u8, b, c, d];
        let found = PackedVertex::new([0.0; 3], [0.0; 3], [1, 2, 3, 4], weights).weights();
        assert_eq!(found.iter().map(|&w| u32::from(w)).sum::<u32>(), 255);
        for (found, weight) in found.into_iter().zip(weights) {
            most = most.max(found.abs_diff(weight));
        }
    }
    assert!(most <= 32, "{most} of 255");
}

#[test]
fn all_weights_of_eight_cells_or_fewer_are_exact() {
    let all = all_weights();
    assert_eq!(all.len(), 52);
    for (weights, counts) in all {
        let vertex = PackedVertex::new([0.0; 3], [0.0, 1.0, 0.0], [0; 4], weights);
        assert_eq!(vertex.weights(), weights, "{counts:?}");
        assert_eq!(weights.iter().map(|&w| u32::from(w)).sum::<u32>(), 255);
    }
}

#[test]
fn normals_are_at_most_a_quarter_of_a_degree_off() {
    let (mut most, steps) = (0.0f64, 600);
    for a in 0..=steps {
        for b in 0..2 * steps {
            let (up, around) = (
                (f64::from(a) / f64::from(steps) * std::f64::consts::PI).sin_cos(),
                (f64::from(b) / f64::from(steps) * std::f64::consts::PI).sin_cos(),
            );
            let exact = [up.0 * around.1, up.1, up.0 * around.0];
            let packed =
                PackedVertex::new([0.0; 3], exact.map(|v| v as f32), [0; 4], [255, 0, 0, 0]);
            most = most.max(degrees(packed.normal().map(f64::from), exact));
        }
    }
    assert!(most < 0.24 && most > 0.2, "{most} degrees");
}

#[test]
fn normals_along_axes_are_exact_and_invalid_ones_become_up() {
    let packed = |normal| PackedVertex::new([0.0; 3], normal, [0; 4], [255, 0, 0, 0]).normal();
    for axis in 0..3 {
        for way in [1.0, -1.0] {
            let mut normal = [0.0; 3];
            normal[axis] = way;
            assert_eq!(packed(normal), normal);
        }
    }
    for invalid in [[0.0; 3], [-0.0; 3], [f32::NAN, 1.0, 0.0], [f32::INFINITY, 0.0, 0.0]] {
        assert_eq!(packed(invalid), [0.0, 1.0, 0.0]);
    }
    assert_eq!(packed([-0.0, -1.0, 0.0]), packed([0.0, -1.0, -0.0]));
}

#[test]
fn positions_reach_from_minus_32_to_96_cells() {
    let last = 96.0 - 1.0 / 32768.0;
    let vertex = PackedVertex::new([-32.0, last, 0.0], [0.0, 1.0, 0.0], [0; 4], [255, 0, 0, 0]);
    assert_eq!(vertex.position(), [-32.0, last, 0.0]);
    assert_eq!(vertex.words[0] & 0x3f_ffff, 0);
    assert_eq!(vertex.words[1] & 0x3f_ffff, 0x3f_ffff);
    for beyond in [96.0, -32.1, f32::NAN, f32::INFINITY, 1e30] {
        let pack = || PackedVertex::new([0.0, beyond, 0.0], [0.0; 3], [0; 4], [0; 4]);
        assert!(std::panic::catch_unwind(pack).is_err(), "{beyond}");
    }
    assert!(f64::from(MAX_EDGE) + 12.0 < 96.0, "targets reach 12 cells beyond a block");
}

#[test]
fn other_positions_are_rounded_to_the_nearest() {
    let vertex = |x: f32| PackedVertex::new([x, 0.0, 0.0], [0.0; 3], [0; 4], [0; 4]).position()[0];
    let unit = 1.0 / 32768.0;
    assert_eq!(vertex(0.1), (0.1f32 / unit).round() * unit);
    assert_eq!((vertex(0.4 * unit), vertex(0.6 * unit)), (0.0, unit));
}

#[test]
fn bytes_are_as_documented() {
    let vertex =
        PackedVertex::new([-31.5, 0.0, 32.25], [0.0, 1.0, 0.0], [9, 8, 7, 6], [102, 51, 51, 51]);
    let words = [
        511 << 22 | 1 << 14,
        511 << 22 | 1 << 20,
        257 << 13 | 1 << 22 | 1 << 25 | 1 << 28 | 1 << 30,
    ];
    assert_eq!(vertex.words, words, "{:x?}", vertex.words);
    assert_eq!(vertex.to_bytes()[4..8], [0, 0, 0xd0, 0x7f]);
    assert_eq!(vertex.to_bytes()[12..], [9, 8, 7, 6]);
    let target = PackedTarget::new([-32.0; 3], [1.0, 0.0, 0.0], 3);
    assert_eq!(target.words, [1022 << 22, 511 << 22, 3 << 22]);
    assert_eq!(target.to_bytes()[8..], [0, 0, 0xc0, 0]);
    assert_eq!((size_of::<PackedVertex>(), size_of::<PackedTarget>()), (16, 12));
}

/// Makes a fan of `count` vertices.
fn surface(count: usize) -> Surface {
    let mut surface = Surface::default();
    for i in 0..count {
        surface.positions.push([(i % 64) as f32, (i / 64 % 64) as f32, (i / 4096) as f32]);
        surface.normals.push([0.0, 1.0, 0.0]);
        surface.materials.push([2, 0, 0, 0]);
        surface.weights.push([255, 0, 0, 0]);
    }
    surface.indices.extend((2..count as u32).flat_map(|i| [0, i - 1, i]));
    surface
}

#[test]
fn indices_have_the_smallest_type_that_fits() {
    let mut packed = PackedSurface::default();
    for count in [0, 1, 65_535, 65_536, 3] {
        let surface = surface(count);
        surface.pack(&mut packed);
        assert_eq!(packed.vertices.len(), count);
        assert_eq!(packed.indices.len(), surface.indices.len());
        assert_eq!(packed.indices.is_empty(), count < 3);
        assert_eq!(matches!(packed.indices, PackedIndices::U16(_)), count <= 65_535);
        for at in [0, 1, surface.indices.len().saturating_sub(1)] {
            let expected = surface.indices.get(at).copied();
            assert_eq!(expected.map(|_| packed.indices.get(at)), expected);
        }
        let mut bytes = Vec::new();
        packed.indices.append_bytes(&mut bytes);
        assert!(bytes.len().is_multiple_of(4), "{count}");
        assert_eq!(packed.bytes_per_vertex(), 16);
    }
    assert_eq!(packed.indices, PackedIndices::U16(vec![0, 1, 2]));
    let mut bytes = Vec::new();
    packed.indices.append_bytes(&mut bytes);
    assert_eq!(bytes, [0, 0, 1, 0, 2, 0, 0, 0]);
}

#[test]
fn packing_replaces_all_content() {
    let mut packed = PackedSurface::default();
    BlockMesh::new().solid.pack(&mut packed);
    assert_eq!(packed, PackedSurface::default());
    let mut moving = surface(3);
    for i in 0..3 {
        moving.targets.push([i as f32, 0.5, -12.0], [0.0, 1.0, 0.0], 2);
    }
    moving.pack(&mut packed);
    assert_eq!((packed.targets.len(), packed.bytes_per_vertex()), (3, 28));
    assert_eq!((packed.targets[1].position(), packed.targets[1].step()), ([1.0, 0.5, -12.0], 2));
    surface(3).pack(&mut packed);
    assert!(packed.targets.is_empty());
}

#[cfg(feature = "bytemuck")]
#[test]
fn casting_gives_the_same_bytes() {
    let mut packed = PackedSurface::default();
    surface(5).pack(&mut packed);
    let bytes: Vec<u8> = packed.vertices.iter().flat_map(|v| v.to_bytes()).collect();
    assert_eq!(bytemuck::cast_slice::<_, u8>(&packed.vertices), bytes);
    let target = PackedTarget::new([1.0; 3], [0.0, 0.0, 1.0], 1);
    assert_eq!(bytemuck::bytes_of(&target), target.to_bytes());
}
