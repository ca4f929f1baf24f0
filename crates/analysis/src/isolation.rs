//! How much longer the requests of a class of traffic take beside the other classes than alone.

use inferometer_model::metrics::{e2e, tpot, ttft};
use inferometer_model::{Definition, Statistic, load::ALONE};

use crate::{Cell, PassSummary};

/// The latencies that are compared: from the intended start of a request, so that waiting for a place counts.
static FIGURES: [(&Definition, Statistic); 5] = [
    (&ttft::FROM_DUE, Statistic::P50),
    (&ttft::FROM_DUE, Statistic::P99),
    (&tpot::DEFINITION, Statistic::P50),
    (&e2e::FROM_DUE, Statistic::P50),
    (&e2e::FROM_DUE, Statistic::P99),
];

/// A latency of a class alone and beside the other classes. In both passes the class has the same arrivals and lengths, up to
/// the end of the shorter one.
#[derive(Clone, Debug, PartialEq)]
pub struct Isolation<'a> {
    /// The pass beside the other classes.
    pub pass: &'a PassSummary,
    /// The name of the class.
    pub class: &'a str,
    /// The latency.
    pub figure: (&'static Definition, Statistic),
    /// Its value alone.
    pub alone: f64,
    /// Its value beside the other classes.
    pub beside: f64,
    /// Bounds of `beside / alone` from the ends of both 95 % intervals: they hold in at least 90 %. Absent if one of the
    /// values has no interval.
    pub times: Option<[f64; 2]>,
}

/// The latencies of all classes of a cell that were also measured alone, in the order of passes and classes.
pub fn isolations(cell: &Cell) -> Vec<Isolation<'_>> {
    let is_alone = |pass: &&PassSummary| pass.load.ends_with(ALONE);
    let mut found = Vec::new();
    for pass in cell.passes.iter().filter(|pass| !is_alone(pass)) {
        for beside in &pass.classes {
            let is_of = |other: &&PassSummary| {
                other.repeat == pass.repeat
                    && other.load.strip_prefix(&beside.class).is_some_and(|it| it.starts_with(' '))
            };
            let alone = cell.passes.iter().filter(is_alone).find(is_of);
            let classes = alone.iter().flat_map(|alone| &alone.classes);
            let Some(alone) = classes.into_iter().find(|class| class.class == beside.class) else {
                continue;
            };
            let figures = FIGURES.into_iter().filter_map(|figure| {
                let (metric, of) = figure;
                let [a, b] = [alone, beside].map(|class| class.figures.latencies.get(metric));
                let (a, b) = (a?, b?);
                let ends = of.interval(a).zip(of.interval(b)).filter(|([low, _], _)| *low > 0.0);
                let times = ends.map(|([low, high], [least, most])| [least / high, most / low]);
                let (class, alone, beside) = (beside.class.as_str(), of.of(a)?, of.of(b)?);
                Some(Isolation { pass, class, figure, alone, beside, times })
            });
            found.extend(figures);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::steady;
    use inferometer_model::load::arrival::Arrivals;
    use inferometer_model::load::{ClassArrivals, MixedPlan};
    use inferometer_model::{Bound, OverLimit, PassPlan, Record, Timeline};

    use super::*;
    use crate::{cell::cell, fold::PassFold};

    /// A pass of these classes at 10 requests/s, each with the TTFT of its requests in milliseconds.
    fn pass(classes: &[(&str, f64)]) -> PassSummary {
        let arrivals = classes.iter().map(|(name, _)| ClassArrivals {
            name: (*name).to_owned(),
            rate: 10.0.into(),
            arrivals: Arrivals::Poisson,
        });
        let (bound, max_in_flight) = (Bound::requests(100), None);
        let plan = MixedPlan {
            classes: arrivals.collect(),
            bound,
            max_in_flight,
            over_limit: OverLimit::Queue,
        };
        let mut fold = PassFold::new(&PassPlan::Mixed(plan));
        for (index, (class, ttft_ms)) in (0..100).zip(classes.iter().cycle()) {
            let noise = f64::from(index * 7 % 10) - 4.5;
            let mut record = Record {
                index,
                class: Some((*class).into()),
                ..steady(f64::from(index) * 100.0, ttft_ms + noise, 10.0, 3)
            };
            if index == 50 {
                record.finish_reason = Some("content_filter".to_owned());
            }
            fold.add(&Timeline::new(&record));
        }
        fold.finish()
    }

    #[test]
    fn a_class_is_compared_with_itself_alone_and_the_bounds_hold_the_true_factor() {
        let passes = vec![pass(&[("chat", 60.0), ("batch", 90.0)]), pass(&[("chat", 40.0)])];
        let cell = cell(0, 0, passes);
        let found = isolations(&cell);
        assert!(!found.is_empty() && found.iter().all(|it| it.class == "chat"), "{found:?}");
        let first = &found[0];
        assert_eq!(first.figure.0.name, "ttft_from_due");
        assert!((first.beside / first.alone - 1.5).abs() < 0.05, "{first:?}");
        let [low, high] = first.times.expect("bounds");
        assert!(low < 1.5 && 1.5 < high && high - low < 0.5, "{low} {high}");
    }
}
