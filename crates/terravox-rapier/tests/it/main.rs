//! Terrain in a Rapier world. One binary: each would link the physics engine anew.

mod bodies;
mod burial;
mod edits;
mod loose;
mod materials;
mod queries;
mod scene;
mod waiting;
mod water;
