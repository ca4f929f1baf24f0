//! The files that a plan names and that its requests or its engine are made from.

use std::path::{Path, PathBuf};

use inferometer_engine::card::is_card_file;
use inferometer_plan::spec::Spec;
use inferometer_plan::{Plan, TargetPlan};
use inferometer_workload::fetch::{self, FetchConfig};

/// The engine's flag that may name a file.
pub const CARD: &str = "card";
/// The prefix of a length distribution that names a file.
const HISTOGRAM: &str = "histogram:";
/// The prefix of the names of texts that are built into this program.
const SHIPPED: &str = "shipped-";

/// A key of a plan whose value may be a file.
struct Key {
    name: &'static str,
    of: fn(&mut Spec) -> &mut Option<String>,
    /// The text before the name of the file in the value.
    prefix: &'static str,
    /// Whether a value with the prefix is always a file; otherwise it may be a name or a hub id.
    always: bool,
}

/// All such keys.
static KEYS: [Key; 8] = [
    Key { name: "dataset", of: |spec| &mut spec.workload.dataset, prefix: "", always: true },
    Key { name: "replay", of: |spec| &mut spec.replay, prefix: "", always: true },
    Key {
        name: "input_distribution",
        of: |spec| &mut spec.workload.drawn.input_distribution,
        prefix: HISTOGRAM,
        always: true,
    },
    Key {
        name: "output_distribution",
        of: |spec| &mut spec.workload.drawn.output_distribution,
        prefix: HISTOGRAM,
        always: true,
    },
    Key {
        name: "template",
        of: |spec| &mut spec.workload.blocks.template,
        prefix: "",
        always: false,
    },
    Key { name: "tokenizer", of: |spec| &mut spec.tokenizer, prefix: "", always: false },
    Key { name: "model", of: |spec| &mut spec.model, prefix: "", always: false },
    Key { name: "profile", of: |spec| &mut spec.profile, prefix: "", always: false },
];

/// A file that a plan names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOfPlan {
    /// The key in the plan.
    pub key: &'static str,
    /// The file's name in the plan.
    pub named: String,
    /// Its path on this machine; the file may not exist.
    pub path: PathBuf,
}

/// The files that a spec names. For a tokenizer's folder, it is the file in the folder.
pub fn files_of(spec: &Spec) -> Vec<FileOfPlan> {
    let mut spec = spec.clone();
    let mut files = Vec::new();
    for Key { name, of, prefix, always } in &KEYS {
        let Some(value) = of(&mut spec).clone() else { continue };
        let Some(named) = value.strip_prefix(prefix).filter(|named| !named.starts_with(SHIPPED))
        else {
            continue;
        };
        let mut path = match *name {
            "dataset" => fetch::local(named, &FetchConfig::from_env())
                .unwrap_or_else(|_| PathBuf::from(named)),
            _ => PathBuf::from(named),
        };
        if *name == "tokenizer" && path.is_dir() {
            path = path.join("tokenizer.json");
        }
        // A server's model may have the name of a folder, so only a `.json` file counts.
        let is_file = path.is_file() && (*name != "model" || named.ends_with(".json"));
        if *always || is_file {
            files.push(FileOfPlan { key: name, named: named.to_owned(), path });
        }
    }
    files
}

/// The files that a plan and its engine's flags name.
pub fn files_of_plan(plan: &Plan) -> Vec<FileOfPlan> {
    let mut files = files_of(&plan.asked);
    if let TargetPlan::Embedded { engine_flags, .. } = &plan.target
        && let Some(named) = engine_flags.get(CARD).filter(|named| is_card_file(named))
    {
        files.push(FileOfPlan { key: CARD, named: named.clone(), path: PathBuf::from(named) });
    }
    files
}

/// Replaces the file of a key. Returns whether there is such a key.
pub fn name_instead(spec: &mut Spec, key: &str, file: &Path) -> bool {
    let Some(Key { of, prefix, .. }) = KEYS.iter().find(|known| known.name == key) else {
        return false;
    };
    *of(spec) = Some(format!("{prefix}{}", file.display()));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_files_of_a_plan_are_found_and_replaced_under_their_keys() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokenizer.json");
        std::fs::write(&file, "{}").unwrap();
        let mut spec: Spec = serde_json::from_value(json!({
            "dataset": "rows.jsonl", "input_distribution": "histogram:lengths.csv",
            "output_distribution": "normal:200,50", "tokenizer": folder.path(), "model": "qwen-14b",
            "template": "plain",
        }))
        .unwrap();
        let found = files_of(&spec);
        let names: Vec<_> = found.iter().map(|file| (file.key, file.named.as_str())).collect();
        let tokenizer = folder.path().to_str().unwrap();
        let expected = [
            ("dataset", "rows.jsonl"),
            ("input_distribution", "lengths.csv"),
            ("tokenizer", tokenizer),
        ];
        assert_eq!(names, expected);
        assert_eq!(found[2].path, file);
        for (key, value) in [("input_distribution", "histogram:/x"), ("dataset", "/x")] {
            assert!(name_instead(&mut spec, key, Path::new("/x")));
            assert_eq!(serde_json::to_value(&spec).unwrap()[key], value);
        }
        assert!(!name_instead(&mut spec, "store", Path::new("/x")));
        let shipped = Spec { tokenizer: Some("a/hub-id".to_owned()), ..Spec::default() };
        assert_eq!(files_of(&shipped), []);
    }
}
