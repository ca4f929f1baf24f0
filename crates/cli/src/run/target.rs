//! The server under test: started or reached, asked what it is, and how it is to be spoken to.

use std::collections::BTreeMap;
use std::time::Duration;

use inferometer_drive::Endpoint;
use inferometer_drive::probe::{Found, find_local, probe};
use inferometer_http::client::Client;
use inferometer_model::finding::{Finding, Severity};
use inferometer_model::target::Target;
use inferometer_net::tls::{TlsClient, Trust};
use inferometer_plan::spec::Spec;
use inferometer_plan::{Grid, Plan, TargetPlan, Url};
use inferometer_wire::dialect::{Dialect, dialect};

use super::child::ServerProcess;
use super::servers::{self, Servers, Start};
use super::{Options, Resolved};
use crate::exit::{Failure, tell};

/// Tokens within which the embedded engine ends answers to text blocks: about as long on average
/// as those of the published record.
const END_OF_TEXT_WITHIN: u32 = 1_000;

/// How long a server may take to say what it is.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// A server that is ready to be measured.
pub struct Ready {
    /// For questions beside the measurement.
    pub server: Client,
    /// For the measurement.
    pub endpoint: Endpoint,
    /// What it says of itself.
    pub target: Target,
    /// What was found on the way.
    pub findings: Vec<Finding>,
    /// The embedded engine's process, which ends with this value.
    _process: Option<ServerProcess>,
}

/// The authorization header, from the environment variable that holds the key.
///
/// # Errors
/// When a variable was named that is not set, or whose value cannot be sent.
pub fn authorization(spec: &Spec) -> Result<Option<(String, String)>, Failure> {
    let given = |header: &String| {
        header
            .split(':')
            .next()
            .is_some_and(|name| name.trim().eq_ignore_ascii_case("authorization"))
    };
    if spec.target.is_none() && spec.server.is_none() || spec.header.iter().flatten().any(given) {
        return Ok(None);
    }
    let name = spec.api_key_env.as_deref().unwrap_or("OPENAI_API_KEY");
    match std::env::var(name) {
        Ok(key) if key.is_empty() && spec.api_key_env.is_none() => Ok(None),
        Ok(key) if key.is_empty() || key.chars().any(char::is_control) => Err(Failure::usage(
            format!("api_key_env (--api-key-env): the variable {name} does not hold a key"),
        )),
        Ok(key) => {
            // Each API has its own field for it; most have the same.
            let dialect = spec.dialect.as_deref().and_then(dialect);
            let (name, value) = dialect.map_or_else(
                || ("authorization", format!("Bearer {key}")),
                |dialect| dialect.key_header(&key),
            );
            Ok(Some((name.to_owned(), value)))
        }
        Err(_) if spec.api_key_env.is_none() => Ok(None),
        Err(_) => Err(Failure::usage(format!(
            "api_key_env (--api-key-env): the variable {name} is not set"
        ))),
    }
}

/// Starts or reaches the server and asks what it is. One that the plan starts is in `servers`.
///
/// # Errors
/// When it cannot be started, reached or spoken to.
pub fn prepare(
    resolved: &Resolved,
    options: &Options,
    servers: &mut Servers,
    start: Start<'_>,
) -> Result<Ready, Failure> {
    let mut ready = ready(resolved, options, servers, start)?;
    ready.target.facts.extend(resolved.facts.clone());
    Ok(ready)
}

fn ready(
    resolved: &Resolved,
    options: &Options,
    servers: &mut Servers,
    start: Start<'_>,
) -> Result<Ready, Failure> {
    if let Some(launch) = &resolved.plan.launch {
        let url = servers.get(launch, start)?;
        let server = reach(&url, resolved.headers.clone(), &Trust::Known)?;
        let mut ready = describe(&resolved.plan, server, None)?;
        ready.target.facts.extend(servers::facts(launch));
        return Ok(ready);
    }
    match &resolved.plan.target {
        TargetPlan::Embedded { model, profile, speed, .. } => {
            let ends = resolved.plan.workload.grid() == Grid::Characters
                && !resolved.plan.sampling.ignore_eos;
            let within = ends.then_some(END_OF_TEXT_WITHIN);
            let process = ServerProcess::engine(model, profile.as_deref(), *speed, within)?;
            let server = reach(&process.url, Vec::new(), &Trust::Known)?;
            let mut ready = describe(&resolved.plan, server, Some(process))?;
            if ends {
                let message = format!(
                    "the embedded engine ends its answers after 1 to {END_OF_TEXT_WITHIN} tokens, \
                     drawn at random, whatever length is asked for"
                );
                ready.findings.push(Finding::new("lengths_are_simulated", Severity::Note, message));
            }
            if !options.quiet {
                suggest_local();
            }
            Ok(ready)
        }
        TargetPlan::Server { url, insecure, .. } => {
            let server = reach(url, resolved.headers.clone(), &resolved.trust)?;
            let mut ready = describe(&resolved.plan, server, None)?;
            if *insecure {
                ready.findings.push(unchecked(url));
            }
            Ok(ready)
        }
    }
}

fn reach(url: &Url, headers: Vec<(String, String)>, trust: &Trust) -> Result<Client, Failure> {
    Client::reach(url, headers, PROBE_TIMEOUT, trust).map_err(Failure::not_carried_out)
}

/// Whom the user trusts to be the server.
///
/// # Errors
/// When the file of authorities cannot be read.
pub fn trust(spec: &Spec) -> Result<Trust, Failure> {
    let Some(path) = &spec.ca_cert else {
        return Ok(if spec.insecure == Some(true) { Trust::Anybody } else { Trust::Known });
    };
    let told = |why: String| Failure::usage(format!("ca_cert (--ca-cert): {path}: {why}"));
    let trust = Trust::Also(std::fs::read(path).map_err(|error| told(error.to_string()))?);
    // What is no certificate is told before anything is sent, whatever the server is called.
    TlsClient::new("localhost", &trust).map_err(|error| told(error.to_string()))?;
    Ok(trust)
}

fn unchecked(url: &Url) -> Finding {
    let message = format!(
        "whoever answers at {url} was taken for the server: its certificate was not checked, and \
         the key and the prompts went to it"
    );
    Finding::new("certificate_unchecked", Severity::Warning, message)
        .advise("give the authority that vouches for it with --ca-cert instead of --insecure")
}

/// Says how to benchmark a server that runs on this machine. It is only asked what it is.
fn suggest_local() {
    for (url, found) in find_local() {
        if !found.simulated {
            let line = found.line();
            tell(&format!(
                "note: {url} is {line}; benchmark it with: inferometer run --target {url}"
            ));
        }
    }
}

fn describe(plan: &Plan, server: Client, process: Option<ServerProcess>) -> Result<Ready, Failure> {
    let found = probe(&server).map_err(Failure::not_carried_out)?;
    let mut findings = Vec::new();
    let dialect = choose_dialect(plan, &server.url, &found)?;
    if plan.token_ids && !dialect.accepts_token_ids {
        return Err(Failure::usage(format!(
            "token_ids (--token-ids): the dialect {} takes text only",
            dialect.name
        )));
    }
    let model = choose_model(plan, &server.url, &found, &mut findings)?;
    if plan.sampling.ignore_eos && !dialect.honours_ignore_eos {
        findings.push(
            Finding::new(
                "ignore_eos_not_supported",
                Severity::Warning,
                format!(
                    "{} has no way to go on after end-of-text: outputs are as long as the model \
                     makes them",
                    dialect.name
                ),
            )
            .advise("read tokens/s and the output lengths in the report beside requests/s"),
        );
    }
    let path = match &plan.target {
        TargetPlan::Server { endpoint: Some(path), .. } => path.clone(),
        _ => dialect.path(plan.sampling.stream).replace("{model}", &model),
    };
    let mut headers = server.headers.clone();
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    for (name, value) in dialect.headers {
        // Whoever gives one of them themselves wants that.
        if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
            headers.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    let endpoint = Endpoint {
        dialect,
        authority: server.url.host_field(),
        path: format!("{}{path}", server.url.prefix),
        headers,
        model: model.clone(),
    };
    let target = target(plan, &server.url, dialect, &model, found);
    Ok(Ready { server, endpoint, target, findings, _process: process })
}

fn target(plan: &Plan, url: &Url, dialect: &Dialect, model: &str, found: Found) -> Target {
    let mut facts: BTreeMap<String, String> = found.facts;
    let profile = facts.remove("profile");
    let embedded = matches!(plan.target, TargetPlan::Embedded { .. });
    Target {
        // The port of the embedded engine is drawn anew each time and says nothing.
        url: if embedded { "embedded".to_owned() } else { url.to_string() },
        dialect: dialect.name.to_owned(),
        engine: found.engine.map(str::to_owned),
        engine_version: found.version,
        model: model.to_owned(),
        simulated: found.simulated,
        profile,
        facts,
    }
}

fn choose_dialect(plan: &Plan, url: &Url, found: &Found) -> Result<&'static Dialect, Failure> {
    let wanted = match &plan.target {
        TargetPlan::Server { dialect: Some(name), .. }
        | TargetPlan::Embedded { dialect: Some(name), .. } => Some(name.as_str()),
        _ => found.dialect,
    };
    wanted.and_then(dialect).ok_or_else(|| {
        Failure::not_carried_out(format!(
            "{url}: answers, but says nothing by which its dialect can be told; name it with \
             --dialect (`inferometer dialects` lists them)"
        ))
    })
}

fn choose_model(
    plan: &Plan,
    url: &Url,
    found: &Found,
    findings: &mut Vec<Finding>,
) -> Result<String, Failure> {
    let listed = found.models.join(", ");
    let wanted = match &plan.target {
        TargetPlan::Server { model, .. } => model.as_ref(),
        TargetPlan::Embedded { .. } => None,
    };
    match (wanted, found.models.as_slice()) {
        (Some(name), models) => {
            if !models.is_empty() && !models.contains(name) {
                findings.push(Finding::new(
                    "model_not_listed",
                    Severity::Warning,
                    format!("the server lists {listed}, not {name}"),
                ));
            }
            Ok(name.clone())
        }
        (None, [only]) => Ok(only.clone()),
        (None, []) => {
            Err(Failure::not_carried_out(format!("{url}: lists no models; name one with --model")))
        }
        (None, _) => Err(Failure::not_carried_out(format!(
            "{url}: serves several models; choose one with --model: {listed}"
        ))),
    }
}
