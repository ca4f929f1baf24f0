//! A verifier of server certificates, in addition to the verifier of the TLS library. Signatures are always
//! checked, so the other side has the key of the certificate that it presents.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The library's name of this error: a server presents the certificate of an authority as its own.
const IS_AN_AUTHORITY: &str = "CaUsedAsEndEntity";

/// Whether an error says that a server presents the certificate of an authority.
pub(super) fn is_an_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(why)) = error else { return false };
    format!("{why:?}").contains(IS_AN_AUTHORITY)
}

/// Trusts given authorities and certificates, or any certificate.
#[derive(Debug)]
pub(super) struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None`: any certificate is accepted.
    given: Option<TrustedCertificates>,
}

/// Authorities, and certificates that a server may present as its own. The TLS library refuses such a
/// certificate if it is marked as an authority. `openssl req -x509` marks its certificates in this way.
#[derive(Debug)]
struct TrustedCertificates {
    authorities: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl Verifier {
    /// Trusts these authorities and certificates.
    ///
    /// # Errors
    /// When there are no authorities.
    pub(super) fn of(
        roots: RootCertStore,
        certificates: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, VerifierBuilderError> {
        let roots = Arc::new(roots);
        let authorities =
            WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build()?;
        Ok(Self { provider, given: Some(TrustedCertificates { authorities, certificates }) })
    }

    /// Accepts any certificate.
    pub(super) fn unchecked(provider: Arc<CryptoProvider>) -> Self {
        Self { provider, given: None }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(given) = &self.given else { return Ok(ServerCertVerified::assertion()) };
        match given.authorities.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // The library returns this error only after it has checked that the certificate is valid at this
            // time.
            Err(error) if is_an_authority(&error) && given.certificates.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
