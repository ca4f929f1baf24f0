//! Summaries for tests: from published tables, and one in which almost every field has a value.

pub mod records;

use inferometer_model::metrics::{
    e2e, itl, latency_per_output_token, latency_per_token, send_delay, tpot, ttft,
};

use inferometer_analysis::cell::{Cell, CellSpread};
use inferometer_analysis::distributions::Distributions;
use inferometer_analysis::figures::Figures;
use inferometer_analysis::instrument::Instrument;
use inferometer_analysis::observed::{
    CardUse, Energy, HardwareUse, Instant, Level, ServerLatency, ServerMetrics,
};
use inferometer_analysis::pass::{Goodput, PassSummary};
use inferometer_analysis::prediction::CellPrediction;
use inferometer_analysis::summary::{SUMMARY_SCHEMA, Summary};
use inferometer_analysis::verdict::{SloResult, Validity, Verdict};
use inferometer_model::finding::{Finding, code};
use inferometer_model::load::PassKind;
use inferometer_model::metrics::SteadyState;
use inferometer_model::outcome::OutcomeCounts;
use inferometer_model::record::TokensFrom;
use inferometer_model::stats::{Distribution, Spread};
use inferometer_model::target::{Card, Environment, Facts, Target, Tool};

/// The published table of chatglm3-6b.
pub const CHATGLM3: &str = include_str!("../fixtures/chatglm3-6b.md");
/// The published tables of Mistral-7B-OpenOrca-AWQ under two engines.
pub const MISTRAL: &str = include_str!("../fixtures/mistral-7b-openorca-awq.md");

/// A summary without cells.
pub fn empty(model: &str, card: &str, engine: &str, version: &str) -> Summary {
    Summary {
        schema: SUMMARY_SCHEMA.to_owned(),
        tool: Tool { name: "inferometer".to_owned(), version: "0.1.0".to_owned() },
        run_id: format!("20260102-030405-{engine}"),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        plan_hash: "11".repeat(32),
        workload_hash: Some("22".repeat(32)),
        body_hash: Some("33".repeat(32)),
        predicted: false,
        target: Target {
            servers: Vec::new(),
            url: "http://127.0.0.1:8000".to_owned(),
            dialect: "vllm".to_owned(),
            engine: Some(engine.to_owned()),
            engine_version: Some(version.to_owned()),
            model: model.to_owned(),
            simulated: false,
            profile: None,
            facts: Facts { card: Some(card.to_owned()), ..Facts::default() },
            startup: None,
        },
        environment: Environment::default(),
        verdict: Verdict::default(),
        findings: Vec::new(),
        cells: Vec::new(),
        imported: None,
        searches: Vec::new(),
        sweeps: Vec::new(),
        ranks: Vec::new(),
        errors: None,
        price: None,
    }
}

/// A cell with the four figures of a published row and no passes.
pub fn cell(input_length: u32, output_length: u32, figures: [Option<f64>; 4]) -> Cell {
    let [requests_per_s, output_tokens_per_s, latency_per_token_ms, latency_per_output_token_ms] =
        figures;
    Cell {
        input_length,
        output_length,
        requests_per_s,
        output_tokens_per_s,
        latency_per_token_ms,
        latency_per_output_token_ms,
        figures: Figures::default(),
        over_repeats: None,
        passes: Vec::new(),
        prediction: CellPrediction::default(),
    }
}

/// Summaries with the figures of published tables: one for each table.
pub fn published(text: &str) -> Vec<Summary> {
    let mut headings: Vec<&str> = Vec::new();
    let mut summaries: Vec<Summary> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("# ").or(line.strip_prefix("## ")) {
            headings.push(heading);
        }
        if line.starts_with("| Input") {
            let (engine, version) = headings
                .last()
                .and_then(|heading| heading.split_once(' '))
                .expect("a heading with engine and version is above each table");
            summaries.push(empty(headings[0], headings[1], engine, version));
        }
        let numbers: Vec<f64> =
            line.split('|').filter_map(|text| text.trim().parse().ok()).collect();
        if let [input, output, figures @ ..] = numbers.as_slice() {
            let figures = [0, 1, 2, 3].map(|i| Some(figures[i]));
            let cell = cell(*input as u32, *output as u32, figures);
            summaries.last_mut().expect("a row is below the heading of a table").cells.push(cell);
        }
    }
    summaries
}

/// A distribution with this mean, and with all intervals.
pub fn distribution(mean: f64) -> Distribution {
    Distribution {
        mean,
        mean_ci: Some([mean * 0.97, mean * 1.04]),
        p50: mean * 0.98,
        p50_ci: Some([mean * 0.95, mean * 1.01]),
        p90: mean * 1.25,
        p95: Some(mean * 1.5),
        p99: mean * 1.75,
        p90_ci: Some([mean * 1.125, mean * 1.375]),
        p99_ci: Some([mean * 1.5, mean * 2.0]),
        p999: Some(mean * 1.875),
        max: mean * 2.0,
        n: 399,
        effective_n: Some(200.0),
        p99_needs: None,
        exact: true,
    }
}

/// A pass with `planned` completed requests and with the figures that every pass has.
pub fn pass(kind: PassKind, planned: u64) -> PassSummary {
    PassSummary {
        kind,
        load: kind.name().replace('_', " "),
        repeat: 1,
        trial: None,
        limits_prefill: false,
        abandoned: None,
        recovery: Vec::new(),
        concurrency: None,
        rate: None,
        planned,
        outcomes: OutcomeCounts { complete: planned, ..OutcomeCounts::default() },
        started_s: None,
        stopped: None,
        interrupted: false,
        duration_s: Some(12.5),
        requests_per_s: Some(planned as f64 / 12.5),
        requests_per_s_ci: None,
        input_tokens: Some(planned * 128),
        output_tokens: planned * 32,
        longer_than_asked: 0,
        output_tokens_per_s: Some(planned as f64 * 32.0 / 12.5),
        output_tokens_per_s_ci: None,
        total_tokens_per_s_ci: None,
        tokens_from: Some(TokensFrom::Usage),
        reasoning_from: None,
        peak_concurrency: Some(planned),
        mean_concurrency: Some(planned as f64 * 0.75),
        steady_state: None,
        goodput: None,
        failures_as_inf: None,
        latencies: Distributions::of([
            (&ttft::FROM_SENT, Some(distribution(20.0))),
            (&tpot::DEFINITION, Some(distribution(13.5))),
            (&itl::DEFINITION, Some(distribution(13.4))),
            (&e2e::FROM_SENT, Some(distribution(440.0))),
            (&ttft::FROM_DUE, Some(distribution(20.5))),
            (&e2e::FROM_DUE, Some(distribution(440.5))),
            (&send_delay::DEFINITION, Some(distribution(0.05))),
            (&latency_per_token::DEFINITION, Some(distribution(2.75))),
            (&latency_per_output_token::DEFINITION, Some(distribution(13.75))),
        ]),
        figures: Figures::default(),
        intervals: Default::default(),
        cost: None,
        jobs: None,
        structured: None,
        ttft_parts: None,
        media: None,
        pooled: None,
        classes: Vec::new(),
        servers: Vec::new(),
        ranks: Vec::new(),
        sources: Vec::new(),
        blocks: None,
        serving_run: None,
        server: None,
        hardware: None,
        instrument: Instrument {
            reads: 1000,
            kernel_stamped_reads: 990,
            receive_lateness_us: Some(distribution(8.0)),
            arrival_width_us: Some(distribution(2.0)),
            coalesced_events: 3,
            ..Instrument::default()
        },
    }
}

/// Metrics of a server from 7 reads. One of the reads failed.
pub fn server() -> ServerMetrics {
    let level = |mean| Some(Level { mean, max: 2.0 * mean, n: 4 });
    let latency = |mean, p50_above, p50_below| ServerLatency { mean, p50_above, p50_below, n: 9.0 };
    ServerMetrics {
        scrapes: 7,
        failed: 1,
        first_failure: Some("it answered 500".to_owned()),
        took_ms_mean: 2.5,
        took_ms_min: 1.25,
        took_ms_max: 6.0,
        client_cpu_ms: 3.5,
        running: level(128.0),
        waiting: level(71.5),
        kv_use: level(0.45),
        preemptions: Some(3.0),
        prefix_queries: Some(1_000.0),
        prefix_hits: Some(125.0),
        drafted: None,
        accepted: None,
        generation_tokens: Some(12_768.0),
        ttft_ms: Some(latency(18.5, 10.0, Some(20.0))),
        itl_ms: Some(latency(13.25, 0.0, None)),
        queue_ms: None,
        prefill_ms: None,
        timeline: [(0.5, 399, 128.0), (1.0, 300, 256.0), (1.5, 20, 20.0)]
            .map(|(at_s, in_flight, running)| Instant {
                at_s,
                in_flight,
                running: Some(running),
                waiting: Some(in_flight as f64 - running),
                kv_use: Some(running / 512.0),
            })
            .to_vec(),
    }
}

/// The use of two cards. The second card reports nothing.
pub fn hardware() -> HardwareUse {
    let level = |mean| Some(Level { mean, max: 1.25 * mean, n: 12 });
    let card = CardUse {
        index: 0,
        utilisation: level(0.75),
        power_w: level(320.0),
        clock_mhz: level(1_400.0),
        memory_bytes: Some(30 << 30),
        energy_j: Some(4_000.0),
        energy_from: Some(Energy::Power),
        energy_unknown: None,
        coverage: Some(0.995),
        idle_share: Some(0.2),
        readings: None,
    };
    let other = CardUse { index: 1, ..CardUse::default() };
    HardwareUse { cards: vec![card, other], ..HardwareUse::default() }
}

/// A run of the embedded engine with almost every field: four kinds of passes, failures, findings,
/// objectives, a suspect verdict, and texts that look like markup.
pub fn full() -> Summary {
    let mut summary = empty("书生·浦语-7B <b>|*x*", "A100 40G", "vllm", "0.2.7");
    summary.target.simulated = true;
    summary.target.profile = Some("a100-40g-vllm-0.2.7".to_owned());
    summary.environment = Environment {
        event_loops: None,
        host: Some("bench-1".to_owned()),
        cpu: Some("Some CPU @ 2.0 GHz".to_owned()),
        cpus: Some(16),
        memory_bytes: Some(64 << 30),
        kernel: Some("Linux 6.1".to_owned()),
        governor: Some("performance".to_owned()),
        cards: vec![Card {
            index: 0,
            name: Some("A100 <40G>".to_owned()),
            memory_bytes: Some(40 << 30),
            driver: Some("550.1".to_owned()),
            source: "nvml".to_owned(),
        }],
        stamps: Some("kernel".to_owned()),
        tokenizer_sha256: None,
        tokenizer: Some("built-in".to_owned()),
        salt: Some("0a1b2c3d".to_owned()),
    };
    summary.verdict = Verdict {
        validity: Validity::Suspect,
        reasons: vec!["send_delay p99 of 12 ms exceeds 10 ms (closed, 8 in flight)".to_owned()],
        slo: vec![
            SloResult {
                objective: "ttft_p99<500ms".to_owned(),
                place: "input 128, output 32, saturated".to_owned(),
                measured: Some(35.0),
                met: true,
                ..SloResult::default()
            },
            SloResult {
                objective: "tpot_p99<10ms".to_owned(),
                place: "input 128, output 32, saturated".to_owned(),
                measured: None,
                met: false,
                ..SloResult::default()
            },
        ],
        ..Verdict::default()
    };
    summary.findings = vec![
        Finding::of(code::LENGTHS_ARE_SIMULATED, "prompts have about the length"),
        Finding::of(code::OUTPUT_SHORTER_THAN_ASKED, "31 of 32 tokens, 5 times")
            .at("input 128, output 32")
            .advise("check that the server honours ignore_eos"),
    ];
    let mut saturated = pass(PassKind::Saturated, 399);
    saturated.outcomes =
        OutcomeCounts { complete: 396, timed_out: 2, rejected: 1, ..OutcomeCounts::default() };
    saturated.server = Some(server());
    saturated.hardware = Some(hardware());
    let mut closed = pass(PassKind::Closed, 64);
    closed.concurrency = Some(8);
    closed.load = "closed loop, 8 in flight".to_owned();
    closed.steady_state = Some(SteadyState {
        plateau: 8,
        startup_s: 0.5,
        duration_s: 11.25,
        drain_s: 0.75,
        requests_per_s: 5.5,
        output_tokens_per_s: 176.25,
        startup_output_tokens_per_s: Some(88.5),
        drain_output_tokens_per_s: None,
        mean_concurrency: 7.96,
    });
    let mut open = pass(PassKind::Open, 64);
    open.rate = Some(2.5);
    open.load = "open loop, 2.5 requests/s".to_owned();
    open.repeat = 2;
    open.goodput = Some(Goodput {
        objectives: "ttft<500ms,tpot<50ms".to_owned(),
        met: 48,
        requests_per_s: Some(3.84),
        requests_per_s_ci: None,
        tokens: None,
        tokens_per_s_ci: None,
        attainment: Some(0.75),
        attainment_ci: None,
    });
    *open.latencies.entry(&tpot::DEFINITION) = None;
    let mut first = cell(128, 32, [Some(31.68), Some(1013.76), Some(2.75), Some(13.75)]);
    first.passes = vec![pass(PassKind::OneByOne, 10), saturated];
    let mut second = cell(512, 32, [Some(5.12), None, Some(0.9), Some(f64::NAN)]);
    second.over_repeats = Some(CellSpread {
        requests_per_s: Some(Spread { mean: 5.12, ci: Some([4.5, 5.75]), cv: Some(0.125), n: 2 }),
        output_tokens_per_s: None,
        latency_per_token_ms: Some(Spread { mean: 0.9, ci: None, cv: None, n: 1 }),
        latency_per_output_token_ms: None,
    });
    second.passes = vec![closed, open];
    summary.cells = vec![first, second];
    summary
}
