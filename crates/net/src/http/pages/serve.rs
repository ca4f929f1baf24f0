//! Serves pages over real sockets until a flag is set. This module does not depend on particular pages.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::access::ReaderAccess;
use super::error::ServeError;
use super::handler::{PageHandler, Pages};
use crate::http::server::Server;
use crate::{EpollNet, Net, Waker};

/// Listens, and calls `ready` with the address, a stop flag and a waker. Then serves until the flag is set
/// and the waker is called.
///
/// # Errors
/// [`ServeError::Listen`] if the server cannot listen on the address; [`ServeError::Sockets`] if the event
/// loop fails.
pub fn serve(
    pages: impl Pages,
    access: ReaderAccess,
    listen: SocketAddr,
    ready: impl FnOnce(SocketAddr, Arc<AtomicBool>, Waker),
) -> Result<(), ServeError> {
    let mut net = EpollNet::new().map_err(ServeError::Sockets)?;
    let at = net.listen(listen).map_err(|error| ServeError::Listen {
        address: listen.to_string(),
        advice: match error.kind() {
            ErrorKind::AddrInUse => ": another program listens there; choose another port, or 0",
            ErrorKind::PermissionDenied => {
                ": ports below 1024 need privileges; choose a higher port"
            }
            ErrorKind::AddrNotAvailable => {
                ": this machine does not have that address; choose another"
            }
            _ => "",
        },
        reason: error.to_string(),
    })?;
    let stop = Arc::new(AtomicBool::new(false));
    ready(at, Arc::clone(&stop), net.waker());
    let mut server = Server::new(PageHandler::new(pages, access, stop));
    net.run(&mut server).map_err(ServeError::Sockets)
}
