//! How long a run will take, said before it starts.

use std::time::Duration;

use inferometer_core::plan::{PassPlan, Plan, TargetPlan};
use inferometer_core::record::Record;
use inferometer_engine::{EngineConfig, profile::profile, table};

use crate::exit::Failure;

/// How long a plan takes on the embedded engine, by the engine itself in virtual time; nothing
/// for other servers, which say nothing before they are asked.
///
/// # Errors
/// When the embedded engine does not know the model or the profile.
pub fn of_plan(plan: &Plan) -> Result<Option<Duration>, Failure> {
    let TargetPlan::Embedded { model, profile: name, speed } = &plan.target else {
        return Ok(None);
    };
    let mut config = EngineConfig::of_model(model).map_err(Failure::usage)?;
    if let Some(name) = name {
        config.profile = profile(name).map_err(Failure::usage)?;
    }
    let mut seconds = 0.0;
    for cell in &plan.cells {
        for pass in &plan.passes {
            let (one_by_one, saturated) = match *pass {
                PassPlan::OneByOne { bound } => (bound.requests.unwrap_or(1), 1),
                _ => (1, pass.requests().unwrap_or(1)),
            };
            let row = table(&config, *cell, one_by_one, saturated).map_err(Failure::usage)?;
            // A cell in which nothing completes, for it is over the model's limit, takes no time.
            let alone = row.latency_per_output_token_ms.unwrap_or(0.0)
                * 1e-3
                * f64::from(cell.output_length);
            let crowd = if row.requests_per_s > 0.0 {
                f64::from(saturated) / row.requests_per_s
            } else {
                0.0
            };
            seconds += match *pass {
                PassPlan::OneByOne { .. } => alone * f64::from(one_by_one),
                PassPlan::Saturated { .. } => crowd,
                // With so many in flight it is as fast as the saturated server at best, and
                // as slow as one by one at worst.
                PassPlan::Closed { concurrency, .. } => bounded(
                    pass,
                    (alone * f64::from(saturated) / f64::from(concurrency)).max(crowd),
                ),
                PassPlan::Open { rate, .. } => {
                    bounded(pass, (f64::from(saturated) / rate).max(crowd))
                }
            };
            seconds += alone * f64::from(plan.warmup) / plan.passes.len() as f64;
        }
    }
    Ok(Some(Duration::from_secs_f64(seconds / speed)))
}

/// A pass takes no longer than its own bound in time, give or take its last requests.
fn bounded(pass: &PassPlan, seconds: f64) -> f64 {
    let limit = match pass {
        PassPlan::Closed { bound, .. } | PassPlan::Open { bound, .. } => bound.duration,
        PassPlan::OneByOne { .. } | PassPlan::Saturated { .. } => None,
    };
    match (limit, pass.requests()) {
        (Some(limit), Some(_)) => seconds.min(limit.as_secs_f64()),
        (Some(limit), None) => limit.as_secs_f64(),
        (None, _) => seconds,
    }
}

/// How long a plan takes on a server of which one request is known: at least, if the server
/// batches without limit, and at most, if it does not batch at all.
pub fn from_request(plan: &Plan, record: &Record) -> Option<(Duration, Duration)> {
    let sent = record.send_start?;
    let first = record.arrival(record.token_events().next()?);
    let last = record.arrival(record.token_events().next_back()?);
    let (tokens, _) = record.output_tokens();
    let first_s = first.seconds_after(sent);
    let each_s = last.seconds_after(first) / f64::from(tokens.saturating_sub(1).max(1));
    let (mut least, mut most) = (0.0, 0.0);
    for cell in &plan.cells {
        let alone = first_s + each_s * f64::from(cell.output_length.saturating_sub(1));
        least += alone * f64::from(plan.warmup);
        most += alone * f64::from(plan.warmup);
        for pass in &plan.passes {
            let count = f64::from(pass.requests().unwrap_or(1));
            let (low, high) = match *pass {
                PassPlan::OneByOne { .. } => (alone * count, alone * count),
                PassPlan::Saturated { .. } => (alone, alone * count),
                PassPlan::Closed { concurrency, .. } => {
                    (alone * count / f64::from(concurrency), alone * count)
                }
                PassPlan::Open { rate, .. } => (count / rate, alone * count),
            };
            least += bounded(pass, low);
            most += bounded(pass, high);
        }
    }
    Some((Duration::from_secs_f64(least), Duration::from_secs_f64(most)))
}

/// The estimate in words.
pub fn words(estimate: Option<Duration>) -> String {
    match estimate {
        Some(span) => format!("estimate: {}", spoken(span)),
        None => "estimate: unknown until the server has been asked".to_owned(),
    }
}

/// `42 s`, `12 min`, `1.5 h`.
pub fn spoken(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}
