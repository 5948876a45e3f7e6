//! Worlds in a database, beside the same worlds in files, and in S3.

use crate::report::{AreaPart, AreaReport};

#[cfg(feature = "cluster")]
pub mod border;
#[cfg(feature = "cluster")]
mod border_faults;
#[cfg(feature = "cluster")]
mod crossing;
#[cfg(feature = "cluster")]
mod postgres;
#[cfg(feature = "cluster")]
mod s3;
#[cfg(feature = "cluster")]
mod stale;
#[cfg(feature = "cluster")]
pub mod takeover;

/// The server of the tests.
#[cfg(feature = "cluster")]
#[path = "../../../terravox-postgres/tests/it/server/mod.rs"]
mod server;

/// The networks of the tests.
#[cfg(feature = "cluster")]
#[path = "../../../terravox-postgres/tests/it/proxy.rs"]
mod proxy;

/// The writers of the tests.
#[cfg(feature = "cluster")]
#[path = "../../../terravox-postgres/tests/it/takeovers.rs"]
pub mod takeovers;

/// The places and players of the tests.
#[cfg(feature = "cluster")]
#[path = "../../../terravox-cli/tests/cli/border_places.rs"]
mod places;

/// The parts of the area, in the order in which they run.
pub const PARTS: &[AreaPart] = &[
    AreaPart::new("postgres", postgres),
    AreaPart::new("takeover", takeover),
    AreaPart::new("stale", stale),
    AreaPart::new("border", border),
    AreaPart::new("faults", border_faults),
    AreaPart::new("s3", published),
];

fn postgres(report: &mut AreaReport) {
    let ids = ["pg_chunks_per_s", "pg_commit_ms", "pg_load_region_ms"];
    #[cfg(feature = "cluster")]
    with_server(report, &ids, postgres::run);
    #[cfg(not(feature = "cluster"))]
    without_client(report, &ids);
}

fn takeover(report: &mut AreaReport) {
    let ids = ["takeover_s", "lost_edits"];
    #[cfg(feature = "cluster")]
    with_server(report, &ids, takeover::run);
    #[cfg(not(feature = "cluster"))]
    without_client(report, &ids);
}

fn stale(report: &mut AreaReport) {
    let ids = ["stale_writes"];
    #[cfg(feature = "cluster")]
    with_server(report, &ids, stale::run);
    #[cfg(not(feature = "cluster"))]
    without_client(report, &ids);
}

fn border_faults(report: &mut AreaReport) {
    let ids = ["doubled_or_missing_border_edits"];
    #[cfg(feature = "cluster")]
    with_server(report, &ids, border_faults::run);
    #[cfg(not(feature = "cluster"))]
    without_client(report, &ids);
}

fn border(report: &mut AreaReport) {
    let ids = ["border_edit_ms", "crossing_stall_ms", "border_takeover_s"];
    #[cfg(feature = "cluster")]
    with_server(report, &ids, border::run);
    #[cfg(not(feature = "cluster"))]
    without_client(report, &ids);
}

fn published(report: &mut AreaReport) {
    #[cfg(feature = "cluster")]
    s3::run(report);
    #[cfg(not(feature = "cluster"))]
    without_client(report, &["s3_first_block_ms", "s3_overhead"]);
}

#[cfg(not(feature = "cluster"))]
fn without_client(report: &mut AreaReport, ids: &[&'static str]) {
    ids.iter().for_each(|id| report.not_measured(id, "build with --features cluster"));
}

#[cfg(feature = "cluster")]
fn with_server(
    report: &mut AreaReport,
    ids: &[&'static str],
    measure: impl Fn(&mut AreaReport, &mut server::Server) -> Result<(), terravox_store::StoreError>,
) {
    let Some(server) = server::Server::start_in(&std::env::temp_dir(), "bench", &[]) else {
        ids.iter().for_each(|id| report.not_measured(id, "this machine has no PostgreSQL"));
        return;
    };
    if let Err(error) = measure(report, &mut server.run()) {
        ids.iter().for_each(|id| report.not_measured(id, error.to_string()));
    }
}
