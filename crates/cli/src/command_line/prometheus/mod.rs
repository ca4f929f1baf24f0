//! `run --metrics-listen`: serves metrics of the run in progress to Prometheus. A separate thread reads the live state
//! that every run has. This module measures nothing.

mod text;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{sync::Arc, sync::mpsc::channel, thread::JoinHandle};

use inferometer_net::http::pages::{Pages, ReaderAccess, RequestTarget, Response, serve};
use inferometer_net::{Waker, http::prometheus::CONTENT_TYPE, spawn};
use inferometer_run::LiveState;

use crate::command_line::Failure;

/// An HTTP server for Prometheus; dropping this value stops the server.
pub struct Exposed {
    asked: SocketAddr,
    at: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

/// Parses an address to listen on: `IP:PORT`, or only a port, which means a port of 127.0.0.1.
///
/// # Errors
/// Returns a message that states the accepted forms.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let here = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let port = text.strip_prefix(':').unwrap_or(text).parse().map(here);
    port.or_else(|_| text.parse()).map_err(|_| {
        "is neither an address such as 127.0.0.1:9464 nor a port such as 9464".to_owned()
    })
}

impl Exposed {
    /// Listens on the address `asked`, and serves the live state on a separate thread.
    ///
    /// # Errors
    /// If the server cannot listen on the address.
    pub fn open(asked: SocketAddr, live: LiveState) -> Result<Self, Failure> {
        // The metrics contain no secrets, so anybody who can reach the address may read them.
        let access =
            if asked.ip().is_loopback() { ReaderAccess::Loopback } else { ReaderAccess::Everybody };
        live.collect_statistics();
        let (listening, listens) = channel();
        let refused = listening.clone();
        let thread = spawn(move || {
            let told = |at, stop, waker| drop(listening.send(Ok((at, stop, waker))));
            if let Err(error) = serve(Metrics(live), access, asked, told) {
                // If the server was already listening, nobody receives this error, and the run continues without the
                // server.
                let _ = refused.send(Err(error));
            }
        })
        .map_err(Failure::run_failed)?;
        match listens.recv().expect("invariant: the thread always sends its address or an error") {
            Ok((at, stop, waker)) => Ok(Self { asked, at, stop, waker, thread: Some(thread) }),
            Err(error) => Err(Failure::usage(format!("--metrics-listen {error}"))),
        }
    }

    /// The address of the page, and a warning if the page can be read from other machines. With `--quiet`, the address
    /// is included only if the system chose the port.
    pub fn announced(&self, quiet: bool) -> Vec<String> {
        let mut lines = Vec::new();
        if !quiet || self.asked.port() == 0 {
            lines.push(format!("metrics: http://{}/metrics", self.at));
        }
        if !self.at.ip().is_loopback() {
            lines.push(format!(
                "warning: --metrics-listen {}: everyone who can reach this address can read the \
                    metrics without a token; they contain the names of server, model and run, but \
                    no API key",
                self.at
            ));
        }
        lines
    }
}

impl Drop for Exposed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves `/metrics`, the only page.
struct Metrics(LiveState);

impl Pages for Metrics {
    fn page(&mut self, target: &RequestTarget) -> Response {
        match target.segments().as_slice() {
            ["metrics"] => Response::new(CONTENT_TYPE, text::of(&self.0).into_bytes()),
            _ => self.refusal(404, "the only path is /metrics"),
        }
    }

    fn refusal(&self, status: u16, why: &str) -> Response {
        let text = format!("{why}\n").into_bytes();
        Response::new("text/plain; charset=utf-8", text).with_status(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::exit::Kind;

    #[test]
    fn a_listen_address_without_a_host_means_loopback() {
        for (given, taken) in [
            ("9464", Some("127.0.0.1:9464")),
            (":9464", Some("127.0.0.1:9464")),
            ("0", Some("127.0.0.1:0")),
            ("0.0.0.0:9464", Some("0.0.0.0:9464")),
            ("[::1]:9464", Some("[::1]:9464")),
            ("70000", None),
            ("", None),
            ("localhost", None),
        ] {
            assert_eq!(address(given).ok(), taken.map(|at| at.parse().unwrap()), "{given}");
        }
    }

    #[test]
    fn an_address_in_use_is_refused_and_listening_on_all_interfaces_is_announced() {
        let mut one = Exposed::open(address("0").unwrap(), LiveState::default()).unwrap();
        assert_eq!(one.announced(false), one.announced(true), "the system chose the port");
        assert!(one.announced(true).concat().contains(&one.at.to_string()));
        let Err(Failure { kind: Kind::Usage, lines: told, .. }) =
            Exposed::open(one.at, LiveState::default())
        else {
            panic!("two listen on {}", one.at)
        };
        assert!(told[0].contains("--metrics-listen 127.0.0.1:"), "{told:?}");
        assert!(told[0].contains("another program listens there"), "{told:?}");
        one.asked = one.at;
        assert_eq!((one.announced(false).len(), one.announced(true).len()), (1, 0));
        let mut everywhere =
            Exposed::open(address("0.0.0.0:0").unwrap(), LiveState::default()).unwrap();
        everywhere.asked = everywhere.at;
        let told = everywhere.announced(true);
        assert!(told.len() == 1 && told[0].contains("everyone"), "{told:?}");
    }

    #[test]
    fn the_exporter_serves_only_the_metrics_page() {
        let mut pages = Metrics(LiveState::default());
        let response = pages.page(&RequestTarget::parse("/metrics"));
        assert_eq!((response.status, response.content_type), (200, CONTENT_TYPE));
        assert_eq!(pages.page(&RequestTarget::parse("/")).status, 404);
    }
}
