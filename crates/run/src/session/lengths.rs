//! Chooses the lengths of the requests of a run from the speed of its server.

use std::time::Duration;

use inferometer_model::CellPlan;

use super::RunRequest;
use super::prepare::equip::{equip, if_interrupted};
use super::prepare::{CheckedPlan, overhead};
use crate::{Network, RunError, Servers, pass::event_loops::EventLoops, target::reach};

/// The input and output lengths that are tried, from the shortest request on.
const LENGTHS: [(u32, u32); 5] = [(32, 8), (64, 16), (128, 32), (256, 64), (512, 128)];

/// The lengths of the requests of a run, and the time that one of these requests took alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChosenLengths {
    /// The lengths.
    pub cell: CellPlan,
    /// The time of a request alone; absent if none completed.
    pub alone: Option<Duration>,
    /// The time that the choice took.
    pub taken: Duration,
}

/// A request alone may take this share of the time of the run. A sweep in little time waits for about a dozen requests
/// alone and, at each of three or four higher loads, for six requests in a row, which take longer there.
const SHARE_ALONE: u32 = 120;

/// Sends single requests, each about twice as long as the last, and returns the largest lengths for which `budget` is
/// enough, and whose requests have at most `most_tokens` tokens. If it is enough for none, returns the shortest lengths.
/// The plan sets only how requests are sent. These requests are not recorded.
///
/// # Errors
/// When the server cannot be reached, or the user interrupts the run.
pub fn choose_lengths(
    request: RunRequest<'_>,
    servers: &mut Servers,
    budget: Duration,
    most_tokens: u64,
) -> Result<ChosenLengths, RunError> {
    let RunRequest { plan, context, .. } = request;
    let net = EventLoops::of(plan).map_err(RunError::Sockets)?;
    let CheckedPlan { tokenizer, outputs, .. } = CheckedPlan::of(request)?;
    let equipped = equip(net, request, servers, outputs.folder(), tokenizer, |servers, start| {
        reach::prepare(plan, context, servers, start)
    })?;
    let mut runner = equipped.runner;
    // The time until the server is ready does not count.
    let began = runner.net.now();
    runner.ends = Some(began + budget);
    let longest = budget / SHARE_ALONE;
    let cells =
        LENGTHS.map(|(input_length, output_length)| CellPlan { input_length, output_length });
    let (mut chosen, mut alone) = (cells[0], None);
    for cell in cells.into_iter().filter(|cell| cell.tokens() <= most_tokens) {
        let took = overhead::time_of(&mut runner, plan, &equipped.prompts, cell);
        let took = took.map_err(|error| if_interrupted(request, error))?;
        if runner.interrupted() {
            return Err(RunError::Interrupted("anything was measured"));
        }
        let fits = took.is_some_and(|took| took <= longest);
        if fits || alone.is_none() {
            (chosen, alone) = (cell, took);
        }
        if !fits {
            break;
        }
    }
    context.host.interrupt.wakes(None);
    Ok(ChosenLengths { cell: chosen, alone, taken: runner.net.now().since(began) })
}
