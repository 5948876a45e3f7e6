//! The certificate of a server, made on its first start, and who trusts it.

use crate::error::ServerError;
use ring::digest::{SHA256, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::sign;
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;

/// A certificate and its private key.
pub(crate) struct Certificate {
    pub chain: CertificateDer<'static>,
    pub key: PrivateKeyDer<'static>,
}

/// The SHA-256 digest of a certificate.
pub(crate) type Fingerprint = [u8; 32];

pub(crate) fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
    bytes
}

impl Certificate {
    /// Reads the certificate in a folder. Makes one if neither the certificate nor its key is
    /// there. If only one of them is there, or one cannot be read, or they do not fit, that is an
    /// error: a new certificate would have another fingerprint, by which clients recognise the
    /// server.
    pub fn in_folder(folder: &Path) -> Result<Certificate, ServerError> {
        let (chain_path, key_path) = (folder.join("server.crt"), folder.join("server.key"));
        // The certificate gets its name last. A folder that has it is only read.
        if is_missing(&chain_path)? {
            make(folder, &chain_path, &key_path)?;
        }
        if is_missing(&key_path)? {
            return Err(half_missing(&key_path, &chain_path));
        }
        let chain = fs::read(&chain_path).map_err(failed(&chain_path))?;
        let key = fs::read(&key_path).map_err(failed(&key_path))?;
        let certificate = Certificate {
            chain: CertificateDer::from(chain),
            key: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key)),
        };
        certificate.check_key().map_err(|error| {
            ServerError::new(format!(
                "{} and {} cannot be used together: {error}; put back the files that belong together, or \
                 delete both for a new certificate with another fingerprint",
                chain_path.display(),
                key_path.display()
            ))
        })?;
        Ok(certificate)
    }

    /// Checks that the key is that of the certificate.
    fn check_key(&self) -> Result<(), Error> {
        let key = sign::any_supported_type(&self.key)?;
        CertifiedKey::new(vec![self.chain.clone()], key).keys_match()
    }
}

/// Makes a certificate and its key, or completes what a killed start left.
fn make(folder: &Path, chain_path: &Path, key_path: &Path) -> Result<(), ServerError> {
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let lock_path = folder.join("server.lock");
    let lock = File::create(&lock_path).map_err(failed(&lock_path))?;
    // Of servers that start at once, one makes the files; that takes milliseconds. Best effort: a
    // file system may have no locks.
    let _ = lock.lock();
    let (new_chain_path, new_key_path) =
        (folder.join("server.crt.new"), folder.join("server.key.new"));
    match (is_missing(chain_path)?, is_missing(key_path)?) {
        (true, true) => {
            let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
            let made = rcgen::generate_simple_self_signed(names)
                .map_err(|error| ServerError::new(format!("no certificate was made: {error}")))?;
            // Until the last step, the next start makes or completes it.
            write_private(&new_chain_path, made.cert.der()).map_err(failed(&new_chain_path))?;
            write_private(&new_key_path, &made.signing_key.serialize_der())
                .and_then(|()| fs::rename(&new_key_path, key_path))
                .map_err(failed(key_path))?;
            fs::rename(&new_chain_path, chain_path).map_err(failed(chain_path))?;
        }
        (true, false) if is_missing(&new_chain_path)? => {
            return Err(half_missing(chain_path, key_path));
        }
        // The first start was killed before its last step.
        (true, false) => {
            fs::rename(&new_chain_path, chain_path).map_err(failed(chain_path))?;
        }
        // Another server made it meanwhile.
        (false, _) => {}
    }
    // Who waits for the lock of the removed file finds all made. Best effort.
    let _ = fs::remove_file(&lock_path);
    Ok(())
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> ServerError + use<> {
    let path = path.display().to_string();
    move |error| ServerError::new(format!("{path}: {error}"))
}

fn is_missing(path: &Path) -> Result<bool, ServerError> {
    match fs::metadata(path) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(failed(path)(error)),
    }
}

fn half_missing(gone: &Path, there: &Path) -> ServerError {
    ServerError::new(format!(
        "{} is missing beside {}; put it back, or delete that for a new certificate with another \
         fingerprint",
        gone.display(),
        there.display()
    ))
}

/// Writes a new file that only its owner can read, instead of what a killed start left.
fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let _ = fs::remove_file(path);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Trusts the certificate with one fingerprint; without a fingerprint, any certificate, for
/// loopback.
#[derive(Debug)]
pub(crate) struct PinnedVerifier {
    pub expected: Option<Fingerprint>,
    pub provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.expected {
            Some(expected) if expected != fingerprint(end_entity) => {
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is spoken".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
