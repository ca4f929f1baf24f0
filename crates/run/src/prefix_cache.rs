//! Empties the server's prefix cache between passes, where the server can. Where it cannot, that is
//! said once and loudly, for the passes then measure a cache that the ones before have filled.

use inferometer_http::client::Client;
use inferometer_model::finding::{Finding, code};
use inferometer_plan::Plan;
use serde_json::json;

use crate::events::Events;
use crate::target::ReadyTarget;

/// Where servers are asked to empty it.
const VLLM: &str = "/reset_prefix_cache";
const SGLANG: &str = "/flush_cache";

/// The prefix cache of a server, if it is to be emptied.
pub struct PrefixCache {
    server: Option<Client>,
    paths: &'static [&'static str],
}

impl PrefixCache {
    /// That of the server that is ready, by the name of its engine.
    pub fn of(ready: &ReadyTarget, plan: &Plan) -> Self {
        let paths: &[&str] = match ready.target.engine.as_deref() {
            Some("vllm") => &[VLLM],
            Some("sglang") => &[SGLANG],
            _ => &[VLLM, SGLANG],
        };
        Self { server: ready.server.clone().filter(|_| plan.reset_prefix_cache), paths }
    }

    /// Empties it. When the server cannot, says so, and asks no more.
    pub fn empty(&mut self, events: &Events) -> Option<Finding> {
        let server = self.server.as_ref()?;
        let mut answers = Vec::new();
        for path in self.paths {
            match server.post(path, &json!({})) {
                Ok(answer) if answer.status == 200 => return None,
                Ok(answer) => answers.push(format!("{path} was answered with {}", answer.status)),
                Err(error) => answers.push(error.to_string()),
            }
        }
        self.server = None;
        let message = format!(
            "--reset-prefix-cache: the server did not empty its prefix cache ({}); passes may \
             find what earlier ones have left there",
            answers.join("; ")
        );
        events.say(&format!("warning: {message}"));
        Some(Finding::of(code::PREFIX_CACHE_NOT_RESET, message))
    }
}
