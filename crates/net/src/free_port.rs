//! A port that nobody listens on. It does not reserve the port.

use std::io;
use std::net::TcpListener;

/// A free TCP port of a local address. Another program may take it first, so a server started there
/// may fail to listen.
///
/// # Errors
/// When the address is none of this machine, or it has no port left.
pub fn free_port(host: &str) -> io::Result<u16> {
    TcpListener::bind((host, 0))?.local_addr().map(|address| address.port())
}
