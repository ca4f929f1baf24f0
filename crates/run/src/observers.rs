//! Who is asked what while passes run, from the plan and the server that was reached. Never asks
//! while one runs: that is the observer itself.

use std::time::Duration;

use inferometer_http::client::{Access, Client};
use inferometer_net::tls::Trust;
use inferometer_observe::{
    CardSource, Dcgm, MetricNames, MissingMetrics, Observer, Scrape, local_cards, select_cards,
};
use inferometer_plan::{MetricsAt, Plan, Url};

use crate::error::RunError;
use crate::target::ReadyTarget;

/// Where servers usually have their metrics.
const USUAL: &str = "/metrics";
/// The fact of a target that says where its metrics were read, or why they were not.
const FACT: &str = "server_metrics";
/// The fact of a target that says why its cards were not asked.
const CARDS_FACT: &str = "cards";
/// How long an answer may take. Longer would hold up the end of a pass.
const TIMEOUT: Duration = Duration::from_secs(5);

/// An observer that was made before the server got a request.
pub struct Asked {
    /// It.
    pub observer: Observer,
    /// Whether the server's metrics are to be asked for again, once it got one: a fresh server may have
    /// none before that.
    pub again: bool,
}

/// The observer of a run. What was asked for by name and cannot be had is told before anything is
/// measured; what is only usual, and is not there, is a fact of the target.
///
/// # Errors
/// When metrics or cards were asked for that do not answer.
pub fn observer(plan: &Plan, access: &Access, ready: &mut ReadyTarget) -> Result<Asked, RunError> {
    let (scrape, again) = match scrape(plan, access, ready)? {
        Some((_, Err(MissingMetrics::NotYet(_)))) => (None, true),
        found => (used(plan, found, ready)?, false),
    };
    let cards = cards(plan, access, ready)?;
    let cards_named = plan.observe.cards.is_some();
    let period = plan.observe.period;
    Ok(Asked { observer: Observer { scrape, cards, cards_named, period, on_sample: None }, again })
}

/// The server's metrics, once it got a request.
///
/// # Errors
/// When metrics were asked for that are not there.
pub fn ask_again(
    plan: &Plan,
    access: &Access,
    ready: &mut ReadyTarget,
) -> Result<Option<Scrape>, RunError> {
    let found = scrape(plan, access, ready)?;
    used(plan, found, ready)
}

/// Where metrics are looked for, and whether they are there.
type Looked = Option<(Scrape, Result<(), MissingMetrics>)>;

/// Looks for the server's metrics; `None` where nobody asks for them.
fn scrape(plan: &Plan, access: &Access, ready: &ReadyTarget) -> Result<Looked, RunError> {
    let names = MetricNames::with(&plan.observe.names).map_err(RunError::target)?;
    let Some(server) = ready.server.clone() else { return Ok(None) };
    let server = Client { timeout: TIMEOUT, ..server };
    let scrape = match &plan.observe.metrics {
        MetricsAt::Nowhere => return Ok(None),
        MetricsAt::Usual => Scrape::new(server, USUAL, names),
        MetricsAt::Path(path) => Scrape::new(server, path, names),
        MetricsAt::Address(url) => {
            let told = |why| RunError::target(format!("metrics_url (--metrics-url): {why}"));
            Scrape::new(other(url, access, ready).map_err(told)?, "", names)
        }
    };
    let found = scrape.check();
    Ok(Some((scrape, found)))
}

/// What is used of what was looked for.
fn used(plan: &Plan, found: Looked, ready: &mut ReadyTarget) -> Result<Option<Scrape>, RunError> {
    let Some((scrape, found)) = found else { return Ok(None) };
    let is_usual = matches!(plan.observe.metrics, MetricsAt::Usual);
    let (fact, scrape) = match found {
        Ok(()) => (scrape.address(), Some(scrape)),
        Err(missing) => {
            let asked_for = match is_usual {
                true if plan.observe.names.is_empty() => None,
                true => Some("metrics_names"),
                false => Some("metrics_url (--metrics-url)"),
            };
            let why = missing.why();
            if let Some(key) = asked_for {
                return Err(RunError::target(format!("{key}: {why}")));
            }
            (format!("none: {why}"), None)
        }
    };
    ready.target.facts.insert(FACT.to_owned(), fact);
    Ok(scrape)
}

fn cards(
    plan: &Plan,
    access: &Access,
    ready: &mut ReadyTarget,
) -> Result<Vec<Box<dyn CardSource>>, RunError> {
    // A server elsewhere uses none of the cards of this machine.
    let is_here = ready.server.as_ref().is_some_and(|server| server.proxy.is_none())
        && ready.address.is_here();
    let seen: Vec<Box<dyn CardSource>> = match &plan.observe.dcgm {
        Some(url) => {
            let told = |why| RunError::target(format!("dcgm_url (--dcgm-url): {why}"));
            let scrape =
                Scrape::new(other(url, access, ready).map_err(told)?, "", MetricNames::known());
            vec![Box::new(Dcgm::reach(scrape).map_err(told)?)]
        }
        None if is_here && !ready.target.simulated => local_cards(),
        None => Vec::new(),
    };
    let is_asked_for = plan.observe.dcgm.is_some() || plan.observe.cards.is_some();
    if ready.target.simulated && is_asked_for {
        // Cards may be given for all of several targets, of which one is the embedded engine.
        let fact = "not asked: the embedded engine uses no card".to_owned();
        ready.target.facts.insert(CARDS_FACT.to_owned(), fact);
        return Ok(Vec::new());
    }
    let Some(numbers) = &plan.observe.cards else { return Ok(seen) };
    let told = |why| RunError::target(format!("cards (--cards): {why}"));
    select_cards(seen, numbers).map_err(told)
}

/// Another address than the target's. It gets the target's headers, which may hold a key, only
/// where it is the same server, spoken to in the same way.
fn other(url: &Url, access: &Access, ready: &ReadyTarget) -> Result<Client, String> {
    let target = ready.server.as_ref().filter(|target| url.is_same_server(&target.url));
    let headers = target.map_or_else(Vec::new, |target| target.headers.clone());
    // That nobody checks the target's certificate says nothing of other servers.
    let is_unchecked = access.trust == Trust::Anybody && target.is_none();
    let trust = if is_unchecked { Trust::Known } else { access.trust.clone() };
    let access = Access { trust, ..access.clone() };
    Client::reach(url, headers, TIMEOUT, &access).map_err(|error| error.to_string())
}
