//! Why a TLS connection to a server fails: a message, and advice.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

use super::verify::is_an_authority;

/// Why a TLS connection is refused, by either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distrust {
    /// No trusted certificate authority has signed the server's certificate.
    UnknownAuthority,
    /// The server presents a certificate that is its own authority.
    SelfSigned,
    /// Its certificate is for these names.
    OtherName(Vec<String>),
    /// Its certificate has expired.
    Expired,
    /// Its certificate is not valid yet.
    NotYetValid,
    /// Another problem with its certificate, in the TLS library's words.
    Other(String),
    /// It does not speak TLS.
    NotTls,
    /// It speaks TLS, but not HTTP/1.1 inside.
    NoHttp1,
    /// It requires a certificate of the client, and received none.
    WantsCertificate,
    /// It rejects the certificate of the client, with the TLS library's name of the reason.
    RefusesCertificate(String),
}

/// Why a server is not trusted, or does not speak the protocol; `None` for errors of other kinds.
pub fn distrust(error: &io::Error) -> Option<Distrust> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    match error {
        Error::InvalidMessage(_) => Some(Distrust::NotTls),
        Error::NoApplicationProtocol
        | Error::AlertReceived(AlertDescription::NoApplicationProtocol) => Some(Distrust::NoHttp1),
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            Some(Distrust::WantsCertificate)
        }
        Error::AlertReceived(
            why @ (AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied),
        ) => Some(Distrust::RefusesCertificate(format!("{why:?}"))),
        Error::InvalidCertificate(why) => Some(match why {
            CertificateError::UnknownIssuer => Distrust::UnknownAuthority,
            CertificateError::NotValidForName => Distrust::OtherName(Vec::new()),
            CertificateError::NotValidForNameContext { presented, .. } => {
                Distrust::OtherName(presented.clone())
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                Distrust::Expired
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Distrust::NotYetValid
            }
            _ if is_an_authority(error) => Distrust::SelfSigned,
            _ => Distrust::Other(error.to_string()),
        }),
        _ => None,
    }
}

impl Distrust {
    /// What is wrong.
    pub fn in_words(&self) -> String {
        match self {
            Self::UnknownAuthority => {
                "its certificate is not signed by a trusted certificate authority".to_owned()
            }
            Self::SelfSigned => "its certificate is self-signed".to_owned(),
            Self::OtherName(names) if names.is_empty() => {
                "its certificate has no host name".to_owned()
            }
            Self::OtherName(names) => {
                format!("its certificate is for other names: {}", names.join(", "))
            }
            Self::Expired => "its certificate has expired".to_owned(),
            Self::NotYetValid => "its certificate is not valid yet; compare the clocks".to_owned(),
            Self::Other(why) => why.clone(),
            Self::NotTls => "it does not speak TLS".to_owned(),
            Self::NoHttp1 => "it does not speak HTTP/1.1 over TLS".to_owned(),
            Self::WantsCertificate => "the server requires a client certificate".to_owned(),
            Self::RefusesCertificate(why) => {
                format!("it rejects the client certificate ({why})")
            }
        }
    }

    /// What to do.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::UnknownAuthority => {
                "give its certificate authority, or its own certificate, with --ca-cert, or \
                    disable verification with --insecure"
            }
            Self::SelfSigned => {
                "give this certificate with --ca-cert, or disable verification with --insecure"
            }
            Self::OtherName(names) if !names.is_empty() => {
                "use one of these names as the target's host, or disable verification with \
                    --insecure"
            }
            Self::NotTls => "give its address with http://",
            Self::NoHttp1 => "let it offer HTTP/1.1",
            Self::WantsCertificate => "give it with --client-cert and --client-key",
            Self::RefusesCertificate(_) => {
                "give one that is signed by an authority of the server, with --client-cert and \
                    --client-key"
            }
            _ => "--insecure disables verification",
        }
    }
}
