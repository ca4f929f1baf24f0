//! A small store for tests, with functions that add runs to it.

use std::path::PathBuf;

use inferometer_analysis::cell::cell;
use inferometer_analysis::fold::PassFold;
use inferometer_analysis::summary::{SUMMARY_SCHEMA, Summary};
use inferometer_analysis::verdict::Verdict;
use inferometer_model::cell::CellPlan;
use inferometer_model::metrics::Timeline;
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Event, EventKind, Read, Record, Usage};
use inferometer_model::target::{Environment, Facts, Target, Tool};
use inferometer_model::time::Nanos;
use inferometer_net::http::pages::{Pages, RequestTarget, Response};
use inferometer_plan::Plan;
use inferometer_plan::spec::{Known, Spec};
use inferometer_store::{LogHeader, LogWriter, PassBegin, RunHeader, RunId, RunState, Store};
use inferometer_web::Site;
use tempfile::TempDir;

/// The start of the first day's runs in nanoseconds: 2026-11-20, 12:00 UTC.
const START_NS: i64 = 1_795_176_000_000_000_000;
const DAY_NS: i64 = 86_400_000_000_000;

/// The name of a model that contains markup. Every page must escape it.
pub const EVIL: &str = "<script>alert('1')</script>\"><b>";
/// The name of a model in Chinese.
pub const CHINESE: &str = "书生·浦语 20B";

/// A store in its own temporary folder.
pub struct Made {
    pub folder: TempDir,
    pub store: Store,
}

impl Made {
    /// An empty store.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("runs.db")).unwrap();
        Self { folder, store }
    }

    /// The store as a site.
    pub fn site(&self) -> Site {
        Site::open(&self.path()).unwrap()
    }

    /// The path of the database.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("runs.db")
    }

    /// Adds a run without results that began `day` days after the first day.
    pub fn begin(&mut self, day: i64, suffix: u16, model: &str, predicted: bool) -> RunId {
        let header = RunHeader {
            started_unix_ns: START_NS + day * DAY_NS,
            suffix,
            origin_unix_ns: START_NS + day * DAY_NS,
            plan: plan(),
            target: target(model),
            environment: Environment::default(),
            predicted,
            tool_version: "0.1.0".to_owned(),
        };
        self.store.begin_run(&header).unwrap()
    }

    /// Adds a run of an unknown engine without results.
    pub fn begin_of_unknown_engine(&mut self, day: i64, suffix: u16) -> RunId {
        let started_unix_ns = START_NS + day * DAY_NS;
        let header = RunHeader {
            started_unix_ns,
            suffix,
            origin_unix_ns: started_unix_ns,
            plan: plan(),
            target: Target { engine: None, engine_version: None, ..target("chatglm3-6b") },
            environment: Environment::default(),
            predicted: false,
            tool_version: "0.1.0".to_owned(),
        };
        self.store.begin_run(&header).unwrap()
    }

    /// Adds a run with results. Each latency is multiplied by `slower`.
    pub fn complete(&mut self, day: i64, suffix: u16, model: &str, slower: f64) -> RunId {
        let id = self.begin(day, suffix, model, false);
        let summary = summary(&id, model, slower);
        self.store.finish_run(&id, &summary, RunState::Complete, START_NS + DAY_NS).unwrap();
        id
    }

    /// Adds a run of the embedded engine with results.
    pub fn simulated(&mut self, day: i64, suffix: u16, model: &str) -> RunId {
        let id = self.begin(day, suffix, model, false);
        let mut summary = summary(&id, model, 1.0);
        summary.target.simulated = true;
        self.store.finish_run(&id, &summary, RunState::Complete, START_NS + DAY_NS).unwrap();
        id
    }

    /// Adds a prediction with results.
    pub fn complete_predicted(&mut self, day: i64, suffix: u16, model: &str) -> RunId {
        let id = self.begin(day, suffix, model, true);
        let summary = Summary { predicted: true, ..summary(&id, model, 1.0) };
        self.store.finish_run(&id, &summary, RunState::Complete, START_NS + DAY_NS).unwrap();
        id
    }

    /// Creates the log of a run, in which the first pass has begun.
    pub fn log(&self, id: &RunId) -> LogWriter {
        let header = LogHeader::new(id.as_str(), START_NS);
        let mut log = LogWriter::create(self.store.log_path(id), &header).unwrap();
        log.begin_pass(&PassBegin {
            pass: 0,
            cell: CELL,
            plan: plan().passes[0].clone(),
            repeat: 1,
        })
        .unwrap();
        log
    }
}

pub const CELL: CellPlan = CellPlan { input_length: 128, output_length: 8 };

/// A plan with one cell and one saturated pass of eight requests.
fn plan() -> Plan {
    let asked: Spec = serde_json::from_value(serde_json::json!({
        "target": "http://127.0.0.1:8000", "input_lengths": [128], "output_lengths": [8],
        "passes": ["saturated"], "requests": 8,
    }))
    .unwrap();
    let known = Known {
        dialects: &["openai-completions"],
        models: &["chatglm3-6b"],
        model_of_hub_id: |_| None,
    };
    asked.resolve(&known).unwrap()
}

fn target(model: &str) -> Target {
    Target {
        servers: Vec::new(),
        url: "http://127.0.0.1:8000".to_owned(),
        dialect: "vllm".to_owned(),
        engine: Some("vllm".to_owned()),
        engine_version: Some("0.2.7".to_owned()),
        model: model.to_owned(),
        simulated: false,
        profile: None,
        facts: Facts { card: Some("A100 40G".to_owned()), ..Facts::default() },
        startup: None,
    }
}

fn summary(id: &RunId, model: &str, slower: f64) -> Summary {
    let passes = (1..=5).map(|repeat| {
        let mut fold = PassFold::new(&plan().passes[0]).of_repeat(repeat);
        for index in 0..8 {
            let jitter = 1.0 + 0.001 * f64::from(repeat);
            fold.add(&Timeline::new(&streamed(index, slower * jitter)));
        }
        fold.finish()
    });
    Summary {
        schema: SUMMARY_SCHEMA.to_owned(),
        tool: Tool { name: "inferometer".to_owned(), version: "0.1.0".to_owned() },
        run_id: id.to_string(),
        started_at: "2026-11-20T12:00:00.000Z".to_owned(),
        plan_hash: plan().hash(),
        workload_hash: Some("22".repeat(32)),
        body_hash: Some("33".repeat(32)),
        predicted: false,
        target: target(model),
        environment: Environment::default(),
        verdict: Verdict::default(),
        findings: Vec::new(),
        cells: vec![cell(CELL.input_length, CELL.output_length, passes.collect())],
        imported: None,
        searches: Vec::new(),
        sweeps: Vec::new(),
        ranks: Vec::new(),
        errors: None,
        price: None,
    }
}

/// The record of a complete request with eight tokens that arrived one by one. Times are multiplied by
/// `slower`.
pub fn streamed(index: u32, slower: f64) -> Record {
    let at = |ms: f64| Nanos((1e6 * ms * slower) as u64);
    let arrival = |token: u32| at(50.0 + 10.0 * f64::from(token));
    let reads = (0..8).map(|token| Read {
        kernel: Some(arrival(token)),
        user: arrival(token),
        empty_before: at(45.0 + 10.0 * f64::from(token)),
        bytes: 180,
    });
    let events = (0..8).map(|read| Event { read, kind: EventKind::Text, chars: 4, tokens: None });
    Record {
        asked_input: 128,
        asked_output: 8,
        picked: Some(Nanos(0)),
        send_start: Some(Nanos(0)),
        sent: Some(Nanos(0)),
        headers: Some(at(49.0)),
        reads: reads.collect(),
        events: events.collect(),
        ended: Some(at(121.0)),
        outcome: Outcome::Complete,
        status: Some(200),
        usage: Usage { prompt: Some(128), completion: Some(8), cached: None, ..Usage::default() },
        ..Record::planned(0, index, Nanos(0))
    }
}

/// The response of the site to a request for `target`.
pub fn get(site: &mut Site, target: &str) -> Response {
    site.page(&RequestTarget::parse(target))
}

/// The next event about a run: its HTML, and whether it is the last event.
pub fn event(site: &mut Site, run: &RunId) -> (String, bool) {
    let event = site.event(run.as_str());
    let data: serde_json::Value = serde_json::from_str(&event.data).unwrap();
    assert_eq!(data["last"], event.is_last);
    (data["markup"].as_str().unwrap().to_owned(), event.is_last)
}
