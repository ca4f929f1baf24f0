//! The address at which the ranks of a run meet, and the conditions for joining.

use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Stdio};
use std::{io, str::FromStr, time::Duration};

use inferometer_model::sha256::sha256;
use inferometer_net::time_limit;

use crate::launcher::{Launcher, RankPlace};
use crate::{Token, TokenError};

/// Why the ranks did not meet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The processes were started in a wrong way, for example with plans or versions that do not match.
    #[error("{0}")]
    Mistake(String),
    /// Ranks are missing, unreachable or without the token; or the system refuses a port, a thread or random numbers.
    #[error("{0}")]
    Failed(String),
    /// The user interrupted the waiting.
    #[error("interrupted before all ranks had joined")]
    Interrupted,
}

/// Why the address of rank 0 is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The text of the user is not an address.
    #[error("`{0}` is not HOST or HOST:PORT, such as n1, n1:29500 or [fd00::1]:29500")]
    NoPlace(String),
    /// Neither the user nor the launcher states the address.
    #[error(
        "the address of rank 0 is not known from {}: give --rendezvous HOST:PORT or set MASTER_ADDR{}",
        .0.name(),
        match .0 {
            Launcher::Kubernetes => {
                "; or set INFEROMETER_SERVICE to the name of the job's headless service"
            }
            _ => "",
        }
    )]
    Unknown(Launcher),
}

impl From<TokenError> for JoinError {
    fn from(error: TokenError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The address of rank 0 as the user writes it: `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendezvous {
    /// A host name or an IP address.
    pub host: String,
    /// The port; None if the user gave none.
    pub port: Option<u16>,
}

impl FromStr for Rendezvous {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let wrong = || PlaceError::NoPlace(text.to_owned());
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or_else(wrong)?;
                let port = if after.is_empty() {
                    None
                } else {
                    Some(after.strip_prefix(':').ok_or_else(wrong)?)
                };
                (host, port)
            }
            // An IPv6 address without brackets has no port.
            None if text.parse::<IpAddr>().is_ok() => (text, None),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map(|port| port.parse::<u16>().ok().filter(|port| *port > 0));
        match port {
            Some(None) => Err(wrong()),
            _ if host.is_empty()
                || host.contains(['/', ' ', ':']) && host.parse::<IpAddr>().is_err() =>
            {
                Err(wrong())
            }
            port => Ok(Self { host: host.to_owned(), port: port.flatten() }),
        }
    }
}

/// The address at which the ranks of a run meet, and the conditions for joining.
#[derive(Clone)]
pub struct Meeting {
    /// The host name or address of rank 0.
    pub host: String,
    /// The port at which rank 0 listens.
    pub port: u16,
    /// The token that all processes of the run have.
    pub token: Token,
    /// How long rank 0 waits for the other ranks, and how long each of them tries to join.
    pub join_timeout: Duration,
    /// Whether to ask Slurm for the address of a host whose name cannot be resolved.
    asks_slurm: bool,
}

/// The default port at which the ranks of a job meet, from 20,000 to 29,999. The port is derived from the name of the
/// job, so two jobs on one machine rarely have the same port. The ports in this range are below the ports that Linux
/// assigns to outgoing connections by default (from 32,768).
pub fn default_port(job: &str) -> u16 {
    let digest = sha256(job.as_bytes());
    20_000 + u16::from_be_bytes([digest[0], digest[1]]) % 10_000
}

impl Meeting {
    /// The meeting of the ranks of a run. The user's values override those of the launcher.
    ///
    /// # Errors
    /// If neither the user nor the launcher states the address of rank 0.
    pub fn of(
        place: &RankPlace,
        rendezvous: Option<&Rendezvous>,
        secret: Option<Token>,
        join_timeout: Duration,
    ) -> Result<Self, PlaceError> {
        let given = rendezvous.map(|given| given.host.clone());
        let host = given.or_else(|| place.host.clone());
        let host = host.ok_or(PlaceError::Unknown(place.launcher))?;
        let port = rendezvous.and_then(|given| given.port).or(place.port);
        Ok(Self {
            host,
            port: port.unwrap_or_else(|| default_port(&place.job)),
            token: secret.unwrap_or_else(|| Token::of_job(&place.job)),
            join_timeout,
            asks_slurm: place.launcher == Launcher::Slurm,
        })
    }

    /// The address of rank 0 as text: `HOST:PORT` or `[ADDRESS]:PORT`.
    pub fn place(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// Resolves the host name of rank 0. If the name cannot be resolved and Slurm started the ranks, asks Slurm for the
    /// address.
    ///
    /// # Errors
    /// If the name cannot be resolved.
    pub(crate) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let resolve = |host: &str| time_limit::resolve(host, self.port);
        let error = match resolve(&self.host) {
            Ok(addresses) => return Ok(addresses),
            Err(error) => error,
        };
        let of_slurm = self.asks_slurm.then(|| slurm_address(&self.host)).flatten();
        match of_slurm.map(|host| resolve(&host)) {
            Some(Ok(addresses)) => Ok(addresses),
            _ => Err(io::Error::new(
                error.kind(),
                format!("the name {} cannot be resolved: {error}", self.host),
            )),
        }
    }
}

/// The address of a node, as Slurm states it. Names of Slurm nodes need not be in the DNS.
fn slurm_address(node: &str) -> Option<String> {
    let asked = Command::new("scontrol")
        .args(["show", "node", "--oneliner", node])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    node_address(&String::from_utf8_lossy(&asked.stdout))
}

fn node_address(shown: &str) -> Option<String> {
    shown.split_whitespace().find_map(|field| field.strip_prefix("NodeAddr=")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendezvous_is_a_host_with_or_without_a_port() {
        let cases = [
            ("n1:29500", Some(("n1", Some(29_500)))),
            ("n1", Some(("n1", None))),
            ("10.0.0.1:1", Some(("10.0.0.1", Some(1)))),
            ("[fd00::1]:7", Some(("fd00::1", Some(7)))),
            ("[fd00::1]", Some(("fd00::1", None))),
            ("fd00::1", Some(("fd00::1", None))),
            ("", None),
            (":5", None),
            ("n1:", None),
            ("n1:0", None),
            ("n1:70000", None),
            ("n1:1:2", None),
            ("http://n1:5", None),
            ("[fd00::1", None),
            ("[fd00::1]5", None),
        ];
        for (text, expected) in cases {
            let found = text.parse::<Rendezvous>();
            let found = found.as_ref().map(|one| (one.host.as_str(), one.port));
            assert_eq!(found.ok(), expected, "{text}");
        }
    }

    #[test]
    fn different_jobs_have_different_default_ports() {
        let ports = ["Slurm 1 0", "Slurm 1 1", "Slurm 2 0"].map(default_port);
        assert!(ports[0] != ports[1] && ports[1] != ports[2]);
        assert!(ports.iter().all(|port| (20_000..30_000).contains(port)));
    }

    #[test]
    fn a_rendezvous_from_the_user_overrides_the_one_from_the_launcher() {
        let place = |host: Option<&str>, port| RankPlace {
            launcher: Launcher::Kubernetes,
            rank: 1,
            ranks: 2,
            host: host.map(str::to_owned),
            port,
            job: "a".to_owned(),
        };
        let wait = Duration::from_secs(1);
        let at = |place: &RankPlace, rendezvous: Option<&str>| {
            let rendezvous = rendezvous.map(|text| text.parse().unwrap());
            Meeting::of(place, rendezvous.as_ref(), None, wait).map(|meeting| meeting.place())
        };
        assert_eq!(at(&place(Some("n1"), Some(5)), None), Ok("n1:5".to_owned()));
        assert_eq!(at(&place(Some("n1"), Some(5)), Some("n2")), Ok("n2:5".to_owned()));
        assert_eq!(at(&place(None, None), Some("n2:6")), Ok("n2:6".to_owned()));
        let by_job = format!("n1:{}", default_port("a"));
        assert_eq!(at(&place(Some("n1"), None), None), Ok(by_job));
        let error =
            at(&place(None, None), None).expect_err("no address of rank 0 is given").to_string();
        assert!(error.contains("INFEROMETER_SERVICE"), "{error}");
    }

    #[test]
    fn the_address_of_a_node_is_parsed_from_the_output_of_slurm() {
        let shown = "NodeName=n1 Arch=x86_64 CoresPerSocket=1 NodeAddr=10.77.0.11 NodeHostName=n1";
        assert_eq!(node_address(shown).as_deref(), Some("10.77.0.11"));
        assert_eq!(node_address("Node n9 not found"), None);
    }
}
