//! Where a world is: `postgres://USER:PASSWORD@HOST:PORT/DATABASE#WORLD`.

use crate::failure::refused;
use std::path::PathBuf;
use std::str::FromStr;
use terravox_store::StoreError;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Longest name of a world, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// What both forms of an address start with.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The parameter that names a file of certificates, as that of libpq does.
const ROOT_CERTIFICATE: &str = "sslrootcert";

/// The address of a world in a database.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub config: Config,
    /// The name of the world.
    pub world: String,
    /// Without the password; the path in errors.
    pub shown: PathBuf,
    pub uses_tls: bool,
    /// A file of certificates to trust instead of those of the system.
    pub root_certificates: Option<PathBuf>,
}

impl Address {
    /// Whether a text is meant as an address.
    pub fn is_one(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// Parses an address: that of a database as all programs take it, `#`, and the name of the world.
    /// Connections to other machines use TLS, unless it says `?sslmode=disable`; to this one only if
    /// it says `?sslmode=require`. `sslrootcert=FILE` names certificates to trust.
    ///
    /// # Errors
    /// If it is not one.
    pub fn parse(text: &str) -> Result<Address, StoreError> {
        let (database, world) = text.split_once('#').unwrap_or((text, ""));
        let shown = shown(database, world);
        let wrong = |what: String| refused(&shown, what);
        if !Address::is_one(text) {
            return Err(wrong("an address of a database starts with postgres://".to_owned()));
        }
        if world.is_empty() || world.len() > MAX_NAME_BYTES {
            let what = "name the world after a #, such as postgres://localhost/terravox#caves";
            return Err(wrong(what.to_owned()));
        }
        let (database, root_certificates) = without_root(database);
        let config = Config::from_str(&database).map_err(|error| {
            let why =
                std::error::Error::source(&error).map_or(error.to_string(), |e| e.to_string());
            wrong(format!("the address is invalid: {why}"))
        })?;
        if config.get_hosts().is_empty() {
            return Err(wrong("the address has no host".to_owned()));
        }
        let says_mode = database.contains("sslmode=");
        let uses_tls = match config.get_ssl_mode() {
            SslMode::Disable => false,
            _ if says_mode => true,
            _ => !config.get_hosts().iter().all(is_here),
        };
        let world = world.to_owned();
        Ok(Address { config, world, shown, uses_tls, root_certificates })
    }
}

/// Whether a host is this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => ["localhost", "127.0.0.1", "::1"].contains(&name.as_str()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The address without the parameter that names certificates, which the client does not know.
fn without_root(database: &str) -> (String, Option<PathBuf>) {
    let Some((before, parameters)) = database.split_once('?') else {
        return (database.to_owned(), None);
    };
    let mut root = None;
    let mut kept = Vec::new();
    for parameter in parameters.split('&') {
        match parameter.split_once('=') {
            Some((ROOT_CERTIFICATE, file)) => root = Some(PathBuf::from(file)),
            _ => kept.push(parameter),
        }
    }
    let kept = kept.join("&");
    (if kept.is_empty() { before.to_owned() } else { format!("{before}?{kept}") }, root)
}

/// The address as messages show it: without password and parameters.
fn shown(database: &str, world: &str) -> PathBuf {
    let database = database.split('?').next().unwrap_or_default();
    let shown = match (database.split_once("://"), database.rsplit_once('@')) {
        (Some((scheme, _)), Some((user, host))) => {
            let user = user[scheme.len() + 3..].split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{host}")
        }
        _ => database.to_owned(),
    };
    PathBuf::from(if world.is_empty() { shown } else { format!("{shown}#{world}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let shown = |text: &str| Address::parse(text).unwrap().shown.display().to_string();
        let short = "postgres://me@db.example:5433/worlds#caves";
        assert_eq!(shown("postgres://me:s3%3Acr%40t@db.example:5433/worlds#caves"), short);
        assert_eq!(shown("postgres://me@db.example:5433/worlds?sslmode=disable#caves"), short);
        assert_eq!(shown("postgres://localhost/w#a"), "postgres://localhost/w#a");
        let wrong = Address::parse("postgres://me:secret@h:port/db#a").unwrap_err().to_string();
        assert!(wrong.starts_with("postgres://me@h:port/db#a: ") && !wrong.contains("secret"));
    }

    #[test]
    fn other_machines_need_tls_and_this_one_does_not() {
        let uses_tls = |text: &str| Address::parse(text).unwrap().uses_tls;
        assert!(uses_tls("postgres://db.example/w#a") && !uses_tls("postgres://localhost/w#a"));
        assert!(!uses_tls("postgres://db.example/w?sslmode=disable#a"));
        assert!(uses_tls("postgres://127.0.0.1/w?sslmode=require#a"));
        let rooted = Address::parse("postgres://h/w?sslrootcert=/r.pem&sslmode=require#a").unwrap();
        assert_eq!(rooted.root_certificates, Some("/r.pem".into()));
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_do() {
        let refused = |text: &str| Address::parse(text).unwrap_err().to_string();
        assert!(refused("postgres://localhost/w").contains("name the world after a #"));
        assert!(refused("postgres://localhost/w#").contains("name the world after a #"));
        assert!(refused("world.tvx#a").contains("starts with postgres://"));
        assert!(refused("postgres:///w#a").contains("no host"));
        assert!(!Address::is_one("world.tvx") && Address::is_one("postgresql://h/w#a"));
    }
}
