//! The page: the files of `web/dist`, compressed, within the program.

use crate::gate::Gate;
use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use include_dir::{Dir, include_dir};
use std::sync::Arc;

/// What `scripts/web` has built; each file is compressed by gzip.
static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/web/dist");

/// Nothing but the files of this server runs or is loaded.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
    style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// The addresses of these files.
pub(crate) fn routes() -> Router<Arc<Gate>> {
    let index = get(|| async { file("index.html", "no-cache") });
    // Their names have a hash of what is in them.
    let asset = |Path(name): Path<String>| async move {
        file(&format!("assets/{name}"), "public, max-age=31536000, immutable")
    };
    Router::new().route("/", index).route("/assets/{name}", get(asset))
}

fn file(name: &str, cache: &'static str) -> Response {
    let Some(found) = FILES.get_file(format!("{name}.gz")) else {
        return (StatusCode::NOT_FOUND, "there is no such file here\n").into_response();
    };
    let headers: [(HeaderName, &'static str); 6] = [
        (CONTENT_TYPE, content_type(name)),
        (CONTENT_ENCODING, "gzip"),
        (CACHE_CONTROL, cache),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, found.contents()).into_response()
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
