//! Arguments of `path`.

use super::groups::{ReadArgs, ViewArgs};
use super::values::{integer, number, numbers, positive};
use clap::Args;
use std::path::PathBuf;
use terravox_paths::WaterRule;

/// Help of `path`.
pub(super) const PATH_HELP: &str = "\
Example:
  terravox path world.tvx 10,-20 80,45
  terravox path place.rbxl 0,4,0 120,30,-60 --radius 0.5 --slope 40
  terravox path hills:7 0,0 300,-200 --render path.png

An end is X,Z, the highest ground there that can be walked on, or X,Y,Z, the ground next to it. That
there is no path is not an error: the report says what there is, and the exit code is 0.";

/// Start or goal of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathEnd {
    /// The highest ground at x and z, metres.
    Highest([f64; 2]),
    /// The ground next to a point, metres.
    Near([f64; 3]),
}

/// Arguments of `path`.
#[derive(Clone, Debug, Args)]
pub struct PathArgs {
    /// A world or its address, any file that can be imported, or hills:SEED or world:SEED:PRESET
    pub world: PathBuf,
    /// Start in metres
    #[arg(value_parser = end, value_name = "FROM", allow_hyphen_values = true)]
    pub from: PathEnd,
    /// Goal in metres
    #[arg(value_parser = end, value_name = "TO", allow_hyphen_values = true)]
    pub to: PathEnd,
    /// Keep the walker's centre this far from walls and drops, in metres
    #[arg(long, default_value_t = 0.4, value_parser = number, value_name = "M")]
    pub radius: f64,
    /// Room that the walker needs above the ground, in metres
    #[arg(long, default_value_t = 1.8, value_parser = number, value_name = "M")]
    pub height: f64,
    /// Steps that the walker takes, however steep, in metres
    #[arg(long, default_value_t = 0.5, value_parser = number, value_name = "M")]
    pub climb: f64,
    /// The steepest ground that the walker takes, in degrees
    #[arg(long, default_value_t = 45.0, value_parser = number, value_name = "DEGREES")]
    pub slope: f64,
    /// Depth of water that counts as dry, in metres
    #[arg(long, default_value_t = 0.6, value_parser = number, value_name = "M")]
    pub wade: f64,
    /// Deeper water: forbidden, or how many times the cost of dry ground
    #[arg(long, default_value = "forbidden", value_parser = water, value_name = "forbidden|COST")]
    pub water: WaterRule,
    /// Path cells along the edge of a voxel, on which the ground is sampled: 1, 2 or 4
    #[arg(long, default_value_t = 2, value_parser = path_cells, value_name = "N")]
    pub cells_per_voxel: u8,
    /// X,Y,Z: the ground may lie this far from the point, in metres [default: 8 voxels]
    #[arg(long, value_parser = positive, value_name = "M")]
    pub snap: Option<f64>,
    /// Endless worlds: search this far around the ends, in metres
    #[arg(long, default_value_t = 96.0, value_parser = positive, value_name = "M")]
    pub around: f64,
    /// Render a picture of the world with the path as a line (.png)
    #[arg(long, value_name = "FILE")]
    pub render: Option<PathBuf>,
    /// --render: draw the rectangles that can be walked on, too
    #[arg(long, requires = "render")]
    pub rectangles: bool,
    #[command(flatten)]
    pub view: ViewArgs,
    #[command(flatten)]
    pub reading: ReadArgs,
}

fn end(text: &str) -> Result<PathEnd, String> {
    match numbers(text) {
        Ok(point) => Ok(PathEnd::Near(point)),
        Err(_) => numbers(text)
            .map(PathEnd::Highest)
            .map_err(|_| "give X,Z or X,Y,Z, numbers separated by commas".to_owned()),
    }
}

fn water(text: &str) -> Result<WaterRule, String> {
    if text == "forbidden" {
        return Ok(WaterRule::Forbidden);
    }
    let cost = number(text).ok().filter(|cost| (1.0..=1e6).contains(cost));
    cost.map(WaterRule::Cost).ok_or_else(|| "give forbidden, or a number from 1 to 1e6".to_owned())
}

fn path_cells(text: &str) -> Result<u8, String> {
    let path_cells = integer(text, 1..=4_u8)?;
    if path_cells == 3 { Err("give 1, 2 or 4".to_owned()) } else { Ok(path_cells) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_two_or_three_numbers() {
        assert_eq!(end("1,-2"), Ok(PathEnd::Highest([1.0, -2.0])));
        assert_eq!(end("1,-2,3"), Ok(PathEnd::Near([1.0, -2.0, 3.0])));
        assert!(end("1").is_err() && end("1,2,3,4").is_err() && end("a,b").is_err());
        assert_eq!(water("2.5"), Ok(WaterRule::Cost(2.5)));
        assert!(water("0.5").is_err() && water("dry").is_err() && path_cells("3").is_err());
    }
}
