//! The memory that a plan needs in addition to the memory that any run may need, as `docs/limits.md` describes. It is
//! computed from the plan and the size of its data set file.

use inferometer_drive::of_answer;
use inferometer_model::PassPlan;
use inferometer_plan::{Plan, TargetPlan, WorkloadPlan, spec::limits::MAX_IN_FLIGHT};
use inferometer_workload::MAX_DATA_SET_BYTES;
use serde::Serialize;

use crate::prompts::{BATCH, BATCHES_IN_MEMORY, MAX_BYTES_IN_MEMORY, dataset_file};

/// The maximum memory of a run without the memory that its plan needs, in bytes. It does not depend on what the server
/// sends.
pub const OF_ANY_RUN_BYTES: u64 = 512 << 20;
/// The memory of a prompt token, in bytes: as text, in the request and in its body.
const PROMPT_TOKEN_BYTES: u64 = 16;
/// In memory, a row of a data set takes at most this many times its size in the file.
const ROW_GROWTH: u64 = 8;

/// The memory of a plan, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PlanMemory {
    /// The memory that any run may take, see [`OF_ANY_RUN_BYTES`].
    pub of_any_run: u64,
    /// The memory of the prompts, in the pass that needs most memory for prompts; absent if the data set sets their
    /// lengths.
    pub prompts: Option<u64>,
    /// The memory of the answers in flight, in the pass that needs most memory for answers; absent if the data set sets
    /// their lengths.
    pub answers: Option<u64>,
    /// The memory of the rows of the data set.
    pub data_set: u64,
}

impl PlanMemory {
    /// The memory of a plan.
    pub fn of(plan: &Plan) -> Self {
        let largest = |of: &dyn Fn(&PassPlan, u32, u32) -> Option<u64>| {
            let cells = plan.cells.iter();
            let all = cells.flat_map(|cell| {
                let passes = plan.passes_of(*cell);
                passes.into_iter().map(|pass| of(&pass, cell.input_length, cell.output_length))
            });
            all.collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max())
        };
        let prompts = |pass: &PassPlan, input: u32, _: u32| {
            let of = |requests: u32| u64::from(requests) * u64::from(input) * PROMPT_TOKEN_BYTES;
            let in_parts = of(in_flight(pass) + BATCH * BATCHES_IN_MEMORY);
            let memory = match pass.requests() {
                None => in_parts,
                Some(requests) if makes_prompts_in_parts(plan) => {
                    of(requests).min(in_parts + MAX_BYTES_IN_MEMORY as u64)
                }
                Some(requests) => of(requests),
            };
            (input > 0).then_some(memory)
        };
        let answers = |pass: &PassPlan, _: u32, output: u32| {
            (output > 0).then(|| u64::from(in_flight(pass)) * of_answer(output) as u64)
        };
        Self {
            of_any_run: OF_ANY_RUN_BYTES,
            prompts: largest(&prompts),
            answers: largest(&answers),
            data_set: data_set_bytes(plan),
        }
    }

    /// A summary in one line, for people.
    pub fn words(&self) -> String {
        let mib = |bytes: u64| format!("{} MiB", bytes.div_ceil(1 << 20));
        let own = |bytes: Option<u64>| {
            bytes.map_or_else(|| "unknown (the data set sets the lengths)".to_owned(), mib)
        };
        format!(
            "memory: at most {} plus what this plan needs: prompts {}, answers in flight {}, data \
                set {} (docs/limits.md)",
            mib(self.of_any_run),
            own(self.prompts),
            own(self.answers),
            mib(self.data_set)
        )
    }
}

/// Whether prompts that take much memory are made while their pass runs. (Those of a trace are too, but the trace sets
/// their lengths, so their memory is unknown.)
fn makes_prompts_in_parts(plan: &Plan) -> bool {
    let asks_no_server = plan.token_ids
        || plan.tokenizer.is_some()
        || matches!(plan.target, TargetPlan::Embedded { .. });
    asks_no_server && matches!(plan.workload, WorkloadPlan::Random | WorkloadPlan::Drawn(_))
}

/// The maximum number of requests of a pass in flight at the same time.
fn in_flight(pass: &PassPlan) -> u32 {
    let by_time = match pass.bound().duration {
        Some(span) if pass.is_scheduled() => span.as_secs_f64() * pass.peak_rate(),
        _ => f64::INFINITY,
    };
    let begun = pass.requests().unwrap_or(by_time.ceil() as u32);
    let at_once = match pass.is_scheduled() {
        true => pass.limit().0.unwrap_or(MAX_IN_FLIGHT),
        false => pass.at_start().unwrap_or(MAX_IN_FLIGHT),
    };
    at_once.min(begun).min(MAX_IN_FLIGHT)
}

/// The maximum memory of the data set of a plan, in bytes. This can be more than the size of its file: the file may be
/// compressed, or the data may need more space in memory than in the file.
fn data_set_bytes(plan: &Plan) -> u64 {
    let Some(file) = dataset_file(plan) else { return 0 };
    let size = std::fs::metadata(&file).map_or(0, |found| found.len());
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("parquet") => 2 * MAX_DATA_SET_BYTES,
        // ShareGPT: only the texts of each row are loaded.
        Some("json") => size.saturating_mul(2),
        _ => size.saturating_mul(ROW_GROWTH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_plan::spec::{Known, Spec};
    use serde_json::json;

    fn memory(keys: serde_json::Value) -> PlanMemory {
        let spec: Spec = serde_json::from_value(keys).unwrap();
        PlanMemory::of(
            &spec
                .resolve(&Known {
                    dialects: &[],
                    models: &["chatglm3-6b"],
                    model_of_hub_id: |_| None,
                })
                .unwrap(),
        )
    }

    #[test]
    fn the_memory_estimate_of_a_plan_covers_its_prompts_and_answers() {
        let lengths = |concurrency: u32, requests: u32| {
            json!({"input_lengths": [64, 128], "output_lengths": [996], "requests": requests,
                   "concurrency": [concurrency]})
        };
        let found = memory(lengths(8, 100));
        assert_eq!(found.prompts, Some(100 * 128 * 16));
        assert_eq!(found.answers, Some(8 * 1_000 * 240));
        assert_eq!((found.data_set, found.of_any_run), (0, 512 << 20));
        // At most all requests of the pass are in flight.
        assert_eq!(memory(lengths(1_000, 4)).answers, Some(4 * 1_000 * 240));
        // Prompts that take more than 16 MiB are made while the pass runs.
        let long = memory(lengths(8, 10_000_000)).prompts;
        assert_eq!(long, Some((16 << 20) + (8 + 6 * 64) * 128 * 16));
        // Without this number, prompts are made in batches of 64 while the pass runs.
        let by_time = json!({"input_lengths": [128], "output_lengths": [8], "duration": "9s",
            "concurrency": [8]});
        let by_time = memory(by_time);
        assert_eq!(by_time.prompts, Some((8 + 6 * 64) * 128 * 16));
        assert_eq!(by_time.answers, Some(8 * 12 * 240));
        assert!(found.words().contains("prompts 1 MiB, answers in flight 2 MiB, data set 0 MiB"));
    }
}
