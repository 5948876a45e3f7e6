//! What is counted, in the text format of Prometheus. The alerts and the dashboard of `deploy/` use these names.

use crate::gate::Gate;
use crate::journal::lock;
use crate::world::RunningWorld;
use std::fmt::Write;
use std::sync::atomic::Ordering;

/// A line for each counter of the server and of each of its worlds.
pub(crate) fn text(gate: &Gate) -> String {
    let mut text = format!("terravox_connections {}\n", gate.connections.count());
    for world in &gate.worlds {
        let label = format!("world=\"{}\"", world.name);
        for (name, value) in values(world) {
            // Writing to a string cannot fail. Names of worlds are checked at the start.
            let _ = writeln!(text, "terravox_{name}{{{label}}} {value}");
        }
        for share in [0.5, 0.99] {
            let time = world.counters.tick_quantile(share);
            let _ =
                writeln!(text, "terravox_tick_microseconds{{{label},quantile=\"{share}\"}} {time}");
        }
    }
    text
}

/// The counters of a world, and how it is now.
fn values(world: &RunningWorld) -> Vec<(&'static str, u64)> {
    let counters = &world.counters;
    let mut values: Vec<(&str, u64)> = [
        ("guests", &counters.guests),
        ("edits_applied_total", &counters.edits_applied),
        ("edits_saved_total", &counters.edits_saved),
        ("ticks_total", &counters.ticks),
        ("tick_microseconds_total", &counters.tick_us),
        ("tick_longest_microseconds", &counters.longest_tick_us),
        ("saves_total", &counters.saves),
        ("save_microseconds_total", &counters.save_us),
        ("failed_saves_total", &counters.failed_saves),
        ("refused_tokens_total", &counters.refused_tokens),
        ("packets_received_total", &counters.packets_in),
        ("packets_sent_total", &counters.packets_out),
        ("bytes_sent_total", &counters.bytes_out),
    ]
    .map(|(name, counter)| (name, counter.load(Ordering::Acquire)))
    .into();
    values.push(("journal_bytes", lock(&world.journal).bytes() as u64));
    values.push(("stopped", u64::from(world.has_stopped())));
    if let Some(columns) = &world.columns {
        let counts = columns.counts();
        let waiting = counters.border_operations.load(Ordering::Acquire);
        values.extend([
            ("columns_held", counts.held),
            ("columns_damaged", counts.damaged),
            ("columns_failed_looks_total", counts.failed_looks),
            ("border_operations_waiting", waiting),
            ("border_parts_refused_total", counters.refused_parts.load(Ordering::Acquire)),
        ]);
    }
    values
}
