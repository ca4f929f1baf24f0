//! The blocks of a comparison: two runs are open at the same time and take turns, one block each. Makes
//! no decision: [`inferometer_analysis::ab`] does.

use inferometer_analysis::ab::{Ab, Block, NextStep, Side};
use inferometer_analysis::compare::Condition;
use inferometer_model::{CellPlan, Nanos, PassPlan, StopReason};
use inferometer_net::wall_clock_ns;
use inferometer_report::progress::PairEnded;
use inferometer_store::Store;

use super::{Finished, RunRequest, Session, prepare};
use crate::{Event, Network, RunError, Servers, pass::event_loops::EventLoops, target::reach};

/// Two runs of a comparison that have ended, complete or not.
pub struct Pairs {
    /// The runs, A first, each with the reason if it stopped early; an error for a run without results. If a run
    /// stopped because the other run could not continue, only the other run has the reason.
    pub runs: [Result<(Finished, Option<RunError>), RunError>; 2],
    /// The blocks of each run.
    pub blocks: [Vec<Block>; 2],
}

/// How the runs of a comparison are carried out.
#[derive(Clone, Copy)]
pub struct Pairing<'a> {
    /// Whether the two sides get different prompts, because both send their requests to one server, which may cache
    /// prompts.
    pub different_prompts: bool,
    /// The salt of the random order of blocks.
    pub order_salt: &'a str,
    /// The gate: conditions on the differences between the sides.
    pub gate: &'a [Condition],
}

/// Carries out both runs of a comparison; their plans differ only in their servers.
///
/// # Errors
/// When nothing could be measured.
pub fn carry_out_pairs(
    sides: [RunRequest<'_>; 2],
    servers: &mut [Servers; 2],
    pairing: Pairing<'_>,
) -> Result<Pairs, RunError> {
    let [of_a, of_b] = servers;
    // Both sides have almost the same plan, so most lines before the first block would be printed twice.
    let events = sides[0].events.without_repeated_introduction();
    let sides = sides.map(|side| RunRequest { events: &events, ..side });
    let pairs = prepare_side(sides[0], of_a).and_then(|a| match prepare_side(sides[1], of_b) {
        Ok(b) => run_pairs([a, b], pairing),
        Err(error) => {
            discard(a);
            Err(error)
        }
    });
    sides[0].context.host.interrupt.wakes(None);
    sides[0].events.emit(Event::Closed);
    pairs
}

/// Prepares a run up to its warm-up.
fn prepare_side<'a>(
    request: RunRequest<'a>,
    servers: &'a mut Servers,
) -> Result<Session<'a, EventLoops>, RunError> {
    let RunRequest { plan, context, .. } = request;
    let net = EventLoops::of(plan).map_err(RunError::Sockets)?;
    let session = prepare::prepare(net, request, servers, |servers, start| {
        reach::prepare(plan, context, servers, start)
    })?;
    let folder = session.outputs.of(session.recording.run());
    let kept = folder.and_then(|folder| session.servers.keep_files_in(&folder));
    match kept {
        Ok(()) => Ok(session),
        Err(error) => {
            discard(session);
            Err(error)
        }
    }
}

/// Ends a run before its first block, because this run or the other run could not begin, and removes it from the store:
/// it has no records, and must not become the latest run.
fn discard(session: Session<'_, EventLoops>) {
    let (path, run) = (session.request.context.store.clone(), session.recording.run().clone());
    // The log is locked as long as the session exists.
    drop(session);
    let removed = Store::open_existing(&path).and_then(|mut store| {
        let runs = store.runs()?;
        let row = runs.iter().find(|row| row.id == run);
        row.map(|row| store.remove(row, wall_clock_ns() as i64)).transpose()
    });
    // A run that cannot be removed is listed as killed. The error of the comparison is reported in any case.
    let _ = removed;
}

/// Warms up both servers and measures the blocks. The time limit starts here. It includes the warm-ups of both servers,
/// the blocks, the pauses, and the generation of prompts.
fn run_pairs(
    mut sessions: [Session<'_, EventLoops>; 2],
    pairing: Pairing<'_>,
) -> Result<Pairs, RunError> {
    let most = sessions[0].request.plan.procedure.ab().and_then(|ab| ab.max_time);
    let ends = most.map(|most| sessions[0].runner.net.now() + most);
    if let Err(error) = sessions.iter_mut().try_for_each(|session| session.warm_up_until(ends)) {
        sessions.into_iter().for_each(discard);
        return Err(error);
    }
    let failed = alternate(&mut sessions, pairing, ends);
    let blocks = sessions.each_mut().map(|session| std::mem::take(&mut session.grid.blocks));
    // If the user interrupts while one report is written, the other report is still written.
    let mut runs = sessions.map(Session::finish_as_far);
    if let Some(side) = failed
        && let Ok((_, stopped)) = &mut runs[1 - side.index()]
    {
        // The run of the failed side states the reason for both.
        *stopped = None;
    }
    Ok(Pairs { runs, blocks })
}

/// Measures pair after pair until the procedure ends, the time limit ends a block, a run cannot continue, or the user
/// interrupts the runs. Returns the side that could not continue, if there is one.
fn alternate(
    sessions: &mut [Session<'_, EventLoops>; 2],
    pairing: Pairing<'_>,
    ends: Option<Nanos>,
) -> Option<Side> {
    let RunRequest { plan, context, events } = sessions[0].request;
    let (Some(ab), [cell]) = (plan.procedure.ab(), plan.cells.as_slice()) else { return None };
    let passes = plan.passes_of(*cell);
    let [pass] = passes.as_slice() else { return None };
    let of_block = u64::from(pass.requests().unwrap_or(0));
    let seeds = (plan.seed, pairing.order_salt);
    let mut procedure = Ab::new(ab, of_block, plan.repeat.at_most, seeds).with_gate(pairing.gate);
    while let NextStep::Pair { number, order } = procedure.next() {
        for side in order {
            let session = &mut sessions[side.index()];
            context.host.interrupt.wakes(Some(session.runner.net.waker()));
            if !session.block(*cell, number, pass, ends) {
                let why = session.broken.clone()?;
                // The other run has fewer blocks than planned, so it is not complete either.
                let other = &mut sessions[1 - side.index()].broken;
                other.get_or_insert(format!("the run of the other side could not continue: {why}"));
                return Some(side);
            }
        }
        let same = sessions[0].workload_hash.hash() == sessions[1].workload_hash.hash();
        if !same && !pairing.different_prompts {
            let why = "the two servers did not get the same requests: they count tokens \
                       differently, or differ in `extra_body`; give one --tokenizer for both";
            sessions.iter_mut().for_each(|session| session.broken = Some(why.to_owned()));
            return None;
        }
        let last = |side: Side| sessions[side.index()].grid.blocks.last();
        let (a, b) = (last(Side::A)?, last(Side::B)?);
        procedure.add_pair([a, b]);
        events.emit(Event::PairEnded(&PairEnded::new(ab, &procedure, [a, b])));
    }
    None
}

impl Session<'_, EventLoops> {
    /// Warms up the server, until the instant `ends` at the latest.
    fn warm_up_until(&mut self, ends: Option<Nanos>) -> Result<(), RunError> {
        let RunRequest { plan, context, .. } = self.request;
        context.host.interrupt.wakes(Some(self.runner.net.waker()));
        self.runner.ends = ends;
        let warm = plan.cells.iter().try_for_each(|&cell| {
            let place = self.place_of_warm_up(cell);
            self.warm_up(cell, place)
        });
        self.runner.ends = None;
        warm
    }

    /// Measures a block, which ends at the instant `ends` at the latest. Returns whether the comparison can
    /// continue.
    fn block(&mut self, cell: CellPlan, number: u32, pass: &PassPlan, ends: Option<Nanos>) -> bool {
        let before = self.grid.blocks.len();
        self.runner.ends = ends;
        let played = self.rest().and_then(|()| self.pass(cell, number, pass));
        self.runner.ends = None;
        if let Err(error) = played {
            self.broken = Some(error.to_string());
        }
        if self.is_stopped() {
            return false;
        }
        if let Some(how) = self.server_died(cell, pass) {
            self.broken = Some(format!("pair {number}: {how}"));
            return false;
        }
        let last = self.grid.passes_of(cell).last().and_then(|pass| pass.stopped);
        if last == Some(StopReason::MaxTime) {
            return false;
        }
        if self.grid.blocks.len() == before {
            let why =
                format!("pair {number}: requests of a block were not sent, or have no record");
            self.broken = Some(why);
            return false;
        }
        true
    }
}
