//! A port that nobody listens on. Never keeps it.

use std::io;
use std::net::TcpListener;

/// A free TCP port of a local address. Another program may take it before its user does: who
/// starts a server there must be ready for its refusal.
///
/// # Errors
/// When the address is none of this machine, or it has no port left.
pub fn free_port(host: &str) -> io::Result<u16> {
    TcpListener::bind((host, 0))?.local_addr().map(|address| address.port())
}
