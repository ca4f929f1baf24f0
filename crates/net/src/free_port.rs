//! A port on which no program listens. It does not reserve the port.

use std::io;
use std::net::TcpListener;

/// A free TCP port of a local address. Another program may take it first, so a server started there
/// may fail to listen.
///
/// # Errors
/// When `host` is not an address of this machine, or no port is free.
pub fn free_port(host: &str) -> io::Result<u16> {
    TcpListener::bind((host, 0))?.local_addr().map(|address| address.port())
}
