//! Decides which operations of guests a world allows.

use crate::access::Right;
use crate::server_reason::ServerReason;
use terravox::edit::EditOp;
use terravox::replicate::Verdict;
use terravox::voxel::Region;

/// Decides about an operation, in voxels, of a guest with a number and a right. It is called on the
/// world's thread, for at most [`HostOptions::edits_per_s`](terravox::replicate::HostOptions::edits_per_s)
/// operations a second of each guest: it must not wait. Pieces that a dig cuts loose are not asked for.
pub type Decide = Box<dyn FnMut(u64, Right, &EditOp) -> Verdict + Send>;

/// What decides about operations: rights, protected regions, the rules of a game.
pub(crate) struct EditRules {
    /// Regions, in voxels, in which only administrators may change anything.
    pub protected: Vec<Region>,
    /// The rules of a game; they see what rights and protection allow.
    pub decide: Option<Decide>,
}

impl EditRules {
    /// Decides about an operation of a guest.
    pub fn verdict(&mut self, guest: u64, right: Option<Right>, op: &EditOp) -> Verdict {
        let verdict = check_right(right, op, &self.protected);
        match (verdict, right, &mut self.decide) {
            (Verdict::Accept, Some(right), Some(decide)) => decide(guest, right, op),
            (verdict, ..) => verdict,
        }
    }
}

/// Decides about an operation by the right of its guest.
fn check_right(right: Option<Right>, op: &EditOp, protected: &[Region]) -> Verdict {
    match right {
        Some(Right::Administer) => Verdict::Accept,
        Some(Right::Edit) if protected.is_empty() => Verdict::Accept,
        Some(Right::Edit) => match op.region() {
            Err(error) => Verdict::Refuse(error.into()),
            Ok(region) if protected.iter().all(|part| part.intersect(region).is_empty()) => {
                Verdict::Accept
            }
            Ok(_) => {
                let what = "this part of the world is protected";
                Verdict::Refuse(ServerReason::Protected.refusal(what))
            }
        },
        Some(Right::Look) | None => {
            Verdict::Refuse(ServerReason::LookOnly.refusal("your token is for looking only"))
        }
    }
}
