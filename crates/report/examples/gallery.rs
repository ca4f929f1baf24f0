//! Writes charts of many shapes, and a report, into a folder, so that a person can judge them: no test can
//! tell whether a chart looks good.
//!
//!     cargo run -p inferometer-report --example gallery -- FOLDER [summary.json ...]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;

use inferometer_analysis::Summary;
use inferometer_model::PassKind;
use inferometer_model::metrics::{latency_per_output_token, latency_per_token};
use inferometer_report::{ReportInput, charts, html, markdown, page, plot};
use support::{CHATGLM3, MISTRAL, cell, distribution, empty, full, pass, published};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("name a folder to write into")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let mut figures = String::new();
    let mut shapes: Vec<(String, Vec<Summary>)> =
        shapes().into_iter().map(|(name, summaries)| (name.to_owned(), summaries)).collect();
    for (number, file) in (1..).zip(std::env::args().skip(2)) {
        let summary = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        shapes.push((format!("file-{number}"), vec![summary]));
    }
    for (shape, summaries) in shapes {
        for mut chart in charts::of_several(&summaries) {
            let file = folder.join(format!("{shape}-{}.png", chart.id));
            std::fs::write(file, plot::png(&plot::file(&chart, plot::Theme::Light), 1.0)?)?;
            chart.id = format!("{shape}-{}", chart.id);
            figures += &plot::figure(&chart);
        }
    }
    let page = page::Page {
        title: "Charts of grids",
        policy: "",
        links: "",
        has_contents: false,
        body: &figures,
    };
    std::fs::write(folder.join("grids.html"), page::document(&page))?;
    let summary = full();
    let traces = support::records::traces(&summary, 400, 24);
    let charts = charts::of_run(&summary, &traces);
    for chart in &charts {
        for (theme, name) in [(plot::Theme::Light, "light"), (plot::Theme::Dark, "dark")] {
            let svg = plot::file(chart, theme);
            std::fs::write(folder.join(format!("{}-{name}.png", chart.id)), plot::png(&svg, 1.0)?)?;
        }
    }
    let input = ReportInput {
        summary: &summary,
        charts: &charts,
        traces: &traces,
        plan_toml: "input_lengths = [128, 512]\n",
        files: &["summary.json"],
        report_command: "inferometer report RUN",
        run_command: "inferometer run plan.toml",
    };
    std::fs::write(folder.join("report.md"), markdown::report(&input, plot::Form::Png))?;
    std::fs::write(folder.join("report.html"), html::report(&input))?;
    Ok(())
}

/// Grids of many shapes, each with a name for its files.
fn shapes() -> Vec<(&'static str, Vec<Summary>)> {
    let chatglm = published(CHATGLM3);
    let mistral = published(MISTRAL);
    let only = |summaries: &[Summary], keep: &dyn Fn(u32, u32) -> bool| -> Vec<Summary> {
        let mut summaries = summaries.to_vec();
        for summary in &mut summaries {
            summary.cells.retain(|cell| keep(cell.input_length, cell.output_length));
        }
        summaries
    };
    let mut three = mistral.clone();
    three.extend(chatglm.clone());
    vec![
        ("4x4", chatglm.clone()),
        ("1x4", only(&chatglm, &|input, _| input == 128)),
        ("4x1", only(&chatglm, &|_, output| output == 512)),
        ("1x1", only(&chatglm, &|input, output| input == 128 && output == 128)),
        ("two-4x4", mistral.clone()),
        ("two-4x1", only(&mistral, &|_, output| output == 512)),
        ("two-1x1", only(&mistral, &|input, output| input == 128 && output == 128)),
        ("three-4x4", three),
        ("decades", vec![decades()]),
        ("whiskers", vec![whiskers()]),
        ("six-inputs", vec![six_inputs("vllm"), six_inputs("sglang")]),
        ("full", vec![full()]),
        ("nothing", vec![empty("m", "c", "e", "1")]),
    ]
}

/// Values over more than four decades, with a gap.
fn decades() -> Summary {
    let mut summary = empty("通义千问-14B 中文模型", "昇腾 910B", "vllm", "0.6.3");
    for (row, input) in [16u32, 256, 4096, 65_536].into_iter().enumerate() {
        for (column, output) in [1u32, 16, 256, 4096].into_iter().enumerate() {
            let value = 5000.0 / 9f64.powi((row + column) as i32);
            let figure = (row != 1 || column != 2).then_some(value);
            let figures = [figure, Some(value * f64::from(output)), Some(1.0 / value), figure];
            summary.cells.push(cell(input, output, figures));
        }
    }
    summary
}

/// A grid with intervals, and with failed requests in one cell.
fn whiskers() -> Summary {
    let mut summary = published(CHATGLM3).remove(0);
    summary.target.simulated = true;
    for (index, cell) in summary.cells.iter_mut().enumerate() {
        let mut single = pass(PassKind::OneByOne, 10);
        let mut loaded = pass(PassKind::Saturated, 399);
        *single.latencies.entry(&latency_per_token::DEFINITION) =
            cell.latency_per_token_ms.map(distribution);
        *single.latencies.entry(&latency_per_output_token::DEFINITION) =
            cell.latency_per_output_token_ms.map(distribution);
        if index == 7 {
            loaded.outcomes.complete -= 9;
            loaded.outcomes.timed_out = 9;
        }
        cell.passes = vec![single, loaded];
    }
    summary
}

/// A grid with more input lengths than there are panels in a row. Two of these grids differ in the engine
/// and in the figures.
fn six_inputs(engine: &str) -> Summary {
    let mut summary = empty("Qwen2.5-72B-Instruct", "8 x H100", engine, "0.6.3");
    let factor = if engine == "vllm" { 1.0 } else { 1.3 };
    for input in [32u32, 128, 512, 2048, 8192, 32_768] {
        for output in [32u32, 256, 2048] {
            let (i, o) = (f64::from(input), f64::from(output));
            let rate = factor * 4000.0 / (o + i / 8.0 + 20.0);
            let latency = 20.0 + i / 400.0 / factor;
            let per_token = latency * o / (i + o);
            let figures = [Some(rate), Some(rate * o), Some(per_token), Some(latency)];
            summary.cells.push(cell(input, output, figures));
        }
    }
    summary
}
