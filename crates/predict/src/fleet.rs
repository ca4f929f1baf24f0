//! How many servers carry a load within its objectives, and the chance that they do. The load of one server is found by a
//! predicted search; its range is that of the model, so all servers of a kind are as fast or as slow together.

use inferometer_analysis::{SearchAnswer, trials::Trials};
use inferometer_engine::EngineConfig;
use inferometer_model::stats::normal_below;
use inferometer_plan::{Plan, search::Over};
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
    /// The lower end of its range of 90 %. 0 if the slowest server that the model allows meets the objectives at no load,
    /// or if nothing is known of it.
    pub low: f64,
    /// The upper end; absent if no load was found that the fastest server misses.
    pub high: Option<f64>,
    /// Whether measured rows of such servers support the range.
    pub is_calibrated: bool,
    /// The objective that is missed first.
    pub limited_by: Vec<String>,
    /// The profile of the engine that was simulated.
    pub profile: String,
    /// The tokens of a request, of its prompt and of its answer; absent if each request has its own lengths.
    pub tokens: Option<(u32, u32)>,
}

/// Finds the capacity of a server.
///
/// # Errors
/// If the plan is no search over the rate of requests with one cell and one set of objectives, cannot be simulated, or
/// finds no load that meets the objectives.
pub fn capacity(
    plan: &Plan,
    context: &Context,
    config: &EngineConfig,
) -> Result<Capacity, RunError> {
    let [cell] = plan.cells[..] else {
        return Err(RunError::plan("give one input length and one output length"));
    };
    let is_of_requests = plan.procedure.search().is_some_and(|search| search.over == Over::Rate);
    if !is_of_requests {
        return Err(RunError::plan("only a rate of requests can be planned, not of jobs"));
    }
    let mut player = Player::new(plan, context, config.clone())?;
    let trials = player.cell(cell, &mut |_, _| Ok(()))?;
    let ranges = ranges_of_answers(plan, context, config, cell, &trials)?;
    let answers = match &trials {
        Trials::Search(search) => SearchAnswer::of_search(cell, search),
        Trials::Sweep(_) => Vec::new(),
    };
    let Ok([answer]) = <[SearchAnswer; 1]>::try_from(answers) else {
        return Err(RunError::plan("give one set of objectives, not tiers"));
    };
    let Some(best) = answer.best().filter(|best| *best > 0.0) else {
        return Err(RunError::plan(answer.answer));
    };
    let range = ranges.first().map(|(_, _, range)| range);
    let (input, output) = (cell.input_length, cell.output_length);
    Ok(Capacity {
        best,
        low: range.map_or(0.0, |range| if range.low < best { range.low } else { 0.0 }),
        high: range.and_then(|range| range.high).filter(|high| *high > best),
        is_calibrated: range.is_some_and(|range| range.calibrated),
        limited_by: answer.limited_by,
        profile: config.profile.name.clone(),
        tokens: (input > 0 && output > 0).then_some((input, output)),
    })
}

impl Capacity {
    /// The chance, from 0 to 1, that a server meets the objectives at this load: each half of the range is that of a
    /// lognormal distribution. Without an upper end it is as far from the middle as the lower one.
    pub fn chance(&self, load: f64) -> f64 {
        let below = (self.best / self.low).ln();
        let above = self.high.map_or(below, |high| (high / self.best).ln());
        let deviation = if load < self.best { below } else { above } / ENDS;
        normal_below((self.best / load).ln() / deviation)
    }

    /// The fewest servers that share a load and meet the objectives with at least this chance; `None` if no number up to
    /// 10,000 does.
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

    /// The longest time for which the objectives are missed after one of `servers` servers failed and a new one is ready
    /// after `start_s` seconds: until the backlog has been worked off, if no server carries more than the predicted load.
    /// 0 if the others carry the load; `None` if the backlog is never worked off.
    pub fn recovery_s(&self, load: f64, servers: u32, start_s: f64) -> Option<f64> {
        let of = |servers: u32| self.best * f64::from(servers);
        let missing = load - of(servers.saturating_sub(1));
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
        let (high, limited_by) = (Some(high), Vec::new());
        let profile = String::new();
        Capacity { best: 10.0, low, high, is_calibrated: true, limited_by, profile, tokens: None }
    }

    #[test]
    fn the_chance_is_that_of_the_range_and_the_servers_are_the_fewest_with_it() {
        let wide = capacity(8.0, 15.0);
        for (load, chance) in [(8.0, 0.95), (10.0, 0.5), (15.0, 0.05), (4.0, 1.0), (60.0, 0.0)] {
            assert!((wide.chance(load) - chance).abs() < 1e-3, "{load}: {}", wide.chance(load));
        }
        for (load, chance, servers) in
            [(80.0, 0.5, 8), (80.0, 0.949, 10), (81.0, 0.949, 11), (1.0, 0.9, 1), (100.0, 0.05, 7)]
        {
            assert_eq!(wide.servers(load, chance), Some(servers), "{load} at {chance}");
        }
        // A server that may meet the objectives at no load promises nothing.
        assert_eq!(capacity(0.0, 15.0).servers(1.0, 0.9), None);
        // Without an upper end, the lower half counts for both.
        let open = Capacity { high: None, ..capacity(8.0, 15.0) };
        assert!((open.chance(12.5) - 0.05).abs() < 1e-3, "{}", open.chance(12.5));
    }

    #[test]
    fn after_a_failure_the_backlog_is_worked_off_by_what_all_servers_can_do_more() {
        let one = capacity(8.0, 15.0);
        // 4 servers carry 40; 3 carry 30 of 36, so 6 a second wait for 60 s, and then 4 a second are worked off.
        assert_eq!(one.recovery_s(36.0, 4, 60.0), Some(60.0 + 90.0));
        assert_eq!(one.recovery_s(30.0, 4, 60.0), Some(0.0));
        assert_eq!(one.recovery_s(40.0, 4, 60.0), None);
    }
}
