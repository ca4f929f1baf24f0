//! Finds a port on which no program listens, without reserving it.

use std::{io, net::TcpListener};

/// Returns a free TCP port of a local address. Another program may use the port before the caller does, so a
/// server that is started on it may fail to listen.
///
/// # Errors
/// When `host` is not an address of this machine, or no port is free.
pub fn free_port(host: &str) -> io::Result<u16> {
    TcpListener::bind((host, 0))?.local_addr().map(|address| address.port())
}
