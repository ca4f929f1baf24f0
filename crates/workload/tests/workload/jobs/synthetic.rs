//! Traces that are made from a few numbers.

use std::path::PathBuf;

use inferometer_model::record::GapKind;
use inferometer_workload::jobs::synthetic::{KEYS, KINDS};
use inferometer_workload::jobs::{Figures, Target, Trace, read, write};

fn made(text: &str) -> Trace {
    read(&[PathBuf::from(format!("synthetic:{text}"))], None)
        .unwrap_or_else(|why| panic!("{text}: {why}"))
}

#[test]
fn the_same_text_gives_the_same_trace_which_can_be_written() {
    for text in [
        "chat",
        "sub-agents,jobs=10",
        "agentic-code,jobs=2,most=60000",
        "hits",
        "reuse,up-to=20000",
    ] {
        let [one, same] = [made(text), made(text)].map(|trace| write(&trace, Target::Mooncake));
        let one = one.unwrap_or_else(|why| panic!("{text}: {why}")).text;
        assert_eq!(one, same.expect("as before").text, "{text}");
        assert_ne!(
            one,
            write(&made(&format!("{text},seed=2")), Target::Mooncake).expect("another").text
        );
    }
}

#[test]
fn numbers_without_a_distribution_are_exact() {
    let text = "chat,jobs=3,system=160,own=64,turns=4,new=20,output=12,people=0,tools=2";
    let trace = made(text);
    let prompts: Vec<u32> = trace.calls.iter().filter_map(|call| call.prompt.get()).collect();
    // Each prompt is the one before it, its answer and what is new, rounded up to a block.
    assert_eq!(prompts[..4], [224, 256, 288, 320]);
    assert_eq!(prompts[4..], [&prompts[..4], &prompts[..4]].concat());
    let gap = &trace.calls[1];
    assert_eq!((gap.gap_ns.get(), gap.tool_ns.get()), (Some(2_000_000_000), Some(2_000_000_000)));
    assert_eq!(gap.gap_kind, GapKind::Tool);
    let figures = Figures::of(&trace, None);
    assert_eq!((figures.jobs, figures.calls), (3, 12));
    // Calls share the prompts before them in their job. What jobs find of each other is not known without times.
    let ideal = figures.ideal.expect("blocks").share_without_answers;
    let shared = 3 * (224 + 256 + 288);
    assert!(
        (ideal - f64::from(shared) / f64::from(3 * (224 + 256 + 288 + 320))).abs() < 1e-9,
        "{ideal}"
    );
}

#[test]
fn sub_agents_start_together_and_the_next_call_waits_for_all_of_them() {
    let trace = made("sub-agents,jobs=1,turns=2,spawn=1,agents=3,agent-turns=2");
    assert_eq!(trace.calls.len(), 2 + 3 * 2);
    let last = trace.calls.last().expect("calls");
    assert_eq!((last.parents.len(), last.gap_kind), (4, GapKind::Agent));
    let firsts = trace.calls.iter().filter(|call| call.parents == [0]);
    assert_eq!(firsts.count(), 3);
}

#[test]
fn a_prompt_beyond_the_limit_is_replaced_by_a_summary_behind_the_shared_begin() {
    let trace =
        made("chat,jobs=1,system=1600,own=160,turns=40,new=160,output=16,most=3200,summary=320");
    let prompts: Vec<u32> = trace.calls.iter().filter_map(|call| call.prompt.get()).collect();
    assert!(prompts.iter().all(|prompt| *prompt <= 3200), "{prompts:?}");
    assert!(prompts.windows(2).any(|pair| pair[0] > pair[1] && pair[1] == 1920), "{prompts:?}");
}

#[test]
fn a_text_that_describes_no_trace_is_refused_with_what_is_wrong() {
    for (text, why) in [
        ("agent", "`agent` is not one of chat"),
        ("chat,turn=2", "did you mean `turns`"),
        ("chat,turns", "`turns` is not key=value"),
        ("chat,turns=x", "is not a number"),
        ("chat,new=normal:1", "normal"),
        ("reuse", "up-to=TOKENS"),
        ("chat,jobs=100000000", "more than 2000000 calls"),
    ] {
        let refused = read(&[PathBuf::from(format!("synthetic:{text}"))], None).expect_err(text);
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

#[test]
fn the_page_names_every_kind_and_key() {
    let page = include_str!("../../../../../docs/agent-traces.md");
    for (name, default, meaning) in KEYS {
        assert!(page.contains(&format!("| `{name}` | {default} | {meaning} |")), "{name}");
    }
    for (name, _, meaning) in KINDS {
        assert!(page.contains(&format!("| `{name}` | {}", &meaning[..20])), "{name}");
    }
}
