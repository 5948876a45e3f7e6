//! Where a published world is: `s3://BUCKET/PATH?PARAMETERS`.

use crate::failure::refused;
use std::path::PathBuf;
use terravox_store::StoreError;

const SCHEME: &str = "s3://";

/// The parameters that there are.
const PARAMETERS: &str = "endpoint, region and anonymous";

/// The region of services that have none.
const USUAL_REGION: &str = "us-east-1";

/// Longest path of a world, in bytes: the names of its objects are 80 bytes longer, and S3 takes
/// 1,024.
const MAX_PATH_BYTES: usize = 900;

/// The address of a published world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub bucket: String,
    /// The path of the world in the bucket, without slashes at its ends.
    pub path: String,
    /// Bucket and path: the path in errors.
    pub shown: PathBuf,
    /// The service, if it is not that of Amazon.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// Whether requests are not signed.
    pub is_anonymous: bool,
}

impl Address {
    /// Whether a text is meant as an address.
    pub fn is_one(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Parses an address. Keys come from the environment, never from it.
    ///
    /// # Errors
    /// If it is not one.
    pub fn parse(text: &str) -> Result<Address, StoreError> {
        // What is before an @ may be a key with any characters, which no message shows.
        let rest = text.rsplit_once('@').map_or(text, |(_, rest)| rest);
        let rest = rest.strip_prefix(SCHEME).unwrap_or(rest);
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let shown = PathBuf::from(format!("{SCHEME}{place}"));
        let wrong = |what: &str| refused(&shown, what.to_owned());
        if !Address::is_one(text) {
            return Err(wrong("an address in S3 starts with s3://"));
        }
        if text.contains('@') {
            return Err(wrong(
                "an address has no keys and no @; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            ));
        }
        let (bucket, path) = place.split_once('/').unwrap_or((place, ""));
        if !is_bucket(bucket) {
            return Err(wrong("name a bucket after s3://: 3 to 63 of a-z, 0-9, - and ."));
        }
        let path = path.strip_suffix('/').unwrap_or(path);
        if !is_path(path) {
            return Err(wrong(
                "name the world after the bucket, such as s3://worlds/hills; its path has letters, \
                 digits, -, _, . and /",
            ));
        }
        let mut address = Address {
            bucket: bucket.to_owned(),
            path: path.to_owned(),
            shown: PathBuf::from(format!("{SCHEME}{bucket}/{path}")),
            endpoint: None,
            region: None,
            is_anonymous: false,
        };
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            address.set(parameter).map_err(|what| wrong(&what))?;
        }
        Ok(address)
    }

    fn set(&mut self, parameter: &str) -> Result<(), String> {
        match parameter.split_once('=') {
            Some(("endpoint", url)) if is_url(url) => self.endpoint = Some(url.to_owned()),
            Some(("endpoint", _)) => {
                return Err("the endpoint starts with https://, or http:// without TLS".to_owned());
            }
            Some(("region", region)) => self.region = Some(region.to_owned()),
            Some(("anonymous", "true")) => self.is_anonymous = true,
            // The value may be a key.
            _ => {
                let name: String = parameter.chars().take_while(|c| c.is_alphanumeric()).collect();
                return Err(format!("there is no parameter {name}; there are {PARAMETERS}=true"));
            }
        }
        Ok(())
    }

    /// The region of requests, if neither the address nor the environment has one.
    pub fn usual_region(&self) -> &'static str {
        USUAL_REGION
    }
}

fn is_bucket(name: &str) -> bool {
    let is_usual = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    (3..=63).contains(&name.len()) && name.chars().all(is_usual)
}

/// Whether all parts of a path are the same in all services, however they write names.
fn is_path(path: &str) -> bool {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_part = |part: &str| !["", ".", ".."].contains(&part) && part.chars().all(is_usual);
    path.len() <= MAX_PATH_BYTES && path.split('/').all(is_part)
}

fn is_url(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && host.chars().all(|c| c.is_ascii_graphic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_bucket_and_a_path() {
        let address = Address::parse("s3://worlds/studio/hills_2/").unwrap();
        assert_eq!((&*address.bucket, &*address.path), ("worlds", "studio/hills_2"));
        assert_eq!(address.shown, PathBuf::from("s3://worlds/studio/hills_2"));
        assert_eq!((address.endpoint, address.region, address.is_anonymous), (None, None, false));
        let text = "s3://worlds/a?endpoint=http://127.0.0.1:5000&region=eu-west-1&anonymous=true";
        let address = Address::parse(text).unwrap();
        assert_eq!(address.endpoint.as_deref(), Some("http://127.0.0.1:5000"));
        assert_eq!((address.region.as_deref(), address.is_anonymous), (Some("eu-west-1"), true));
        assert_eq!(address.shown, PathBuf::from("s3://worlds/a"));
        assert!(Address::is_one("s3://a") && !Address::is_one("world.tvx"));
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_do() {
        let refused = |text: &str| Address::parse(text).unwrap_err().to_string();
        assert!(refused("world.tvx").contains("starts with s3://"));
        for text in ["s3://worlds", "s3://worlds/", "s3://worlds//a", "s3://worlds/a/../b"] {
            assert!(refused(text).contains("name the world after the bucket"), "{text}");
        }
        for text in ["s3://", "s3:///a", "s3://W/a", "s3://wo rlds/a"] {
            assert!(refused(text).contains("name a bucket"), "{text}");
        }
        assert!(refused("s3://worlds/a?endpoint=ftp://h").contains("starts with https://"));
        assert!(refused("s3://worlds/a?anonymous=yes").contains("anonymous=true"));
        assert!(refused("s3://worlds/ä").contains("name the world after the bucket"));
    }

    #[test]
    fn keys_in_an_address_are_refused_and_not_shown() {
        for text in [
            "s3://AKIA:se/cr?et@worlds/a",
            "s3://AKIA:secret@worlds/a?secret=secret",
            "s3://worlds/a?secret=secret",
            "s3://worlds/a?secretkey",
        ] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(!error.contains("AKIA") && !error.contains("=secret"), "{error}");
            assert!(!error.contains("cr?et") && !error.contains(":se"), "{error}");
        }
    }
}
