//! Decides which operations of guests a world allows.

use crate::access::Right;
use crate::held_columns::HeldColumns;
use crate::server_reason::ServerReason;
use terravox::edit::EditOp;
use terravox::replicate::{Refusal, Verdict};
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
    /// The columns of a world that several servers share.
    pub columns: Option<HeldColumns>,
}

impl EditRules {
    /// Decides about an operation of a guest.
    pub fn verdict(&mut self, guest: u64, right: Option<Right>, op: &EditOp) -> Verdict {
        let mut verdict = check_right(right, op, &self.protected);
        if let (Verdict::Accept, Some(columns)) = (&verdict, &mut self.columns)
            && let Err(refusal) = check_columns(columns, op)
        {
            verdict = Verdict::Refuse(refusal);
        }
        let verdict = match (verdict, right, &mut self.decide) {
            (Verdict::Accept, Some(right), Some(decide)) => decide(guest, right, op),
            (verdict, ..) => verdict,
        };
        // What a game does instead may reach further.
        match (verdict, &mut self.columns) {
            (Verdict::Replace(op), Some(columns)) => match check_columns(columns, &op) {
                Ok(()) => Verdict::Replace(op),
                Err(refusal) => Verdict::Refuse(refusal),
            },
            (verdict, _) => verdict,
        }
    }
}

/// Refuses what reaches beyond the columns that are held.
fn check_columns(columns: &mut HeldColumns, op: &EditOp) -> Result<(), Refusal> {
    columns.check(op.region().map_err(Refusal::from)?)
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
