//! Shapes for parry 0.31, which rapier3d 0.36 uses.

use rapier3d::parry;

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
type CompositeObject = dyn CompositeShape + Sync;

/// A hit in the form of this version.
fn ray_hit(t: Real, normal: Vector, part: u32) -> RayIntersection {
    RayIntersection::new(t, normal, FeatureId::Face(part)).with_subshape(part)
}

/// A projection in the form of this version.
fn on_part(projection: PointProjection, part: u32) -> PointProjection {
    projection.with_subshape(part)
}
