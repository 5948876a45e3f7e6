//! Shapes for parry 0.30, that of bevy_rapier3d 0.36.

use parry_0_30 as parry;

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
type Composite = dyn CompositeShape;

/// A hit as this version tells of it: the part is the feature.
fn ray_hit(t: Real, normal: Vector, part: u32) -> RayIntersection {
    RayIntersection::new(t, normal, FeatureId::Face(part))
}

/// A projection as this version tells of it.
fn on_part(projection: PointProjection, _part: u32) -> PointProjection {
    projection
}
