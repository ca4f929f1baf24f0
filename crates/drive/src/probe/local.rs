//! Finds the servers that run on this machine, by the ports that engines listen on by default. They are
//! asked what they are, all at the same time, and nothing is generated.

use std::sync::mpsc::channel;
use std::time::Duration;

use inferometer_http::client::{Access, Client};
use inferometer_net::{monotonic_now, thread};
use inferometer_plan::Url;

use super::{Found, probe};

/// Ports that engines listen on by default: vLLM, llama.cpp, SGLang, TGI, Ollama, LM Studio, LMDeploy.
pub const USUAL_PORTS: [u16; 7] = [8000, 8080, 30000, 3000, 11434, 1234, 23333];

/// Finds the servers on these ports of this machine that say within a time what they are, in the order of
/// the ports. A port that does not answer in half the time is skipped. No proxy is asked.
pub fn find_local(ports: &[u16], within: Duration) -> Vec<(Url, Found)> {
    let until = monotonic_now() + within;
    let (tell, told) = channel();
    for (position, &port) in ports.iter().enumerate() {
        let tell = tell.clone();
        // If no thread can start, the port is skipped. One that waits longer than all may ends by itself.
        let _ = thread::spawn(move || {
            if let Some(found) = ask(port, within / 2) {
                let _ = tell.send((position, found));
            }
        });
    }
    drop(tell);
    let mut found = Vec::new();
    while let Ok(one) = told.recv_timeout(until.since(monotonic_now())) {
        found.push(one);
    }
    found.sort_by_key(|(position, _)| *position);
    found.into_iter().map(|(_, server)| server).collect()
}

/// What listens on a port, if it is a server that can be measured.
fn ask(port: u16, patience: Duration) -> Option<(Url, Found)> {
    let url = Url::plain("127.0.0.1", port);
    let client = Client::reach(&url, Vec::new(), patience, &Access::default()).ok()?;
    let found = probe(&Client { deadline: patience, ..client }).ok()?;
    (found.engine.is_some() || found.dialect.is_some()).then_some((url, found))
}
