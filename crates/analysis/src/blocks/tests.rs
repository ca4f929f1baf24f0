//! Tests the template of the published benchmark of SUS-Chat-34B, the arithmetic of its log, and the rules on the
//! length of answers.

use super::*;
use inferometer_model::fixture::steady;
use inferometer_model::{Outcome, Record, Timeline};
use inferometer_plan::template::{BlockPass, TEMPLATES, Template, TemplateError};

/// The counts of one pass in the published log: 500 blocks of 4,000 characters, with 4,000 requested characters each.
fn published() -> BlockFigures {
    BlockFigures {
        block_chars: 4_000,
        wanted_chars: 4_000,
        planned: 500,
        concurrency: Some(16),
        began_unix_ns: 1_703_064_928_900_000_000,
        ended_unix_ns: 1_703_066_816_100_000_000,
        completed: 143,
        prompt_tokens: Some(579_158),
        completion_tokens: Some(97_603),
        prompt_chars: 575_749,
        completion_chars: 130_289,
        tokens_per_s_per_request: Some(4.691_109_948_682_602),
        keeping: LengthFigures::default(),
    }
}

#[test]
fn the_figures_of_the_published_log_are_computed_from_its_counts() {
    let expected = [
        1888.0, 306.757_415_254_237_3, 51.696_504_237_288_14, 304.951_800_847_457_6,
        69.009_004_237_288_14, 97_603.0, 682.538_461_538_461_5, 143.0, 0.075_741_525_423_728_82,
        4.691_109_948_682_602,
    ];
    let figures = published();
    for (field, expected) in FIELDS.iter().zip(expected) {
        assert_eq!((field.value)(&figures), Some(expected), "{}", field.name);
    }
}

#[test]
fn a_duration_of_zero_whole_seconds_has_no_rates() {
    let mut figures = published();
    figures.ended_unix_ns = figures.began_unix_ns + 50_000_000;
    assert_eq!(figures.duration_s(), 0);
    assert_eq!(figures.completion_tokens_per_s(), None);
    // Each time is rounded down to a whole second of the clock. Here, a new second begins within the 150 ms.
    figures.ended_unix_ns = figures.began_unix_ns + 150_000_000;
    assert_eq!(figures.duration_s(), 1);
}

#[test]
fn the_published_template_adds_42_characters_or_43_for_a_four_digit_length() {
    let template = Template::named("continue-zh").unwrap();
    for (block, wanted, chars) in [(100, 100, 142), (500, 4_000, 543), (4_000, 500, 4_042)] {
        assert_eq!(template.prompt_chars(block, wanted), Ok(chars));
        let prompt = template.fill(&"字".repeat(block as usize), wanted).unwrap();
        assert_eq!(prompt.chars().count() as u64, chars);
    }
    assert_eq!(
        template.fill("块", 100).unwrap(),
        "\"\"\"\n块\n\"\"\"\n\n阅读上面的文本，续写后面的内容, 要求续写 100 个字左右:\n"
    );
}

#[test]
fn every_built_in_template_can_be_filled() {
    for wording in &TEMPLATES {
        let template = Template::named(wording.name).unwrap();
        assert_eq!(template.check(), Ok(()), "{}", wording.name);
        let prompt = template.fill("BLOCK", 321).unwrap();
        assert!(prompt.contains("BLOCK") && prompt.contains("321"), "{}", wording.name);
        assert!(!prompt.contains('{'), "{prompt}");
    }
}

#[test]
fn user_templates_are_validated_and_doubled_braces_give_literal_braces() {
    let template = |text: &str| Template {
        name: "mine.txt".to_owned(),
        text: text.to_owned(),
        preamble: "Be brief.\n".to_owned(),
    };
    let mine = template("{{json}}: {text} / {text} in {num_completion}");
    assert_eq!(mine.fill("ab", 7).unwrap(), "Be brief.\n{json}: ab / ab in 7");
    assert_eq!(mine.prompt_chars(2, 7), Ok(30));
    for (text, wrong) in [
        ("{text} {length}", TemplateError::UnknownField("length".to_owned())),
        ("{text} } {num_completion}", TemplateError::LoneBrace(8)),
        ("{text {num_completion}", TemplateError::LoneBrace(1)),
        ("{text}", TemplateError::MissingField("num_completion")),
        ("{num_completion}", TemplateError::MissingField("text")),
    ] {
        assert_eq!(template(text).check(), Err(wrong), "{text}");
    }
}

fn answer(index: u32, sent_ms: f64, tokens: u32, finish: &str) -> Record {
    // Four characters per token. The first token arrives after 100 ms, the others every 10 ms.
    let mut record = steady(sent_ms, 100.0, 10.0, tokens);
    record.index = index;
    record.finish_reason = Some(finish.to_owned());
    record
}

#[test]
fn records_of_a_block_pass_are_folded_into_the_figures_of_the_log() {
    let pass = BlockPass {
        block_chars: 100,
        wanted_chars: 100,
        prompt_chars: 142,
        origin_unix_ns: 1_700_000_000_500_000_000,
    };
    let mut failed = answer(3, 3_000.0, 5, "stop");
    failed.outcome = Outcome::Rejected { status: 400 };
    let records = [
        answer(0, 0.0, 25, "stop"),
        answer(1, 1_000.0, 2, "stop"),
        answer(2, 2_000.0, 60, "length"),
        failed,
    ];
    let mut fold = BlockFold::new(pass);
    records.iter().for_each(|record| fold.add(&Timeline::new(record)));
    let figures = fold.finish(Some(32));
    assert_eq!((figures.planned, figures.completed), (4, 3));
    assert_eq!(figures.completion_tokens, Some(87));
    assert_eq!(figures.completion_chars, 4 * 87);
    assert_eq!(figures.prompt_chars, 3 * 142);
    assert_eq!(figures.prompt_tokens, Some(24));
    // On the wall clock, the pass lasts from 0.5 s to 3.64 s after a full second.
    assert_eq!(figures.duration_s(), 3);
    let speed = (25.0 / 0.34 + 2.0 / 0.11 + 60.0 / 0.69) / 3.0;
    assert!((figures.tokens_per_s_per_request.unwrap() - speed).abs() < 1e-9);
    let keeping = figures.keeping;
    assert_eq!((keeping.answers, keeping.kept, keeping.refusals, keeping.run_aways), (3, 1, 1, 1));
    assert_eq!(keeping.chars.unwrap().max, 240.0);
}

#[test]
fn one_uncounted_prompt_leaves_only_the_total_of_prompt_tokens_absent() {
    let pass = BlockPass { block_chars: 9, wanted_chars: 9, prompt_chars: 9, origin_unix_ns: 0 };
    let mut uncounted = answer(0, 0.0, 5, "stop");
    uncounted.usage.prompt = None;
    let mut fold = BlockFold::new(pass);
    for record in [answer(1, 0.0, 5, "stop"), uncounted] {
        fold.add(&Timeline::new(&record));
    }
    let figures = fold.finish(None);
    assert_eq!((figures.prompt_tokens, figures.completion_tokens), (None, Some(10)));
}

#[test]
fn each_answer_matches_at_most_one_length_rule() {
    let under = |wanted_chars, chars, is_cut| -> Vec<&str> {
        let answer = Answer { wanted_chars, chars, is_cut };
        RULES.iter().filter(|rule| (rule.holds)(&answer)).map(|rule| rule.name).collect()
    };
    for (wanted, chars, is_cut, name) in [
        (1_000, 800, false, "kept"),
        (1_000, 1_200, false, "kept"),
        (1_000, 99, false, "refusal"),
        (1_000, 0, false, "refusal"),
        (1_000, 2_010, false, "run-away"),
        (1_000, 1_000, true, "run-away"),
    ] {
        assert_eq!(under(wanted, chars, is_cut), [name], "{chars} of {wanted}");
    }
    assert!(under(1_000, 500, false).is_empty() && under(1_000, 1_500, false).is_empty());
}
