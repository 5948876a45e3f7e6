//! Decides which operations of guests a world allows.

use crate::access::Right;
use crate::borders::{Borders, DuePart, TriedParts};
use crate::held_columns::{AskedOp, HeldColumns};
use crate::server_reason::ServerReason;
use std::sync::Arc;
use std::time::Instant;
use terravox::edit::EditOp;
use terravox::replicate::Verdict;
use terravox::voxel::Region;

/// Who asks for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditAuthor<'a> {
    /// The number of the guest, as long as its connection lasts.
    pub guest: u64,
    /// What it may do.
    pub right: Right,
    /// Its name in the journal of the world: that of its token, or its address.
    pub name: &'a str,
}

/// Decides about an operation, in voxels. It runs on the thread of the world, so it must not block.
/// It is called at most
/// [`HostOptions::edits_per_s`](terravox::replicate::HostOptions::edits_per_s) times a second for
/// each account, and twice as many at once. It is not called for undo and redo, nor for pieces that a
/// dig cuts loose. An operation that it returns in place of the guest's is refused, too, if it
/// reaches into a protected region. In a
/// world that servers share, the server of the column that contains the middle of the operation
/// decides; the result applies on both sides of a border.
pub type Decide = Box<dyn FnMut(EditAuthor<'_>, &EditOp) -> Verdict + Send>;

/// What decides about operations: rights, protected regions, the rules of a game.
pub(crate) struct EditRules {
    /// Regions, in voxels, in which only administrators may change anything.
    pub protected: Vec<Region>,
    /// The rules of a game; they see what rights and protection allow.
    pub decide: Option<Decide>,
    /// The columns of a world that several servers share.
    pub columns: Option<HeldColumns>,
    /// Of a world that one server has, what servers that shared it left unfinished.
    pub leftover: Borders,
    /// Chunks that are unsaved, and how many may be.
    pub unsaved_chunks: usize,
    pub max_unsaved_chunks: usize,
}

impl EditRules {
    /// Operations that reach over borders.
    pub fn borders(&self) -> &Borders {
        self.columns.as_ref().map_or(&self.leftover, |columns| &columns.borders)
    }

    /// Notes that a state of them is saved.
    pub fn note_borders_saved(&mut self, state: u64) {
        let columns = self.columns.as_mut();
        columns.map_or(&mut self.leftover, |columns| &mut columns.borders).note_saved(state);
    }

    /// The parts that are to be applied here of operations that other servers decided about.
    pub fn due_parts(&mut self) -> Vec<DuePart> {
        match &mut self.columns {
            Some(columns) => columns.due_parts(),
            None => self.leftover.due(|_| true),
        }
    }

    /// Notes operations of guests of which only the part within a region was applied: other servers
    /// may have to apply theirs; and what came of the parts of theirs that were due.
    pub fn note_parts(&mut self, begun: &[(u64, Region, Box<EditOp>)], tried: &TriedParts) {
        match &mut self.columns {
            Some(columns) => columns.note_parts(begun, tried),
            None => self.leftover.note_parts(tried, |_| true),
        }
    }

    /// Whether cells may have changed that must not be saved, since what is to be saved with them
    /// is not noted yet.
    pub fn lacks_notes(&self) -> bool {
        self.borders().lacks_notes()
    }

    /// Decides about an operation of a guest whose budget is that of an account. A column is
    /// claimed only for what all rules allow.
    pub fn verdict(
        &mut self,
        author: EditAuthor<'_>,
        account: &Arc<str>,
        op: &EditOp,
        now: Instant,
    ) -> Verdict {
        let guest = author.guest;
        if self.unsaved_chunks >= self.max_unsaved_chunks {
            let what = "too much of this world is not saved yet; try again";
            return Verdict::Refuse(ServerReason::TooMuchUnsaved.refusal(what));
        }
        let mut verdict = check_right(author.right, op, &self.protected);
        // A game is not asked about what another server decides about.
        if let (Verdict::Accept, Some(columns)) = (&verdict, &self.columns)
            && let Err(refusal) = columns.check(&AskedOp { guest, account, op, within: None })
        {
            verdict = Verdict::Refuse(refusal);
        }
        let verdict = match (verdict, &mut self.decide) {
            (Verdict::Accept, Some(decide)) => decide(author, op),
            (verdict, _) => verdict,
        };
        // What a game does instead is not above protection.
        let verdict = match &verdict {
            Verdict::Replace(other) | Verdict::Part(other, _) => {
                match check_right(author.right, other, &self.protected) {
                    Verdict::Accept => verdict,
                    refused => refused,
                }
            }
            _ => verdict,
        };
        let Some(columns) = &mut self.columns else { return verdict };
        let (op, within) = match &verdict {
            Verdict::Accept => (op, None),
            // What a game does instead may reach further.
            Verdict::Replace(other) => (&**other, None),
            Verdict::Part(other, within) => (&**other, Some(*within)),
            Verdict::Refuse(_) => return verdict,
        };
        match columns.reach(&AskedOp { guest, account, op, within }, now) {
            Ok(None) => verdict,
            Ok(Some(part)) => Verdict::Part(Box::new(op.clone()), part),
            Err(refusal) => Verdict::Refuse(refusal),
        }
    }
}

/// Decides about an operation by the right of its guest.
fn check_right(right: Right, op: &EditOp, protected: &[Region]) -> Verdict {
    match right {
        Right::Administer => Verdict::Accept,
        Right::Edit if protected.is_empty() => Verdict::Accept,
        Right::Edit => match op.region() {
            Err(error) => Verdict::Refuse(error.into()),
            Ok(region) if protected.iter().all(|part| part.intersect(region).is_empty()) => {
                Verdict::Accept
            }
            Ok(_) => {
                let what = "this part of the world is protected";
                Verdict::Refuse(ServerReason::Protected.refusal(what))
            }
        },
        Right::Look => {
            Verdict::Refuse(ServerReason::LookOnly.refusal("your token is for looking only"))
        }
    }
}
