//! What the server adds to a prompt: a beginning-of-sequence token, a chat template. Measured by
//! two short requests before the run, so that lengths are what the *server* counts.

use std::sync::Arc;
use std::time::Duration;

use inferometer_drive::{Live, Recorder};
use inferometer_load::{Bound, PassPlan};
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, code};
use inferometer_model::record::Record;
use inferometer_model::request::Request;
use inferometer_model::source::Prepared;
use inferometer_plan::Plan;
use inferometer_store::PassBegin;
use inferometer_workload::PromptScope;

use crate::error::RunError;
use crate::network::Network;
use crate::pass::{PassRunner, PlayedPass};
use crate::prompts::Prompts;

/// Prompt lengths of the two requests: what is added must not depend on the length.
const PROBE_LENGTHS: [u32; 2] = [24, 48];
/// Output tokens of each: enough to see how long one takes.
const PROBE_OUTPUT: u32 = 8;

/// What the two requests showed.
pub struct Overhead {
    /// Tokens that the server adds, where that is known.
    pub tokens: Option<u32>,
    /// What a reader must know of it.
    pub findings: Vec<Finding>,
    /// The last that completed, for an estimate of the run's time.
    pub record: Option<Record>,
}

#[derive(Default)]
struct Records(Vec<Record>);

impl Recorder for Records {
    fn record(&mut self, record: Record, _text: Option<String>) {
        self.0.push(record);
    }
}

/// Sends two requests and compares the server's counts with ours.
///
/// # Errors
/// When they cannot be made or sent. A server that refuses them is no error here: the passes
/// will say so.
pub fn measure(
    passes: &mut PassRunner<impl Network>,
    plan: &Plan,
    prompts: &Prompts,
) -> Result<Overhead, RunError> {
    let requests = probes(prompts, &PROBE_LENGTHS, "overhead")?;
    let counted: Vec<Option<u32>> = requests.iter().map(|request| request.counted_tokens).collect();
    let records = one_by_one(passes, plan, requests)?;
    let differences: Option<Vec<i64>> = records
        .iter()
        .zip(counted)
        .map(|(record, counted)| Some(i64::from(record.usage.prompt?) - i64::from(counted?)))
        .collect();
    let (tokens, findings) = judge(plan, differences.as_deref());
    Ok(Overhead {
        tokens,
        findings,
        record: records.into_iter().rfind(|record| record.outcome.is_complete()),
    })
}

/// Sends one short request and says how long it took; none where it did not complete. The prompt is one
/// of its own for each name.
///
/// # Errors
/// When it cannot be made or sent.
pub fn latency(
    passes: &mut PassRunner<impl Network>,
    plan: &Plan,
    prompts: &Prompts,
    name: &str,
) -> Result<Option<Duration>, RunError> {
    let records = one_by_one(passes, plan, probes(prompts, &PROBE_LENGTHS[..1], name)?)?;
    let complete = records.iter().find(|record| record.outcome.is_complete());
    Ok(complete.and_then(|record| Some(record.ended?.since(record.send_start?))))
}

/// Requests of random words, whatever the workload: a data set may have nothing of these lengths.
fn probes(prompts: &Prompts, lengths: &[u32], name: &str) -> Result<Vec<Request>, RunError> {
    let words = prompts.random_words();
    let mut requests = Vec::new();
    for &length in lengths {
        let cell = CellPlan { input_length: length, output_length: PROBE_OUTPUT };
        let place = PromptScope::new(cell.to_string(), name, 0);
        requests.extend(words.build(cell, &place, 1)?.requests);
    }
    Ok(requests)
}

fn one_by_one(
    passes: &mut PassRunner<impl Network>,
    plan: &Plan,
    requests: Vec<Request>,
) -> Result<Vec<Record>, RunError> {
    let pass = PassPlan::OneByOne { bound: Bound::requests(requests.len() as u32) };
    let cell = CellPlan { input_length: 0, output_length: PROBE_OUTPUT };
    let begin = PassBegin { pass: 0, cell, plan: pass, repeat: 1 };
    let source = Box::new(Prepared::new(requests));
    let live = Arc::new(Live::default());
    let PlayedPass { recorder: Records(records), .. } =
        passes.play(plan, &begin, source, Records::default(), live).map_err(RunError::Sockets)?;
    Ok(records)
}

fn judge(plan: &Plan, differences: Option<&[i64]>) -> (Option<u32>, Vec<Finding>) {
    match differences {
        Some([a, b]) if a == b && *a > 0 => {
            let counts = plan.count_template;
            let message = format!("the server adds {a} tokens to each prompt");
            let advice = if counts {
                "prompts are shorter by as many, so that the total has the length asked for"
            } else {
                "a chat template is not counted in the input length; --count-template counts it"
            };
            let finding = Finding::of(code::PROMPT_OVERHEAD, message).advise(advice);
            (u32::try_from(*a).ok(), vec![finding])
        }
        Some([0, 0]) => (Some(0), Vec::new()),
        Some(differences) => {
            let message = format!(
                "the server counts other numbers of tokens than the tokenizer that shaped the \
                 prompts (differences for {PROBE_LENGTHS:?} tokens: {differences:?})"
            );
            let finding = Finding::of(code::TOKENIZERS_DIFFER, message);
            (None, vec![finding])
        }
        None => (None, Vec::new()),
    }
}

/// The finding of a template that was to be counted and could not be.
pub fn template_not_counted() -> Finding {
    Finding::of(
        code::TEMPLATE_NOT_COUNTED,
        "--count-template: what the server adds to a prompt could not be found out, so the \
         template is not counted",
    )
}
