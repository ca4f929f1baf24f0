//! How long a run will take, estimated before it starts.

use std::{convert::Infallible, time::Duration};

use inferometer_engine::{Engine, EngineConfig, profile::profile, table};
use inferometer_model::{CellPlan, PassPlan, Request};
use inferometer_plan::{Grid, Plan, TargetPlan, WorkloadPlan};
use inferometer_workload::PromptScope;

use super::server_speed::ServerSpeed;
use crate::RunError;
use crate::prompts::{BATCH, Prompts};

/// The maximum number of requests that the engine simulates. The time of more requests is computed from the throughput
/// of this number of requests.
const MOST_PLAYED: u32 = 10_000;

/// How long a plan takes.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// The shortest and the longest time.
    pub all: (Duration, Duration),
    /// About how long each pass of each cell takes, in seconds, without repeats.
    pub passes_s: Vec<f64>,
}

/// How long a plan takes. If the grid sets the lengths of the requests, the embedded engine computes the time of its
/// own runs in virtual time; the time is absent for other servers, because nothing is sent to them before the run. If
/// the grid does not set the lengths, the estimate for any server is the total length of the schedules and the pauses;
/// it is absent if a pass has no schedule. Each pass counts with the minimum number of its repeats.
///
/// # Errors
/// When the embedded engine does not know the model or the profile, or cannot start with them.
pub fn of_plan(plan: &Plan) -> Result<Option<Times>, RunError> {
    let config = embedded(plan)?;
    if has_own_lengths(plan) {
        return Ok(all_passes(plan, schedule_s));
    }
    let (TargetPlan::Embedded { speed, .. }, Some(config)) = (&plan.target, config) else {
        return Ok(None);
    };
    let (mut seconds, mut passes_s) = (0.0, Vec::new());
    for cell in &plan.cells {
        let row = table(&config, *cell, 1, 1).map_err(RunError::plan)?;
        // In a cell above the model's limit, no request completes, and the cell takes no time.
        let latency_ms = row.latency_per_output_token_ms.unwrap_or(0.0);
        let alone_s = latency_ms * 1e-3 * f64::from(cell.output_length) / speed;
        let at_once_s = |count: u32| -> Result<f64, RunError> {
            let played = count.clamp(1, MOST_PLAYED);
            let rate = table(&config, *cell, 1, played).map_err(RunError::plan)?.requests_per_s;
            Ok(if rate > 0.0 { f64::from(count) / rate / speed } else { 0.0 })
        };
        for pass in &plan.passes {
            passes_s.push(pass_s(pass, alone_s, at_once_s)?);
        }
        seconds += warm_up_s(plan, alone_s);
    }
    seconds += passes_s.iter().sum::<f64>() * f64::from(plan.repeat.at_least);
    let all = Duration::from_secs_f64(seconds) + rests(plan, plan.repeat.at_least);
    Ok(Some(Times { all: (all, all), passes_s }))
}

/// The configuration of the embedded engine, if it is the target.
///
/// # Errors
/// When the engine does not know the model or the profile, or cannot start with them.
fn embedded(plan: &Plan) -> Result<Option<EngineConfig>, RunError> {
    let TargetPlan::Embedded { model, profile: name, .. } = &plan.target else {
        return Ok(None);
    };
    let mut config = EngineConfig::of_model(model).map_err(RunError::plan)?;
    if let Some(name) = name {
        config.profile = profile(name).map_err(RunError::plan)?;
    }
    // The error names flags of `inferometer engine`, which `inferometer run` does not have.
    Engine::new(config.clone()).map_err(|error| {
        RunError::plan(format!(
            "{error}; these are flags of `inferometer engine`: start the engine with them, and give its \
                address as --target"
        ))
    })?;
    Ok(Some(config))
}

/// How long a pass takes, in seconds. `alone_s` is the time of one request without other load. `at_once_s` returns the
/// time of a number of requests that are all sent at once. A pass that its duration does not end lasts at least until
/// its last request has ended, and at least as long as the server needs for all of its requests at once.
fn pass_s<E>(
    pass: &PassPlan,
    alone_s: f64,
    at_once_s: impl Fn(u32) -> Result<f64, E>,
) -> Result<f64, E> {
    let last_due_s = pass.last_due_s(alone_s);
    let limit_s = pass.bound().duration.map(|limit| limit.as_secs_f64());
    if pass.is_scheduled() && pass.most_in_flight().is_none() {
        let rate = pass.rate().filter(|rate| rate.is_finite());
        let in_time = rate.zip(limit_s).map(|(rate, limit_s)| (rate * limit_s).round() as u32);
        let due = [pass.requests(), in_time].into_iter().flatten().min();
        let served_s = due.map_or(Ok(0.0), at_once_s)?;
        return Ok(served_s.max(last_due_s + alone_s));
    }
    let all_s = match pass.requests() {
        Some(count) if pass.most_in_flight() == Some(1) => Some(alone_s * f64::from(count)),
        Some(count) => Some(at_once_s(count)?),
        None => None,
    };
    let needed_s = all_s.map(|all_s| all_s.max(last_due_s));
    let Some(limit_s) = limit_s.filter(|limit_s| needed_s.is_none_or(|it| it >= *limit_s)) else {
        return Ok(needed_s.unwrap_or(last_due_s));
    };
    // At the end of its duration, a pass still waits for the requests in flight. On average, half of their work is then
    // done.
    let in_flight = pass.most_in_flight().unwrap_or(1).min(pass.requests().unwrap_or(u32::MAX));
    let rest_s = at_once_s(in_flight)?;
    Ok(rest_s.max(limit_s + rest_s / 2.0))
}

/// Whether the grid does not set the lengths of all requests.
fn has_own_lengths(plan: &Plan) -> bool {
    let own = |cell: &CellPlan| cell.input_length == 0 || cell.output_length == 0;
    plan.workload.grid() != Grid::Tokens || plan.cells.iter().any(own)
}

/// The minimum time of a plan on any server: the sum of the lengths of its schedules, the durations of its passes that
/// are limited only by time, and its pauses. Absent if a pass has neither a schedule nor such a duration, because the
/// time of this pass depends on the server. Also absent if a rule may end passes early.
pub fn at_least(plan: &Plan) -> Option<Duration> {
    if !plan.stop.is_never() {
        return None;
    }
    let times = all_passes(plan, |pass| match pass.bound().duration {
        Some(limit) if pass.requests().is_none() => Some(limit.as_secs_f64()),
        _ => schedule_s(pass),
    });
    Some(times?.all.0)
}

/// The sum of the lengths of all passes and pauses of a plan, with the minimum number of repeats. Absent if the length
/// of a pass is absent.
fn all_passes(plan: &Plan, length_s: impl Fn(&PassPlan) -> Option<f64>) -> Option<Times> {
    let passes = plan.cells.iter().flat_map(|cell| plan.passes_of(*cell));
    let passes_s = passes.map(|pass| length_s(&pass)).collect::<Option<Vec<f64>>>()?;
    let repeats = plan.repeat.at_least;
    let all = Duration::from_secs_f64(passes_s.iter().sum::<f64>() * f64::from(repeats))
        + rests(plan, repeats);
    Some(Times { all: (all, all), passes_s })
}

/// The length of the schedule of a pass, in seconds; absent if it has no schedule.
fn schedule_s(pass: &PassPlan) -> Option<f64> {
    let last_due_s = pass.last_due_s(0.0);
    (pass.is_scheduled() && last_due_s.is_finite()).then(|| bounded(pass, last_due_s))
}

/// Limits an estimate to the duration of a pass, because a pass begins no request after its duration. The
/// time that the last requests take after the duration is not included.
fn bounded(pass: &PassPlan, seconds: f64) -> f64 {
    let limit = pass.bound().duration;
    limit.map_or(seconds, |limit| seconds.min(limit.as_secs_f64()))
}

fn warm_up_s(plan: &Plan, alone_s: f64) -> f64 {
    let Some(pass) = plan.warmup.pass() else { return 0.0 };
    let at_once = pass.most_in_flight().unwrap_or(u32::MAX).max(1);
    let in_turn = |count: u32| Ok::<_, Infallible>(alone_s * f64::from(count.div_ceil(at_once)));
    let Ok(seconds) = pass_s(&pass, alone_s, in_turn);
    seconds
}

/// The sum of the pauses between passes, if each pass is repeated this often. There is no pause before the first pass.
fn rests(plan: &Plan, repeats: u32) -> Duration {
    let passes = plan.cells.len() * plan.passes.len() * repeats as usize;
    plan.cooldown.unwrap_or_default() * passes.saturating_sub(1) as u32
}

/// How long a plan takes on a server of this speed. The first duration assumes that the server batches without limit,
/// but computes long prompts one after the other. The second duration assumes that the server does not batch at all.
/// The first uses the minimum number of repeats, the second the maximum. Passes take the geometric mean of both.
fn at_speed(plan: &Plan, speed: &ServerSpeed) -> Times {
    let servers = plan.target.urls().count().max(1) as f64;
    let (mut least, mut most, mut passes_s) = (0.0, 0.0, Vec::new());
    for &cell in &plan.cells {
        let alone_s = speed.alone_s(cell);
        let prompt_s = speed.prompt_s(cell.input_length) / servers;
        let batched = |count: u32| Ok::<_, Infallible>(alone_s.max(prompt_s * f64::from(count)));
        let in_turn = |count: u32| Ok::<_, Infallible>(alone_s * f64::from(count));
        for pass in &plan.passes {
            let (low, high) = (pass_s(pass, alone_s, batched), pass_s(pass, alone_s, in_turn));
            let (Ok(low), Ok(high)) = (low, high);
            let making_s = speed.making_s(cell, pass.requests().unwrap_or(BATCH));
            passes_s.push(((making_s + low) * (making_s + high)).sqrt());
            least += (making_s + low) * f64::from(plan.repeat.at_least);
            most += (making_s + high) * f64::from(plan.repeat.at_most);
        }
        least += warm_up_s(plan, alone_s);
        most += warm_up_s(plan, alone_s);
    }
    let with_rests =
        |seconds: f64, repeats| Duration::from_secs_f64(seconds) + rests(plan, repeats);
    let all = (with_rests(least, plan.repeat.at_least), with_rests(most, plan.repeat.at_most));
    Times { all, passes_s }
}

/// The maximum number of requests of a cell that are generated to compute their mean lengths.
const SAMPLE: u32 = 64;

/// If the grid sets the lengths of the requests: a copy of the plan. If not: one copy for each cell, with the mean
/// lengths of a sample of requests. Absent for conversations, because the answers of the server become part of later
/// prompts. Also absent if the sample cannot be generated.
pub fn with_lengths(plan: &Plan, prompts: &Prompts) -> Option<Vec<Plan>> {
    if !has_own_lengths(plan) {
        return Some(vec![plan.clone()]);
    }
    let mut plans = Vec::new();
    for &cell in &plan.cells {
        let passes = plan.passes_of(cell);
        if passes.iter().any(|pass| matches!(pass, PassPlan::Conversations(_))) {
            return None;
        }
        let count = passes.iter().filter_map(|pass| pass.requests()).fold(SAMPLE, u32::min);
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
        plans.push(Plan { workload, cells: vec![cell], passes, ..plan.clone() });
    }
    Some(plans)
}

/// The total time of several plans. `speed` is the speed of the server, if it is known. The speed is not needed for the
/// embedded engine.
pub fn of_plans(plans: &[Plan], speed: Option<&ServerSpeed>) -> Option<Times> {
    let mut sum = Times::default();
    for plan in plans {
        let Times { all: (least, most), passes_s } = match of_plan(plan).ok()? {
            Some(times) => times,
            None => at_speed(plan, speed?),
        };
        sum.all = (sum.all.0 + least, sum.all.1 + most);
        sum.passes_s.extend(passes_s);
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::steady;
    use inferometer_plan::spec::{Known, Spec};

    use super::*;

    #[test]
    fn the_longest_time_has_the_pauses_of_the_maximum_number_of_repeats() {
        let times = |cooldown: &str| {
            let keys = format!(
                r#"{{"target": "http://127.0.0.1:1", "dialect": "openai-completions",
                    "input_lengths": [64], "output_lengths": [16], "concurrency": ["4", "8"],
                    "requests": 10, "until": "ttft_p50±2%", "repeat": 3, "max_repeats": 20{cooldown}}}"#
            );
            let spec: Spec = serde_json::from_str(&keys).unwrap();
            let dialects = &["openai-completions"];
            let known = Known { dialects, models: &[], model_of_hub_id: |_| None };
            let speed = ServerSpeed::of(&steady(0.0, 40.0, 10.0, 16)).unwrap();
            at_speed(&spec.resolve(&known).unwrap(), &speed).all
        };
        let (with, without) = (times(r#", "cooldown": "10s""#), times(""));
        assert_eq!(with.0 - without.0, Duration::from_secs(10 * (2 * 3 - 1)));
        assert_eq!(with.1 - without.1, Duration::from_secs(10 * (2 * 20 - 1)));
    }
}
