//! The flags of `vllm bench serve`. The table `vllm.txt` states for each flag whether it works the same in this
//! program, nearly the same, or is rejected. The parser of `bench serve` and the advice of other commands read this
//! table, and a test compares it with the users' page.

use std::sync::LazyLock;

/// The number of values of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// No value: the flag is a switch.
    None,
    /// Exactly one value.
    One,
    /// Any number of values.
    Many,
}

/// How this program treats a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The flag has the same effect as in vLLM.
    Same,
    /// The flag has nearly the same effect; the text states the difference.
    Near(&'static str),
    /// The flag is rejected; the text states the reason.
    Refused(&'static str),
}

/// A flag of `vllm bench serve`.
#[derive(Clone, Debug)]
pub struct Flag {
    /// The name with leading dashes, such as `--base-url`.
    pub name: &'static str,
    /// The name without leading dashes, which is also the id of the parser's argument.
    pub id: &'static str,
    /// The name without leading dashes and with underscores, which vLLM's parser also accepts.
    pub underscored: &'static str,
    /// The number of values of the flag.
    pub values: Values,
    /// The data set to which the flag applies; None if it applies to all.
    pub dataset: Option<&'static str>,
    /// The equivalent in `run`, as text.
    pub here: &'static str,
    /// How `bench serve` of this program treats the flag.
    pub answer: Answer,
    /// Values of a rejected flag that are accepted because they have no effect.
    pub harmless: Vec<&'static str>,
}

/// The table of all flags, one per line.
const TABLE: &str = include_str!("../../data/other-tools/vllm.txt");

/// Every flag, in the order of the table.
pub static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter(|line| line.starts_with("--"));
    rows.map(|row| flag(row).unwrap_or_else(|| panic!("invariant: a row of the table: {row}")))
        .collect()
});

/// Parses a row of six cells; the last cell may be empty.
fn flag(row: &'static str) -> Option<Flag> {
    let mut cells = row.split('|').map(str::trim);
    let mut cell = || cells.next();
    let name = cell()?;
    let values = match cell()? {
        "0" => Values::None,
        "1" => Values::One,
        "*" => Values::Many,
        _ => return None,
    };
    let dataset = cell().map(|name| (!name.is_empty()).then_some(name))?;
    let here = cell()?;
    let (answer, words) = (cell()?, cell()?);
    let (words, harmless) = match words.strip_suffix(')').and_then(|w| w.split_once(" (unless ")) {
        Some((words, values)) => (words, values.split(", ").collect()),
        None => (words, Vec::new()),
    };
    let answer = match answer {
        "same" => Answer::Same,
        "near" => Answer::Near(words),
        "refused" => Answer::Refused(words),
        _ => return None,
    };
    let id = name.strip_prefix("--")?;
    let underscored = id.replace('-', "_").leak();
    Some(Flag { name, id, underscored, values, dataset, here, answer, harmless })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The recorded `--help` texts of the real tools.
    const RECORDED: [(&str, &str); 2] = [
        ("Python", include_str!("../../tests/fixtures/vllm-bench-serve-python-0.33.0.txt")),
        ("Rust", include_str!("../../tests/fixtures/vllm-bench-serve-rust-0.33.0.txt")),
    ];

    /// Flags of earlier versions that scripts may still use.
    const EARLIER: [&str; 1] = ["--endpoint-type"];

    #[test]
    fn the_flag_table_has_exactly_the_flags_of_the_known_vllm_versions() {
        let ours: BTreeSet<&str> = FLAGS.iter().map(|flag| flag.name).collect();
        assert_eq!(ours.len(), FLAGS.len(), "a flag is in the table twice");
        let mut theirs = BTreeSet::from(EARLIER);
        for (version, text) in RECORDED {
            let flags: Vec<&str> = text.lines().filter(|line| line.starts_with("--")).collect();
            assert!(flags.len() > 90, "{version}: {} flags", flags.len());
            for flag in flags {
                assert!(ours.contains(flag), "{version}: {flag} is not in the table");
                theirs.insert(flag);
            }
        }
        assert_eq!(ours, theirs);
    }

    #[test]
    fn every_approximated_or_refused_flag_has_an_explanation() {
        for flag in FLAGS.iter() {
            assert!(!flag.here.is_empty(), "{}", flag.name);
            match flag.answer {
                Answer::Same => assert!(flag.harmless.is_empty(), "{}", flag.name),
                Answer::Near(words) | Answer::Refused(words) => {
                    assert!(words.len() > 20, "{}: {words}", flag.name);
                }
            }
        }
    }
}
