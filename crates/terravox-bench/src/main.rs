//! Measures terravox beside its peers: in one process, on one thread, in turns.
#![warn(missing_docs)]

mod figures;
mod harness;
mod machine;
mod mesh;
mod report;
mod storage;
mod worlds;

fn main() {}
