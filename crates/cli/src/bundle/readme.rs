//! The README of a bundle, for readers who do not have this program.

use std::fmt::Write as _;

use inferometer_formats::bundle::{
    BundledRun, DataFile, FOLDER, MANIFEST, Manifest, PLAN, PLAN_FILE, RECORDS, SUMMARY, SUMS,
};
use inferometer_model::visible;

/// The text of a bundle's README.
pub fn readme(manifest: &Manifest) -> String {
    let mut text = "# A benchmark of an LLM serving engine, as one file\n\n\
        This file was written by inferometer. It contains "
        .to_owned();
    let many = manifest.runs.len();
    let _ = writeln!(
        text,
        "{}:\n",
        if many == 1 { "one run" } else { "the repeats of one measurement" }
    );
    manifest.runs.iter().for_each(|run| text.push_str(&of_run(run)));
    let _ = write!(
        text,
        "\n    inferometer import THIS_FILE.tar.gz                           # the same run in another store\n    \
         inferometer reproduce THIS_FILE.tar.gz --target http://HOST:PORT   # measure it again elsewhere\n\n\
         ## Files in the bundle\n\
         | file | |\n|---|---|\n\
         | `{SUMS}` | the checksums of all other files: `cd {FOLDER} && sha256sum -c {SUMS}` |\n\
         | `{MANIFEST}` | for each run: hashes of plan, requests and bodies, the server with its arguments, the \
         machine; for each input file: its checksum |\n\
         | `runs/RUN/{PLAN}` | the plan, resolved, with all defaults |\n\
         | `runs/RUN/{PLAN_FILE}` | the plan as a file that `inferometer run` takes; absent for imported results \
         and for plans of incompatible versions |\n\
         | `runs/RUN/{SUMMARY}` | all figures, with intervals, findings and the verdict |\n\
         | `runs/RUN/{RECORDS}` | the raw record of every request, from which the figures were computed; \
         docs/store.md of inferometer describes the format, and `inferometer export RUN --format csv` writes the \
         records as a table |\n\
         | `data/` | input files of the requests, if the bundle contains them |\n\n\
         The bundle contains no API key: header values are never stored, and keys are removed from the texts of \
         servers.\n"
    );
    if !manifest.data.is_empty() {
        text.push_str("\n## Data\n");
        manifest.data.iter().for_each(|file| text.push_str(&of_file(file)));
    }
    text
}

fn of_run(run: &BundledRun) -> String {
    let target = &run.target;
    let engine = [target.engine.as_deref(), target.engine_version.as_deref()];
    let engine: Vec<&str> = engine.into_iter().flatten().collect();
    let engine = if engine.is_empty() { "an unknown engine".to_owned() } else { engine.join(" ") };
    let simulated = match (run.kind.as_str(), target.simulated) {
        ("predicted", _) => ", predicted: no server was measured",
        (_, true) => ", simulated: the server was the embedded engine, not real hardware",
        _ => "",
    };
    let what =
        format!("{} under {engine}, {} {}{simulated}", target.model, run.kind, run.started_at);
    format!("- `{}`: {}\n", run.run_id, visible::line(&what))
}

fn of_file(file: &DataFile) -> String {
    let named = visible::line(&file.named).replace('`', "'");
    let sum = match (&file.sha256, file.bytes) {
        (Some(sha256), Some(bytes)) => format!("{bytes} bytes, SHA-256 {sha256}"),
        _ => "not known: the file was missing when the bundle was made".to_owned(),
    };
    let place = match &file.file {
        Some(name) => format!("in `{name}`"),
        None => {
            "not in the bundle: `reproduce` needs the file under this name on the machine that repeats the run, or as \
             --data FILE if its checksum is known"
                .to_owned()
        }
    };
    format!("- {} `{named}`: {sum}; {place}\n", file.key)
}
