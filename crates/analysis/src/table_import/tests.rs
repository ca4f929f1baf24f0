//! Tests every known form of published table, on tables as they were published.

use super::*;

fn tables(text: &str) -> Vec<PublishedTable> {
    published_tables(text).expect("a valid table")
}

fn values(row: &PublishedRow) -> (u32, u32, [Option<f64>; 4]) {
    (row.cell.input_length, row.cell.output_length, row.measured.values())
}

#[test]
fn tables_of_six_columns_are_parsed_with_any_style_of_headings() {
    for (text, engine, rows, first, last) in [
        (
            include_str!("fixtures/chatglm3-6b.md"),
            "vllm v0.2.7",
            16,
            (128, 128, [21.36, 2733.53, 6.74, 13.48]),
            (2048, 2048, [0.55, 1125.95, 7.01, 14.02]),
        ),
        (
            include_str!("fixtures/qwen-14b.md"),
            "vLLM",
            16,
            (128, 128, [5.84, 747.57, 12.85, 25.69]),
            (2048, 2048, [0.03, 71.09, 13.84, 27.68]),
        ),
        (
            include_str!("fixtures/baichuan2-13b-gptq.md"),
            "vllm 0.2.7",
            15,
            (128, 128, [6.77, 865.93, 6.13, 12.26]),
            (2048, 1024, [0.19, 196.07, 4.54, 13.62]),
        ),
    ] {
        let found = tables(text);
        assert_eq!(found.len(), 1, "{:?}", found[0].headings);
        assert!(found[0].is_under(engine) && !found[0].is_under("tgi"));
        assert_eq!(found[0].rows.len(), rows);
        let stated =
            |(input, output, figures): (u32, u32, [f64; 4])| (input, output, figures.map(Some));
        assert_eq!(values(&found[0].rows[0]), stated(first));
        assert_eq!(values(found[0].rows.last().unwrap()), stated(last));
    }
}

#[test]
fn two_engines_under_one_card_are_two_tables() {
    let found = tables(include_str!("fixtures/mistral-7b-openorca-awq.md"));
    assert_eq!(found.iter().map(|table| table.rows.len()).collect::<Vec<_>>(), [16, 16]);
    assert!(found[0].is_under("vllm v0.2.5") && !found[0].is_under("tgi"));
    assert!(found[1].is_under("TGI 1.3.4") || found[1].is_under("tgi"));
    assert_eq!(found[1].rows[1].measured.output_tokens_per_s, Some(1458.52));
}

#[test]
fn two_column_tables_per_input_length_are_merged_into_one_table_per_card() {
    let found = tables(include_str!("fixtures/sus-chat-34b.md"));
    assert_eq!(found.iter().map(|table| table.rows.len()).collect::<Vec<_>>(), [25, 25]);
    assert!(found[0].is_under("A100-PCIE-40G") && found[1].is_under("v100"));
    let row = found[1].rows[24];
    assert_eq!(values(&row), (4000, 682, [None, Some(51.6965), None, None]));
}

#[test]
fn unknown_columns_are_skipped_and_missing_figures_stay_absent() {
    let text = "# x\nModel | QPS | Input length | Output length | Note\n---|---|:-:|---|---\n\
                a | 1,000.5 | 10 | 20 | n/a\nb | - | 11 | 21 | c\nc | 2 | 12 | 22 |\n";
    let found = tables(text);
    assert_eq!(found[0].rows.len(), 2, "a row without a figure is left out");
    assert_eq!(values(&found[0].rows[0]), (10, 20, [Some(1000.5), None, None, None]));
}

#[test]
fn a_cell_that_is_not_a_number_is_an_error_with_its_line() {
    let text = "| Input Length | Output Length | QPS |\n|---|---|---|\n| 1 | 2 | fast |\n";
    let problem = published_tables(text).unwrap_err().to_string();
    assert!(problem.contains("line 3") && problem.contains("fast"), "{problem}");
}

#[test]
fn a_text_without_tables_gives_no_tables() {
    assert_eq!(tables("# Heading\n\nSome | text\n"), []);
}

#[test]
fn a_comment_in_a_code_block_is_not_taken_for_a_heading() {
    let text = "# m\n## A100\n### vllm 0.2.7\n```bash\n# start the server\npython -m x\n```\n\
                | Input Length | Output Length | QPS |\n|---|---|---|\n| 1 | 2 | 3 |\n";
    let found = tables(text);
    assert_eq!(found[0].headings, ["m", "A100", "vllm 0.2.7"]);
    assert_eq!(found[0].place.model.as_deref(), Some("m"));
}
