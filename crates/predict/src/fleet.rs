//! How many servers carry a load within its objectives, and the chance that they do. The load of one server is found by a
//! predicted search; its range is that of the model, so all servers of a kind are as fast or as slow together.

use inferometer_analysis::{SearchAnswer, trials::Trials};
use inferometer_engine::EngineConfig;
use inferometer_model::stats::normal_below;
use inferometer_plan::Plan;
use inferometer_run::{Context, RunError};

use crate::{player::Player, ranges_of_answers::ranges_of_answers};

/// The standard deviations from the middle of a range of 90 % to its ends.
const ENDS: f64 = 1.644_853_6;
/// The most servers of one kind.
const MOST_SERVERS: u32 = 10_000;

/// The highest load of one server that meets the objectives, in requests per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// The predicted load.
    pub best: f64,
    /// The ends of its range of 90 %. The lower one is 0 if the slowest server that the model allows meets the objectives
    /// at no load; the upper one is absent if no load was found that the fastest one misses.
    pub range: (f64, Option<f64>),
    /// Whether measured rows of such servers support the range.
    pub is_calibrated: bool,
    /// The objective that is missed first.
    pub limited_by: Vec<String>,
    /// The tokens of a request: of its prompt and of its answer.
    pub tokens: (u32, u32),
}

/// Finds the capacity of a server; `None` if it meets the objectives at no load.
///
/// # Errors
/// If the plan has no search or not exactly one cell, or cannot be simulated.
pub fn capacity(
    plan: &Plan,
    context: &Context,
    config: &EngineConfig,
) -> Result<Option<Capacity>, RunError> {
    let [cell] = plan.cells[..] else {
        return Err(RunError::plan("give one input length and one output length"));
    };
    let mut player = Player::new(plan, context, config.clone())?;
    let trials = player.cell(cell, &mut |_, _| Ok(()))?;
    let ranges = ranges_of_answers(plan, context, config, cell, &trials)?;
    let Trials::Search(search) = &trials else {
        return Err(RunError::plan("the plan has no search"));
    };
    let answer = SearchAnswer::of_search(cell, search).pop();
    let found = answer.and_then(|answer| Some((answer.best()?, answer)));
    let Some((best, answer)) = found.filter(|(best, _)| *best > 0.0) else { return Ok(None) };
    let range = ranges.first().map(|(_, _, range)| range);
    Ok(Some(Capacity {
        best,
        range: range.map_or((0.0, None), |range| (range.low, range.high)),
        is_calibrated: range.is_some_and(|range| range.calibrated),
        limited_by: answer.limited_by,
        tokens: (cell.input_length, cell.output_length),
    }))
}

impl Capacity {
    /// The chance, from 0 to 1, that a server meets the objectives at this load: each half of the range is that of a
    /// lognormal distribution.
    pub fn chance(&self, load: f64) -> f64 {
        let (low, high) = self.range;
        let end = if load < self.best { low } else { high.unwrap_or(self.best) };
        let deviation = (end / self.best).ln().abs() / ENDS;
        let distance = (self.best / load).ln();
        if deviation == 0.0 {
            return f64::from(u8::from(distance >= 0.0));
        }
        normal_below(distance / deviation)
    }

    /// The fewest servers that share a load and meet the objectives with at least this chance; `None` if no number does.
    pub fn servers(&self, load: f64, chance: f64) -> Option<u32> {
        let is_enough = |count: u32| self.chance(load / f64::from(count)) >= chance;
        let (mut low, mut high) = (0, MOST_SERVERS);
        if !is_enough(high) {
            return None;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if is_enough(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// How long the objectives are missed after `lost` of `servers` servers failed and new ones are ready after
    /// `start_s` seconds: until the backlog has been worked off. 0 if the others carry the load; `None` if the backlog
    /// is never worked off.
    pub fn recovery_s(&self, load: f64, servers: u32, lost: u32, start_s: f64) -> Option<f64> {
        let of = |servers: u32| self.best * f64::from(servers);
        let missing = load - of(servers.saturating_sub(lost));
        if missing <= 0.0 {
            return Some(0.0);
        }
        let spare = of(servers) - load;
        (spare > 0.0).then(|| start_s + missing * start_s / spare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(low: f64, high: f64) -> Capacity {
        let (range, limited_by) = ((low, Some(high)), Vec::new());
        Capacity { best: 10.0, range, is_calibrated: true, limited_by, tokens: (1, 1) }
    }

    #[test]
    fn the_chance_is_that_of_the_range_and_the_servers_are_the_fewest_with_it() {
        let wide = capacity(8.0, 15.0);
        for (load, chance) in [(8.0, 0.95), (10.0, 0.5), (15.0, 0.05), (4.0, 1.0), (60.0, 0.0)] {
            assert!((wide.chance(load) - chance).abs() < 1e-3, "{load}: {}", wide.chance(load));
        }
        for (load, chance, servers) in
            [(80.0, 0.5, 8), (80.0, 0.95, 10), (80.1, 0.95, 11), (1.0, 0.9, 1), (100.0, 0.05, 7)]
        {
            assert_eq!(wide.servers(load, chance), Some(servers), "{load} at {chance}");
        }
        // A server that may meet the objectives at no load promises nothing.
        assert_eq!(capacity(0.0, 15.0).servers(1.0, 0.9), None);
        // Without a range only the middle decides.
        let sure = capacity(10.0, 10.0);
        assert_eq!((sure.servers(20.0, 0.99), sure.servers(20.1, 0.99)), (Some(2), Some(3)));
    }

    #[test]
    fn after_a_failure_the_backlog_is_worked_off_by_what_all_servers_can_do_more() {
        let one = capacity(8.0, 15.0);
        // 4 servers carry 40; 3 carry 30 of 36, so 6 a second wait for 60 s, and then 4 a second are worked off.
        assert_eq!(one.recovery_s(36.0, 4, 1, 60.0), Some(60.0 + 90.0));
        assert_eq!(one.recovery_s(30.0, 4, 1, 60.0), Some(0.0));
        assert_eq!(one.recovery_s(40.0, 4, 1, 60.0), None);
    }
}
