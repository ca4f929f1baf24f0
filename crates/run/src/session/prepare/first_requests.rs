//! The first requests to a server. They show how many tokens the server adds to prompts, and which of the fields in
//! requests it accepts, and whether it accepts the model. So a rejection is known before anything is measured.

use inferometer_model::{Finding, Prompt, Request, code};
use inferometer_plan::Plan;
use inferometer_wire::dialect::{Dialect, FieldChange};
use serde_json::Value;

use super::overhead::{self, Overhead, Refusal};
use crate::pass::runner::PassRunner;
use crate::prompts::Prompts;
use crate::target::ignore_eos::IgnoreEos;
use crate::{Network, ReadyTarget, RunError};

/// The field that makes a server continue after end-of-text.
const IGNORE_EOS: &str = "ignore_eos";
/// What is sent instead of a field that a server rejects.
const CHANGES: [FieldChange; 4] = [
    FieldChange { field: IGNORE_EOS, instead: None },
    FieldChange { field: "stream_options", instead: None },
    FieldChange { field: "max_tokens", instead: Some("max_completion_tokens") },
    FieldChange { field: "temperature", instead: None },
];

/// The results of the first requests.
pub(crate) struct First {
    pub(crate) seen: Overhead,
    /// How the server treats the field `ignore_eos`.
    pub(crate) ignore_eos: IgnoreEos,
}

/// Sends the first requests. If a refusal of the server contains the name of a field that is not essential, sends the
/// requests again without this field, or with another one. Later requests are changed in this way only if the server
/// then accepts the requests: a refusal for another reason may quote the whole request.
///
/// # Errors
/// When the requests cannot be made or sent, or the server refuses a model that it does not list.
pub(crate) fn send<N: Network>(
    runner: &mut PassRunner<N>,
    plan: &Plan,
    prompts: &Prompts,
    ready: &ReadyTarget,
    findings: &mut Vec<Finding>,
) -> Result<First, RunError> {
    let (dialect, engine) = (ready.endpoint.dialect, ready.target.engine.as_deref());
    let mut ignore_eos = IgnoreEos::of(dialect, engine);
    runner.changes = CHANGES[..1].iter().filter(|_| !ignore_eos.is_sent()).copied().collect();
    let mut seen = overhead::measure(runner, plan, prompts)?;
    if let Some(refusal) = seen.refused.clone()
        && let Some((accepted, rejected)) = with_changes(runner, plan, prompts, dialect, refusal)?
    {
        seen = accepted;
        for (change, why) in rejected.into_iter().filter(|(it, _)| runner.changes.contains(it)) {
            if change.field == IGNORE_EOS {
                ignore_eos = IgnoreEos::Refused(why.to_string());
                findings.extend(ignore_eos.finding(dialect, engine));
            } else {
                findings.push(rejected_field(change, &why));
            }
        }
    }
    let unlisted = findings.iter().find(|finding| finding.is(code::MODEL_NOT_LISTED));
    let refusal = seen.refused.as_ref().filter(|why| why.is_of_model(&ready.endpoint.model));
    if let (Some(unlisted), Some(refusal)) = (unlisted, refusal) {
        let why = &unlisted.message;
        return Err(RunError::plan(format!("model (--model): {why}, and rejects it: {refusal}")));
    }
    Ok(First { seen, ignore_eos })
}

/// The first requests that the server accepts, and which fields it rejected before, with the reasons.
type Accepted = (Overhead, Vec<(FieldChange, Refusal)>);

/// Changes the fields that the server rejects, one after the other, until it accepts the requests. A server may name
/// one field per answer. Returns `None`, and changes nothing, if the server does not accept the requests.
fn with_changes<N: Network>(
    runner: &mut PassRunner<N>,
    plan: &Plan,
    prompts: &Prompts,
    dialect: &Dialect,
    mut refusal: Refusal,
) -> Result<Option<Accepted>, RunError> {
    let before = runner.changes.clone();
    let mut rejected = Vec::new();
    loop {
        let named = CHANGES.into_iter().filter(|change| {
            let is_new = !runner.changes.contains(change);
            is_new && refusal.is_of_field(change.field) && is_sent(plan, dialect, change.field)
        });
        let mut next = None;
        for change in named.collect::<Vec<_>>() {
            runner.changes.push(change);
            let seen = overhead::measure(runner, plan, prompts)?;
            let Some(other) = &seen.refused else {
                rejected.push((change, refusal));
                return Ok(Some((
                    without_needless(runner, plan, prompts, before.len(), seen)?,
                    rejected,
                )));
            };
            if *other != refusal && !other.is_of_field(change.field) {
                next = Some((change, other.clone()));
                break;
            }
            runner.changes.pop();
        }
        let Some((change, other)) = next else {
            runner.changes = before;
            return Ok(None);
        };
        rejected.push((change, std::mem::replace(&mut refusal, other)));
    }
}

/// Undoes each change, except the last one and the first `known` ones, without which the server accepts the requests
/// too: a refusal may have named a field only because it quoted the request.
fn without_needless<N: Network>(
    runner: &mut PassRunner<N>,
    plan: &Plan,
    prompts: &Prompts,
    known: usize,
    mut seen: Overhead,
) -> Result<Overhead, RunError> {
    for at in (known..runner.changes.len() - 1).rev() {
        let change = runner.changes.remove(at);
        let without = overhead::measure(runner, plan, prompts)?;
        match &without.refused {
            None => seen = without,
            Some(_) => runner.changes.insert(at, change),
        }
    }
    Ok(seen)
}

/// Whether the dialect itself sends this field, and the user has not set it.
fn is_sent(plan: &Plan, dialect: &Dialect, field: &str) -> bool {
    if field == IGNORE_EOS {
        return plan.sampling.asks_to_ignore_eos();
    }
    let request = Request::new(Prompt::Text(String::new()), 1, 1);
    let body = dialect.body(&request, &plan.sampling, "", &[]).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    body.get(field).is_some() && !plan.sampling.extra_body.contains_key(field)
}

fn rejected_field(FieldChange { field, instead }: FieldChange, why: &Refusal) -> Finding {
    let becomes = match (instead, field) {
        (Some(name), _) => format!("with `{name}`"),
        (None, "temperature") => "without it: the server chooses the temperature".to_owned(),
        (None, "stream_options") => {
            "without it: tokens are counted by their events if no usage arrives".to_owned()
        }
        (None, _) => "without it".to_owned(),
    };
    let message = format!("the server rejects `{field}` ({why}), so requests are sent {becomes}");
    Finding::of(code::REQUEST_FIELD_REJECTED, message)
}
