//! Compares the complete client with the embedded engine's own records and with its prediction. Everything runs in
//! virtual time over in-memory pipes, so figures must be equal except for rounding errors.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use inferometer_analysis::cell::{Cell, cell};
use inferometer_analysis::fold::PassFold;
use inferometer_analysis::stop::StopWatch;
use inferometer_drive::{Driver, Encoder, Endpoint, Job, Live, Recorder, Watcher};
use inferometer_engine::records::{PassContext, simulate_pass};
use inferometer_engine::serve::{Front, FrontConfig};
use inferometer_engine::{Engine, EngineConfig, EngineRequest, Noise, table};
use inferometer_model::cell::CellPlan;
use inferometer_model::load::{
    Abandon, Bound, LeaveAfter, Leavers, OverLimit, PassPlan, load_model,
};
use inferometer_model::metrics::{RequestFigures, Timeline};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Detail, Record};
use inferometer_model::request::Sampling;
use inferometer_model::source::Prepared;
use inferometer_model::time::Nanos;
use inferometer_net::Net;
use inferometer_net::http::Server;
use inferometer_net::virtual_net::{hosts, run};
use inferometer_plan::Timeouts;
use inferometer_plan::stop::StopPlan;
use inferometer_wire::dialect::dialect;
use inferometer_workload::{OpenWorkload, PromptScope, embedded};

struct Records(Vec<Record>);

impl Recorder for Records {
    fn record(&mut self, record: Record, _text: Option<String>) {
        self.0.push(record);
    }
}

/// The figures of a cell, measured over pipes with a new engine for each pass.
fn measure(config: &EngineConfig, grid_cell: CellPlan, passes: &[PassPlan]) -> Cell {
    let summaries = passes.iter().map(|pass| {
        let mut fold = PassFold::new(pass);
        let records = serve(config, grid_cell, pass, (None, None));
        records.iter().for_each(|record| fold.add(&Timeline::new(record)));
        fold.finish()
    });
    let summaries = summaries.collect();
    cell(grid_cell.input_length, grid_cell.output_length, summaries)
}

/// The records of a pass, measured over pipes with a new engine.
fn serve(
    config: &EngineConfig,
    grid_cell: CellPlan,
    pass: &PassPlan,
    (watcher, leavers): (Option<Watcher>, Option<Leavers>),
) -> Vec<Record> {
    let plan = inferometer_plan::WorkloadPlan::Random;
    let workload = OpenWorkload::open(&plan, embedded(), 1, "salt").expect("a workload");
    let sampling = Sampling {
        temperature: 1.0,
        ignore_eos: true,
        stream: true,
        extra_body: serde_json::Map::new(),
    };
    let count = pass.requests().expect("passes here have a count") as usize;
    let place = PromptScope::new("cell", pass.to_string(), 0);
    let built = workload.requests(grid_cell, &place, count).expect("prompts");
    let mut nets = hosts(2);
    let (mut server_net, client_net) = (nets.remove(1), nets.remove(0));
    let address = server_net.listen("127.0.0.1:0".parse().expect("an address")).expect("free");
    let engine = Engine::new(config.clone()).expect("an engine");
    let front = Front::new(engine, FrontConfig::new("m"), embedded()).expect("a front");
    let mut front = Server::new(front);
    let endpoint = Endpoint {
        dialect: dialect("openai-completions").expect("a dialect"),
        authority: "engine".into(),
        path: "/v1/completions".into(),
        headers: Vec::new(),
        model: "m".into(),
    };
    let source = Box::new(Prepared::new(built.requests));
    let no_timeouts =
        Timeouts { connect: None, first_token: None, between_events: None, total: None };
    let job = Job {
        max_in_prefill: None,
        pass: 0,
        load: load_model(pass, 1),
        stages: pass.stages(),
        encoder: Encoder::new(source, endpoint, sampling.clone(), false),
        servers: inferometer_net::Address::from(address).into(),
        timeouts: no_timeouts,
        planned: pass.requests(),
        max_in_flight: None,
        over_limit: OverLimit::Queue,
        connections_ahead: if count > 20 { count } else { 1 },
        spare_connections: 0,
        reuse_connections: true,
        watcher,
        most_time: None,
        leavers,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let mut driver = Driver::new(job, Records(Vec::new()), Arc::new(Live::default()), stop);
    run(&mut [(&mut driver, client_net), (&mut front, server_net)]);
    let (_, Records(records)) = driver.into_parts();
    records
}

#[test]
fn a_pass_is_ended_early_by_the_same_decision_on_a_server_and_in_virtual_time() {
    let mut config = EngineConfig::of_model("chatglm3-6b").expect("a model");
    config.max_num_seqs = Some(32);
    let grid_cell = CellPlan { input_length: 128, output_length: 32 };
    let rule = StopPlan { when_saturated: true, at_error_rate: None };
    // The engine sustains about 35 requests per second.
    for (rate, is_ended) in [(20.0, false), (70.0, true)] {
        let pass = PassPlan::open(rate, Bound::requests(1_500));
        let watch = StopWatch::of(rule, &pass).expect("a pass at a rate");
        let served = serve(&config, grid_cell, &pass, (Some(Watcher::Stop(watch.clone())), None));
        let mut engine = Engine::new(config.clone()).expect("an engine");
        let asked = EngineRequest::from((grid_cell.input_length, grid_cell.output_length));
        let place = PassContext {
            cell: grid_cell,
            pass: &pass,
            number: 0,
            streamed: true,
            leavers: None,
            in_prefill: None,
        };
        let mut asked = std::iter::repeat(asked);
        let played = simulate_pass(&mut engine, &mut *load_model(&pass, 1), &mut asked, place);
        let played: Vec<Record> = played.records(place).collect();
        let figures: Vec<RequestFigures> =
            played.iter().map(|record| RequestFigures::of(&Timeline::new(record))).collect();
        let ended = watch.stops_at(&figures);
        assert_eq!(ended.is_some(), is_ended, "{rate}");
        let why = |record: &Record| record.detail.as_ref().and_then(Detail::stop_reason);
        assert_eq!(served.len(), 1_500);
        assert_eq!(served.iter().any(|record| why(record).is_some()), is_ended, "{rate}");
        let Some((at, why_ended)) = ended else { continue };
        let first = played.iter().map(|record| record.due).min().expect("records");
        let begun = |record: &&Record| record.send_start.is_some();
        let start = served.iter().filter(begun).map(|record| record.due).min().expect("records");
        let ends = served.iter().filter(|record| why(record) == Some(why_ended) && begun(record));
        let stop = ends.filter_map(|record| record.ended).min().expect("some were in flight");
        // The condition is checked every 50 ms.
        let late_s = stop.seconds_after(start) - at.seconds_after(first);
        assert!((0.0..=0.06).contains(&late_s), "{late_s} s after the condition was met");
    }
}

#[test]
fn the_served_engine_gives_exactly_the_figures_that_it_predicts() {
    let config = EngineConfig::of_model("chatglm3-6b").expect("a model");
    for (input_length, output_length) in [(128, 32), (512, 128)] {
        let grid_cell = CellPlan { input_length, output_length };
        let passes = [PassPlan::one_by_one(Bound::requests(3)), PassPlan::saturated(64)];
        let measured = measure(&config, grid_cell, &passes);
        let predicted = table(&config, grid_cell, 3, 64).expect("a prediction");
        for (name, measured, predicted) in [
            ("requests/s", measured.requests_per_s, Some(predicted.requests_per_s)),
            ("tokens/s", measured.output_tokens_per_s, Some(predicted.output_tokens_per_s)),
            ("ms/token", measured.latency_per_token_ms, predicted.latency_per_token_ms),
            (
                "ms/output token",
                measured.latency_per_output_token_ms,
                predicted.latency_per_output_token_ms,
            ),
        ] {
            let (measured, predicted) = (measured.expect(name), predicted.expect(name));
            let error = (measured / predicted - 1.0).abs();
            assert!(error < 1e-9, "{grid_cell}: {name}: {measured} against {predicted}");
        }
    }
}

/// The clients leave in the queue, in the prefill and while tokens come. The engine frees their requests at once, as vLLM
/// does, so others get their places.
#[test]
fn clients_that_leave_have_the_same_records_on_a_server_and_in_virtual_time() {
    let mut config = EngineConfig::of_model("chatglm3-6b").expect("a model");
    config.max_num_seqs = Some(8);
    let grid_cell = CellPlan { input_length: 128, output_length: 32 };
    let seconds = Duration::from_secs_f64;
    for (pass, after, phases) in [
        (PassPlan::open(20.0, Bound::requests(60)), LeaveAfter::Tokens(7), [false, true]),
        (PassPlan::open(15.0, Bound::requests(60)), LeaveAfter::Time(seconds(0.3)), [true, true]),
        (
            PassPlan::open(30.0, Bound::requests(60)),
            LeaveAfter::NoToken(seconds(0.5)),
            [true, false],
        ),
    ] {
        let abandon = Abandon { share: 0.3, after, by_reset: false };
        let leavers = Some(Leavers { abandon, seed: 5 });
        let served = serve(&config, grid_cell, &pass, (None, leavers));
        let mut engine = Engine::new(config.clone()).expect("an engine");
        let asked = EngineRequest::from((grid_cell.input_length, grid_cell.output_length));
        let place = PassContext {
            cell: grid_cell,
            pass: &pass,
            number: 0,
            streamed: true,
            leavers,
            in_prefill: None,
        };
        let mut asked = std::iter::repeat(asked);
        let played = simulate_pass(&mut engine, &mut *load_model(&pass, 1), &mut asked, place);
        let figures = |records: Vec<Record>| {
            let start = records.iter().map(|record| record.due).min().expect("records");
            let mut figures: Vec<_> = records
                .iter()
                .map(|record| {
                    let since = |at: Option<Nanos>| at.map(|at| at.since(start));
                    let is_left = matches!(record.outcome, Outcome::Abandoned { .. });
                    let tokens = record.token_events().map(|event| event.tokens.unwrap_or(1));
                    let tokens: u32 = tokens.sum();
                    (record.index, is_left, tokens, since(record.send_start), since(record.ended))
                })
                .collect();
            figures.sort_unstable();
            figures
        };
        let played = figures(played.records(place).collect());
        // Some leave before their first token, or later.
        let leave = |before: bool| played.iter().any(|it| it.1 && (it.2 == 0) == before);
        assert_eq!([leave(true), leave(false)], phases, "{pass}");
        assert_eq!(figures(served), played, "{pass}");
    }
}

#[test]
fn noise_is_identical_in_virtual_time_and_on_the_served_engine() {
    let mut config = EngineConfig::of_model("chatglm3-6b").expect("a model");
    let text = "step=0.1,drift=0.1:2s,warmup=0.5:1s,burst=0.01:5,pause=30ms:1s,seed=3";
    config.noise = Some(Noise::parse(text).expect("a noise"));
    let grid_cell = CellPlan { input_length: 128, output_length: 32 };
    let passes = [PassPlan::closed(4, Bound::requests(24)), PassPlan::saturated(16)];
    let measured = measure(&config, grid_cell, &passes);
    for (pass, measured) in passes.iter().zip(&measured.passes) {
        let mut engine = Engine::new(config.clone()).expect("an engine");
        let asked = EngineRequest::from((grid_cell.input_length, grid_cell.output_length));
        let place = PassContext {
            cell: grid_cell,
            pass,
            number: 0,
            streamed: true,
            leavers: None,
            in_prefill: None,
        };
        let mut asked = std::iter::repeat(asked);
        let played = simulate_pass(&mut engine, &mut *load_model(pass, 1), &mut asked, place);
        let mut fold = PassFold::new(pass);
        played.records(place).for_each(|record| fold.add(&Timeline::new(&record)));
        let predicted = fold.finish();
        assert_eq!(measured.duration_s, predicted.duration_s, "{pass}");
        assert_eq!(measured.requests_per_s, predicted.requests_per_s, "{pass}");
    }
    let quiet = EngineConfig { noise: None, ..config };
    let quiet = measure(&quiet, grid_cell, &passes);
    assert_ne!(quiet.passes[0].duration_s, measured.passes[0].duration_s);
}
