//! What is known of one load from all its trials, and what is claimed of it. Never decides what is tried
//! next.

use super::evidence::{Claim, Evidence};
use super::overwhelmed::Overwhelmed;
use super::trial::{Saturation, most};
use inferometer_plan::search::Judged;

/// Fewer requests that count say nothing.
pub(super) const FEWEST: u64 = 30;

/// So many times the requests of the first trial that was overwhelmed has the one that makes sure.
const AGAIN: u64 = 2;

/// All that is known of one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Requests per second, or in flight.
    pub load: f64,
    /// How often it was tried.
    pub trials: u32,
    /// Requests of all its trials.
    pub requests: u64,
    /// The trial of which so many requests missed a criterion that the load seems to be far beyond the
    /// edge: the first such one, or the one that made it sure.
    pub overwhelmed: Option<Overwhelmed>,
    /// Whether another trial, twice as long or more, was overwhelmed too: then it is claimed.
    pub is_hopeless: bool,
    /// Whether a trial was cut off, which what is pooled lacks.
    pub(super) lacks_a_trial: bool,
    /// Whether the streams of a trial came in bundles, so that an objective on times between tokens cannot
    /// be judged.
    pub lacks_gaps: bool,
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
    pub fn counted(&self) -> u64 {
        most(&self.judged)
    }

    /// What is claimed of it. A server that gets ever more behind will miss every limit, however
    /// few requests have missed it by now.
    pub fn claim(&self) -> Claim {
        if self.saturation.is_some() || self.is_hopeless {
            return Claim::NotMet;
        }
        if self.is_blank() {
            return Claim::Open;
        }
        match self.evidence.claim() {
            // What is pooled lacks the trial that was cut off, and that was a bad one.
            Claim::Met if self.lacks_a_trial => Claim::Open,
            claim => claim,
        }
    }

    /// Whether it seems to be so far beyond the edge that it has no steady state to be measured in.
    pub(super) fn is_beyond(&self) -> bool {
        self.saturation.is_some() || self.overwhelmed.is_some()
    }

    /// Takes in whether a trial of so many requests was overwhelmed. One excursion of a queue can do that
    /// to a load that is none too high, in hundreds of requests that follow each other; to a second
    /// trial, twice as long, it hardly does.
    pub(super) fn was_overwhelmed(&mut self, now: Option<Overwhelmed>, planned: u64) {
        let is_second = self.overwhelmed.is_some_and(|first| planned >= AGAIN * first.planned);
        self.lacks_a_trial |= now.is_some_and(|now| now.cut_off > 0);
        if self.is_hopeless {
            return;
        }
        match (now, self.overwhelmed) {
            (Some(_), Some(_)) if is_second => (self.overwhelmed, self.is_hopeless) = (now, true),
            (Some(_), None) => self.overwhelmed = now,
            // It was an excursion.
            (None, Some(_)) if is_second => self.overwhelmed = None,
            _ => {}
        }
    }

    /// Requests of the trial that would make sure that it is hopeless; none where none would.
    pub(super) fn to_make_sure(&self) -> Option<u64> {
        let first = self.overwhelmed.filter(|_| self.claim() == Claim::Open)?;
        Some(AGAIN * first.planned)
    }

    /// Whether too few requests count to say anything.
    pub fn is_blank(&self) -> bool {
        self.counted() < FEWEST && !self.is_beyond()
    }
}
