//! Resets the server's prefix cache before each pass, if the plan requests this. If the server does not reset its
//! cache, a finding warns once, because passes may then hit entries of earlier passes.

use inferometer_model::{Finding, code};
use inferometer_net::http::client::Client;
use inferometer_plan::Plan;
use inferometer_report::progress::Notice;
use serde_json::json;

use crate::{Events, ReadyTarget};

/// The paths that reset the cache: of vLLM, then of SGLang.
const VLLM: &str = "/reset_prefix_cache";
const SGLANG: &str = "/flush_cache";

/// The servers whose prefix cache must be reset; none if the plan does not request it.
pub struct PrefixCache {
    servers: Vec<Client>,
    paths: &'static [&'static str],
}

impl PrefixCache {
    /// The prefix caches of the ready servers. The name of the engine determines the paths.
    pub fn of(ready: &ReadyTarget, plan: &Plan) -> Self {
        let paths: &[&str] = match ready.target.engine.as_deref() {
            Some("vllm") => &[VLLM],
            Some("sglang") => &[SGLANG],
            _ => &[VLLM, SGLANG],
        };
        let others = ready.others.iter().filter_map(|other| other.server.as_ref());
        let all = ready.server.iter().chain(others).filter(|_| plan.reset_prefix_cache);
        Self { servers: all.cloned().collect(), paths }
    }

    /// Resets the cache of each server. At the first server that does not reset its cache, stops, sends a warning, and
    /// returns a finding; further calls then do nothing.
    pub fn empty(&mut self, events: &Events) -> Option<Finding> {
        let (server, answers) = self.servers.iter().find_map(|server| {
            let answers = ask(server, self.paths)?;
            Some((server.url.to_string(), answers))
        })?;
        let which = match self.servers.len() {
            1 => "the server".to_owned(),
            _ => format!("the server {server}"),
        };
        self.servers.clear();
        let message = format!(
            "--reset-prefix-cache: {which} did not reset its prefix cache ({}); passes may hit \
                entries of earlier passes",
            answers.join("; ")
        );
        let finding = Finding::of(code::PREFIX_CACHE_NOT_RESET, message);
        events.say(&Notice::Finding { finding: Box::new(finding.clone()) });
        Some(finding)
    }
}

/// Asks a server to reset its cache. Returns the server's answers if it did not reset the cache, `None` if it did.
fn ask(server: &Client, paths: &[&str]) -> Option<Vec<String>> {
    let mut answers = Vec::new();
    for path in paths {
        match server.post(path, &json!({})) {
            Ok(answer) if answer.status == 200 => return None,
            Ok(answer) => answers.push(format!("{path} returned {}", answer.status)),
            Err(error) => answers.push(error.to_string()),
        }
    }
    Some(answers)
}
