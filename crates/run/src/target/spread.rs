//! Several equal servers that share one load. Checks that they are equal and have different addresses. A host name that
//! resolves to several addresses counts as several servers. Measures nothing.

use std::collections::BTreeMap;

use inferometer_drive::{Endpoint, Servers, SessionHeaders};
use inferometer_model::{Finding, Target, code, sha256::sha256_hex};
use inferometer_net::{Address, http::client::Client, tls::TlsClient, wall_clock_ns};
use inferometer_plan::{Plan, SpreadPlan, TargetPlan};
use inferometer_store::PassBegin;

use super::ready::{OtherServer, ReadyTarget};
use crate::{RunError, TargetError};

/// How a pass is spread over several servers.
#[derive(Default)]
pub struct ServerSpread {
    /// The addresses of the other servers, with the dialect, path, headers and model of requests to them.
    pub others: Vec<(Address, Endpoint)>,
    /// The TLS settings for those of the other servers that use TLS.
    pub tls: Vec<(Address, TlsClient)>,
    /// Which server gets the next request, and how sessions are marked.
    pub plan: SpreadPlan,
    /// Makes the sessions of this run differ from the sessions of runs with another salt.
    pub salt: String,
    /// The number of this rank.
    pub rank: u32,
}

impl ServerSpread {
    /// The spread of a run.
    pub(crate) fn of(plan: &Plan, ready: &ReadyTarget, salt: &str, rank: u32) -> Self {
        let both = |other: &OtherServer| (other.address.clone(), other.endpoint.clone());
        let secured = |other: &OtherServer| Some((other.address.clone(), other.tls.clone()?));
        let spread = match &plan.target {
            TargetPlan::Server { spread, .. } => spread.clone(),
            TargetPlan::Embedded { .. } => SpreadPlan::default(),
        };
        Self {
            others: ready.others.iter().map(both).collect(),
            tls: ready.others.iter().filter_map(secured).collect(),
            plan: spread,
            salt: salt.to_owned(),
            rank,
        }
    }

    /// The servers of a pass; the first is at `address`.
    pub(crate) fn servers(&self, address: &Address) -> Servers {
        let others = self.others.iter().map(|(address, _)| address.clone());
        let all = std::iter::once(address.clone()).chain(others).collect();
        Servers::new(all, self.plan.balance, self.rank)
    }

    /// The dialect, path, headers and model of requests to the other servers.
    pub(crate) fn endpoints(&self) -> Vec<Endpoint> {
        self.others.iter().map(|(_, endpoint)| endpoint.clone()).collect()
    }

    /// The headers that mark the sessions of a pass. Each pass has its own number for traces, because passes that are not
    /// recorded have the numbers of others.
    pub(crate) fn sessions(&self, begin: &PassBegin) -> SessionHeaders {
        SessionHeaders {
            header: self.plan.session_header.clone(),
            cookie: self.plan.session_cookie.clone(),
            scope: format!("{} pass {}", self.salt, begin.pass),
            rank: self.rank,
            trace: if self.plan.traceparent { new_trace(&self.salt, self.rank) } else { 0 },
        }
    }
}

/// A number that no other pass and no other rank has, and that is not 0.
fn new_trace(salt: &str, rank: u32) -> u64 {
    let text = format!("{salt} {rank} {} {}", std::process::id(), wall_clock_ns());
    u64::from_str_radix(&sha256_hex(text.as_bytes())[..16], 16).unwrap_or(1).max(1)
}

/// Combines the servers of a plan into one target. The target has the description of the first server.
///
/// # Errors
/// When two servers have different dialects or models, when two servers have the same address, or when servers are
/// behind the tunnel of a proxy.
pub(crate) fn together(plan: &Plan, each: Vec<ReadyTarget>) -> Result<ReadyTarget, RunError> {
    let mut places: Vec<(String, OtherServer)> = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    for ready in &each {
        let (found, finding) = places_of(ready);
        places.extend(found);
        for finding in ready.findings.iter().cloned().chain(finding) {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    let mut all = each.into_iter();
    let Some(mut first) = all.next() else { return Err(TargetError::NoServer.into()) };
    first.findings = findings;
    if places.len() < 2 {
        return Ok(first);
    }
    for other in all {
        check_equal(&first, &other)?;
        first.findings.extend(differences(&first.target, &other.target));
        first.target.url += ", ";
        first.target.url += &other.target.url;
    }
    if let Some((proxy, _)) = &first.tunnel {
        return Err(TargetError::Tunnel(proxy.to_string()).into());
    }
    check_places(&places)?;
    first.target.facts.others.insert("balance".to_owned(), balance(plan).to_owned());
    let (names, mut others): (Vec<_>, Vec<_>) = places.into_iter().unzip();
    first.target.servers = names;
    // The first of these servers is the target; the other servers share its load.
    let own = others.remove(0);
    (first.address, first.server) = (own.address, own.server);
    first.others = others;
    Ok(first)
}

fn balance(plan: &Plan) -> &'static str {
    match &plan.target {
        TargetPlan::Server { spread, .. } => spread.balance.name(),
        TargetPlan::Embedded { .. } => SpreadPlan::default().balance.name(),
    }
}

/// The addresses of a server as separate servers, each with its name. Also returns a finding if some
/// addresses accept no connection.
fn places_of(ready: &ReadyTarget) -> (Vec<(String, OtherServer)>, Option<Finding>) {
    let place = |address: &Address, server: Option<Client>| OtherServer {
        address: address.clone(),
        endpoint: ready.endpoint.clone(),
        tls: ready.tls.clone(),
        server,
    };
    let url = &ready.target.url;
    let (clients, unreachable) =
        ready.server.as_ref().map(Client::at_each_address).unwrap_or_default();
    let finding = (!unreachable.is_empty()).then(|| {
        let those: Vec<String> =
            unreachable.iter().map(|(address, why)| format!("{address}: {why}")).collect();
        let message = format!(
            "{url}: {} of its {} addresses got no requests, because they accepted no connection ({})",
            unreachable.len(),
            unreachable.len() + clients.len(),
            those.join("; ")
        );
        Finding::of(code::ADDRESS_UNREACHABLE, message)
    });
    if clients.len() < 2 {
        return (vec![(url.clone(), place(&ready.address, ready.server.clone()))], finding);
    }
    let named = |client: Client| {
        (format!("{url} ({})", client.address), place(&client.address.clone(), Some(client)))
    };
    (clients.into_iter().map(named).collect(), finding)
}

/// Checks that two servers have the same dialect and the same model.
fn check_equal(first: &ReadyTarget, other: &ReadyTarget) -> Result<(), TargetError> {
    let (a, b) = (&first.target, &other.target);
    let differ = |what, of_a: &str, of_b: &str, flag| {
        let urls = [a.url.clone(), b.url.clone()];
        let values = [of_a, of_b].map(str::to_owned);
        Err(TargetError::Unequal { urls: urls.into(), what, values: values.into(), flag })
    };
    if a.dialect != b.dialect {
        return differ("the dialect", &a.dialect, &b.dialect, "--dialect");
    }
    if a.model != b.model {
        return differ("the model", &a.model, &b.model, "--model");
    }
    Ok(())
}

/// The finding on other differences between two servers. These differences are not an error.
fn differences(a: &Target, b: &Target) -> Option<Finding> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let mut found = Vec::new();
    let mut compare = |what: &str, a: String, b: String| {
        if a != b {
            found.push(format!("{what} {a} and {b}"));
        }
    };
    compare("engine", text(&a.engine), text(&b.engine));
    compare("version", text(&a.engine_version), text(&b.engine_version));
    let (of_a, of_b) = (a.facts.texts(), b.facts.texts());
    for key in of_a.keys().chain(of_b.keys().filter(|key| !of_a.contains_key(*key))) {
        let value = |of: &BTreeMap<String, String>| {
            of.get(key).cloned().unwrap_or_else(|| "not stated".to_owned())
        };
        compare(key, value(&of_a), value(&of_b));
    }
    let message = format!("{} and {} differ: {}", a.url, b.url, found.join("; "));
    (!found.is_empty()).then(|| Finding::of(code::SERVERS_DIFFER, message))
}

/// Checks that no two servers have the same address and the same path. Behind a proxy, all servers have the proxy's
/// address, and their paths differ.
fn check_places(places: &[(String, OtherServer)]) -> Result<(), TargetError> {
    for (at, (name, place)) in places.iter().enumerate() {
        // With TLS, no two servers may have the same address, even if their paths differ.
        let same = places[..at].iter().find(|(_, other)| {
            other.address == place.address
                && (other.endpoint.path == place.endpoint.path || place.tls.is_some())
        });
        if let Some((other, _)) = same {
            return Err(TargetError::SameAddress {
                first: other.clone(),
                second: name.clone(),
                address: place.address.to_string(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
