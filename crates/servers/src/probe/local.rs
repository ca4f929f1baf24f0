//! Finds the servers that run on this machine, at the ports that engines use by default. All ports are probed
//! at the same time, and no server generates text.

use std::{sync::mpsc::channel, time::Duration};

use inferometer_model::Url;
use inferometer_net::http::client::{Client, ServerAccess};
use inferometer_net::{monotonic_now, thread};

use super::{ServerInfo, probe};

/// Default ports of engines: vLLM, llama.cpp, SGLang, TGI, Ollama, LM Studio, LMDeploy.
pub const USUAL_PORTS: [u16; 7] = [8000, 8080, 30000, 3000, 11434, 1234, 23333];

/// Finds the servers on these ports of this machine, in the order of the ports. Returns only servers that identify
/// themselves within the time `within`. A port that does not answer in half of this time is skipped. No proxy is used.
pub fn find_local(ports: &[u16], within: Duration) -> Vec<(Url, ServerInfo)> {
    let until = monotonic_now() + within;
    let (tell, told) = channel();
    for (position, &port) in ports.iter().enumerate() {
        let tell = tell.clone();
        // If no thread can start, the port is skipped. A thread that takes longer than `within` is not
        // waited for: its timeout ends it.
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

/// The server on a port, if its engine or its dialect is known.
fn ask(port: u16, patience: Duration) -> Option<(Url, ServerInfo)> {
    let url = Url::plain("127.0.0.1", port);
    let client = Client::reach(&url, Vec::new(), patience, &ServerAccess::default()).ok()?;
    let found = probe(&Client { deadline: patience, ..client }).ok()?;
    (found.engine.is_some() || found.dialect.is_some()).then_some((url, found))
}
