//! The information that a server states about itself.

use std::collections::BTreeMap;

use inferometer_model::{Secrets, visible};

use super::answer::UnexpectedAnswer;

/// The information that a server states about itself. A value that it does not state is `None` or empty,
/// never guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerInfo {
    /// Engine, such as `vllm`.
    pub engine: Option<&'static str>,
    /// The version of the engine.
    pub version: Option<String>,
    /// The names of the models that the server serves.
    pub models: Vec<String>,
    /// The dialect to use, if a dialect is known that the server supports.
    pub dialect: Option<&'static str>,
    /// Whether the server is the embedded engine, so that every figure comes from a simulation.
    pub simulated: bool,
    /// What the server serves instead of generated text, such as `embeddings`.
    pub serves_only: Option<&'static str>,
    /// Additional facts, under the server's own names.
    pub facts: BTreeMap<String, String>,
    /// Whether the server answered with a list of models, which may be empty.
    pub lists_models: bool,
    /// The answer to the request for the list of models, unless it was JSON with status 200.
    pub unexpected: Option<UnexpectedAnswer>,
    /// An answer with status 502, 503 or 504: of a server that is loading its model, or of a gateway that got
    /// no valid answer from its server.
    pub loading: Option<UnexpectedAnswer>,
}

impl ServerInfo {
    /// Removes secrets from the texts of the server.
    pub(super) fn remove(&mut self, secrets: &Secrets) {
        let redact = |text: &mut String| *text = secrets.redact_name(text).into_owned();
        self.models.iter_mut().chain(&mut self.version).for_each(redact);
        let redacted = |text: String| secrets.redact_name(&text).into_owned();
        let facts = std::mem::take(&mut self.facts).into_iter();
        self.facts = facts.map(|(name, fact)| (redacted(name), redacted(fact))).collect();
    }

    /// A summary in one line, for people: `vllm 0.32.0, model tiny`.
    pub fn line(&self) -> String {
        let engine = match (self.engine, &self.version) {
            (Some(engine), Some(version)) => format!("{engine} {}", visible::name(version)),
            (Some(engine), None) => engine.to_owned(),
            (None, _) => "an unknown server".to_owned(),
        };
        match self.models.as_slice() {
            [] => engine,
            models => format!("{engine}, model {}", visible::names(models)),
        }
    }
}
