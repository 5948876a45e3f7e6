//! Which requests over HTTP are allowed.

use crate::access::{AccessList, Right};
use crate::connections::Pass;
use crate::gate::Gate;
use crate::world::RunningWorld;
use axum::extract::Path;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use std::net::IpAddr;
use std::sync::Arc;

/// A status with a line of text.
pub(crate) type Refusal = (StatusCode, String);

/// A refusal that says why.
pub(crate) fn refusal(status: StatusCode, what: impl std::fmt::Display) -> Refusal {
    (status, format!("{what}\n"))
}

/// The world of an address, the first one if that has no name.
pub(crate) fn world(gate: &Gate, name: Option<Path<String>>) -> Result<Arc<RunningWorld>, Refusal> {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let unknown = || refusal(StatusCode::NOT_FOUND, "there is no world of this name here");
    gate.world(name.as_bytes()).cloned().ok_or_else(unknown)
}

/// Blocks cross-site requests from browsers. Without tokens it also requires a loopback host name,
/// which defeats DNS rebinding, and refuses what a proxy forwards, as far as that shows: all clients
/// of a proxy look local. Browsers send no origin when a page reads from its own host, which can be
/// a name of another's that leads to this machine; nor do programs that come through a proxy.
pub(crate) fn check_site(headers: &HeaderMap, is_open: bool) -> Result<(), Refusal> {
    let refused = |what: &str| Err(refusal(StatusCode::FORBIDDEN, what));
    if is_open && is_forwarded(headers) {
        return refused("a server behind a proxy needs tokens");
    }
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let host = headers.get(HOST).map(text).unwrap_or_default();
    if is_open && !is_loopback_name(&host) {
        return refused("ask for localhost, or give tokens");
    }
    let Some(origin) = headers.get(ORIGIN).map(text) else { return Ok(()) };
    match origin.split_once("://").is_some_and(|(_, site)| site == host) {
        true => Ok(()),
        false => refused(&format!("pages of {origin} may not use the server at {host}")),
    }
}

/// Whether a proxy forwards a request, by the headers that proxies add.
fn is_forwarded(headers: &HeaderMap) -> bool {
    [
        "forwarded",
        "via",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-real-ip",
        "cf-connecting-ip",
        "true-client-ip",
        "x-client-ip",
    ]
    .iter()
    .any(|name| headers.contains_key(*name))
}

/// Whether a host, perhaps with a port, is this machine by its name.
fn is_loopback_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The token travels unencrypted, so it is taken from this machine only, and not through a proxy.
/// Returns who asks.
pub(crate) fn check_administrator(
    gate: &Gate,
    pass: &Pass,
    headers: &HeaderMap,
) -> Result<String, Refusal> {
    let refused = |what| Err(refusal(StatusCode::FORBIDDEN, what));
    if !pass.peer().to_canonical().is_loopback() || is_forwarded(headers) {
        return refused("ask on the machine of the server");
    }
    let given = headers.get(AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
    let token = given.strip_prefix(b"Bearer ").unwrap_or_default();
    match gate.access.right(token) {
        Some(Right::Administer) => Ok(gate.access.author(token, pass.peer())),
        Some(_) => refused("this token is not for administering"),
        None => refused(AccessList::refusal(token)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_sites_are_refused() {
        let check = |origin: Option<&str>, host: &str, is_open| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().expect("a header"));
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().expect("a header"));
            }
            check_site(&headers, is_open).is_ok()
        };
        // Programs send no origin.
        assert!(check(None, "dig.example.org", false) && check(None, "[::1]:4077", true));
        for local in ["localhost:4077", "127.0.0.1:4077", "[::1]:4077", "localhost"] {
            assert!(check(Some(&format!("http://{local}")), local, true), "{local}");
        }
        assert!(!check(Some("https://evil.example"), "localhost:4077", true));
        assert!(!check(Some("http://localhost:8000"), "localhost:4077", true));
        assert!(!check(Some("null"), "localhost:4077", true));
        // A name of another's that leads to this machine.
        assert!(!check(Some("http://evil.example:4077"), "evil.example:4077", true));
        assert!(check(Some("https://dig.example.org"), "dig.example.org", false));
        let mut forwarded = HeaderMap::new();
        forwarded.insert("x-forwarded-for", "192.0.2.7".parse().expect("a header"));
        forwarded.insert(HOST, "localhost:4077".parse().expect("a header"));
        assert!(check_site(&forwarded, true).is_err() && check_site(&forwarded, false).is_ok());
    }

    #[test]
    fn a_server_without_tokens_is_for_loopback_names() {
        let mut headers = HeaderMap::new();
        assert!(check_site(&headers, true).is_err() && check_site(&headers, false).is_ok());
        headers.insert(HOST, "evil.example:4077".parse().expect("a header"));
        assert!(check_site(&headers, true).is_err() && check_site(&headers, false).is_ok());
        headers.insert(HOST, "[::1]:4077".parse().expect("a header"));
        assert!(check_site(&headers, true).is_ok());
    }
}
