//! The content of the full-screen view at one instant: texts and values for charts, from the live state and from
//! earlier readings. This module draws nothing.

use std::{collections::VecDeque, time::Duration};

use inferometer_analysis::so_far::SoFar;
use inferometer_drive::LiveCounts;
use inferometer_model::{OutcomeKind, sample::Quantity, stats::histogram::Histogram, visible};
use inferometer_net::{Nanos, monotonic_now};
use inferometer_run::{LivePass, Snapshot, left};

use crate::command_line::progress::spoken;

/// The maximum number of rates in the chart over time.
const KEPT: usize = 400;
/// The number of readings over which a rate is computed.
const OVER: usize = 8;
/// The number of columns in the chart of a distribution.
const COLUMNS: u32 = 36;

/// The content of the view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The title of the run.
    pub title: String,
    /// The number of the current pass, from 1, and the maximum number of passes.
    pub passes: (usize, usize),
    /// The approximate remaining time of the run, if known.
    pub left: Option<String>,
    /// The label of the current pass.
    pub label: String,
    /// The completed share of the pass, from 0 to 1, and its text. The share is 0 if the number of requests is unknown.
    pub done: (f64, String),
    /// Output chunks per second; the latest value is the last. Chunks are counted because the number of tokens in a
    /// chunk is known only after its request has ended.
    pub rates: Vec<u64>,
    /// The time between two successive rates, in seconds.
    pub period_s: f64,
    /// Output tokens per second of completed requests; None if it is not known yet.
    pub tokens_per_s: Option<f64>,
    /// The number of requests in flight.
    pub in_flight: u64,
    /// The distributions of latencies.
    pub spreads: Vec<DistributionView>,
    /// The number of requests of each outcome that has occurred, except `complete`, as texts.
    pub failed: Vec<String>,
    /// Metrics of the server and of the cards, as texts.
    pub metrics: Vec<String>,
}

/// The chart of a distribution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DistributionView {
    /// The name and the percentiles of the metric.
    pub title: String,
    /// The number of values in each column; the columns are equally wide on a logarithmic axis.
    pub columns: Vec<u64>,
    /// The first and the last value of the axis, in ms with the unit; empty if there are no values.
    pub ends: [String; 2],
}

/// Reads the live state repeatedly, and stores earlier readings, from which rates are computed.
#[derive(Default)]
pub struct Watcher {
    label: String,
    tokens: VecDeque<u64>,
    rates: VecDeque<u64>,
}

impl Watcher {
    /// Returns the current view. `period` is the time since the previous reading.
    pub fn look(&mut self, state: &Snapshot, period: Duration) -> View {
        let line = |text: &str| visible::line(text).into_owned();
        let title = state.run.as_ref().map(|run| line(&run.title)).unwrap_or_default();
        let Some(pass) = &state.pass else {
            let spreads = SoFar::default().drawn().map(|_| DistributionView::default()).collect();
            return View { title, spreads, ..View::default() };
        };
        let passes = (pass.number, state.passes());
        let now = monotonic_now();
        let counts = pass.live.look();
        if self.label != pass.label {
            *self = Self { label: pass.label.clone(), ..Self::default() };
        }
        self.note(counts.chunks, period);
        View {
            title,
            passes,
            label: pass.label.clone(),
            left: state.left(now).map(spoken),
            done: done(pass, counts, now),
            rates: self.rates.iter().copied().collect(),
            period_s: period.as_secs_f64(),
            tokens_per_s: pass.so_far.output_tokens_per_s(),
            in_flight: counts.begun.saturating_sub(counts.ended),
            spreads: pass.so_far.drawn().map(|(of, spans)| spread(of.title, spans)).collect(),
            failed: failed(pass).iter().map(|text| line(text)).collect(),
            metrics: metrics(state).iter().map(|text| line(text)).collect(),
        }
    }

    fn note(&mut self, tokens: u64, period: Duration) {
        self.tokens.push_back(tokens);
        if self.tokens.len() > OVER {
            self.tokens.pop_front();
        }
        let seconds = (self.tokens.len() - 1) as f64 * period.as_secs_f64();
        let grown = tokens.saturating_sub(self.tokens.front().copied().unwrap_or(0));
        let rate = if seconds > 0.0 { (grown as f64 / seconds).round() as u64 } else { 0 };
        self.rates.push_back(rate);
        if self.rates.len() > KEPT {
            self.rates.pop_front();
        }
    }
}

/// The completed share of a pass, from 0 to 1, and a text with the number of requests and the remaining time. If the
/// number of requests of the pass is unknown, the share is 0, and the text has the elapsed time.
fn done(pass: &LivePass, counts: LiveCounts, now: Nanos) -> (f64, String) {
    let elapsed = now.since(pass.began);
    let Some(all) = pass.begin.plan.requests() else {
        return (0.0, format!("{} requests in {}", counts.over(), spoken(elapsed)));
    };
    let share = pass.share(counts).unwrap_or(0.0);
    let left =
        left(elapsed, share).map_or_else(String::new, |left| format!(", {} left", spoken(left)));
    (share, format!("{}/{all} requests{left}", counts.over()))
}

/// The maximum ratio between the ends of the axis of a distribution. The axis needs a lower end above zero, because
/// tokens that arrive in one read have gaps of zero.
const WIDEST: f64 = 1e4;

/// The chart of a distribution. The axis begins a little below the 1st percentile, and ends a little above the maximum.
fn spread(name: &str, spans: &Histogram) -> DistributionView {
    if spans.count() == 0 {
        return DistributionView {
            title: format!("{name}: none yet"),
            ..DistributionView::default()
        };
    }
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| ms(spans.quantile(q)));
    let to = spans.max().as_secs_f64().max(1e-9) * 1.05;
    let from = (spans.quantile(0.01).as_secs_f64() * 0.96).max(to / WIDEST);
    let title = format!("{name} ms: p50 {p50}, p90 {p90}, p99 {p99}");
    let edge = |at: u32| from * (to / from).powf(f64::from(at) / f64::from(COLUMNS));
    let up_to = |at: u32| match Duration::try_from_secs_f64(edge(at)) {
        Ok(span) => spans.count_up_to(span),
        Err(_) => 0,
    };
    // Values below the axis are counted in its first column.
    let below = |at: u32| if at == 0 { 0 } else { up_to(at) };
    let columns = (0..COLUMNS).map(|at| up_to(at + 1).saturating_sub(below(at)));
    let ends = [from, to].map(|end| format!("{} ms", ms(Duration::from_secs_f64(end))));
    DistributionView { title, columns: columns.collect(), ends }
}

fn ms(span: Duration) -> String {
    let ms = span.as_secs_f64() * 1e3;
    let decimals = if ms < 10.0 { 2 } else { usize::from(ms < 100.0) };
    format!("{ms:.decimals$}")
}

fn failed(pass: &LivePass) -> Vec<String> {
    let kinds = OutcomeKind::ALL.into_iter().filter(|kind| *kind != OutcomeKind::Complete);
    let counted = kinds.map(|kind| (kind.name(), pass.so_far.outcomes.of(kind)));
    counted.filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {name}")).collect()
}

fn metrics(state: &Snapshot) -> Vec<String> {
    let Some(sample) = &state.sample else { return Vec::new() };
    let value = |quantity| sample.server.as_ref()?.values.get(&quantity).copied();
    let mut lines = Vec::new();
    for (name, quantity, scale, unit) in [
        ("running", Quantity::Running, 1.0, ""),
        ("waiting", Quantity::Waiting, 1.0, ""),
        ("KV memory", Quantity::KvUse, 100.0, " %"),
        ("preemptions", Quantity::Preemptions, 1.0, ""),
    ] {
        lines.extend(value(quantity).map(|value| format!("{name} {:.0}{unit}", value * scale)));
    }
    for card in &sample.cards {
        let use_ = card.utilisation.map(|share| format!(" {:.0} %", 100.0 * share));
        let power = card.power_w.map(|watts| format!(" {watts:.0} W"));
        let figures = [use_, power].into_iter().flatten().collect::<String>();
        lines.push(format!("card {}{figures}", card.index));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use inferometer_drive::Live;
    use inferometer_run::{Event, Events};

    use super::*;
    use crate::command_line::live_fixture::{live_state, pass_started, saturated};

    #[test]
    fn a_view_shows_the_live_state() {
        let view = live_state()
            .live()
            .look(|state| Watcher::default().look(state, Duration::from_secs(1)));
        assert_eq!((view.passes, view.label.as_str()), ((2, 8), "128 x 4, saturated"));
        assert_eq!(view.failed, ["1 rejected"]);
        assert_eq!(view.metrics, ["running 7", "KV memory 42 %"]);
        assert!(view.spreads[0].title.starts_with("TTFT ms: p50 29"), "{:?}", view.spreads[0]);
        assert_eq!(view.spreads[0].columns.iter().sum::<u64>(), 20, "no value is lost");
        assert!(view.spreads[1].title.starts_with("ITL ms: p50 5"), "{:?}", view.spreads[1]);
        let none =
            Events::none().live().look(|state| Watcher::default().look(state, Duration::ZERO));
        assert!(none.spreads.iter().all(|spread| *spread == DistributionView::default()));
        assert_eq!(View { spreads: Vec::new(), ..none }, View::default());
    }

    #[test]
    fn inter_token_gaps_of_zero_are_counted_in_the_first_column() {
        let mut gaps = Histogram::default();
        for gap in [0, 0, 0, 5_000, 6_000] {
            gaps.add(Duration::from_micros(gap));
        }
        let spread = spread("ITL", &gaps);
        assert_eq!(spread.columns[0], 3);
        assert_eq!(spread.columns.iter().sum::<u64>(), 5);
        assert_eq!(spread.ends[1], "6.30 ms");
    }

    #[test]
    fn chunk_rates_are_computed_per_refresh_and_restart_with_each_pass() {
        let mut watcher = Watcher::default();
        for tokens in [0, 100, 200, 300] {
            watcher.note(tokens, Duration::from_millis(250));
        }
        assert_eq!(watcher.rates, [0, 400, 400, 400]);
        live_state().live().look(|state| watcher.look(state, Duration::from_millis(250)));
        assert_eq!(watcher.rates, [0]);
    }

    #[test]
    fn the_remaining_time_is_extrapolated_from_the_progress_of_the_pass() {
        let live = Arc::new(Live::default());
        let events = Events::none();
        events.emit(Event::PassStarted(&pass_started("a", saturated(10, 8), &live)));
        let counts =
            LiveCounts { begun: 10, ended: 1, never_begun: 1, chunks: 40, ..LiveCounts::default() };
        events.live().look(|state| {
            let pass = state.pass.as_ref().unwrap();
            let now = pass.began + Duration::from_secs(100);
            assert_eq!(done(pass, counts, now), (0.5, "2/10 requests, 1 min 40 s left".to_owned()));
            let none = LiveCounts::default();
            assert_eq!(done(pass, none, now), (0.0, "0/10 requests".to_owned()));
            // The server has become slower: the estimate grows.
            let later = now + Duration::from_secs(50);
            let (_, told) = done(pass, counts, later);
            assert_eq!(told, "2/10 requests, 2 min 30 s left");
        });
    }
}
