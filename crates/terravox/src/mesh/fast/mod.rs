//! The fast mesher of blocks among blocks of the same mip: finds faces and corners in rows of
//! bits, numbers vertices by counting bits and places them eight at a time.
//!
//! In the order in which the data flows:
//!
//! | file | step |
//! |---|---|
//! | [`mesher`] | the entry: chooses the instruction set, keeps the memory |
//! | [`block`] | the two surfaces of a block |
//! | [`surface`] | the steps of one surface |
//! | [`survey`] | which kinds of material a table and a block have |
//! | [`class_rows`] | cells to rows of bits: inside, outside |
//! | [`faces`] | faces, the corners that they touch, the cells around those |
//! | [`planes`] | the planes of these cells |
//! | [`walk`], [`vertices`] | the vertices of all corners |
//! | [`special`], [`writer`] | corners and faces that go through the [rules](super::rules) one by one |
//! | [`quads`] | the quads |
//! | [`boundary`], [`active`] | vertices at some corners, without faces |
//!
//! Special cases go through the rules: corners with several sheets, cells one cell thick, water
//! beside ground.

mod active;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
#[path = "avx2/simd.rs"]
mod avx2;
mod bits;
mod block;
mod boundary;
mod class_rows;
mod faces;
mod input;
mod mesh_simd;
mod mesher;
mod numbers;
mod planes;
mod quads;
mod scalar;
mod scratch;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128", not(terravox_plain)))]
#[path = "simd128/simd.rs"]
mod simd128;
mod special;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
#[path = "sse2/simd.rs"]
mod sse2;
mod surface;
mod survey;
mod vertices;
mod walk;
mod writer;

pub(crate) use active::ActiveCorner;
pub(super) use block::SurfaceKind;
pub(super) use boundary::{BoundaryVertices, CornerVertex};
pub(super) use faces::LeftOutFace;
pub(super) use input::MeshInput;
pub(super) use mesher::{BoundaryRequest, FastMesher};
