//! What was measured and where: the program, the server, the machine and its GPUs.

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

/// The server under test, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Address, without credentials.
    pub url: String,
    /// The dialect that was used.
    pub dialect: String,
    /// Engine, such as `vllm`.
    pub engine: Option<String>,
    /// Its version.
    pub engine_version: Option<String>,
    /// The model's name on the server.
    pub model: String,
    /// True for the embedded engine.
    pub simulated: bool,
    /// The embedded engine's profile.
    pub profile: Option<String>,
    /// The names of the servers, if the load has several: the parts in which their addresses differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// Additional facts that the server stated (`max_model_len`, dtype, ...), or with which the embedded
    /// engine was started.
    pub facts: BTreeMap<String, String>,
}

impl Target {
    /// The most facts about a server that are kept.
    const MOST_FACTS: usize = 100;

    /// The same with names of limited length, because those of a server or a file of results may be of any
    /// length.
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

/// The machine and the tools of the measurement. Values are what was found; `None` is unknown.
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
    /// The frequency governor of the processors (`performance`, `powersave`, ...).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The cards of the server's machine, as far as this program sees them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<Card>,
    /// Where arrival stamps come from: `kernel` or `user`.
    pub stamps: Option<String>,
    /// The tokenizer that shaped the prompts.
    pub tokenizer: Option<String>,
    /// SHA-256 of its file, if the user named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer_sha256: Option<String>,
    /// A text that makes this run's prompts different from those of all other runs. With the same salt, a run
    /// can be repeated.
    #[serde(default)]
    pub salt: Option<String>,
    /// The event loops of the client. Runs of versions without this key had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_loops: Option<EventLoopCount>,
}

/// How many event loops a client has, each on a thread of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLoopCount {
    /// Their number. A pass with fewer places for requests has fewer.
    pub count: u32,
    /// Why this number was chosen.
    pub why: String,
}

/// A card, as its driver describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The card's number on its machine.
    pub index: u32,
    /// Its name, such as `NVIDIA H200`.
    pub name: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Version of its driver.
    pub driver: Option<String>,
    /// The source of these data: `nvml`, `nvidia-smi`, `dcgm`, `sysfs`.
    pub source: String,
}
