//! The errors that occur while TLS is set up.

/// Why TLS cannot be prepared.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum TlsError {
    /// A host name that cannot be in a certificate.
    #[error("`{host}` is not a valid name for a certificate")]
    Name { host: String },
    /// The PEM text of additional authorities is not a list of certificates.
    #[error("not a list of certificates in PEM form: {what}")]
    Authorities { what: String },
    /// The client's certificate cannot be used, or its key does not match it.
    #[error("{what}")]
    Identity { what: String },
    /// The private key of the client's certificate cannot be used.
    #[error("{what}")]
    Key { what: String },
    /// The TLS library refused the settings.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}
