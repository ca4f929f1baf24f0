//! The time of products of activations and weights, from the bytes read and the operations. Attention is not included.

use crate::model::Experts;
use crate::profile::{AwqKernel, GptqKernel};
use crate::{ResolvedConfig, Weights};

/// Bytes that the sampler of vLLM 0.2.x moves for each logit of a sampled row. The logit is written in half precision
/// (2 bytes) and divided by the temperature (4). Probabilities and their logarithms are computed in single precision (6
/// each), copied (8), and divided by random noise (4 + 12). Finally, the maximum is searched (4). The bytes are counted
/// in `model_executor/layers/sampler.py` and not fitted: two measured tables cannot separate the cost of sampling from
/// the cost of the attention heads.
const SAMPLER_BYTES_PER_LOGIT: f64 = 46.0;

/// The matrix products of one step with the kernel for the weights, and sampling from the logits.
#[derive(Clone, Debug)]
pub(super) struct Products {
    kernel: Kernel,
    /// The number of parameters on each card, in all layers, that are multiplied with one token.
    linear: f64,
    /// The number of parameters of one expert on each card, summed over all layers with experts; 0 if the model has no
    /// experts.
    expert: f64,
    experts: Option<Experts>,
    parameter_bytes: f64,
    head_parameter_bytes: f64,
    head: f64,
    bandwidth: f64,
    flops: f64,
    card_bandwidth: f64,
    card_flops: f64,
    /// Seconds for sampling from one row of logits.
    sampler_row_s: f64,
}

#[derive(Clone, Debug)]
enum Kernel {
    Dense,
    Gptq(GptqKernel),
    Awq(AwqKernel),
}

impl Products {
    pub(super) fn new(config: &ResolvedConfig) -> Self {
        let cards = f64::from(config.tensor_parallel_size);
        let kernels = &config.profile.kernels;
        let kernel = match config.weights {
            // For vLLM 0.8 and later, `v1` computes the costs, and profiles have no constants of these kernels.
            _ if config.profile.steps.is_some() => Kernel::Dense,
            Weights::Gptq | Weights::SqueezeLlm => Kernel::Gptq(
                kernels.gptq.clone().expect("invariant: a resolved profile supports its weights"),
            ),
            Weights::Awq => Kernel::Awq(
                kernels.awq.clone().expect("invariant: a resolved profile supports its weights"),
            ),
            _ => Kernel::Dense,
        };
        let (constants, card) = (&config.profile.constants, &config.card);
        let (model, weights) = (&config.model, config.weights);
        let expert = model.expert_parameters() / cards;
        let bandwidth = constants.bandwidth_efficiency * card.bandwidth_bytes_per_s;
        let active = model.experts.map_or(0.0, |experts| f64::from(experts.per_token));
        Self {
            kernel,
            linear: model.shared_parameters() / cards + active * expert,
            expert,
            experts: model.experts,
            parameter_bytes: weights.bytes_per_parameter(),
            head_parameter_bytes: weights.bytes_per_activation(),
            head: model.head_parameters() / cards,
            bandwidth,
            flops: constants.dense_efficiency * config.flops_per_s(),
            card_bandwidth: card.bandwidth_bytes_per_s,
            card_flops: card.dense_flops_per_s,
            // Every card samples from the complete logits, which are gathered from all cards.
            sampler_row_s: SAMPLER_BYTES_PER_LOGIT * f64::from(model.vocabulary) / bandwidth,
        }
    }

    /// The number of parameters of the layers that a step of this many rows reads from memory.
    fn parameters_read(&self, rows: f64) -> f64 {
        self.experts.map_or(self.linear, |experts| {
            let more = experts.distinct(rows) - f64::from(experts.per_token);
            self.linear + more * self.expert
        })
    }

    /// The seconds in which `rows` rows pass through the layers, and `sampled` of them through the output projection
    /// and the sampler.
    pub(super) fn seconds(&self, rows: f64, sampled: f64) -> f64 {
        let sampler_s = sampled * self.sampler_row_s;
        let products_s = match &self.kernel {
            Kernel::Dense => {
                let work = 2.0 * (self.linear * rows + self.head * sampled);
                let read = self.parameter_bytes * (self.parameters_read(rows) + self.head);
                overlapped(read / self.bandwidth, work / self.flops)
            }
            Kernel::Gptq(kernel) => self.gptq(kernel, rows) + self.dense(self.head, sampled),
            Kernel::Awq(kernel) => self.awq(kernel, rows) + self.dense(self.head, sampled),
        };
        sampler_s + products_s
    }

    fn dense(&self, parameters: f64, rows: f64) -> f64 {
        let read = self.head_parameter_bytes * parameters;
        overlapped(read / self.bandwidth, 2.0 * parameters * rows / self.flops)
    }

    fn gptq(&self, kernel: &GptqKernel, rows: f64) -> f64 {
        let parameters = self.parameters_read(rows);
        let bytes = parameters * self.parameter_bytes;
        if rows <= f64::from(kernel.max_rows) {
            let read = bytes / (kernel.bandwidth_efficiency * self.card_bandwidth);
            let work = 2.0 * self.linear * rows / (kernel.dense_efficiency * self.card_flops);
            overlapped(read, work)
        } else {
            let written = bytes + 2.0 * parameters;
            let dequantise = written / (kernel.dequantise_efficiency * self.card_bandwidth);
            let read = self.head_parameter_bytes * parameters / self.bandwidth;
            dequantise + overlapped(read, 2.0 * self.linear * rows / self.flops)
        }
    }

    fn awq(&self, kernel: &AwqKernel, rows: f64) -> f64 {
        let tile = f64::from(kernel.tile_rows);
        let padded = (rows / tile).ceil() * tile;
        let bytes = self.parameters_read(rows) * self.parameter_bytes;
        overlapped(
            bytes / (kernel.bandwidth_efficiency * self.card_bandwidth),
            2.0 * self.linear * padded / (kernel.dense_efficiency * self.card_flops),
        )
    }
}

/// The 1.5-norm of two times. The result is between the larger time and the sum, because reading weights and
/// multiplying partly overlap.
fn overlapped(a: f64, b: f64) -> f64 {
    let sum = a * a.sqrt() + b * b.sqrt();
    (sum * sum).cbrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EngineConfig;

    #[test]
    fn each_weight_format_that_a_profile_accepts_has_a_positive_cost() {
        for profile in crate::profile::profiles() {
            for weights in Weights::ALL {
                let mut config = EngineConfig::of("qwen-14b", Some(&profile.name)).unwrap();
                config.weights = Some(weights);
                // The profile or its card may not support these weights.
                let Ok(resolved) = config.resolve() else { continue };
                let products = Products::new(&resolved);
                assert!(products.seconds(1.0, 1.0) > 0.0, "{} {weights}", profile.name);
            }
        }
    }

    #[test]
    fn overlapping_work_takes_more_than_the_longer_time_and_less_than_the_sum() {
        assert!((overlapped(3.0, 0.0) - 3.0).abs() < 1e-12);
        let one = overlapped(1.0, 1.0);
        assert!((one - 2_f64.powf(2.0 / 3.0)).abs() < 1e-12, "{one}");
    }
}
