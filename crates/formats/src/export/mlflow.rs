//! Writes MLflow's file store, which `mlflow ui --backend-store-uri DIR` and MLflow's client read. The store is
//! a folder of experiments; an experiment is a folder of runs; a run is a folder of small files. This module
//! does not depend on the metrics that are exported.
//!
//! The layout is that of `mlflow.store.tracking.file_store`. Each experiment and each run has a `meta.yaml`.
//! The files `params/KEY` and `tags/KEY` contain the value. The file `metrics/KEY` has one line
//! `TIME VALUE STEP` for each value. A slash in a key separates folders.

use std::path::{Path, PathBuf};
use std::{fs, io};

use inferometer_model::sha256::sha256_hex;
use serde_json::json;

/// The maximum length of a parameter's value in MLflow, in characters.
const MAX_PARAM_CHARS: usize = 6_000;

/// The status of a run. The numbers are those of MLflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The run is in progress.
    Running = 1,
    /// The run was completed.
    Finished = 3,
    /// The run failed.
    Failed = 4,
    /// The run was interrupted or killed.
    Killed = 5,
}

/// One value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name of the metric; MLflow groups metrics by the text before a slash.
    pub key: String,
    /// The value.
    pub value: f64,
    /// The step: the index of this value among the values of the same name.
    pub step: u32,
}

/// A run in the form of MLflow.
#[derive(Clone, Debug)]
pub struct Run {
    /// The name of the experiment that the run belongs to.
    pub experiment: String,
    /// The displayed name. The run's id is a hash of this name.
    pub name: String,
    /// When the run began, in milliseconds since the Unix epoch.
    pub started_unix_ms: i64,
    /// When the run ended, in milliseconds since the Unix epoch; absent if it is not known.
    pub ended_unix_ms: Option<i64>,
    /// The status of the run.
    pub status: Status,
    /// The settings, as pairs of key and value. A value longer than 6,000 characters is cut.
    pub params: Vec<(String, String)>,
    /// The tags, as pairs of key and value.
    pub tags: Vec<(String, String)>,
    /// The results.
    pub metrics: Vec<Metric>,
}

impl Run {
    /// Writes the run into the file store `store` and returns the folder of the run. Creates the store if it does
    /// not exist. Replaces an earlier export of the same run. `artifacts` receives a folder and writes the run's
    /// files into it.
    ///
    /// # Errors
    /// If a file or folder cannot be written, or if `artifacts` fails.
    pub fn write<E: From<io::Error>>(
        &self,
        store: &Path,
        artifacts: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let store = std::path::absolute(store)?;
        let experiment = self.experiment(&store)?;
        let id = &sha256_hex(self.name.as_bytes())[..32];
        let folder = store.join(&experiment).join(id);
        // The files are first written to this folder. When it is complete, an earlier export of the run is deleted, and
        // then this folder gets the final name. So an interruption can leave a part of the earlier export under the
        // final name, but never a part of the new one. The folder is inside the store, because a folder can only be
        // renamed within one file system. MLflow does not look into folders whose names end with `.trash`.
        let fresh = store.join(format!(".{id}.trash"));
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

    /// Returns the id of the experiment. If the store has no experiment of this name, creates one; its id is a
    /// hash of the name.
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
        let id = u64::from_str_radix(digits, 16).expect("invariant: a hash has hexadecimal digits");
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

    /// Returns the name of each metric and the text of its file, which has one line for each value.
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

/// Returns the text in a form that can be a part of a key: only ASCII letters, digits, `_`, `-` and `.` remain. Other
/// characters are removed at both ends of the text; elsewhere, each sequence of them becomes one `_`.
pub fn part(text: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let words = text.split(|c| !is_allowed(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// Returns a text of a user in a form that can be a part of a key, and that differs for each text: if [`part`] changes
/// the text, the first 8 digits of the text's SHA-256 are added.
pub fn distinct_part(text: &str) -> String {
    let kept = part(text);
    if kept == text {
        return kept;
    }
    let hash = &sha256_hex(text.as_bytes())[..8];
    if kept.is_empty() { hash.to_owned() } else { format!("{kept}-{hash}") }
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

/// Cuts a value to [`MAX_PARAM_CHARS`] characters. A value that was cut ends with an ellipsis.
fn cut(value: &str) -> String {
    match value.char_indices().nth(MAX_PARAM_CHARS - 1) {
        Some((end, _)) if value.chars().count() > MAX_PARAM_CHARS => format!("{}…", &value[..end]),
        _ => value.to_owned(),
    }
}

/// Returns an absolute path as a `file://` URI.
fn uri(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let encode = |byte: u8| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    format!("file://{}", path.to_string_lossy().bytes().map(encode).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_texts_have_different_parts_of_keys() {
        let texts = ["a.b-c_1", "a/b", "a:b", "a_b", "基线", "对照", "基线-2", "-2"];
        let parts = texts.map(distinct_part);
        assert_eq!((&*parts[0], &*parts[3], &*parts[7]), ("a.b-c_1", "a_b", "-2"));
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        for (at, part) in parts.iter().enumerate() {
            assert!(!part.is_empty() && part.chars().all(is_allowed), "{part}");
            assert!(!parts[..at].contains(part), "{part}");
        }
    }

    #[test]
    fn mlflow_sees_no_incomplete_run_in_the_store() {
        let store = tempfile::tempdir().expect("a folder");
        let run = Run {
            experiment: "an experiment".to_owned(),
            name: "run".to_owned(),
            started_unix_ms: 1,
            ended_unix_ms: None,
            status: Status::Finished,
            params: Vec::new(),
            tags: Vec::new(),
            metrics: Vec::new(),
        };
        let names = |folder: &Path| -> Vec<String> {
            let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("one"));
            entries.map(|entry| entry.file_name().into_string().expect("a name")).collect()
        };
        // What MLflow lists in its file store: each folder is an experiment, except those with this ending.
        let experiments = || -> Vec<String> {
            names(store.path()).into_iter().filter(|name| !name.ends_with(".trash")).collect()
        };
        let is_incomplete = |_: &Path| {
            let [experiment] = <[String; 1]>::try_from(experiments()).expect("one experiment");
            assert_eq!(names(&store.path().join(experiment)), ["meta.yaml"]);
            Ok::<_, io::Error>(())
        };
        let folder = run.write(store.path(), is_incomplete).expect("written");
        assert!(folder.join("meta.yaml").is_file());
        assert_eq!(names(store.path()), experiments(), "the temporary folder is gone");
    }
}
