//! MLflow's file store: a folder of experiments, each a folder of runs, each a folder of small
//! files, as `mlflow ui --backend-store-uri DIR` and MLflow's client read them. Nothing here depends
//! on what is measured.
//!
//! The layout is that of `mlflow.store.tracking.file_store`: a `meta.yaml` for each experiment and
//! run; `params/KEY` and `tags/KEY` with the value, `metrics/KEY` with a line `TIME VALUE STEP` for
//! each value; a slash in a key is a folder.

use std::path::{Path, PathBuf};
use std::{fs, io};

use inferometer_model::request::sha256_hex;
use serde_json::json;

/// The longest value of a parameter that MLflow takes, in characters.
const MAX_PARAM_CHARS: usize = 6_000;

/// The status of a run, by MLflow's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The run is in progress.
    Running = 1,
    /// The run was completed.
    Finished = 3,
    /// The run failed.
    Failed = 4,
    /// The run was interrupted.
    Killed = 5,
}

/// One value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its name; a slash makes a group.
    pub key: String,
    /// The value.
    pub value: f64,
    /// Which of several values of this name it is.
    pub step: u32,
}

/// A run as MLflow has it.
#[derive(Clone, Debug)]
pub struct Run {
    /// The experiment that it is one of.
    pub experiment: String,
    /// The name that is shown; the run's id is its hash.
    pub name: String,
    /// When it began, in milliseconds since the Unix epoch.
    pub started_unix_ms: i64,
    /// When it ended.
    pub ended_unix_ms: Option<i64>,
    /// How it ended.
    pub status: Status,
    /// The settings.
    pub params: Vec<(String, String)>,
    /// Tags.
    pub tags: Vec<(String, String)>,
    /// The results.
    pub metrics: Vec<Metric>,
}

impl Run {
    /// Writes the run into a file store and returns its folder. The store is created if there is none;
    /// an earlier export of the same run is replaced. `artifacts` writes the run's files.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn write<E: From<io::Error>>(
        &self,
        store: &Path,
        artifacts: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let store = std::path::absolute(store)?;
        let experiment = self.experiment(&store)?;
        let id = &sha256_hex(self.name.as_bytes())[..32];
        let folder = store.join(&experiment).join(id);
        // MLflow ignores names that begin with a dot, so it does not see an incomplete run.
        let fresh = store.join(format!(".{id}.new"));
        remove(&fresh)?;
        for part in ["params", "tags", "metrics", "artifacts"] {
            fs::create_dir_all(fresh.join(part))?;
        }
        for (key, value) in &self.params {
            put(&fresh.join("params"), key, &cut(value))?;
        }
        for (key, value) in &self.tags {
            put(&fresh.join("tags"), key, value)?;
        }
        for (key, lines) in self.histories() {
            put(&fresh.join("metrics"), &key, &lines)?;
        }
        let uri = uri(&folder.join("artifacts"));
        fs::write(fresh.join("meta.yaml"), self.meta(&experiment, id, &uri))?;
        artifacts(&fresh.join("artifacts"))?;
        remove(&folder)?;
        fs::rename(&fresh, &folder)?;
        Ok(folder)
    }

    /// The id of the experiment: the one that the store has for this name, else a hash of the name.
    fn experiment(&self, store: &Path) -> io::Result<String> {
        let name_line = format!("name: {}", json!(self.experiment));
        let plain_line = format!("name: {}", self.experiment);
        for entry in fs::read_dir(store).into_iter().flatten().flatten() {
            let Ok(meta) = fs::read_to_string(entry.path().join("meta.yaml")) else { continue };
            if meta.lines().any(|line| line == name_line || line == plain_line) {
                return Ok(entry.file_name().to_string_lossy().into_owned());
            }
        }
        let digits = &sha256_hex(self.experiment.as_bytes())[..14];
        let id = u64::from_str_radix(digits, 16).expect("invariant: hexadecimal digits");
        let id = format!("{id:018}");
        let folder = store.join(&id);
        fs::create_dir_all(&folder)?;
        let at = self.started_unix_ms;
        fs::write(
            folder.join("meta.yaml"),
            format!(
                "artifact_location: {}\ncreation_time: {at}\nexperiment_id: '{id}'\n\
                 last_update_time: {at}\nlifecycle_stage: active\n{name_line}\n",
                json!(uri(&folder))
            ),
        )?;
        Ok(id)
    }

    fn meta(&self, experiment: &str, id: &str, artifacts: &str) -> String {
        let end = self.ended_unix_ms.map_or("null".to_owned(), |at| at.to_string());
        format!(
            "artifact_uri: {artifacts}\nend_time: {end}\nentry_point_name: ''\n\
             experiment_id: '{experiment}'\nlifecycle_stage: active\nrun_id: {id}\n\
             run_name: {name}\nrun_uuid: {id}\nsource_name: ''\nsource_type: 4\n\
             source_version: ''\nstart_time: {start}\nstatus: {status}\ntags: []\n\
             user_id: inferometer\n",
            artifacts = json!(artifacts),
            name = json!(self.name),
            id = json!(id),
            start = self.started_unix_ms,
            status = self.status as u8,
        )
    }

    /// Each metric with a line for each of its values.
    fn histories(&self) -> Vec<(String, String)> {
        let at = self.ended_unix_ms.unwrap_or(self.started_unix_ms);
        let mut histories: Vec<(String, String)> = Vec::new();
        for metric in &self.metrics {
            let line = format!("{at} {} {}\n", metric.value, metric.step);
            match histories.iter_mut().find(|(key, _)| *key == metric.key) {
                Some((_, lines)) => *lines += &line,
                None => histories.push((metric.key.clone(), line)),
            }
        }
        histories
    }
}

/// A text as part of a key: MLflow allows letters, digits, `_`, `-` and `.`.
pub fn part(text: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let words = text.split(|c| !is_allowed(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

fn put(folder: &Path, key: &str, text: &str) -> io::Result<()> {
    let path = folder.join(key);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A value cut to the length that MLflow allows, with an ellipsis if it is cut.
fn cut(value: &str) -> String {
    match value.char_indices().nth(MAX_PARAM_CHARS - 1) {
        Some((end, _)) if value.chars().count() > MAX_PARAM_CHARS => format!("{}…", &value[..end]),
        _ => value.to_owned(),
    }
}

/// A path as a `file:` address.
fn uri(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let encode = |byte: u8| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    format!("file://{}", path.to_string_lossy().bytes().map(encode).collect::<String>())
}
