//! Summarises the metrics of the cards during a pass, and computes the energy. Nothing is guessed: for a card that
//! reports neither energy nor power, the energy is absent.

use serde::{Deserialize, Serialize};

use super::server::Level;
use inferometer_model::sample::{CardSample, Sample};
use inferometer_model::{Nanos, Observed, stats::median};

/// The minimum number of readings within a pass for which energy is reported, if an exporter reads the card, or if the
/// energy is the integral of the power. The values used for the start and the end of the pass may be old by one interval
/// between readings: about a tenth of the pass.
pub const FRESH_READINGS: u64 = 10;
/// A longer time between two samples is a gap, unless the usual time is almost as long.
const LONGEST_BETWEEN_S: f64 = 3.0;
/// A gap is this many times as long as the usual (median) time between samples.
const USUAL_TIMES: f64 = 2.5;
/// The largest error of an energy: the largest share of the time in gaps, the largest relative difference between the
/// integrals of all samples and of every second one, and the largest relative standard error.
const LARGEST_ERROR: f64 = 0.01;

/// The use of all observed cards during a pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HardwareUse {
    /// The number of reads of the cards before, during and after the pass.
    #[serde(default)]
    pub asked: u64,
    /// The number of these reads in which a card did not answer.
    #[serde(default)]
    pub failed: u64,
    /// The reason for the first failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// The use of each card.
    pub cards: Vec<CardUse>,
    /// The energy of all observed cards together in joules, whichever program used them. Absent if the energy of one
    /// card is unknown, or if no card answered.
    pub energy_j: Option<f64>,
    /// `energy_j` / output tokens of the completed requests. Absent if the plan does not name the cards of the server,
    /// if `energy_j` is absent, or without such tokens.
    pub energy_per_output_token_j: Option<f64>,
    /// `energy_j` / completed requests. Absent if the plan does not name the cards of the server, if `energy_j` is
    /// absent, or without completed requests.
    pub energy_per_request_j: Option<f64>,
}

/// The use of one card during a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CardUse {
    /// The number of the card in the machine.
    pub index: u32,
    /// Share of the time in which the card was busy, 0 to 1.
    pub utilisation: Option<Level>,
    /// Power in watts.
    pub power_w: Option<Level>,
    /// Clock of the card's processors, in MHz.
    pub clock_mhz: Option<Level>,
    /// The largest memory use in any sample, in bytes. Samples before and after the pass count too.
    pub memory_bytes: Option<u64>,
    /// Energy of the board in joules, from the first send of the pass to its last end; absent if it is unknown.
    pub energy_j: Option<f64>,
    /// How the energy was determined.
    pub energy_from: Option<Energy>,
    /// Why the energy is unknown although the card has samples of energy or power; absent if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_unknown: Option<EnergyUnknown>,
    /// The share of the pass that is not in gaps between samples, 0 to 1. Absent if samples do not cover the pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// The share of `energy_j` that the card would have used at the lowest power of any sample, also before and after the
    /// pass. Absent if the energy or the power is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_share: Option<f64>,
    /// The number of different readings of an exporter within the pass; absent if this program read the card directly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readings: Option<u64>,
}

/// The source of an energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Energy {
    /// The energy counter of the card.
    Counter,
    /// The power of the card, integrated between samples.
    Power,
}

/// Why an energy is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnergyUnknown {
    /// Samples do not cover the pass from its first send to its last end.
    NotCovered,
    /// There are fewer than [`FRESH_READINGS`] readings within the pass.
    FewReadings,
    /// More than 1 % of the pass are in gaps between samples; for a counter, its start or its end is in a gap.
    Gaps,
    /// The power changes too fast for the time between samples, so its integral may be wrong by more than 1 %.
    Varies,
}

impl HardwareUse {
    /// The use in a pass. `window` lasts from the first sent byte to the end of the last answer. `None` if no card was
    /// read.
    pub(crate) fn of(
        observed: &Observed,
        window: (Nanos, Nanos),
        output_tokens: u64,
        completed: u64,
    ) -> Option<Self> {
        let mut indices: Vec<u32> =
            observed.samples.iter().flat_map(|s| &s.cards).map(|card| card.index).collect();
        indices.sort_unstable();
        indices.dedup();
        let samples = || observed.samples.iter();
        let failures = || samples().filter_map(|sample| sample.cards_missing.first());
        if indices.is_empty() && failures().next().is_none() {
            return None;
        }
        let cards: Vec<CardUse> =
            indices.into_iter().map(|index| card_use(observed, index, window)).collect();
        let energy_j = cards.iter().map(|card| card.energy_j).sum::<Option<f64>>();
        let energy_j = energy_j.filter(|_| !cards.is_empty());
        // Energy per token is only meaningful for cards that the plan assigns to the server.
        let is_servers = observed.cards_named;
        let per = |count: u64| {
            energy_j.filter(|_| is_servers && count > 0).map(|energy| energy / count as f64)
        };
        let has_cards = |s: &&Sample| !s.cards.is_empty() || !s.cards_missing.is_empty();
        Some(Self {
            asked: samples().filter(has_cards).count() as u64,
            failed: failures().count() as u64,
            first_failure: failures().next().cloned(),
            energy_per_output_token_j: per(output_tokens),
            energy_per_request_j: per(completed),
            cards,
            energy_j,
        })
    }
}

fn card_use(observed: &Observed, index: u32, window: (Nanos, Nanos)) -> CardUse {
    let all: Vec<(Nanos, &CardSample)> = observed
        .samples
        .iter()
        .flat_map(|sample| sample.cards.iter().map(move |card| (sample.at, card)))
        .filter(|(_, card)| card.index == index)
        .collect();
    let is_within = |at: &Nanos| window.0 <= *at && *at <= window.1;
    // An exporter repeats its last reading. A repeated reading is not counted, because it may be older than the pass.
    let is_read = |at: usize| at == 0 || !all[at].1.cached || all[at].1 != all[at - 1].1;
    let within: Vec<&CardSample> = (0..all.len())
        .filter(|&at| is_within(&all[at].0) && is_read(at))
        .map(|at| all[at].1)
        .collect();
    let readings = all.iter().any(|(_, card)| card.cached).then_some(within.len() as u64);
    let level =
        |of: fn(&CardSample) -> Option<f64>| Level::of(within.iter().filter_map(|card| of(card)));
    let series = |of: fn(&CardSample) -> Option<f64>| -> Vec<(Nanos, f64)> {
        all.iter().filter_map(|(at, card)| Some((*at, of(card)?))).collect()
    };
    let (joules, watts) = (series(|card| card.energy_j), series(|card| card.power_w));
    let is_fresh = readings.is_none_or(|readings| readings >= FRESH_READINGS);
    let fresh = |known: Result<f64, EnergyUnknown>| {
        known.and_then(|joules| if is_fresh { Ok(joules) } else { Err(EnergyUnknown::FewReadings) })
    };
    let by_counter = counted(&joules, window).map(|known| (fresh(known), Energy::Counter));
    let by_power = || Some((fresh(integral(&watts, window)?), Energy::Power));
    // A counter that is not known exactly may still have a power.
    let known = match by_counter {
        Some((Ok(_), _)) => by_counter,
        unknown => by_power().filter(|known| known.0.is_ok()).or(unknown).or_else(by_power),
    };
    let energy_j = known.and_then(|(known, _)| known.ok());
    let lowest = watts.iter().map(|(_, watts)| *watts).reduce(f64::min);
    let at_lowest = lowest.map(|watts| watts * window.1.seconds_after(window.0));
    CardUse {
        index,
        utilisation: level(|card| card.utilisation),
        power_w: level(|card| card.power_w),
        clock_mhz: level(|card| card.clock_mhz),
        memory_bytes: all.iter().filter_map(|(_, card)| card.memory_bytes).max(),
        energy_j,
        energy_from: energy_j.and(known).map(|(_, from)| from),
        energy_unknown: known.and_then(|(known, _)| known.err()),
        coverage: coverage(if watts.is_empty() { &joules } else { &watts }, window),
        idle_share: at_lowest.zip(energy_j).map(|(idle, all)| (idle / all).min(1.0)),
        readings,
    }
}

/// The longest time between samples that is no gap, in seconds.
fn longest_between_s(series: &[(Nanos, f64)]) -> f64 {
    let between = series.windows(2).map(|pair| pair[1].0.seconds_after(pair[0].0));
    LONGEST_BETWEEN_S.max(USUAL_TIMES * median(between).unwrap_or_default())
}

/// The share of the window that is not in gaps between samples; `None` if the samples do not cover the window.
fn coverage(series: &[(Nanos, f64)], window: (Nanos, Nanos)) -> Option<f64> {
    let (first, last) = (series.first()?.0, series.last()?.0);
    if first > window.0 || last < window.1 || window.0 >= window.1 {
        return None;
    }
    let longest_s = longest_between_s(series);
    let within = |pair: &[(Nanos, f64)]| {
        pair[1].0.min(window.1).seconds_after(pair[0].0.max(window.0)).max(0.0)
    };
    let is_gap = |pair: &&[(Nanos, f64)]| pair[1].0.seconds_after(pair[0].0) > longest_s;
    let gaps: f64 = series.windows(2).filter(is_gap).map(within).sum();
    Some(1.0 - gaps / window.1.seconds_after(window.0))
}

/// The increase of a counter within the window in joules, interpolated linearly between samples. A gap within the window
/// loses nothing. `None` for a counter that does not increase, because every card draws power, and for one that was set
/// back.
fn counted(series: &[(Nanos, f64)], window: (Nanos, Nanos)) -> Option<Result<f64, EnergyUnknown>> {
    let is_set_back = series.windows(2).any(|pair| pair[1].1 < pair[0].1);
    let rises = series.first()?.1 < series.last()?.1;
    if is_set_back || !rises {
        return None;
    }
    let [Some(from), Some(until)] = [window.0, window.1].map(|at| between(series, at)) else {
        return Some(Err(EnergyUnknown::NotCovered));
    };
    let joules = until - from;
    let longest_s = longest_between_s(series);
    let is_in_gap = |at: Nanos| {
        let after = series.partition_point(|sample| sample.0 < at);
        let pair = after.checked_sub(1).and_then(|before| series.get(before..=after));
        pair.is_some_and(|pair| pair[1].0 != at && pair[1].0.seconds_after(pair[0].0) > longest_s)
    };
    Some(match is_in_gap(window.0) || is_in_gap(window.1) {
        true => Err(EnergyUnknown::Gaps),
        false if joules > 0.0 => Ok(joules),
        false => return None,
    })
}

/// The integral of a series over the window, linear between samples. Up to the first sample within the window it has the
/// value of this sample, and after the last one that of the last: the load begins and ends with the window. `None` without
/// samples.
fn integral(series: &[(Nanos, f64)], window: (Nanos, Nanos)) -> Option<Result<f64, EnergyUnknown>> {
    if series.is_empty() {
        return None;
    }
    let inner: Vec<(Nanos, f64)> =
        series.iter().copied().filter(|(at, _)| window.0 <= *at && *at <= window.1).collect();
    let of = |points: &[(Nanos, f64)]| {
        let ends = points.first().zip(points.last());
        let ends = ends.map(|(first, last)| [(window.0, first.1), (window.1, last.1)]);
        let [first, last] = ends.unwrap_or([(window.0, 0.0), (window.1, 0.0)]);
        let all = [&[first], points, &[last]].concat();
        let trapezoid = |pair: &[(Nanos, f64)]| {
            (pair[0].1 + pair[1].1) / 2.0 * pair[1].0.seconds_after(pair[0].0)
        };
        all.windows(2).map(trapezoid).sum::<f64>()
    };
    let all = of(&inner);
    let halves = of(&inner.iter().copied().step_by(2).collect::<Vec<_>>());
    // How far a sample is off the middle of its neighbours shows what happens between samples. For independent noise, the
    // square of this distance is 1.5 times the variance.
    let off = |three: &[(Nanos, f64)]| (three[1].1 - (three[0].1 + three[2].1) / 2.0).powi(2);
    let count = inner.len() as f64;
    let noise = inner.windows(3).map(off).sum::<f64>() / 1.5 / count.max(1.0);
    let error = (noise / count.max(1.0)).sqrt() * window.1.seconds_after(window.0);
    Some(match coverage(series, window) {
        None => Err(EnergyUnknown::NotCovered),
        Some(covered) if 1.0 - covered > LARGEST_ERROR => Err(EnergyUnknown::Gaps),
        Some(_) if (inner.len() as u64) < FRESH_READINGS => Err(EnergyUnknown::FewReadings),
        Some(_) if (all - halves).abs().max(error) > LARGEST_ERROR * all => {
            Err(EnergyUnknown::Varies)
        }
        Some(_) => Ok(all),
    })
}

/// The value at an instant, interpolated linearly between the two nearest samples; `None` outside of all samples.
fn between(series: &[(Nanos, f64)], at: Nanos) -> Option<f64> {
    let after = series.partition_point(|sample| sample.0 < at);
    let (then, above) = *series.get(after)?;
    if then == at {
        return Some(above);
    }
    let (before, below) = *series.get(after.checked_sub(1)?)?;
    let share = at.seconds_after(before) / then.seconds_after(before);
    Some(below + (above - below) * share)
}
