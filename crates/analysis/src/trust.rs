//! Decides which figures of passes, classes and cells are trusted, bounded or unreliable. Every output and the verdict
//! use these functions. [`crate::range`] defines the ranges.

use inferometer_model::metrics::{
    Unit, latency_per_output_token, latency_per_token, registry, send_delay, ttft,
};
use inferometer_model::{Definition, PassKind, Statistic, stats::spread};
use serde::{Deserialize, Serialize};

use crate::cell::{latency_passes, loading_passes};
use crate::range::{Range, Ranges, TRUSTED_SHARE, Trust};
use crate::{Cell, Distributions, PassSummary, part::PartFigures, prediction::Columns};

/// Stalls of the event loop count in rates only if they exceed this share of the pass, and add up to at least this many
/// microseconds.
const SMALLEST_SHARE_STALLED: f64 = 0.05;
const SMALLEST_STALLS_US: u64 = 100_000;
/// If the event loop was busy for more than this share of the pass, rates are unreliable. Passes shorter than this many
/// microseconds are not judged.
const LARGEST_SHARE_BUSY: f64 = 0.95;
const SHORTEST_PASS_US: u64 = 500_000;

/// The number of figures of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureCounts {
    /// Figures whose error is small compared with the figure.
    pub trusted: u64,
    /// Figures whose error is not small, but at most 20 % of the figure.
    pub bounded: u64,
    /// Unreliable figures: the error may be more than 20 % of the figure, or is unknown.
    pub not_vouched_for: u64,
    /// Figures that were not measured.
    pub absent: u64,
}

impl FigureCounts {
    /// Counts the four figures of each cell, the metrics of whole passes in tables, and every statistic of every metric
    /// of all passes and classes.
    pub fn of(cells: &[Cell]) -> Self {
        let mut counts = Self::default();
        for cell in cells {
            columns(cell).iter().for_each(|figure| counts.add(figure.value, figure.range));
            for pass in &cell.passes {
                for (_, metric) in registry::columns_of_passes() {
                    counts.add(pass.figure(metric), value(pass, metric));
                }
                counts.add_all(&pass.latencies, &pass.instrument.ranges, |_| true);
                for class in &pass.classes {
                    counts.add_all(&class.figures.latencies, &class.figures.ranges, |metric| {
                        metric.of_classes
                    });
                }
            }
        }
        counts
    }

    fn add_all(
        &mut self,
        figures: &Distributions,
        ranges: &Ranges,
        is_there: fn(&Definition) -> bool,
    ) {
        let is_expected = |metric: &Definition| !metric.optional || figures.get(metric).is_some();
        let counted =
            registry::in_results().filter(|(_, metric)| is_there(metric) && is_expected(metric));
        for (_, metric) in counted {
            for statistic in Statistic::ALL {
                let figure = figures.get(metric).and_then(|values| statistic.of(values));
                self.add(figure, ranges.get(metric, statistic));
            }
        }
    }

    fn add(&mut self, figure: Option<f64>, range: Option<Range>) {
        *match (figure, range.map(|range| range.trust)) {
            (None, _) => &mut self.absent,
            (Some(_), None | Some(Trust::Trusted)) => &mut self.trusted,
            (Some(_), Some(Trust::Bounded)) => &mut self.bounded,
            (Some(_), Some(Trust::Unreliable)) => &mut self.not_vouched_for,
        } += 1;
    }
}

/// The range of a statistic of a pass; `None` if every arrival time that it depends on is exact.
pub fn latency(pass: &PassSummary, metric: &Definition, statistic: Statistic) -> Option<Range> {
    pass.instrument.ranges.get(metric, statistic)
}

/// The range of a statistic of a class or another part; `None` if every arrival time that it depends on is exact.
pub fn of_part(part: &PartFigures, metric: &Definition, statistic: Statistic) -> Option<Range> {
    part.ranges.get(metric, statistic)
}

/// The range of a rate of a pass. The pass may have ended before the stamp of its last read, and without the client's
/// own delays it would have ended earlier. `None` if neither changes the duration of the pass. If the event loop was
/// busy for nearly the whole pass, the rate is unreliable, and both ends equal the figure.
pub fn rate(pass: &PassSummary, figure: Option<f64>) -> Option<Range> {
    let (figure, seconds) = figure.zip(pass.duration_s)?;
    if is_busy(pass) {
        return Some(Range { low: figure, high: figure, trust: Trust::Unreliable });
    }
    let shorter_s = pass.instrument.end_width_us * 1e-6 + own_time_s(pass);
    (shorter_s > 0.0).then(|| {
        let fastest = figure * seconds / (seconds - shorter_s).max(0.0);
        // If no time of the pass would remain, the rate is infinite or not a number.
        if !fastest.is_finite() {
            return Range { low: figure, high: figure, trust: Trust::Unreliable };
        }
        Range::of(figure, figure, fastest, TRUSTED_SHARE)
    })
}

/// The range of a metric of whole passes; `None` if it is no rate, or if its value is exact.
pub fn value(pass: &PassSummary, metric: &Definition) -> Option<Range> {
    let is_rate = matches!(metric.unit, Unit::RequestsPerSecond | Unit::TokensPerSecond);
    rate(pass, pass.figure(metric).filter(|_| is_rate))
}

/// The time in seconds by which the client may have made a pass longer.
fn own_time_s(pass: &PassSummary) -> f64 {
    let stalled_s = stalled(pass).map_or(0.0, |(seconds, _)| seconds);
    // If each request waits for the end of an earlier one, every send delay makes the pass longer.
    let places = match pass.kind {
        PassKind::Open => return 0.0,
        PassKind::Saturated => return stalled_s,
        // The send delays are mostly the waits that the plan asks for.
        _ if pass.limits_prefill => return stalled_s,
        PassKind::OneByOne => 1.0,
        // If the planned number in flight is not constant, the mean number in flight is used.
        PassKind::Closed => {
            let mean = || pass.mean_concurrency.map(|mean| mean.max(1.0));
            pass.concurrency.map(f64::from).or_else(mean).unwrap_or(1.0)
        }
    };
    let delay = pass.latency(&send_delay::DEFINITION);
    let between_s = delay.map_or(0.0, |delay| delay.mean * 1e-3 * delay.n as f64 / places);
    stalled_s.max(between_s)
}

/// The total time of stalls, in seconds and as a share of the pass, if it is large enough to count.
fn stalled(pass: &PassSummary) -> Option<(f64, f64)> {
    let process = pass.instrument.process?;
    let share = process.stalled_us as f64 / process.wall_us as f64;
    (process.stalled_us >= SMALLEST_STALLS_US && share > SMALLEST_SHARE_STALLED)
        .then_some((process.stalled_us as f64 * 1e-6, share))
}

fn busy_share(pass: &PassSummary) -> f64 {
    let process = pass.instrument.process.filter(|process| process.wall_us >= SHORTEST_PASS_US);
    process.map_or(0.0, |process| process.busy_us as f64 / process.wall_us as f64)
}

fn is_busy(pass: &PassSummary) -> bool {
    busy_share(pass) > LARGEST_SHARE_BUSY
}

/// Why a rate of a pass is not exact, as a part of a sentence.
pub fn why_of_rate(pass: &PassSummary) -> String {
    if is_busy(pass) {
        return format!(
            "the client's event loop was busy for {:.1} % of the pass: the client may have been \
                the bottleneck",
            busy_share(pass) * 100.0
        );
    }
    if let Some((seconds, share)) = stalled(pass) {
        return format!(
            "the client was stopped for {:.1} % of the pass, {seconds:.3} s in total: in that time \
                it sent and read nothing",
            share * 100.0
        );
    }
    if own_time_s(pass) > 1e-6 * pass.instrument.end_width_us {
        return "the client needed time between the end of a request and the next one".to_owned();
    }
    "the end of the pass is not exactly known".to_owned()
}

/// Makes TTFT of a pass and of its classes unreliable, because the server may have had the prompts in its cache. It is
/// unknown by how much the figures differ from the true values, so both ends of each range equal the figure.
pub fn doubt_ttft(pass: &mut PassSummary) {
    doubt_ttft_of(&pass.latencies, &mut pass.instrument.ranges);
    for class in &mut pass.classes {
        doubt_ttft_of(&class.figures.latencies, &mut class.figures.ranges);
    }
}

fn doubt_ttft_of(figures: &Distributions, ranges: &mut Ranges) {
    for metric in [&ttft::FROM_SENT, &ttft::FROM_DUE] {
        let Some(values) = figures.get(metric) else { continue };
        for statistic in Statistic::ALL {
            let Some(figure) = statistic.of(values) else { continue };
            let range = Range { low: figure, high: figure, trust: Trust::Unreliable };
            ranges.set(metric, statistic, range);
        }
    }
}

/// Why a latency that [`doubt_ttft`] marked is unreliable, as a part of a sentence.
pub const SENT_BEFORE: &str = "the server may have had the prompts in its prefix cache";

/// Why a latency of a pass is not exact, as a part of a sentence.
pub fn why_of_latency(pass: &PassSummary) -> String {
    let instrument = &pass.instrument;
    match instrument.reads - instrument.kernel_stamped_reads {
        0 => {
            "single reads of the socket returned several events, and only the arrival of the last \
                one is exactly known"
                .to_owned()
        }
        unstamped => {
            format!("{unstamped} of {} reads had no kernel time stamp", instrument.reads)
        }
    }
}

/// One of the four figures of a cell, with its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellFigure {
    /// The name of the figure in results: one of [`Columns::NAMES`].
    pub name: &'static str,
    /// The value of the figure; absent if it was not measured.
    pub value: Option<f64>,
    /// The range of the true value; absent if every arrival time that the figure depends on is exact.
    pub range: Option<Range>,
}

/// The four figures of a cell, in the order of [`Columns::NAMES`].
pub fn columns(cell: &Cell) -> [CellFigure; 4] {
    let values = cell.columns().values();
    std::array::from_fn(|at| {
        let (name, value) = (Columns::NAMES[at], values[at]);
        // If the value does not come from these passes, as in a search, their range does not apply.
        let of_passes = over(&passes_of(cell, at), |pass| of_pass(pass, at));
        let of_it = of_passes
            .zip(value)
            .filter(|((figure, _), value)| (figure - value).abs() <= 1e-9 * value.abs());
        CellFigure { name, value, range: of_it.map(|((_, range), _)| range) }
    })
}

/// Why a figure of [`columns`] is not exact, as a part of a sentence.
pub fn why_of_column(cell: &Cell, name: &str) -> String {
    let at = Columns::NAMES.iter().position(|known| *known == name).unwrap_or(0);
    let why = if at < RATES { why_of_rate } else { why_of_latency };
    passes_of(cell, at).first().map_or_else(String::new, |pass| why(pass))
}

/// The first two columns are rates; the others are means of latencies.
const RATES: usize = 2;

/// The passes whose figures are averaged in a column.
fn passes_of(cell: &Cell, column: usize) -> Vec<&PassSummary> {
    if column < RATES { loading_passes(&cell.passes) } else { latency_passes(&cell.passes) }
}

/// The value of a column in one pass, with its range.
fn of_pass(pass: &PassSummary, column: usize) -> Option<(f64, Option<Range>)> {
    let of_rate = |figure: Option<f64>| Some((figure?, rate(pass, figure)));
    let of_mean =
        |metric| Some((pass.latency(metric)?.mean, latency(pass, metric, Statistic::Mean)));
    match column {
        0 => of_rate(pass.requests_per_s),
        1 => of_rate(pass.output_tokens_per_s),
        2 => of_mean(&latency_per_token::DEFINITION),
        _ => of_mean(&latency_per_output_token::DEFINITION),
    }
}

/// The mean of a figure over passes, and the range of this mean; `None` if no pass has a range.
fn over(
    passes: &[&PassSummary],
    of: impl Fn(&PassSummary) -> Option<(f64, Option<Range>)>,
) -> Option<(f64, Range)> {
    let figures: Vec<_> = passes.iter().filter_map(|pass| of(pass)).collect();
    let worst = figures.iter().filter_map(|(_, range)| *range).map(|range| range.trust).max()?;
    let mean = |of: fn(&(f64, Option<Range>)) -> f64| {
        spread(&figures.iter().map(of).collect::<Vec<_>>()).map(|spread| spread.mean)
    };
    let figure = mean(|of| of.0)?;
    let low = mean(|of| of.1.map_or(of.0, |range| range.low))?;
    let high = mean(|of| of.1.map_or(of.0, |range| range.high))?;
    let mut range = Range::of(figure, low, high, TRUSTED_SHARE);
    if worst == Trust::Unreliable {
        range.trust = worst;
    }
    Some((figure, range))
}

/// Advice for users about figures that are not trusted.
pub fn advice(cells: &[Cell]) -> &'static str {
    let mut passes = cells.iter().flat_map(|cell| &cell.passes);
    let unstamped = passes.any(|pass| pass.instrument.reads > pass.instrument.kernel_stamped_reads);
    if unstamped {
        return "Some reads had no kernel time stamp: measure on Linux, over a network device with \
            receive time stamps, and keep processors free for the client.";
    }
    "Give the client processors that the server and other work do not use. If a proxy or the \
        server sends several events at once, no client can separate them: measure without the \
        proxy."
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::{ms, steady};
    use inferometer_model::load::{Bound, PassPlan};
    use inferometer_model::metrics::Timeline;
    use inferometer_model::process::Process;

    use super::*;
    use crate::cell::cell;
    use crate::fold::PassFold;

    /// Ten requests of 100 ms each, one after the other. Each request is sent `delay_ms` after the end of the request
    /// before.
    fn one_after_the_other(pass: &PassPlan, delay_ms: f64) -> PassSummary {
        let mut fold = PassFold::new(pass);
        for index in 0..10 {
            let due_ms = f64::from(index) * (100.0 + delay_ms);
            let mut record = steady(due_ms + delay_ms, 60.0, 10.0, 5);
            record.due = ms(due_ms);
            fold.add(&Timeline::new(&record));
        }
        fold.finish()
    }

    #[test]
    fn client_delays_widen_the_range_of_the_rate_in_closed_loops_only() {
        let closed = PassPlan::closed(1, Bound::requests(10));
        let open = PassPlan::open(10.0, Bound::requests(10));
        for (pass, delay_ms, expected) in [
            (&closed, 0.0, None),
            (&closed, 0.5, Some(Trust::Trusted)),
            (&closed, 5.0, Some(Trust::Bounded)),
            (&closed, 30.0, Some(Trust::Unreliable)),
            (&open, 30.0, None),
        ] {
            let pass = one_after_the_other(pass, delay_ms);
            let range = rate(&pass, pass.requests_per_s);
            assert_eq!(range.map(|range| range.trust), expected, "{delay_ms} {range:?}");
        }
        let pass = one_after_the_other(&closed, 5.0);
        let range = rate(&pass, pass.requests_per_s).expect("a range");
        // Without the client's delay of 5 ms per request, the pass would take 0.995 s.
        assert_eq!((range.high * 1e3).round(), 10_050.0);
        let limited = PassSummary { limits_prefill: true, ..pass };
        assert_eq!(rate(&limited, limited.requests_per_s), None, "the delays are intended");
    }

    #[test]
    fn figures_are_counted_as_trusted_bounded_unreliable_or_absent() {
        let closed = PassPlan::closed(1, Bound::requests(10));
        let mut pass = one_after_the_other(&closed, 0.0);
        let all = FigureCounts::of(&[cell(8, 5, vec![pass.clone()])]);
        // Thirteen metrics with seven statistics each, three rates, and the four figures of the cell.
        assert_eq!((all.trusted, all.absent), (98, 0), "{all:?}");
        let metric = &ttft::FROM_SENT;
        for (statistic, low) in
            [(Statistic::P50, 55.0), (Statistic::P99, 5.0), (Statistic::Max, 59.0)]
        {
            pass.instrument.ranges.set(
                metric,
                statistic,
                Range::of(60.0, low, 60.0, crate::range::trusted_share(statistic)),
            );
        }
        *pass.latencies.entry(&inferometer_model::metrics::itl::DEFINITION) = None;
        pass.instrument.process =
            Some(Process { wall_us: 1_000_000, busy_us: 999_000, ..Process::default() });
        let counts = FigureCounts::of(&[cell(8, 5, vec![pass])]);
        // The client may have been the bottleneck, so three rates of the pass and two of the cell are unreliable.
        let expected = FigureCounts { trusted: 84, bounded: 1, not_vouched_for: 6, absent: 7 };
        assert_eq!(counts, expected);
    }
}
