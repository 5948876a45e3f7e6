//! Arguments of `journal` and `rollback`.

use super::online::{MetreBox, corners};
use super::values::integer;
use clap::Args;
use std::time::{SystemTime, UNIX_EPOCH};
use terravox_server::WorldAddress;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Help of `journal`.
pub const JOURNAL_HELP: &str = "\
Example:
  terravox journal localhost
  terravox journal localhost/caves --author ada --since 2h
  terravox journal localhost --in -20,0,-20,20,60,20 --since 2026-11-25T06:00:00Z --json

A line for each edit, the newest first: time (UTC), number, author, what made it (edit, undo, piece,
rollback, or forgotten: an edit that can no longer be rolled back), the box that it changed in metres,
cells. The author is the name of the token, else the IP address. The command runs on the machine of the
server. A server that has tokens wants one for administering.";

/// Help of `rollback`.
pub const ROLL_BACK_HELP: &str = "\
Example:
  terravox rollback localhost --author 192.0.2.7 --since 30m
  terravox rollback localhost/caves --in -20,0,-20,20,60,20 --since 1d --token WORD

Every cell that a matching edit changed becomes what it was before that edit, unless another edit
changed it later. List the matching edits with terravox journal first. With --in, only cells inside the
box are restored. Rolling back several authors one after the other does the same as all together. A
rollback is in the journal, too, so it can be rolled back, by --number. --cancel stops and reverts the running one.";

/// Selects edits: those that meet all conditions.
#[derive(Clone, Debug, Args)]
pub struct EditSelection {
    /// Edits of this author: the name of a token, or an IP address; can be given several times
    #[arg(long = "author", value_name = "NAME")]
    pub authors: Vec<String>,
    /// Edits since then: 90s, 10m, 2h or 3d ago, or a time in UTC as journal prints it
    #[arg(long, value_parser = past_time, value_name = "TIME")]
    pub since: Option<u64>,
    /// Edits before then
    #[arg(long, value_parser = past_time, value_name = "TIME")]
    pub until: Option<u64>,
    /// Edits in a box, in metres
    #[arg(long = "in", value_parser = corners, value_name = "X,Y,Z,X,Y,Z",
        allow_hyphen_values = true)]
    pub region_m: Option<MetreBox>,
}

/// Arguments of `journal`.
#[derive(Debug, Args)]
pub struct JournalArgs {
    /// The world: HOST[:PORT][/WORLD]
    #[arg(value_name = "ADDRESS")]
    pub address: WorldAddress,
    #[command(flatten)]
    pub which: EditSelection,
    /// Maximum number of edits that are printed
    #[arg(long, default_value_t = 100, value_parser = |text: &str| integer(text, 1..=10_000_usize),
        value_name = "N")]
    pub limit: usize,
    /// The token for administering
    #[arg(long, default_value = "", hide_default_value = true, value_name = "WORD")]
    pub token: String,
}

/// Arguments of `rollback`.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    /// The world: HOST[:PORT][/WORLD]
    #[arg(value_name = "ADDRESS")]
    pub address: WorldAddress,
    #[command(flatten)]
    pub which: EditSelection,
    /// The edit, or the rollback, with this number in the journal
    #[arg(long, value_name = "N")]
    pub number: Option<u64>,
    /// Cancel the running rollback
    #[arg(long, conflicts_with_all = ["authors", "since", "until", "region_m", "number"])]
    pub cancel: bool,
    /// The token for administering
    #[arg(long, default_value = "", hide_default_value = true, value_name = "WORD")]
    pub token: String,
}

/// Parses a time, as a Unix time in seconds.
fn past_time(text: &str) -> Result<u64, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    time_at(text, now).ok_or_else(|| "give 90s, 10m, 2h, 3d or 2026-11-25T06:00:00Z".to_owned())
}

fn time_at(text: &str, now: u64) -> Option<u64> {
    if let Ok(time) = OffsetDateTime::parse(text, &Rfc3339) {
        return u64::try_from(time.unix_timestamp()).ok();
    }
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return None,
    };
    let count: u64 = text[..text.len() - 1].parse().ok()?;
    Some(now.saturating_sub(count.checked_mul(unit)?))
}

/// Returns a Unix time in UTC, as `2026-11-25T06:00:00Z`.
pub fn utc_text(seconds: u64) -> String {
    // Years have four digits.
    let seconds = seconds.min(253_402_300_799).cast_signed();
    let time = OffsetDateTime::from_unix_timestamp(seconds).expect("a year below 10,000");
    time.format(&Rfc3339).expect("a year of four digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ages_or_utc() {
        let at = |text: &str| time_at(text, 1_764_000_000);
        assert_eq!([at("90s"), at("10m")], [Some(1_763_999_910), Some(1_763_999_400)]);
        assert_eq!([at("2h"), at("3d")], [Some(1_763_992_800), Some(1_763_740_800)]);
        assert_eq!(at("99999999999d"), Some(0));
        assert_eq!(at("2025-11-24T16:00:00Z"), Some(1_764_000_000));
        assert_eq!(at("2025-11-24 16:00:00Z"), Some(1_764_000_000));
        assert_eq!(at("2025-11-24T18:00:00+02:00"), Some(1_764_000_000));
        for wrong in [
            "",
            "10",
            "m",
            "-5m",
            "1w",
            "ä",
            "2025-02-29T00:00:00Z",
            "2025-11-24T24:00:00Z",
            "Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(utc_text(seconds), text);
            assert_eq!(time_at(text, 0), Some(seconds));
        }
        assert_eq!(utc_text(u64::MAX), "9999-12-31T23:59:59Z");
    }
}
