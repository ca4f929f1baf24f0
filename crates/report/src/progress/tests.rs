//! The words of each notice, and its document, side by side in one snapshot.

use inferometer_analysis::search::{SearchEnding, SearchObjective};
use inferometer_model::code;
use serde_json::json;
use std::collections::BTreeSet;
use strum::VariantNames;

use super::*;

const CELL: CellPlan = CellPlan { input_length: 128, output_length: 32 };

fn of(text: &str) -> String {
    text.to_owned()
}

fn before_the_measurement() -> Vec<Notice> {
    let [engine, version] = [Some(of("vllm")), Some(of("0.11.0"))];
    let urls = |count: usize| ["http://a:1", "http://b:1"][..count].iter().map(|url| of(url));
    let slow = |step| Notice::Slow { step };
    let finding = Finding::of(code::THROUGH_A_PROXY, "requests went through a proxy");
    vec![
        Notice::ShortKey { header: of("x-api-key"), min_chars: 8 },
        Notice::ServerStarting { command: vec![of("vllm"), of("serve"), of("m")] },
        Notice::ServerNotReady { waited_s: 10, last_line: None },
        Notice::ServerNotReady { waited_s: 20, last_line: Some(of("Loading weights")) },
        Notice::ServerReady {
            startup: Startup {
                start: 1,
                ready_s: [41.0, 41.25],
                rest_s: 41.25,
                ..Startup::default()
            },
        },
        Notice::WaitingForServer { waited_s: 5, wait_s: 60.0, why: of("http://a:1: refused") },
        Notice::ServerStartedAgain,
        Notice::ServerEnding,
        slow(SlowStep::Start),
        slow(SlowStep::Identify { urls: urls(1).collect() }),
        slow(SlowStep::Identify { urls: urls(2).collect() }),
        slow(SlowStep::FindTokenizer),
        slow(SlowStep::FirstRequests),
        slow(SlowStep::LongPrompt),
        slow(SlowStep::FirstPrompt { cell: CELL, asks_server: true }),
        slow(SlowStep::FirstPrompt { cell: CELL, asks_server: false }),
        Notice::Simulating {
            model: of("m"),
            engine: engine.clone(),
            version: version.clone(),
            profile: Some(of("a100")),
        },
        Notice::Identified { url: of("http://a:1"), engine, version },
        Notice::Identified { url: of("http://a:1"), engine: None, version: None },
        Notice::LocalServer { url: of("http://a:1"), server: of("vllm 0.11.0 with m") },
        Notice::Measuring {
            model: of("m"),
            workload: of("random"),
            dialect: of("openai-completions"),
            cells: 2,
            passes: vec![of("saturated"), of("8 in flight")],
        },
        Notice::TwoLoads,
        Notice::ChosenLengths { cell: CELL, alone_s: Some(0.61), most_s: 57.2, most_tokens: None },
        Notice::ChosenLengths {
            cell: CELL,
            alone_s: None,
            most_s: 60.0,
            most_tokens: Some(500_000),
        },
        Notice::ReplacesReport { folder: PathBuf::from("out"), run: of("20261120-074747-5c1c") },
        Notice::CheckingSameWork { run: of("20261120-074747-5c1c") },
        Notice::Finding { finding: Box::new(finding) },
    ]
}

fn of_costs() -> Vec<Notice> {
    let search = |cells, max_time_s, all_at_lowest| {
        let (max_requests, max_trials) = (20_000, 40);
        let over = Over::Rate;
        let cost = SearchCost { over, max_requests, max_trials, max_time_s, cells, all_at_lowest };
        Notice::SearchCost(cost)
    };
    let sweep = |by, highest, unbatched_s| {
        let (max_requests, max_trials, cells) = (20_000, 40, 1);
        let max_time_s = Some(600.0);
        Notice::SweepCost(SweepCost {
            by,
            highest,
            max_requests,
            max_trials,
            max_time_s,
            cells,
            unbatched_s,
        })
    };
    let ab = |max_time_s, most_s| {
        Notice::AbCost(AbCost { pairs: 40, block_requests: 32, max_time_s, most_s })
    };
    let lowest = AllAtLowest { time_s: 1_320.0, load: 4.0, over: Over::Rate };
    vec![
        Notice::Searching {
            over: Over::Rate,
            objectives: vec![of("ttft_p99<1s"), of("failures<1%")],
            precision: 0.05,
            confidence: 0.95,
        },
        search(1, None, Some(lowest)),
        search(4, Some(600.0), None),
        sweep(Over::Rate, Some(64.0), None),
        sweep(Over::Concurrency, None, Some(9_000.0)),
        ab(None, Some(42.0)),
        ab(Some(0.5), None),
        Notice::UseVirtualTime { of: Chosen::Sweep },
        Notice::UseVirtualTime { of: Chosen::Search },
        Notice::Estimate { least_s: 60.0, most_s: 60.2 },
        Notice::Estimate { least_s: 60.0, most_s: 600.0 },
        Notice::EstimateOfGaps { least_s: 90.0 },
        Notice::EstimateUnknown,
        Notice::EstimateLater,
        Notice::AllRuns { bound: Bound::About, time_s: 300.0 },
        Notice::AllRuns { bound: Bound::AtMost, time_s: 300.0 },
        Notice::AllRuns { bound: Bound::AtLeast, time_s: 300.0 },
        Notice::AllRunsUnknown,
    ]
}

fn of_trials() -> Vec<Notice> {
    let search = |result, so_far, left| {
        let trial = SearchTrial { load: 27.94, over: Over::Rate, result, so_far, left };
        Notice::SearchTrial { trial: Box::new(trial) }
    };
    let criterion = |text, needed, is_missed| CriterionSoFar {
        text: of(text),
        value: 0.975,
        needed,
        is_missed,
    };
    let measured = |is_settled, is_missed: [bool; 2]| LastTrial::Measured {
        criteria: vec![
            criterion("ttft_p99<1s", Some(0.99), is_missed[0]),
            criterion("tpot_mean<1ms", None, is_missed[1]),
        ],
        counted: 900,
        is_settled,
    };
    let far = |cut_off| LastTrial::FarBeyond {
        criterion: of("ttft_p99<1s"),
        missed: 80,
        planned: 96,
        cut_off,
    };
    let edge =
        |tier: Option<&str>, interval| EdgeSoFar { tier: tier.map(of), estimate: 27.94, interval };
    let sweep = |requests_per_s, latency_ms, is_overloaded, is_settled| SweepTrial {
        load: 8.0,
        by: Over::Concurrency,
        requests: 96,
        completed: 90,
        requests_per_s,
        latency_ms,
        is_overloaded,
        is_settled,
        saturated_at: None,
        knee: None,
        next: None,
    };
    let of_sweep = |trial| Notice::SweepTrial { trial: Box::new(trial) };
    let next = NextTrialOfSweep { load: 16.0, by: Over::Rate, time_s: 12.0 };
    let requests = |next_s| Some(TrialsLeft::Requests { requests: 19_000, next_s });
    vec![
        search(LastTrial::NothingCounted { requests: 24 }, Vec::new(), None),
        search(far(0), vec![edge(None, None)], requests(Some(12.0))),
        search(far(16), vec![edge(None, Some([26.8, 29.1]))], requests(None)),
        search(
            measured(true, [false, false]),
            vec![edge(Some("gold"), None), edge(Some("bronze"), Some([26.8, 29.1]))],
            Some(TrialsLeft::TimeS(42.0)),
        ),
        search(measured(false, [false, false]), Vec::new(), None),
        search(measured(true, [true, false]), Vec::new(), None),
        search(measured(true, [true, true]), Vec::new(), None),
        of_sweep(sweep(None, None, false, false)),
        of_sweep(sweep(Some(37.31), Some(214.2), false, true)),
        of_sweep(sweep(Some(37.31), None, true, true)),
        of_sweep(sweep(Some(37.31), None, false, false)),
        of_sweep(SweepTrial {
            saturated_at: Some(37.31),
            knee: Some(KneeSoFar { load: 12.6, interval: [11.9, 13.4] }),
            next: Some(next),
            ..sweep(Some(37.31), None, false, true)
        }),
        Notice::TrialOutOfTime { used: None, over: None },
        Notice::TrialOutOfTime { used: Some(12), over: Some(Over::Concurrency) },
        Notice::TrialOutOfTime { used: Some(12), over: Some(Over::Rate) },
        Notice::SearchAnswer { answer: Box::new(answer()) },
        Notice::SweepAnswer { answer: Box::new(sweep_answer()) },
    ]
}

fn answer() -> SearchAnswer {
    SearchAnswer {
        input_length: CELL.input_length,
        output_length: CELL.output_length,
        over: Over::Rate,
        tier: None,
        answer: of("The server sustains 27.9 requests/s."),
        objectives: vec![SearchObjective {
            text: of("ttft_p99<1s"),
            share: Some(0.99),
            mean_limit_ms: None,
        }],
        confidence: 0.95,
        precision: 0.05,
        outcome: SearchEnding::Found,
        estimate: Some(27.9),
        is_one_sided: false,
        low: Some(26.8),
        high: Some(29.1),
        guess: Some(27.9),
        limited_by: Vec::new(),
        saturated: false,
        contradicts: false,
        is_missed_alone: false,
        is_limited_by_client: false,
        model: None,
        refusal: None,
        requests: 4_000,
        trials: 9,
        time_s: 140.0,
        loads: Vec::new(),
    }
}

fn sweep_answer() -> SweepAnswer {
    let answer = json!({
        "input_length": 128, "output_length": 32, "by": "rate", "answer": "The server saturates at 37.3 requests/s.",
        "confidence": 0.95, "outcome": "found", "saturation": null, "knee": null, "requests": 4_000, "trials": 9,
        "time_s": 140.0, "levels": [],
    });
    serde_json::from_value(answer).expect("the answer of a sweep")
}

fn of_several_runs() -> Vec<Notice> {
    let begins = |number, left_s| Notice::RunBegins { number, runs: 4, name: of("a"), left_s };
    vec![
        Notice::ServerEnded {
            cell: CELL,
            pass: of("saturated"),
            last_lines: of("it was killed by signal 9"),
        },
        Notice::FiguresNotWritten { cell: CELL, why: of("out/summary.json: No space left") },
        Notice::AbBegins { name: of("ab-1f2e") },
        Notice::DifferentPrompts,
        Notice::GroupBegins { name: of("group-1f2e"), runs: 4 },
        Notice::RunIgnored { why: of("20261120-074747-5c1c: its log ends early") },
        begins(1, None),
        begins(2, Some(300.0)),
        Notice::RunCopied { run: of("20261120-074747-5c1c") },
        Notice::RunFailed { name: of("a, round 2"), why: of("the server ended") },
    ]
}

#[test]
fn each_notice_has_a_line_for_people_and_its_values_for_programs() {
    let notices = [before_the_measurement(), of_costs(), of_trials(), of_several_runs()].concat();
    let name = |notice: &Notice| json!(notice)["notice"].as_str().map(str::to_owned);
    let told: BTreeSet<String> = notices.iter().filter_map(name).collect();
    let all = Notice::VARIANTS.iter().map(|name| of(name)).collect();
    assert_eq!(told, all, "each notice needs a sample here");
    let both = notices.iter().map(|notice| {
        let urgent = if notice.is_urgent() { " (urgent)" } else { "" };
        format!("{notice}{urgent}\n    <- {}", json!(notice))
    });
    insta::assert_snapshot!(both.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_pair_of_blocks_is_told_by_its_figures_and_by_the_estimate_so_far() {
    let pair = |values, so_far| PairEnded { number: 2, figure: of("ttft_p50"), values, so_far };
    let so_far = |interval| Some(ShareSoFar { ratio: 0.974, interval });
    let told = [
        pair([Some(512.06), Some(498.7)], so_far(Some([0.949, 1.002]))),
        pair([Some(512.06), None], so_far(None)),
        pair([None, None], None),
    ];
    assert_eq!(
        told.map(|pair| pair.line()),
        [
            "  pair 2: ttft_p50 512.1 (A) and 498.7 (B); so far: B -2.6 % (-5.1 to +0.2 %)",
            "  pair 2: ttft_p50 512.1 (A) and no value (B); so far: B -2.6 % (no interval yet)",
            "  pair 2: ttft_p50 no value (A) and no value (B)",
        ]
    );
}
