//! The spans of requests that are over, counted between fixed bounds: what a scraper of a run in
//! progress reads. Never a figure of a report: those are exact, and come from the crate `analysis`.

use crate::arrival_widths;
use crate::{Timeline, e2e, send_delay, tpot, ttft};
use inferometer_stats::Weighted;
use inferometer_stats::buckets::{Buckets, FIRST_TOKEN_S, FURTHER_TOKEN_S, REQUEST_S};

/// Upper bounds of the instrument's own spans, in seconds.
const OWN_S: [f64; 14] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05,
    0.1, 0.5, 1.0,
];

/// Spans by what they are, as the metrics of the same names define them.
#[derive(Clone, Debug, PartialEq)]
pub struct Spans {
    /// TTFT from the send, of completed requests.
    pub ttft: Buckets,
    /// ITL, once for each token that a gap stands for.
    pub itl: Buckets,
    /// TPOT.
    pub tpot: Buckets,
    /// E2E from the send.
    pub e2e: Buckets,
    /// How late requests were sent, of all that were.
    pub send_delay: Buckets,
    /// How late reads were made that the kernel had stamped.
    pub receive_lateness: Buckets,
    /// How far before its stamp each token event may have arrived.
    pub arrival_width: Buckets,
}

impl Default for Spans {
    fn default() -> Self {
        let own = || Buckets::new(&OWN_S);
        Self {
            ttft: Buckets::new(&FIRST_TOKEN_S),
            itl: Buckets::new(&FURTHER_TOKEN_S),
            tpot: Buckets::new(&FURTHER_TOKEN_S),
            e2e: Buckets::new(&REQUEST_S),
            send_delay: own(),
            receive_lateness: own(),
            arrival_width: own(),
        }
    }
}

impl Spans {
    /// Takes in a request that is over, with the gaps between its tokens if it completed.
    pub fn add(&mut self, timeline: &Timeline<'_>, gaps: &[Weighted]) {
        for (ms, buckets) in [
            (send_delay::send_delay_ms(timeline), &mut self.send_delay),
            (of_complete(timeline, ttft::from_sent), &mut self.ttft),
            (of_complete(timeline, tpot::tpot_ms), &mut self.tpot),
            (of_complete(timeline, e2e::from_sent), &mut self.e2e),
        ] {
            ms.into_iter().for_each(|ms| buckets.add(ms / 1e3, 1.0));
        }
        for gap in gaps {
            self.itl.add(gap.value / 1e3, gap.weight);
        }
        for read in &timeline.record.reads {
            let late = read.kernel.map(|kernel| read.user.seconds_after(kernel));
            late.into_iter().for_each(|seconds| self.receive_lateness.add(seconds, 1.0));
        }
        if timeline.record.streamed {
            for width in arrival_widths(timeline.record) {
                self.arrival_width.add(width.as_secs_f64(), 1.0);
            }
        }
    }

    /// Takes in all that another one has.
    pub fn add_all(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.ttft, &other.ttft),
            (&mut self.itl, &other.itl),
            (&mut self.tpot, &other.tpot),
            (&mut self.e2e, &other.e2e),
            (&mut self.send_delay, &other.send_delay),
            (&mut self.receive_lateness, &other.receive_lateness),
            (&mut self.arrival_width, &other.arrival_width),
        ] {
            mine.add_all(theirs);
        }
    }
}

fn of_complete(timeline: &Timeline<'_>, of: fn(&Timeline<'_>) -> Option<f64>) -> Option<f64> {
    timeline.record.outcome.is_complete().then(|| of(timeline)).flatten()
}
