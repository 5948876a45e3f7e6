//! Requests over HTTP about who changed what: the journal of a world, and rollbacks.

use crate::connections::Pass;
use crate::gate::Gate;
use crate::journal::newest_first;
use crate::journal_query::{JournalQuery, corners_m};
use crate::log::info;
use crate::request_checks::{Refusal, check_administrator, check_site, refusal, world};
use crate::rollback::{CancelOrder, RollbackOrder};
use crate::world::RunningWorld;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Extension, Router};
use std::fmt::{Display, Write};
use std::sync::Arc;
use terravox::edit::{JournalEntry, JournalKind};
use terravox::replicate::printable;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// The addresses of these requests.
pub(crate) fn routes() -> Router<Arc<Gate>> {
    Router::new()
        .route("/journal", get(list))
        .route("/journal/{name}", get(list))
        .route("/rollback", post(roll_back).delete(cancel))
        .route("/rollback/{name}", post(roll_back).delete(cancel))
}

/// What a request is about: who asks, in which world, for which edits.
type JournalRequest = (String, Arc<RunningWorld>, JournalQuery);

/// Checks a request.
fn check(
    gate: &Gate,
    name: Option<Path<String>>,
    pass: &Pass,
    headers: &HeaderMap,
    query: Option<String>,
) -> Result<JournalRequest, Refusal> {
    check_site(headers, gate.access.is_open())?;
    let who = check_administrator(gate, pass, headers)?;
    let world = world(gate, name)?;
    if world.columns.is_some() {
        let what =
            "servers share this world, so it has no journal: nothing is listed or rolled back";
        return Err(refusal(StatusCode::NOT_FOUND, what));
    }
    let query = JournalQuery::from_text(query.as_deref().unwrap_or_default());
    Ok((who, world, query.map_err(|what| refusal(StatusCode::BAD_REQUEST, what))?))
}

fn failed(why: impl Display) -> Refusal {
    refusal(StatusCode::INTERNAL_SERVER_ERROR, why)
}

/// Lists edits, the newest first, a line each.
async fn list(
    State(gate): State<Arc<Gate>>,
    name: Option<Path<String>>,
    Extension(pass): Extension<Arc<Pass>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<String, Refusal> {
    let (_, world, query) = check(&gate, name, &pass, &headers, query)?;
    let listed = spawn_blocking(move || {
        let placement = world.placement;
        let filter = query.filter(placement);
        let matching = newest_first(&world.journal).filter(|entry| filter.matches(entry));
        let mut text = String::new();
        for entry in matching.take(query.limit()) {
            let is_forgotten = entry.is_forgotten();
            let JournalEntry { number, author, kind, time, region, cells, before } = entry;
            // A rollback of what others had overwritten changed none.
            let corners = match region.is_empty() {
                true => String::new(),
                false => corners_m(region, placement)
                    .as_flattened()
                    .iter()
                    .map(f64::to_string)
                    .collect::<Vec<_>>()
                    .join(","),
            };
            let bytes = before.bytes();
            let kind = if is_forgotten { "forgotten" } else { kind_name(&kind) };
            // A file can hold any text.
            let author = printable(&author);
            // Writing to a string cannot fail.
            let _ =
                writeln!(text, "{number}\t{time}\t{author}\t{corners}\t{cells}\t{bytes}\t{kind}");
        }
        text
    });
    listed.await.map_err(failed)
}

/// The name of what made an entry.
fn kind_name(kind: &JournalKind) -> &'static str {
    match kind {
        JournalKind::Edit => "edit",
        JournalKind::Undo => "undo",
        JournalKind::Piece => "piece",
        JournalKind::Rollback(_) => "rollback",
    }
}

/// Rolls edits back; returns how many matched, and how many cells were restored.
async fn roll_back(
    State(gate): State<Arc<Gate>>,
    name: Option<Path<String>>,
    Extension(pass): Extension<Arc<Pass>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<String, Refusal> {
    let (who, world, query) = check(&gate, name, &pass, &headers, query)?;
    let wrong = |what| Err(refusal(StatusCode::BAD_REQUEST, what));
    if query.limit.is_some() {
        return wrong("a rollback takes no limit; give author, since, until, in or number");
    }
    if query.is_everything() {
        return wrong("say what is to be rolled back: give author, since, until, in or number");
    }
    let conflict = |_| refusal(StatusCode::CONFLICT, "a rollback of this world is under way");
    let one_at_a_time = world.rollback_lock.clone().try_lock_owned().map_err(conflict)?;
    let (done, on_done) = oneshot::channel();
    let filter = query.filter(world.placement);
    world.order_roll_back(RollbackOrder { filter, author: who.clone(), done, one_at_a_time });
    let rolled_back = on_done
        .await
        .map_err(|_| failed("the rollback was given up; the log of the server says why"))?;
    info!(world = world.name, by = who, ?rolled_back, "rolled back");
    Ok(rolled_back.to_text())
}

/// Cancels the running rollback; returns how many cells were reverted.
async fn cancel(
    State(gate): State<Arc<Gate>>,
    name: Option<Path<String>>,
    Extension(pass): Extension<Arc<Pass>>,
    headers: HeaderMap,
) -> Result<String, Refusal> {
    let (author, world, _) = check(&gate, name, &pass, &headers, None)?;
    let (done, on_done) = oneshot::channel();
    world.cancel_rollback(CancelOrder { author, done });
    let nothing = |_| refusal(StatusCode::CONFLICT, "no rollback of this world is under way");
    let cells = on_done.await.map_err(nothing)?;
    Ok(format!("cells {cells}\n"))
}
