//! Descriptions of the measured server, of the machine and its GPUs, and of the program that measures.

mod facts;
mod startup;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::visible;
pub use facts::{Facts, Origin, Side};
pub use startup::{PhaseSource, StartPhase, Startup};

/// A program and its version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Always `inferometer`.
    pub name: String,
    /// The version of the program.
    pub version: String,
}

/// The server under test, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The URL of the server, without credentials.
    pub url: String,
    /// The name of the dialect that was used.
    pub dialect: String,
    /// The name of the engine, such as `vllm`; `None` if unknown.
    pub engine: Option<String>,
    /// The version of the engine; `None` if unknown.
    pub engine_version: Option<String>,
    /// The model's name on the server.
    pub model: String,
    /// True for the embedded engine.
    pub simulated: bool,
    /// The name of the embedded engine's profile; `None` for other servers.
    pub profile: Option<String>,
    /// The names of the servers, if the load has several servers: the URL of each server, with its address in
    /// parentheses if its host name has several addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// Additional properties, and why the run was made.
    pub facts: Facts,
    /// How the server became ready; `None` if this run did not start it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup: Option<Startup>,
}

impl Target {
    /// The maximum number of properties of a server that are stored.
    const MOST_FACTS: usize = 100;

    /// Cuts all names to a limited length, and the properties to a limited number. Texts of a server or of a
    /// file may have any length.
    #[must_use]
    pub fn with_short_names(self) -> Self {
        let facts = BTreeMap::from(self.facts).into_iter().take(Self::MOST_FACTS);
        let facts = facts.map(|(key, fact)| (visible::name(&key), visible::name(&fact)));
        Self {
            url: visible::name(&self.url),
            dialect: visible::name(&self.dialect),
            engine: self.engine.as_deref().map(visible::name),
            engine_version: self.engine_version.as_deref().map(visible::name),
            model: visible::name(&self.model),
            simulated: self.simulated,
            profile: self.profile.as_deref().map(visible::name),
            servers: self.servers.iter().map(|name| visible::name(name)).collect(),
            facts: facts.collect::<BTreeMap<_, _>>().into(),
            startup: self.startup.map(Startup::with_short_names),
        }
    }
}

/// The machine and the tools of the measurement, as this program found them; `None` means unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Host name.
    pub host: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// Logical processors that the client may use.
    pub cpus: Option<u32>,
    /// Memory of the machine, in bytes.
    pub memory_bytes: Option<u64>,
    /// Operating system and kernel release.
    pub kernel: Option<String>,
    /// The frequency governor of the processors (`performance`, `powersave`, ...).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The cards that this program found on the server's machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<Card>,
    /// The source of arrival timestamps: `kernel` or `user`.
    pub stamps: Option<String>,
    /// The name of the tokenizer that determined the lengths of prompts.
    pub tokenizer: Option<String>,
    /// SHA-256 of the tokenizer's file, if the user named a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer_sha256: Option<String>,
    /// A text that determines the prompts together with the seed. Runs with another salt have other
    /// prompts.
    #[serde(default)]
    pub salt: Option<String>,
    /// The event loops of the client. Runs of versions without this key had one event loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_loops: Option<EventLoopCount>,
}

/// How many event loops a client has. Each runs on its own thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLoopCount {
    /// The number of event loops. A pass that allows fewer requests in flight uses fewer event loops.
    pub count: u32,
    /// Why this number was chosen.
    pub why: String,
}

/// A card, as its driver describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The card's number on its machine.
    pub index: u32,
    /// The card's name, such as `NVIDIA H200`.
    pub name: Option<String>,
    /// Memory of the card, in bytes.
    pub memory_bytes: Option<u64>,
    /// Version of the card's driver.
    pub driver: Option<String>,
    /// The source of these data: `nvml`, `nvidia-smi`, `dcgm`, `sysfs`.
    pub source: String,
}
