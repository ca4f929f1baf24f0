//! TLS for clients: which certificates are trusted, and an adapter that runs an actor's connections over TLS.
//! There is no server side.
//!
//! Time stamps are taken at the socket. Decrypted bytes have the arrival time of the socket read that
//! completed their TLS record.

mod client;
mod error;
mod failure;
mod identity;
mod pem;
mod secured;
mod verify;

pub use client::{TlsClient, TlsStream, Trust};
pub use error::TlsError;
pub use failure::{TlsFailure, tls_failure};
pub use identity::Identity;
pub use secured::{EncryptedNet, Secured};
