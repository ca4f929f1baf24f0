//! Starts the server under test or connects to it, and identifies it and its API. Measures nothing.

use std::time::Duration;

use inferometer_drive::Endpoint;
use inferometer_model::request::OLLAMA;
use inferometer_model::secrets::REDACTED;
use inferometer_model::target::Facts;
use inferometer_model::{Finding, MediaKind, Secrets, Target, Url, code, visible};
use inferometer_net::http::client::{Client, ServerAccess};
use inferometer_net::http::proxy::Proxy;
use inferometer_plan::{Grid, MediaPlan, Plan, TargetPlan, spec::limits::MAX_NAME};
use inferometer_report::progress::Notice;
use inferometer_servers::probe::{ServerInfo, USUAL_PORTS, find_local};
use inferometer_wire::dialect::{Dialect, dialect};
use inferometer_wire::http::path_segment;

use super::connect::{ConnectOptions, Reached, connect, wait_for};
use super::servers::{self, Servers, Start};
use super::{
    embedded::EmbeddedServer, ignore_eos::IgnoreEos, noise::noise_of, ready::ReadyTarget, spread,
};
use crate::{Context, RunError, TargetError};

/// The embedded engine ends answers to text blocks within this many tokens. The average length of its answers is then
/// about the same as in the published log.
const END_OF_TEXT_WITHIN: u32 = 1_000;

/// How long to wait for servers on the usual ports of this machine.
const LOCAL_WITHIN: Duration = Duration::from_millis(200);

/// Starts the server or connects to it, and identifies it. A server that the plan starts is in `servers`
/// afterwards.
///
/// # Errors
/// When the server cannot be started or reached, when its API or its model is unknown, or when servers that share one
/// load are not equal.
pub fn prepare(
    plan: &Plan,
    context: &Context,
    servers: &mut Servers,
    start: Start<'_>,
) -> Result<ReadyTarget, RunError> {
    let mut ready = match &plan.launch {
        Some(launch) => {
            let url = servers.get(launch, start)?;
            let straight = ServerAccess::default();
            let wanted = wanted(&url, &context.headers, &straight);
            let wanted = ConnectOptions { is_named: names_all(plan), is_launched: true, ..wanted };
            let mut ready = describe(plan, connect(wanted)?)?;
            ready.target.facts.others.extend(servers::facts(launch));
            ready
        }
        None => unlaunched(plan, context, start)?,
    };
    ready.target.facts.origin = context.origin.clone();
    Ok(ready)
}

/// Connects to the servers that the plan names, or starts the embedded engine.
fn unlaunched(plan: &Plan, context: &Context, start: Start<'_>) -> Result<ReadyTarget, RunError> {
    match &plan.target {
        TargetPlan::Embedded { model, profile, speed, .. } => {
            let ends = plan.workload.grid() == Grid::Characters && !plan.sampling.ignore_eos;
            let within = ends.then_some(END_OF_TEXT_WITHIN);
            let program = context.host.program.as_deref();
            let noise = noise_of(plan, context)?;
            let profile = profile.as_deref();
            let engine = EmbeddedServer::start(program, model, profile, *speed, within, noise)?;
            let mut ready =
                describe(plan, connect(wanted(&engine.url, &[], &ServerAccess::default()))?)?;
            ready.embedded = Some(engine);
            if ends {
                let message = format!(
                    "the embedded engine ends its answers after 1 to {END_OF_TEXT_WITHIN} tokens, \
                        drawn at random, and ignores the requested length"
                );
                ready.findings.push(Finding::of(code::LENGTHS_ARE_SIMULATED, message));
            }
            if context.host.find_local_servers {
                suggest_local(start);
            }
            Ok(ready)
        }
        TargetPlan::Server { .. } => {
            let urls = plan.target.urls();
            let each: Result<Vec<_>, _> =
                urls.map(|url| named(plan, context, start, url)).collect();
            spread::together(plan, each?)
        }
    }
}

/// Connects to a server that the plan names.
fn named(
    plan: &Plan,
    context: &Context,
    start: Start<'_>,
    url: &Url,
) -> Result<ReadyTarget, RunError> {
    let TargetPlan::Server { insecure, model, .. } = &plan.target else {
        return Err(TargetError::NotInPlan(url.to_string()).into());
    };
    let wanted = wanted(url, &context.headers, &context.access);
    let wanted =
        ConnectOptions { lists_a_model: model.is_none(), is_named: names_all(plan), ..wanted };
    let reached = match context.wait {
        None => connect(wanted),
        Some(wait) => wait_for(wanted, wait, start),
    };
    let mut ready = describe(plan, reached?)?;
    if *insecure {
        ready.findings.push(unchecked(url));
    }
    Ok(ready)
}

fn wanted<'a>(
    url: &'a Url,
    headers: &'a [(String, String)],
    access: &'a ServerAccess,
) -> ConnectOptions<'a> {
    ConnectOptions {
        url,
        headers,
        access,
        lists_a_model: false,
        is_named: false,
        is_launched: false,
    }
}

/// Whether a plan names the dialect and the model. A server then need not state them.
fn names_all(plan: &Plan) -> bool {
    matches!(plan.target, TargetPlan::Server { dialect: Some(_), model: Some(_), .. })
}

fn unchecked(url: &Url) -> Finding {
    let message = format!(
        "the certificate of {url} was not checked: the server is not authenticated, but received \
            the API key and the prompts"
    );
    Finding::of(code::CERTIFICATE_UNCHECKED, message)
}

fn through(proxy: &Proxy, Client { url, tls, .. }: &Client) -> Finding {
    let how = if tls.is_some() { "a tunnel of" } else { "" };
    let message = format!(
        "requests to {url} went through {how}{}the proxy {proxy} ({}): latencies and failures \
            include the proxy",
        if how.is_empty() { "" } else { " " },
        proxy.named_by
    );
    Finding::of(code::THROUGH_A_PROXY, message)
}

/// Tells the user how to benchmark the servers that run on this machine. No text is generated on these servers.
fn suggest_local(start: Start<'_>) {
    for (url, found) in find_local(&USUAL_PORTS, LOCAL_WITHIN) {
        if !found.simulated && found.serves_only.is_none() {
            start.events.say(&Notice::LocalServer { url: url.to_string(), server: found.line() });
        }
    }
}

fn describe(plan: &Plan, Reached { server, found }: Reached) -> Result<ReadyTarget, RunError> {
    let mut findings = Vec::new();
    let dialect = choose_dialect(plan, &server.url, &found)?;
    if plan.token_ids && !dialect.accepts_token_ids {
        return Err(RunError::plan(format!(
            "token_ids (--token-ids): the dialect {} accepts text only; leave out --token-ids, or \
                give another --dialect",
            dialect.name
        )));
    }
    for kind in plan.media.iter().flat_map(MediaPlan::kinds) {
        if let Some(why) = dialect.refuses(kind) {
            let key = if kind == MediaKind::Image { "images" } else { "audio" };
            return Err(RunError::plan(format!("{key} (--{key}): {why}")));
        }
    }
    if plan.adapters.is_some() && !dialect.names_model(&plan.sampling) {
        return Err(RunError::plan(format!(
            "adapters (--adapters): requests of the dialect {} do not name a model, so they cannot name an adapter; give \
                --dialect openai-completions or openai-chat",
            dialect.name
        )));
    }
    let model = choose_model(plan, &server, &found, &mut findings)?;
    if dialect.name == OLLAMA && plan.sampling.num_ctx().is_none() {
        let message = "requests do not set num_ctx, and the context length of the server is unknown: it may cut prompts";
        findings.push(Finding::of(code::CONTEXT_UNSET, message));
    }
    if plan.sampling.asks_to_ignore_eos() {
        findings.extend(IgnoreEos::of(dialect, found.engine).finding(dialect, found.engine));
    }
    let path = match &plan.target {
        TargetPlan::Server { endpoint: Some(path), .. } => path.clone(),
        _ => dialect.path(plan.sampling.stream).replace("{model}", &path_segment(&model)),
    };
    let mut headers = server.headers.clone();
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    for (name, value) in dialect.headers {
        // A header that the user gives is not replaced.
        if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
            headers.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    let (before, authorization) = server.forwarding();
    headers.extend(authorization);
    let endpoint = Endpoint {
        dialect,
        authority: server.url.host_field(),
        path: format!("{before}{}{path}", server.url.prefix),
        headers,
        model: model.clone(),
    };
    let mut target = target(plan, &server.url, dialect, &model, found);
    if let Some(proxy) = &server.proxy {
        target.facts.others.insert("proxy".to_owned(), proxy.to_string());
        findings.push(through(proxy, &server));
    }
    Ok(ReadyTarget {
        address: server.address.clone(),
        tunnel: server.tunnel().map(|(proxy, server)| (proxy.clone(), server)),
        tls: server.tls.clone(),
        server: Some(server),
        endpoint,
        target,
        findings,
        embedded: None,
        others: Vec::new(),
    })
}

fn target(plan: &Plan, url: &Url, dialect: &Dialect, model: &str, found: ServerInfo) -> Target {
    let mut facts = Facts::stated(found.facts);
    let profile = facts.others.remove("profile");
    let embedded = matches!(plan.target, TargetPlan::Embedded { .. });
    if let TargetPlan::Server { card: Some(card), .. } = &plan.target {
        let before = facts.card.replace(card.clone());
        if let Some(before) = before.filter(|before| before != card) {
            facts.others.insert("card_of_server".to_owned(), before);
        }
        facts.card_is_by_user = true;
    }
    if let Some(tokens) = plan.sampling.num_ctx().filter(|_| dialect.name == OLLAMA) {
        facts.others.insert("num_ctx".to_owned(), tokens.to_string());
    }
    Target {
        // The port of the embedded engine is random and has no meaning.
        url: if embedded { "embedded".to_owned() } else { url.to_string() },
        dialect: dialect.name.to_owned(),
        engine: found.engine.map(str::to_owned),
        engine_version: found.version,
        model: model.to_owned(),
        simulated: found.simulated,
        profile,
        servers: Vec::new(),
        facts,
        startup: None,
    }
    .with_short_names()
}

fn choose_dialect(
    plan: &Plan,
    url: &Url,
    found: &ServerInfo,
) -> Result<&'static Dialect, TargetError> {
    let names_all =
        matches!(plan.target, TargetPlan::Server { dialect: Some(_), endpoint: Some(_), .. });
    // A server of embeddings alone is what such a plan needs.
    let is_known = names_all || plan.pooling.is_some();
    if let (Some(serves), false) = (found.serves_only, is_known) {
        let (url, engine, serves) = (url.to_string(), found.line(), serves.to_owned());
        return Err(TargetError::OtherKind { url, engine, serves });
    }
    let wanted = match &plan.target {
        TargetPlan::Server { dialect: Some(name), .. }
        | TargetPlan::Embedded { dialect: Some(name), .. } => Some(name.as_str()),
        _ => found.dialect.map(|name| {
            // Servers with these APIs also have the chat API, which alone can send messages.
            let has_chat = ["openai-completions", "tgi"].contains(&name);
            let needs_chat =
                plan.media.is_some() || inferometer_workload::has_messages(&plan.workload);
            match has_chat && needs_chat {
                true => "openai-chat",
                false => name,
            }
        }),
    };
    wanted.and_then(dialect).ok_or_else(|| {
        // A server that does not list its models may still support a dialect.
        let url = url.to_string();
        match &found.unexpected {
            None => TargetError::UnknownApi(url),
            Some(unexpected) => match (unexpected.status, unexpected.in_words()) {
                (Some(404), what) => TargetError::NotFound { url, what },
                (_, what) => TargetError::Unexpected { url, what },
            },
        }
    })
}

fn choose_model(
    plan: &Plan,
    Client { url, headers, .. }: &Client,
    found: &ServerInfo,
    findings: &mut Vec<Finding>,
) -> Result<String, TargetError> {
    let listed = visible::names(&found.models);
    let wanted = match &plan.target {
        TargetPlan::Server { model, .. } => model.as_ref(),
        TargetPlan::Embedded { .. } => None,
    };
    match (wanted, found.models.as_slice()) {
        (Some(name), models) => {
            // The value of a header may be part of the name. The list then contains the name with this value
            // redacted.
            let listed_as = Secrets::of_headers(headers).redact(name).into_owned();
            if !models.is_empty() && !models.contains(name) && !models.contains(&listed_as) {
                findings.push(Finding::of(
                    code::MODEL_NOT_LISTED,
                    format!("the server lists {listed}, not {name}"),
                ));
            }
            Ok(name.clone())
        }
        // A part of the real name was redacted, because it is the value of a header.
        (None, [only]) if only.contains(REDACTED) => Err(TargetError::SecretModel(url.to_string())),
        (None, [only]) if only.chars().count() > MAX_NAME => {
            Err(TargetError::LongModel(url.to_string()))
        }
        (None, [only]) => Ok(only.clone()),
        (None, []) => {
            let why = found.unexpected.as_ref().filter(|unexpected| unexpected.status != Some(404));
            let why = why.map_or_else(String::new, |why| format!(" ({})", why.in_words()));
            Err(TargetError::NoModels { url: url.to_string(), why })
        }
        (None, _) => Err(TargetError::SeveralModels { url: url.to_string(), listed }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_plan::spec::{Known, Spec};

    #[test]
    fn a_server_without_generated_text_is_refused_whatever_dialect_is_named() {
        let found = ServerInfo {
            engine: Some("vllm"),
            dialect: Some("openai-completions"),
            serves_only: Some("embeddings"),
            ..ServerInfo::default()
        };
        for (dialect, endpoint, is_refused) in [
            (None, None, true),
            (Some("openai-chat"), None, true),
            // The user knows a path that the server does not state.
            (Some("openai-chat"), Some("/v2/chat"), false),
            (Some("openai-embeddings"), None, false),
        ] {
            let keys = serde_json::json!({
                "target": "http://127.0.0.1:1", "dialect": dialect, "endpoint": endpoint,
            });
            let spec: Spec = serde_json::from_value(keys).expect("a spec");
            let known = Known {
                dialects: &["openai-chat", "openai-embeddings"],
                models: &[],
                model_of_hub_id: |_| None,
            };
            let plan = spec.resolve(&known).expect("a plan");
            let url = plan.target.urls().next().expect("an address");
            let chosen = choose_dialect(&plan, url, &found);
            let refused = chosen.err().map(|error| error.to_string());
            assert_eq!(refused.is_some(), is_refused, "{dialect:?}: {refused:?}");
            let words =
                "vllm serves embeddings, no generated text: give --dialect openai-embeddings";
            assert!(refused.is_none_or(|refused| refused.contains(words)));
        }
    }
}
