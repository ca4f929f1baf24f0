//! The flags of `vllm bench serve`. The table `vllm.txt` says of each flag whether it works the same
//! here, nearly the same, or is refused. The parser and the advice of other commands read this table,
//! and a test compares it with the users' page.

use std::sync::LazyLock;

/// How many values a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// It is a switch.
    None,
    /// One.
    One,
    /// Any number.
    Many,
}

/// How a flag is treated here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It does the same as in vLLM.
    Same,
    /// It does nearly the same; the text says what differs.
    Near(&'static str),
    /// It is an error, for this reason.
    Refused(&'static str),
}

/// A flag of `vllm bench serve`.
#[derive(Clone, Debug)]
pub struct Flag {
    /// With its dashes.
    pub name: &'static str,
    /// Its name for the parser, without them.
    pub id: &'static str,
    /// The same with underscores, which vLLM's parser takes too.
    pub underscored: &'static str,
    /// How many values it takes.
    pub values: Values,
    /// The only data set that it acts on, if it is one of a data set.
    pub dataset: Option<&'static str>,
    /// What `run` has for it.
    pub here: &'static str,
    /// How it is treated here.
    pub answer: Answer,
    /// Values of a refused flag that are accepted because they change nothing.
    pub harmless: Vec<&'static str>,
}

/// The table.
const TABLE: &str = include_str!("../../data/other-tools/vllm.txt");

/// Every flag, in the order of the table.
pub static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter(|line| line.starts_with("--"));
    rows.map(|row| flag(row).unwrap_or_else(|| panic!("invariant: a row of the table: {row}")))
        .collect()
});

/// Reads a row of six cells; the last may be empty.
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

    /// What the real tools say of themselves, flag by flag.
    const RECORDED: [(&str, &str); 2] = [
        ("Python", include_str!("../../tests/fixtures/vllm-bench-serve-python-0.33.0.txt")),
        ("Rust", include_str!("../../tests/fixtures/vllm-bench-serve-rust-0.33.0.txt")),
    ];

    /// Flags of earlier versions that scripts still have.
    const EARLIER: [&str; 1] = ["--endpoint-type"];

    #[test]
    fn every_flag_of_the_real_tool_is_in_the_table_and_no_other() {
        let ours: BTreeSet<&str> = FLAGS.iter().map(|flag| flag.name).collect();
        assert_eq!(ours.len(), FLAGS.len(), "a flag is there twice");
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
    fn what_is_near_or_refused_says_in_words_why() {
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
