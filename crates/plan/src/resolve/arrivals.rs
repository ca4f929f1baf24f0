//! Resolves the arrival process of open loops.

use inferometer_model::load::arrival::Arrivals;

use crate::spec::{Mistakes, Spec, values};

/// The largest seed that vLLM accepts.
const LARGEST_SEED: u64 = u32::MAX as u64;

/// The arrival process of open loops. By default, it is that of `vllm bench serve`. So a run and a prediction without
/// options have the same arrivals as published results of that tool. If the seed is too large for vLLM, the default
/// process uses only the lower 32 bits of the seed; with an explicit `vllm`, such a seed is a mistake.
pub(super) fn arrivals(spec: &Spec, mistakes: &mut Mistakes) -> Arrivals {
    let burstiness =
        mistakes.read("burstiness", spec.burstiness.as_ref(), values::burstiness).unwrap_or(1.0);
    match spec.arrivals.as_deref() {
        None => Arrivals::of_vllm(burstiness),
        Some("inferometer") => Arrivals::of_burstiness(burstiness),
        Some("vllm") => {
            if spec.seed.is_some_and(|seed| seed > LARGEST_SEED) {
                let problem =
                    format!("is too large for --arrivals vllm; give at most {LARGEST_SEED}");
                mistakes.add("seed", problem);
            }
            Arrivals::of_vllm(burstiness)
        }
        Some(other) => {
            mistakes.add("arrivals", format!("`{other}` is not one of inferometer, vllm"));
            Arrivals::default()
        }
    }
}
