//! A host and its guests over virtual links.

mod converge;
mod hostile;
mod messages;
mod simulation;
