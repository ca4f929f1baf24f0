//! The first requests to a server. They show how many tokens the server adds to prompts, and whether it accepts the
//! field `ignore_eos` and the model. If the server refuses one of these two, this is known before anything is measured.

use inferometer_model::{Finding, code};
use inferometer_plan::Plan;

use super::overhead::{self, Overhead};
use crate::pass::runner::PassRunner;
use crate::prompts::Prompts;
use crate::target::ignore_eos::IgnoreEos;
use crate::{Network, ReadyTarget, RunError};

/// The results of the first requests.
pub(crate) struct First {
    pub(crate) seen: Overhead,
    /// How the server treats the field `ignore_eos`.
    pub(crate) ignore_eos: IgnoreEos,
}

/// Sends the first requests. If a refusal of the server contains the name `ignore_eos`, sends the requests again
/// without this field. The field is left out of later requests only if the server then accepts the requests: a
/// refusal for another reason may quote the whole request.
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
    runner.sends_ignore_eos = ignore_eos.is_sent();
    let mut seen = overhead::measure(runner, plan, prompts)?;
    let is_asked_for = plan.sampling.ignore_eos && runner.sends_ignore_eos;
    if let Some(refusal) = seen.refused.as_ref().filter(|why| why.names("ignore_eos"))
        && is_asked_for
    {
        let refused = IgnoreEos::Refused(refusal.to_string());
        runner.sends_ignore_eos = false;
        let without = overhead::measure(runner, plan, prompts)?;
        if without.refused.is_none() {
            findings.extend(refused.finding(dialect, engine));
            (seen, ignore_eos) = (without, refused);
        } else {
            runner.sends_ignore_eos = true;
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
