//! Tests the import of published pages: the targets of the runs, the findings about contradicting figures,
//! and the printed table of an imported run.

use inferometer_analysis::summary::Summary;
use inferometer_analysis::table_import::published_tables;
use inferometer_formats::import::read as import;
use inferometer_model::finding::Finding;
use inferometer_report::{published, table};

const CHATGLM: &str = include_str!("../../analysis/src/table_import/fixtures/chatglm3-6b.md");
const QWEN: &str = include_str!("../../analysis/src/table_import/fixtures/qwen-14b.md");
const BAICHUAN: &str =
    include_str!("../../analysis/src/table_import/fixtures/baichuan2-13b-gptq.md");
const MISTRAL: &str =
    include_str!("../../analysis/src/table_import/fixtures/mistral-7b-openorca-awq.md");
const SUS_CHAT: &str = include_str!("../../analysis/src/table_import/fixtures/sus-chat-34b.md");

fn runs(text: &str) -> Vec<Summary> {
    let runs = import("page.md", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    runs.into_iter().map(|run| run.summary).collect()
}

fn named(summary: &Summary) -> [&str; 4] {
    let target = &summary.target;
    [
        &target.model,
        target.facts.card.as_deref().unwrap_or("-"),
        target.engine.as_deref().unwrap_or("-"),
        target.engine_version.as_deref().unwrap_or("-"),
    ]
}

fn finding<'a>(summary: &'a Summary, code: &str) -> Option<&'a Finding> {
    summary.findings.iter().find(|finding| finding.code == code)
}

fn codes(summary: &Summary) -> Vec<&str> {
    let codes = summary.findings.iter().map(|finding| finding.code.trim_start_matches("imported_"));
    codes.collect()
}

#[test]
fn each_table_and_log_of_a_page_is_imported_as_a_run_with_model_card_and_engine() {
    let a100 = "A100 40G";
    for (text, of) in [
        (CHATGLM, vec![(["chatglm3-6b", a100, "vllm", "0.2.7"], 16)]),
        (QWEN, vec![(["Qwen-14B", a100, "vllm", "0.2.7"], 16)]),
        (BAICHUAN, vec![(["baichuan2 13b GPTQ", a100, "vllm", "0.2.7"], 15)]),
        (
            MISTRAL,
            vec![
                (["Mistral-7B-OpenOrca-AWQ", a100, "vllm", "0.2.5"], 16),
                (["Mistral-7B-OpenOrca-AWQ", a100, "tgi", "1.3.4"], 16),
            ],
        ),
        (
            SUS_CHAT,
            vec![
                (["SUSTech/SUS-Chat-34B", "A100-PCIE-40G", "vllm", "-"], 25),
                (["SUSTech/SUS-Chat-34B", "V100-PCIE-32G", "vllm", "-"], 25),
                (["SUSTech/SUS-Chat-34B", "V100-PCIE-32G", "vllm", "-"], 1),
                (["SUSTech/SUS-Chat-34B", "V100-PCIE-32G", "vllm", "-"], 25),
            ],
        ),
    ] {
        let found = runs(text);
        let found: Vec<_> = found.iter().map(|run| (named(run), run.cells.len())).collect();
        assert_eq!(found, of);
    }
}

#[test]
fn imported_runs_are_marked_as_not_measured_by_this_program() {
    for summary in [CHATGLM, SUS_CHAT].iter().flat_map(|text| runs(text)) {
        let imported = summary.imported.as_ref().expect("an origin");
        assert_eq!((imported.file.as_str(), imported.sha256.len()), ("page.md", 64));
        assert!(summary.verdict.reasons[0].contains("did not measure"));
        let text = table::markdown(std::slice::from_ref(&summary));
        assert!(text.contains("(imported)"), "{text}");
    }
}

#[test]
fn the_rows_of_an_imported_table_are_printed_byte_for_byte() {
    let mut rows = 0;
    for text in [CHATGLM, QWEN, BAICHUAN, MISTRAL, SUS_CHAT] {
        let tables = published_tables(text).unwrap();
        for (summary, of) in runs(text).iter().zip(&tables) {
            // The store writes the summary as JSON.
            let kept: Summary =
                serde_json::from_str(&serde_json::to_string(summary).unwrap()).unwrap();
            let printed = table::markdown(&[kept]);
            let is_row = |line: &&str| line.starts_with(|c: char| c == '|' || c.is_ascii_digit());
            let printed: Vec<&str> =
                printed.lines().filter(is_row).filter(|row| row.contains('|')).collect();
            let mut source = text.lines().skip_while(|line| *line != printed[0]);
            for row in &printed {
                assert!(source.any(|line| line == *row), "{row}");
                rows += usize::from(row.contains(|c: char| c.is_ascii_digit()));
            }
            assert!(printed.len() >= of.rows.len());
        }
    }
    assert_eq!(rows, 16 + 16 + 15 + 32 + 50);
}

#[test]
fn contradictory_figures_are_reported_as_findings_with_evidence() {
    assert_eq!(codes(&runs(CHATGLM)[0]), Vec::<&str>::new());
    assert_eq!(codes(&runs(BAICHUAN)[0]), ["rows_missing"]);
    let missing = runs(BAICHUAN);
    assert!(finding(&missing[0], "imported_rows_missing").unwrap().message.contains("2048 x 2048"));

    let qwen = runs(QWEN);
    let phantom = &finding(&qwen[0], "imported_phantom_tokens").unwrap().message;
    for evidence in
        ["reached 2048 tokens", "3 rows", "1024 x 2048", "169.34 of the stated 338.69 tokens/s"]
    {
        assert!(phantom.contains(evidence), "{evidence}: {phantom}");
    }
    let [vllm, tgi] = &runs(MISTRAL)[..] else { panic!("not two engines") };
    assert_eq!(codes(vllm), Vec::<&str>::new());
    let shorter = &finding(tgi, "imported_outputs_shorter").unwrap().message;
    assert!(shorter.contains("16 of 16 rows") && shorter.contains("128 x 128: 102"), "{shorter}");
    let latencies = &finding(tgi, "imported_latencies_inconsistent").unwrap().message;
    assert!(latencies.contains("512 x 512: 0.201 instead of 0.500"), "{latencies}");
}

/// A page with one table with these columns and rows.
fn latencies(columns: &str, rows: &[&str]) -> String {
    let names = columns.replace("token", "Average latency per token (ms)");
    let names = names.replace("output", "Average latency per output token (ms)");
    let rule = "---|".repeat(names.split('|').count() + 2);
    let rows: String = rows.iter().map(|row| format!("| {row} |\n")).collect();
    format!(
        "# m\n\n## A100\n\n## vllm 0.2.7\n\n| Input Length | Output Length | {names} |\n|{rule}\n{rows}"
    )
}

#[test]
fn rows_with_more_output_tokens_in_less_time_are_reported_as_phantom_tokens() {
    let phantom = |columns: &str, rows: &[&str]| {
        let summary = runs(&latencies(columns, rows)).remove(0);
        finding(&summary, "imported_phantom_tokens").map(|finding| finding.message.clone())
    };
    // The row of 2,048 tokens takes 10.69 s, the row of 1,024 tokens 16.97 s.
    let told = phantom("output", &["128 | 1024 | 16.57", "128 | 2048 | 5.22"]).unwrap();
    for evidence in
        ["1 of 2 rows", "128 x 2048: 10.69 s for 2048 output tokens, but 16.97 s for 1024"]
    {
        assert!(told.contains(evidence), "{told}");
    }
    // This table has only the latency per token of prompt and output: 5.22 ms x 2176 tokens, and 16.57 ms x
    // 1152 tokens.
    let told = phantom("token", &["128 | 1024 | 16.57", "128 | 2048 | 5.22"]).unwrap();
    assert!(told.contains("11.36 s for 2048 output tokens, but 19.09 s for 1024"), "{told}");
    // A limit of 2,048 that cuts two rows is also found if only the latency per token is stated.
    let cut =
        ["1024 | 1024 | 13.00", "1024 | 2048 | 8.67", "512 | 1024 | 17.33", "512 | 2048 | 15.60"];
    let told = phantom("token", &cut).unwrap();
    assert!(told.contains("plus output reached 2048 tokens, but 2 rows"), "{told}");
    // The prompt takes nearly all of the time, so the output length has little effect and nothing is wrong.
    assert_eq!(phantom("output", &["2048 | 16 | 600.0", "2048 | 32 | 310.0"]), None);
    // One disturbed row makes the next row look too fast, but by less than phantom tokens would.
    assert_eq!(
        phantom("output", &["1024 | 128 | 19.50", "1024 | 512 | 27.38", "1024 | 1024 | 19.08"]),
        None
    );
}

#[test]
fn lengths_in_characters_instead_of_tokens_are_detected_with_the_log_of_the_page() {
    let all = runs(SUS_CHAT);
    for table in &all[..2] {
        let told = &finding(table, "imported_characters_not_tokens").unwrap().message;
        for evidence in ["100 characters are 602 tokens", "4000 characters are 4050 tokens"] {
            assert!(told.contains(evidence), "{told}");
        }
    }
    let log = &all[3];
    let lost = &finding(log, "imported_requests_lost").unwrap().message;
    assert!(lost.contains("4000 x 4000: 143 of 500"), "{lost}");
    let pass = &log.cells[0].passes[0];
    assert_eq!((pass.planned, pass.outcomes.complete), (500, 143));
    assert_eq!((log.cells[0].input_length, log.cells[0].output_length), (4050, 683));
    let script = &all[2].cells[0];
    assert_eq!(script.requests_per_s, Some(1.19));
    assert_eq!(script.passes[0].rate, Some(32.0));
}

#[test]
fn the_v100_tables_can_be_computed_from_only_the_log() {
    let all = runs(SUS_CHAT);
    let (table, log) = (&all[1], &all[3]);
    let made = published_tables(&published::size_tables(log).unwrap()).unwrap();
    let published: Vec<_> = table.imported.as_ref().unwrap().tables.iter().collect();
    let made: Vec<_> = made.iter().flat_map(|table| &table.forms).collect();
    assert_eq!(made.len(), 5);
    for (made, published) in made.iter().zip(&published) {
        assert_eq!(made.markdown(), published.markdown());
    }
}

#[test]
fn the_log_can_be_written_again_from_its_numbers_line_by_line_except_for_timestamps() {
    let untimed = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains("][INFO] "));
        lines.map(|line| line.split_once("][").unwrap().1.to_owned()).collect()
    };
    let made = published::log(&runs(SUS_CHAT)[3]).unwrap();
    let (made, source) = (untimed(&made), untimed(SUS_CHAT));
    assert_eq!((made.len(), source.len()), (25 * 17, 25 * 17));
    let different: Vec<_> = made.iter().zip(&source).filter(|(a, b)| a != b).collect();
    assert!(different.is_empty(), "{different:#?}");
}

#[test]
fn a_file_of_an_unknown_format_is_refused_with_what_was_found() {
    for (bytes, found) in [
        (&b"# Notes\n\nnothing\n"[..], "no table"),
        (&b"\xff\xfe"[..], "not UTF-8"),
        (&b"| Input Length | Output Length | QPS |\n|---|---|---|\n| 1 | 2 | x |\n"[..], "line 3"),
    ] {
        let error = import("notes.md", bytes).unwrap_err().to_string();
        assert!(error.starts_with("notes.md: ") && error.contains(found), "{error}");
    }
}

/// A page with one table with these rows.
fn page(rows: &str) -> String {
    format!(
        "# m\n## H100\n## vllm 0.9.1\n\n\
         | Input Length | Output Length | Throughput (requests/s) | Throughput (output token/s) |\n\
         | --- | --- | --- | --- |\n{rows}"
    )
}

#[test]
fn a_throughput_that_occurs_twice_with_identical_digits_is_reported() {
    let twice = page(
        "| 1 | 10 | 5.43 | 54.301 |\n| 2 | 20 | 2.17 | 43.412 |\n| 3 | 10 | 5.43 | 54.301 |\n",
    );
    let told = runs(&twice);
    let repeats = &finding(&told[0], "imported_values_repeat").unwrap().message;
    assert!(repeats.contains("1 x 10: 54.301 as in 3 x 10"), "{repeats}");
    let near = twice.replacen("54.301", "54.302", 1);
    assert!(finding(&runs(&near)[0], "imported_values_repeat").is_none());
}

#[test]
fn columns_may_differ_only_by_the_rounding_of_their_decimals() {
    // 0.03 is any value from 0.025 to 0.035. With 2048 tokens each, this is 51.2 to 71.7 tokens/s.
    for (row, codes_expected) in [
        ("| 128 | 2048 | 0.03 | 71.09 |\n", &[][..]),
        ("| 128 | 2048 | 0.03 | 51.30 |\n", &[]),
        ("| 128 | 2048 | 0.03 | 50.00 |\n", &["outputs_shorter"]),
        ("| 128 | 2048 | 0.03 | 72.00 |\n", &["columns_inconsistent"]),
    ] {
        assert_eq!(codes(&runs(&page(row))[0]), codes_expected, "{row}");
    }
}

#[test]
fn a_log_with_inconsistent_fields_is_reported() {
    let wrong =
        SUS_CHAT.replacen("total completion tokens: 97603", "total completion tokens: 97703", 1);
    let told = runs(&wrong);
    let message = &finding(&told[3], "imported_columns_inconsistent").unwrap().message;
    assert!(message.contains("97603") && message.contains("97703"), "{message}");
    assert!(finding(&runs(SUS_CHAT)[3], "imported_columns_inconsistent").is_none());
}

#[test]
fn tables_under_equal_headings_become_runs_with_different_section_names() {
    let table = "| Input Length | Output Length | QPS |\n| --- | --- | --- |\n| 1 | 2 | 3.0 |\n";
    let page = format!(
        "# m\n## A100\n### vllm 0.2.7\n#### Results\n{table}\n### tgi 1.3\n#### Results\n{table}"
    );
    let all = runs(&page);
    let sections: Vec<_> =
        all.iter().map(|run| run.imported.clone().expect("an origin").section).collect();
    assert_eq!(sections.len(), 2);
    assert_ne!(sections[0], sections[1]);
    assert_eq!(named(&all[1])[2..], ["tgi", "1.3"]);
}

#[test]
fn lengths_of_up_to_32_bits_are_imported_unchanged() {
    let page = page("| 4000000000 | 4000000000 | 1.00 | 1.00 |\n");
    assert_eq!(runs(&page)[0].cells[0].output_length, 4_000_000_000);
}

/// A page with the six lines of the script below a command.
fn six_lines(command: &str, total: &str) -> String {
    six_lines_of(command, total, "1.19")
}

fn six_lines_of(command: &str, total: &str, throughput: &str) -> String {
    format!(
        "# m\n\n## A100\n\n{command}\n\nTotal time: {total} s\nThroughput: {throughput} requests/s\n\
         Average latency: 3.00 s\nAverage latency per token: 0.01 s\n\
         Average latency per output token: 0.02 s\n\
         Completion tokens per second: 250.5 tokens/s\n"
    )
}

#[test]
fn a_serving_script_without_a_rate_is_imported_as_saturated_and_continued_lines_are_joined() {
    use inferometer_model::load::PassKind::{Open, Saturated};
    for (command, kind, rate, planned, throughput) in [
        ("python benchmark_serving.py --num-prompts 500", Saturated, None, 500, "1.19"),
        ("python benchmark_serving.py --request-rate inf", Saturated, None, 1000, "2.38"),
        ("python3 -u benchmarks/benchmark_serving.py", Saturated, None, 1000, "2.38"),
        ("$ ./benchmark_serving.py \\\n  --num-prompts 500", Saturated, None, 500, "1.2"),
        ("It was `benchmark_serving.py --num-prompts 500`.", Saturated, None, 500, "1.19"),
        (
            "python benchmark_serving.py \\\n  --request-rate=4 \\\n  --num-prompts 7",
            Open,
            Some(4.0),
            7,
            "0.02",
        ),
    ] {
        let all = runs(&six_lines_of(command, "420.17", throughput));
        assert_eq!(all.len(), 1, "{command}");
        let pass = &all[0].cells[0].passes[0];
        assert_eq!((pass.kind, pass.rate, pass.planned), (kind, rate, planned), "{command}");
        assert_eq!(pass.duration_s, Some(420.17));
    }
}

#[test]
fn text_that_only_mentions_the_serving_script_is_not_taken_as_its_command() {
    let command = "python benchmark_serving.py --num-prompts 500";
    for between in [
        "### benchmark_serving.py",
        "The script is [benchmark_serving.py](https://host/benchmark_serving.py --here).",
        "wget https://host/benchmark_serving.py --no-verbose",
        "benchmark_serving.py - and its figures -- say:",
        "What `my_benchmark_serving.py --num-prompts 3` brought:",
    ] {
        let all = runs(&six_lines(&format!("{command}\n{between}"), "420.17"));
        assert_eq!(all[0].cells[0].passes[0].outcomes.complete, 500, "{between}");
        let error = import("page.md", six_lines(between, "420.17").as_bytes()).unwrap_err();
        assert!(
            error.to_string().contains("there is no command of benchmark_serving.py"),
            "{error}"
        );
    }
}

#[test]
fn a_total_time_without_a_throughput_is_not_a_result_of_the_serving_script() {
    let table = page("| 128 | 2048 | 0.03 | 71.09 |\n");
    let below = format!("python benchmark_serving.py\n\nTotal time: 5 min\n\n{table}");
    assert_eq!(runs(&below).len(), runs(&table).len());
}

#[test]
fn invalid_results_of_the_serving_script_are_refused_with_the_line_number() {
    let command = "python benchmark_serving.py --num-prompts 500";
    let good = six_lines(command, "420.17");
    for (page, told) in [
        (six_lines(command, "nan"), "line 7: `Total time: nan s`"),
        (good.replace("1.19", "inf"), "line 8: `Throughput: inf"),
        (good.replace("Average latency: 3.00 s\n", ""), "line 9: `Average latency per token"),
        (good.replace("500", "many"), "line 5: --num-prompts: `many`"),
        (
            six_lines("python benchmark_serving.py --request-rate nan", "1.0"),
            "line 5: --request-rate",
        ),
        (six_lines("", "420.17"), "there is no command of benchmark_serving.py"),
        (
            six_lines("python benchmark_serving.py", "420.17"),
            "line 7: `Total time: 420.17 s` and `Throughput: 1.19 requests/s` correspond to 498 to 502 \
             requests, but the command in line 5 sends 1000",
        ),
        (good.replace("500", "503"), "correspond to 498 to 502 requests"),
    ] {
        let error = import("page.md", page.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(told), "{told}: {error}");
    }
}
