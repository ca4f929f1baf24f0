//! The workload `replay`, and the format of its file. `--dump-workload` writes the file. Its first line
//! contains the settings, and each further line contains one request. `--workload replay` sends the same
//! requests, byte for byte and with the same `workload_hash`. The file never contains HTTP headers or
//! API keys.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::{collections::BTreeMap, sync::Arc};

use inferometer_model::{CellPlan, Nanos, PassPlan, Prompt, Request, Sampling, load::RECORDED};
use inferometer_plan::Plan;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::data_set::{self, RowEnd, RowLimit};
use crate::random::RandomWords;
use crate::workload::{WorkloadDefinition, longest_beyond, one_of_each_form, write_instants};
use crate::{PromptContext, RequestBatch, RequestsNeeded, TooLong, Workload, WorkloadError};

/// The version of the format.
pub const SCHEMA: &str = "inferometer.workload/1";

/// The labels of passes that are not measured. Their requests are random words and are not in the file.
const UNMEASURED: [&str; 2] = ["warm-up", "check"];

/// The keys of a plan that are copied into the file, because they determine how requests are sent.
/// Lengths, passes, numbers of requests, seed and salt are not in this list, because they come from the
/// resolved plan. The prompts are in the file itself.
const SENDING_KEYS: [&str; 24] = [
    "concurrency", "rate", "stages", "burstiness", "arrivals", "scale", "max_in_flight",
    "over_limit", "duration", "warmup", "cooldown", "repeat", "until", "max_repeats", "timeout",
    "connect_timeout", "first_token_timeout", "event_timeout", "max_failures", "extra_body",
    "temperature", "ignore_eos", "stream", "reset_prefix_cache",
];

/// The first line of the file: the settings with which the requests were sent, as keys of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DumpHeader {
    /// The version of the format: [`SCHEMA`].
    pub schema: String,
    /// The keys of the plan with their values: lengths of the grid, loads, counts, sampling, seed, salt
    /// and others.
    pub plan: Map<String, Value>,
    /// Whether a pass sent its requests at recorded arrival times. A replay then sends them at their
    /// `due_ns`.
    #[serde(default)]
    pub recorded: bool,
}

/// The key of the plan for the input lengths or the output lengths, and the function that returns this
/// length of a cell.
type Axis = (&'static str, fn(&CellPlan) -> u32);

impl DumpHeader {
    /// The header for the requests of a plan that were made with this salt.
    pub fn of(plan: &Plan, salt: &str) -> Self {
        let mut keys = plan.spec.keys();
        keys.retain(|key, value| !value.is_null() && SENDING_KEYS.contains(&key.as_str()));
        let axis = |length: fn(&CellPlan) -> u32| {
            let mut lengths: Vec<u32> = Vec::new();
            for length in plan.cells.iter().map(length) {
                if !lengths.contains(&length) {
                    lengths.push(length);
                }
            }
            lengths
        };
        let axes: [Axis; 2] = [
            ("input_lengths", |cell| cell.input_length),
            ("output_lengths", |cell| cell.output_length),
        ];
        for (key, length) in axes {
            // Without a grid, each request has its own lengths, so the key is left out.
            let lengths = axis(length);
            if lengths != [0] {
                keys.insert(key.to_owned(), lengths.into());
            }
        }
        // The default passes depend on the workload, so they are written too.
        let named: Vec<&str> = plan.passes.iter().filter_map(name_of).collect();
        if !named.is_empty() {
            keys.insert("passes".to_owned(), named.into());
        }
        // The default of `ignore_eos` depends on the workload too.
        keys.insert("ignore_eos".to_owned(), plan.sampling.ignore_eos.into());
        keys.insert("salt".to_owned(), salt.into());
        keys.insert("seed".to_owned(), plan.seed.into());
        // Default counts depend on the plan, so they are written too.
        let by_count = |pass: &&PassPlan| pass.requests().is_some();
        let one_by_one = |pass: &&PassPlan| matches!(pass, PassPlan::OneByOne(_));
        let of = |pass: Option<&PassPlan>| pass.and_then(|pass| pass.requests());
        let counts = [
            ("one_by_one", of(plan.passes.iter().find(one_by_one))),
            ("requests", of(plan.passes.iter().filter(by_count).find(|pass| !one_by_one(pass)))),
        ];
        for (key, count) in counts {
            if let Some(count) = count {
                keys.insert(key.to_owned(), count.into());
            }
        }
        let recorded = plan.passes.iter().any(|pass| matches!(pass, PassPlan::Replay(_)));
        Self { schema: SCHEMA.to_owned(), plan: keys, recorded }
    }

    /// Reads the first line of a file.
    ///
    /// # Errors
    /// If the file cannot be read, or was not written by `--dump-workload`.
    pub fn read(path: &Path) -> Result<Self, WorkloadError> {
        open(path).map(|(header, _)| header)
    }
}

/// The name of a pass in the key `passes`; `None` if this key cannot select the pass.
fn name_of(pass: &PassPlan) -> Option<&'static str> {
    match pass {
        PassPlan::OneByOne(_) => Some("one_by_one"),
        PassPlan::Saturated(_) => Some("saturated"),
        _ => None,
    }
}

/// One request of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DumpLine {
    /// The pass within the run, from 0.
    pub pass: u32,
    /// The repeat, from 1.
    pub repeat: u32,
    /// The cell of the grid. A length is 0 if each request has its own length.
    pub cell: CellPlan,
    /// The load of the pass: [`PassPlan::prompt_label`].
    pub load: String,
    /// How the output of the request is sampled and delivered.
    pub sampling: Sampling,
    /// When the request is due, in nanoseconds from the start of the pass. `None` if the pass is not an
    /// open loop. A replay uses this value only for recorded arrivals; it draws random arrivals again from
    /// the seed.
    pub due_ns: Option<u64>,
    /// The request.
    pub request: Request,
}

type Lines = std::io::Lines<BufReader<RowLimit>>;

fn open(path: &Path) -> Result<(DumpHeader, Lines), WorkloadError> {
    let unreadable = |error: std::io::Error| WorkloadError::unreadable(path, error);
    let mut lines = data_set::open(path, RowEnd::Line)?.reader.lines();
    let first = lines.next().transpose().map_err(unreadable)?.unwrap_or_default();
    let header: Result<DumpHeader, _> = serde_json::from_str(&first);
    match header {
        Ok(header) if header.schema == SCHEMA => Ok((header, lines)),
        Ok(DumpHeader { schema, .. }) => {
            Err(malformed(path, 1, format!("the schema is {schema}, not {SCHEMA}")))
        }
        Err(error) => {
            Err(malformed(path, 1, format!("it was not written by --dump-workload: {error}")))
        }
    }
}

fn malformed(path: &Path, line: usize, reason: String) -> WorkloadError {
    let (path, row) = (path.to_owned(), line as u64);
    WorkloadError::MalformedDataSet { path, row, line, column: 1, reason }
}

/// The error for a line that is not the JSON of a request.
fn not_a_request(path: &Path, line: usize, error: &serde_json::Error) -> WorkloadError {
    let message = error.to_string();
    // The library appends the line and the column to the message. They are removed, because the error has
    // fields for them. The line of the library counts from the beginning of this text, not of the file.
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = message.strip_suffix(&place).unwrap_or(&message).to_owned();
    let (path, row, column) = (path.to_owned(), line as u64, error.column());
    WorkloadError::MalformedDataSet { path, row, line, column, reason }
}

/// The arrival times of the first pass with recorded arrivals, as offsets from the start of the pass. All
/// cells and repeats have the same arrival times.
///
/// # Errors
/// As [`Replay::open`]; also if a request has no `due_ns`, or the times are not in ascending order.
fn instants(dataset: &str) -> Result<Vec<Nanos>, WorkloadError> {
    let path = Path::new(dataset);
    let mut first_pass = None;
    let mut instants = Vec::new();
    for line in dump_lines(path)? {
        let (number, line) = line?;
        if line.load == RECORDED && *first_pass.get_or_insert(line.pass) == line.pass {
            let due = line.due_ns.map(Nanos);
            let reason = || "due_ns is missing: a replay needs the recorded times".to_owned();
            let due = due.ok_or_else(|| malformed(path, number, reason()))?;
            if instants.last().is_some_and(|before| due < *before) {
                let reason = "the times (due_ns) are not in ascending order".to_owned();
                return Err(malformed(path, number, reason));
            }
            instants.push(due);
        }
    }
    Ok(instants)
}

/// The requests of a file, each with the number of its line.
fn dump_lines(
    path: &Path,
) -> Result<impl Iterator<Item = Result<(usize, DumpLine), WorkloadError>> + '_, WorkloadError> {
    let (_, lines) = open(path)?;
    Ok(lines.enumerate().map(move |(at, line)| {
        let number = at + 2;
        let line = line.map_err(|error| malformed(path, number, error.to_string()))?;
        let line =
            serde_json::from_str(&line).map_err(|error| not_a_request(path, number, &error))?;
        Ok((number, line))
    }))
}

/// The workload `replay` as a plan configures it.
pub(crate) struct Definition<'a> {
    pub dataset: &'a str,
}

impl WorkloadDefinition for Definition<'_> {
    fn open(&self, _context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        Ok(Arc::new(Replay::open(self.dataset)?))
    }

    fn prepare(&self, passes: &mut [PassPlan], _seed: u64) -> Result<(), WorkloadError> {
        write_instants(passes, self.dataset, || instants(self.dataset))
    }
}

/// The workload `replay`.
struct Replay {
    path: PathBuf,
    /// The requests of each pass. The key is the cell, the load, and the number of the repeat from 1.
    passes: BTreeMap<(String, String, u32), Vec<Request>>,
}

impl Replay {
    /// Reads the file.
    ///
    /// # Errors
    /// If the file cannot be read, or any line is malformed. A malformed line is not skipped, because
    /// the workload would then be different.
    fn open(dataset: &str) -> Result<Self, WorkloadError> {
        let path = Path::new(dataset);
        let mut passes: BTreeMap<_, Vec<Request>> = BTreeMap::new();
        for line in dump_lines(path)? {
            let (_, line) = line?;
            let pass = (line.cell.to_string(), line.load, line.repeat);
            passes.entry(pass).or_default().push(line.request);
        }
        Ok(Self { path: path.to_owned(), passes })
    }

    /// Requests for passes that are not measured: random words. Their lengths are those of a recorded request
    /// of the cell, or those of the cell if the file has no request of it.
    fn unmeasured(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, cell, .. } = *wanted;
        let here = self.passes.iter().find(|((name, ..), _)| *name == cell.to_string());
        let first = here.and_then(|(_, requests)| requests.first());
        let (input, output) = first.map_or((cell.input_length, cell.output_length), |first| {
            (first.input_tokens, first.output_tokens)
        });
        let input_length = input.max(context.reserve + 1);
        let cell = CellPlan { input_length, output_length: output.max(1) };
        RandomWords.requests(&RequestsNeeded { cell, ..*wanted })
    }
}

impl Workload for Replay {
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { scope, count, .. } = *wanted;
        if UNMEASURED.contains(&scope.pass.as_str()) {
            return self.unmeasured(wanted);
        }
        let key = (scope.cell.clone(), scope.pass.clone(), scope.repeat + 1);
        let requests = self.passes.get(&key).map_or(&[][..], Vec::as_slice);
        if requests.len() < count {
            return Err(WorkloadError::NotInDump {
                path: self.path.clone(),
                wanted: format!("{count} requests of {}, {}, repeat {}", key.0, key.1, key.2),
                found: requests.len(),
            });
        }
        Ok(RequestBatch { requests: requests[..count].to_vec(), notes: Vec::new() })
    }

    fn beyond(&self, wanted: &RequestsNeeded<'_>, limit: u64) -> TooLong {
        let RequestsNeeded { scope, count, .. } = *wanted;
        let key = (scope.cell.clone(), scope.pass.clone(), scope.repeat + 1);
        let sent = self.passes.get(&key).into_iter().flatten().take(count);
        Ok(longest_beyond(limit, sent.map(Request::lengths)))
    }

    fn verbatim_prompts(&self) -> Vec<&Prompt> {
        one_of_each_form(self.passes.values().flatten().map(|request| &request.prompt))
    }
}
