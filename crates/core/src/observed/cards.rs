//! What the cards of the server's machine did during a pass, and the energy that it took. Never
//! guesses: a card that does not say what it draws has no energy.

use serde::{Deserialize, Serialize};

use super::server::Level;
use super::{CardSample, Observed};
use crate::time::Nanos;

/// What the cards did during a pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HardwareUse {
    /// Card by card.
    pub cards: Vec<CardUse>,
    /// Of all cards together; absent where one of them does not say what it draws.
    pub energy_j: Option<f64>,
    /// `energy_j` / output tokens of the completed requests.
    pub energy_per_output_token_j: Option<f64>,
    /// `energy_j` / completed requests.
    pub energy_per_request_j: Option<f64>,
}

/// What one card did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CardUse {
    /// Which of the machine's cards.
    pub index: u32,
    /// Share of the time in which it was at work.
    pub utilisation: Option<Level>,
    /// Watts.
    pub power_w: Option<Level>,
    /// Clock of its processors.
    pub clock_mhz: Option<Level>,
    /// The most memory in use.
    pub memory_bytes: Option<u64>,
    /// Joules, from the first send of the pass to its last end.
    pub energy_j: Option<f64>,
    /// Where the joules come from.
    pub energy_from: Option<Energy>,
}

/// Where joules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Energy {
    /// The card's own counter.
    Counter,
    /// Its power, summed up between samples.
    Power,
}

impl HardwareUse {
    /// Over a pass whose first byte was sent and whose last answer ended at `window`.
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
        if indices.is_empty() {
            return None;
        }
        let cards: Vec<CardUse> =
            indices.into_iter().map(|index| card_use(observed, index, window)).collect();
        let energy_j = cards.iter().map(|card| card.energy_j).sum::<Option<f64>>();
        let per = |count: u64| energy_j.filter(|_| count > 0).map(|energy| energy / count as f64);
        Some(Self {
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
    let within: Vec<&CardSample> = all
        .iter()
        .filter(|(at, _)| window.0 <= *at && *at <= window.1)
        .map(|(_, card)| *card)
        .collect();
    let level =
        |of: fn(&CardSample) -> Option<f64>| Level::of(within.iter().filter_map(|card| of(card)));
    let series = |of: fn(&CardSample) -> Option<f64>| -> Vec<(Nanos, f64)> {
        all.iter().filter_map(|(at, card)| Some((*at, of(card)?))).collect()
    };
    let counted = counted(&series(|card| card.energy_j), window);
    let energy = counted.map(|joules| (joules, Energy::Counter)).or_else(|| {
        integral(&series(|card| card.power_w), window).map(|joules| (joules, Energy::Power))
    });
    CardUse {
        index,
        utilisation: level(|card| card.utilisation),
        power_w: level(|card| card.power_w),
        clock_mhz: level(|card| card.clock_mhz),
        memory_bytes: all.iter().filter_map(|(_, card)| card.memory_bytes).max(),
        energy_j: energy.map(|(joules, _)| joules),
        energy_from: energy.map(|(_, from)| from),
    }
}

/// How far a counter came within the window, by straight lines between its samples.
fn counted(series: &[(Nanos, f64)], window: (Nanos, Nanos)) -> Option<f64> {
    let [from, until] = [window.0, window.1].map(|at| between(series, at));
    Some(until? - from?).filter(|joules| *joules >= 0.0)
}

/// The integral over the window, by straight lines between samples.
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

/// The value at an instant by a straight line between the samples around it; nothing outside.
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
