//! The page: the files of `web/dist`, compressed, within the program.

use crate::gate::Gate;
use axum::Router;
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use include_dir::{Dir, include_dir};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// What `scripts/web` has built; each file is compressed by Brotli.
static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/web/dist");

/// Nothing but the files of this server runs or is loaded.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
    style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// The addresses of these files.
pub(crate) fn routes() -> Router<Arc<Gate>> {
    let index = get(|asked: HeaderMap| async move { file("index.html", "no-cache", &asked) });
    // Their names have a hash of what is in them.
    let asset = |Path(name): Path<String>, asked: HeaderMap| async move {
        file(&format!("assets/{name}"), "public, max-age=31536000, immutable", &asked)
    };
    Router::new().route("/", index).route("/assets/{name}", get(asset))
}

fn file(name: &str, cache: &'static str, asked: &HeaderMap) -> Response {
    let Some(found) = FILES.get_file(format!("{name}.br")) else {
        return (StatusCode::NOT_FOUND, "there is no such file here\n").into_response();
    };
    let headers: [(HeaderName, &'static str); 6] = [
        (CONTENT_TYPE, content_type(name)),
        (CACHE_CONTROL, cache),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (VARY, "accept-encoding"),
    ];
    if accepts_brotli(asked) {
        return (headers, [(CONTENT_ENCODING, "br")], found.contents()).into_response();
    }
    // Browsers accept Brotli only over TLS and from their own machine.
    match PLAIN.get(name) {
        Some(plain) => (headers, plain.clone()).into_response(),
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// All files as they are, made when they are first asked for.
static PLAIN: LazyLock<BTreeMap<String, Bytes>> = LazyLock::new(|| {
    let all = FILES.files().chain(FILES.dirs().flat_map(Dir::files));
    let plain = all.filter_map(|file| {
        let name = file.path().to_str()?.strip_suffix(".br")?;
        let mut plain = Vec::new();
        brotli_decompressor::BrotliDecompress(&mut file.contents(), &mut plain).ok()?;
        Some((name.to_owned(), plain.into()))
    });
    plain.collect()
});

fn accepts_brotli(asked: &HeaderMap) -> bool {
    let accepted = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|list| list.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        parts.next() == Some("br") && parts.all(|weight| !matches!(weight, "q=0" | "q=0.0"))
    })
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}
