//! Where a world is: `postgres://USER:PASSWORD@HOST:PORT/DATABASE#WORLD`.

use crate::failure::refused;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use terravox_store::StoreError;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Longest name of a world, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// What both forms of an address start with.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The parameter that names a file of certificates, as that of libpq does.
const ROOT_CERTIFICATE: &str = "sslrootcert";

/// The parameter that says whether to use TLS.
const TLS_MODE: &str = "sslmode";

/// The values of it that ask for TLS. Certificates are always verified, with the name of the host.
const STRICT_MODES: [&str; 4] = ["prefer", "require", "verify-ca", "verify-full"];

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

    /// Parses an address: that of a database as all programs take it, `#`, and the name of the
    /// world. Connections to other machines use TLS, unless it says `?sslmode=disable`; to this one
    /// only if it says `?sslmode=require`. `sslrootcert=FILE` names certificates to trust.
    ///
    /// # Errors
    /// If it is not one.
    pub fn parse(text: &str) -> Result<Address, StoreError> {
        let parts = Parts::of(text);
        let shown = parts.shown();
        let wrong = |what: String| refused(&shown, what);
        if !Address::is_one(text) {
            return Err(wrong("an address of a database starts with postgres://".to_owned()));
        }
        if parts.world.is_empty() || parts.world.len() > MAX_NAME_BYTES {
            let what = "name the world after a #, such as postgres://localhost/terravox#caves; \
                        a name has no @";
            return Err(wrong(what.to_owned()));
        }
        if parts.world.contains('@') {
            let what = "a name has no @; choose another one for the world";
            return Err(wrong(what.to_owned()));
        }
        let parameters = Parameters::of(parts.parameters).map_err(wrong)?;
        let config = Config::from_str(&parts.database(&parameters.others)).map_err(|error| {
            let why =
                std::error::Error::source(&error).map_or(error.to_string(), |e| e.to_string());
            wrong(format!("the address is invalid: {why}"))
        })?;
        if config.get_hosts().is_empty() {
            return Err(wrong("the address has no host".to_owned()));
        }
        if config.get_dbname().is_none_or(str::is_empty) {
            let what = "the address names no database; give postgres://HOST/DATABASE#WORLD";
            return Err(wrong(what.to_owned()));
        }
        // Where there is one, the numeric address is what is connected to.
        let is_here = config.get_hosts().iter().all(is_here)
            && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let uses_tls = parameters.uses_tls.unwrap_or(!is_here);
        let world = parts.world.to_owned();
        let root_certificates = parameters.root_certificates;
        Ok(Address { config, world, shown, uses_tls, root_certificates })
    }
}

/// The parts of an address, which is cut at its last `@` before a password among the parameters:
/// what is before that may be a password with any characters, which no message shows.
struct Parts<'a> {
    scheme: &'a str,
    /// User and password.
    credentials: Option<&'a str>,
    /// Host, port and database.
    place: &'a str,
    parameters: &'a str,
    world: &'a str,
}

impl Parts<'_> {
    fn of(text: &str) -> Parts<'_> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let password = ["?password=", "&password="].map(|name| rest.find(name));
        let end = password.into_iter().flatten().min().unwrap_or(rest.len());
        let (credentials, rest) = match credentials_end(&rest[..end]) {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        let (rest, world) = rest.rsplit_once('#').unwrap_or((rest, ""));
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        Parts { scheme, credentials, place, parameters, world }
    }

    /// The address of the database for the client, with other parameters.
    fn database(&self, parameters: &str) -> String {
        // The client takes the first @ for the end of the password.
        let credentials = self.credentials.map(|text| text.replace('@', "%40") + "@");
        let mark = if parameters.is_empty() { "" } else { "?" };
        let credentials = credentials.unwrap_or_default();
        format!("{}://{credentials}{}{mark}{parameters}", self.scheme, self.place)
    }

    /// The address as messages show it: without password and parameters.
    fn shown(&self) -> PathBuf {
        let scheme = if self.scheme.is_empty() { "" } else { "://" };
        let user = self.credentials.map(|text| text.split(':').next().unwrap_or_default());
        // What was taken for a password may be the place, and an @ that of a name.
        let is_doubtful =
            self.credentials.is_some_and(|text| text.contains(':') && text.contains('#'))
                && self.world.is_empty()
                && !self.place.contains('/');
        let hidden = if is_doubtful { ":***" } else { "" };
        let user = user.map(|user| format!("{user}{hidden}@")).unwrap_or_default();
        let world = if self.world.is_empty() { "" } else { "#" };
        let Parts { place, .. } = self;
        PathBuf::from(format!("{}{scheme}{user}{place}{world}{}", self.scheme, self.world))
    }
}

/// Where user and password end in an address without scheme and without passwords among the
/// parameters: at the last `@`. Without a password, an `@` in the name of the world does not count.
fn credentials_end(text: &str) -> Option<usize> {
    let (first, last) = (text.find('@')?, text.rfind('@')?);
    let is_in_name = |(place, _): (&str, &str)| {
        let host = place.split(['/', '?']).next().unwrap_or_default();
        let port = host.rsplit_once(':').map_or("", |(_, port)| port);
        place.contains('/') && port.bytes().all(|digit| digit.is_ascii_digit())
    };
    let is_in_name = !text[..first].contains(':')
        && !text[last..].contains(['/', '?', '#'])
        && text[first..last].split_once('#').is_some_and(is_in_name);
    Some(if is_in_name { first } else { last })
}

/// What the parameters of an address say.
#[derive(Default)]
struct Parameters {
    uses_tls: Option<bool>,
    root_certificates: Option<PathBuf>,
    /// Those that the client takes.
    others: String,
}

impl Parameters {
    /// # Errors
    /// What is wrong with one.
    fn of(text: &str) -> Result<Parameters, String> {
        let mut parameters = Parameters::default();
        let mut others = Vec::new();
        for parameter in text.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some((ROOT_CERTIFICATE, file)) => {
                    parameters.root_certificates = Some(unescaped(file)?.into());
                }
                Some((TLS_MODE, "disable")) => parameters.uses_tls = Some(false),
                Some((TLS_MODE, mode)) if STRICT_MODES.contains(&mode) => {
                    parameters.uses_tls = Some(true);
                }
                Some((TLS_MODE, _)) => {
                    let strict = STRICT_MODES.join(", ");
                    return Err(format!("sslmode may be disable, or {strict}, which are the same"));
                }
                _ => others.push(parameter),
            }
        }
        parameters.others = others.join("&");
        Ok(parameters)
    }
}

/// A text with its percent-encoded bytes as they are.
///
/// # Errors
/// If it is invalid.
fn unescaped(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(match byte {
            b'%' => match (digit(rest.next()), digit(rest.next())) {
                (Some(high), Some(low)) => (high * 16 + low) as u8,
                _ => return Err(format!("write % in {ROOT_CERTIFICATE} as %25")),
            },
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| format!("{ROOT_CERTIFICATE} is not UTF-8"))
}

/// Whether a host is this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => ["localhost", "127.0.0.1", "::1"].contains(&name.as_str()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
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
    fn a_password_with_any_character_is_not_shown_and_is_used() {
        let places = ["h", "h:5433", "localhost"];
        let words =
            ["se#cret", "se?cret", "se@cret", "se/cret", "a#se@b?se:cret/#", "sslmode=disable?se"];
        for (place, word) in places.iter().flat_map(|place| words.map(|word| (place, word))) {
            let text = format!("postgres://me:{word}@{place}/w?sslmode=require#a");
            let address = Address::parse(&text).unwrap();
            assert_eq!(address.shown, PathBuf::from(format!("postgres://me@{place}/w#a")));
            assert_eq!(address.config.get_password(), Some(word.as_bytes()));
            assert_eq!((&*address.world, address.config.get_dbname()), ("a", Some("w")));
            assert!(address.uses_tls);
            // The same without a world, with a wrong port, and with a mode that there is not.
            for wrong in ["/w", ":port/w#a", "/w?sslmode=se#a", "/w#a@b"] {
                let error = Address::parse(&format!("postgres://me:{word}@{place}{wrong}"));
                let error = error.unwrap_err().to_string();
                assert!(!error.contains("se#") && !error.contains("cret"), "{error}");
                assert!(!error.contains("se?") && !error.contains("se@"), "{error}");
            }
        }
        let tls = |text: &str| Address::parse(text).unwrap().uses_tls;
        assert!(tls("postgres://me:sslmode=disable@db.example/w#a"));
        assert!(!tls("postgres://me:sslmode=require@localhost/w#a"));
    }

    #[test]
    fn all_modes_but_disable_verify_the_server() {
        let parsed = |mode: &str| Address::parse(&format!("postgres://localhost/w?{mode}#a"));
        for mode in STRICT_MODES {
            assert!(parsed(&format!("sslmode={mode}")).unwrap().uses_tls);
        }
        assert!(!parsed("sslmode=disable").unwrap().uses_tls);
        let error = parsed("sslmode=allow").unwrap_err().to_string();
        assert!(error.contains("sslmode may be disable") && error.contains("verify-full"));
        let rooted = parsed("sslrootcert=/a%40b/%23.pem&connect_timeout=3").unwrap();
        assert_eq!(rooted.root_certificates, Some("/a@b/#.pem".into()));
        assert_eq!(rooted.config.get_connect_timeout(), Some(&std::time::Duration::from_secs(3)));
        assert!(parsed("sslrootcert=/100%").unwrap_err().to_string().contains("%25"));
    }

    #[test]
    fn other_machines_need_tls_and_this_one_does_not() {
        let uses_tls = |text: &str| Address::parse(text).unwrap().uses_tls;
        assert!(uses_tls("postgres://db.example/w#a") && !uses_tls("postgres://localhost/w#a"));
        assert!(!uses_tls("postgres://db.example/w?sslmode=disable#a"));
        assert!(uses_tls("postgres://127.0.0.1/w?sslmode=require#a"));
        assert!(uses_tls("postgres://localhost/w?hostaddr=203.0.113.5#a"));
        assert!(!uses_tls("postgres://localhost/w?hostaddr=127.0.0.1#a"));
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
        for forgotten in ["postgres://me@h:1/#a", "postgres://me@h:1#a"] {
            assert!(refused(forgotten).contains("names no database; give postgres://"));
        }
        let named = Address::parse("postgres://h/?dbname=w#a").unwrap();
        assert_eq!(named.config.get_dbname(), Some("w"));
        assert!(!Address::is_one("world.tvx") && Address::is_one("postgresql://h/w#a"));
    }

    #[test]
    fn an_at_in_the_name_of_a_world_is_said_with_the_address_as_it_is() {
        let refused = |text: &str| Address::parse(text).unwrap_err().to_string();
        for address in ["postgres://me@h:54411/worlds#h7c@1", "postgres://me@h/worlds#h7c@1"] {
            assert!(refused(address).starts_with(&format!("{address}: a name has no @")));
        }
        // After a password it may be that of the password.
        let refused = refused("postgres://me:se@h/worlds#h@7");
        assert!(refused.starts_with("postgres://me:***@7: name the world after a #"), "{refused}");
        assert!(refused.ends_with("a name has no @"), "{refused}");
    }
}
