//! The shapes of brushes, as plain data.

use super::EditError;
use super::error::NamedNumber;
use std::ops::RangeInclusive;

/// The shape of a brush. Lengths and points are voxels for [`super::Editor`], world metres for
/// `Terrain`. Rotations are quaternions `[x, y, z, w]` of any non-zero length, about the centre of
/// the shape.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Brush {
    /// A ball.
    Ball {
        /// Its centre.
        centre: [f64; 3],
        /// Its radius.
        radius: f64,
    },
    /// A rotated box.
    Box {
        /// Its centre.
        centre: [f64; 3],
        /// Half the length of its edges.
        half: [f64; 3],
        /// Its rotation.
        #[cfg_attr(feature = "serde", serde(default = "no_rotation"))]
        rotation: [f64; 4],
    },
    /// A cylinder, upright before its rotation.
    Cylinder {
        /// Its centre.
        centre: [f64; 3],
        /// Its radius.
        radius: f64,
        /// Half its height.
        half_height: f64,
        /// Its rotation.
        #[cfg_attr(feature = "serde", serde(default = "no_rotation"))]
        rotation: [f64; 4],
    },
    /// The lower half of a block that is cut from its bottom edge at −z to its top edge at
    /// +z: a ramp that rises with z.
    Wedge {
        /// Centre of the block.
        centre: [f64; 3],
        /// Half the length of the block's edges.
        half: [f64; 3],
        /// Its rotation.
        #[cfg_attr(feature = "serde", serde(default = "no_rotation"))]
        rotation: [f64; 4],
    },
    /// Everything within `radius` of a polyline: two points make a capsule.
    Path {
        /// One to 4096 points.
        points: Vec<[f64; 3]>,
        /// The distance from the polyline.
        radius: f64,
    },
    /// The intersection of 4 to 32 half-spaces, which must be bounded.
    Convex {
        /// The half-spaces.
        planes: Vec<HalfSpace>,
    },
    /// The inside of a closed triangle mesh.
    Mesh {
        /// Positions of the vertices.
        vertices: Vec<[f64; 3]>,
        /// Vertex indices, counter-clockwise seen from outside. The mesh must be closed: each edge
        /// must be used as often in one direction as in the other.
        triangles: Vec<[u32; 3]>,
    },
    /// Ground below a grid of heights.
    Heights {
        /// Position of the sample of lowest x and z; heights are relative to its y, which is the
        /// bottom of the brush.
        corner: [f64; 3],
        /// Distance between samples.
        spacing: f64,
        /// Samples along x, at least 2.
        width: u32,
        /// Heights above the corner's y, x fastest, then z; full rows, at least 2.
        heights: Vec<f32>,
    },
}

/// The points `p` with `normal · p <= offset`: those behind a plane. A
/// [`CollisionPlane`](crate::particles::CollisionPlane) has the same signs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct HalfSpace {
    /// Outward normal, of any non-zero length.
    pub normal: [f64; 3],
    /// Offset of the plane along the normal.
    pub offset: f64,
}

#[cfg(feature = "serde")]
fn no_rotation() -> [f64; 4] {
    Brush::NO_ROTATION
}

impl Brush {
    /// The identity rotation, as a quaternion.
    pub const NO_ROTATION: [f64; 4] = [0.0, 0.0, 0.0, 1.0];

    /// Returns the shape with every point multiplied by `scale`, then moved by `offset`: from
    /// metres to voxels.
    #[must_use]
    pub fn scaled(&self, scale: f64, offset: [f64; 3]) -> Brush {
        let at = |p: &[f64; 3]| [0, 1, 2].map(|i| p[i] * scale + offset[i]);
        let long = |v: &[f64; 3]| v.map(|v| v * scale);
        match self {
            Brush::Ball { centre, radius } => {
                Brush::Ball { centre: at(centre), radius: radius * scale }
            }
            Brush::Box { centre, half, rotation } => {
                Brush::Box { centre: at(centre), half: long(half), rotation: *rotation }
            }
            Brush::Cylinder { centre, radius, half_height, rotation } => Brush::Cylinder {
                centre: at(centre),
                radius: radius * scale,
                half_height: half_height * scale,
                rotation: *rotation,
            },
            Brush::Wedge { centre, half, rotation } => {
                Brush::Wedge { centre: at(centre), half: long(half), rotation: *rotation }
            }
            Brush::Path { points, radius } => {
                Brush::Path { points: points.iter().map(at).collect(), radius: radius * scale }
            }
            Brush::Convex { planes } => {
                let plane = |p: &HalfSpace| {
                    let moved: f64 = (0..3).map(|i| p.normal[i] * offset[i]).sum();
                    HalfSpace { normal: p.normal, offset: p.offset * scale + moved }
                };
                Brush::Convex { planes: planes.iter().map(plane).collect() }
            }
            Brush::Mesh { vertices, triangles } => Brush::Mesh {
                vertices: vertices.iter().map(at).collect(),
                triangles: triangles.clone(),
            },
            Brush::Heights { corner, spacing, width, heights } => Brush::Heights {
                corner: at(corner),
                spacing: spacing * scale,
                width: *width,
                heights: heights.iter().map(|h| (f64::from(*h) * scale) as f32).collect(),
            },
        }
    }

    /// Returns an error if a number of the shape is invalid.
    pub(super) fn check(&self) -> Result<(), EditError> {
        let count = |name: &'static str, given: usize, range: RangeInclusive<usize>, allowed| {
            NamedNumber::plain(name, given as f64).check(range.contains(&given), allowed)
        };
        const CENTRE: &str = "a coordinate of the brush's centre";
        let (point, length) = (check_point, check_length);
        match self {
            Brush::Ball { centre, radius } => {
                point(CENTRE, centre)?;
                length("the ball's radius", *radius)
            }
            Brush::Box { centre, half, .. } | Brush::Wedge { centre, half, .. } => {
                point(CENTRE, centre)?;
                half.iter().try_for_each(|&v| length("half an edge of the brush", v))
            }
            Brush::Cylinder { centre, radius, half_height, .. } => {
                point(CENTRE, centre)?;
                length("the cylinder's radius", *radius)?;
                length("half the cylinder's height", *half_height)
            }
            Brush::Path { points, radius } => {
                count("the number of points of the path", points.len(), 1..=4096, "1 to 4096")?;
                points.iter().try_for_each(|p| point("a coordinate of a point of the path", p))?;
                length("the path's radius", *radius)
            }
            Brush::Convex { planes } => {
                count("the number of half-spaces of the brush", planes.len(), 4..=32, "4 to 32")
            }
            Brush::Mesh { vertices, triangles } => {
                let name = "a coordinate of a vertex of the brush";
                vertices.iter().try_for_each(|p| point(name, p))?;
                check_mesh(vertices.len(), triangles)
            }
            Brush::Heights { corner, spacing, width, heights } => {
                point("a coordinate of the corner of the heights", corner)?;
                length("the spacing of the heights", *spacing)?;
                let rows = heights.len().checked_div(*width as usize).unwrap_or(0);
                if *width < 2 || rows < 2 || rows * *width as usize != heights.len() {
                    return Err(EditError::Invalid(
                        "heights must come in full rows of `width` samples: at least 2 of at least 2",
                    ));
                }
                heights.iter().map(|&h| f64::from(h)).try_for_each(|h| {
                    let is_allowed = h.abs() <= MAX_LENGTH;
                    NamedNumber::length("a height", h)
                        .check(is_allowed, "finite and within ±2^31 voxels")
                })
            }
        }
    }
}

/// Longest length and farthest coordinate, voxels: the size of the world.
pub(super) const MAX_LENGTH: f64 = 2_147_483_648.0;

/// Returns an error unless all coordinates are finite and within [`MAX_LENGTH`].
pub(super) fn check_point(name: &'static str, point: &[f64; 3]) -> Result<(), EditError> {
    point.iter().enumerate().try_for_each(|(axis, &given)| {
        let is_allowed = given.abs() <= MAX_LENGTH; // NaN is not
        NamedNumber::coordinate(name, axis, given)
            .check(is_allowed, "finite and within ±2^31 voxels")
    })
}

/// Returns an error unless the length is above 0 and at most [`MAX_LENGTH`].
fn check_length(name: &'static str, given: f64) -> Result<(), EditError> {
    NamedNumber::length(name, given).check(given > 0.0 && given <= MAX_LENGTH, "above 0 and finite")
}

/// Maximum number of triangles of a brush.
const MAX_TRIANGLES: usize = 1 << 20;

/// Returns an error unless the mesh is closed: each edge used as often in one direction as in the
/// other.
fn check_mesh(vertices: usize, triangles: &[[u32; 3]]) -> Result<(), EditError> {
    let is_allowed = (1..=MAX_TRIANGLES).contains(&triangles.len());
    let given = triangles.len() as f64;
    NamedNumber::plain("the number of triangles of the brush", given)
        .check(is_allowed, "1 to 1048576")?;
    if triangles.iter().flatten().any(|&v| v as usize >= vertices) {
        return Err(EditError::Invalid(
            "an index of a triangle of the brush is not below the number of vertices",
        ));
    }
    let mut edges: Vec<(u32, u32, bool)> = Vec::with_capacity(3 * triangles.len());
    for &[a, b, c] in triangles {
        edges.extend([(a, b), (b, c), (c, a)].map(|(p, q)| (p.min(q), p.max(q), p < q)));
    }
    edges.sort_unstable();
    let closed = edges.chunk_by(|p, q| (p.0, p.1) == (q.0, q.1)).all(|edge| {
        edge[0].0 == edge[0].1 || edge.iter().filter(|e| e.2).count() * 2 == edge.len()
    });
    match closed {
        true => Ok(()),
        false => Err(EditError::Invalid("the mesh of the brush is not closed; close its holes")),
    }
}
