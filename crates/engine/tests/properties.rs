//! Properties of the engine that must hold for any requests.

#[path = "support/small.rs"]
mod small;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use inferometer_engine::prefix_cache::block_hashes;
use inferometer_engine::{
    Clients, Engine, EngineConfig, EngineRequest, Finish, Lengths, RequestId, Step, StepKind,
    VirtualRecord, simulate, simulate_with, table,
};
use inferometer_model::cell::CellPlan;
use inferometer_model::load::{AtOnce, Bound, Closed, Level, Open};
use inferometer_model::time::Nanos;
use proptest::prelude::*;
use small::{
    small_engine, small_engine_ahead, small_engine_of_today, small_engine_of_windows,
    small_engine_windowed, stepped,
};

#[derive(Clone, Copy, Debug)]
enum Action {
    Add { prompt: u32, output: u32, family: u32 },
    Abort { nth: u64 },
    Steps { count: u32 },
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        4 => (1_u32..1000, 1_u32..300, 0_u32..4)
            .prop_map(|(prompt, output, family)| Action::Add { prompt, output, family }),
        1 => (0_u64..40).prop_map(|nth| Action::Abort { nth }),
        3 => (1_u32..60).prop_map(|count| Action::Steps { count }),
    ];
    prop::collection::vec(action, 1..40)
}

/// Observes an engine from outside and checks every step against the requests.
struct Witness {
    engine: Engine,
    /// Requests in the engine: prompt tokens, requested output tokens, output tokens so far.
    open: BTreeMap<RequestId, (u32, u32, u32)>,
    started: BTreeSet<RequestId>,
    ended: u64,
    tokens: u64,
    added: u64,
}

impl Witness {
    fn new(engine: Engine) -> Self {
        let (open, started) = (BTreeMap::new(), BTreeSet::new());
        Self { engine, open, started, ended: 0, tokens: 0, added: 0 }
    }

    fn act(&mut self, action: Action) -> Vec<Step> {
        match action {
            Action::Add { prompt, output, family } => {
                let id = RequestId(self.added);
                // Two prompts of a family have a common prefix: the whole shorter prompt.
                let tokens: Vec<u32> = (0..prompt).map(|at| at * 4 + family).collect();
                let lengths = Lengths::from((prompt, output));
                let block_hashes = block_hashes(&tokens, 16);
                self.engine.add(id, EngineRequest { lengths, block_hashes });
                self.open.insert(id, (prompt, output, 0));
                self.added += 1;
                Vec::new()
            }
            Action::Abort { nth } => {
                self.engine.abort(RequestId(nth));
                self.open.remove(&RequestId(nth));
                Vec::new()
            }
            Action::Steps { count } => (0..count).map_while(|_| self.step()).collect(),
        }
    }

    fn step(&mut self) -> Option<Step> {
        let step = self.engine.step()?;
        let stats = self.engine.stats();
        assert!(stats.kv_blocks_used <= stats.kv_blocks_total);
        for output in &step.outputs {
            let (prompt, asked, so_far) = self.open[&output.id];
            if output.finished == Some(Finish::Ignored) {
                assert_eq!(output.tokens_so_far, so_far);
            } else {
                assert_eq!(output.tokens_so_far, so_far + 1, "one token per step");
                self.tokens += 1;
                self.first_come_first_served(output.id);
            }
            match output.finished {
                None => assert!(output.tokens_so_far < asked),
                Some(Finish::Length) => assert_eq!(output.tokens_so_far, asked),
                Some(Finish::Stop) => {
                    let config = self.engine.config();
                    let beyond = u32::from(config.profile.engine_version.starts_with("0.2."));
                    let most = config.limits.max_model_len + beyond;
                    assert_eq!(prompt + output.tokens_so_far, most);
                }
                Some(Finish::Ignored) => {}
            }
            self.open.insert(output.id, (prompt, asked, output.tokens_so_far));
            if output.finished.is_some() {
                self.open.remove(&output.id);
                self.ended += 1;
            }
        }
        let running = self.engine.stats().running;
        assert!(running <= self.engine.config().limits.max_num_seqs);
        assert_eq!(running + stats.waiting, self.open.len() as u32, "no request is lost");
        Some(step)
    }

    /// A request gets its first token only after all earlier requests have got their first token or have ended.
    fn first_come_first_served(&mut self, id: RequestId) {
        self.started.insert(id);
        let earlier = self.open.range(..id).map(|(id, _)| id);
        for earlier in earlier {
            assert!(self.started.contains(earlier), "{id:?} overtook {earlier:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_load_leaves_no_request_starved_or_overtaken_and_no_kv_block_in_use(
        actions in actions(),
        max_num_seqs in 1_u32..12,
    ) {
        let mut witness = Witness::new(small_engine(max_num_seqs));
        for action in actions {
            witness.act(action);
        }
        while witness.step().is_some() {}
        prop_assert!(witness.open.is_empty(), "starved: {:?}", witness.open);
        let stats = witness.engine.stats();
        prop_assert_eq!(stats.kv_blocks_used, 0);
        prop_assert_eq!(stats.generation_tokens, witness.tokens);
    }

    #[test]
    fn chunked_prompts_with_prefix_caching_leave_no_request_starved_and_no_kv_block_in_use(
        actions in actions(),
        max_num_seqs in 1_u32..12,
        budget in 12_u32..400,
    ) {
        for engine in
            [small_engine_of_today, small_engine_ahead, small_engine_windowed, small_engine_of_windows]
        {
            let mut witness = Witness::new(engine(max_num_seqs, budget));
            for &action in &actions {
                witness.act(action);
            }
            while witness.step().is_some() {}
            prop_assert!(witness.open.is_empty(), "starved: {:?}", witness.open);
            let stats = witness.engine.stats();
            prop_assert_eq!(stats.kv_blocks_used, 0);
            prop_assert_eq!(stats.generation_tokens, witness.tokens);
            prop_assert!(stats.prefix_hits <= stats.prefix_queries);
        }
    }

    #[test]
    fn the_same_requests_take_the_same_steps(actions in actions()) {
        let play = || {
            let mut witness = Witness::new(small_engine(8));
            actions.iter().flat_map(|&action| witness.act(action)).collect::<Vec<_>>()
        };
        prop_assert_eq!(play(), play());
    }
}

#[test]
fn memory_pressure_preempts_sequences_and_an_abort_frees_their_blocks() {
    let mut engine = small_engine(8);
    for id in 0..8 {
        engine.add(RequestId(id), (100, 200));
    }
    for _ in 0..150 {
        engine.step().unwrap();
    }
    assert!(engine.stats().preemptions > 0);
    for id in 0..8 {
        engine.abort(RequestId(id));
        engine.abort(RequestId(id));
    }
    let stats = engine.stats();
    assert_eq!((stats.running, stats.waiting, stats.kv_blocks_used), (0, 0, 0));
    assert_eq!(engine.step(), None);
}

#[test]
fn output_stops_at_the_engines_length_limit() {
    let mut engine = Engine::new(EngineConfig::of_model("qwen-14b").unwrap()).unwrap();
    engine.add(RequestId(0), (1024, 2048));
    let last = std::iter::from_fn(|| engine.step()).last().unwrap().outputs[0];
    assert_eq!((last.tokens_so_far, last.finished), (1025, Some(Finish::Stop)));
}

#[test]
fn a_prompt_above_the_length_limit_is_ignored_in_a_step_of_zero_duration() {
    let mut engine = Engine::new(EngineConfig::of_model("qwen-14b").unwrap()).unwrap();
    engine.add(RequestId(7), (2049, 10));
    let step = engine.step().unwrap();
    assert_eq!((step.duration.as_nanos(), step.kind), (0, StepKind::Prompt));
    assert_eq!(step.outputs[0].finished, Some(Finish::Ignored));
    assert_eq!(engine.step(), None);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn skipping_equal_steps_gives_the_same_nanoseconds_as_single_steps(
        requests in prop::collection::vec((0_u64..4_000_000_000, 1_u32..900, 1_u32..400), 1..30),
        max_num_seqs in 1_u32..12,
    ) {
        let mut at = 0;
        let arrivals: Vec<_> = requests
            .iter()
            .map(|&(gap, prompt, output)| {
                at += gap;
                (at, prompt, output)
            })
            .collect();
        let today = |sequences| small_engine_of_today(sequences, 300);
        let ahead = |sequences| small_engine_ahead(sequences, 300);
        let windowed = |sequences| small_engine_windowed(sequences, 300);
        let windows = |sequences| small_engine_of_windows(sequences, 300);
        let engines: [&dyn Fn(u32) -> Engine; 5] =
            [&small_engine, &today, &ahead, &windowed, &windows];
        for engine in engines {
            let (mut one, mut other) = (engine(max_num_seqs), engine(max_num_seqs));
            let expected = stepped(&mut one, &arrivals);
            let due = arrivals.clone().into_iter().map(|arrival| Nanos(arrival.0));
            let bound = Bound::requests(arrivals.len() as u32);
            let mut lengths = arrivals.iter().map(|arrival| (arrival.1, arrival.2));
            let found = simulate(&mut other, &mut Open::new(due, bound), &mut lengths);
            prop_assert_eq!(found, expected);
            prop_assert_eq!(one.stats(), other.stats());
        }
    }
}

#[test]
fn most_steps_of_a_long_output_can_be_skipped() {
    let mut engine = chatglm();
    engine.add(RequestId(0), (100, 1000));
    engine.step().expect("a prompt step");
    assert_eq!(engine.steady_steps(std::time::Duration::MAX).map(|it| it.steps), Some(998));
    assert!(
        engine.steady_steps(std::time::Duration::MAX).is_none(),
        "the last step ends a sequence"
    );
}

fn chatglm() -> Engine {
    let config = EngineConfig::of_model("chatglm3-6b").expect("a known model");
    Engine::new(config).expect("its defaults run")
}

#[test]
fn one_by_one_requests_follow_each_other_without_a_gap() {
    let mut load = Closed::new(&Level::Constant(1.0), Bound::requests(5));
    let records = simulate(&mut chatglm(), &mut load, &mut std::iter::repeat((128, 32)));
    assert_eq!(records.len(), 5);
    assert!(records.windows(2).all(|pair| pair[1].due == pair[0].ended));
    let latency = |record: &VirtualRecord| record.ended.since(record.sent);
    assert!(records.iter().all(|record| latency(record) == latency(&records[0])));
    assert!(records[0].first_token.unwrap() < records[0].last_token.unwrap());
}

#[test]
fn an_idle_engine_waits_for_the_next_arrival() {
    let arrivals = [0, 3_000_000_000_000, 3_000_000_000_001].into_iter().map(Nanos);
    let mut load = Open::new(arrivals, Bound::requests(3));
    let records = simulate(&mut chatglm(), &mut load, &mut std::iter::repeat((128, 4)));
    assert!(records[0].ended < records[1].due);
    assert_eq!(records[1].due, Nanos(3_000_000_000_000));
    // The third request arrives during the prompt step of the second, and takes part in the next step.
    assert!(records[2].first_token > records[1].first_token);
    assert!(records[2].first_token < Some(records[1].ended));
}

#[test]
fn a_request_beyond_the_in_flight_limit_waits_until_another_ends() {
    let arrivals = [0, 1_000, 2_000].into_iter().map(Nanos);
    let mut load = Open::new(arrivals, Bound::requests(3));
    let mut lengths = std::iter::repeat((128, 4));
    let limits = Clients { in_flight: Some(1), ..Clients::default() };
    let records =
        simulate_with(&mut chatglm(), &mut load, &mut lengths, limits, |_| ControlFlow::Break(()));
    assert_eq!(records[0].sent, Nanos(0));
    assert_eq!((records[1].due, records[1].sent), (Nanos(1_000), records[0].ended));
    assert_eq!((records[2].due, records[2].sent), (Nanos(2_000), records[1].ended));
}

#[test]
fn a_request_beyond_the_limit_in_prefill_waits_until_another_has_its_first_token() {
    let limits = |most| Clients { in_prefill: Some(most), ..Clients::default() };
    let simulated =
        |most| {
            let mut lengths = std::iter::repeat((128, 4));
            let (mut engine, mut load) = (chatglm(), AtOnce::new(5));
            simulate_with(&mut engine, &mut load, &mut lengths, limits(most), |_| {
                ControlFlow::Break(())
            })
        };
    let one = simulated(1);
    for (earlier, later) in one.iter().zip(&one[1..]) {
        assert_eq!((later.due, Some(later.sent)), (Nanos(0), earlier.first_token));
    }
    let all: Vec<Nanos> = simulated(5).iter().map(|record| record.sent).collect();
    assert_eq!(all, [Nanos(0); 5]);
}

#[test]
fn no_request_starts_after_the_given_lengths_are_used_up() {
    let mut lengths = [(10, 3), (20, 4)].into_iter();
    let records = simulate(&mut chatglm(), &mut AtOnce::new(10), &mut lengths);
    let seen: Vec<_> = records.iter().map(|record| (record.prompt, record.output)).collect();
    assert_eq!(seen, [(10, 3), (20, 4)]);
}

#[test]
fn the_columns_of_a_predicted_row_are_consistent() {
    let cell = CellPlan { input_length: 128, output_length: 64 };
    let config = EngineConfig::of_model("chatglm3-6b").unwrap();
    let row = table(&config, cell, 2, 50).unwrap();
    assert!((row.output_tokens_per_s / row.requests_per_s - 64.0).abs() < 1e-9);
    let ratio = row.latency_per_output_token_ms.unwrap() / row.latency_per_token_ms.unwrap();
    assert!((ratio - 192.0 / 64.0).abs() < 1e-9);
}
