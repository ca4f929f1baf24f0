//! The state of the noise from step to step: its random numbers, and their effect on the time of a step.

use std::time::Duration;

use inferometer_model::stats::portable;
use inferometer_model::stats::seed::{normal, rng, unit};
use rand_chacha::ChaCha8Rng;

use super::{Drift, Noise};

/// The state of an engine's noise. An engine that continues the work of another engine also continues its noise state.
#[derive(Clone, Debug)]
pub struct NoiseState {
    noise: Noise,
    /// Separate random streams, so that one kind of noise does not change the random numbers of another.
    steps: ChaCha8Rng,
    drifts: ChaCha8Rng,
    bursts: ChaCha8Rng,
    pauses: ChaCha8Rng,
    /// The logarithm of the drift, in units of its standard deviation.
    drift: f64,
    /// The duration of the previous step. At the start of the next step, the drift advances by this time.
    last_ns: u64,
    /// The total time of work so far, including pauses.
    busy_ns: u64,
    /// The value of `busy_ns` at which the next pause begins.
    pause_at_ns: f64,
}

impl NoiseState {
    /// The noise at the start of an engine.
    pub fn new(noise: Noise) -> Self {
        let stream = |kind| rng(noise.seed.unwrap_or(0), &["engine noise", kind]);
        let (mut drifts, mut pauses) = (stream("drift"), stream("pause"));
        let pause_at_ns = noise.pause.map_or(f64::INFINITY, |it| wait_ns(it.every, &mut pauses));
        Self {
            noise,
            steps: stream("step"),
            drift: normal(&mut drifts),
            drifts,
            bursts: stream("burst"),
            pauses,
            last_ns: 0,
            busy_ns: 0,
            pause_at_ns,
        }
    }

    /// Returns the duration of the next step, whose computed duration is `cost`.
    pub fn step(&mut self, cost: Duration) -> Duration {
        let Noise { step, drift, warmup, burst, .. } = self.noise;
        let mut factor = 1.0;
        if let Some(sd) = step {
            factor *= log_normal(sd, normal(&mut self.steps));
        }
        if let Some(Drift { sd, time }) = drift {
            let kept = portable::exp(-(self.last_ns as f64) / time.as_nanos() as f64);
            let drawn = normal(&mut self.drifts);
            self.drift = kept * self.drift + (1.0 - kept * kept).sqrt() * drawn;
            // Slow periods contain fewer steps, which lowers the mean over all steps. The last term raises it to 1.
            factor *= log_normal(sd, self.drift) * portable::exp(sd * sd);
        }
        if let Some(warmup) = warmup {
            let left = 1.0 - self.busy_ns as f64 / warmup.time.as_nanos() as f64;
            factor *= 1.0 + warmup.share * left.max(0.0);
        }
        if let Some(burst) = burst
            && unit(&mut self.bursts) < burst.probability
        {
            factor *= burst.factor;
        }
        let worked_ns = (cost.as_nanos() as f64 * factor).round() as u64;
        self.last_ns = worked_ns.saturating_add(self.paused_ns(worked_ns));
        self.busy_ns = self.busy_ns.saturating_add(self.last_ns);
        Duration::from_nanos(self.last_ns)
    }

    /// The total length of the pauses in the next `worked_ns` of work.
    fn paused_ns(&mut self, worked_ns: u64) -> u64 {
        let Some(pause) = self.noise.pause else { return 0 };
        let length_ns = pause.length.as_nanos() as u64;
        let mut paused_ns = 0;
        while self.pause_at_ns < self.busy_ns as f64 + worked_ns as f64 + paused_ns as f64 {
            paused_ns = u64::saturating_add(paused_ns, length_ns);
            self.pause_at_ns += length_ns as f64 + wait_ns(pause.every, &mut self.pauses);
        }
        paused_ns
    }
}

/// A log-normal factor with mean 1, from a standard normal number.
fn log_normal(sd: f64, normal: f64) -> f64 {
    portable::exp(sd * normal - 0.5 * sd * sd)
}

/// An exponentially distributed time with this mean, in nanoseconds.
fn wait_ns(mean: Duration, rng: &mut ChaCha8Rng) -> f64 {
    -portable::ln(1.0 - unit(rng)) * mean.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Duration = Duration::from_millis(10);

    /// The times of steps that cost 10 ms each, relative to that cost.
    fn factors(text: &str, steps: usize) -> Vec<f64> {
        let mut state = NoiseState::new(Noise::parse(text).unwrap());
        (0..steps).map(|_| state.step(COST).as_secs_f64() / 0.01).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn logarithms(values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| value.ln()).collect()
    }

    /// The variance of the values, and the correlation of values that are `apart` steps apart.
    fn spread(values: &[f64], apart: usize) -> (f64, f64) {
        let mean = mean(values);
        let product = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
            let products: Vec<f64> = pairs.map(|(a, b)| (a - mean) * (b - mean)).collect();
            products.iter().sum::<f64>() / products.len() as f64
        };
        let variance = product(&mut values.iter().map(|&value| (value, value)));
        let both = &mut values.iter().zip(&values[apart..]).map(|(&a, &b)| (a, b));
        (variance, product(both) / variance)
    }

    #[test]
    fn step_noise_is_log_normal_with_mean_1_and_independent_between_steps() {
        let factors = factors("step=0.2,seed=1", 200_000);
        // The mean of this many factors has a standard deviation of 0.05 %.
        assert!((mean(&factors) - 1.0).abs() < 0.002, "{}", mean(&factors));
        let logarithms = logarithms(&factors);
        let (variance, correlation) = spread(&logarithms, 1);
        assert!((variance.sqrt() / 0.2 - 1.0).abs() < 0.01, "{variance}");
        assert!(correlation.abs() < 0.01, "{correlation}");
        assert!((mean(&logarithms) + 0.02).abs() < 0.002, "half of the variance below 0");
    }

    #[test]
    fn drift_has_the_given_standard_deviation_and_correlation_time() {
        // With steps of 10 ms and a drift time of 1 s, the correlations are exp(-1/100), exp(-1) and exp(-3).
        let factors = factors("drift=0.1:1s,seed=2", 2_000_000);
        assert!((mean(&factors) - 1.0).abs() < 0.005, "{}", mean(&factors));
        let logarithms = logarithms(&factors);
        for (apart, expected) in [(1, 0.990), (100, 0.368), (300, 0.050)] {
            let (variance, correlation) = spread(&logarithms, apart);
            assert!((variance.sqrt() / 0.1 - 1.0).abs() < 0.03, "{variance}");
            assert!((correlation - expected).abs() < 0.03, "{apart}: {correlation}");
        }
    }

    #[test]
    fn drift_starts_at_a_random_value_of_its_distribution() {
        let begins: Vec<f64> = (0..2_000)
            .map(|seed| factors(&format!("drift=0.1:1h,seed={seed}"), 1)[0].ln())
            .collect();
        let (variance, _) = spread(&begins, 1);
        assert!((variance.sqrt() / 0.1 - 1.0).abs() < 0.08, "{variance}");
    }

    #[test]
    fn warm_up_noise_decreases_linearly_to_zero() {
        let factors = factors("warmup=0.5:1s", 200);
        assert_eq!(factors[0], 1.5);
        // The second step begins after 15 ms of the warm-up of 1 s.
        assert!((factors[1] - (1.0 + 0.5 * 0.985)).abs() < 1e-6, "{}", factors[1]);
        assert!(factors.is_sorted_by(|a, b| a >= b));
        let slower_s: f64 = factors.iter().take_while(|&&it| it > 1.0).sum::<f64>() * 0.01;
        assert!((slower_s - 1.0).abs() < 0.02, "{slower_s}");
        assert_eq!(factors[199], 1.0);
    }

    #[test]
    fn bursts_slow_down_the_given_share_of_steps() {
        let factors = factors("burst=0.01:5,seed=3", 100_000);
        let slow = factors.iter().filter(|&&factor| factor == 5.0).count();
        assert!((900..1100).contains(&slow), "{slow}");
        assert!(factors.iter().all(|&factor| factor == 1.0 || factor == 5.0));
    }

    #[test]
    fn pauses_have_the_given_mean_distance() {
        let factors = factors("pause=20ms:1s,seed=4", 100_000);
        let paused = factors.iter().map(|factor| factor - 1.0).sum::<f64>() / 2.0;
        // 1,000 s of work contain about 1,000 pauses, with a standard deviation of 32 pauses.
        assert!((paused - 1_000.0).abs() < 130.0, "{paused}");
        assert!(factors.iter().all(|factor| (factor - 1.0) % 2.0 < 1e-9));
    }

    #[test]
    fn a_seed_determines_the_noise_and_kinds_of_noise_do_not_affect_each_other() {
        assert_eq!(factors("step=0.1,seed=5", 50), factors("step=0.1,seed=5", 50));
        assert_ne!(factors("step=0.1,seed=5", 50), factors("step=0.1,seed=6", 50));
        let alone = factors("step=0.1,seed=5", 50);
        let both = factors("step=0.1,burst=1:2,seed=5", 50);
        let near = |(a, b): (&f64, &f64)| (2.0 * a - b).abs() < 1e-6;
        assert!(alone.iter().zip(&both).all(near), "{alone:?} {both:?}");
    }
}
