//! The published serving run of SUS-Chat-34B, to which no constant is fitted: 1,000 ShareGPT requests that arrive at 32
//! requests/s. The engine can serve only a much lower rate. The data set is not included. The lengths are generated
//! from the known properties of the data set.

use inferometer_model::{Bound, Nanos, PassPlan, load_model};

use crate::{Engine, EngineConfig, EngineError, Lengths, simulate};

const REQUESTS: u32 = 1000;
const RATE_PER_S: f64 = 32.0;
/// Mean output tokens: the published tokens/s x total time / requests.
const MEAN_OUTPUT: f64 = 218.8;
/// Mean prompt tokens. The published page does not state this value. It is the mean that the benchmark script gives for
/// the same data set with the same filter, with Llama's tokenizer.
const MEAN_PROMPT: f64 = 215.0;
/// Standard deviations of the logarithms of the lengths. They are chosen so that the simulated latencies per token and
/// per output token agree with the published page. Short requests dominate these two means.
const PROMPT_SIGMA: f64 = 0.95;
const OUTPUT_SIGMA: f64 = 1.5;
/// The limits of the script's filter: prompts of 4 to 1,024 tokens, and at most 2,048 tokens with the output.
/// Outputs are limited to 1,024 tokens too, because few outputs of the data set are longer.
const PROMPT_RANGE: (f64, f64) = (4.0, 1024.0);
const OUTPUT_RANGE: (f64, f64) = (4.0, 1024.0);
const TOTAL_MOST: u32 = 2048;

/// The figures of the run, as the benchmark script defines them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServingFigures {
    /// The time from the sending of the first request to the end of the last request, in seconds.
    pub total_s: f64,
    /// Output tokens per second.
    pub output_tokens_per_s: f64,
    /// Mean latency, in seconds.
    pub latency_s: f64,
    /// Mean of latency / (prompt + output), in seconds.
    pub latency_per_token_s: f64,
    /// Mean of latency / output, in seconds.
    pub latency_per_output_token_s: f64,
}

/// The figures that the published page of SUS-Chat-34B states.
pub const PUBLISHED: ServingFigures = ServingFigures {
    total_s: 842.46,
    output_tokens_per_s: 259.717,
    latency_s: 429.69,
    latency_per_token_s: 1.67,
    latency_per_output_token_s: 8.67,
};

/// Simulates the run.
///
/// # Errors
/// If the engine cannot start with the configuration.
pub fn serving_run(config: &EngineConfig) -> Result<ServingFigures, EngineError> {
    let mut engine = Engine::new(config.clone())?;
    let pass = PassPlan::open(RATE_PER_S, Bound::requests(REQUESTS));
    let found = simulate(&mut engine, &mut *load_model(&pass, 0), &mut lengths().into_iter());
    let end = found.iter().map(|record| record.ended).max().unwrap_or(Nanos::ZERO);
    let begin = found.iter().map(|record| record.sent).min().unwrap_or(Nanos::ZERO);
    let total_s = end.seconds_after(begin);
    let tokens: f64 = found.iter().map(|record| f64::from(record.output)).sum();
    let mean = |per: fn(u32, u32) -> u32| {
        let shares = found.iter().map(|record| {
            record.ended.seconds_after(record.sent) / f64::from(per(record.prompt, record.output))
        });
        shares.sum::<f64>() / found.len() as f64
    };
    Ok(ServingFigures {
        total_s,
        output_tokens_per_s: tokens / total_s,
        latency_s: mean(|_, _| 1),
        latency_per_token_s: mean(|prompt, output| prompt + output),
        latency_per_output_token_s: mean(|_, output| output),
    })
}

/// Returns the lengths of the requests. The prompt length of a request and its output length are not correlated.
fn lengths() -> Vec<Lengths> {
    let prompts = log_normal(MEAN_PROMPT, PROMPT_SIGMA, PROMPT_RANGE);
    let outputs = log_normal(MEAN_OUTPUT, OUTPUT_SIGMA, OUTPUT_RANGE);
    // If `step` and `REQUESTS` have no common divisor except 1, every index occurs once.
    let place = |at: u32, step: u32| ((at * step) % REQUESTS) as usize;
    let of = |at: u32| {
        let prompt = prompts[place(at, 617)];
        Lengths::from((prompt, outputs[place(at, 379)].min(TOTAL_MOST - prompt)))
    };
    (0..REQUESTS).map(of).collect()
}

/// Returns quantiles of a log-normal distribution, limited to a range. The mean of the quantiles is `mean`.
fn log_normal(mean: f64, sigma: f64, (least, most): (f64, f64)) -> Vec<u32> {
    let quantiles = |location: f64| -> Vec<u32> {
        let at = |at: u32| (f64::from(at) + 0.5) / f64::from(REQUESTS);
        let length = |at| (location + sigma * normal_quantile(at)).exp().clamp(least, most);
        (0..REQUESTS).map(|place| length(at(place)).round() as u32).collect()
    };
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        let sum: u32 = quantiles(middle).iter().sum();
        if f64::from(sum) / f64::from(REQUESTS) < mean { low = middle } else { high = middle }
    }
    quantiles(high)
}

/// The quantile of the normal distribution, approximated by Tukey's lambda distribution. The error is below 0.05 for
/// the smallest and the largest share that are used, and below 0.012 for all others.
fn normal_quantile(share: f64) -> f64 {
    (share.powf(0.135) - (1.0 - share).powf(0.135)) / 0.1975
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_lengths_have_the_known_means_and_obey_the_length_filter() {
        let lengths = lengths();
        let mean = |length: fn(&Lengths) -> u32| {
            lengths.iter().map(|l| f64::from(length(l))).sum::<f64>() / f64::from(REQUESTS)
        };
        assert!((mean(|l| l.prompt) - MEAN_PROMPT).abs() < 1.0);
        assert!((mean(|l| l.max_tokens) - MEAN_OUTPUT).abs() < 2.0);
        assert!(lengths.iter().all(|l| l.prompt >= 4 && l.prompt + l.max_tokens <= TOTAL_MOST));
    }
}
