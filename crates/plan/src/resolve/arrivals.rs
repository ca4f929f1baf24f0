//! Resolves the arrival process of open loops.

use inferometer_load::arrival::Arrivals;

use crate::spec::limits::MAX_PASSES;
use crate::spec::{Mistakes, Spec, values};

/// The largest seed for arrivals as vLLM. vLLM accepts seeds up to 2^32 - 1, and later repeats, trials and pairs use the
/// next seeds. No plan has more of them than [`MAX_PASSES`].
const LARGEST_SEED: u64 = u32::MAX as u64 - MAX_PASSES as u64;

/// The arrival process of open loops.
pub(super) fn arrivals(spec: &Spec, mistakes: &mut Mistakes) -> Arrivals {
    let burstiness =
        mistakes.read("burstiness", spec.burstiness.as_ref(), values::burstiness).unwrap_or(1.0);
    match spec.arrivals.as_deref() {
        None | Some("inferometer") => Arrivals::of_burstiness(burstiness),
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
