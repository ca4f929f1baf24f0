//! What is known of one load from all its trials, and what is claimed of it. Never decides what is tried
//! next.

use super::criterion::Judged;
use super::evidence::{Claim, Evidence};
use super::overwhelmed::Overwhelmed;
use super::trial::Saturation;

/// Fewer requests that count say nothing.
pub(super) const FEWEST: u64 = 30;

/// All that is known of one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Requests per second, or in flight.
    pub load: f64,
    /// How often it was tried.
    pub trials: u32,
    /// Requests of all its trials.
    pub requests: u64,
    /// Set where so many requests of a trial missed a criterion that no steady state explains it.
    pub overwhelmed: Option<Overwhelmed>,
    /// The median latency in its last trial, in seconds.
    pub latency_s: f64,
    /// What its last trial says of saturation.
    pub saturation: Option<Saturation>,
    /// The evidence.
    pub evidence: Evidence,
    /// Whether half of its last trial or more missed a criterion, which one a little longer is likely
    /// to be enough to claim.
    pub(super) looks_beyond: bool,
    pub(super) judged: Vec<Vec<Judged>>,
}

impl Load {
    /// Requests that count.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.judged.first().map_or(0, |judged| judged.len() as u64)
    }

    /// What is claimed of it. A server that gets ever more behind will miss every limit, however
    /// few requests have missed it by now.
    #[must_use]
    pub fn claim(&self) -> Claim {
        if self.is_beyond() {
            Claim::NotMet
        } else if self.is_blank() {
            Claim::Open
        } else {
            self.evidence.claim()
        }
    }

    /// Whether it is so far beyond the edge that it has no steady state to be measured in.
    pub(super) fn is_beyond(&self) -> bool {
        self.saturation.is_some() || self.overwhelmed.is_some()
    }

    /// Whether too few requests count to say anything.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.counted() < FEWEST && !self.is_beyond()
    }
}
