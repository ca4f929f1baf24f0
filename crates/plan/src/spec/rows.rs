//! The keys for rows of the user's own data.

use std::collections::BTreeMap;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::Mistakes;
use crate::{RowsFormat, RowsPlan};
use inferometer_model::did_you_mean;

/// The keys of the workloads `jsonl`, `csv` and `parquet`.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RowsKeys {
    /// Names of the columns in your file, for the fields prompt, messages, token_ids,
    /// output_tokens, body and timestamp (jsonl, csv, parquet)
    #[arg(long, value_name = "FIELD=COLUMN,...", help_heading = "Workload")]
    pub columns: Option<String>,
    /// Output length in tokens, for rows or calls that state none (jsonl, csv, parquet, agents) or for
    /// all answers (sharegpt without --input-lengths)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub output_length: Option<u32>,
    /// Send each row at the time in its column `timestamp` (seconds, or date and time), relative to
    /// the first row; --replay-speed changes the speed (jsonl, csv, parquet)
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Workload")]
    pub replay_rows: Option<bool>,
}

/// The fields that a column can contain.
const FIELDS: [&str; 6] = ["prompt", "messages", "token_ids", "output_tokens", "body", "timestamp"];

impl RowsKeys {
    pub(crate) const NAMES: &[&str] = &["columns", "output_length", "replay_rows"];

    /// Resolves the options of the rows in the file `dataset`.
    pub(crate) fn resolve(
        &self,
        format: RowsFormat,
        dataset: String,
        mistakes: &mut Mistakes,
    ) -> RowsPlan {
        let mut columns = BTreeMap::new();
        let given = self.columns.iter().flat_map(|text| text.split(','));
        for pair in given {
            match pair.split_once('=').map(|(field, name)| (field.trim(), name.trim())) {
                Some((field, name)) if FIELDS.contains(&field) && !name.is_empty() => {
                    if columns.insert(field.to_owned(), name.to_owned()).is_some() {
                        mistakes.add("columns", format!("`{field}` is given twice"));
                    }
                }
                Some((field, _)) => mistakes.add(
                    "columns",
                    format!(
                        "`{pair}` has an unknown field{} or no column; the fields are {}",
                        did_you_mean(field, FIELDS),
                        FIELDS.join(", ")
                    ),
                ),
                None => mistakes.add("columns", format!("`{pair}` is not FIELD=COLUMN")),
            }
        }
        if columns.contains_key("timestamp") && !self.is_replayed() {
            mistakes.add("columns", "has a `timestamp`, which only --replay-rows uses");
        }
        if self.output_length == Some(0) {
            mistakes.add("output_length", "is 0; give at least 1");
        }
        let (output_length, timed) = (self.output_length, self.is_replayed());
        RowsPlan { dataset, format, columns, output_length, timed }
    }

    /// Whether the rows are sent at their own timestamps.
    pub(crate) fn is_replayed(&self) -> bool {
        self.replay_rows == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(columns: &str) -> (RowsPlan, Vec<String>) {
        let mut mistakes = Mistakes::default();
        let keys = RowsKeys { columns: Some(columns.to_owned()), ..RowsKeys::default() };
        let plan = keys.resolve(RowsFormat::Csv, "x.csv".to_owned(), &mut mistakes);
        (plan, mistakes.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn columns_are_parsed_as_pairs_of_field_and_column_name() {
        let (plan, mistakes) = resolved("prompt=question, output_tokens=length");
        assert_eq!(mistakes, Vec::<String>::new());
        assert_eq!(plan.columns["prompt"], "question");
        assert_eq!(plan.columns["output_tokens"], "length");
    }

    #[test]
    fn invalid_column_pairs_and_unknown_fields_are_reported() {
        for (text, told) in [
            ("question", "FIELD=COLUMN"),
            ("promt=question", "did you mean `prompt`"),
            ("prompt=", "has an unknown field"),
            ("prompt=a,prompt=b", "twice"),
            ("timestamp=at", "--replay-rows"),
        ] {
            let (_, mistakes) = resolved(text);
            assert!(mistakes[0].contains(told), "{text}: {mistakes:?}");
        }
    }
}
