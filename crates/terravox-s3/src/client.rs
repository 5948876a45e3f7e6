//! HTTP/1.1 for the requests of `object_store`: a few connections that are kept, TLS with `ring`.
//!
//! The client that comes with `object_store` brings a second TLS library, HTTP/2 and 30 crates
//! more; S3 needs none of them.

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HOST, RANGE};
use hyper::{Response, Uri};
use hyper_util::rt::TokioIo;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Idle connections that are kept.
const MAX_IDLE: usize = 16;

/// The longest response to a request for a whole object: the longest manifest, and more.
const MAX_ANSWER_BYTES: u64 = 17 << 20;

/// Longest errors, which may come in place of a short part.
const MAX_ERROR_BYTES: u64 = 64 << 10;

/// A slower response counts as lost, in bytes per second.
const MIN_ANSWER_SPEED: u64 = 8 << 10;

/// A slower connection counts as lost, in bytes per second.
const MIN_UPLOAD_SPEED: usize = 64 << 10;

type Sender = SendRequest<HttpRequestBody>;

/// Makes clients.
#[derive(Debug)]
pub(crate) struct Connector {
    answer_time: Duration,
}

impl Connector {
    pub fn new(answer_time: Duration) -> Connector {
        Connector { answer_time }
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let tls = tls_config()
            .map_err(|error| object_store::Error::Generic { store: "S3", source: error.into() })?;
        let tls = TlsConnector::from(Arc::new(tls));
        let answer_time = self.answer_time;
        Ok(HttpClient::new(Client { tls, answer_time, idle: Mutex::default() }))
    }
}

/// Trusts what the system trusts.
fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder?.with_root_certificates(roots).with_no_client_auth())
}

/// Scheme, host and port of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    is_tls: bool,
    host: String,
    port: u16,
}

impl Origin {
    fn of(uri: &Uri) -> Result<Origin, HttpError> {
        let is_tls = uri.scheme_str() == Some("https");
        let host = uri.host().ok_or_else(|| other("the address has no host".to_owned()))?;
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Origin { is_tls, host: host.to_owned(), port })
    }
}

/// Sends requests.
struct Client {
    tls: TlsConnector,
    answer_time: Duration,
    /// Connections that may be used again, the newest last.
    idle: Mutex<Vec<(Origin, Sender)>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

fn other(what: String) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, io::Error::other(what))
}

fn silence(origin: &Origin) -> HttpError {
    let what = format!("{} does not answer", origin.host);
    HttpError::new(HttpErrorKind::Timeout, io::Error::new(io::ErrorKind::TimedOut, what))
}

/// Requests that may have been carried out are retried only if they are idempotent.
fn broken(error: hyper::Error) -> HttpError {
    let is_unsent = error.is_canceled();
    let kind = if is_unsent { HttpErrorKind::Request } else { HttpErrorKind::Interrupted };
    HttpError::new(kind, error)
}

impl Client {
    /// A kept connection.
    fn take_idle(&self, origin: &Origin) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(_, sender)| !sender.is_closed());
        let at = idle.iter().rposition(|(other, _)| other == origin)?;
        Some(idle.remove(at).1)
    }

    fn keep(&self, origin: Origin, sender: Sender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MAX_IDLE {
            idle.remove(0);
        }
        idle.push((origin, sender));
    }

    async fn open(&self, origin: &Origin) -> Result<Sender, HttpError> {
        match timeout(self.answer_time, self.connect(origin)).await {
            Ok(opened) => opened,
            Err(_) => Err(silence(origin)),
        }
    }

    async fn connect(&self, origin: &Origin) -> Result<Sender, HttpError> {
        let failed = |error: io::Error| HttpError::new(HttpErrorKind::Connect, error);
        let host = origin.host.trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, origin.port)).await.map_err(failed)?;
        // Requests are short and waited for.
        stream.set_nodelay(true).map_err(failed)?;
        if !origin.is_tls {
            return start(TokioIo::new(stream)).await;
        }
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|error| other(error.to_string()))?;
        let stream = self.tls.connect(name, stream).await.map_err(|error| {
            // Such as a certificate that is not trusted: it is the same the next time.
            let is_tls = error.get_ref().is_some_and(|error| error.is::<rustls::Error>());
            if is_tls { other(error.to_string()) } else { failed(error) }
        })?;
        start(TokioIo::new(stream)).await
    }

    /// Sends a request on a kept connection, or on a new one.
    async fn send(
        &self,
        origin: &Origin,
        mut request: HttpRequest,
    ) -> Result<(Response<Bytes>, Sender), HttpError> {
        let longest = longest_answer(&request);
        let upload_s = (request.body().content_length() / MIN_UPLOAD_SPEED) as u64;
        let limit = self.answer_time + Duration::from_secs(upload_s);
        loop {
            let kept = self.take_idle(origin);
            let is_kept = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => self.open(origin).await?,
            };
            let sent = async {
                sender.ready().await.map_err(|error| (error, None))?;
                let sent = sender.try_send_request(request).await;
                sent.map_err(|mut failed| {
                    let message = failed.take_message();
                    (failed.into_error(), message)
                })
            };
            match timeout(limit, sent).await.map_err(|_| silence(origin))? {
                Ok(answer) => {
                    return Ok((read(answer, self.answer_time, longest, origin).await?, sender));
                }
                // It was closed before the request was sent.
                Err((_, Some(unsent))) if is_kept => request = unsent,
                Err((error, _)) => return Err(broken(error)),
            }
        }
    }
}

/// Starts HTTP on a connection.
async fn start<S>(stream: TokioIo<S>) -> Result<Sender, HttpError>
where
    TokioIo<S>: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(stream)
        .await
        .map_err(|error| HttpError::new(HttpErrorKind::Connect, error))?;
    tokio::spawn(async move {
        // The caller that waits sees the error.
        let _ = connection.await;
    });
    Ok(sender)
}

/// The maximum size of the response to a request in bytes: that of the requested part, or of a
/// whole object.
fn longest_answer(request: &HttpRequest) -> u64 {
    let part = || {
        let range = request.headers().get(RANGE)?.to_str().ok()?;
        let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
        let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        Some(last.checked_sub(first)?.saturating_add(1).max(MAX_ERROR_BYTES))
    };
    part().unwrap_or(MAX_ANSWER_BYTES)
}

/// Reads a response, as long as it arrives fast enough.
async fn read(
    answer: Response<hyper::body::Incoming>,
    answer_time: Duration,
    longest: u64,
    origin: &Origin,
) -> Result<Response<Bytes>, HttpError> {
    let (parts, mut body) = answer.into_parts();
    let (mut bytes, start) = (BytesMut::new(), Instant::now());
    loop {
        let frame = timeout(answer_time, body.frame()).await.map_err(|_| silence(origin))?;
        let Some(frame) = frame else { break };
        if let Ok(data) = frame.map_err(broken)?.into_data() {
            if (bytes.len() + data.len()) as u64 > longest {
                return Err(other(format!("the answer is longer than {longest} bytes")));
            }
            bytes.extend_from_slice(&data);
        }
        let allowed = Duration::from_secs(bytes.len() as u64 / MIN_ANSWER_SPEED) + answer_time;
        if start.elapsed() > allowed {
            return Err(silence(origin));
        }
    }
    Ok(Response::from_parts(parts, bytes.freeze()))
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let origin = Origin::of(request.uri())?;
        if !request.headers().contains_key(HOST) {
            let authority = request.uri().authority().map_or("", |authority| authority.as_str());
            let host = authority.parse().map_err(|_| other("the host is invalid".to_owned()))?;
            request.headers_mut().insert(HOST, host);
        }
        // Requests name the path only, without the server.
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() =
            path.parse().map_err(|_| other("the path of the request is invalid".to_owned()))?;
        let (answer, sender) = self.send(&origin, request).await?;
        self.keep(origin, sender);
        let body = |bytes| Full::new(bytes).map_err(|never| match never {});
        Ok(answer.map(|bytes| HttpResponseBody::new(body(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    /// A timeout for replies that come at once, on a machine that may stall for a while.
    const PATIENT: Duration = Duration::from_secs(60);

    /// The length of what a server sends in `body`, a part at a time.
    fn answer(
        answer_time: Duration,
        range: Option<&str>,
        body: Vec<u8>,
        part: usize,
        pause: Duration,
    ) -> Result<usize, HttpError> {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/worlds/hills", server.local_addr().unwrap());
        thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).unwrap();
            for part in body.chunks(part) {
                // The client may be gone.
                if stream.write_all(part).is_err() {
                    return;
                }
                thread::sleep(pause);
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tls = TlsConnector::from(Arc::new(tls_config().unwrap()));
            let client = Client { tls, answer_time, idle: Mutex::default() };
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            *request.uri_mut() = url.parse().unwrap();
            if let Some(range) = range {
                request.headers_mut().insert(RANGE, range.parse().unwrap());
            }
            let answer = client.call(request).await?;
            Ok(answer.into_body().bytes().await?.len())
        })
    }

    #[test]
    fn an_answer_that_drips_counts_as_lost() {
        let start = Instant::now();
        let (short, pause) = (Duration::from_millis(200), Duration::from_millis(5));
        let error = answer(short, None, vec![7; 100_000], 1, pause).unwrap_err();
        // All of it takes 500 s.
        assert!(start.elapsed() < Duration::from_secs(120));
        assert!(matches!(error.kind(), HttpErrorKind::Timeout), "{error:?}");
        let whole = answer(PATIENT, None, vec![7; 100_000], 50_000, Duration::ZERO);
        assert_eq!(whole.unwrap(), 100_000);
    }

    #[test]
    fn an_answer_is_as_long_as_what_was_asked_for() {
        let ask = |range, bytes| answer(PATIENT, range, vec![7; bytes], 1 << 20, Duration::ZERO);
        assert_eq!(ask(Some("bytes=100-200099"), 200_000).unwrap(), 200_000);
        let error = ask(Some("bytes=100-200099"), 200_001).unwrap_err();
        assert!(format!("{error:?}").contains("longer than 200000 bytes"), "{error:?}");
        // An error comes in place of a short part.
        assert_eq!(ask(Some("bytes=5-9"), 60_000).unwrap(), 60_000);
        assert!(ask(Some("bytes=5-9"), 70_000).is_err());
        assert!(ask(None, 18 << 20).is_err());
    }
}
