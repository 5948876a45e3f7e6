//! Far out: what is built at the limits of the grid is what is built at the origin, moved; and what
//! would lie beyond them is refused by name.

mod bodies;
mod boxes;
mod collide;
mod contacts;
mod edit;
mod generate;
mod lod;
mod mesh;
mod octree;
mod particles;
mod refusals;
mod scene;
mod terrain;
mod world;
