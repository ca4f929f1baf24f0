//! Several classes of traffic at the same time. Each class arrives at a rate of its own, independently of the others
//! and of the server.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::load::arrival::Arrivals;
use crate::load::level::{Level, bounded_s};
use crate::load::model::{KeptConstant, LoadModel, LoadPlan};
use crate::stats::seed::{below, rng};
use crate::{Bound, Nanos, OverLimit, PassKind, load::Open};

/// The end of the label of a class that is measured alone.
pub const ALONE: &str = " alone";

/// The arrivals of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassArrivals {
    /// The name of the class: that of its requests.
    pub name: String,
    /// Requests per second.
    pub rate: Level,
    /// How the gaps between arrivals vary at this rate.
    pub arrivals: Arrivals,
}

impl ClassArrivals {
    /// The due times of the class. They depend on its name and the seed, and not on the other classes.
    fn instants(&self, seed: u64) -> impl Iterator<Item = Nanos> + Send + use<> {
        let seed = below(&mut rng(seed, &["class", &self.name]), u64::MAX);
        let rate = self.rate.clone();
        let due = move |area| rate.time_of_area_s(area).map(|second| Nanos((second * 1e9) as u64));
        self.arrivals.seconds(seed).map_while(due)
    }
}

/// The description of classes that arrive at the same time, or of one class alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixedPlan {
    /// The classes, in the order of the plan; at least one.
    pub classes: Vec<ClassArrivals>,
    /// When the pass stops starting requests, of all classes together.
    pub bound: Bound,
    /// The maximum number of requests in flight; `None`: no limit.
    pub max_in_flight: Option<u32>,
    /// What happens to requests that are due while this limit is reached.
    #[serde(default)]
    pub over_limit: OverLimit,
}

impl MixedPlan {
    /// The due times of all classes in order, each with the index of its class. Of classes that are due at the same
    /// time, the first in the plan comes first.
    pub fn order(&self, seed: u64) -> impl Iterator<Item = (Nanos, usize)> + Send + use<> {
        let mut streams: Vec<_> =
            self.classes.iter().map(|class| class.instants(seed).peekable()).collect();
        std::iter::from_fn(move || {
            let heads = streams.iter_mut().enumerate();
            let next = heads.filter_map(|(class, all)| all.peek().map(|at| (*at, class))).min()?;
            streams[next.1].next();
            Some(next)
        })
    }

    /// The seconds after which so many requests have arrived on average, at most `end_s`.
    fn time_of_count_s(&self, count: u32, end_s: f64) -> f64 {
        let arrived =
            |at_s: f64| -> f64 { self.classes.iter().map(|class| class.rate.area_s(at_s)).sum() };
        let enough = |at_s: f64| arrived(at_s) >= f64::from(count);
        let (mut low, mut high) = (0.0, 1.0_f64);
        while !enough(high) {
            if high >= end_s {
                return end_s;
            }
            high = (2.0 * high).min(end_s);
        }
        for _ in 0..64 {
            let middle = f64::midpoint(low, high);
            *(if enough(middle) { &mut high } else { &mut low }) = middle;
        }
        high.min(end_s)
    }
}

impl LoadPlan for MixedPlan {
    fn kind(&self) -> PassKind {
        PassKind::Open
    }

    fn bound(&self) -> Bound {
        self.bound
    }

    fn limit(&self) -> (Option<u32>, OverLimit) {
        (self.max_in_flight, self.over_limit)
    }

    fn may_end_before_its_count(&self) -> bool {
        let all_end = self.classes.iter().all(|class| class.rate.duration().is_some());
        self.bound.duration.is_some() || all_end
    }

    fn peak_rate(&self) -> f64 {
        self.classes.iter().map(|class| class.rate.peak()).sum()
    }

    fn is_scheduled(&self) -> bool {
        true
    }

    fn keeps_constant(&self) -> KeptConstant {
        match self.classes.iter().all(|class| class.rate.constant().is_some()) {
            true => KeptConstant::Rate {
                is_span_fixed: false,
                limit: self.max_in_flight.filter(|_| self.over_limit == OverLimit::Queue),
            },
            false => KeptConstant::Nothing("the rate of a class changes during the pass"),
        }
    }

    fn at_start(&self) -> Option<u32> {
        Some(0)
    }

    fn last_due_s(&self, _each_s: f64) -> f64 {
        let by_time = Bound { requests: None, ..self.bound };
        let ends = self.classes.iter().map(|class| bounded_s(&class.rate, by_time, 1.0));
        let end_s = ends.fold(0.0, f64::max);
        self.bound.requests.map_or(end_s, |count| self.time_of_count_s(count, end_s))
    }

    fn start(&self, seed: u64) -> Box<dyn LoadModel> {
        Box::new(Open::new(self.order(seed).map(|(at, _)| at), self.bound))
    }
}

impl fmt::Display for MixedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |ClassArrivals { name, rate, arrivals }: &ClassArrivals| {
            let unit = if rate.constant().is_some() { "/s" } else { "" };
            match arrivals {
                Arrivals::Poisson => format!("{name} {rate}{unit}"),
                other => format!("{name} {rate}{unit} ({other})"),
            }
        };
        let all: Vec<String> = self.classes.iter().map(one).collect();
        write!(f, "{}{}", all.join(" + "), if all.len() == 1 { ALONE } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::model::Due;
    use crate::load::{Curve, Stage};

    fn class(name: &str, rate: impl Into<Level>, arrivals: Arrivals) -> ClassArrivals {
        ClassArrivals { name: name.to_owned(), rate: rate.into(), arrivals }
    }

    fn mixed(classes: &[ClassArrivals]) -> MixedPlan {
        let (max_in_flight, over_limit) = (None, OverLimit::Queue);
        MixedPlan { classes: classes.to_vec(), bound: Bound::none(), max_in_flight, over_limit }
    }

    #[test]
    fn classes_arrive_as_they_would_alone() {
        let classes =
            [class("chat", 4.0, Arrivals::Poisson), class("batch", 1.0, Arrivals::Poisson)];
        let both: Vec<_> = mixed(&classes).order(7).take(1_000).collect();
        assert!(both.is_sorted(), "the due times are in order");
        for (index, one) in classes.iter().enumerate() {
            let alone = mixed(std::slice::from_ref(one));
            let of_both = both.iter().filter(|(_, class)| *class == index).map(|(at, _)| *at);
            let found: Vec<_> = of_both.collect();
            let expected: Vec<_> = alone.order(7).map(|(at, _)| at).take(found.len()).collect();
            assert_eq!(found, expected, "{}", one.name);
        }
        let share = both.iter().filter(|(_, class)| *class == 0).count();
        assert!(
            (750..850).contains(&share),
            "{share} of 1,000 requests are of the class with 4 of 5"
        );
    }

    #[test]
    fn a_class_has_a_window_and_the_pass_ends_with_the_last_class() {
        let second = Duration::from_secs(1);
        let stage = |rate| Stage { duration: second, from: rate, to: rate, curve: Curve::Linear };
        let late = Level::Stages(vec![stage(0.0), stage(2.0)]);
        let early = Level::Stages(vec![stage(3.0)]);
        let plan = mixed(&[
            class("late", late, Arrivals::Constant),
            class("early", early, Arrivals::Constant),
        ]);
        let ms = |at: Nanos| at.0 / 1_000_000;
        let due: Vec<_> = plan.order(0).map(|(at, class)| (ms(at), class)).collect();
        assert_eq!(due, [(0, 1), (333, 1), (666, 1), (1_000, 0), (1_500, 0)]);
        assert_eq!((plan.last_due_s(0.0), plan.peak_rate()), (2.0, 5.0));
        // The window of 3 requests per second is over when the fourth request of both is due.
        let four = MixedPlan { bound: Bound::requests(4), ..plan };
        assert!((four.last_due_s(0.0) - 1.5).abs() < 1e-9, "{}", four.last_due_s(0.0));
    }

    #[test]
    fn the_number_and_the_time_limit_all_classes_together() {
        let classes = [class("a", 2.0, Arrivals::Constant), class("b", 2.0, Arrivals::Constant)];
        let bound = Bound { requests: Some(5), duration: Some(Duration::from_millis(900)) };
        let plan = MixedPlan { bound, ..mixed(&classes) };
        let mut model = plan.start(0);
        let mut due = Vec::new();
        while let Due::At(at) = model.next_due() {
            due.push(at.0 / 1_000_000);
            model.take();
        }
        assert_eq!(due, [0, 0, 500, 500]);
        assert_eq!(plan.last_due_s(0.0), 0.9, "5 requests at 4 per second take longer");
        assert_eq!(plan.to_string(), "a 2/s (constant) + b 2/s (constant)");
    }
}
