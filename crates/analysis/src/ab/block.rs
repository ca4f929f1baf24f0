//! Computes the figures of one block from its records.

use inferometer_model::{ClosedPlan, Nanos, Outcome, PassPlan, Timeline, metrics::throughput};
use inferometer_plan::ab::{AbFigure, AbPlan};

use crate::{PassFold, PassSummary, judge::measure};

/// A measured block.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The number of the pair, from 1.
    pub pair: u32,
    /// When the first request of the block was sent, on the clock of the run.
    pub started: Nanos,
    /// When the last request of the block ended, on the same clock.
    pub ended: Nanos,
    /// The number of planned requests.
    pub requests: u64,
    /// The number of completed requests.
    pub complete: u64,
    /// The values of the figures of the plan, in the order of the plan. A value is absent if the records lack the
    /// figure, or if the value is not finite and above zero.
    pub values: Vec<Option<f64>>,
}

impl Block {
    /// The duration of the block in seconds.
    pub fn seconds(&self) -> f64 {
        self.ended.seconds_after(self.started)
    }
}

/// Collects the records of a block, in any order.
pub struct BlockFold {
    pair: u32,
    figures: Vec<AbFigure>,
    uncounted: u32,
    /// The constant number of requests in flight; absent for loads that do not fix this number.
    in_flight: Option<usize>,
    /// The requests whose latencies count.
    counted: PassFold,
    sent: Vec<BlockRequest>,
    requests: u64,
    planned: Option<u32>,
    /// Whether a request was skipped or cancelled.
    is_cut: bool,
}

/// A request that was sent.
struct BlockRequest {
    index: u32,
    send: Nanos,
    ended: Nanos,
    /// The number of output tokens; absent if the request did not complete.
    tokens: Option<u32>,
}

impl BlockFold {
    /// Starts a block without records.
    pub fn new(pass: &PassPlan, plan: &AbPlan, pair: u32) -> Self {
        Self {
            pair,
            figures: plan.figures.clone(),
            uncounted: plan.uncounted,
            in_flight: match pass {
                PassPlan::OneByOne(_) => Some(1),
                PassPlan::Closed(ClosedPlan { concurrency, .. }) => {
                    concurrency.constant().map(|it| it as usize)
                }
                _ => None,
            },
            counted: PassFold::new(pass),
            sent: Vec::new(),
            requests: 0,
            planned: pass.requests(),
            is_cut: false,
        }
    }

    /// Adds the record of a request.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        self.requests += 1;
        self.is_cut |= matches!(record.outcome, Outcome::Cancelled | Outcome::Skipped);
        if self.counts(record.index) {
            self.counted.add(timeline);
        }
        let Some(send) = record.send_start else { return };
        let tokens = record.outcome.is_complete().then_some(timeline.output_tokens);
        let ended = record.ended.unwrap_or(send);
        self.sent.push(BlockRequest { index: record.index, send, ended, tokens });
    }

    /// Whether the latencies of a request count. The first requests do not count: they were sent while the server
    /// filled up. In a closed loop the last requests do not count either, because they end while the server empties.
    /// With one request in flight, the server neither fills nor empties, so the last request counts.
    fn counts(&self, index: u32) -> bool {
        let last = self.in_flight.filter(|&it| it > 1).and_then(|it| u32::try_from(it).ok());
        let is_last = match (self.planned, last) {
            (Some(planned), Some(last)) => index >= planned.saturating_sub(last),
            _ => false,
        };
        index >= self.uncounted && !is_last
    }

    /// Computes the block. `None` if a request was skipped or cancelled, or if records are missing.
    pub fn finish(self) -> Option<Block> {
        let Self { pair, figures, uncounted, in_flight, counted, sent, requests, planned, is_cut } =
            self;
        if is_cut || planned.is_some_and(|planned| u64::from(planned) != requests) {
            return None;
        }
        let summary = counted.finish();
        let rates = rates(&sent, uncounted, in_flight);
        let value = |figure: &AbFigure| of_block(*figure, rates, &summary);
        let started = sent.iter().map(|one| one.send).min().unwrap_or(Nanos::ZERO);
        Some(Block {
            pair,
            started,
            ended: sent.iter().map(|one| one.ended).max().unwrap_or(started),
            requests,
            complete: sent.iter().filter(|one| one.tokens.is_some()).count() as u64,
            values: figures.iter().map(value).collect(),
        })
    }
}

/// Requests and output tokens per second.
type Rates = Option<[f64; 2]>;

fn of_block(figure: AbFigure, rates: Rates, summary: &PassSummary) -> Option<f64> {
    let value = match figure.statistic {
        Some(_) => measure(figure.metric, figure.statistic, summary),
        None if *figure.metric.definition() == throughput::REQUESTS => rates.map(|[it, _]| it),
        None => rates.map(|[_, it]| it),
    };
    // Zero has no finite logarithm.
    value.filter(|value| *value > 0.0 && value.is_finite())
}

/// Requests and output tokens per second within a time window. In a closed loop with `in_flight` requests, the end of a
/// request causes the next send. The window begins at the end that caused the first counted send; if no end caused this
/// send, the window begins at the first send of the block. It closes at the first end of a request after the last send,
/// because fewer requests are in flight from then on. For other loads, the window lasts from the first send to the last
/// end of the counted requests.
fn rates(sent: &[BlockRequest], uncounted: u32, in_flight: Option<usize>) -> Rates {
    let mut by_end: Vec<&BlockRequest> = sent.iter().collect();
    by_end.sort_by_key(|one| (one.ended, one.index));
    let uncounted = uncounted as usize;
    let first_send =
        || sent.iter().filter(|one| one.index as usize >= uncounted).map(|one| one.send).min();
    let (opens, counted) = match in_flight {
        Some(in_flight) if in_flight <= sent.len() => {
            let from = uncounted.checked_sub(in_flight);
            let opens = match from {
                Some(from) => by_end.get(from).map(|one| one.ended),
                None => sent.iter().map(|one| one.send).min(),
            };
            // If some requests could not be sent, the window may have no end.
            let window = from.map_or(0, |from| from + 1)..=sent.len() - in_flight;
            (opens?, by_end.get(window)?.to_vec())
        }
        _ => {
            by_end.retain(|one| one.index as usize >= uncounted);
            (first_send()?, by_end)
        }
    };
    let seconds = counted.last()?.ended.seconds_after(opens);
    let tokens = counted.iter().filter_map(|one| one.tokens);
    let requests = tokens.clone().count() as f64;
    let tokens: f64 = tokens.map(f64::from).sum();
    (seconds > 0.0).then(|| [requests / seconds, tokens / seconds])
}
