//! How a server that this program started became ready: when, and in which phases. This module reads no log and no
//! clock.

use serde::{Deserialize, Serialize};

use crate::visible;

/// The start of a server by this program. All times are in seconds from the start of the server's process. A time that
/// only repeated checks show is an interval, from the begin of the last check that failed to the end of the first one
/// that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Startup {
    /// How often the plan has started this command, with this start. From 2 on, an earlier start may have filled the
    /// caches of the server and of the machine.
    pub start: u32,
    /// When the port accepted connections; `None` if only a line of the log shows that the server is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_s: Option<[f64; 2]>,
    /// When the server was ready: its ready URL answered with success, and its log had the ready line.
    pub ready_s: [f64; 2],
    /// The phases that the log shows up to the end of `ready_s`, by their ends. They do not overlap.
    pub phases: Vec<StartPhase>,
    /// The time up to the end of `ready_s` that belongs to no phase.
    pub rest_s: f64,
    /// When the first request that was answered was sent; `None` if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_s: Option<f64>,
    /// When the first token of its answer arrived; of an answer without tokens, its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_s: Option<f64>,
}

impl Startup {
    /// Cuts the names of phases to a limited length, and their number. A file may contain any.
    pub(super) fn with_short_names(mut self) -> Self {
        self.phases.truncate(Self::MOST_PHASES);
        for phase in &mut self.phases {
            phase.name = visible::name(&phase.name);
        }
        self
    }

    /// The maximum number of phases that are stored.
    const MOST_PHASES: usize = 100;
}

/// A phase of the start of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartPhase {
    /// What the server did.
    pub name: String,
    /// How long, without the phases that are parts of this phase.
    pub seconds: f64,
    /// Where this time comes from.
    pub from: PhaseSource,
}

/// Where the time of a phase comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseSource {
    /// The log states how long the phase took.
    Stated,
    /// The time between the instants at which this program read two lines of the log.
    Read,
}
