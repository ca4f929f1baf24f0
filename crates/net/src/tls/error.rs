//! Why TLS cannot be prepared: one closed enum.

/// Why TLS cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A host name that cannot be in a certificate.
    #[error("`{host}` is not a valid name for a certificate")]
    Name {
        /// The host.
        host: String,
    },
    /// Not a list of certificates.
    #[error("not a list of certificates in PEM form: {what}")]
    Authorities {
        /// What is wrong with it.
        what: String,
    },
    /// The certificate that the client presents.
    #[error("{what}")]
    Identity {
        /// What is wrong with it.
        what: String,
    },
    /// The key of that certificate.
    #[error("{what}")]
    Key {
        /// What is wrong with it.
        what: String,
    },
    /// The TLS library refused the settings.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}
