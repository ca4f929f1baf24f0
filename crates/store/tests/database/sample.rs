//! A small run: its plan, its target, its records and its summary.

use std::time::Duration;

use inferometer_analysis::cell::Cell;
use inferometer_analysis::figures::Figures;
use inferometer_analysis::fold::PassFold;
use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::prediction::CellPrediction;
use inferometer_analysis::summary::{SUMMARY_SCHEMA, Summary};
use inferometer_analysis::verdict::{SloResult, Validity, Verdict};
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, code};
use inferometer_model::load::{Bound, PassPlan};
use inferometer_model::metrics::Timeline;
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::Record;
use inferometer_model::request::Sampling;
use inferometer_model::target::{Environment, Facts, Target, Tool};
use inferometer_model::time::Nanos;
use inferometer_model::url::Url;
use inferometer_plan::spec::{Known, Spec};
use inferometer_plan::{Plan, SpreadPlan, TargetPlan, Timeouts};
use inferometer_store::log::as_stored;
use inferometer_store::{RunHeader, RunId};

use super::common::streamed;

pub const START_NS: i64 = 1_795_151_553_250_000_000;
pub const SECOND_NS: i64 = 1_000_000_000;

pub fn plan(stream: bool) -> Plan {
    let url = Url::plain("127.0.0.1", 8000);
    let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
    let usual = Spec::default().resolve(&known).unwrap();
    Plan {
        target: TargetPlan::Server {
            insecure: false,
            url,
            dialect: None,
            endpoint: None,
            model: None,
            header_names: vec!["x-tenant".to_owned()],
            card: None,
            spread: SpreadPlan::default(),
        },
        cells: vec![CellPlan { input_length: 128, output_length: 8 }],
        passes: vec![PassPlan::one_by_one(Bound::requests(2)), PassPlan::saturated(4)],
        sampling: Sampling {
            temperature: 0.0,
            ignore_eos: true,
            stream,
            extra_body: serde_json::Map::new(),
        },
        timeouts: Timeouts {
            connect: Some(Duration::from_secs(10)),
            first_token: None,
            between_events: None,
            total: None,
        },
        spec: Box::default(),
        seed: 1,
        ..usual
    }
}

fn target() -> Target {
    Target {
        servers: Vec::new(),
        url: "http://127.0.0.1:8000".to_owned(),
        dialect: "vllm".to_owned(),
        engine: Some("vllm".to_owned()),
        engine_version: Some("0.2.7".to_owned()),
        model: "chatglm3-6b".to_owned(),
        simulated: false,
        profile: None,
        facts: Facts { card: Some("A100 40G".to_owned()), ..Facts::default() },
        startup: None,
    }
}

pub fn run_header(second: i64, suffix: u16) -> RunHeader {
    RunHeader {
        started_unix_ns: START_NS + second * SECOND_NS,
        suffix,
        origin_unix_ns: START_NS - 7,
        plan: plan(true),
        target: target(),
        environment: Environment { host: Some("bench-1".to_owned()), ..Environment::default() },
        predicted: false,
        tool_version: "0.1.0".to_owned(),
    }
}

/// The records of two passes. The first pass has two complete requests; the second has two complete
/// requests and three that failed.
pub fn records() -> [Vec<Record>; 2] {
    let reset = Outcome::Connection { phase: Phase::FirstToken };
    let failed = |index, outcome, status, detail: &str| Record {
        outcome,
        status,
        detail: Some(detail.into()),
        send_start: Some(Nanos(5)),
        ..Record::planned(1, index, Nanos(0))
    };
    let overload = Outcome::Rejected { status: 503 };
    [
        vec![streamed(0, 0, 8), streamed(0, 1, 8)],
        vec![
            streamed(1, 0, 8),
            streamed(1, 1, 8),
            failed(2, overload, Some(503), "overloaded"),
            failed(3, overload, Some(503), "overloaded"),
            failed(4, reset, None, "connection reset by peer"),
        ],
    ]
}

fn fold(plan: &PassPlan, records: &[Record]) -> PassSummary {
    let mut fold = PassFold::new(plan);
    records.iter().for_each(|record| fold.add(&Timeline::new(&as_stored(record))));
    fold.finish()
}

pub fn summary(run: &RunId) -> Summary {
    let header = run_header(0, 0);
    let [one_by_one, saturated] = records();
    let passes =
        vec![fold(&header.plan.passes[0], &one_by_one), fold(&header.plan.passes[1], &saturated)];
    Summary {
        schema: SUMMARY_SCHEMA.to_owned(),
        tool: Tool { name: "inferometer".to_owned(), version: "0.1.0".to_owned() },
        run_id: run.to_string(),
        started_at: "2026-11-20T05:12:33.250Z".to_owned(),
        plan_hash: header.plan.hash(),
        workload_hash: Some("aa".to_owned()),
        body_hash: Some("bb".to_owned()),
        predicted: false,
        target: Target { engine_version: Some("0.2.8".to_owned()), ..header.target },
        environment: header.environment,
        verdict: Verdict {
            validity: Validity::Suspect,
            reasons: vec!["it was slow".to_owned()],
            slo: vec![SloResult {
                objective: "ttft_p99<500ms".to_owned(),
                place: "128 x 8, saturated".to_owned(),
                measured: Some(0.1 + 0.2),
                met: true,
                ..SloResult::default()
            }],
            ..Verdict::default()
        },
        findings: vec![
            Finding::of(code::CACHED_PROMPT_TOKENS, "12 were cached")
                .at("128 x 8, saturated")
                .advise("use another salt"),
        ],
        cells: vec![Cell {
            input_length: 128,
            output_length: 8,
            requests_per_s: passes[1].requests_per_s,
            output_tokens_per_s: passes[1].output_tokens_per_s,
            latency_per_token_ms: Some(1.0 / 3.0),
            latency_per_output_token_ms: None,
            figures: Figures::default(),
            over_repeats: None,
            passes,
            prediction: CellPrediction::default(),
        }],
        imported: None,
        searches: Vec::new(),
        sweeps: Vec::new(),
        ranks: Vec::new(),
        errors: None,
        price: None,
    }
}
