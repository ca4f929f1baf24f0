//! The first requests of a closed loop, if they wait for each other's prompts.

use super::contribution::{COSINES, Contribution, variance};
use super::course::{Layout, fewest_stays};
use super::sent::SentRequest;

/// With fewer steps, the first wave of a closed loop does not show how the times of its prompts vary.
const FEWEST_STEPS: usize = 8;

/// The first requests of a closed loop. They are sent at the same time to an idle server. The server processes their
/// prompts in order, several in each step. A request waits until the end of the step that has its prompt. So the wait
/// grows from request to request by design. Only the times of prompts and steps vary by chance.
pub(super) struct Wave {
    /// For each step: the number of its prompts, and the number of requests that waited for it.
    steps: Vec<(usize, usize)>,
    /// How the time of a prompt varies, and how the time of a step varies. A server that limits the tokens of a step
    /// cuts prompts, so that steps are alike, whatever the number of prompts that end in them.
    of_prompt: Spread,
    of_step: Spread,
    pub degrees: usize,
    values: Vec<f64>,
    largest: f64,
}

/// The mean and the variance of a time.
#[derive(Clone, Copy)]
struct Spread {
    mean: f64,
    variance: f64,
}

impl Wave {
    /// Finds the first wave of a series in its three parts: while the server filled up, in the steady state, and while the
    /// server emptied. `None` if its values are not those of prompts that were processed in order.
    pub(super) fn of(
        (first, middle, _): &(&[Contribution], &[Contribution], &[Contribution]),
        layout: &Layout,
    ) -> Option<Self> {
        let values: Vec<f64> = first.iter().map(|part| part.total).collect();
        let rising = values.windows(2).filter(|pair| pair[1] >= pair[0]).count();
        let is_served_in_order = values.len() > 3
            && layout.begins_at_once
            && values[values.len() - 1] > 0.0
            && first.iter().all(|part| part.weight == 1.0)
            && rising as f64 > 0.9 * (values.len() - 1) as f64;
        if !is_served_in_order {
            return None;
        }
        let mut ends: Vec<(f64, usize)> = Vec::new();
        for &value in &values {
            match ends.last_mut() {
                // Values that differ by at most one percent come from the same step.
                Some((end, prompts)) if value <= *end * 1.01 => *prompts += 1,
                _ => ends.push((value, 1)),
            }
        }
        let (n, count) = (values.len(), ends.len());
        let largest = ends[count - 1].0;
        let mean = largest / n as f64;
        let (mut before, mut served) = (0.0, 0);
        let (mut squares, mut steps, mut times) = (0.0, Vec::new(), Vec::new());
        for (end, prompts) in ends {
            times.push(end - before);
            let each = (end - before) / prompts as f64;
            squares += prompts as f64 * (each - mean).powi(2);
            steps.push((prompts, n - served));
            (before, served) = (end, served + prompts);
        }
        let of_step = Spread { mean: largest / count as f64, variance: variance(&times[1..]) };
        let (of_prompt, degrees) = if count >= FEWEST_STEPS {
            (squares / (count - 1) as f64, count - 1)
        } else {
            // The time of a prompt varies by the same share as the values in the middle of the pass.
            let alone: Vec<f64> = middle.iter().map(|part| part.total).collect();
            let of_alone = alone.iter().sum::<f64>() / alone.len() as f64;
            (mean * mean * variance(&alone) / (of_alone * of_alone), COSINES)
        };
        let of_prompt = Spread { mean, variance: of_prompt };
        Some(Self { steps, of_prompt, of_step, degrees, values, largest })
    }

    /// The number of requests that were sent while prompts of the wave still waited, if enough others are in the steady
    /// state. The values of a wave are times in milliseconds.
    pub(super) fn behind(&self, layout: &Layout) -> usize {
        let Layout { sent, edge, .. } = layout;
        let waits_s = self.largest / 1e3;
        // The values are not waits, but whole stays.
        if edge.checked_sub(1).is_none_or(|last| sent[last].stay_s() <= 1.01 * waits_s) {
            return 0;
        }
        let has_waited = |it: &SentRequest| it.send.seconds_after(sent[0].send) < waits_s;
        let behind = sent.partition_point(has_waited).saturating_sub(*edge);
        let steady = sent.len().saturating_sub(2 * edge + behind);
        if steady < fewest_stays(layout.is_in_groups) * edge { 0 } else { behind }
    }

    /// The variance of the sum of the wave's values. The time of a prompt, or of a step, counts once for each request
    /// that waits for it.
    pub(super) fn variance_of_sum(&self) -> f64 {
        let waits = |prompts: usize, waiting: usize| prompts as f64 * (waiting as f64).powi(2);
        let of_prompts: f64 =
            self.steps.iter().map(|&(prompts, waiting)| waits(prompts, waiting)).sum();
        let by_prompts = self.of_prompt.variance * of_prompts;
        if !self.has_steps() {
            return by_prompts;
        }
        let of_steps: f64 = self.steps.iter().map(|&(_, waiting)| waits(1, waiting)).sum();
        by_prompts.min(self.of_step.variance * of_steps)
    }

    /// The variance of the number of values in the wave that are not above `value` (renewal theory: Cox, Renewal
    /// Theory, 1962). `None` if the wave has too few steps.
    pub(super) fn variance_of_count(&self, value: f64) -> Option<f64> {
        if !(self.values[0]..=self.largest).contains(&value) {
            return Some(0.0);
        }
        let of = |each: Spread| value / each.mean * each.variance / each.mean.powi(2);
        let prompts_of_step = self.values.len() as f64 / self.steps.len() as f64;
        let by_steps = of(self.of_step) * prompts_of_step.powi(2);
        self.has_steps().then(|| of(self.of_prompt).min(by_steps))
    }

    /// The number of values in the wave above `value`, if they are at least this share of the wave.
    pub(super) fn most_above(&self, value: f64, share: f64) -> Option<usize> {
        let above = self.values.iter().filter(|of| **of > value).count();
        (above as f64 >= share * self.values.len() as f64).then_some(above)
    }

    fn has_steps(&self) -> bool {
        self.steps.len() >= FEWEST_STEPS
    }
}
