//! Certificates and authorities from PEM texts.

use rustls::{RootCertStore, pki_types::CertificateDer, pki_types::pem::PemObject};

use super::error::TlsError;

/// Returns the trusted authorities, and the certificates of a PEM text as a list. The authorities are those
/// of Mozilla and the certificates of the PEM text.
pub(super) fn authorities(
    pem: &[u8],
) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TlsError> {
    let refused = |what: String| TlsError::Authorities { what };
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let mut further = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| refused(error.to_string()))?;
        roots.add(certificate.clone()).map_err(|error| refused(error.to_string()))?;
        further.push(certificate);
    }
    if further.is_empty() {
        return Err(refused(
            if pem.is_empty() { "it is empty" } else { "it contains no certificate" }.to_owned(),
        ));
    }
    Ok((roots, further))
}
