//! Serves pages over real sockets until it is told to stop.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use inferometer_net::{EpollNet, Net, Waker};

use crate::access::Access;
use crate::error::WebError;
use crate::front::{Front, Pages};

/// Listens, calls `ready` with the address that it listens on and what ends it, and serves until
/// the flag is set and the waker called.
///
/// # Errors
/// [`WebError::Listen`], [`WebError::Sockets`].
pub fn serve(
    pages: impl Pages,
    access: Access,
    listen: SocketAddr,
    ready: impl FnOnce(SocketAddr, Arc<AtomicBool>, Waker),
) -> Result<(), WebError> {
    let mut net = EpollNet::new().map_err(WebError::Sockets)?;
    let at = net.listen(listen).map_err(|error| WebError::Listen {
        address: listen.to_string(),
        advice: match error.kind() {
            ErrorKind::AddrInUse => ": another program listens there; choose another port, or 0",
            ErrorKind::PermissionDenied => ": ports below 1024 are not for everybody",
            ErrorKind::AddrNotAvailable => ": this machine has no such address",
            _ => "",
        },
        reason: error.to_string(),
    })?;
    let stop = Arc::new(AtomicBool::new(false));
    ready(at, Arc::clone(&stop), net.waker());
    net.play(&mut Front::new(pages, access, stop)).map_err(WebError::Sockets)
}
