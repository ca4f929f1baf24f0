//! The client of a check. It sends requests and records the answers as a run does. It runs in its own process, so that
//! the measured CPU time and memory are only those of the client.

use std::{fs, io, path::PathBuf, sync::Arc, time::Duration};

use crate::document::{ClientMeasure, Ttft};
use crate::truth::{ClientErrors, ErrorSpread, Errors, ServerStats};
use crate::{CheckError, ClientLoad};
use inferometer_analysis::PassSummary;
use inferometer_drive::{Endpoint, Live, Recorder};
use inferometer_model::metrics::{send_delay, ttft};
use inferometer_model::source::Prepared;
use inferometer_model::{Environment, Observed, PassPlan, Prompt, Record, Request, Source, Target};
use inferometer_net::{http::client::Client, process_cpu_time, spawn_scoped};
use inferometer_plan::{Plan, spec::Spec};
use inferometer_run::pass::runner::{PassRunner, PlayedPass};
use inferometer_run::recording::header::{self, TimeOrigin};
use inferometer_run::recording::recorder::{Counter, Recording};
use inferometer_run::{Network, pass::event_loops::EventLoops, recording::queue::record_queue};
use inferometer_store::{Ending, PassBegin, Store};
use inferometer_wire::dialect::dialect;
use serde_json::json;

const DIALECT: &str = "openai-completions";
const PROMPT: &str = "a b c d e f g h";
const PROMPT_TOKENS: u32 = 8;

/// Measures the client under this load. Prints nothing.
///
/// # Errors
/// If sockets or the temporary store fail, or if a request fails. With `load.errors`, also if the received data differs
/// from what the server sent.
pub fn measure(load: &ClientLoad) -> Result<ClientMeasure, CheckError> {
    let plan = plan(load)?;
    let server = Client {
        url: inferometer_model::url::parse_url(&format!("http://{}", load.load.server))
            .map_err(CheckError::new)?,
        address: load.load.server.into(),
        headers: Vec::new(),
        timeout: Duration::from_secs(10),
        deadline: Duration::from_secs(60),
        tls: None,
        proxy: None,
    };
    let mut passes = passes(load)?;
    let mut measure = recorded(&mut passes, &plan, load)?;
    measure.server = Some(ask(&server, "/truth")?);
    if load.errors {
        server.get("/truth/reset").map_err(CheckError::new)?;
        passes.keep_text = true;
        measure.errors = Some(errors(&mut passes, &plan, load)?);
    }
    Ok(measure)
}

fn ask(server: &Client, path: &str) -> Result<ServerStats, CheckError> {
    let answer = server.get(path).map_err(CheckError::new)?;
    let told = server.json(path, &answer).map_err(CheckError::new)?;
    serde_json::from_value(told).map_err(CheckError::new)
}

/// The plan that a run with this load would have.
fn plan(load: &ClientLoad) -> Result<Plan, CheckError> {
    let ClientLoad { load, rate, .. } = load;
    let mut keys = json!({
        "target": format!("http://{}", load.server),
        "dialect": DIALECT,
        "model": "truth",
        "input_lengths": [PROMPT_TOKENS],
        "output_lengths": [load.tokens],
        "requests": load.requests,
    });
    match rate {
        Some(rate) => keys["rate"] = json!([rate.to_string()]),
        None => keys["concurrency"] = json!([load.streams]),
    }
    let spec: Spec = serde_json::from_value(keys).map_err(CheckError::new)?;
    let (plan, _) = inferometer_run::resolve(&spec, &|_| None)?;
    Ok(plan)
}

fn passes(load: &ClientLoad) -> Result<PassRunner<EventLoops>, CheckError> {
    let net = EventLoops::new(1).map_err(CheckError::Sockets)?;
    let dialect = dialect(DIALECT).expect("invariant: the dialect exists");
    Ok(PassRunner {
        net,
        stop: Arc::default(),
        address: load.load.server.into(),
        tls: None,
        tunnel: None,
        endpoint: Endpoint {
            dialect,
            authority: load.load.server.to_string(),
            path: dialect.path(true).to_owned(),
            headers: Vec::new(),
            model: "truth".to_owned(),
        },
        spread: inferometer_run::ServerSpread::default(),
        changes: Vec::new(),
        keep_text: false,
        reuse_connections: true,
        cut_off: false,
        ends: None,
    })
}

fn source(load: &ClientLoad) -> Box<dyn Source> {
    let request = Request {
        counted_tokens: Some(PROMPT_TOKENS),
        ..Request::new(Prompt::Text(PROMPT.to_owned()), PROMPT_TOKENS, load.load.tokens)
    };
    Box::new(Prepared::new(vec![request; load.load.requests as usize]))
}

/// A temporary folder that is removed on drop.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // An error is ignored: the folder then stays in the system's folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the pass once and records it as a run does, in a temporary store.
fn recorded(
    passes: &mut PassRunner<EventLoops>,
    plan: &Plan,
    load: &ClientLoad,
) -> Result<ClientMeasure, CheckError> {
    let scratch = std::env::temp_dir().join(format!("inferometer-check-{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(CheckError::new)?;
    let scratch = Scratch(scratch);
    let mut recording = recording(passes, plan, &scratch)?;
    let pass = plan.passes[0].clone();
    let source = source(load);
    let rss_before = memory("VmRSS:")?;
    let (began, cpu_before) = (passes.net.now(), process_cpu_time());
    let summary = play(passes, plan, &pass, source, &mut recording)?;
    let (cpu, wall) = (process_cpu_time() - cpu_before, passes.net.now().since(began));
    let rss_peak = memory("VmHWM:")?;
    let failed = summary.outcomes.failed();
    if failed > 0 {
        let told = format!("{failed} requests failed: {}", summary.outcomes);
        return Err(CheckError::new(told));
    }
    let delay = summary.latency(&send_delay::DEFINITION);
    Ok(ClientMeasure {
        errors: None,
        send_delay_us: delay.map_or_else(ErrorSpread::default, |delay| ErrorSpread {
            p50: delay.p50 * 1e3,
            p99: delay.p99 * 1e3,
            max: delay.max * 1e3,
        }),
        ttft: summary
            .latency(&ttft::FROM_SENT)
            .map_or_else(Ttft::default, |ttft| Ttft { mean: ttft.mean, p99: ttft.p99 }),
        requests: summary.outcomes.complete,
        tokens: summary.output_tokens,
        duration_s: summary.duration_s.unwrap_or(0.0),
        cpu_s: cpu.as_secs_f64(),
        wall_s: wall.as_secs_f64(),
        rss_before,
        rss_peak,
        peak_concurrency: summary.peak_concurrency.unwrap_or(0),
        mean_concurrency: summary.mean_concurrency.unwrap_or(0.0),
        server: None,
    })
}

fn recording(
    passes: &PassRunner<EventLoops>,
    plan: &Plan,
    scratch: &Scratch,
) -> Result<Recording, CheckError> {
    let store = Store::open(scratch.0.join("check.db"))?;
    let target = Target {
        url: format!("http://{}", passes.address),
        dialect: DIALECT.to_owned(),
        model: "truth".to_owned(),
        ..Target::default()
    };
    let origin = TimeOrigin::Clock(passes.net.now());
    let header = header::of_run(plan, target, Environment::default(), origin);
    Ok(Recording::begin(store, &header, Counter::None)?)
}

fn play(
    passes: &mut PassRunner<EventLoops>,
    plan: &Plan,
    pass: &PassPlan,
    source: Box<dyn Source>,
    recording: &mut Recording,
) -> Result<PassSummary, CheckError> {
    let begin = PassBegin { pass: 0, cell: plan.cells[0], plan: pass.clone(), repeat: 1 };
    let (recorder, records) = record_queue(0);
    let (played, (result, error)) = std::thread::scope(|scope| -> io::Result<_> {
        let begin = &begin;
        let writer = spawn_scoped(scope, move || {
            recording.pass(
                plan,
                begin,
                &records,
                None,
                || (Ending::Complete, None, Observed::default()),
                || (),
            )
        })?;
        let played = passes.play(plan, begin, source, recorder, Arc::<Live>::default());
        Ok((played.map(|_| ()), writer.join().expect("invariant: the writer does not panic")))
    })
    .map_err(CheckError::new)?;
    played.map_err(CheckError::Sockets)?;
    match error {
        Some(error) => Err(error.into()),
        None => Ok(result.summary),
    }
}

#[derive(Default)]
struct Texts(Vec<(Record, String)>);

impl Recorder for Texts {
    fn record(&mut self, record: Record, text: Option<String>) {
        self.0.push((record, text.unwrap_or_default()));
    }
}

/// Runs the pass again, keeps all records in memory, and compares their times with the send times of the
/// server.
fn errors(
    passes: &mut PassRunner<EventLoops>,
    plan: &Plan,
    load: &ClientLoad,
) -> Result<ClientErrors, CheckError> {
    let begin = PassBegin { pass: 0, cell: plan.cells[0], plan: plan.passes[0].clone(), repeat: 1 };
    let live = Arc::<Live>::default();
    let PlayedPass { recorder: Texts(records), .. } = passes
        .play(plan, &begin, source(load), Texts::default(), live)
        .map_err(CheckError::Sockets)?;
    let mut errors = Errors::default();
    for (record, text) in &records {
        errors.add(record, text).map_err(CheckError::new)?;
    }
    Ok(errors.finish())
}

/// A memory figure of this process, in bytes. `key` is the start of its line in `/proc/self/status`.
fn memory(key: &str) -> Result<u64, CheckError> {
    let path = "/proc/self/status";
    let status =
        fs::read_to_string(path).map_err(|error| CheckError::new(format!("{path}: {error}")))?;
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes
        .map(|count| count * 1024)
        .ok_or_else(|| CheckError::new(format!("{path} has no {key}")))
}
