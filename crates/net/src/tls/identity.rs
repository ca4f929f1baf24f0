//! The certificate that identifies the client to a server.

use std::{fmt, sync::Arc};

use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, client::WantsClientCert};

use super::error::TlsError;

/// A certificate with its chain, and its private key, which is never printed.
#[derive(Clone)]
pub struct Identity(Arc<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>);

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({} certificates)", self.0.0.len())
    }
}

impl Identity {
    /// Reads the client's identity: all certificates of one PEM text, the client's own certificate first, and
    /// the first private key of a second PEM text. Both arguments may be the same text.
    ///
    /// # Errors
    /// When a text does not contain certificates or a private key. [`super::TlsClient::new`] checks that the
    /// key matches the certificate.
    pub fn of(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let wrong = |what: String| TlsError::Identity { what };
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(|error| wrong(format!("not certificates in PEM form: {error}")))?;
        if chain.is_empty() {
            return Err(wrong("contains no certificate in PEM form".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| {
            let text = String::from_utf8_lossy(key);
            let what = match error {
                _ if text.contains("ENCRYPTED") => {
                    "contains a key with a passphrase, which is not supported; remove the \
                        passphrase with `openssl pkey -in FILE -out NEW`"
                        .to_owned()
                }
                PemError::NoItemsFound => "contains no private key in PEM form".to_owned(),
                error => format!("not a private key in PEM form: {error}"),
            };
            TlsError::Key { what }
        })?;
        Ok(Self(Arc::new((chain, key))))
    }

    /// A configuration that presents this identity to servers that request a certificate.
    ///
    /// # Errors
    /// When the kind of key is unknown, or the key belongs to another certificate.
    pub(super) fn shown_by(
        &self,
        builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    ) -> Result<ClientConfig, TlsError> {
        let (chain, key) = &*self.0;
        builder.with_client_auth_cert(chain.clone(), key.clone_key()).map_err(|error| {
            let what = match error {
                rustls::Error::InconsistentKeys(_) => {
                    "the key does not match the certificate".to_owned()
                }
                error => format!("the certificate and its key cannot be used: {error}"),
            };
            TlsError::Identity { what }
        })
    }
}
