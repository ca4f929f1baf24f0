//! Measures how many tokens the server adds to a prompt, such as a beginning-of-sequence token or a chat template. Two
//! short requests before the first pass show this number. Prompts can then be made so that the *server* counts the
//! requested length.

use std::{fmt, sync::Arc, time::Duration};

use inferometer_drive::{Live, Recorder};
use inferometer_model::source::Prepared;
use inferometer_model::{
    Bound, CellPlan, Finding, Nanos, Outcome, PassPlan, Record, Request, code,
};
use inferometer_plan::{Plan, TargetPlan};
use inferometer_store::PassBegin;
use inferometer_workload::PromptScope;

use crate::pass::runner::{PassRunner, PlayedPass};
use crate::{Network, RunError, estimate::server_speed::ServerSpeed, prompts::Prompts};

/// Prompt lengths of the two requests, in tokens. They differ, to check that the server adds the same number of tokens
/// at each length.
const PROBE_LENGTHS: [u32; 2] = [24, 48];
/// Output tokens of each of the two requests: enough to estimate the time per output token.
const PROBE_OUTPUT: u32 = 8;

/// The results of the two requests.
pub struct Overhead {
    /// Tokens that the server adds to each prompt; absent if not known.
    pub tokens: Option<u32>,
    /// Findings on these tokens.
    pub findings: Vec<Finding>,
    /// The record of the last completed request, to estimate how long the run takes.
    pub last_complete: Option<Record>,
    /// When the first request that completed was sent, and when its first token arrived; `None` if none completed.
    pub first_answer: Option<[Nanos; 2]>,
    /// The first refusal, if the server refused both requests.
    pub refused: Option<Refusal>,
}

/// An answer that refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status; absent if the refusal is an error event in a stream.
    status: Option<u16>,
    /// The server's message.
    message: String,
}

impl Refusal {
    /// The refusal in a record; `None` if the server did not refuse the request.
    fn of(record: &Record) -> Option<Self> {
        let status = match record.outcome {
            Outcome::Rejected { status } => Some(status),
            Outcome::ServerError => None,
            _ => return None,
        };
        Some(Self { status, message: record.detail_text().unwrap_or_default().to_owned() })
    }

    /// Whether the server's message contains this name of a field or of a value.
    fn names(&self, name: &str) -> bool {
        self.message.contains(name)
    }

    /// Whether the server may refuse the request because of this field, and not because of high load or a missing
    /// permission.
    pub fn is_of_field(&self, field: &str) -> bool {
        self.names(field)
            && matches!(self.status, None | Some(400 | 404..=407 | 409..=412 | 414..=428 | 500 | 501))
    }

    /// Whether the server refuses the request because of the model, and not for another reason such as high load.
    pub fn is_of_model(&self, model: &str) -> bool {
        let says_so = self.names(model) || self.message.to_lowercase().contains("model");
        matches!(self.status, Some(400 | 404 | 422)) && says_so
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "{status}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Stores the records of a pass in memory.
#[derive(Default)]
struct Records(Vec<Record>);

impl Recorder for Records {
    fn record(&mut self, record: Record, _text: Option<String>) {
        self.0.push(record);
    }
}

/// Sends two requests and compares the server's counts of prompt tokens with those of the tokenizer.
///
/// # Errors
/// If the requests cannot be made or sent. If the server refuses the requests, this is not an error here: the
/// passes report it.
pub fn measure(
    passes: &mut PassRunner<impl Network>,
    plan: &Plan,
    prompts: &Prompts,
) -> Result<Overhead, RunError> {
    let requests = probe_requests(prompts, &PROBE_LENGTHS.map(short_output), "overhead")?;
    let counted: Vec<Option<u32>> = requests.iter().map(|request| request.counted_tokens).collect();
    let records = one_by_one(passes, plan, requests)?;
    let differences: Option<Vec<i64>> = records
        .iter()
        .zip(counted)
        .map(|(record, counted)| Some(i64::from(record.usage.prompt?) - i64::from(counted?)))
        .collect();
    // A ranking counts its query, too, so its counts show nothing about single texts.
    let is_ranking = plan.pooling.is_some_and(|pooling| pooling.query_length.is_some());
    let differences = differences.filter(|_| !is_ranking);
    let (tokens, findings) = judge(plan, differences.as_deref());
    let refusals: Option<Vec<Refusal>> = records.iter().map(Refusal::of).collect();
    Ok(Overhead {
        tokens,
        findings,
        refused: refusals.and_then(|refusals| refusals.into_iter().next()),
        first_answer: records.iter().find_map(answered),
        last_complete: records.into_iter().rfind(|record| record.outcome.is_complete()),
    })
}

/// Sends one short request and returns its latency, or `None` if the request did not complete. Each `name`
/// results in a different prompt.
///
/// # Errors
/// If the request cannot be made or sent.
pub fn latency(
    passes: &mut PassRunner<impl Network>,
    plan: &Plan,
    prompts: &Prompts,
    name: &str,
) -> Result<Option<Duration>, RunError> {
    let lengths = [short_output(PROBE_LENGTHS[0])];
    let records = one_by_one(passes, plan, probe_requests(prompts, &lengths, name)?)?;
    Ok(records.iter().find_map(taken))
}

/// Like [`latency`], for a request of these lengths.
///
/// # Errors
/// If the request cannot be made or sent.
pub fn time_of(
    passes: &mut PassRunner<impl Network>,
    plan: &Plan,
    prompts: &Prompts,
    lengths: CellPlan,
) -> Result<Option<Duration>, RunError> {
    let records = one_by_one(passes, plan, probe_requests(prompts, &[lengths], "lengths")?)?;
    Ok(records.iter().find_map(taken))
}

/// The latency of a completed request.
fn taken(record: &Record) -> Option<Duration> {
    Some(record.ended?.since(record.send_start?)).filter(|_| record.outcome.is_complete())
}

/// When a completed request was sent, and when its first token arrived; of an answer without tokens, its end.
fn answered(record: &Record) -> Option<[Nanos; 2]> {
    let token = record.events.iter().find(|event| event.kind.is_token());
    let answered = token.map(|token| record.arrival(token)).or(record.ended)?;
    Some([record.send_start?, answered]).filter(|_| record.outcome.is_complete())
}

/// The maximum length of a short prompt, in tokens. A server needs notably more time for a longer prompt than for the
/// prompts of the first requests.
const SHORT_PROMPT: u32 = 512;

/// The speed of the server, from the record of a first request; `None` without this record, or if no token arrived. If
/// the plan has long prompts, and its server is not the embedded engine, sends one request with a prompt as long as the
/// longest. `scope` makes this prompt differ from the prompts of other runs, which the server may have in its prefix
/// cache.
///
/// # Errors
/// If the request cannot be made or sent.
pub fn speed(
    passes: &mut PassRunner<impl Network>,
    plans: &[Plan],
    prompts: &Prompts,
    scope: &str,
    first: Option<&Record>,
) -> Result<Option<ServerSpeed>, RunError> {
    let Some(speed) = first.and_then(ServerSpeed::of) else { return Ok(None) };
    if plans.iter().any(|plan| matches!(plan.target, TargetPlan::Embedded { .. })) {
        return Ok(Some(speed));
    }
    let longest = |plan: &Plan| plan.cells.iter().map(|cell| cell.input_length).max();
    let longest = plans.iter().filter_map(|plan| Some((longest(plan)?, plan)));
    let Some((length, plan)) = longest.max_by_key(|it| it.0).filter(|it| it.0 > SHORT_PROMPT)
    else {
        return Ok(Some(speed));
    };
    let began = passes.net.now();
    // The run itself does not need this prompt, so it continues if the prompt cannot be generated.
    let Ok(requests) = probe_requests(prompts, &[short_output(length)], scope) else {
        return Ok(Some(speed));
    };
    let making = passes.net.now().since(began);
    let records = one_by_one(passes, plan, requests)?;
    let complete = records.iter().find(|record| record.outcome.is_complete());
    Ok(Some(match complete {
        Some(record) => speed.with_long_prompt(record, making),
        None => speed,
    }))
}

fn short_output(input_length: u32) -> CellPlan {
    CellPlan { input_length, output_length: PROBE_OUTPUT }
}

/// Makes one request for each pair of lengths. The prompts are random words for every workload, because a data set
/// may have no prompts of these lengths.
fn probe_requests(
    prompts: &Prompts,
    lengths: &[CellPlan],
    name: &str,
) -> Result<Vec<Request>, RunError> {
    let words = prompts.random_words();
    let mut requests = Vec::new();
    for &cell in lengths {
        let scope = PromptScope::new(cell.to_string(), name, 0);
        requests.extend(words.build(cell, &scope, 1)?.requests);
    }
    Ok(requests)
}

/// Sends the requests one after the other and returns their records. If the server has closed a connection after an
/// answer, although it had announced to keep it, the request on this connection is lost. It is sent again, once, on a
/// new connection. (Requests of passes are never sent again.)
fn one_by_one(
    passes: &mut PassRunner<impl Network>,
    plan: &Plan,
    requests: Vec<Request>,
) -> Result<Vec<Record>, RunError> {
    let mut records = sent(passes, plan, requests.clone())?;
    let is_lost = |record: &Record| {
        matches!(record.outcome, Outcome::Connection { .. }) && record.kept_connection == Some(true)
    };
    if !passes.reuse_connections
        && let Some(lost) = records.iter().position(is_lost)
    {
        let again = sent(passes, plan, vec![requests[lost].clone()])?;
        records.splice(lost..=lost, again);
    }
    Ok(records)
}

/// Sends the requests one after the other and returns their records.
fn sent(
    passes: &mut PassRunner<impl Network>,
    plan: &Plan,
    requests: Vec<Request>,
) -> Result<Vec<Record>, RunError> {
    let pass = PassPlan::one_by_one(Bound::requests(requests.len() as u32));
    let cell = CellPlan { input_length: 0, output_length: PROBE_OUTPUT };
    let begin = PassBegin { pass: 0, cell, plan: pass, repeat: 1 };
    let source = Box::new(Prepared::new(requests));
    let live = Arc::new(Live::default());
    let PlayedPass { recorder: Records(records), .. } =
        passes.play(plan, &begin, source, Records::default(), live).map_err(RunError::Sockets)?;
    Ok(records)
}

/// Derives the number of tokens that the server adds, and findings on this number. `differences` has the server's
/// counts minus the tokenizer's counts; it is `None` if a count is missing.
fn judge(plan: &Plan, differences: Option<&[i64]>) -> (Option<u32>, Vec<Finding>) {
    match differences {
        Some([first, second]) if first == second && *first > 0 => {
            let tokens = if *first == 1 { "token" } else { "tokens" };
            let message = format!("the server adds {first} {tokens} to each prompt");
            let advice = if plan.count_template {
                "prompts are shortened by this number, so that the total has the requested length"
            } else {
                "the input length does not include a chat template; --count-template includes it"
            };
            let finding = Finding::of(code::PROMPT_OVERHEAD, message).advise(advice);
            (u32::try_from(*first).ok(), vec![finding])
        }
        Some([0, 0]) => (Some(0), Vec::new()),
        Some(differences) => {
            let message = format!(
                "the server counts prompt tokens differently from the tokenizer that made the \
                    prompts (differences for {PROBE_LENGTHS:?} tokens: {differences:?})"
            );
            let finding = Finding::of(code::TOKENIZERS_DIFFER, message);
            (None, vec![finding])
        }
        None => (None, Vec::new()),
    }
}

/// The finding that a chat template is not counted, although `--count-template` requests it.
pub fn template_not_counted() -> Finding {
    Finding::of(
        code::TEMPLATE_NOT_COUNTED,
        "--count-template: the number of tokens that the server adds could not be determined, so \
            the template is not included",
    )
}

#[cfg(test)]
mod tests {
    use inferometer_model::EventKind::{Done, Role, Text};
    use inferometer_model::fixture::{ms, stream};

    use super::*;

    #[test]
    fn a_request_is_answered_by_its_first_token_and_without_tokens_by_its_end() {
        let tokens = stream(10.0, &[(20.0, Role, None), (50.0, Text, None), (60.0, Text, None)]);
        let none = stream(10.0, &[(70.0, Done, None)]);
        let failed = Record { outcome: Outcome::ServerError, ..tokens.clone() };
        for (record, answer) in [(tokens, Some(50.0)), (none, Some(70.0)), (failed, None)] {
            assert_eq!(answered(&record), answer.map(|at| [ms(10.0), ms(at)]));
        }
    }
}
