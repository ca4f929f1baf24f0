//! TLS for clients: which certificates are trusted, and an adapter that runs an actor's connections
//! over TLS. It has no server side.
//!
//! Stamps are taken at the socket. Decrypted bytes have the arrival of the socket read that completed
//! their TLS record.

mod client;
mod secured;

pub use client::{Distrust, TlsClient, TlsError, TlsStream, Trust, distrust};
pub use secured::{Secret, Secured};
