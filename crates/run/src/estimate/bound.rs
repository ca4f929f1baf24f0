//! The maximum number of requests and the maximum time of a search, a sweep or a comparison, told before it starts.
//! Such a run ends when its result is certain enough, so its actual time is not known.

use std::time::Duration;

use inferometer_analysis::{search::NextTrial, sweep::NextLevel};
use inferometer_plan::search::{Over, SearchPlan};
use inferometer_plan::{Plan, Procedure, Repeat, TargetPlan, ab::AbPlan, sweep::SweepPlan};
use inferometer_report::progress::{AbCost, AllAtLowest, Chosen, Notice, SearchCost, SweepCost};

/// The maximum number of requests of the trial whose time is estimated. The time of a larger trial is computed from the
/// time of this trial.
const MOST_PLAYED: u64 = 1_000;

/// An upper bound on the time of a search, a sweep or a comparison: the user's time limit, or the estimated time of a
/// plan, multiplied by a factor, plus pauses. For a search and a sweep, this plan has one trial at the lowest load. For a
/// comparison, it has one block.
pub struct LongestRun {
    /// The plan whose time is estimated; the original plan if it has no search or sweep.
    pub plan: Plan,
    times: f64,
    rests: Duration,
    /// The time limit of the user.
    most: Option<Duration>,
}

impl LongestRun {
    /// The longest run of a plan. Without a search, a sweep or a comparison, this is one run of the plan itself.
    pub fn of(plan: &Plan) -> Self {
        let mut longest =
            Self { plan: plan.clone(), times: 1.0, rests: Duration::ZERO, most: None };
        let cells = plan.cells.len() as u32;
        match std::mem::take(&mut longest.plan.procedure) {
            Procedure::Passes => {}
            Procedure::Sweep(sweep) => {
                // A sweep begins with one request in flight, and it is not known yet how many requests the server
                // can process at the same time. The maximum is the user's time limit, or the time of all requests
                // one after the other.
                let requests = sweep.max_requests.min(MOST_PLAYED);
                let asked = NextLevel { by: Over::Concurrency, load: 1.0, requests };
                longest.plan.passes = plan.passes.iter().map(|pass| asked.pass(pass)).collect();
                longest.times = sweep.max_requests as f64 / requests as f64;
                longest.limit_trials(sweep.max_time, sweep.max_trials, cells);
            }
            Procedure::Search(search) => {
                let requests = search.max_requests.min(MOST_PLAYED);
                let asked = NextTrial { load: search.lowest, requests };
                let at_lowest = |of_plan| inferometer_analysis::search::trial_pass(of_plan, asked);
                longest.plan.passes = plan.passes.iter().map(at_lowest).collect();
                longest.times = search.max_requests as f64 / requests as f64;
                longest.limit_trials(search.max_time, search.max_trials, cells);
            }
            Procedure::Ab(ab) => {
                longest.most = ab.max_time;
                // The estimated plan has one block. The maximum has this number of pairs of such blocks.
                let pairs = plan.repeat.at_most;
                longest.plan.repeat = Repeat { at_least: 1, at_most: 1, until: Vec::new() };
                longest.times = 2.0 * f64::from(pairs);
                // Each side pauses between its blocks.
                let rest = longest.plan.cooldown.take().unwrap_or_default();
                longest.rests = rest.saturating_mul(2 * pairs.saturating_sub(1));
                longest.plan.procedure = Procedure::Ab(ab);
            }
        }
        longest
    }

    /// Sets the time limit of all cells, and the pauses after all trials.
    fn limit_trials(&mut self, most: Option<Duration>, trials: u32, cells: u32) {
        self.most = most.map(|most| most.saturating_mul(cells));
        let rest = self.plan.cooldown.take().unwrap_or_default();
        self.rests = rest.saturating_mul(trials.saturating_mul(cells));
    }

    /// The time limit of the user for the whole run; absent if there is none. It includes pauses.
    pub fn limit(&self) -> Option<Duration> {
        self.most
    }

    /// The maximum time of the whole run, if [`Self::plan`] takes the time `once`. If the user set a time limit,
    /// returns this limit. Absent if the time is too large for a [`Duration`].
    pub fn time(&self, once: Duration) -> Option<Duration> {
        if self.most.is_some() {
            return self.limit();
        }
        let all = Duration::try_from_secs_f64(once.as_secs_f64() * self.times).ok()?;
        all.checked_add(self.rests)
    }
}

/// The maximum cost of a search.
pub fn of_search(plan: &Plan, search: &SearchPlan, most: Option<Duration>) -> Notice {
    // If the user gave no lowest load, the default is so low that a search rarely has trials at it. The time
    // at this load would be far too long.
    let has_lowest = plan.spec.search.as_ref().is_some_and(|search| search.from.is_some());
    Notice::SearchCost(SearchCost {
        over: search.over,
        max_requests: search.max_requests,
        max_trials: search.max_trials,
        max_time_s: search.max_time.map(|most| most.as_secs_f64()),
        cells: plan.cells.len(),
        all_at_lowest: most.filter(|_| has_lowest).map(|most| AllAtLowest {
            time_s: most.as_secs_f64(),
            load: search.lowest,
            over: search.over,
        }),
    })
}

/// The highest load and the maximum cost of a sweep. `unbatched` is its time if the server does not batch, if this is
/// to be told.
pub fn of_sweep(plan: &Plan, sweep: &SweepPlan, unbatched: Option<Duration>) -> Notice {
    Notice::SweepCost(SweepCost {
        by: sweep.by,
        highest: sweep.highest,
        max_requests: sweep.max_requests,
        max_trials: sweep.max_trials,
        max_time_s: sweep.max_time.map(|most| most.as_secs_f64()),
        cells: plan.cells.len(),
        unbatched_s: unbatched.map(|most| most.as_secs_f64()),
    })
}

/// The maximum number of requests and the maximum time of a comparison.
pub fn of_ab(plan: &Plan, ab: &AbPlan, most: Option<Duration>) -> Notice {
    Notice::AbCost(AbCost {
        pairs: plan.repeat.at_most,
        block_requests: plan.passes.first().and_then(|pass| pass.requests()).unwrap_or(0),
        max_time_s: ab.max_time.map(|most| most.as_secs_f64()),
        most_s: most.map(|most| most.as_secs_f64()),
    })
}

/// The advice to use virtual time, if the plan has trials on the embedded engine in real time.
pub fn advice(plan: &Plan) -> Option<Notice> {
    let of = if plan.procedure.sweep().is_some() { Chosen::Sweep } else { Chosen::Search };
    matches!(plan.target, TargetPlan::Embedded { .. }).then_some(Notice::UseVirtualTime { of })
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::steady;
    use inferometer_model::load::PassPlan;
    use inferometer_plan::spec::{Known, Spec};

    use super::*;
    use crate::estimate::duration::of_plans;
    use crate::estimate::server_speed::ServerSpeed;

    fn plan(keys: &str) -> Plan {
        let spec: Spec = serde_json::from_str(keys).unwrap();
        let dialects = &["openai-completions"];
        spec.resolve(&Known { dialects, models: &["chatglm3-6b"], model_of_hub_id: |_| None })
            .unwrap()
    }

    #[test]
    fn the_longest_search_sends_all_requests_at_the_lowest_load_plus_a_cooldown_per_trial() {
        let keys = r#"{"slo": "ttft_p99<1s", "input_lengths": [64], "output_lengths": [16],
            "cooldown": "2s", "search": {"from": 4, "max_requests": 5000, "max_trials": 30}}"#;
        let plan = plan(keys);
        let longest = LongestRun::of(&plan);
        assert_eq!(longest.plan.passes[0].requests(), Some(1_000));
        assert_eq!(longest.plan.passes[0].last_due_s(0.1), 250.0);
        let most = longest.time(Duration::from_secs(250)).unwrap();
        assert_eq!(most, Duration::from_secs(5 * 250 + 30 * 2));
        let text = of_search(&plan, plan.procedure.search().unwrap(), Some(most)).to_string();
        assert!(
            text.contains("at most 5000 requests (or 30 trials); at most about 22 min"),
            "{text}"
        );
        assert!(text.contains("if every trial had 4 requests/s, the lowest load"), "{text}");
        assert_eq!(longest.time(Duration::MAX), None);
    }

    #[test]
    fn a_search_without_a_lowest_load_has_no_time_estimate() {
        let plan = plan(r#"{"slo": "ttft_p99<1s", "search": {}}"#);
        let most = Some(Duration::from_secs(9_999));
        let text = of_search(&plan, plan.procedure.search().unwrap(), most).to_string();
        assert!(text.ends_with("(or 40 trials) for each of 4 cells"), "{text}");
    }

    #[test]
    fn the_longest_comparison_with_a_server_has_each_block_of_each_pair_once() {
        let keys = r#"{"target": "http://127.0.0.1:1", "dialect": "openai-completions",
            "input_lengths": [64], "output_lengths": [16], "concurrency": [8], "warmup": 0,
            "requests": 32, "cooldown": "2s", "ab": {"max_requests": 6400}}"#;
        let plan = plan(keys);
        let longest = LongestRun::of(&plan);
        let speed = ServerSpeed::of(&steady(0.0, 40.0, 10.0, 16)).unwrap();
        let times = of_plans(std::slice::from_ref(&longest.plan), Some(&speed)).unwrap();
        let (_, block) = times.all;
        // At most, the server processes the 32 requests of a block one after the other.
        let cell = plan.cells[0];
        let requests_s = 32.0 * speed.alone_s(cell) + speed.making_s(cell, 32);
        assert!((block.as_secs_f64() / requests_s - 1.0).abs() < 1e-6, "{block:?} {requests_s}");
        // 6,400 requests are 100 pairs of blocks.
        let most = longest.time(Duration::from_secs(10)).unwrap();
        assert_eq!(most, Duration::from_secs(2 * 100 * 10 + 2 * 99 * 2));
    }

    #[test]
    fn the_longest_run_of_a_plan_without_a_search_is_the_plan_itself() {
        let plan = plan(r#"{"rate": ["4"], "requests": 5000, "cooldown": "2s"}"#);
        let longest = LongestRun::of(&plan);
        assert!(matches!(longest.plan.passes[0], PassPlan::Open(_)));
        assert_eq!((longest.plan.passes, longest.plan.cooldown), (plan.passes, plan.cooldown));
        assert_eq!(longest.times, 1.0);
    }
}
