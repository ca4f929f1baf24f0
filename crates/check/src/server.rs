//! The server of a check: it writes into each token the instant at which it sends the token.

use std::{net::SocketAddr, time::Duration};

use crate::CheckError;
use crate::truth::{Pace, TruthServer};
use inferometer_net::{EpollNet, Net, http::Server};

/// Serves until its process ends. Calls `listening` with the address of the server once it listens.
///
/// # Errors
/// If sockets fail, or if `listening` returns an error.
pub fn server<E: From<CheckError>>(
    first: Duration,
    gap: Duration,
    listening: impl FnOnce(SocketAddr) -> Result<(), E>,
) -> Result<(), E> {
    let sockets = CheckError::Sockets;
    // The check uses only the send times of the server, so the server needs no kernel time stamps of received data.
    let mut net = EpollNet::new().map_err(sockets)?.with_user_stamps();
    let at = net.listen(SocketAddr::from(([127, 0, 0, 1], 0))).map_err(sockets)?;
    listening(at)?;
    net.run(&mut Server::new(TruthServer::new(Pace { first, gap }))).map_err(sockets)?;
    Ok(())
}
