//! Tests of the outputs in the formats of published measurements. For the counts that a published log
//! states, the outputs must equal that log and its tables. Other tests check the figures of vLLM's
//! serving script.

use inferometer_analysis::blocks::{BlockFigures, LengthFigures};
use inferometer_analysis::imported::Imported;
use inferometer_analysis::serving_run::{ByTokens, ServingRun};
use inferometer_analysis::summary::Summary;
use inferometer_analysis::table_import::published_tables;
use inferometer_model::load::PassKind;
use inferometer_model::outcome::OutcomeCounts;
use inferometer_report::{charts, csv, plot, published, table};

use crate::support::{cell, distribution, empty, pass};

const LOG: &str = include_str!("../fixtures/sus-chat-34b.log");

/// The figures of the first pass in the published log. The published log does not state the figures
/// in `keeping`.
fn first() -> BlockFigures {
    BlockFigures {
        block_chars: 4_000,
        wanted_chars: 4_000,
        planned: 500,
        concurrency: Some(16),
        began_unix_ns: 1_703_064_928_585_000_000,
        ended_unix_ns: 1_703_066_816_483_000_000,
        completed: 143,
        prompt_tokens: Some(579_158),
        completion_tokens: Some(97_603),
        prompt_chars: 575_749,
        completion_chars: 130_289,
        tokens_per_s_per_request: Some(4.691_109_948_682_602),
        keeping: LengthFigures {
            answers: 143,
            kept: 10,
            refusals: 3,
            run_aways: 2,
            chars: Some(distribution(911.0)),
            tokens: Some(distribution(682.5)),
        },
    }
}

fn run(blocks: &[BlockFigures]) -> Summary {
    let mut summary = empty("SUSTech/SUS-Chat-34B", "V100-PCIE-32G", "vllm", "0.2.6");
    for figures in blocks {
        let mut pass = pass(PassKind::Closed, figures.planned);
        pass.concurrency = figures.concurrency;
        pass.outcomes = OutcomeCounts {
            complete: figures.completed,
            rejected: figures.planned - figures.completed,
            ..OutcomeCounts::default()
        };
        pass.blocks = Some(figures.clone());
        let mut cell = cell(figures.block_chars, figures.wanted_chars, [None; 4]);
        cell.passes = vec![pass];
        summary.cells.push(cell);
    }
    summary
}

/// A run over blocks of two sizes, one of them with two requested lengths.
pub(crate) fn of_blocks() -> Summary {
    let other = BlockFigures { wanted_chars: 100, ..first() };
    let smaller = BlockFigures { block_chars: 100, ..first() };
    run(&[first(), other, smaller])
}

/// The lines of a log without their times. The times at the end of the pass are not compared: in the
/// published log, they differ by 1 ms, because the script took this time to print.
fn untimed(log: &str) -> Vec<&str> {
    log.lines().map(|line| line.split_once("][").expect("a time").1).collect()
}

#[test]
fn the_published_log_is_reproduced_line_by_line() {
    let log = published::log(&run(&[first()])).unwrap();
    assert_eq!(untimed(&log), untimed(LOG));
    let time = |log: &str| log.lines().next().unwrap()[..25].to_owned();
    assert_eq!(time(&log), time(LOG));
}

#[test]
fn missing_figures_are_dashes_in_the_log() {
    let mut figures = first();
    figures.ended_unix_ns = figures.began_unix_ns;
    figures.prompt_tokens = None;
    let log = published::log(&run(&[figures])).unwrap();
    for line in ["duration: 0", "prompt-tokens/second: -", "completion-tokens/second: -"] {
        assert!(untimed(&log).iter().any(|found| found.ends_with(line)), "{line}");
    }
    assert_eq!(published::log(&empty("m", "c", "vllm", "1")), None);
}

#[test]
fn the_tables_per_input_size_have_the_published_values_and_can_be_read_back() {
    let short = BlockFigures {
        wanted_chars: 100,
        completed: 165,
        completion_tokens: Some(33_484),
        ended_unix_ns: first().began_unix_ns + 1_194_000_000_000,
        ..first()
    };
    let small = BlockFigures { block_chars: 500, ..first() };
    let text = published::size_tables(&run(&[first(), short, small])).unwrap();
    let expected = "**input 4000**\n\n输出长度 | completion-tokens/s\n---|---\n202 | 28.0435\n\
                    682 | 51.6965\n";
    assert!(text.contains(expected), "{text}");
    assert!(text.find("**input 500**") < text.find("**input 4000**"));
    let rows = published_tables(&text).unwrap().remove(0).rows;
    let read: Vec<_> = rows
        .iter()
        .map(|row| (row.cell.input_length, row.cell.output_length, row.measured.values()[1]))
        .collect();
    assert_eq!(
        read,
        [(500, 682, Some(51.6965)), (4_000, 202, Some(28.0435)), (4_000, 682, Some(51.6965))]
    );
}

#[test]
fn the_table_of_a_block_run_shows_completions_rejections_and_length_deviations() {
    let summary = run(&[first()]);
    let text = table::markdown(std::slice::from_ref(&summary));
    for part in ["143 / 500", "357 rejected", "22.77 %", "Refusals", "Runaway answers"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(csv::cells(&summary).starts_with(
        "run_id,model,engine,engine_version,simulated,predicted,input_length_characters,"
    ));
}

#[test]
fn length_figures_missing_in_an_imported_log_are_not_shown_as_zeros() {
    let untold = BlockFigures { keeping: LengthFigures::default(), ..first() };
    let mut summary = run(&[untold]);
    let of = |summary: &Summary| table::markdown(std::slice::from_ref(summary));
    // In a measured pass, zeros are real counts: all requests may have failed.
    assert!(of(&summary).contains("Refusals"));
    summary.imported = Some(Imported::default());
    assert!(!of(&summary).contains("Refusals"));
}

#[test]
fn the_plot_has_a_line_for_each_requested_length() {
    let charts = charts::of_several(&[of_blocks()]);
    assert_eq!(charts[0].id, "blocks-token-out");
    assert!(charts.iter().all(|chart| !chart.id.starts_with("throughput")));
    let svg = plot::file(&charts[0], plot::Theme::Light);
    for part in ["Size of a block (characters)", "Requested (characters)", ">4000<", ">100<"] {
        assert!(svg.contains(part), "{part}");
    }
}

#[test]
fn a_serving_run_shows_our_figures_and_those_of_the_script() {
    let mut summary = empty("SUSTech/SUS-Chat-34B", "V100-PCIE-32G", "vllm", "0.2.6");
    let mut pass = pass(PassKind::Open, 1_000);
    pass.serving_run = Some(ServingRun {
        completed: 1_000,
        total_time_s: Some(842.46),
        mean_latency_s: Some(429.69),
        measured: ByTokens::default(),
        script: ByTokens {
            latency_per_token_s: Some(1.674),
            latency_per_output_token_s: Some(8.668),
            output_tokens: Some(218_801),
        },
    });
    let mut cell = cell(0, 0, [None; 4]);
    cell.passes = vec![pass];
    summary.cells.push(cell);
    let text = table::markdown(&[summary]);
    for line in [
        "| Total time                       |",
        "|                  842.5 |                   842.46 | s          |",
        "|                      - |                     1.67 | s          |",
        "|                      - |       259.71678180566437 | tokens/s   |",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
