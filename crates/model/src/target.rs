//! What was measured and where: the program, the server, the machine and its cards.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::visible;

/// A program and its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Always `inferometer`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The server under test, as it states itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Address, without credentials.
    pub url: String,
    /// The dialect that was spoken.
    pub dialect: String,
    /// Engine, such as `vllm`.
    pub engine: Option<String>,
    /// Its version.
    pub engine_version: Option<String>,
    /// The model, as the server knows it.
    pub model: String,
    /// True for the embedded engine.
    pub simulated: bool,
    /// The embedded engine's profile.
    pub profile: Option<String>,
    /// The names of the servers, where several are behind one load: what tells their addresses apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// Further facts that the server stated (`max_model_len`, dtype, ...) or the embedded
    /// engine was started with.
    pub facts: BTreeMap<String, String>,
}

impl Target {
    /// The most facts that are kept of what a server says of itself.
    const MOST_FACTS: usize = 100;

    /// The same with names of a bounded length: what a server or a file of results says may be of any.
    #[must_use]
    pub fn with_short_names(self) -> Self {
        let facts = self.facts.iter().take(Self::MOST_FACTS);
        let facts = facts.map(|(key, fact)| (visible::name(key), visible::name(fact))).collect();
        Self {
            url: visible::name(&self.url),
            dialect: visible::name(&self.dialect),
            engine: self.engine.as_deref().map(visible::name),
            engine_version: self.engine_version.as_deref().map(visible::name),
            model: visible::name(&self.model),
            simulated: self.simulated,
            profile: self.profile.as_deref().map(visible::name),
            servers: self.servers.iter().map(|name| visible::name(name)).collect(),
            facts,
        }
    }
}

/// The machine and the tools of the measurement. Values are what was found; absent is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Host name.
    pub host: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// Logical processors that the client may use.
    pub cpus: Option<u32>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Operating system and kernel release.
    pub kernel: Option<String>,
    /// What decides the clock of the processors (`performance`, `powersave`, ...).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The cards of the machine on which the server runs, as far as they can be seen from here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<Card>,
    /// Where arrival stamps come from: `kernel` or `user`.
    pub stamps: Option<String>,
    /// The tokenizer that shaped the prompts.
    pub tokenizer: Option<String>,
    /// SHA-256 of its file, if the user named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer_sha256: Option<String>,
    /// What keeps this run's prompts apart from every other's: give it again to repeat the run.
    #[serde(default)]
    pub salt: Option<String>,
    /// The event loops of the client. Runs of versions without it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_loops: Option<EventLoopCount>,
}

/// How many event loops a client has, each on a thread of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLoopCount {
    /// How many. A pass with fewer places for requests has fewer.
    pub count: u32,
    /// Why as many.
    pub why: String,
}

/// A card, as its driver states it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Which of the machine's cards.
    pub index: u32,
    /// `NVIDIA H200`, ...
    pub name: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Version of its driver.
    pub driver: Option<String>,
    /// Who says so: `nvml`, `nvidia-smi`, `dcgm`, `sysfs`.
    pub source: String,
}
