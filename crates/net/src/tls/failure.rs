//! Why a TLS connection to a server fails: a message, and advice.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

use super::verify::is_an_authority;

/// Why a TLS connection is refused, by either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsFailure {
    /// No trusted certificate authority has signed the server's certificate.
    UnknownAuthority,
    /// The server presents a certificate that is marked as an authority, as most self-signed certificates
    /// are.
    SelfSigned,
    /// The server's certificate is for these names, which do not include the host. Empty if the certificate
    /// has no names, or the TLS library does not state them.
    OtherName(Vec<String>),
    /// The server's certificate has expired.
    Expired,
    /// The server's certificate is not valid yet.
    NotYetValid,
    /// Another problem with the server's certificate, as the TLS library describes it.
    Other(String),
    /// The server does not use TLS.
    NotTls,
    /// The server uses TLS, but does not offer HTTP/1.1 over TLS.
    NoHttp1,
    /// The server requires a client certificate, and received none.
    WantsCertificate,
    /// The server rejects the client certificate; the text is the TLS library's name of the reason.
    RefusesCertificate(String),
}

/// The reason if one side refused the TLS connection; `None` for errors of other kinds.
pub fn tls_failure(error: &io::Error) -> Option<TlsFailure> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    match error {
        Error::InvalidMessage(_) => Some(TlsFailure::NotTls),
        Error::NoApplicationProtocol
        | Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            Some(TlsFailure::NoHttp1)
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            Some(TlsFailure::WantsCertificate)
        }
        Error::AlertReceived(
            why @ (AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied),
        ) => Some(TlsFailure::RefusesCertificate(format!("{why:?}"))),
        Error::InvalidCertificate(why) => Some(match why {
            CertificateError::UnknownIssuer => TlsFailure::UnknownAuthority,
            CertificateError::NotValidForName => TlsFailure::OtherName(Vec::new()),
            CertificateError::NotValidForNameContext { presented, .. } => {
                TlsFailure::OtherName(presented.clone())
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                TlsFailure::Expired
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                TlsFailure::NotYetValid
            }
            _ if is_an_authority(error) => TlsFailure::SelfSigned,
            _ => TlsFailure::Other(error.to_string()),
        }),
        _ => None,
    }
}

impl TlsFailure {
    /// A message for the user that says what is wrong. In the message, "it" and "its" mean the server.
    pub fn in_words(&self) -> String {
        match self {
            Self::UnknownAuthority => {
                "its certificate is not signed by a trusted certificate authority".to_owned()
            }
            Self::SelfSigned => "its certificate is self-signed".to_owned(),
            Self::OtherName(names) if names.is_empty() => {
                "its certificate is not valid for this host".to_owned()
            }
            Self::OtherName(names) => {
                format!("its certificate is for other names: {}", names.join(", "))
            }
            Self::Expired => "its certificate has expired".to_owned(),
            Self::NotYetValid => "its certificate is not valid yet; check both clocks".to_owned(),
            Self::Other(why) => why.clone(),
            Self::NotTls => "it does not use TLS".to_owned(),
            Self::NoHttp1 => "it does not offer HTTP/1.1 over TLS".to_owned(),
            Self::WantsCertificate => "the server requires a client certificate".to_owned(),
            Self::RefusesCertificate(why) => {
                format!("it rejects the client certificate ({why})")
            }
        }
    }

    /// Advice for the user on what to do.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::UnknownAuthority => {
                "give the certificate of this authority, or the server's own certificate, with \
                    --ca-cert, or disable verification with --insecure"
            }
            Self::SelfSigned => {
                "give this certificate with --ca-cert, or disable verification with --insecure"
            }
            Self::OtherName(names) if !names.is_empty() => {
                "use one of these names as the target's host, or disable verification with \
                    --insecure"
            }
            Self::NotTls => "give the address with http://",
            Self::NoHttp1 => "let the server offer HTTP/1.1",
            Self::WantsCertificate => "give a certificate with --client-cert and --client-key",
            Self::RefusesCertificate(_) => {
                "give a certificate from an authority that the server trusts, with --client-cert \
                    and --client-key"
            }
            _ => {
                "let the server present a valid certificate, or disable verification with --insecure"
            }
        }
    }
}
