//! How long all runs of a plan with several servers take together. Before the first run, this time is known
//! only if it does not depend on the servers.

use std::time::Duration;

use inferometer_analysis::Summary;
use inferometer_plan::{Plan, TargetPlan};
use inferometer_report::progress::{Bound, Notice};

use crate::estimate::bound::LongestRun;
use crate::estimate::duration::{at_least, of_plan};

/// The time of a run, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunTime {
    About(Duration),
    AtMost(Duration),
    AtLeast(Duration),
}

impl RunTime {
    /// The time of a plan; absent if it depends on the server.
    fn of(plan: &Plan) -> Option<Self> {
        if plan.procedure.chooses_loads() {
            return LongestRun::of(plan).limit().map(Self::AtMost);
        }
        match plan.target {
            TargetPlan::Embedded { .. } => {
                of_plan(plan).ok().flatten().map(|times| Self::About(times.all.0))
            }
            TargetPlan::Server { .. } => at_least(plan).map(Self::AtLeast),
        }
    }

    /// The time of two runs, one after the other; absent if one has a lower and the other an upper limit.
    fn then(self, next: Self) -> Option<Self> {
        Some(match (self, next) {
            (Self::About(one), Self::About(other)) => Self::About(one + other),
            (Self::AtMost(one), Self::AtMost(other) | Self::About(other))
            | (Self::About(one), Self::AtMost(other)) => Self::AtMost(one + other),
            (Self::AtLeast(one), Self::AtLeast(other) | Self::About(other))
            | (Self::About(one), Self::AtLeast(other)) => Self::AtLeast(one + other),
            (Self::AtMost(_), Self::AtLeast(_)) | (Self::AtLeast(_), Self::AtMost(_)) => {
                return None;
            }
        })
    }
}

/// The time of all runs: each plan is carried out in each round.
pub fn of_all<'a>(plans: impl Iterator<Item = &'a Plan>, rounds: u32) -> Notice {
    let each: Option<Vec<RunTime>> = plans.map(RunTime::of).collect();
    let mut each = each.unwrap_or_default().into_iter();
    let once = each.next().and_then(|first| each.try_fold(first, RunTime::then));
    let (bound, span) = match once {
        Some(RunTime::About(span)) => (Bound::About, span),
        Some(RunTime::AtMost(span)) => (Bound::AtMost, span),
        Some(RunTime::AtLeast(span)) => (Bound::AtLeast, span),
        None => return Notice::AllRunsUnknown,
    };
    Notice::AllRuns { bound, time_s: span.saturating_mul(rounds).as_secs_f64() }
}

/// The time of the remaining runs in seconds, from the mean time of the measured runs; absent before the first run has
/// ended.
pub fn left_s<'a>(measured: impl Iterator<Item = &'a Summary>, remaining: usize) -> Option<f64> {
    let seconds = |run: &Summary| {
        let passes = run.cells.iter().flat_map(|cell| &cell.passes);
        passes.filter_map(|pass| pass.duration_s).sum::<f64>()
    };
    let all: Vec<f64> = measured.map(seconds).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    Some(mean * remaining as f64).filter(|left_s| left_s.is_finite())
}

#[cfg(test)]
mod tests {
    use inferometer_plan::spec::{Known, Spec};

    use super::*;

    fn plan(keys: &str) -> Plan {
        let spec: Spec = serde_json::from_str(keys).unwrap();
        spec.resolve(&Known {
            dialects: &["openai-completions"],
            models: &["chatglm3-6b"],
            model_of_hub_id: |_| None,
        })
        .unwrap()
    }

    #[test]
    fn the_time_of_all_runs_is_stated_if_it_does_not_depend_on_the_servers() {
        let server = r#""target": "http://127.0.0.1:1", "dialect": "openai-completions""#;
        let cell = r#""input_lengths": [64], "output_lengths": [16]"#;
        for (keys, text) in [
            (r#""rate": ["4"], "duration": "90s""#, "at least 12 min"),
            (r#""rate": ["4"], "duration": "90s", "cooldown": "10s""#, "at least 12 min"),
            (r#""concurrency": ["8"], "duration": "30s""#, "at least 4 min"),
            (r#""sweep": {"max_time": "5m"}"#, "at most 40 min"),
            (r#""sweep": {}"#, "estimated after the first run"),
            (r#""concurrency": ["8"], "requests": 100"#, "estimated after the first run"),
            // A rule may end passes early, so there is no lower limit.
            (
                r#""rate": ["4"], "duration": "90s", "stop_when_saturated": true"#,
                "estimated after the first run",
            ),
            (
                r#""concurrency": ["8"], "duration": "30s", "stop_at_error_rate": "5%""#,
                "estimated after the first run",
            ),
        ] {
            let plan = plan(&format!("{{{server}, {cell}, {keys}}}"));
            let text_of = of_all([&plan, &plan].into_iter(), 4).to_string();
            assert!(text_of.contains(text), "{keys}: {text_of}");
        }
        let embedded = plan(&format!(r#"{{{cell}, "passes": ["saturated"], "requests": 24}}"#));
        let text = of_all([&embedded].into_iter(), 2).to_string();
        assert!(text.starts_with("estimate for all runs: "), "{text}");
    }
}
