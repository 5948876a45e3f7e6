//! tmp
#![allow(dead_code, unused)]
mod render;
fn main() {}
