//! Selects a sample of requests for charts. Up to 32,768 requests, the sample has all of them; for more
//! requests, it has every 2nd, 4th, ... by index. Failed requests have their own sample. Up to 4,096 failed
//! requests, it has all of them; for more, it has about a half, a quarter, ..., selected by a hash of the
//! index. The result does not depend on the order of the records.

use inferometer_model::{Nanos, OutcomeKind, Record};

/// The maximum number of requests in the sample. They take about 2 MiB of memory.
const MOST: usize = 1 << 15;
/// The maximum number of failed requests in the sample. All failed requests are counted.
const MOST_FAILURES: usize = 1 << 12;

/// A request on the time axis of its pass, in seconds since the first send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestSpan {
    /// The index of the request in the pass.
    pub index: u32,
    /// When the first byte of the request was sent.
    pub sent_s: f64,
    /// When its first visible output arrived; absent if it had none.
    pub first_s: Option<f64>,
    /// When it ended.
    pub ended_s: f64,
    /// Its outcome.
    pub outcome: OutcomeKind,
    /// Whether the request was cancelled because the pass was ended early, which is not a failure.
    pub cut_off: bool,
}

/// When a request was sent, when its first visible output arrived (absent if it had none), and when it
/// ended.
type Instants = (Nanos, Option<Nanos>, Nanos);

/// The sample of the requests that were added so far: every `step`th by index.
#[derive(Clone, Debug)]
pub(super) struct RequestSample {
    step: u32,
    requests: Vec<(u32, Instants, OutcomeKind, bool)>,
}

impl Default for RequestSample {
    fn default() -> Self {
        Self { step: 1, requests: Vec::new() }
    }
}

impl RequestSample {
    pub fn add(&mut self, record: &Record, instants: Instants) {
        if !record.index.is_multiple_of(self.step) {
            return;
        }
        let (kind, cut_off) = (record.outcome.kind(), super::is_cut_off(record));
        self.requests.push((record.index, instants, kind, cut_off));
        while self.requests.len() > MOST {
            self.step *= 2;
            self.requests.retain(|(index, ..)| index.is_multiple_of(self.step));
        }
    }

    /// The sample in the order of the indices, and the step between two indices.
    pub fn finish(mut self, begin: Nanos) -> (Vec<RequestSpan>, u32) {
        self.requests.sort_unstable_by_key(|(index, ..)| *index);
        let seen =
            |(index, (sent, first, ended), outcome, cut_off): &(_, Instants, _, _)| RequestSpan {
                index: *index,
                sent_s: sent.seconds_after(begin),
                first_s: first.map(|first| first.seconds_after(begin)),
                ended_s: ended.seconds_after(begin),
                outcome: *outcome,
                cut_off: *cut_off,
            };
        (self.requests.iter().map(seen).collect(), self.step)
    }
}

/// The failed requests that were added so far: all of them up to [`MOST_FAILURES`], then a sample.
#[derive(Clone, Debug, Default)]
pub(super) struct FailureSample {
    sample: Vec<(Nanos, OutcomeKind, u32)>,
    /// A request is in the sample if the hash of its index, from [`mixed`], ends in at least this many
    /// zero bits.
    bits: u32,
    count: u64,
}

impl FailureSample {
    pub fn add(&mut self, record: &Record) {
        self.count += 1;
        if mixed(record.index).trailing_zeros() < self.bits {
            return;
        }
        self.sample.push((record.ended_or_due(), record.outcome.kind(), record.index));
        while self.sample.len() > MOST_FAILURES {
            self.bits += 1;
            self.sample.retain(|(.., index)| mixed(*index).trailing_zeros() >= self.bits);
        }
    }

    /// The sample in the order of time, and the number of all failed requests.
    pub fn finish(mut self, begin: Nanos) -> (Vec<(f64, OutcomeKind, u32)>, u64) {
        self.sample.sort_unstable_by_key(|(at, _, index)| (*at, *index));
        let sample = self.sample.into_iter();
        (
            sample.map(|(at, kind, index)| (at.seconds_after(begin), kind, index)).collect(),
            self.count,
        )
    }
}

/// A hash of an index (the finaliser of MurmurHash3 by A. Appleby). The lowest bits of the hash select
/// requests as if at random. The lowest bits of the index itself would not: if every second request fails,
/// they could select all failed requests, or none.
fn mixed(index: u32) -> u32 {
    let mut bits = index ^ (index >> 16);
    bits = bits.wrapping_mul(0x85eb_ca6b);
    bits ^= bits >> 13;
    bits = bits.wrapping_mul(0xc2b2_ae35);
    bits ^ (bits >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fourth_of_100_000_requests_is_sampled_in_any_input_order() {
        let of = |indices: &mut dyn Iterator<Item = u32>| {
            let mut sample = RequestSample::default();
            for index in indices {
                let record = Record::planned(0, index, Nanos(u64::from(index)));
                sample.add(&record, (Nanos(u64::from(index)), None, Nanos(u64::from(index) + 5)));
            }
            sample.finish(Nanos::ZERO)
        };
        let (spans, step) = of(&mut (0..100_000));
        assert_eq!((step, spans.len()), (4, 25_000));
        assert!(spans.windows(2).all(|pair| pair[1].index == pair[0].index + 4));
        assert_eq!((spans, step), of(&mut (0..100_000).rev()));
    }

    #[test]
    fn all_failures_are_counted_and_their_sample_covers_the_whole_pass() {
        let of = |indices: &mut dyn Iterator<Item = u32>| {
            let mut failures = FailureSample::default();
            for index in indices {
                let at = Nanos(u64::from(index) * 1_000_000_000);
                failures.add(&Record::planned(0, index, at));
            }
            failures.finish(Nanos::ZERO)
        };
        // Every second request of 40,000.
        let odd = |index: &u32| index % 2 == 1;
        let (sample, count) = of(&mut (0..40_000).filter(odd));
        assert_eq!(count, 20_000);
        assert!((MOST_FAILURES / 3..=MOST_FAILURES).contains(&sample.len()), "{}", sample.len());
        for quarter in 0..4 {
            let within = |at: f64| (at / 10_000.0) as u32 == quarter;
            let share = sample.iter().filter(|(at, ..)| within(*at)).count() * 4;
            assert!(share.abs_diff(sample.len()) < sample.len() / 4, "{quarter}: {share}");
        }
        assert_eq!((sample, count), of(&mut (0..40_000).rev().filter(odd)));
    }
}
