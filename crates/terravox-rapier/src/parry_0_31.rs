//! Shapes for parry 0.31, that of rapier3d 0.36.

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

/// What shapes answer as composites.
type Composite = dyn CompositeShape + Sync;

/// A hit as this version tells of it.
fn ray_hit(t: Real, normal: Vector, part: u32) -> RayIntersection {
    RayIntersection::new(t, normal, FeatureId::Face(part)).with_subshape(part)
}

/// A projection as this version tells of it.
fn on_part(projection: PointProjection, part: u32) -> PointProjection {
    projection.with_subshape(part)
}
