//! A host and its guests over virtual links.

mod bad_links;
mod bodies;
mod cache;
mod converge;
mod costs;
mod ground;
mod hostile;
mod journaling;
mod late_ground;
mod messages;
mod reasons;
mod requests;
mod seat;
mod simulation;
mod unsent;
