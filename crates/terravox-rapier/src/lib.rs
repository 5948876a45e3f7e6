//! Terravox terrain as colliders of Rapier, without seams.

mod colliders;
mod ground;
mod interest;
pub mod parry_0_31;
mod water;

pub use colliders::{Holdings, Options, Sets, Surface, SyncReport, TerrainColliders};
pub use ground::{BlockGround, Bounds, Coefficients, GroundScratch, PlainFacet, grounds};
pub use water::{Buoyancy, WaterOptions};
