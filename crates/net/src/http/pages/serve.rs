//! Serves pages over real sockets until a flag is set. This module does not depend on particular pages.

use std::{net::SocketAddr, sync::Arc, sync::atomic::AtomicBool};

use super::handler::{PageHandler, Pages};
use super::{access::ReaderAccess, error::ServeError};
use crate::{EpollNet, Net, Waker, http::server::Server};

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
    let at = net.listen(listen).map_err(|error| ServeError::listen(listen, &error))?;
    let stop = Arc::new(AtomicBool::new(false));
    ready(at, Arc::clone(&stop), net.waker());
    let mut server = Server::new(PageHandler::new(pages, access, stop));
    net.run(&mut server).map_err(ServeError::Sockets)
}
