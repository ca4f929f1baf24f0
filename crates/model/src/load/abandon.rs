//! Clients that leave: which requests of a pass are abandoned, and when. This file closes no connection.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::stats::seed;
use crate::time::nanoseconds;

/// When a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaveAfter {
    /// This time after the request was sent, whatever has arrived.
    Time(#[serde(with = "nanoseconds")] Duration),
    /// This time after the request was sent, if no token has arrived by then.
    NoToken(#[serde(with = "nanoseconds")] Duration),
    /// As soon as this many output tokens have arrived.
    Tokens(u32),
}

/// Which share of the requests is abandoned, and how.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Abandon {
    /// The share of the requests whose clients leave, above 0 and at most 1.
    pub share: f64,
    /// When these clients leave, unless their answers are complete before.
    pub after: LeaveAfter,
    /// Whether they reset the connection instead of closing it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_reset: bool,
}

/// The clients of a pass that leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leavers {
    /// Which share leaves, and how.
    pub abandon: Abandon,
    /// The seed of the pass, which chooses the requests.
    pub seed: u64,
}

impl Leavers {
    /// Whether the client of the request with this index in its pass leaves. In each series of `1 / share` requests, the
    /// seed chooses one; so the number of such requests in a pass differs from the share by less than two requests.
    pub fn includes(&self, index: u32) -> bool {
        let series_of = |index: u64| (index as f64 * self.abandon.share) as u64;
        let series = series_of(index.into());
        let first_of = |series: u64| {
            let about = (series as f64 / self.abandon.share) as u64;
            (about.saturating_sub(1)..).find(|index| series_of(*index) >= series)
        };
        let bounds = first_of(series).zip(first_of(series + 1));
        bounds.is_some_and(|(first, next)| {
            let mut rng = seed::rng(self.seed, &["abandon", &series.to_string()]);
            u64::from(index) == first + seed::below(&mut rng, (next - first).max(1))
        })
    }
}

impl fmt::Display for Abandon {
    /// As the flag is written: `10%,after=20tok,by=reset`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%,", self.share * 100.0)?;
        match self.after {
            LeaveAfter::Time(time) => write!(f, "after={}s", time.as_secs_f64())?,
            LeaveAfter::NoToken(time) => write!(f, "no-token={}s", time.as_secs_f64())?,
            LeaveAfter::Tokens(count) => write!(f, "after={count}tok")?,
        }
        f.write_str(if self.by_reset { ",by=reset" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_exact_to_two_requests_and_the_seed_chooses_which() {
        let of = |share, seed| {
            let abandon = Abandon { share, after: LeaveAfter::Tokens(1), by_reset: false };
            let leavers = Leavers { abandon, seed };
            (0..1_000).filter(|index| leavers.includes(*index)).collect::<Vec<u32>>()
        };
        for (share, count) in
            [(0.1, 100), (0.15, 150), (1.0 / 3.0, 333), (0.75, 750), (1.0, 1_000), (0.002, 2)]
        {
            let found = of(share, 1).len();
            assert!(found.abs_diff(count) < 2, "{share}: {found}");
        }
        assert_ne!(of(0.1, 1), of(0.1, 2));
        let gaps: Vec<u32> = of(0.1, 1).windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().any(|gap| *gap < 6) && gaps.iter().any(|gap| *gap > 14));
    }
}
