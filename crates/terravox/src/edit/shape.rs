//! From a brush, in f64, to its bounds and the shape that stamps evaluate by rows.
//!
//! A ramp of one voxel about radius r holds the volume of (r³ + r/4)^⅓ (ball) or
//! √(r² + 1/12) (cylinder), so the radius of a stamp is that much smaller than the brush's.

use super::brush::HalfSpace;
use super::error::NamedNumber;
use super::path::PathTree;
use super::{Brush, EditError};
use crate::math::{MAX_MESH_EDGE, MeshDistance, cross, dot};
use crate::voxel::{Region, VoxelPos};

/// Maximum cells of the box around a mesh brush, whose distances are all in memory.
const MAX_FIELD_CELLS: u64 = 1 << 26;

/// Longest falloff of a mesh brush, voxels.
const MAX_MESH_FALLOFF: f64 = 16.0;

/// The shape that a stamp evaluates, in f32 from its anchor.
pub(super) enum StampShape {
    Ball {
        centre: [f32; 3],
        radius: f32,
    },
    Box {
        frame: LocalFrame,
        half: [f32; 3],
    },
    Cylinder {
        frame: LocalFrame,
        radius: f32,
        half_height: f32,
    },
    Wedge {
        frame: LocalFrame,
        half: [f32; 3],
        up: [f32; 2],
    },
    Path {
        tree: PathTree,
        radius: f32,
    },
    /// Unit normals and offsets.
    Convex(Vec<([f32; 3], f32)>),
    Field(MeshDistance),
    Heights {
        corner: [f32; 3],
        spacing: f32,
        width: usize,
        heights: Vec<f32>,
    },
}

/// Local axes and their origin.
pub(super) struct LocalFrame {
    pub centre: [f32; 3],
    /// Unit vectors.
    pub axes: [[f32; 3]; 3],
}

/// The bounds of a brush, voxels. Cells whose centres are half a voxel or more from it
/// are not covered.
pub(super) fn bounds(brush: &Brush) -> Result<[[f64; 3]; 2], EditError> {
    let around = |centre: &[f64; 3], reach: [f64; 3]| {
        [[0, 1, 2].map(|i| centre[i] - reach[i]), [0, 1, 2].map(|i| centre[i] + reach[i])]
    };
    Ok(match brush {
        Brush::Ball { centre, radius } => around(centre, [*radius; 3]),
        Brush::Box { centre, half, rotation } | Brush::Wedge { centre, half, rotation } => {
            around(centre, turned_reach(half, rotation)?)
        }
        Brush::Cylinder { centre, radius, half_height, rotation } => {
            around(centre, turned_reach(&[*radius, *half_height, *radius], rotation)?)
        }
        Brush::Path { points, radius } => {
            let [min, max] = box_of(points);
            [min.map(|v| v - radius), max.map(|v| v + radius)]
        }
        Brush::Convex { planes } => convex_bounds(planes)?,
        Brush::Mesh { vertices, .. } => box_of(vertices),
        Brush::Heights { corner, spacing, width, heights } => {
            let high = heights.iter().fold(0.0f32, |high, &h| high.max(h));
            let [wide, deep] = [*width as usize, heights.len() / *width as usize]
                .map(|samples| (samples - 1) as f64 * spacing);
            let size = [wide, f64::from(high), deep];
            [*corner, [0, 1, 2].map(|i| corner[i] + size[i])]
        }
    })
}

fn box_of(points: &[[f64; 3]]) -> [[f64; 3]; 2] {
    let fold = |axis: usize, f: fn(f64, f64) -> f64| {
        points.iter().map(|p| p[axis]).reduce(f).unwrap_or_default()
    };
    [[0, 1, 2].map(|axis| fold(axis, f64::min)), [0, 1, 2].map(|axis| fold(axis, f64::max))]
}

/// Half the extent of a rotated box along the axes, its ramps included, less half a voxel.
fn turned_reach(half: &[f64; 3], rotation: &[f64; 4]) -> Result<[f64; 3], EditError> {
    let axes = axes_of(rotation)?;
    let reach = |i: usize| (0..3).map(|j| axes[j][i].abs() * (half[j] + 0.5)).sum::<f64>();
    Ok([0, 1, 2].map(|i| reach(i) - 0.5))
}

/// The voxels whose centres are less than half a voxel from a box.
pub(super) fn region_of([min, max]: [[f64; 3]; 2]) -> Result<Region, EditError> {
    // The casts saturate, beyond the limits.
    let region = Region::new(min.map(|v| v.floor() as i32), max.map(|v| v.ceil() as i32));
    match region.within_limits() {
        true => Ok(region),
        false => Err(EditError::BeyondLimits(region)),
    }
}

/// The axes of a rotated shape: the rows of the inverse rotation matrix.
fn axes_of(&[x, y, z, w]: &[f64; 4]) -> Result<[[f64; 3]; 3], EditError> {
    let long = x * x + y * y + z * z + w * w;
    if !(long > 1e-18 && long < 1e18) {
        return Err(EditError::Invalid(
            "a brush's rotation must be a finite quaternion that is not zero",
        ));
    }
    let s = 2.0 / long;
    Ok([
        [1.0 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y)],
        [s * (x * y - w * z), 1.0 - s * (x * x + z * z), s * (y * z + w * x)],
        [s * (x * z + w * y), s * (y * z - w * x), 1.0 - s * (x * x + y * y)],
    ])
}

/// The bounds of the intersection of half-spaces, from the points where three planes meet.
fn convex_bounds(planes: &[HalfSpace]) -> Result<[[f64; 3]; 2], EditError> {
    let planes = unit_planes(planes)?;
    let mut corners = Vec::new();
    for (i, a) in planes.iter().enumerate() {
        for (j, b) in planes.iter().enumerate().skip(i + 1) {
            for c in &planes[j + 1..] {
                corners.extend(meeting_point([a, b, c]));
            }
        }
    }
    let inside = |p: &[f64; 3]| planes.iter().all(|(n, offset)| dot(*n, *p) <= offset + 1e-6);
    corners.retain(inside);
    // An unbounded intersection extends along a line where two planes meet.
    let ways = planes.iter().enumerate().flat_map(|(i, a)| {
        planes[i + 1..].iter().flat_map(move |b| {
            let way = cross(a.0, b.0);
            [way, way.map(|v| -v)]
        })
    });
    let mut ways = ways.filter(|way| dot(*way, *way) > 1e-12);
    let bounded = ways.all(|way| planes.iter().any(|plane| dot(plane.0, way) > 1e-9));
    if corners.is_empty() || !bounded {
        return Err(EditError::Invalid(
            "the planes of a convex brush must bound a shape that is finite and not empty",
        ));
    }
    Ok(box_of(&corners))
}

fn unit_planes(planes: &[HalfSpace]) -> Result<Vec<([f64; 3], f64)>, EditError> {
    let unit = |plane: &HalfSpace| {
        let long = dot(plane.normal, plane.normal).sqrt();
        let fine = long > 1e-9 && long < 1e9 && plane.offset.is_finite();
        fine.then(|| (plane.normal.map(|v| v / long), plane.offset / long))
    };
    let all: Option<Vec<_>> = planes.iter().map(unit).collect();
    all.ok_or(EditError::Invalid("a half-space needs a non-zero normal and a finite offset"))
}

fn meeting_point([a, b, c]: [&([f64; 3], f64); 3]) -> Option<[f64; 3]> {
    let (bc, ca, ab) = (cross(b.0, c.0), cross(c.0, a.0), cross(a.0, b.0));
    let volume = dot(a.0, bc);
    let point = [0, 1, 2].map(|i| (a.1 * bc[i] + b.1 * ca[i] + c.1 * ab[i]) / volume);
    (volume.abs() > 1e-9).then_some(point)
}

pub(super) fn form(
    brush: &Brush,
    anchor: VoxelPos,
    region: Region,
    falloff: f64,
) -> Result<StampShape, EditError> {
    let origin = anchor.to_array().map(f64::from);
    let local = |p: &[f64; 3]| [0, 1, 2].map(|i| (p[i] - origin[i]) as f32);
    let short = |v: &[f64; 3]| v.map(|v| v as f32);
    let frame = |centre: &[f64; 3], rotation: &[f64; 4]| -> Result<LocalFrame, EditError> {
        Ok(LocalFrame { centre: local(centre), axes: axes_of(rotation)?.map(|axis| short(&axis)) })
    };
    Ok(match brush {
        Brush::Ball { centre, radius } => {
            StampShape::Ball { centre: local(centre), radius: ball_radius(*radius) as f32 }
        }
        Brush::Box { centre, half, rotation } => {
            StampShape::Box { frame: frame(centre, rotation)?, half: short(half) }
        }
        Brush::Cylinder { centre, radius, half_height, rotation } => {
            let (radius, half_height) = (round_radius(*radius) as f32, *half_height as f32);
            StampShape::Cylinder { frame: frame(centre, rotation)?, radius, half_height }
        }
        Brush::Wedge { centre, half, rotation } => {
            let long = (half[1] * half[1] + half[2] * half[2]).sqrt();
            let up = [half[1] / long, half[2] / long].map(|v| v as f32);
            StampShape::Wedge { frame: frame(centre, rotation)?, half: short(half), up }
        }
        Brush::Path { points, radius } => {
            let radius = round_radius(*radius) as f32;
            let points: Vec<_> = points.iter().map(local).collect();
            StampShape::Path { tree: PathTree::new(&points), radius }
        }
        Brush::Convex { planes } => {
            let planes = unit_planes(planes)?;
            let offset = |(normal, offset): &([f64; 3], f64)| {
                (short(normal), (offset - dot(*normal, origin)) as f32)
            };
            StampShape::Convex(planes.iter().map(offset).collect())
        }
        Brush::Mesh { vertices, triangles } => {
            StampShape::Field(mesh_distance(vertices, triangles, region, falloff)?)
        }
        Brush::Heights { corner, spacing, width, heights } => StampShape::Heights {
            corner: local(corner),
            spacing: *spacing as f32,
            width: *width as usize,
            heights: heights.clone(),
        },
    })
}

/// The distances of all cells of a region to a mesh, within the falloff.
fn mesh_distance(
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
    region: Region,
    falloff: f64,
) -> Result<MeshDistance, EditError> {
    check_field(region, falloff)?;
    let reach = 1.0 + falloff as f32;
    Ok(MeshDistance::new(vertices, triangles, region, reach))
}

/// Returns an error if a mesh brush over a region would take too much memory.
pub(super) fn check_field(region: Region, falloff: f64) -> Result<(), EditError> {
    let is_long = region.size().iter().any(|&edge| edge > MAX_MESH_EDGE);
    if is_long || region.volume() > MAX_FIELD_CELLS {
        return Err(EditError::TooLarge { region, max_cells: MAX_FIELD_CELLS });
    }
    let is_allowed = falloff <= MAX_MESH_FALLOFF;
    NamedNumber::length("the falloff of a mesh brush", falloff)
        .check(is_allowed, "at most 16 voxels")
}

/// Volume and surface area of shapes that are thick enough to be corrected.
pub(super) fn volume_and_surface(brush: &Brush) -> Option<(f64, f64)> {
    const PI: f64 = std::f64::consts::PI;
    Some(match *brush {
        Brush::Ball { radius: r, .. } if r >= 1.0 => (4.0 / 3.0 * PI * r * r * r, 4.0 * PI * r * r),
        Brush::Box { half: [a, b, c], .. } if a.min(b).min(c) >= 1.0 => {
            (8.0 * a * b * c, 8.0 * (a * b + b * c + c * a))
        }
        Brush::Cylinder { radius: r, half_height: h, .. } if r.min(h) >= 1.0 => {
            (2.0 * PI * r * r * h, 2.0 * PI * r * r + 4.0 * PI * r * h)
        }
        _ => return None,
    })
}

/// The radius whose ramp of one voxel holds the volume of a ball: r³ + r/4 = radius³, by
/// Newton's method, which converges monotonically from above.
fn ball_radius(radius: f64) -> f64 {
    let mut r = radius;
    for _ in 0..12 {
        r -= (r * r * r + r * 0.25 - radius * radius * radius) / (3.0 * r * r + 0.25);
    }
    r
}

/// The radius whose ramp of one voxel holds the area of a disc.
fn round_radius(radius: f64) -> f64 {
    (radius * radius - 1.0 / 12.0).max(0.25 * radius * radius).sqrt()
}
