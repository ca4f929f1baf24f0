//! Products of activations and weights: which bytes stream by, which operations are done.

use super::overlapped;
use crate::config::Resolved;
use crate::model::Weights;
use crate::profile::{AwqKernel, GptqKernel};

/// The products of one step, per kernel.
#[derive(Clone, Debug)]
pub(super) struct Products {
    kernel: Kernel,
    linear: f64,
    head: f64,
    bandwidth: f64,
    flops: f64,
    card_bandwidth: f64,
    card_flops: f64,
}

#[derive(Clone, Debug)]
enum Kernel {
    Fp16,
    Gptq(GptqKernel),
    Awq(AwqKernel),
}

impl Products {
    pub(super) fn new(config: &Resolved) -> Self {
        let cards = f64::from(config.tensor_parallel_size);
        let kernels = &config.profile.kernels;
        let kernel = match config.weights {
            Weights::Fp16 => Kernel::Fp16,
            Weights::Gptq => Kernel::Gptq(
                kernels.gptq.clone().expect("invariant: a resolved profile supports its weights"),
            ),
            Weights::Awq => Kernel::Awq(
                kernels.awq.clone().expect("invariant: a resolved profile supports its weights"),
            ),
        };
        let (constants, card) = (&config.profile.constants, &config.card);
        Self {
            kernel,
            linear: config.model.linear_parameters() / cards,
            head: config.model.head_parameters() / cards,
            bandwidth: constants.bandwidth_efficiency * card.bandwidth_bytes_per_s,
            flops: constants.dense_efficiency * card.dense_flops_per_s,
            card_bandwidth: card.bandwidth_bytes_per_s,
            card_flops: card.dense_flops_per_s,
        }
    }

    /// Seconds for this many rows through the layers and `sampled` of them through the head.
    pub(super) fn seconds(&self, rows: f64, sampled: f64) -> f64 {
        match &self.kernel {
            Kernel::Fp16 => {
                let work = 2.0 * (self.linear * rows + self.head * sampled);
                overlapped(2.0 * (self.linear + self.head) / self.bandwidth, work / self.flops)
            }
            Kernel::Gptq(kernel) => self.gptq(kernel, rows) + self.dense(self.head, sampled),
            Kernel::Awq(kernel) => self.awq(kernel, rows) + self.dense(self.head, sampled),
        }
    }

    fn dense(&self, parameters: f64, rows: f64) -> f64 {
        overlapped(2.0 * parameters / self.bandwidth, 2.0 * parameters * rows / self.flops)
    }

    fn gptq(&self, kernel: &GptqKernel, rows: f64) -> f64 {
        let bytes = self.linear * Weights::Gptq.bytes_per_parameter();
        if rows <= f64::from(kernel.max_rows) {
            let read = bytes / (kernel.bandwidth_efficiency * self.card_bandwidth);
            let work = 2.0 * self.linear * rows / (kernel.dense_efficiency * self.card_flops);
            overlapped(read, work)
        } else {
            let written = bytes + 2.0 * self.linear;
            let dequantise = written / (kernel.dequantise_efficiency * self.card_bandwidth);
            dequantise + self.dense(self.linear, rows)
        }
    }

    fn awq(&self, kernel: &AwqKernel, rows: f64) -> f64 {
        let tile = f64::from(kernel.tile_rows);
        let padded = (rows / tile).ceil() * tile;
        let bytes = self.linear * Weights::Awq.bytes_per_parameter();
        overlapped(
            bytes / (kernel.bandwidth_efficiency * self.card_bandwidth),
            2.0 * self.linear * padded / (kernel.dense_efficiency * self.card_flops),
        )
    }
}
