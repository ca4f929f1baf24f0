//! A spec with most of its defaults written out, for users who want to see what a plan does. A default is
//! written only if the plan hash then stays equal.

use serde_json::{Value, json};

use super::Plan;
use crate::search::{Over, SearchPlan};
use crate::spec::{Known, Spec, SpecError};
use crate::{Grid, Procedure, TargetPlan, Warmup, ab::AbPlan, sweep::SweepPlan};
use inferometer_model::{PassPlan, load::OneByOnePlan};

impl Spec {
    /// Returns the spec with the defaults of the keys that this module lists. Keys of workloads other than
    /// lengths and sizes of blocks are not among them.
    ///
    /// # Errors
    /// All mistakes of the spec.
    pub fn spelled_out(&self, known: &Known<'_>) -> Result<Self, Vec<SpecError>> {
        let plan = self.resolve(known)?;
        let hash = plan.hash();
        let with = |spec: &Self, keys: &[(&str, Value)]| -> Option<Self> {
            let mut all = spec.keys();
            for (key, value) in keys {
                let slot = all.entry(*key).or_insert(Value::Null);
                if slot.is_null() {
                    *slot = value.clone();
                }
            }
            let fuller = Self::from_keys(all).ok()?;
            (fuller.resolve(known).ok()?.hash() == hash).then_some(fuller)
        };
        // The defaults of the keys for cells and passes depend on each other. So all of them are first
        // added together. Then each key is added separately, if this was not possible.
        let load = load(&plan);
        let mut spec = with(self, &load).unwrap_or_else(|| self.clone());
        for key in load.into_iter().chain(defaults(&plan)) {
            spec = with(&spec, &[key]).unwrap_or(spec);
        }
        let (table, keys) = match &plan.procedure {
            Procedure::Passes => return Ok(spec),
            Procedure::Search(search) => ("search", searched(search)),
            Procedure::Sweep(sweep) => ("sweep", swept(sweep)),
            Procedure::Ab(ab) => ("ab", compared(ab)),
        };
        for (key, value) in keys {
            spec = with_in_table(&spec, table, key, value)
                .and_then(|fuller| with(&fuller, &[]))
                .unwrap_or(spec);
        }
        Ok(spec)
    }
}

/// Returns the spec with a key added to a table; `None` if the table is absent or already has the key.
fn with_in_table(spec: &Spec, table: &str, key: &str, value: Value) -> Option<Spec> {
    let mut all = spec.keys();
    let slot = all.get_mut(table)?.get_mut(key).filter(|slot| slot.is_null())?;
    *slot = value;
    Spec::from_keys(all).ok()
}

/// The workload, and the keys for the cells and the passes.
fn load(plan: &Plan) -> Vec<(&'static str, Value)> {
    let mut keys = vec![("workload", json!(plan.workload.name()))];
    let axis = |of: fn(&inferometer_model::cell::CellPlan) -> u32| {
        let mut lengths: Vec<u32> = Vec::new();
        for length in plan.cells.iter().map(of) {
            if !lengths.contains(&length) {
                lengths.push(length);
            }
        }
        json!(lengths)
    };
    let [inputs, outputs] = match plan.workload.grid() {
        Grid::Characters => ["block_sizes", "wanted_lengths"],
        _ => ["input_lengths", "output_lengths"],
    };
    keys.push((inputs, axis(|cell| cell.input_length)));
    keys.push((outputs, axis(|cell| cell.output_length)));
    let mut names: Vec<&str> = Vec::new();
    for pass in &plan.passes {
        match pass {
            PassPlan::OneByOne(OneByOnePlan { bound }) => {
                names.push("one_by_one");
                keys.extend(bound.requests.map(|count| ("one_by_one", json!(count))));
            }
            PassPlan::Saturated(_) => names.push("saturated"),
            _ => {}
        }
    }
    let requests = plan.passes.iter().rev().find(|pass| !matches!(pass, PassPlan::OneByOne(_)));
    keys.extend(requests.and_then(|pass| pass.requests()).map(|count| ("requests", json!(count))));
    if !names.is_empty() {
        keys.push(("passes", json!(names)));
    }
    keys
}

/// The keys of `[sweep]` that have a default.
fn swept(sweep: &SweepPlan) -> Vec<(&'static str, Value)> {
    let mut keys = vec![
        ("by", json!(sweep.by.name())),
        ("knee", json!(sweep.knee)),
        ("confidence", json!(sweep.confidence)),
        ("precision", json!(sweep.precision)),
        ("max_requests", json!(sweep.max_requests)),
        ("max_trials", json!(sweep.max_trials)),
    ];
    match sweep.by {
        Over::Concurrency => {
            keys.extend(sweep.highest.map(|most| ("max_concurrency", json!(most as u32))));
        }
        _ => keys.extend(sweep.highest.map(|most| ("max_rate", json!(most)))),
    }
    keys
}

/// The keys of `[search]` that have a default. `start` comes before `from`, because the default of
/// `from` depends on `start`.
fn searched(search: &SearchPlan) -> Vec<(&'static str, Value)> {
    vec![
        ("over", json!(if search.over.is_rate() { Over::Rate } else { Over::Concurrency }.name())),
        ("attainment", json!(super::search::ATTAINMENT)),
        ("confidence", json!(search.confidence)),
        ("precision", json!(search.precision)),
        ("start", json!(search.start)),
        ("stride", json!(search.stride)),
        ("from", json!(search.lowest)),
        ("max_requests", json!(search.max_requests)),
        ("max_trials", json!(search.max_trials)),
    ]
}

/// The keys of `[ab]` that have a default.
fn compared(ab: &AbPlan) -> Vec<(&'static str, Value)> {
    let figures: Vec<String> = ab.figures.iter().map(|figure| figure.name()).collect();
    vec![
        ("metric", json!(figures)),
        ("minimal_effect", json!(ab.minimal_effect)),
        ("uncounted", json!(ab.uncounted)),
        ("max_requests", json!(ab.max_requests)),
    ]
}

/// The other keys whose defaults are written out.
fn defaults(plan: &Plan) -> Vec<(&'static str, Value)> {
    let seconds = |span: std::time::Duration| json!(format!("{}s", span.as_secs_f64()));
    let mut keys: Vec<(&str, Value)> = Vec::new();
    if let TargetPlan::Embedded { model, speed, .. } = &plan.target {
        keys.extend([("model", json!(model)), ("speed", json!(speed))]);
    } else {
        keys.push(("model", json!("auto")));
    }
    keys.extend([
        ("dialect", json!("auto")),
        (
            "warmup",
            match plan.warmup {
                Warmup::Requests(count) => json!(count),
                Warmup::Time { duration } => seconds(duration),
                // A load is never a default.
                Warmup::Load(_) => Value::Null,
            },
        ),
        ("repeat", json!(plan.repeat.at_least)),
        ("burstiness", json!(1.0)),
        ("arrivals", json!("vllm")),
        ("scale", json!(true)),
        ("over_limit", json!("queue")),
        ("temperature", json!(plan.sampling.temperature)),
        ("ignore_eos", json!(plan.sampling.ignore_eos)),
        ("stream", json!(plan.sampling.stream)),
        ("token_ids", json!(plan.token_ids)),
        ("count_template", json!(plan.count_template)),
        ("reset_prefix_cache", json!(plan.reset_prefix_cache)),
    ]);
    let timeouts = &plan.timeouts;
    for (key, span) in [
        ("connect_timeout", timeouts.connect),
        ("first_token_timeout", timeouts.first_token),
        ("event_timeout", timeouts.between_events),
        ("timeout", timeouts.total),
    ] {
        keys.extend(span.map(|span| (key, seconds(span))));
    }
    keys.extend([
        ("max_failures", json!(plan.max_failures)),
        ("server_metrics", json!(true)),
        ("metrics_period", seconds(plan.observe.period)),
        ("seed", json!(plan.seed)),
    ]);
    keys
}
