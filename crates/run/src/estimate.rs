//! How long a run will take, estimated before it starts.

use std::time::Duration;

use inferometer_engine::{EngineConfig, profile::profile, table};
use inferometer_load::{OneByOnePlan, PassPlan};
use inferometer_model::cell::CellPlan;
use inferometer_model::record::Record;
use inferometer_model::request::Request;
use inferometer_plan::{Grid, Plan, TargetPlan, WorkloadPlan};
use inferometer_workload::PromptScope;

use crate::error::RunError;
use crate::prompts::Prompts;

/// How long a plan takes on the embedded engine, computed by the engine itself in virtual time. Absent for
/// other servers, because nothing is sent to them before the run. If the grid does not set the lengths of the
/// requests, the estimate is the total length of the schedules. It is absent if a pass has no schedule.
///
/// # Errors
/// When the embedded engine does not know the model or the profile.
pub fn of_plan(plan: &Plan) -> Result<Option<Duration>, RunError> {
    if has_own_lengths(plan) {
        return Ok(of_schedule(plan));
    }
    let TargetPlan::Embedded { model, profile: name, speed, .. } = &plan.target else {
        return Ok(None);
    };
    if plan.workload.grid() != Grid::Tokens {
        return Ok(None);
    }
    let mut config = EngineConfig::of_model(model).map_err(RunError::plan)?;
    if let Some(name) = name {
        config.profile = profile(name).map_err(RunError::plan)?;
    }
    let mut seconds = 0.0;
    for cell in &plan.cells {
        let mut alone_s = 0.0;
        for pass in &plan.passes {
            let (one_by_one, saturated) = match *pass {
                PassPlan::OneByOne(OneByOnePlan { bound }) => (bound.requests.unwrap_or(1), 1),
                _ => (1, pass.requests().unwrap_or(1)),
            };
            let row = table(&config, *cell, one_by_one, saturated).map_err(RunError::plan)?;
            // In a cell above the model's limit, no request completes, and the cell takes no time.
            let alone = row.latency_per_output_token_ms.unwrap_or(0.0)
                * 1e-3
                * f64::from(cell.output_length)
                / speed;
            let crowd = if row.requests_per_s > 0.0 {
                f64::from(saturated) / row.requests_per_s / speed
            } else {
                0.0
            };
            // A load takes at least until its last request is due; the server takes at least the time for
            // all requests at once. If the pass has no request count, only the load's own time counts.
            let last_due_s = pass.load().last_due_s(alone);
            let needed_s = match (pass, pass.requests()) {
                (PassPlan::OneByOne(_), _) | (_, None) => last_due_s,
                (_, Some(_)) => last_due_s.max(crowd),
            };
            seconds += bounded(pass, needed_s) * f64::from(plan.repeat.at_least);
            alone_s = alone;
        }
        seconds += warm_up_s(plan, alone_s);
    }
    Ok(Some(Duration::from_secs_f64(seconds) + rests(plan)))
}

/// Whether the grid does not set the lengths of all requests.
fn has_own_lengths(plan: &Plan) -> bool {
    let own = |cell: &CellPlan| cell.input_length == 0 || cell.output_length == 0;
    plan.workload.grid() != Grid::Tokens || plan.cells.iter().any(own)
}

/// The total length of the schedules of a plan, if every pass has a schedule. If the grid does not set the
/// lengths of the requests, nothing else is known.
fn of_schedule(plan: &Plan) -> Option<Duration> {
    let scheduled = |pass: &PassPlan| {
        let load = pass.load();
        let last_due_s = load.last_due_s(0.0);
        (load.is_scheduled() && last_due_s.is_finite()).then_some(bounded(pass, last_due_s))
    };
    let once_s: f64 = plan.passes.iter().map(scheduled).sum::<Option<f64>>()?;
    Some(Duration::from_secs_f64(once_s * f64::from(plan.repeat.at_least)) + rests(plan))
}

/// Limits an estimate to the duration of a pass, because a pass begins no request after its duration. The
/// time of its last requests is not counted.
fn bounded(pass: &PassPlan, seconds: f64) -> f64 {
    let limit = pass.bound().duration;
    limit.map_or(seconds, |limit| seconds.min(limit.as_secs_f64()))
}

fn warm_up_s(plan: &Plan, alone_s: f64) -> f64 {
    plan.warmup.bound().map_or(0.0, |bound| PassPlan::one_by_one(bound).load().last_due_s(alone_s))
}

/// The sum of the pauses between passes.
fn rests(plan: &Plan) -> Duration {
    let passes = plan.cells.len() * plan.passes.len() * plan.repeat.at_least as usize;
    plan.cooldown.unwrap_or_default() * passes as u32
}

/// How long a plan takes on a server, from the record of one request. The first time assumes that the
/// server batches without limit; the second assumes that it does not batch at all.
pub fn from_request(plan: &Plan, record: &Record) -> Option<(Duration, Duration)> {
    let sent = record.send_start.filter(|_| !has_own_lengths(plan))?;
    let first = record.arrival(record.token_events().next()?);
    let last = record.arrival(record.token_events().next_back()?);
    let (tokens, _) = record.output_tokens();
    let first_s = first.seconds_after(sent);
    let each_s = last.seconds_after(first) / f64::from(tokens.saturating_sub(1).max(1));
    let (mut least, mut most) = (0.0, 0.0);
    for cell in &plan.cells {
        let alone = first_s + each_s * f64::from(cell.output_length.saturating_sub(1));
        least += warm_up_s(plan, alone);
        most += warm_up_s(plan, alone);
        for pass in &plan.passes {
            let load = pass.load();
            let last_due_s = load.last_due_s(alone);
            let one_after_the_other =
                load.requests().map_or(last_due_s, |count| alone * f64::from(count));
            let (low, high) = match pass {
                PassPlan::Saturated(_) => (alone, one_after_the_other),
                _ => (last_due_s, last_due_s.max(one_after_the_other)),
            };
            least += bounded(pass, low) * f64::from(plan.repeat.at_least);
            most += bounded(pass, high) * f64::from(plan.repeat.at_most);
        }
    }
    let (least, most) = (least + rests(plan).as_secs_f64(), most + rests(plan).as_secs_f64());
    Some((Duration::from_secs_f64(least), Duration::from_secs_f64(most)))
}

/// How many requests of a cell are made to find their mean lengths.
const SAMPLE: u32 = 64;

/// How long a plan takes if the grid does not set the lengths of its requests. The estimate assumes that all
/// requests of a cell have the mean lengths of a sample. Absent for conversations, because the answers become
/// part of their prompts.
pub fn of_sample(
    plan: &Plan,
    prompts: &Prompts,
    record: Option<&Record>,
) -> Option<(Duration, Duration)> {
    let (mut least, mut most) = (Duration::ZERO, Duration::ZERO);
    for &cell in &plan.cells {
        let passes = plan.passes_of(cell);
        if passes.iter().any(|pass| matches!(pass, PassPlan::Conversations(_))) {
            return None;
        }
        let count = passes.iter().filter_map(PassPlan::requests).fold(SAMPLE, u32::min);
        let place = PromptScope::new(cell.to_string(), "check", 0);
        let built = prompts.build(cell, &place, count).ok()?;
        let mean = |of: fn(&Request) -> u32| {
            let sum: u64 = built.requests.iter().map(|request| u64::from(of(request))).sum();
            (sum / built.requests.len().max(1) as u64).max(1) as u32
        };
        let cell = CellPlan {
            input_length: mean(|request| request.input_tokens),
            output_length: mean(|request| request.output_tokens),
        };
        let workload = WorkloadPlan::Random;
        let stand_in = Plan { workload, cells: vec![cell], passes, ..plan.clone() };
        let (low, high) = match of_plan(&stand_in).ok()? {
            Some(span) => (span, span),
            None => from_request(&stand_in, record?)?,
        };
        (least, most) = (least + low, most + high);
    }
    Some((least, most))
}

/// The estimate as text.
pub fn words(estimate: Option<Duration>) -> String {
    match estimate {
        Some(span) => format!("estimate: {}", in_words(span)),
        None => "estimate: unknown until the server has answered first requests".to_owned(),
    }
}

/// `under a second`, `42 s`, `12 min`, `1.5 h`.
pub fn in_words(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    if seconds < 1.0 {
        "under a second".to_owned()
    } else if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}
