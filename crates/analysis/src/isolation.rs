//! How much longer the requests of a class of traffic take beside the other classes than alone.

use inferometer_model::metrics::{e2e, tpot, ttft};
use inferometer_model::{Definition, Statistic, load::ALONE};

use crate::{Cell, PassSummary, Summary};

/// The latencies that are compared: from the intended start of a request, so that waiting for a place counts.
static FIGURES: [(&Definition, Statistic); 5] = [
    (&ttft::FROM_DUE, Statistic::P50),
    (&ttft::FROM_DUE, Statistic::P99),
    (&tpot::DEFINITION, Statistic::P50),
    (&e2e::FROM_DUE, Statistic::P50),
    (&e2e::FROM_DUE, Statistic::P99),
];

/// A latency of a class alone and beside the other classes. The class has the same arrivals and lengths in both passes.
#[derive(Clone, Debug, PartialEq)]
pub struct Isolation<'a> {
    /// The pass beside the other classes, and its cell.
    pub pass: (&'a Cell, &'a PassSummary),
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

/// The latencies of all classes that were also measured alone, in the order of passes and classes.
pub fn isolations(summary: &Summary) -> Vec<Isolation<'_>> {
    let mut found = Vec::new();
    for (cell, pass) in summary.passes().filter(|(_, pass)| !pass.load.ends_with(ALONE)) {
        for beside in &pass.classes {
            let is_alone = |other: &&PassSummary| {
                other.load.ends_with(ALONE)
                    && other.repeat == pass.repeat
                    && other.classes.len() == 1
                    && other.classes[0].class == beside.class
            };
            let Some(alone) = cell.passes.iter().find(is_alone) else { continue };
            let alone = &alone.classes[0];
            for figure in FIGURES {
                let (metric, of) = figure;
                let both = [alone, beside].map(|class| class.figures.latencies.get(metric));
                let [Some(a), Some(b)] = both else { continue };
                let [Some(alone), Some(beside_ms)] = [of.of(a), of.of(b)] else { continue };
                let ends = of.interval(a).zip(of.interval(b));
                let ends = ends.filter(|([low, _], _)| *low > 0.0);
                found.push(Isolation {
                    pass: (cell, pass),
                    class: &beside.class,
                    figure,
                    alone,
                    beside: beside_ms,
                    times: ends.map(|([low, high], [least, most])| [least / high, most / low]),
                });
            }
        }
    }
    found
}
