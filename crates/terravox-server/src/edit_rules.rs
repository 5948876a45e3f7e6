//! Decides which operations of guests a world allows.

use crate::access::Right;
use crate::borders::{DuePart, TriedParts};
use crate::held_columns::{AskedOp, HeldColumns};
use crate::server_reason::ServerReason;
use std::sync::Arc;
use std::time::Instant;
use terravox::edit::EditOp;
use terravox::replicate::Verdict;
use terravox::voxel::Region;

/// Decides about an operation, in voxels, of a guest with a number and a right. It is called on the
/// world's thread, for at most
/// [`HostOptions::edits_per_s`](terravox::replicate::HostOptions::edits_per_s) operations a second
/// of each guest: it must not wait. Pieces that a dig cuts loose are not asked for. In a world that
/// servers share, the server that decides is that of the column where the middle lies; what a
/// verdict lets through is then applied on both sides of a border.
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
    /// The parts that are to be applied here of operations that other servers decided about.
    pub fn due_parts(&mut self) -> Vec<DuePart> {
        self.columns.as_mut().map_or(Vec::new(), HeldColumns::due_parts)
    }

    /// Notes operations of guests of which only the part within a region was applied: other servers
    /// may have to apply theirs; and what came of the parts of theirs that were due.
    pub fn note_parts(&mut self, begun: &[(u64, Region, Box<EditOp>)], tried: &TriedParts) {
        if let Some(columns) = &mut self.columns {
            columns.note_parts(begun, tried);
        }
    }

    /// Whether cells may have changed that must not be saved, since what is to be saved with them
    /// is not noted yet.
    pub fn lacks_notes(&self) -> bool {
        self.columns.as_ref().is_some_and(|columns| columns.borders.lacks_notes())
    }

    /// Decides about an operation of a guest. A column is claimed only for what all rules allow.
    pub fn verdict(
        &mut self,
        guest: u64,
        right: Option<Right>,
        person: &Arc<str>,
        op: &EditOp,
        now: Instant,
    ) -> Verdict {
        let mut verdict = check_right(right, op, &self.protected);
        // A game is not asked about what another server decides about.
        if let (Verdict::Accept, Some(columns)) = (&verdict, &self.columns)
            && let Err(refusal) = columns.check(&AskedOp { guest, person, op, within: None })
        {
            verdict = Verdict::Refuse(refusal);
        }
        let verdict = match (verdict, right, &mut self.decide) {
            (Verdict::Accept, Some(right), Some(decide)) => decide(guest, right, op),
            (verdict, ..) => verdict,
        };
        let Some(columns) = &mut self.columns else { return verdict };
        let (op, within) = match &verdict {
            Verdict::Accept => (op, None),
            // What a game does instead may reach further.
            Verdict::Replace(other) => (&**other, None),
            Verdict::Part(other, within) => (&**other, Some(*within)),
            Verdict::Refuse(_) => return verdict,
        };
        match columns.reach(&AskedOp { guest, person, op, within }, now) {
            Ok(None) => verdict,
            Ok(Some(part)) => Verdict::Part(Box::new(op.clone()), part),
            Err(refusal) => Verdict::Refuse(refusal),
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
