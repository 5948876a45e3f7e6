//! A host and its guests over virtual links.

mod converge;
mod messages;
mod simulation;
