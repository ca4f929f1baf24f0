//! The flags of `vllm bench serve` for results: which figures are printed, and how the result file is written.

use std::path::{Path, PathBuf};
use std::{fs, io::Write as _};

use inferometer_analysis::Summary;
use inferometer_formats::dialect::{ServingMetric, ServingSelection, SteadyStateWindow};
use serde_json::{Map, Value, json};

use super::{load::Arrivals, reader::Reader, target::backend};
use crate::command_line::Failure;
use crate::serving_results::{ServingRamp, ServingSettings, insert_after};

/// The settings for the printed table and for the result file.
#[derive(Clone, Debug, PartialEq)]
pub struct ServingOutput {
    selection: ServingSelection,
    arrivals: Arrivals,
    backend: String,
    label: Option<String>,
    model: Option<String>,
    tokenizer: Option<String>,
    requests: u32,
    metadata: Vec<(String, String)>,
    file: File,
    /// Whether progress is shown.
    pub progress: bool,
    /// Whether this is a dry run.
    pub dry_run: bool,
}

/// The settings of the result file.
#[derive(Clone, Debug, Default, PartialEq)]
struct File {
    save: bool,
    append: bool,
    detailed: bool,
    folder: Option<PathBuf>,
    name: Option<String>,
}

/// Fields of a result file that only a detailed file has.
const DETAILS: [&str; 7] =
    ["input_lens", "output_lens", "start_times", "ttfts", "itls", "generated_texts", "errors"];

impl ServingOutput {
    /// Reads the flags. Adds mistakes and notes to `reader`.
    pub fn of(reader: &mut Reader<'_>, arrivals: Arrivals, requests: u32) -> Self {
        let text = |flag| reader.text(flag).map(str::to_owned);
        let file = File {
            save: reader.has("--save-result"),
            append: reader.has("--append-result"),
            detailed: reader.has("--save-detailed"),
            folder: text("--result-dir").map(PathBuf::from),
            name: text("--result-filename"),
        };
        let (label, model) = (text("--label"), text("--model"));
        let tokenizer = text("--tokenizer").or_else(|| model.clone());
        if !file.save && !file.append {
            for flag in ["--save-detailed", "--result-dir", "--result-filename", "--metadata"] {
                if reader.has(flag) {
                    reader.note(flag, "has no effect without --save-result, as in vLLM");
                }
            }
        }
        let metadata = reader.pairs("--metadata", '=');
        let metadata = metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Self {
            metadata: metadata.collect(),
            selection: selection(reader, &arrivals),
            arrivals,
            backend: backend(reader).to_owned(),
            label,
            model,
            tokenizer,
            requests,
            file,
            progress: !reader.has("--disable-tqdm"),
            dry_run: reader.has("--dry-run"),
        }
    }

    /// The plan key `goodput` with the objectives of --goodput; None without objectives.
    pub fn goodput_key(&self) -> Option<(String, Value)> {
        let limits = self.selection.goodput.iter().map(|(metric, limit)| {
            let name = if *metric == ServingMetric::E2el { "e2e" } else { metric.name() };
            format!("{name}<={limit}ms")
        });
        let text = limits.collect::<Vec<_>>().join(",");
        (!text.is_empty()).then(|| ("goodput".to_owned(), text.into()))
    }

    /// The settings that the table and the result file of the pass need.
    pub fn serving_settings(&self) -> ServingSettings<'_> {
        ServingSettings {
            selection: &self.selection,
            rate: Some(self.arrivals.rate).filter(|rate| rate.is_finite()),
            max_concurrency: self.arrivals.most_in_flight,
            burstiness: self.arrivals.burstiness,
            ramp: self.arrivals.ramp.as_ref().map(|ramp| ServingRamp {
                is_exponential: ramp.strategy == "exponential",
                from: ramp.from,
                to: ramp.to,
            }),
        }
    }

    /// Creates the folder of --result-dir and checks the name of the result file, so that most write errors are
    /// reported before anything is sent.
    ///
    /// # Errors
    /// - The folder cannot be created.
    /// - The file name names a folder, or a file in a folder that does not exist.
    /// - The default file name is used, and `--label` contains a `/`.
    /// - An existing file cannot be written.
    pub fn prepare(&self) -> Result<(), Failure> {
        if !self.is_saved() {
            return Ok(());
        }
        if let Some(folder) = &self.file.folder {
            fs::create_dir_all(folder).map_err(|error| {
                let folder = folder.display();
                Failure::usage(format!("--result-dir: {folder} cannot be created: {error}"))
            })?;
        }
        if self.file.name.is_none() {
            // The default name also contains the date of the run and the name of the served model. They are still
            // unknown, but neither adds a folder.
            return match &self.label {
                Some(label) if label.contains('/') => Err(Failure::usage(format!(
                    "--label: `{label}` is in the name of the result file and cannot have a `/`; \
                     leave out --label, or give --result-filename"
                ))),
                _ => Ok(()),
            };
        }
        let file = self.path("", "");
        let ends_as_folder = file.as_os_str().as_encoded_bytes().ends_with(b"/");
        if ends_as_folder || file.file_name().is_none() || file.is_dir() {
            return Err(Failure::usage(format!(
                "--result-filename: `{}` is a folder; give the name of a file",
                file.display()
            )));
        }
        if file.is_file()
            && let Err(error) = fs::OpenOptions::new().append(true).open(&file)
        {
            return Err(Failure::usage(format!(
                "--result-filename: {} cannot be written: {error}",
                file.display()
            )));
        }
        match file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) if !folder.is_dir() => Err(Failure::usage(format!(
                "--result-filename: there is no folder {}; create it, or give --result-dir",
                folder.display()
            ))),
            _ => Ok(()),
        }
    }

    fn is_saved(&self) -> bool {
        self.file.save || self.file.append
    }

    /// Writes the result file and returns its path; None if no file was requested.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, file: Value, summary: &Summary) -> Result<Option<PathBuf>, Failure> {
        if !self.is_saved() {
            return Ok(None);
        }
        let Value::Object(mut fields) = file else { return Ok(None) };
        self.describe(&mut fields);
        let date = fields.get("date").and_then(Value::as_str).unwrap_or_default();
        let path = self.path(&summary.target.model, date);
        let mut text = Value::Object(fields).to_string();
        let written = match self.file.append {
            true => append(&path, &mut text),
            false => fs::write(&path, text),
        };
        written.map_err(|error| Failure::run_failed(format!("{}: {error}", path.display())))?;
        Ok(Some(path))
    }

    /// Adds the settings of the benchmark as fields in vLLM's format. Removes the details unless --save-detailed was
    /// given.
    fn describe(&self, fields: &mut Map<String, Value>) {
        let number = |name| fields.get(name).and_then(Value::as_f64);
        let input = number("total_input_tokens").zip(number("duration"));
        let input_per_s = input.map(|(tokens, seconds)| tokens / seconds);
        fields.entry("steady_state").or_insert(Value::Null);
        let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        put("backend", json!(self.backend));
        put("endpoint_type", json!(self.backend));
        put("num_prompts", json!(self.requests));
        if let Some(label) = &self.label {
            put("label", json!(label));
        }
        if let Some(model) = &self.model {
            put("model_id", json!(model));
        }
        if let Some(tokenizer) = &self.tokenizer {
            put("tokenizer_id", json!(tokenizer));
        }
        let mut after = |after: &str, name: &str, value: Value| {
            insert_after(fields, after, name, value);
        };
        // This program sends prompts of any length, so there is no limit to state.
        after("num_prompts", "max_model_len", Value::Null);
        after("request_goodput", "input_throughput", json!(input_per_s));
        if let Some(ramp) = &self.arrivals.ramp {
            after("max_concurrency", "ramp_up_strategy", json!(ramp.strategy));
            after("ramp_up_strategy", "ramp_up_start_rps", json!(ramp.from as u64));
            after("ramp_up_start_rps", "ramp_up_end_rps", json!(ramp.to as u64));
        }
        for (key, value) in self.metadata.iter().rev() {
            after("max_model_len", key, json!(value));
        }
        if !self.file.detailed {
            // A plain removal would change the order of the other fields.
            DETAILS.iter().for_each(|name| drop(fields.shift_remove(*name)));
        }
    }

    /// The path of the file: the given name, or vLLM's default name.
    fn path(&self, served: &str, date: &str) -> PathBuf {
        let model = self.model.as_deref().unwrap_or(served);
        let model = model.rsplit('/').next().unwrap_or(model);
        let label = self.label.as_deref().unwrap_or(&self.backend);
        let most = self.arrivals.most_in_flight;
        let most = most.map_or(String::new(), |most| format!("-concurrency{most}"));
        let rate = match &self.arrivals.ramp {
            Some(ramp) => {
                format!("ramp-up-{}-{}qps-{}qps", ramp.strategy, ramp.from, ramp.to)
            }
            None => format!("{:?}qps", self.arrivals.rate),
        };
        let own = format!("{label}-{rate}{most}-{model}-{date}.json");
        let name = self.file.name.clone().unwrap_or(own);
        self.file.folder.as_deref().unwrap_or(Path::new("")).join(name)
    }
}

/// Appends the JSON document as a line, as vLLM does.
fn append(path: &Path, text: &mut str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
    let line = if file.metadata()?.len() > 0 { format!("\n{text}") } else { text.to_owned() };
    file.write_all(line.as_bytes())
}

/// The metrics and percentiles that are printed, the objectives, and the steady-state window.
fn selection(reader: &mut Reader<'_>, arrivals: &Arrivals) -> ServingSelection {
    let mut metrics = Vec::new();
    let asked = reader.text("--percentile-metrics").unwrap_or("ttft,tpot,itl");
    for name in asked.split(',').map(str::trim) {
        match ServingMetric::named(name) {
            Some(metric) => metrics.push(metric),
            None => {
                let known = ServingMetric::ALL.map(ServingMetric::name).join(", ");
                let problem = format!("`{name}` is not one of {known}");
                reader.mistake("--percentile-metrics", problem);
            }
        }
    }
    // In vLLM, the two metrics with client queue time need a limit of requests in flight. The second of them also needs
    // a finite rate.
    let (waits, arrive) = (arrivals.most_in_flight.is_some(), arrivals.rate.is_finite());
    metrics.retain(|metric| match metric {
        ServingMetric::ClientQueueTime => waits,
        ServingMetric::E2elIncludingClientQueue => waits && arrive,
        _ => true,
    });
    let mut percentiles = Vec::new();
    for text in reader.text("--metric-percentiles").unwrap_or("99").split(',') {
        match text.trim().parse::<f64>() {
            Ok(percentile) if (0.0..=100.0).contains(&percentile) => percentiles.push(percentile),
            _ => {
                let problem = format!("`{text}` is not a number from 0 to 100");
                reader.mistake("--metric-percentiles", problem);
            }
        }
    }
    let all_arrive_at_start = arrivals.rate.is_infinite() && arrivals.ramp.is_none();
    let goodput = goodput(reader);
    // `begin` is set later, because the start of the pass is known only after the pass.
    let steady_state = steady_state(reader, arrivals);
    ServingSelection {
        metrics,
        percentiles,
        goodput,
        all_arrive_at_start,
        begin: None,
        steady_state,
    }
}

/// The steady-state window. None with --no-steady-state. Also None if the requests in flight are not limited, or with a
/// finite rate or a ramp, because the limit is then not always reached.
fn steady_state(reader: &mut Reader<'_>, arrivals: &Arrivals) -> Option<SteadyStateWindow> {
    let is_share = "a number above 0 and at most 1";
    let threshold = reader
        .number("--steady-state-threshold", is_share, |share: &f64| *share > 0.0 && *share <= 1.0);
    let is_time = "a number of at least 0, in seconds";
    let shortest_s = reader.number("--steady-state-min-window", is_time, |seconds: &f64| {
        *seconds >= 0.0 && seconds.is_finite()
    });
    let is_full = arrivals.rate.is_infinite() && arrivals.ramp.is_none();
    let most_in_flight = arrivals.most_in_flight.filter(|_| is_full);
    if reader.has("--no-steady-state") {
        return None;
    }
    if most_in_flight.is_none() {
        for flag in ["--steady-state-threshold", "--steady-state-min-window"] {
            if reader.has(flag) {
                let needs =
                    "has no effect without --max-concurrency at an infinite rate, as in vLLM";
                reader.note(flag, needs);
            }
        }
    }
    let threshold = threshold.unwrap_or(SteadyStateWindow::THRESHOLD);
    most_in_flight.map(|most_in_flight| SteadyStateWindow { most_in_flight, threshold, shortest_s })
}

fn goodput(reader: &mut Reader<'_>) -> Vec<(ServingMetric, f64)> {
    let mut limits = Vec::new();
    for (name, limit) in reader.pairs("--goodput", ':') {
        let metric = match name {
            "ttft" => ServingMetric::Ttft,
            "tpot" => ServingMetric::Tpot,
            "e2el" => ServingMetric::E2el,
            _ => {
                reader.mistake("--goodput", format!("`{name}` is not one of ttft, tpot, e2el"));
                continue;
            }
        };
        match limit.parse::<f64>() {
            Ok(limit) if limit >= 0.0 && limit.is_finite() => limits.push((metric, limit)),
            _ => reader.mistake("--goodput", format!("`{limit}` is not a number of milliseconds")),
        }
    }
    if limits.is_empty() && reader.has("--goodput") && reader.mistakes.is_empty() {
        reader.mistake("--goodput", "names no objective; write it as ttft:500 tpot:50");
    }
    limits
}
