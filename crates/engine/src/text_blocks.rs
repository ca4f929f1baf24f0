//! The load of a text-block log ([`crate::fit::MeasuredBlock`]): a closed loop over requests with equal prompt lengths.
//! The model ends the outputs. This file reads no log.

use inferometer_model::{Bound, Nanos, PassPlan, load_model};

use crate::{Engine, EngineConfig, EngineError, Lengths, output_lengths, simulate};

/// The load of one closed loop of a log. The log states only the mean output length, so the distribution of the lengths
/// ([`output_lengths`]) is an assumption.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedLoopLoad {
    /// The tokens of each prompt.
    pub prompt: u32,
    /// The mean output tokens.
    pub mean_output: f64,
    /// The number of requests in flight at any time.
    pub in_flight: u32,
    /// The number of requests, all of which complete.
    pub completed: u32,
}

impl ClosedLoopLoad {
    /// The lengths of the requests in order, for an engine with this limit of tokens per sequence.
    pub fn lengths(&self, max_model_len: u32) -> impl Iterator<Item = Lengths> + use<> {
        let prompt = self.prompt;
        let max_tokens = max_model_len.saturating_sub(prompt).max(1);
        let outputs = output_lengths(self.mean_output, max_tokens, self.completed);
        outputs.into_iter().map(move |ends_after| Lengths { prompt, max_tokens, ends_after })
    }

    /// The load model.
    pub fn pass(&self) -> PassPlan {
        PassPlan::closed(self.in_flight, Bound::requests(self.completed))
    }

    /// Simulates the load and returns output tokens per second, from the start of the load to the end of the last
    /// request.
    ///
    /// # Errors
    /// If the engine would refuse to start with this configuration.
    pub fn output_tokens_per_s(&self, config: &EngineConfig) -> Result<f64, EngineError> {
        let mut engine = Engine::new(config.clone())?;
        let mut source = self.lengths(engine.config().limits.max_model_len);
        let found = simulate(&mut engine, &mut *load_model(&self.pass(), 0), &mut source);
        let end = found.iter().map(|record| record.ended).max().unwrap_or(Nanos::ZERO);
        let tokens: u64 = found.iter().map(|record| u64::from(record.output)).sum();
        Ok(tokens as f64 / end.seconds_after(Nanos::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_rises_with_concurrency_and_falls_with_longer_prompts() {
        let config = EngineConfig::of_model("sus-chat-34b").unwrap();
        let block =
            ClosedLoopLoad { prompt: 600, mean_output: 200.0, in_flight: 8, completed: 100 };
        let speed = |block: ClosedLoopLoad| block.output_tokens_per_s(&config).unwrap();
        assert!(speed(ClosedLoopLoad { in_flight: 16, ..block }) > 1.1 * speed(block));
        assert!(speed(ClosedLoopLoad { prompt: 1200, ..block }) < 0.9 * speed(block));
    }

    #[test]
    fn generated_output_lengths_have_the_mean_that_the_log_states() {
        let block =
            ClosedLoopLoad { prompt: 600, mean_output: 200.0, in_flight: 8, completed: 100 };
        let lengths: Vec<Lengths> = block.lengths(8192).collect();
        let mean = lengths.iter().map(|l| f64::from(l.ends_after)).sum::<f64>() / 100.0;
        assert_eq!(lengths.len(), 100);
        assert!((mean / 200.0 - 1.0).abs() < 0.01, "{mean}");
    }
}
