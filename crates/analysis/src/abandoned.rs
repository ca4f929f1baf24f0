//! Clients that left before their answer was complete: what they had received, what the server did for them, how long
//! their requests stayed in it, and what others noticed.
//!
//! How long a request stays is estimated from samples of the server's running and waiting requests. In each sample, the
//! server has as many requests as the client has in flight, those that have left but are still there, and a constant
//! (requests on their way, other clients). The time is the one with the least squares of what remains. Its interval has
//! all times whose likelihood ratio is below the 95 % point of Hansen, Sample splitting and threshold estimation
//! (Econometrica 68, 2000), table 1.

use std::time::Duration;

use inferometer_model::metrics::{PassData, ttft};
use inferometer_model::sample::Quantity;
use inferometer_model::{
    Finding, Nanos, Observed, Outcome, Phase, Timeline, code, stats::VALUES_KEPT,
};
use serde::{Deserialize, Serialize};

use crate::jobs::{Quantiles, quantiles};
use crate::observed::ServerMetrics;

/// Others that are sent within this time after a client has left count as near.
const NEAR: Duration = Duration::from_secs(1);
/// The longest stay that is looked for.
const LONGEST_STAY: Duration = Duration::from_secs(120);
/// The fewest clients that left, and samples, from which a stay is estimated.
const FEWEST: usize = 5;
/// The 95 % point of the likelihood ratio.
const CRITICAL: f64 = 7.35;
/// A server goes on for a client that left if the request surely stays longer than this, in seconds.
const LONG_STAY_S: f64 = 0.5;

/// The requests of a pass whose clients left (`--abandon`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AbandonedSummary {
    /// Requests that were sent and whose clients left.
    pub left: u64,
    /// Those of them that had not received a token.
    pub before_first_token: u64,
    /// Requests that were never begun because they wait for one of these.
    pub never_sent: u64,
    /// Output tokens that these clients had received: wasted, as no answer came of them.
    pub received_tokens: u64,
    /// Output tokens that the server generated for nobody: by its counter, without those that clients received. Absent
    /// if it has no counter, and if answers were not counted by the server or other requests failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreceived_tokens: Option<f64>,
    /// How long such a request stayed in the server after its client had left; absent if samples of the server's metrics
    /// do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stay: Option<Stay>,
    /// The share of the KV memory in use before the pass and after it; absent if the server does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv_use: Option<[f64; 2]>,
    /// TTFT in milliseconds of completed requests that were sent within 1 s after a client had left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_near_ms: Option<Quantiles>,
    /// TTFT in milliseconds of the other completed requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_others_ms: Option<Quantiles>,
}

/// How long a request stayed in the server after its client had left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stay {
    /// The best estimate in seconds.
    pub seconds: f64,
    /// Its 95 % interval.
    pub ci: [f64; 2],
    /// The number of samples of the server's metrics.
    pub samples: u64,
}

/// Collects the requests of a pass whose clients leave.
#[derive(Clone, Debug, Default)]
pub(crate) struct AbandonedFold {
    summary: AbandonedSummary,
    /// When clients left, as far as values are kept.
    leaves: Vec<Nanos>,
    /// When each completed request was sent, and its TTFT; as far as values are kept.
    others: Vec<(Nanos, f64)>,
}

/// What the other figures of the pass say.
pub(crate) struct OfPass<'a> {
    pub observed: &'a Observed,
    /// The changes of the client's number in flight.
    pub steps: Vec<(Nanos, u64)>,
    /// Output tokens of all requests by the server's counter, and those of completed requests, if they can be compared.
    pub tokens: Option<(f64, u64)>,
}

impl<'a> OfPass<'a> {
    /// `server` has the server's metrics, if its count of tokens can be compared with that of the client.
    pub fn new(data: &PassData, observed: &'a Observed, server: Option<&ServerMetrics>) -> Self {
        let tokens =
            server.and_then(|server| server.generation_tokens).zip(Some(data.output_tokens));
        Self { observed, steps: data.in_flight.steps(), tokens }
    }
}

impl AbandonedFold {
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        match (record.outcome, record.ended) {
            (Outcome::Abandoned { phase: Phase::Connect }, _) => self.summary.never_sent += 1,
            (Outcome::Abandoned { phase }, Some(ended)) => {
                self.summary.left += 1;
                self.summary.before_first_token += u64::from(phase != Phase::BetweenEvents);
                self.summary.received_tokens += u64::from(timeline.counted.0);
                if self.leaves.len() < VALUES_KEPT {
                    self.leaves.push(ended);
                }
            }
            (Outcome::Complete, _) if self.others.len() < VALUES_KEPT => {
                let ttft = ttft::from_sent(timeline);
                self.others.extend(record.send_start.zip(ttft));
            }
            _ => {}
        }
    }

    /// The figures; `None` if no client left.
    pub fn finish(mut self, of_pass: &OfPass<'_>) -> Option<AbandonedSummary> {
        if self.summary.left == 0 {
            return None;
        }
        self.leaves.sort_unstable();
        let (mut near, mut others) = (Vec::new(), Vec::new());
        for (sent, ttft) in &self.others {
            let earlier = self.leaves.partition_point(|left| left <= sent);
            let last = earlier.checked_sub(1).map(|last| self.leaves[last]);
            let is_near = last.is_some_and(|left| sent.since(left) < NEAR);
            if is_near { near.push(*ttft) } else { others.push(*ttft) }
        }
        near.sort_unstable_by(f64::total_cmp);
        others.sort_unstable_by(f64::total_cmp);
        let kv_use = |sample: Option<&inferometer_model::sample::Sample>| {
            sample?.server.as_ref()?.values.get(&Quantity::KvUse).copied()
        };
        let samples = &of_pass.observed.samples;
        let unreceived = |(counted, received): (f64, u64)| {
            (counted - received as f64 - self.summary.received_tokens as f64).max(0.0)
        };
        Some(AbandonedSummary {
            unreceived_tokens: of_pass.tokens.map(unreceived),
            stay: stay(&self.leaves, of_pass),
            kv_use: kv_use(samples.first()).zip(kv_use(samples.last())).map(<[f64; 2]>::from),
            ttft_near_ms: quantiles(&near),
            ttft_others_ms: quantiles(&others),
            ..self.summary
        })
    }
}

/// The stay of requests whose clients left at these instants, in order.
fn stay(leaves: &[Nanos], of_pass: &OfPass<'_>) -> Option<Stay> {
    let begin = of_pass.steps.first()?.0;
    let mut took_us = 0;
    let mut rest: Vec<f64> = Vec::new();
    // The ages of those that have left, by sample.
    let mut ages: Vec<(Duration, usize)> = Vec::new();
    for sample in of_pass.observed.samples.iter().filter(|sample| sample.at >= begin) {
        let Some(said) = &sample.server else { continue };
        let value = |quantity| said.values.get(&quantity).copied();
        let in_server = value(Quantity::Running)? + value(Quantity::Waiting).unwrap_or(0.0);
        let passed = of_pass.steps.partition_point(|step| step.0 <= sample.at);
        let in_flight = passed.checked_sub(1).map_or(0, |at| of_pass.steps[at].1);
        let earlier = &leaves[..leaves.partition_point(|left| *left <= sample.at)];
        let of_sample = earlier.iter().rev().map(|left| sample.at.since(*left));
        let of_sample = of_sample.take_while(|age| *age <= LONGEST_STAY);
        ages.extend(of_sample.map(|age| (age, rest.len())));
        rest.push(in_server - in_flight as f64);
        took_us += sample.took_us;
    }
    let count = rest.len() as f64;
    if rest.len() < FEWEST || leaves.len() < FEWEST {
        return None;
    }
    ages.sort_unstable();
    let (mut sum, mut squares) = (rest.iter().sum::<f64>(), rest.iter().map(|it| it * it).sum());
    let spread = |sum: f64, squares: f64| (squares - sum * sum / count).max(0.0);
    // A stay between two neighbouring ages takes those with a smaller age for requests that are still there.
    let mut pieces = vec![(Duration::ZERO, spread(sum, squares))];
    for (age, sample) in &ages {
        squares += 1.0 - 2.0 * rest[*sample];
        rest[*sample] -= 1.0;
        sum -= 1.0;
        pieces.push((*age, spread(sum, squares)));
    }
    let end = |piece: usize| pieces.get(piece + 1).map(|next| next.0.as_secs_f64());
    let best = (0..pieces.len()).min_by(|a, b| pieces[*a].1.total_cmp(&pieces[*b].1))?;
    let least = pieces[best].1;
    let limit = least + CRITICAL * least / (count - 2.0) + 1e-6;
    let mut within = (0..pieces.len()).filter(|piece| pieces[*piece].1 <= limit);
    let (first, last) = (within.next()?, within.next_back().unwrap_or(best).max(best));
    // A read of the metrics says what the server had at some instant while it took place.
    let read_s = took_us as f64 * 1e-6 / count;
    let lower = (pieces[first].0.as_secs_f64() - read_s).max(0.0);
    let seconds = f64::midpoint(pieces[best].0.as_secs_f64(), end(best)?);
    Some(Stay { seconds, ci: [lower, end(last)?], samples: rest.len() as u64 })
}

/// The findings on clients that left.
pub fn abandoned_findings(summary: Option<&AbandonedSummary>) -> Vec<Finding> {
    let Some(found) = summary else { return Vec::new() };
    let mut told = format!(
        "{} clients left before their answer was complete, {} of them before the first token; {} output tokens had reached \
         them.",
        found.left, found.before_first_token, found.received_tokens
    );
    if found.never_sent > 0 {
        told += &format!(" {} requests that wait for theirs were not sent.", found.never_sent);
    }
    if let Some(tokens) = found.unreceived_tokens {
        told += &format!(" The server generated {tokens:.0} more tokens for nobody.");
    }
    if let Some(Stay { seconds, ci: [least, most], .. }) = found.stay {
        told += &format!(
            " A request stayed in the server for {seconds:.2} s after its client had left ({least:.2} to {most:.2})."
        );
    }
    if let Some((near, others)) = found.ttft_near_ms.zip(found.ttft_others_ms) {
        told += &format!(
            " TTFT p50 of the {} requests sent within 1 s after that: {:.1} ms, of the {} others: {:.1} ms.",
            near.n, near.p50, others.n, others.p50
        );
    }
    let mut findings = vec![Finding::of(code::CLIENTS_LEFT, told)];
    if let Some(stay) = found.stay.filter(|stay| stay.ci[0] > LONG_STAY_S) {
        let message = format!(
            "The server goes on with requests whose clients have left, for {:.2} to {:.2} s.",
            stay.ci[0], stay.ci[1]
        );
        findings.push(Finding::of(code::SERVER_GOES_ON, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::sample::{Sample, ServerSample};
    use inferometer_model::stats::seed;

    /// A server with requests at a rate of 10/s that stay 0.5 s; every fifth client leaves, and its request stays longer
    /// by `stay_s`. A sample every 0.25 s; `blur` requests are on their way, on average.
    fn found(number: u64, stay_s: f64, blur: f64) -> Option<Stay> {
        let mut rng = seed::rng(number, &["leavers"]);
        let at = |seconds: f64| Nanos((seconds * 1e9) as u64 + 1_000_000_000);
        let (mut spans, mut leaves) = (Vec::new(), Vec::new());
        let mut now = 0.0;
        for index in 0..400 {
            now -= (1.0 - seed::unit(&mut rng)).ln() / 10.0;
            let leaves_it = index % 5 == 0;
            spans.push((now, now + 0.5, now + 0.5 + if leaves_it { stay_s } else { 0.0 }));
            leaves.extend(leaves_it.then(|| at(now + 0.5)));
        }
        let mut changes: Vec<(Nanos, i64)> = Vec::new();
        for (from, to, _) in &spans {
            changes.extend([(at(*from), 1), (at(*to), -1)]);
        }
        changes.sort_unstable();
        let mut level = 0;
        let steps = changes.into_iter().map(|(at, by)| {
            level += by;
            (at, level as u64)
        });
        let steps: Vec<(Nanos, u64)> = steps.collect();
        let samples = (0..160).map(|sample| {
            let when = f64::from(sample) * 0.25 + 0.1 * seed::unit(&mut rng);
            let there =
                spans.iter().filter(|(from, _, gone)| *from <= when && when < *gone).count();
            let late = (blur * 2.0 * seed::unit(&mut rng)).round();
            let values = [(Quantity::Running, there as f64 - late)].into();
            let server = Some(ServerSample { values, ..ServerSample::default() });
            Sample { at: at(when), server, ..Sample::default() }
        });
        let observed = Observed { samples: samples.collect(), ..Observed::default() };
        stay(&leaves, &OfPass { observed: &observed, steps, tokens: None })
    }

    #[test]
    fn the_planted_stay_is_in_its_interval_in_at_least_95_of_100_passes() {
        for (stay_s, blur) in [(0.0, 0.0), (0.3, 0.0), (0.3, 0.6), (1.7, 0.6)] {
            let stays: Vec<Stay> =
                (0..100).map(|number| found(number, stay_s, blur).expect("a stay")).collect();
            let inside = |stay: &&Stay| stay.ci[0] <= stay_s && stay_s <= stay.ci[1];
            let count = stays.iter().filter(inside).count();
            assert!(count >= 95, "{stay_s} {blur}: {count}");
            let width = stays.iter().map(|stay| stay.ci[1] - stay.ci[0]).sum::<f64>() / 100.0;
            assert!(width < 0.12, "{stay_s} {blur}: {width}");
        }
    }
}
