//! Worlds in a database, beside the same worlds in files.

#[cfg(feature = "cluster")]
mod postgres;

#[cfg(feature = "cluster")]
pub use postgres::run;

/// Without the client there is nothing to measure.
#[cfg(not(feature = "cluster"))]
pub fn run(report: &mut crate::report::AreaReport) {
    for id in ["pg_chunks_per_s", "pg_commit_ms", "pg_load_region_ms"] {
        report.not_measured(id, "build with --features cluster");
    }
}
