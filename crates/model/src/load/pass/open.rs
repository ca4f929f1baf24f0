//! Open loop: requests are due at the times of an arrival process, which does not depend on the server.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::load::arrival::{Arrivals, scaled};
use crate::load::level::{Level, Stages, bounded_s};
use crate::load::model::{Due, EndedRequest, KeptConstant, LoadModel, LoadPlan};
use crate::{Bound, Nanos, OverLimit, PassKind};

/// The description of an open loop. Its rate may change over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenPlan {
    /// Requests per second.
    pub rate: Level,
    /// How the gaps between arrivals vary at this rate.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Whether the gaps are scaled so that the requested number of requests arrives at exactly this
    /// rate. If false, the gaps stay as they were drawn. In stored plans without this key, it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scaled: bool,
    /// When the pass stops starting requests.
    pub bound: Bound,
    /// The maximum number of requests in flight; `None`: no limit.
    pub max_in_flight: Option<u32>,
    /// What happens to requests that are due while this limit is reached.
    #[serde(default)]
    pub over_limit: OverLimit,
}

impl LoadPlan for OpenPlan {
    fn kind(&self) -> PassKind {
        PassKind::Open
    }

    fn bound(&self) -> Bound {
        self.bound
    }

    fn limit(&self) -> (Option<u32>, OverLimit) {
        (self.max_in_flight, self.over_limit)
    }

    fn constant_load(&self) -> Option<f64> {
        self.rate.constant()
    }

    fn stages(&self) -> Stages {
        Stages::of(&self.rate)
    }

    fn may_end_before_its_count(&self) -> bool {
        self.bound.duration.is_some() || self.rate.duration().is_some()
    }

    fn rate(&self) -> Option<f64> {
        self.rate.constant()
    }

    fn peak_rate(&self) -> f64 {
        self.rate.peak()
    }

    fn is_scheduled(&self) -> bool {
        true
    }

    fn keeps_constant(&self) -> KeptConstant {
        match self.rate.constant() {
            Some(rate) if rate.is_finite() => KeptConstant::Rate {
                is_span_fixed: self.scaled && self.arrivals != Arrivals::Constant,
                limit: self.max_in_flight.filter(|_| {
                    self.over_limit == OverLimit::Queue && self.arrivals != Arrivals::Constant
                }),
            },
            Some(_) => KeptConstant::AT_ONCE,
            None => KeptConstant::Nothing("the rate changes during the pass"),
        }
    }

    fn at_start(&self) -> Option<u32> {
        if self.rate.peak().is_infinite() { self.bound.requests } else { Some(0) }
    }

    fn last_due_s(&self, _each_s: f64) -> f64 {
        bounded_s(&self.rate, self.bound, 1.0)
    }

    fn start(&self, seed: u64) -> Box<dyn LoadModel> {
        let rate = self.rate.clone();
        let due = move |area| rate.time_of_area_s(area).map(|second| Nanos((second * 1e9) as u64));
        // Arrivals are not scaled in three cases. Equal gaps already match the rate. With an infinite rate,
        // all requests are due at the start. A load without an end has no number of requests to match.
        let is_drawn = self.arrivals != Arrivals::Constant && self.rate.peak().is_finite();
        let ends = self.bound != Bound::none() || self.rate.duration().is_some();
        if self.scaled && is_drawn && ends {
            let areas = scaled(self.arrivals, &self.rate, self.bound, seed);
            return Box::new(Open::new(areas.map_while(due), self.bound));
        }
        // Versions of vLLM that do not scale the gaps of a constant rate send the first request at the start.
        let is_vllm = matches!(self.arrivals, Arrivals::Vllm { .. });
        let at_once = (is_vllm && self.rate.constant().is_some()).then_some(0.0);
        let areas = at_once.into_iter().chain(self.arrivals.seconds(seed));
        Box::new(Open::new(areas.map_while(due), self.bound))
    }
}

impl fmt::Display for OpenPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "open loop, {} requests/s", self.rate)?;
        match self.arrivals {
            Arrivals::Poisson | Arrivals::Vllm { shape: 1.0 } => Ok(()),
            other => write!(f, ", {other} arrivals"),
        }
    }
}

/// The load model during an open loop: requests are due at the instants of an arrival process.
pub struct Open<A: Iterator<Item = Nanos>> {
    arrivals: A,
    next: Option<Nanos>,
    bound: Bound,
    taken: u32,
}

impl<A: Iterator<Item = Nanos>> Open<A> {
    /// Creates the model. `arrivals` must be in order of time. Arrivals beyond the count of `bound`, and those
    /// that are not before its time limit, are ignored.
    pub fn new(arrivals: A, bound: Bound) -> Self {
        let mut arrivals = arrivals;
        let next = arrivals.next();
        Self { arrivals, next, bound, taken: 0 }
    }
}

impl<A: Iterator<Item = Nanos> + Send> LoadModel for Open<A> {
    fn next_due(&self) -> Due {
        if self.bound.requests.is_some_and(|limit| self.taken >= limit) {
            return Due::Never;
        }
        match self.next {
            Some(at) if self.bound.duration.is_none_or(|limit| at < Nanos::ZERO + limit) => {
                Due::At(at)
            }
            _ => Due::Never,
        }
    }

    fn take(&mut self) {
        self.next = self.arrivals.next();
        self.taken += 1;
    }

    fn ended(&mut self, _at: Nanos, _ended: EndedRequest) {}
}
