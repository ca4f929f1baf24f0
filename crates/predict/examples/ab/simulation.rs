//! Simulates comparisons of the embedded engine in virtual time with a known result: the speed of the machine drifts,
//! and the second server is slower by a given share. The program's own functions evaluate the records, with `ab` in
//! blocks and with `compare` on alternating whole runs.

use inferometer_analysis::ab::{
    Ab, AbAnswer, AbSide, Block, BlockFold, NextStep, Side, Sides, order,
};
use inferometer_analysis::compare::{Options, RowVerdict, Series, Subject, compare};
use inferometer_engine::records::{PassContext, simulate_pass};
use inferometer_engine::{Engine, EngineConfig, EngineRequest, Noise, NoiseState, lengths};
use inferometer_model::metrics::slo::quantity;
use inferometer_model::{Bound, CellPlan, Nanos, PassPlan, Record, Timeline, load_model};
use inferometer_plan::ab::{AbFigure, AbPlan};

/// The lengths of each request, in tokens.
pub const CELL: CellPlan = CellPlan { input_length: 64, output_length: 16 };
/// The number of requests in flight.
pub const IN_FLIGHT: u32 = 8;
/// The number of requests of a block.
pub const OF_BLOCK: u32 = 32;
/// The number of requests of a whole run, which is the default of `run`.
pub const OF_RUN: u32 = 399;

/// The properties of the machine and of the comparison. Both servers share one noise state.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The noise, in the format of `--noise`.
    pub noise: &'a str,
    /// The share by which the second server is slower.
    pub slower: f64,
    /// The figure that decides the comparison.
    pub figure: &'a str,
    /// The number of requests of a block.
    pub of_block: u32,
}

impl<'a> World<'a> {
    /// A machine whose servers are compared by throughput, in blocks of the usual size.
    pub fn new(noise: &'a str, slower: f64) -> Self {
        Self { noise, slower, figure: "output_tokens_per_s", of_block: OF_BLOCK }
    }
}

/// A machine with both servers. Its noise and its clock continue from pass to pass.
pub struct Machine {
    config: EngineConfig,
    noise: Option<NoiseState>,
    slower: f64,
    /// The end of the last pass.
    now: Nanos,
}

impl Machine {
    pub fn new(world: World<'_>, seed: u64) -> Self {
        let noise = Noise::parse(world.noise).expect("a noise").or_seed(seed);
        let config = EngineConfig::of_model("chatglm3-6b").expect("a model");
        let config = EngineConfig { noise: Some(noise), ..config };
        Self { config, noise: None, slower: world.slower, now: Nanos::ZERO }
    }

    /// The records of a pass on one of the servers, on the machine's clock.
    fn pass(&mut self, side: Side, pass: &PassPlan, number: u32) -> Vec<Record> {
        let engine = Engine::new(self.config.clone()).expect("a configuration");
        let mut engine = engine.with_noise_of(self.noise.take());
        let place = PassContext {
            cell: CELL,
            pass,
            number,
            streamed: true,
            leavers: None,
            in_prefill: None,
        };
        let mut load = load_model(pass, u64::from(number));
        let requests = pass.requests().expect("a number");
        let mut asked = lengths(CELL, None, requests).map(EngineRequest::from);
        let simulated = simulate_pass(&mut engine, &mut *load, &mut asked, place);
        self.noise = engine.noise().cloned();
        let times = if side == Side::B { 1.0 + self.slower } else { 1.0 };
        let records: Vec<Record> =
            simulated.records(place).map(|one| stretched(one, times).later(self.now)).collect();
        self.now = records.iter().filter_map(|one| one.ended).max().unwrap_or(self.now);
        records
    }

    fn block(&mut self, side: Side, plan: &AbPlan, pass: &PassPlan, number: u32) -> Block {
        let mut fold = BlockFold::new(pass, plan, number);
        self.pass(side, pass, number).iter().for_each(|record| fold.add(&Timeline::new(record)));
        fold.finish().expect("the block was simulated to its end")
    }
}

/// Converts a record to the record of a server on which everything takes `times` times as long.
fn stretched(mut record: Record, times: f64) -> Record {
    let slow = |instant: &mut Nanos| instant.0 = (instant.0 as f64 * times).round() as u64;
    slow(&mut record.due);
    let instants = [
        &mut record.picked, &mut record.send_start, &mut record.sent, &mut record.headers,
        &mut record.ended,
    ];
    instants.into_iter().flatten().for_each(slow);
    for read in &mut record.reads {
        read.kernel.iter_mut().for_each(slow);
        slow(&mut read.user);
        slow(&mut read.empty_before);
    }
    record
}

pub fn plan(uncounted: u32, figure: &str) -> AbPlan {
    let (metric, statistic) = quantity("", figure).expect("a figure");
    AbPlan {
        figures: vec![AbFigure { metric, statistic }],
        minimal_effect: 0.05,
        uncounted,
        max_requests: 10_000,
        max_time: None,
    }
}

/// Simulates a comparison in blocks.
pub fn in_blocks(world: World<'_>, seed: u64) -> AbAnswer {
    let plan = plan(IN_FLIGHT, world.figure);
    let pass = PassPlan::closed(IN_FLIGHT, Bound::requests(world.of_block));
    let salt = seed.to_string();
    let mut machine = Machine::new(world, seed);
    let mut comparison = Ab::new(&plan, u64::from(world.of_block), 1_000, (seed, &salt));
    let mut blocks: [Vec<Block>; 2] = Default::default();
    while let NextStep::Pair { number, order } = comparison.next() {
        for side in order {
            blocks[side.index()].push(machine.block(side, &plan, &pass, number));
        }
        let [a, b] = &blocks;
        comparison.add_pair([&a[a.len() - 1], &b[b.len() - 1]]);
    }
    let side = |name: &str| AbSide { name: name.to_owned(), run_id: String::new() };
    let given = Sides {
        sides: &[side("A"), side("B")],
        one_server: world.slower == 0.0,
        blocks: [&blocks[0], &blocks[1]],
        order: (seed, &salt),
        gate: &[],
        out_of_time: false,
        without_noise: false,
    };
    AbAnswer::of(&plan, (CELL, &pass), 1_000, given)
}

/// Simulates alternating whole runs. Returns whether `compare` judges the second server as worse, after 4, 5, ... up to
/// `most` rounds.
pub fn whole_runs(world: World<'_>, seed: u64, most: usize) -> Vec<bool> {
    let pass = PassPlan::closed(IN_FLIGHT, Bound::requests(OF_RUN));
    let plan = plan(0, world.figure);
    let higher_is_better = plan.figures[0].higher_is_better();
    let mut machine = Machine::new(world, seed);
    let mut values: [Vec<(f64, f64)>; 2] = Default::default();
    for round in 1..=most as u32 {
        for side in order(seed, "runs", round) {
            let block = machine.block(side, &plan, &pass, round);
            let value = block.values[0].expect("a figure");
            values[side.index()].push((value, block.started.0 as f64 / 1e9));
        }
    }
    let subject = |side: Side, rounds: usize| {
        let own = &values[side.index()][..rounds];
        let series = Series {
            cell: Some(CELL),
            load: pass.to_string(),
            figure: world.figure.to_owned(),
            higher_is_better,
            values: own.iter().map(|one| one.0).collect(),
            times_s: own.iter().map(|one| one.1).collect(),
        };
        Subject::of_series("server", vec![series])
    };
    let found = |rounds: usize| {
        let (a, b) = (subject(Side::A, rounds), subject(Side::B, rounds));
        let compared = compare(&a, &b, Options { seed, ..Options::default() });
        let rows = compared.expect("they have a figure in common").rows;
        matches!(rows[0].verdict, RowVerdict::Worse)
    };
    (4..=most).map(found).collect()
}
