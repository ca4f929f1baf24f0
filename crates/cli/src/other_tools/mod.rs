//! Flags of other benchmarks and their equivalents in this program, for advice about unknown flags and keys. Each tool
//! has a table in a data file; the HTTP load generators share one table.

pub mod vllm;

use std::sync::LazyLock;

use inferometer_model::suggest::closest;

use vllm::FLAGS;

/// Another tool, or several tools with a common table, with the flags.
pub struct Tool {
    /// The usual name of the tool, or the names of the tools.
    pub name: &'static str,
    /// The file in `docs/coming-from/` for users of the tool, if there is one.
    pub page: Option<&'static str>,
    /// Each flag of the tool, with the equivalent in `run`.
    pub flags: Vec<(&'static str, &'static str)>,
}

/// Every tool whose flags are known.
pub static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let of_vllm = FLAGS.iter().map(|flag| (flag.name, flag.here)).collect();
    let tables = [
        ("GuideLLM", Some("guidellm.md"), include_str!("../../data/other-tools/guidellm.txt")),
        ("AIPerf", Some("aiperf.md"), include_str!("../../data/other-tools/aiperf.txt")),
        (
            "llama-bench",
            Some("llama-bench.md"),
            include_str!("../../data/other-tools/llama-bench.txt"),
        ),
        ("SGLang's bench_serving", None, include_str!("../../data/other-tools/sglang.txt")),
        ("inference-perf", None, include_str!("../../data/other-tools/inference-perf.txt")),
        ("oha, hey, ab, wrk or k6", None, include_str!("../../data/other-tools/http.txt")),
    ];
    let others = tables.map(|(name, page, text)| Tool { name, page, flags: rows(text) });
    let vllm = Tool { name: "vllm bench serve", page: Some("vllm.md"), flags: of_vllm };
    std::iter::once(vllm).chain(others).collect()
});

impl Tool {
    /// The equivalent in `run` for a flag of this tool.
    fn meaning(&self, flag: &str) -> Option<&'static str> {
        let same = |known: &str| known == flag || known == dashed(flag);
        let found = self.flags.iter().find(|(known, _)| same(known));
        found.map(|(_, here)| *here)
    }
}

fn rows(text: &'static str) -> Vec<(&'static str, &'static str)> {
    let rows = text.lines().filter(|line| line.starts_with('-'));
    let cells = rows.filter_map(|row| row.split_once('|'));
    cells.map(|(flag, here)| (flag.trim(), here.trim())).collect()
}

/// The pages of the tools that have this flag.
pub fn pages(flag: &str) -> impl Iterator<Item = &'static str> {
    let having = TOOLS.iter().filter(move |tool| tool.meaning(flag).is_some());
    having.filter_map(|tool| tool.page)
}

/// A name with hyphens instead of underscores.
pub fn dashed(flag: &str) -> String {
    flag.replace('_', "-")
}

/// The equivalents of a flag, each with the tools in which the flag has this equivalent.
pub fn meanings(flag: &str) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for tool in TOOLS.iter() {
        let Some(here) = tool.meaning(flag) else { continue };
        match found.iter_mut().find(|(known, _)| *known == here) {
            Some((_, tools)) => tools.push(tool.name),
            None => found.push((here, vec![tool.name])),
        }
    }
    found
}

/// The flag of another tool that is most similar to a long flag. None if no flag is similar enough, or if one of `ours`
/// is more similar.
pub fn misspelt(flag: &str, ours: &[&str]) -> Option<&'static str> {
    let dashed = dashed(flag);
    let theirs = TOOLS.iter().flat_map(|tool| tool.flags.iter().map(|(name, _)| *name));
    let theirs: Vec<&'static str> = theirs.filter(|name| name.starts_with("--")).collect();
    let mut all: Vec<&str> = theirs.clone();
    all.extend(ours);
    let found = closest(&dashed, all).filter(|found| !ours.contains(found))?;
    theirs.into_iter().find(|name| *name == found)
}

/// Advice about a key that a plan does not have. None if the key is not the name of a flag of another tool. `keys` are
/// the keys of a plan.
pub fn advice_on_key(key: &str, keys: &[String]) -> Option<String> {
    let flag = format!("--{}", dashed(key));
    let meant = meanings(&flag);
    let told = meant.iter().map(|(here, tools)| {
        let what = as_keys(here, keys);
        format!("; as a flag of {}: {what}", tools.join(" and "))
    });
    (!meant.is_empty()).then(|| told.collect())
}

/// Replaces each flag in a text of a table by the plan key of the same name, if there is one.
fn as_keys(here: &str, keys: &[String]) -> String {
    let mut text = String::new();
    for word in here.split_inclusive([' ', ',', ';', ')', ':']) {
        let end = word.trim_end_matches([' ', ',', ';', ')', ':']);
        let key = end.strip_prefix("--").map(|flag| flag.replace('-', "_"));
        match key.filter(|key| keys.contains(key)) {
            Some(key) => text += &format!("`{key}`{}", &word[end.len()..]),
            None => text += word,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_key_with_the_name_of_another_tool_gets_advice_on_the_right_key() {
        let keys = inferometer_plan::spec::known_keys();
        for (key, says) in [
            ("num_prompts", "of vllm bench serve and AIPerf and SGLang's bench_serving: "),
            ("num_prompts", "`requests` N"),
            ("num-prompts", "`requests` N"),
            ("max_concurrency", "`concurrency` N; together with `rate`, `max_in_flight` N"),
            ("random_input_len", "`input_lengths` N"),
            ("request_rate", "`rate` R (inf: all at once)"),
            ("max_seconds", "GuideLLM: `duration` TIME"),
            ("isl", "AIPerf: `input_lengths` N"),
            ("base_url", "`target` URL"),
        ] {
            let text = advice_on_key(key, &keys).unwrap_or_else(|| panic!("{key}: nothing"));
            assert!(text.contains(says), "{key}: {text}");
        }
        assert_eq!(advice_on_key("reqests", &keys), None);
    }

    #[test]
    fn a_misspelt_flag_of_another_tool_is_recognised_unless_our_flag_is_more_similar() {
        let ours = ["--requests", "--max-prompt-tokens", "--concurrency"];
        assert_eq!(misspelt("--num-prompt", &ours), Some("--num-prompts"));
        assert_eq!(misspelt("--max_concurency", &ours), Some("--max-concurrency"));
        assert_eq!(misspelt("--reqests", &ours), None);
        assert_eq!(misspelt("--nobody-has-this", &ours), None);
    }
}
