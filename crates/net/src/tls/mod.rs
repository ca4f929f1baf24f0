//! TLS for those who connect: who is trusted, and an actor's connections made secret.
//!
//! An arrival under TLS is that of the read that completed its record: stamps are the socket's.

mod client;
mod secured;

pub use client::{Distrust, TlsClient, TlsError, TlsStream, Trust, distrust};
pub use secured::{Secret, Secured};
