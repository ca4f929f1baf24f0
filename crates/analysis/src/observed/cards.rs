//! Summarises the metrics of the cards during a pass, and computes the energy. Nothing is guessed: for a card that
//! reports neither energy nor power, the energy is absent.

use serde::{Deserialize, Serialize};

use super::server::Level;
use inferometer_model::sample::{CardSample, Sample};
use inferometer_model::{Nanos, Observed};

/// The minimum number of readings within a pass for which energy is reported, if an exporter reads the card. The values
/// used for the start and the end of the pass may be old by one interval between readings: about a tenth of the pass.
pub const FRESH_READINGS: u64 = 10;

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
    /// Energy in joules, from the first send of the pass to its last end. Absent if it is unknown, for example because
    /// an exporter has fewer than [`FRESH_READINGS`] readings within the pass.
    pub energy_j: Option<f64>,
    /// How the energy was determined.
    pub energy_from: Option<Energy>,
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
    let counted = counted(&series(|card| card.energy_j), window);
    let energy = counted.map(|joules| (joules, Energy::Counter)).or_else(|| {
        integral(&series(|card| card.power_w), window).map(|joules| (joules, Energy::Power))
    });
    let energy = energy.filter(|_| readings.is_none_or(|readings| readings >= FRESH_READINGS));
    CardUse {
        index,
        utilisation: level(|card| card.utilisation),
        power_w: level(|card| card.power_w),
        clock_mhz: level(|card| card.clock_mhz),
        memory_bytes: all.iter().filter_map(|(_, card)| card.memory_bytes).max(),
        energy_j: energy.map(|(joules, _)| joules),
        energy_from: energy.map(|(_, from)| from),
        readings,
    }
}

/// The increase of a counter within the window in joules, interpolated linearly between samples. A counter without an
/// increase is ignored, because every card draws power.
fn counted(series: &[(Nanos, f64)], window: (Nanos, Nanos)) -> Option<f64> {
    let [from, until] = [window.0, window.1].map(|at| between(series, at));
    Some(until? - from?).filter(|joules| *joules > 0.0)
}

/// The integral of a series over the window, interpolated linearly between samples.
fn integral(series: &[(Nanos, f64)], window: (Nanos, Nanos)) -> Option<f64> {
    let ends = [window.0, window.1].map(|at| Some((at, between(series, at)?)));
    let [Some(first), Some(last)] = ends else { return None };
    let inner = series.iter().copied().filter(|(at, _)| window.0 < *at && *at < window.1);
    let points: Vec<(Nanos, f64)> =
        std::iter::once(first).chain(inner).chain(std::iter::once(last)).collect();
    let trapezoid =
        |pair: &[(Nanos, f64)]| (pair[0].1 + pair[1].1) / 2.0 * pair[1].0.seconds_after(pair[0].0);
    Some(points.windows(2).map(trapezoid).sum())
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
