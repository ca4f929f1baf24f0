//! Traces of jobs: one invented job in every format. `TRUTH.json` has the right reading of it; the table here says what
//! each format can hold. A held value equals the truth, and every other value is absent. `rows` has rows that are easily
//! read as something else, `faults` those that cannot
//! be used, `ids` the sharing of blocks, and `files` what is written and compressed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use inferometer_workload::jobs::{self, Call, Figures, JobsError, Target, Trace, ideal};
use serde_json::Value;

mod faults;
mod files;
mod ids;
mod record;
mod rows;
mod synthetic;

const ALL: &str = "A1 A2 S1.1 S2.1 B1 S1.2 A3 A4";
const JOB_A: &str = "A1 A2 S1.1 S1.2 S2.1 A3 A4";

/// Files, format, their calls in order, and what the format holds. `:own` means only within a session, or of a gap after
/// parents in the session; `:roots` means only of calls without parents, `:some` that values may be absent, `~` within 50 ms of the truth, `ideal:N` the cached tokens with blocks of N.
const TABLE: &[(&str, &str, &str, &str)] = &[
    ("mooncake_block128.jsonl", "mooncake", ALL, "start prompt output"),
    (
        "mooncake_sessions_cumulative_block128.jsonl",
        "mooncake",
        ALL,
        "parents:own start:roots prompt output gap",
    ),
    (
        "mooncake_sessions_delta.jsonl",
        "mooncake",
        "A1 A2 S1.1 S2.1 B1 S1.2 A3",
        "parents:own start:roots prompt output gap ideal:1:own ideal:16:own ideal:512:own",
    ),
    (
        "agentic_mooncake_block64.jsonl",
        "agentic-mooncake",
        ALL,
        "parents start:roots prompt output gap tool ideal:64 ideal:128 ideal:512",
    ),
    (
        "bailian_block16.jsonl",
        "bailian",
        ALL,
        "parents:own start prompt output ideal:16:own ideal:64:own ideal:512:own",
    ),
    (
        "weka_job_a.json",
        "weka",
        JOB_A,
        "parents start end prompt output gap ideal:64 ideal:128 ideal:512",
    ),
    ("azure_2024.csv", "azure", ALL, "start prompt output"),
    ("azure_lmm_2025.csv", "azure", ALL, "start prompt output"),
    ("burstgpt.csv", "burstgpt", ALL, "parents:own start end prompt output gap:own"),
    (
        "litellm_standard_logging.jsonl",
        "litellm",
        ALL,
        "parents:own start end prompt output gap:own",
    ),
    ("evalscope_workload_trace.jsonl", "evalscope", "A1 A2", "parents start output"),
    (
        "anthropic_requests.jsonl",
        "anthropic",
        "A1 A2",
        "parents start prompt output ideal:1 ideal:16 ideal:512",
    ),
    ("openai_requests.jsonl", "openai", "A1 A2", "parents"),
    (
        "dynamo_request_trace.jsonl",
        "dynamo",
        "A1 A2 S1.1 S2.1 B1 S1.2 A3 A4",
        "parents end prompt output tool ideal:64 ideal:128 ideal:512",
    ),
    ("tracelab.jsonl", "tracelab", ALL, "parents:own start end prompt output gap:own tool:own"),
    (
        "trie.jsonl",
        "trie",
        "A1 A2 A3",
        "parents:own prompt output gap:own ideal:1 ideal:16 ideal:64 ideal:512",
    ),
    (
        "otel_job_a.json otel_job_b_legacy_names.json",
        "otel",
        "A1 A2 S1.1 S2.1 S1.2 A3 A4 B1",
        "parents start end prompt output gap tool ideal:1:some ideal:16:some ideal:512:some",
    ),
    ("aiperf_multi_turn.jsonl", "aiperf", "A1 A2", "parents output gap"),
    ("aiperf_dag.jsonl", "aiperf", "A1 A2 A3 S1.1 S1.2 S2.1", "parents output gap:some"),
    ("sglang_agentic_trace.json", "sglang", "A1 A2", "parents prompt"),
    ("mlperf_agentic.jsonl", "mlperf", "A1 A2", "parents gap"),
    ("vllm_multi_turn_conversations.json", "vllm", "A1 A2", "parents"),
    (
        "claude_code_session.jsonl",
        "claude-code",
        "A1 A2",
        "parents start~ end prompt output gap~ tool~",
    ),
    ("codex_rollout.jsonl", "codex", "A1 A2", "parents start~ end prompt output gap~ tool~"),
    ("atif_v1.7.json", "atif", "A1 A2 S1.1", "parents start:some end prompt output gap:some"),
    ("swe_agent.traj", "swe-agent", "A1", "prompt output"),
];

/// Files whose calls are not those of the truth, or that have none.
const OTHERS: [&str; 5] = [
    "TRUTH.json",
    "ragpulse.jsonl",
    "servegen_chunk-0-dataset.json",
    "servegen_chunk-0-trace.csv",
    "vllm_multi_turn_generate.json",
];

struct Truth(Value);

impl Truth {
    fn read() -> Self {
        let text = std::fs::read(folder().join("TRUTH.json")).expect("the truth");
        Self(serde_json::from_slice(&text).expect("JSON"))
    }

    fn of(&self, call: &str, key: &str) -> &Value {
        &self.0["calls"][call][key]
    }

    fn ns(&self, call: &str, key: &str, unit_ns: f64) -> Option<i64> {
        Some((self.of(call, key).as_f64()? * unit_ns).round() as i64)
    }

    fn tokens(&self, call: &str, key: &str) -> Option<i64> {
        self.of(call, key).as_i64()
    }

    /// The parents of a call among `calls`; with `own`, only those in its session.
    fn parents<'a>(&'a self, call: &str, calls: &[&str], own: bool) -> BTreeSet<&'a str> {
        let session = self.of(call, "session");
        let parents =
            self.of(call, "parents").as_array().into_iter().flatten().filter_map(Value::as_str);
        let is_held = |id: &&str| calls.contains(id) && (!own || self.of(id, "session") == session);
        parents.filter(is_held).collect()
    }

    /// The gap of a call after these parents.
    fn gap(&self, call: &str, parents: &BTreeSet<&str>) -> Option<i64> {
        let end = parents.iter().filter_map(|id| self.ns(id, "end_s", 1e9)).max()?;
        Some(self.ns(call, "start_s", 1e9)? - end)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jobs")
}

fn read(files: &str, format: Option<&str>) -> Result<Trace, JobsError> {
    let files: Vec<PathBuf> = files.split(' ').map(|file| folder().join(file)).collect();
    jobs::read(&files, format)
}

/// Compares the values of one kind. `rule` is the word of the table after its name.
fn compare(
    what: &str,
    rule: Option<&str>,
    calls: &[(&str, &Call)],
    found: impl Fn(&Call) -> Option<i64>,
    wanted: impl Fn(&str) -> Option<i64>,
) {
    let is_held = |(_, call): &(&str, &Call)| found(call).is_some();
    assert!(rule.is_none() || calls.iter().any(is_held), "{what}: no call has it");
    for (id, call) in calls {
        let wanted = match rule {
            None => None,
            Some(":roots") if !call.parents.is_empty() => None,
            Some(_) => wanted(id),
        };
        let found = found(call);
        if rule == Some(":some") && found.is_none() {
            continue;
        }
        let off = found.zip(wanted).map(|(found, wanted)| found.abs_diff(wanted));
        let most = if rule == Some("~") { 50_000_000 } else { 0 };
        let is_right = off.map_or(found == wanted, |off| off <= most);
        assert!(is_right, "{what} of {id}: {found:?}, but the truth is {wanted:?}");
    }
}

#[test]
fn every_format_holds_the_values_of_the_table_and_no_others() {
    let truth = Truth::read();
    let mut seen = BTreeSet::from(OTHERS);
    for (files, format, ids, holds) in TABLE {
        seen.extend(files.split(' '));
        let trace = read(files, None).unwrap_or_else(|error| panic!("{error}"));
        let (ids, holds): (Vec<&str>, Vec<&str>) =
            (ids.split_whitespace().collect(), holds.split(' ').collect());
        let what = |kind: &str| format!("{files}, {kind}");
        let rule = |kind: &str| {
            let rests = holds.iter().filter_map(|word| word.strip_prefix(kind));
            rests.into_iter().find(|rest| !rest.starts_with(char::is_alphabetic))
        };
        assert_eq!(trace.format, *format, "{files}");
        assert_eq!(trace.calls.len(), ids.len(), "{files}: {:#?}", trace.calls);
        assert_eq!(rule("parents").is_some(), trace.calls.iter().any(|c| !c.parents.is_empty()));
        let calls: Vec<(&str, &Call)> = ids.iter().copied().zip(&trace.calls).collect();
        let own = rule("parents") == Some(":own");
        let parents = |id: &str| match rule("parents") {
            Some(_) => truth.parents(id, &ids, own),
            None => BTreeSet::new(),
        };
        for (id, call) in &calls {
            let found: BTreeSet<&str> = call.parents.iter().map(|at| ids[*at as usize]).collect();
            assert_eq!(found, parents(id), "{files}, parents of {id}");
            for (other, its) in &calls {
                let together = call.session == its.session;
                let wanted = truth.of(id, "session") == truth.of(other, "session");
                assert_eq!(
                    together,
                    wanted && (rule("parents").is_some() || id == other),
                    "{files}: {id}, {other}"
                );
            }
        }
        let times = |call: &Call| call.start_ns.get().or(call.end_ns.get());
        let first = calls.iter().find_map(|(id, call)| {
            let key = if call.start_ns.get().is_some() { "start_s" } else { "end_s" };
            Some(times(call)? - truth.ns(id, key, 1e9)?)
        });
        let first = first.unwrap_or(0);
        let [start, end, prompt, output, gap, tool] =
            ["start", "end", "prompt", "output", "gap", "tool"].map(rule);
        compare(
            &what("start"),
            start,
            &calls,
            |c| Some(c.start_ns.get()? - first),
            |id| truth.ns(id, "start_s", 1e9),
        );
        compare(
            &what("end"),
            end,
            &calls,
            |c| Some(c.end_ns.get()? - first),
            |id| truth.ns(id, "end_s", 1e9),
        );
        compare(
            &what("prompt"),
            prompt,
            &calls,
            |c| c.prompt.get().map(i64::from),
            |id| truth.tokens(id, "prompt"),
        );
        compare(
            &what("output"),
            output,
            &calls,
            |c| c.output.get().map(i64::from),
            |id| truth.tokens(id, "output"),
        );
        let held_gap = |id: &str| match gap {
            Some(":own") => truth.gap(id, &parents(id)),
            _ => truth.ns(id, "gap_ms", 1e6).filter(|_| !parents(id).is_empty()),
        };
        compare(&what("gap"), gap, &calls, |c| c.gap_ns.get(), held_gap);
        // A tool that waits for sub-agents which the format does not link to it takes their time.
        let whole = |id: &str| parents(id) == truth.parents(id, &ids, false);
        let held: Vec<(&str, &Call)> = calls.iter().copied().filter(|(id, _)| whole(id)).collect();
        let held = if tool == Some(":own") { &held } else { &calls };
        compare(&what("tool"), tool, held, |c| c.tool_ns.get(), |id| truth.ns(id, "tool_ms", 1e6));
        for word in holds.iter().filter_map(|word| word.strip_prefix("ideal:")) {
            let (block, rule) = word.split_once(':').unwrap_or((word, ""));
            let cached = ideal::cached(&trace, block.parse().unwrap(), true);
            let is_held = |at: usize| cached[at].is_some() && !calls[at].1.parents.is_empty();
            assert!((0..calls.len()).any(is_held), "{files}, ideal:{word}: no call has it");
            for ((id, call), cached) in calls.iter().zip(cached) {
                let wanted = &truth.0["ideal"][format!("block_{block}")]["per_call"][id];
                let is_held =
                    trace.previous(call).is_some() && (rule != "some" || cached.is_some());
                if rule.is_empty() || is_held {
                    assert_eq!(
                        cached.map(i64::from),
                        wanted.as_i64(),
                        "{files}, ideal:{block} of {id}"
                    );
                }
            }
        }
    }
    let folder = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let forgotten: Vec<String> = folder.filter(|file| !seen.contains(file.as_str())).collect();
    assert_eq!(forgotten, Vec::<String>::new());
}

#[test]
fn cached_and_reasoning_tokens_are_those_that_the_provider_reported() {
    for (file, cached, reasoning) in [
        ("tracelab.jsonl", &[Some(0), Some(830)], &[None, None]),
        ("atif_v1.7.json", &[Some(0), Some(816)], &[None, None]),
        ("claude_code_session.jsonl", &[Some(0), Some(790)], &[None, None]),
        ("anthropic_requests.jsonl", &[Some(0), Some(790)], &[None, None]),
        ("codex_rollout.jsonl", &[Some(0), Some(768)], &[Some(12), Some(20)]),
        ("otel_job_a.json", &[Some(0), Some(0)], &[Some(0), Some(20)]),
        ("mooncake_block128.jsonl", &[None, None], &[None, None]),
    ] {
        let trace = read(file, None).unwrap();
        for (at, call) in trace.calls.iter().take(2).enumerate() {
            assert_eq!(
                (call.cached.get(), call.reasoning.get()),
                (cached[at], reasoning[at]),
                "{file}"
            );
        }
    }
}

#[test]
fn the_figures_of_the_job_are_those_of_the_truth() {
    let truth = Truth::read();
    let figures = Figures::of(&read("otel_job_a.json", None).unwrap(), None);
    let job = &truth.0["job_a"];
    let duration = job["duration_s"].as_f64().unwrap();
    let close =
        |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
    close(figures.job_duration_max_s.unwrap(), duration);
    close(figures.model_share.unwrap(), job["model_s_union"].as_f64().unwrap() / duration);
    close(figures.tool_share.unwrap(), job["tool_s_union"].as_f64().unwrap() / duration);
    assert_eq!((figures.jobs, figures.sessions, figures.depth, figures.fan_out), (1, 3, 6, 2));
    assert_eq!(figures.peak_context_tokens, Some(1285));
    for block in [64, 128, 512] {
        let trace = read("agentic_mooncake_block64.jsonl", None).unwrap();
        let ideal = Figures::of(&trace, Some(block)).ideal.unwrap();
        let wanted = &truth.0["ideal"][format!("block_{block}")];
        assert_eq!(Some(ideal.cached_tokens), wanted["cached"].as_u64());
        assert_eq!(Some(ideal.prompt.tokens), wanted["prompt"].as_u64());
    }
}

#[test]
fn rag_rows_have_lengths_and_their_parts_are_named_as_unused() {
    let trace = read("ragpulse.jsonl", None).unwrap();
    let call = &trace.calls[0];
    let found = (call.start_ns.get(), call.prompt.get(), call.output.get(), call.content.get());
    assert_eq!(found, (Some(27_000_000_000), Some(3861), Some(127), None));
    assert_eq!(trace.format, "ragpulse");
}

#[test]
fn files_of_distributions_are_refused_because_they_have_no_calls() {
    let folder = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: Vec<String> =
        folder.filter(|file| file.starts_with("servegen") || file.contains("generate")).collect();
    for file in &files {
        let found = read(file, None).unwrap_err().to_string();
        assert!(found.contains("has distributions and no calls"), "{found}");
    }
    assert_eq!(files.len(), 3);
}

fn of_text(text: &str) -> Result<Trace, JobsError> {
    jobs::read_bytes(text.as_bytes(), Path::new("trace"), None)
}
