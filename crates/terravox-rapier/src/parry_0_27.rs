//! Shapes for parry 0.27, which avian3d 0.7 uses.

use parry_0_27 as parry;

#[path = "shape/block.rs"]
mod block;
#[path = "shape/facet.rs"]
mod facet;

pub use block::{GroundShape, ShapeBytes};
pub use facet::Facet;

use parry::math::{Real, Vector};
use parry::query::{PointProjection, RayIntersection};
use parry::shape::{CompositeShape, FeatureId};

/// The trait object that `Shape::as_composite_shape` returns.
type CompositeObject = dyn CompositeShape;

/// A hit in the form of this version, which has no subshapes: the part is the feature.
fn ray_hit(t: Real, normal: Vector, part: u32) -> RayIntersection {
    RayIntersection::new(t, normal, FeatureId::Face(part))
}

/// A projection in the form of this version.
fn on_part(projection: PointProjection, _part: u32) -> PointProjection {
    projection
}
