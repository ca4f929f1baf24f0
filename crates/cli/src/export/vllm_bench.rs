//! Exports passes as result files of `vllm bench serve`, and results as a published table. Other crates create the
//! contents; this file selects the passes and the paths.

use std::path::Path;

use inferometer_analysis::Summary;
use inferometer_formats::{dialect::ServingSelection, export::vllm_bench};
use inferometer_report::table;
use inferometer_store::LoggedPass;

use super::{job::Job, out::Out, rows::summary_of};
use crate::stored_error::StoredRunError;
use crate::stored_passes::{burstiness, expect_records, expect_streams};

/// Writes the file of one pass, or the files of all passes to a folder.
pub fn write(job: &Job<'_>) -> Result<(), StoredRunError> {
    let run = job.run;
    expect_streams(run)?;
    expect_records(run)?;
    let summary = &summary_of(run, job.say)?;
    let passes = summary.cells.iter().map(|cell| cell.passes.len()).sum::<usize>();
    let folder = job.out.filter(|path| path.is_dir());
    let chosen = match (job.pass, folder) {
        (Some(pass), _) if pass as usize >= passes => {
            let last = passes.saturating_sub(1);
            return Err(StoredRunError::refused(format!(
                "--pass: {pass} is not a pass of the run; its passes are numbered 0 to {last}"
            )));
        }
        (Some(pass), _) => Some(pass),
        (None, None) if passes > 1 => {
            return Err(StoredRunError::refused(format!(
                "--pass: a file contains one pass, but the run has {passes} ({}); choose one, or \
                    give an existing folder with --out",
                places(summary)
            )));
        }
        (None, _) => None,
    };
    let all = ServingSelection::default();
    let mut logged = run.passes()?;
    for pass in &mut logged {
        let LoggedPass { begin, records, .. } = pass?;
        if chosen.is_some_and(|pass| pass != begin.pass) {
            continue;
        }
        let number = begin.pass as usize;
        let file = vllm_bench(summary, number, &records, burstiness(&begin.plan), &all)
            .map_err(|error| StoredRunError::write(format!("run {}: {error}", run.row.id)))?;
        let in_folder =
            folder.map(|folder| folder.join(format!("{}-pass-{number}.json", run.row.id)));
        let what = format!("pass {number} of run {}", run.row.id);
        save(job, in_folder.as_deref().or(job.out), &format!("{file}\n"), what)?;
    }
    logged.cut.iter().for_each(|error| (job.say)(&format!("warning: {error}")));
    Ok(())
}

/// Writes the table in the format of published tables.
pub fn write_table(job: &Job<'_>) -> Result<(), StoredRunError> {
    let text = table::markdown(&[summary_of(job.run, job.say)?]);
    save(job, job.out, &text, format!("the table of run {}", job.run.row.id))
}

/// The passes with their numbers, as text.
fn places(summary: &Summary) -> String {
    let cells = summary.cells.iter();
    let all = cells.flat_map(|cell| cell.passes.iter().map(move |pass| cell.place(pass)));
    let numbered = all.enumerate().map(|(number, place)| format!("{number}: {place}"));
    numbered.collect::<Vec<_>>().join("; ")
}

/// Writes a text to a file or to standard output. For a file, `say` of the job receives a message with the description
/// `what`.
fn save(
    job: &Job<'_>,
    path: Option<&Path>,
    text: &str,
    what: String,
) -> Result<(), StoredRunError> {
    let out = Out::new(path, true)?;
    let mut sink = out.open()?;
    let written = std::io::Write::write_all(&mut sink, text.as_bytes())
        .and_then(|()| std::io::Write::flush(&mut sink))
        .map_err(|error| StoredRunError::Export(error.into()));
    out.close(written, job.say, |()| what).map(|_| ())
}
