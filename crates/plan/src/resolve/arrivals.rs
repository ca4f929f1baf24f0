//! Resolves the arrival process of open loops.

use inferometer_load::arrival::Arrivals;

use crate::spec::{Mistakes, Spec, values};

/// The arrival process of open loops.
pub(super) fn arrivals(spec: &Spec, mistakes: &mut Mistakes) -> Arrivals {
    let burstiness =
        mistakes.read("burstiness", spec.burstiness.as_ref(), values::burstiness).unwrap_or(1.0);
    match spec.arrivals.as_deref() {
        None | Some("inferometer") => Arrivals::of_burstiness(burstiness),
        Some("vllm") => {
            if spec.seed.is_some_and(|seed| seed > u64::from(u32::MAX)) {
                let problem = format!("is above {}, the largest seed of vLLM's arrivals", u32::MAX);
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
