//! Chooses the servers and cards that are observed while passes run, according to the plan and the ready
//! server. The [`Observer`] itself reads the metrics.

use std::time::Duration;

use inferometer_model::Url;
use inferometer_net::http::client::{Client, ServerAccess};
use inferometer_net::tls::Trust;
use inferometer_plan::{MetricsAt, Plan};
use inferometer_servers::observe::{
    CardSource, Dcgm, MetricNames, ObserveError, Observer, Scrape, local_cards, select_cards,
};

use super::ready::ReadyTarget;
use crate::RunError;

/// The key of the addresses of metrics, and its flag.
const METRICS_URL: &str = "metrics_url (--metrics-url)";
/// The usual path of a server's metrics.
const USUAL: &str = "/metrics";
/// The name of the fact that states from which address the server's metrics were read, or why they were not read.
const FACT: &str = "server_metrics";
/// The name of the fact that states why the server's cards were not observed.
const CARDS_FACT: &str = "cards";
/// The timeout of a request for metrics. A longer timeout would delay the end of a pass.
const TIMEOUT: Duration = Duration::from_secs(5);

/// An observer that was created before the server got a request.
pub struct NewObserver {
    /// The observer.
    pub observer: Observer,
    /// Whether to look for the server's metrics again after its first request. Some servers have no metrics before
    /// their first request.
    pub again: bool,
}

/// The observer of a run. It is created before anything is measured. Metrics that are read only by default may be
/// unavailable: a fact of the target then states the reason.
///
/// # Errors
/// When the plan requests metrics or cards that are not available.
pub fn observer(
    plan: &Plan,
    access: &ServerAccess,
    ready: &mut ReadyTarget,
) -> Result<NewObserver, RunError> {
    let looked = look(plan, access, ready)?;
    let is_early = |one: &Looked| matches!(&one.found, Err(why) if why.may_come_later());
    let again = looked.iter().any(is_early);
    let cards = cards(plan, access, ready)?;
    let mut observer = Observer {
        scrape: None,
        sources: Vec::new(),
        combines_sources: false,
        cards,
        cards_named: plan.observe.cards.is_some(),
        period: plan.observe.period,
        on_sample: None,
    };
    if !again {
        used(plan, looked, ready, &mut observer)?;
    }
    Ok(NewObserver { observer, again })
}

/// Looks for the server's metrics again, after its first request.
///
/// # Errors
/// When the plan requests metrics that do not exist.
pub fn ask_again(
    plan: &Plan,
    access: &ServerAccess,
    ready: &mut ReadyTarget,
    observer: &mut Observer,
) -> Result<(), RunError> {
    let looked = look(plan, access, ready)?;
    used(plan, looked, ready, observer)
}

/// The result of looking for metrics at one address.
struct Looked {
    /// The name of the server, or the address of the metrics; empty for a single server.
    name: String,
    scrape: Scrape,
    found: Result<(), ObserveError>,
}

/// Looks for the metrics of each server; does nothing if the plan excludes them.
fn look(plan: &Plan, access: &ServerAccess, ready: &ReadyTarget) -> Result<Vec<Looked>, RunError> {
    let names =
        MetricNames::with(&plan.observe.names).map_err(RunError::observe("metrics_names"))?;
    let servers =
        std::iter::once(&ready.server).chain(ready.others.iter().map(|other| &other.server));
    // A single server needs no name.
    let names_of_servers =
        ready.target.servers.iter().cloned().chain(std::iter::once(String::new()));
    let servers = servers.flatten().zip(names_of_servers);
    let own = |path: &str| -> Vec<(String, Scrape)> {
        let of = |(server, name): (&Client, String)| {
            let server = Client { timeout: TIMEOUT, ..server.clone() };
            (name, Scrape::new(server, path, names.clone()))
        };
        servers.map(of).collect()
    };
    let elsewhere = |url: &Url| {
        let scrape = Scrape::new(
            other(url, access, ready).map_err(RunError::observe(METRICS_URL))?,
            "",
            names.clone(),
        );
        Ok((url.to_string(), scrape))
    };
    let scrapes = match &plan.observe.metrics {
        _ if ready.server.is_none() => Vec::new(),
        MetricsAt::Off => Vec::new(),
        MetricsAt::Usual => own(USUAL),
        MetricsAt::Path(path) => own(path),
        MetricsAt::Address(url) => vec![elsewhere(url)?],
        MetricsAt::Addresses(urls) => {
            urls.iter().map(elsewhere).collect::<Result<_, RunError>>()?
        }
    };
    let looked = |(name, scrape): (String, Scrape)| Looked { name, found: scrape.check(), scrape };
    Ok(scrapes.into_iter().map(looked).collect())
}

/// Adds the metrics that were found to the observer. A fact of the target states their addresses, or why there are
/// none.
fn used(
    plan: &Plan,
    looked: Vec<Looked>,
    ready: &mut ReadyTarget,
    observer: &mut Observer,
) -> Result<(), RunError> {
    let is_usual = matches!(plan.observe.metrics, MetricsAt::Usual);
    let (count, mut facts, mut there) = (looked.len(), Vec::new(), Vec::new());
    for Looked { name, scrape, found } in looked {
        match found {
            Ok(()) => {
                facts.push(scrape.address());
                there.push((name, scrape));
            }
            Err(missing) => {
                let asked_for = match is_usual {
                    true if plan.observe.names.is_empty() => None,
                    true => Some("metrics_names"),
                    false => Some(METRICS_URL),
                };
                if let Some(key) = asked_for {
                    return Err(RunError::Observe { key, source: missing });
                }
                facts.push(format!("none: {missing}"));
            }
        }
    }
    if !facts.is_empty() {
        ready.target.facts.others.insert(FACT.to_owned(), facts.join("; "));
    }
    if count == 1 {
        observer.scrape = there.pop().map(|(_, scrape)| scrape);
    } else {
        // The metrics of pools of different kinds cannot be added up. The metrics of only some of the servers
        // are not added up either.
        let are_of_pools = matches!(plan.observe.metrics, MetricsAt::Addresses(_));
        observer.combines_sources = !are_of_pools && there.len() == count;
        observer.sources = there;
    }
    Ok(())
}

fn cards(
    plan: &Plan,
    access: &ServerAccess,
    ready: &mut ReadyTarget,
) -> Result<Vec<Box<dyn CardSource>>, RunError> {
    // A server on another machine uses no card of this machine.
    let is_here = ready.server.as_ref().is_some_and(|server| server.proxy.is_none())
        && ready.address.is_here()
        && ready.others.iter().all(|other| other.address.is_here());
    let seen: Vec<Box<dyn CardSource>> = match &plan.observe.dcgm {
        Some(url) => {
            let dcgm = other(url, access, ready)
                .and_then(|client| Dcgm::reach(Scrape::new(client, "", MetricNames::known())));
            vec![Box::new(dcgm.map_err(RunError::observe("dcgm_url (--dcgm-url)"))?)]
        }
        None if is_here && !ready.target.simulated => local_cards(),
        None => Vec::new(),
    };
    let is_asked_for = plan.observe.dcgm.is_some() || plan.observe.cards.is_some();
    if ready.target.simulated && is_asked_for {
        // The cards in a plan apply to all of its targets. Therefore, it is not an error if one target is the embedded
        // engine.
        let fact = "not read: the embedded engine uses no card".to_owned();
        ready.target.facts.others.insert(CARDS_FACT.to_owned(), fact);
        return Ok(Vec::new());
    }
    let Some(numbers) = &plan.observe.cards else { return Ok(seen) };
    select_cards(seen, numbers).map_err(RunError::observe("cards (--cards)"))
}

/// A client for an address that is not the target's. The target's headers may contain a key, so the client sends
/// them only to the target's own server, with the same scheme.
fn other(url: &Url, access: &ServerAccess, ready: &ReadyTarget) -> Result<Client, ObserveError> {
    let others = ready.others.iter().filter_map(|other| other.server.as_ref());
    let target = ready.server.iter().chain(others).find(|target| url.is_same_server(&target.url));
    let headers = target.map_or_else(Vec::new, |target| target.headers.clone());
    // `--insecure` applies only to the target: the certificates of other servers are still checked.
    let is_unchecked = access.trust == Trust::AnyCertificate && target.is_none();
    let trust = if is_unchecked { Trust::Known } else { access.trust.clone() };
    let access = ServerAccess { trust, ..access.clone() };
    Ok(Client::reach(url, headers, TIMEOUT, &access)?)
}
