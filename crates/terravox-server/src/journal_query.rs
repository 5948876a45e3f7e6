//! A selection of edits of a world, as the query of a URL.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt::Write;
use std::str::FromStr;
use terravox::edit::{Journal, JournalFilter};
use terravox::terrain::Placement;
use terravox::voxel::Region;

/// Edits that are listed unless a number is asked for.
const DEFAULT_LIMIT: usize = 100;

/// Maximum number of edits that are listed.
const MAX_LIMIT: usize = 10_000;

/// Maximum number of authors of a query: a rollback keeps them in each of its entries.
const MAX_AUTHORS: usize = 100;

/// Which edits of a world are meant: those for which all of it holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JournalQuery {
    /// Their authors: names of tokens, or IP addresses; any author if empty.
    pub authors: Vec<String>,
    /// Made then or later, Unix time in seconds.
    pub since: Option<u64>,
    /// Made before then, Unix time in seconds.
    pub until: Option<u64>,
    /// They changed cells between these corners, the lowest first, in metres.
    pub region_m: Option<[[f64; 3]; 2]>,
    /// The edit with this number. Of a rollback, any of its numbers means all of it.
    pub number: Option<u64>,
    /// How many are listed at most: the newest. 100 by default, at most 10,000. A rollback takes
    /// none.
    pub limit: Option<usize>,
}

impl JournalQuery {
    /// Writes the query of an address, with the question mark unless it is empty.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        let mut put = |key: &str, value: String| {
            let mark = if text.is_empty() { '?' } else { '&' };
            // Writing to a string cannot fail.
            let _ = write!(text, "{mark}{key}={}", utf8_percent_encode(&value, NON_ALPHANUMERIC));
        };
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let corners = self.region_m.map(|corners| {
            corners.as_flattened().iter().map(f64::to_string).collect::<Vec<_>>().join(",")
        });
        let limit = self.limit.map(|limit| limit.to_string());
        for author in &self.authors {
            put("author", author.clone());
        }
        for (key, value) in [
            ("since", number(self.since)),
            ("until", number(self.until)),
            ("in", corners),
            ("number", number(self.number)),
            ("limit", limit),
        ] {
            if let Some(value) = value {
                put(key, value);
            }
        }
        text
    }

    /// Reads the query of an address, without the question mark. Returns what is wrong with it.
    pub(crate) fn from_text(text: &str) -> Result<JournalQuery, String> {
        let mut query = JournalQuery::default();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            // Forms write spaces like that.
            let value = value.replace('+', " ");
            let value = percent_decode_str(&value).decode_utf8();
            let value = value.map_err(|_| format!("{key} is not UTF-8"))?;
            match key {
                "author" if query.authors.len() == MAX_AUTHORS => {
                    return Err(format!("author is there more than {MAX_AUTHORS} times"));
                }
                "author" if value.len() <= Journal::MAX_AUTHOR => {
                    query.authors.push(value.into_owned());
                }
                "author" => return Err("author has at most 64 bytes".to_owned()),
                "since" => set(&mut query.since, key, number(key, &value)?)?,
                "until" => set(&mut query.until, key, number(key, &value)?)?,
                "in" => set(&mut query.region_m, key, corners(&value)?)?,
                "number" => set(&mut query.number, key, number(key, &value)?)?,
                "limit" => {
                    let limit = number(key, &value)?;
                    if !(1..=MAX_LIMIT).contains(&limit) {
                        return Err(format!("limit is {limit}; it must be 1 to {MAX_LIMIT}"));
                    }
                    set(&mut query.limit, key, limit)?;
                }
                _ => {
                    return Err(format!(
                        "{key} is unknown; give author, since, until, in, number or limit"
                    ));
                }
            }
        }
        Ok(query)
    }

    /// Whether all edits are meant.
    pub(crate) fn is_everything(&self) -> bool {
        *self == JournalQuery { limit: self.limit, ..JournalQuery::default() }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(DEFAULT_LIMIT)
    }

    /// The same in voxels.
    pub(crate) fn filter(&self, placement: Placement) -> JournalFilter {
        JournalFilter {
            authors: self.authors.clone(),
            since: self.since,
            until: self.until,
            region: self.region_m.map(|[min, max]| placement.region(min, max)),
            number: self.number,
        }
    }
}

fn set<T>(field: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    match field.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("{key} is there twice")),
    }
}

fn number<T: FromStr>(key: &str, text: &str) -> Result<T, String> {
    let what = match key {
        "limit" => "a number of edits",
        "number" => "the number of an edit",
        _ => "a Unix time in seconds",
    };
    text.parse().map_err(|_| format!("{key} is \"{text}\"; give {what}"))
}

fn corners(text: &str) -> Result<[[f64; 3]; 2], String> {
    let wrong = || format!("in is \"{text}\"; give two corners in metres, the lowest first");
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    let numbers: [f64; 6] = numbers.ok().and_then(|n| n.try_into().ok()).ok_or_else(wrong)?;
    let [a, b, c, d, e, f] = numbers;
    let is_box = numbers.iter().all(|v| v.is_finite()) && a < d && b < e && c < f;
    if is_box { Ok([[a, b, c], [d, e, f]]) } else { Err(wrong()) }
}

/// The corners of a region of voxels in metres.
pub(crate) fn corners_m(region: Region, placement: Placement) -> [[f64; 3]; 2] {
    [region.min, region.max]
        .map(|corner| placement.world_from_voxel(corner.to_array().map(f64::from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_as_they_were_written() {
        let query = JournalQuery {
            authors: vec!["ada & çelik+1".to_owned(), "bob".to_owned()],
            since: Some(1_764_000_000),
            until: Some(u64::MAX),
            region_m: Some([[-1.5, 0.0, 1e-3], [2.25, 1e9, 7.0]]),
            number: Some(12),
            limit: Some(7),
        };
        let text = query.to_text();
        assert!(text.starts_with("?author=ada") && text.is_ascii(), "{text}");
        assert_eq!(JournalQuery::from_text(&text[1..]), Ok(query));
        assert_eq!(JournalQuery::default().to_text(), "");
        assert_eq!(JournalQuery::from_text(""), Ok(JournalQuery::default()));
        let read = JournalQuery::from_text("in=-1,-2,-3,1,2,3&author=a+b").expect("sound");
        assert_eq!(read.authors, ["a b"]);
        assert!(!read.is_everything());
    }

    #[test]
    fn invalid_queries_are_refused_with_a_reason() {
        for (text, reason) in [
            ("who=ada", "unknown"),
            ("since=yesterday", "Unix time"),
            ("since=-5", "Unix time"),
            ("limit=0", "1 to 10000"),
            ("limit=10001", "1 to 10000"),
            ("in=0,0,0,1,1", "two corners"),
            ("in=0,0,0,1,1,0", "lowest first"),
            ("in=0,0,0,1,1,NaN", "two corners"),
            ("in=0,0,0,1,1,inf", "two corners"),
            ("author=%ff", "UTF-8"),
            ("since=1&since=2", "twice"),
        ] {
            let error = JournalQuery::from_text(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
        let long = format!("author={}", "a".repeat(65));
        assert!(JournalQuery::from_text(&long).is_err());
        assert!(JournalQuery::from_text("limit=5").expect("sound").is_everything());
    }
}
