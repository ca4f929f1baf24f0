//! Prints the errors of predictions of current engines, and how many measured figures lie in the stated ranges, by set
//! and figure. The rows are in `data/rows/current`. Each row of `calibration.csv` is predicted with the constants of
//! four fits: to all rows, without half of the rows, without the row's set, and without the row's card. The rows of
//! `test.csv`, which no fit uses, are predicted with the fit to all rows.
//!
//! Run in the crate's folder: `cargo run --release --example hold_rates [rows]`. It takes seconds, because the
//! constants of all fits are stored (`refits.csv`). With `rows`, it also prints every figure.

mod rows;

use std::error::Error;

use rows::{Counted, Figure, Fit, Predicted, counted, predict_all};

const HEADINGS: [&str; 5] = ["requests/s", "TPOT p50", "TTFT p50", "TTFT p99", "E2E p50"];

const FITS: [(Fit, &str); 5] = [
    (Fit::Fitted, "fitted"),
    (Fit::HalfLeftOut, "half left out"),
    (Fit::SetLeftOut, "set left out"),
    (Fit::CardLeftOut, "card left out"),
    (Fit::Test, "test.csv"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let all = predict_all()?;
    if std::env::args().nth(1).as_deref() == Some("rows") {
        all.iter().for_each(print_row);
    }
    println!(
        "median absolute error in %; figures inside their ranges / all figures, for calibrated \
         ranges; the same for uncalibrated ranges (~)"
    );
    for (fit, name) in FITS {
        println!("\n{name:31} {}", HEADINGS.map(|it| format!("{it:>24}")).join(""));
        let of_fit: Vec<&Predicted> = all.iter().filter(|row| row.fit == fit).collect();
        let mut sets: Vec<&str> = of_fit.iter().map(|row| row.run.set.as_str()).collect();
        sets.sort_unstable();
        sets.dedup();
        for set in sets {
            line(set, of_fit.iter().copied().filter(|row| row.run.set == set));
        }
        line("all", of_fit.iter().copied());
    }
    Ok(())
}

fn line<'a>(name: &str, rows: impl Iterator<Item = &'a Predicted>) {
    let rows: Vec<&Predicted> = rows.collect();
    let columns: [Counted; 5] =
        std::array::from_fn(|at| counted(rows.iter().filter_map(|row| row.figures[at])));
    let all = counted(rows.iter().flat_map(|row| row.figures.into_iter().flatten()));
    let text = |it: &Counted| {
        let Some(median) = it.median_error() else { return "-".to_owned() };
        let of = |[inside, all]: [usize; 2], mark: &str| match all {
            0 => String::new(),
            _ => format!(" {mark}{inside}/{all}"),
        };
        format!("{median:.1}{}{}", of(it.calibrated, ""), of(it.uncalibrated, "~"))
    };
    let columns = columns.iter().map(|it| format!("{:>24}", text(it))).collect::<String>();
    println!("{name:31} {columns} {:>16}", share(&all));
}

/// The share of calibrated figures in their ranges, as text.
fn share(counted: &Counted) -> String {
    let [inside, all] = counted.calibrated;
    match all {
        0 => "uncalibrated".to_owned(),
        _ => format!("{:.0} % of {all}", 100.0 * inside as f64 / all as f64),
    }
}

fn print_row(row: &Predicted) {
    let Predicted { fit, run, figures } = row;
    let figure = |figure: Option<Figure>| {
        let Some(figure) = figure else { return format!("{:>24}", "-") };
        let (range, error) = (figure.range, figure.error_percent());
        let [low, high] = range.interval.map(|end| 100.0 * (end / range.predicted - 1.0));
        let mark = match (range.calibrated, figure.is_inside()) {
            (false, _) => "~",
            (true, false) => "!",
            (true, true) => " ",
        };
        format!("{:>24}", format!("{mark}{error:+.1} ({low:+.0} {high:+.0})"))
    };
    let figures = figures.map(figure).join("");
    let ((input, output), load) = (run.lengths[0], &run.pass);
    println!("{fit:?} {} {load} {input} x {output}: {figures}", run.set);
}
