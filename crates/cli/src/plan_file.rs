//! Combines a plan file and the flags into one spec. Both have the same keys; flags override the file.

use std::{collections::BTreeSet, path::Path};

use inferometer_model::{did_you_mean, url::shown_address};
use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use inferometer_plan::spec::{Spec, TargetSpec, known_keys, toml_mistake, without_texts};
use inferometer_workload::replay::DumpHeader;
use serde_json::{Map, Value};

use inferometer_run::PlanError;

use crate::{other_tools, price, scenario};

/// The origin of the keys that override a plan file.
#[derive(Clone, Copy, Debug)]
pub enum OverrideOrigin {
    /// The flags of the command.
    Flags,
    /// The keywords or the mapping of a Python function.
    Keywords,
}

/// The origin of each key: the file, the flags or the keywords. Messages about a key state its origin.
struct Places {
    file: Option<String>,
    given: BTreeSet<String>,
    place: OverrideOrigin,
}

impl Places {
    fn of(file: Option<&Path>, given: &Map<String, Value>, place: OverrideOrigin) -> Self {
        let file = file.map(|path| path.display().to_string());
        Self { file, given: given.keys().cloned().collect(), place }
    }

    fn of_key(&self, key: &str) -> &str {
        match (&self.file, self.place) {
            (Some(file), _) if !self.given.contains(key) => file,
            (_, OverrideOrigin::Flags) => "the flags",
            (_, OverrideOrigin::Keywords) => "the keywords",
        }
    }

    /// A message about a key, with the origin of the key.
    fn mistake(&self, key: &str, what: &str) -> String {
        format!("{}: {what}", self.of_key(key))
    }
}

/// The parts of a plan file that apply to several runs.
#[derive(Default)]
pub struct MultiTarget {
    /// The servers that get the same requests, if the plan has `[[target]]` tables.
    pub targets: Vec<TargetSpec>,
    /// The number of rounds over all servers, from 1 to 1000.
    pub rounds: u32,
}

/// Reads a plan file that may have several servers, and overrides its keys with those of flags or keywords.
///
/// # Errors
/// In the same cases as [`merge`], and if a `[[target]]` table or the number of rounds is wrong.
pub fn merge_multi_target(
    file: Option<&Path>,
    given: Map<String, Value>,
    place: OverrideOrigin,
) -> Result<(Spec, MultiTarget), PlanError> {
    let mut keys = file.map_or_else(|| Ok(Map::new()), read)?;
    let places = Places::of(file, &given, place);
    let problem = |key: &str, what: String| PlanError::new(places.mistake(key, &what));
    let mut multi = MultiTarget { targets: Vec::new(), rounds: 1 };
    override_with(&mut keys, given);
    scenario::add_defaults(&mut keys)?;
    // A list of addresses is one target whose servers share a load. A list of tables is several targets.
    let is_table = |one: &Value| !one.is_string();
    if keys.get("target").and_then(Value::as_array).is_some_and(|all| all.iter().any(is_table)) {
        let tables = keys.remove("target").unwrap_or_default();
        multi.targets = serde_path_to_error::deserialize(&tables).map_err(|error| {
            let why = without_texts(&error.inner().to_string());
            problem("target", format!("`target{}`: {why}", error.path()))
        })?;
    }
    if let Some(rounds) = keys.remove("rounds") {
        let count = rounds.as_u64().filter(|rounds| (1..=1000).contains(rounds));
        multi.rounds = count.map(|rounds| rounds as u32).ok_or_else(|| {
            let why = format!("`rounds`: {rounds} is not a number of rounds from 1 to 1000");
            problem("rounds", why)
        })?;
    }
    Ok((checked(with_replayed_plan(keys)?, &places)?, multi))
}

/// Reads the plan file of a single run, if there is one, and overrides its keys with those of flags or keywords.
///
/// # Errors
/// If the plan file or the file of a `replay` workload cannot be read, if the plan file is not TOML or contains a
/// number that is not finite, or if the scenario is unknown or has another workload. Mistakes in single keys are not
/// errors of this function: [`Spec::unread`] lists them, and [`inferometer_run::resolve()`] returns them as errors.
pub fn merge(
    file: Option<&Path>,
    given: Map<String, Value>,
    place: OverrideOrigin,
) -> Result<Spec, PlanError> {
    let mut keys = file.map_or_else(|| Ok(Map::new()), read)?;
    let places = Places::of(file, &given, place);
    override_with(&mut keys, given);
    scenario::add_defaults(&mut keys)?;
    checked(with_replayed_plan(keys)?, &places)
}

/// Overrides the keys of a file with flags. In the tables `[search]`, `[sweep]` and `[ab]`, flags override single keys
/// and not the whole table.
pub fn override_with(keys: &mut Map<String, Value>, mut flags: Map<String, Value>) {
    for table in ["search", "sweep", "ab"] {
        if let (Some(Value::Object(of_file)), Some(Value::Object(given))) =
            (keys.get_mut(table), flags.get_mut(table))
        {
            of_file.append(given);
            flags.remove(table);
        }
    }
    keys.extend(flags);
}

/// Converts the keys into a spec. Unknown keys and keys with values of the wrong type are left out. The spec lists them
/// in [`Spec::unread`], so that they are reported together with wrong values of the other keys.
fn checked(mut keys: Map<String, Value>, places: &Places) -> Result<Spec, PlanError> {
    let known = known_keys();
    let mut unread = Vec::new();
    keys.retain(|key, value| {
        let before = unread.len();
        if !known.contains(key) {
            let advice = other_tools::advice_on_key(key, &known)
                .unwrap_or_else(|| did_you_mean(key, known.iter().map(String::as_str)));
            unread.push(places.mistake(key, &format!("`{key}` is not a key of a plan{advice}")));
        } else if let Some(mistake) = wrong_kind(key, value) {
            unread.push(places.mistake(key, &mistake));
        }
        unread.len() == before
    });
    if let Some(Value::String(text)) = keys.get_mut("price") {
        match price::with_file(std::mem::take(text)) {
            Ok(lines) => *text = lines,
            Err(why) => unread.push(places.mistake("price", &why)),
        }
    }
    match Spec::from_keys(keys) {
        Ok(spec) => Ok(Spec { unread, ..spec }),
        Err(error) => {
            unread.push(places.mistake("", &without_texts(&error.to_string())));
            Err(unread.into())
        }
    }
}

/// For the workload `replay`, adds the keys of the plan that is stored in the file of requests. Keys of the plan file
/// and flags override the stored keys.
fn with_replayed_plan(keys: Map<String, Value>) -> Result<Map<String, Value>, PlanError> {
    let text = |key: &str| keys.get(key).and_then(Value::as_str);
    let (Some("replay"), Some(dataset)) = (text("workload"), text("dataset")) else {
        return Ok(keys);
    };
    let header = DumpHeader::read(Path::new(dataset))
        .map_err(|error| PlanError::new(format!("dataset (--dataset): {error}")))?;
    let mut sent = header.plan;
    let own_load = ["concurrency", "rate", "stages", "replay", "passes"];
    if header.recorded && !own_load.iter().any(|key| keys.contains_key(*key)) {
        // The requests in the file state when they were due, so the file also defines the arrivals.
        sent.insert("replay".to_owned(), dataset.into());
    }
    sent.extend(keys);
    Ok(sent)
}

/// Converts single values into lists, for keys that have lists: `rate = 2` becomes `rate = [2]`.
pub fn with_lists(keys: Map<String, Value>) -> Map<String, Value> {
    let list = |(key, value): (String, Value)| {
        let listed = Value::Array(vec![value.clone()]);
        let is_list = wrong_kind(&key, &value).is_some() && wrong_kind(&key, &listed).is_none();
        (key, if is_list { listed } else { value })
    };
    keys.into_iter().map(list).collect()
}

/// A message if a value has the wrong type. Each key is checked separately, so that all mistakes are reported. Values
/// of headers are not repeated, because they may be secrets.
pub fn wrong_kind(key: &str, value: &Value) -> Option<String> {
    let alone = Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
    let error = serde_path_to_error::deserialize::<_, Spec>(&alone).err()?;
    if key == "header" {
        return Some("`header` is not a list of texts such as 'Name: value'".to_owned());
    }
    // For keys of flattened groups, the error has no path; the key is used instead.
    let path = error.path().to_string();
    let path = if path.starts_with(key) { path } else { key.to_owned() };
    let why = without_texts(&error.inner().to_string());
    let is_about_keys = why.contains("is not a key") || why.starts_with("missing field");
    let about = if is_about_keys { ":" } else { " has a value of the wrong type:" };
    Some(format!("`{path}`{about} {why}"))
}

/// Reads the keys of a plan file, or of another file with the same keys. The keys are not checked.
///
/// # Errors
/// If the file cannot be read, is not TOML, or contains a number that is not finite.
pub fn read(path: &Path) -> Result<Map<String, Value>, PlanError> {
    let problem = |what: String| PlanError::new(format!("{}: {what}", path.display()));
    let text = file::read_text(path, MAX_SETTINGS_BYTES).map_err(|error| match address(path) {
        Some(url) => PlanError::new(format!(
            "{url}: is an address, not a plan file; give it as --target {url}"
        )),
        None => problem(format!("cannot be read: {error}")),
    })?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| {
        let mistake = toml_mistake(&text, error.span(), error.message());
        problem(format!("is not TOML{mistake}"))
    })?;
    // JSON has neither NaN nor infinity. They would become `null`, which means that the key is absent.
    if let Some((key, value)) = not_finite("", &toml::Value::Table(table.clone())) {
        return Err(problem(format!(
            "`{key}` is {value}, which a plan cannot contain; write an infinite rate or burstiness \
                as the text \"inf\""
        )));
    }
    match serde_json::to_value(table) {
        Ok(Value::Object(keys)) => Ok(keys),
        Ok(_) | Err(_) => Err(problem("contains a value that a plan cannot have".to_owned())),
    }
}

/// The server address, if no such file exists and the path looks like an address. Parts that may be secret are left
/// out.
fn address(path: &Path) -> Option<String> {
    let text = path.to_str().filter(|_| !path.exists())?;
    if let Some((scheme, rest)) = text.split_once("://")
        && ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
    {
        return Some(format!("{scheme}://{}", shown_address(rest)));
    }
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let server = text[..end].rsplit_once('@').map_or(&text[..end], |(_, server)| server);
    let (host, port) = server.rsplit_once(':')?;
    let is_host =
        !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-[]:".contains(c));
    (is_host && port.parse::<u16>().is_ok()).then(|| format!("http://{}", shown_address(text)))
}

/// The first number that is not finite, with the path of its key.
fn not_finite(key: &str, value: &toml::Value) -> Option<(String, f64)> {
    let below = |name: String, value| match key {
        "" => not_finite(&name, value),
        _ => not_finite(&format!("{key}.{name}"), value),
    };
    match value {
        toml::Value::Float(number) if !number.is_finite() => Some((key.to_owned(), *number)),
        toml::Value::Array(values) => {
            values.iter().enumerate().find_map(|(at, value)| below(at.to_string(), value))
        }
        toml::Value::Table(table) => {
            table.iter().find_map(|(name, value)| below(name.clone(), value))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_in_place_of_a_plan_file_is_refused_with_advice_to_use_target() {
        for (given, url) in [
            ("http://host:8000", "http://host:8000"),
            ("localhost:8000", "http://localhost:8000"),
            ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
            ("[::1]:8000/v1?api_key=s3cret", "http://[::1]:8000/v1"),
            ("localhost:8000/v1?api_key=s3cret", "http://localhost:8000/v1"),
            ("localhost:8000?api_key=s3cret", "http://localhost:8000"),
            ("user:s3cret@localhost:8000", "http://localhost:8000"),
            ("http://user:s3cret@host:8000", "http://host:8000"),
            ("HTTPS://host:8000/v1?api_key=s3cret", "HTTPS://host:8000/v1"),
        ] {
            let error = read(Path::new(given)).expect_err("it is refused").to_string();
            assert!(error.ends_with(&format!("give it as --target {url}")), "{given}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        let error = read(Path::new("plan.toml")).expect_err("it is refused").to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }

    #[test]
    fn the_error_for_a_number_that_is_not_finite_or_too_large_names_its_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("plan.toml");
        for (text, key) in [
            ("requests = nan", "`requests` is NaN"),
            ("input_lengths = [1, 2]\noutput_lengths = [1.0, inf]", "`output_lengths.1` is inf"),
            ("[search]\nfrom = -inf", "`search.from` is -inf"),
            ("seed = 1\nrequests = 1e999", "at line 2, column 12, in `requests`"),
            ("requests = 99999999999999999999", "at line 1, column 12, in `requests`"),
        ] {
            std::fs::write(&path, text).expect("a file");
            let error = merge(Some(&path), Map::new(), OverrideOrigin::Flags)
                .expect_err("it is refused")
                .to_string();
            assert!(error.contains(key), "{text}: {error}");
        }
    }
}
