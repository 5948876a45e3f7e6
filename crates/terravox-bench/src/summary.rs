//! The first screen of `docs/benchmarks.md`: every area beside its best peer, made from the
//! figures that stand in the document.

use crate::figures::{self, Bound};
use crate::report::number;

/// A line of the summary.
struct SummaryLine {
    figure: &'static str,
    what: &'static str,
    peer: Option<Peer>,
}

struct Peer {
    name: &'static str,
    /// Unit of the figure's baseline, if the figure itself is a ratio.
    baseline_unit: &'static str,
}

const fn alone(figure: &'static str, what: &'static str) -> SummaryLine {
    SummaryLine { figure, what, peer: None }
}

const fn beside(
    figure: &'static str,
    what: &'static str,
    name: &'static str,
    baseline_unit: &'static str,
) -> SummaryLine {
    SummaryLine { figure, what, peer: Some(Peer { name, baseline_unit }) }
}

const FSN: &str = "fast-surface-nets";

const LINES: &[SummaryLine] = &[
    beside("row_read_ratio", "reading all rows", "dense chunks", "GB/s"),
    beside("random_read_ratio", "a random cell", "dense chunks", "ns"),
    beside("rle_encode", "encoding chunks", "LZ4", ""),
    beside("rle_decode", "decoding chunks", "LZ4", ""),
    beside("mesh_default_64_vs_fsn", "meshing 64³", FSN, "ns/voxel"),
    beside("mesh_default_8_vs_fsn", "meshing 8³", FSN, "ns/voxel"),
    beside("sphere24_rms", "error on balls", FSN, ""),
    beside("box_edge_rms", "error on box edges", FSN, ""),
    beside("ray_vs_embree", "a ray through a block", "Embree", "ns"),
    beside("box_vs_parry", "triangles in a box", "parry", "ns"),
    beside("broad_query_vs_parry", "a box query of the world", "parry Bvh", "ns"),
    beside("edit_to_collidable_vs_parry", "a dig until it collides", "parry TriMesh", "µs"),
    beside("rest_1000_vs_trimesh", "a step, 1000 balls at rest", "parry TriMesh", "ms"),
    beside("roll_1000_vs_trimesh", "a step, 1000 balls rolling", "parry TriMesh", "ms"),
    beside("sine_dv_vs_one_mesh", "bump of a ball over hills", "parry TriMesh", "m/s"),
    beside("inside_recovered", "bodies freed from the ground", "parry TriMesh", ""),
    alone("ball16_cells_per_s", "digging, cells"),
    alone("view_16km_seconds", "a 16 km view from nothing"),
    alone("fly_worker_ms", "flying, work per frame"),
    alone("particles_per_s", "particle updates"),
    alone("octree_ns_voxel", "an octree of densities"),
    alone("detach_ms", "a cut bridge until it is a body"),
    alone("edit_to_collidable_us", "a dig until it collides"),
    alone("update_over_budget_ms", "the worst frame over its budget"),
];

/// Returns the summary of the figures in `document`, as a Markdown table.
///
/// # Errors
/// Names a figure that the document lacks.
pub fn table(document: &str) -> Result<String, String> {
    let mut text: String =
        "| area | | ours | peer | better by | figure |\n|---|---|---|---|---|---|\n".into();
    for line in LINES {
        text += &cells(line, document)?;
    }
    Ok(text)
}

fn cells(line: &SummaryLine, document: &str) -> Result<String, String> {
    let start = format!("| {} | ", line.figure);
    let row = document.lines().find(|row| row.starts_with(&start));
    let row = row.ok_or_else(|| format!("it has no line of the figure {}", line.figure))?;
    let cells: Vec<&str> = row.trim_matches('|').splitn(9, '|').map(str::trim).collect();
    let cell = |at: usize| cells.get(at).and_then(|cell| cell.parse::<f64>().ok());
    let (value, baseline, ratio) = (cell(1), cell(6), cell(7));
    let figure = figures::find(line.figure);
    let with_unit = |value: Option<f64>, unit: &str| {
        value.map_or("–".to_string(), |value| format!("{} {unit}", number(value)))
    };
    let (mut ours, mut theirs, mut factor) = (with_unit(value, figure.unit), String::new(), None);
    if let Some(peer) = &line.peer {
        let is_ratio = figure.unit == "×";
        let ratio = if is_ratio { value } else { ratio };
        factor = ratio.map(|ratio| match figure.bound {
            Bound::AtLeast(_) => ratio,
            Bound::AtMost(_) => 1.0 / ratio,
        });
        let unit = if is_ratio { peer.baseline_unit } else { figure.unit };
        if is_ratio {
            let more_is_better = unit.ends_with("B/s");
            let own = baseline.zip(factor).map(|(baseline, factor)| {
                if more_is_better { baseline * factor } else { baseline / factor }
            });
            ours = with_unit(own, unit);
        }
        theirs = match baseline {
            Some(baseline) => format!("{} {} {unit}", peer.name, number(baseline)),
            None => peer.name.to_string(),
        };
    }
    let factor = factor.map_or(String::new(), |factor| format!("{factor:.2}"));
    let (area, what, id) = (figure.area.name(), line.what, line.figure);
    Ok(format!("| {area} | {what} | {ours} | {theirs} | {factor} | `{id}` |\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(figure: &str) -> &'static SummaryLine {
        LINES.iter().find(|line| line.figure == figure).unwrap()
    }

    #[test]
    fn ratios_of_times_and_of_rates_become_factors_above_1_where_we_are_better() {
        let time = "| mesh_default_64_vs_fsn | 0.5 | × | ≤ 0.6 | 0.4 | ok | 6 | 0.5 | a | b |";
        let cells_ = cells(line_of("mesh_default_64_vs_fsn"), time).unwrap();
        assert!(
            cells_.contains("| 3 ns/voxel | fast-surface-nets 6 ns/voxel | 2.00 |"),
            "{cells_}"
        );
        let rate = "| row_read_ratio | 0.5 | × | ≥ 0.8 | 1 | SHORT | 8 | 0.5 | |";
        let cells_ = cells(line_of("row_read_ratio"), rate).unwrap();
        assert!(cells_.contains("| 4 GB/s | dense chunks 8 GB/s | 0.50 |"), "{cells_}");
        let own_unit = "| sphere24_rms | 2 | voxels | ≤ 9 | | ok | 8 | 0.25 | |";
        let cells_ = cells(line_of("sphere24_rms"), own_unit).unwrap();
        assert!(cells_.contains("| 2 voxels | fast-surface-nets 8 voxels | 4.00 |"), "{cells_}");
        let no_baseline = "| ray_vs_embree | 1.5 | × | ≥ 1.2 | | ok |  |  | |";
        let cells_ = cells(line_of("ray_vs_embree"), no_baseline).unwrap();
        assert!(cells_.contains("| – | Embree | 1.50 |"), "{cells_}");
    }

    #[test]
    fn a_missing_figure_is_named() {
        assert!(table("nothing").unwrap_err().contains("row_read_ratio"));
    }
}
