//! The input files that a plan names, such as data sets, tokenizers, templates and descriptions of cards.

use std::path::{Path, PathBuf};

use inferometer_engine::card::is_card_file;
use inferometer_plan::{Plan, TargetPlan, spec::Spec};
use inferometer_workload::fetch::{self, FetchConfig};
use inferometer_workload::jobs::synthetic::PREFIX;

/// The engine flag whose value may be the path of a card file.
pub const CARD: &str = "card";
/// The prefix of a length distribution that is read from a file, as in `histogram:lengths.csv`.
const HISTOGRAM: &str = "histogram:";
/// The prefix of the names of text corpora that are included in this program.
const SHIPPED: &str = "shipped-";

/// A key of a plan whose value may name a file.
struct Key {
    name: &'static str,
    of: fn(&mut Spec) -> &mut Option<String>,
    /// The text before the file name in the value, such as `histogram:`; empty for most keys.
    prefix: &'static str,
    /// Whether a value with this prefix always names a file. If false, the value may also be a built-in name or a
    /// Hugging Face id.
    always: bool,
}

/// All keys whose values may name files.
static KEYS: [Key; 8] = inferometer_model::table! { Key { name, of, prefix, always }
    ("dataset", |spec| &mut spec.workload.dataset, "", true)
    ("replay", |spec| &mut spec.replay, "", true)
    ("input_distribution", |spec| &mut spec.workload.drawn.input_distribution, HISTOGRAM, true)
    ("output_distribution", |spec| &mut spec.workload.drawn.output_distribution, HISTOGRAM, true)
    ("template", |spec| &mut spec.workload.blocks.template, "", false)
    ("tokenizer", |spec| &mut spec.tokenizer, "", false)
    ("model", |spec| &mut spec.model, "", false)
    ("profile", |spec| &mut spec.profile, "", false)
};

/// A file that a plan names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOfPlan {
    /// The key of the plan that names the file, such as `dataset`.
    pub key: &'static str,
    /// The file name as written in the plan, without the prefix of the key.
    pub named: String,
    /// The path of the file on this machine; the file may not exist.
    pub path: PathBuf,
}

/// The files that a spec names. If `tokenizer` names a folder, the file is `tokenizer.json` in this folder.
pub fn files_of(spec: &Spec) -> Vec<FileOfPlan> {
    let mut spec = spec.clone();
    let mut files = Vec::new();
    for Key { name, of, prefix, always } in &KEYS {
        let Some(value) = of(&mut spec).clone() else { continue };
        let Some(named) = value
            .strip_prefix(prefix)
            .filter(|named| !named.starts_with(SHIPPED) && !named.starts_with(PREFIX))
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
        // The model name of a server can by chance be the path of an unrelated file. So the value of `model` counts as
        // a file name only if it ends with `.json`.
        let is_file = path.is_file() && (*name != "model" || named.ends_with(".json"));
        if *always || is_file {
            files.push(FileOfPlan { key: name, named: named.to_owned(), path });
        }
    }
    files
}

/// The files that a plan names, including the card file in the flags of its embedded engine.
pub fn files_of_plan(plan: &Plan) -> Vec<FileOfPlan> {
    let mut files = files_of(&plan.spec);
    if let TargetPlan::Embedded { engine_flags, .. } = &plan.target
        && let Some(named) = engine_flags.get(CARD).filter(|named| is_card_file(named))
    {
        files.push(FileOfPlan { key: CARD, named: named.clone(), path: PathBuf::from(named) });
    }
    files
}

/// Changes the spec so that `key` names `file`. Returns false and changes nothing if `key` is not one of `KEYS`.
pub fn set_file(spec: &mut Spec, key: &str, file: &Path) -> bool {
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
    fn files_named_in_a_plan_are_found_and_can_be_replaced_by_key() {
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
            assert!(set_file(&mut spec, key, Path::new("/x")));
            assert_eq!(serde_json::to_value(&spec).unwrap()[key], value);
        }
        assert!(!set_file(&mut spec, "store", Path::new("/x")));
        let shipped = Spec { tokenizer: Some("a/hub-id".to_owned()), ..Spec::default() };
        assert_eq!(files_of(&shipped), []);
    }
}
