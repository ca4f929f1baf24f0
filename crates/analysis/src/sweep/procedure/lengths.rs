//! Chooses the number of requests of a trial: from its load, its expected duration, and the time that is left.

use inferometer_plan::{search::Over, sweep::FEWEST_REQUESTS};

use super::{NextLevel, Sweep};
use crate::{sweep::fold::LevelTrial, sweep::level::Level, sweep::outcome::SweepEnding};

/// The number of requests of the first trial in a closed loop, for each request in flight. Three of them are start-up,
/// and one is drain.
const ROUNDS: f64 = 12.0;
/// The duration of the first trial at a rate, as a multiple of the median latency.
const LATENCIES: f64 = 16.0;
/// The fewest requests of a trial: in a closed loop, and at a rate.
const FEWEST_CLOSED: f64 = FEWEST_REQUESTS as f64;
const FEWEST_OPEN: f64 = 96.0;
/// The number of requests of the shortest trial in a closed loop, for each request in flight. Such a trial is used if
/// time is short. A third of its requests counts.
const FEWEST_ROUNDS: f64 = 6.0;
/// In a closed loop: the number of requests of start-up and drain, for each request in flight, and the fewest requests
/// that must count.
const ROUNDS_ASIDE: f64 = 4.0;
const FEWEST_COUNTED: f64 = 8.0;
/// Until the server is saturated, a trial uses at most 1 / `OF_TIME_LEFT` of the time that is left, because trials at
/// higher loads follow.
const OF_TIME_LEFT: u64 = 3;

impl Sweep {
    /// The time that is left for trials, in seconds; infinite without a time limit.
    pub(super) fn time_left_s(&self) -> f64 {
        let taken_s = self.taken_s.max(self.time_s());
        self.plan.max_time.map_or(f64::INFINITY, |most| most.as_secs_f64() - taken_s)
    }

    /// The number of requests of a trial, within the limits on requests and on time. A trial that would not end in the
    /// time that is left is made shorter.
    ///
    /// # Errors
    /// The limit that leaves too little for the shortest trial.
    pub(super) fn affordable(&self, wanted: NextLevel) -> Result<u64, SweepEnding> {
        let left = self.plan.max_requests.saturating_sub(self.requests());
        let in_time = self.most_in_time(wanted);
        let fewest = match in_time < wanted.requests {
            true => self.shortest(wanted.by, wanted.load),
            false => self.first(wanted.by, wanted.load),
        };
        let fewest = fewest.min(wanted.requests);
        match wanted.requests.min(left).min(in_time) {
            requests if requests >= fewest => Ok(requests),
            _ if in_time < left => Err(SweepEnding::TimeSpent),
            _ => Err(SweepEnding::RequestsSpent),
        }
    }

    /// The most requests of a trial that should end in the time that is left.
    fn most_in_time(&self, wanted: NextLevel) -> u64 {
        let left_s = self.time_left_s();
        if left_s == f64::INFINITY {
            return u64::MAX;
        }
        let shortest = self.shortest(wanted.by, wanted.load);
        let drain_s = self.seconds(NextLevel { requests: 0, ..wanted });
        let each_s = self.seconds(NextLevel { requests: 1, ..wanted }) - drain_s;
        if each_s <= 0.0 {
            // The latency is not known yet, so the first trial is short.
            return if left_s > 0.0 { shortest } else { 0 };
        }
        let all = ((left_s - drain_s).max(0.0) / each_s) as u64;
        let is_new = self.levels.iter().all(|level| level.load != wanted.load);
        match self.saturation() {
            // Higher loads show more than a longer trial.
            None if is_new && self.is_in_a_hurry() => shortest.min(all),
            None => (all / OF_TIME_LEFT).max(shortest).min(all),
            Some(_) => all,
        }
    }

    /// The expected duration of a trial in seconds, from the latencies at lower loads; 0 if unknown.
    pub fn seconds(&self, asked: NextLevel) -> f64 {
        let requests = asked.requests as f64;
        match asked.by {
            Over::Concurrency => requests * self.latency_in_flight(asked.load) / asked.load,
            // The trial lasts until the last request ends.
            _ => requests / asked.load + self.latency_near(asked.load),
        }
    }

    /// The expected median latency with `load` requests in flight, in seconds; 0 if unknown. Above the highest tried
    /// load, the latency is assumed to grow along the line through the two highest ones. It is assumed to grow at most
    /// in proportion to the load: then the throughput is constant.
    fn latency_in_flight(&self, load: f64) -> f64 {
        let near = self.latency_near(load);
        let mut below: Vec<&LevelTrial> = self.trials.iter().collect();
        below.retain(|trial| trial.by == Over::Concurrency && trial.load < load);
        below.sort_by(|a, b| a.load.total_cmp(&b.load));
        let is_tried =
            self.trials.iter().any(|one| one.by == Over::Concurrency && one.load == load);
        let Some(top) = below.last().filter(|_| !is_tried) else { return near };
        let Some(lower) = below.iter().rfind(|one| one.load < top.load) else { return near };
        let slope = (near - lower.latency_s) / (top.load - lower.load);
        near + slope.clamp(0.0, near / top.load) * (load - top.load)
    }

    /// The median latency at the highest tried load that is not above `load`, in seconds; 0 if there is none. Rates
    /// without a steady state are left out: their queues may be long.
    fn latency_near(&self, load: f64) -> f64 {
        let is_steady = |trial: &&LevelTrial| {
            trial.by == Over::Concurrency || (trial.is_settled && !trial.is_overloaded())
        };
        let steady = self.trials.iter().filter(is_steady);
        let steady = steady.filter(|trial| trial.load <= load || trial.by != self.plan.by);
        let order = |trial: &&LevelTrial| (trial.by == Over::Rate, trial.load);
        let nearest = steady
            .max_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
        nearest.map_or(0.0, |trial| trial.latency_s)
    }

    /// The number of requests of the first trial at a load.
    fn first(&self, by: Over, load: f64) -> u64 {
        match by {
            Over::Concurrency => (ROUNDS * load).max(FEWEST_CLOSED) as u64,
            _ => (LATENCIES * load * self.latency_near(load)).max(FEWEST_OPEN) as u64,
        }
    }

    /// The number of requests of the shortest useful trial at a load.
    pub(super) fn shortest(&self, by: Over, load: f64) -> u64 {
        match by {
            Over::Concurrency => {
                (FEWEST_ROUNDS * load).max(ROUNDS_ASIDE * load + FEWEST_COUNTED) as u64
            }
            _ => self.first(by, load),
        }
    }

    pub(super) fn first_trial(&self, by: Over, load: f64) -> NextLevel {
        NextLevel { by, load, requests: self.first(by, load) }
    }

    /// A trial at a level with twice as many requests as all earlier trials of this level together.
    pub(super) fn again(&self, level: &Level) -> NextLevel {
        let requests = (2 * level.requests).max(self.first(level.by, level.load));
        NextLevel { by: level.by, load: level.load, requests }
    }
}
