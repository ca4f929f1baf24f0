//! Requests as a file, and the workload that sends them again: `--dump-workload` writes what was
//! sent, one request per line behind a line that says what was asked for, and `--workload replay`
//! reads it. The requests are the same, byte for byte, and so is their `workload_hash`. Headers and
//! keys are never in it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use inferometer_core::plan::{CellPlan, PassPlan, Plan};
use inferometer_core::request::{Prompt, Request, Sampling};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::WorkloadError;
use crate::place::PromptPlace;
use crate::random::RandomWords;
use crate::requests::{Built, Shared, Workload, one_of_each};

/// The version of the format.
pub const SCHEMA: &str = "inferometer.workload/1";

/// What a request is made for elsewhere than in a pass; these are random words.
const BESIDE: [&str; 2] = ["warm-up", "check"];

/// Keys of a plan that say whom to ask and where results go, and so are not the workload's.
const NOT_THE_WORKLOADS: [&str; 16] = [
    "target",
    "endpoint",
    "dialect",
    "model",
    "profile",
    "speed",
    "tokenizer",
    "header",
    "api_key_env",
    "store",
    "out",
    "dump_workload",
    "workload",
    "dataset",
    "token_ids",
    "count_template",
];

/// The first line of the file: how the requests were sent, as keys of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DumpHeader {
    /// [`SCHEMA`]
    pub schema: String,
    /// Lengths of the grid, loads, counts, sampling, seed and salt.
    pub plan: Map<String, Value>,
}

impl DumpHeader {
    /// That of a plan with this salt.
    #[must_use]
    pub fn of(plan: &Plan, salt: &str) -> Self {
        let mut keys = match serde_json::to_value(&plan.asked) {
            Ok(Value::Object(keys)) => keys,
            _ => Map::new(),
        };
        keys.retain(|key, value| !value.is_null() && !NOT_THE_WORKLOADS.contains(&key.as_str()));
        for own in [
            "range_ratio",
            "input_distribution",
            "output_distribution",
            "prefix_length",
            "prefix_groups",
            "prompts_per_group",
            "prefix_zipf",
            "warm_share",
            "columns",
            "output_length",
        ] {
            keys.remove(own);
        }
        let axis = |length: fn(&CellPlan) -> u32| {
            let mut lengths: Vec<u32> = Vec::new();
            for length in plan.cells.iter().map(length) {
                if !lengths.contains(&length) {
                    lengths.push(length);
                }
            }
            Value::from(lengths)
        };
        keys.insert("input_lengths".to_owned(), axis(|cell| cell.input_length));
        keys.insert("output_lengths".to_owned(), axis(|cell| cell.output_length));
        keys.insert("salt".to_owned(), salt.into());
        keys.insert("seed".to_owned(), plan.seed.into());
        // Counts that were a default are a default of that plan alone.
        let by_count = |pass: &&PassPlan| pass.requests().is_some();
        let one_by_one = |pass: &&PassPlan| matches!(pass, PassPlan::OneByOne { .. });
        let of = |pass: Option<&PassPlan>| pass.and_then(PassPlan::requests);
        let counts = [
            ("one_by_one", of(plan.passes.iter().find(one_by_one))),
            ("requests", of(plan.passes.iter().filter(by_count).find(|pass| !one_by_one(pass)))),
        ];
        for (key, count) in counts {
            if let Some(count) = count {
                keys.insert(key.to_owned(), count.into());
            }
        }
        Self { schema: SCHEMA.to_owned(), plan: keys }
    }

    /// Reads the first line of a file.
    ///
    /// # Errors
    /// When the file cannot be read, or is no such file.
    pub fn read(path: &Path) -> Result<Self, WorkloadError> {
        open(path).map(|(header, _)| header)
    }
}

/// One request of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DumpLine {
    /// The pass within the run, from 0.
    pub pass: u32,
    /// The repeat, from 1.
    pub repeat: u32,
    /// The cell of the grid; 0 where requests have lengths of their own.
    pub cell: CellPlan,
    /// The load of the pass, as people call it.
    pub load: String,
    /// How its output is chosen and delivered.
    pub sampling: Sampling,
    /// When it is due, in nanoseconds from the start of the pass; absent where ends decide.
    pub due_ns: Option<u64>,
    /// The request.
    pub request: Request,
}

type Lines = std::io::Lines<BufReader<File>>;

fn open(path: &Path) -> Result<(DumpHeader, Lines), WorkloadError> {
    let unreadable = |error: std::io::Error| WorkloadError::UnreadableDataSet {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let mut lines = BufReader::new(File::open(path).map_err(unreadable)?).lines();
    let first = lines.next().transpose().map_err(unreadable)?.unwrap_or_default();
    let header: Result<DumpHeader, _> = serde_json::from_str(&first);
    match header {
        Ok(header) if header.schema == SCHEMA => Ok((header, lines)),
        Ok(DumpHeader { schema, .. }) => {
            Err(malformed(path, 1, format!("the schema is {schema}, not {SCHEMA}")))
        }
        Err(error) => {
            Err(malformed(path, 1, format!("it is not a file of --dump-workload: {error}")))
        }
    }
}

fn malformed(path: &Path, line: usize, reason: String) -> WorkloadError {
    let (path, row) = (path.to_owned(), line as u64);
    WorkloadError::MalformedDataSet { path, row, line, column: 1, reason }
}

/// The workload `replay`.
pub(crate) struct Replay {
    path: std::path::PathBuf,
    passes: BTreeMap<(String, String, u32), Vec<Request>>,
}

impl Replay {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read, or a line is none of ours: a request that is left out would make it
    /// another workload.
    pub(crate) fn open(dataset: &str) -> Result<Self, WorkloadError> {
        let path = Path::new(dataset);
        let (_, lines) = open(path)?;
        let mut passes: BTreeMap<_, Vec<Request>> = BTreeMap::new();
        for (number, line) in lines.enumerate() {
            let line = line.map_err(|error| malformed(path, number + 2, error.to_string()))?;
            let line: DumpLine = serde_json::from_str(&line)
                .map_err(|error| malformed(path, number + 2, error.to_string()))?;
            let place = (line.cell.to_string(), line.load, line.repeat);
            passes.entry(place).or_default().push(line.request);
        }
        Ok(Self { path: path.to_owned(), passes })
    }

    /// Something of the length of a cell's requests, where nothing is measured.
    fn beside(
        &self,
        shared: &Shared,
        cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError> {
        let here = self.passes.iter().find(|((name, ..), _)| *name == cell.to_string());
        let first = here.and_then(|(_, requests)| requests.first());
        let (input, output) = first.map_or((cell.input_length, cell.output_length), |first| {
            (first.input_tokens, first.output_tokens)
        });
        let input_length = input.max(shared.reserve + 1);
        let cell = CellPlan { input_length, output_length: output.max(1) };
        RandomWords.requests(shared, cell, place, count)
    }
}

impl Workload for Replay {
    fn requests(
        &self,
        shared: &Shared,
        cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError> {
        if BESIDE.contains(&place.pass.as_str()) {
            return self.beside(shared, cell, place, count);
        }
        let key = (place.cell.clone(), place.pass.clone(), place.repeat + 1);
        let kept = self.passes.get(&key).map_or(&[][..], Vec::as_slice);
        if kept.len() < count {
            return Err(WorkloadError::NotInDump {
                path: self.path.clone(),
                wanted: format!("{count} requests of {}, {}, repeat {}", key.0, key.1, key.2),
                found: kept.len(),
            });
        }
        Ok(Built { requests: kept[..count].to_vec(), notes: Vec::new() })
    }

    fn as_they_are(&self) -> Vec<&Prompt> {
        one_of_each(self.passes.values().flatten().map(|request| &request.prompt))
    }
}
