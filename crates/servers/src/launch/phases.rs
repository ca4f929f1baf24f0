//! The phases of a server's start, from the lines of its log (`phases.toml`). This module reads no log and no clock.

use inferometer_model::target::{PhaseSource, StartPhase};
use regex::Regex;
use serde::Deserialize;

/// The phases of known engines.
const KNOWN: &str = include_str!("phases.toml");

/// A span of time, in seconds from the start of the server's process.
type Span = [f64; 2];

/// A table of phases.
pub(crate) struct Phases(Vec<Phase>);

struct Phase {
    name: String,
    lines: PhaseLines,
}

/// The lines that show a phase.
enum PhaseLines {
    /// A line at its end that states its length.
    Lasted(Regex),
    /// Its first and its last line.
    Between(Regex, Regex),
}

/// The table as it is written.
#[derive(Deserialize)]
struct Table {
    phase: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    lasted: Option<String>,
    begins: Option<String>,
    ends: Option<String>,
}

impl Phases {
    /// The phases of known engines.
    pub(crate) fn known() -> Self {
        let table: Table = toml::from_str(KNOWN).expect("invariant: the built-in phases parse");
        let regex = |text: String| Regex::new(&text).expect("invariant: each pattern is valid");
        let phase = |Row { name, lasted, begins, ends }| Phase {
            name,
            lines: match (lasted.map(regex), begins.map(regex), ends.map(regex)) {
                (Some(lasted), None, None) => PhaseLines::Lasted(lasted),
                (None, Some(begins), Some(ends)) => PhaseLines::Between(begins, ends),
                _ => unreachable!("invariant: a phase has one line, or a first and a last one"),
            },
        };
        Self(table.phase.into_iter().map(phase).collect())
    }

    /// Whether this line of a log shows the begin or the end of a phase.
    pub(crate) fn are_in(&self, line: &str) -> bool {
        self.0.iter().any(|phase| match &phase.lines {
            PhaseLines::Lasted(line_of) => line_of.is_match(line),
            PhaseLines::Between(begins, ends) => begins.is_match(line) || ends.is_match(line),
        })
    }

    /// The phases of a server that was ready at `ready_s`, by their ends, and the time that no phase explains. `lines`
    /// has lines of the log, each with the time at which it was read.
    pub(crate) fn of(&self, lines: &[(f64, String)], ready_s: f64) -> (Vec<StartPhase>, f64) {
        let mut free = vec![[0.0, ready_s]];
        let mut found: Vec<(f64, StartPhase)> = Vec::new();
        for Phase { name, lines: of_phase } in &self.0 {
            let (spans, from) = of_phase.spans(lines);
            if found.iter().any(|(_, earlier)| earlier.name == *name) {
                continue;
            }
            let before = total(&free);
            for span in &spans {
                free = free.into_iter().flat_map(|free| without(free, *span)).collect();
            }
            let seconds = rounded(before - total(&free));
            let ended = spans.iter().map(|span| span[1]).fold(0.0, f64::max);
            if seconds > 0.0 {
                found.push((ended, StartPhase { name: name.clone(), seconds, from }));
            }
        }
        found.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        (found.into_iter().map(|(_, phase)| phase).collect(), rounded(total(&free)))
    }
}

impl PhaseLines {
    /// When the phase was. Workers that load in parallel write one line each, so these spans may overlap.
    fn spans(&self, lines: &[(f64, String)]) -> (Vec<Span>, PhaseSource) {
        match self {
            Self::Lasted(line_of) => {
                let span = |(at, line): &(f64, String)| {
                    let seconds: f64 = line_of.captures(line)?.get(1)?.as_str().parse().ok()?;
                    Some([at - seconds, *at])
                };
                (lines.iter().filter_map(span).collect(), PhaseSource::Stated)
            }
            Self::Between(begins, ends) => {
                let began = lines.iter().position(|(_, line)| begins.is_match(line));
                let span = began.and_then(|at| {
                    let end = lines[at..].iter().find(|(_, line)| ends.is_match(line))?;
                    Some([lines[at].0, end.0])
                });
                (span.into_iter().collect(), PhaseSource::Read)
            }
        }
    }
}

/// The parts of a span that are outside of another one.
fn without([from, to]: Span, [begin, end]: Span) -> impl Iterator<Item = Span> {
    let parts = [[from, to.min(begin)], [from.max(end), to]];
    parts.into_iter().filter(|[from, to]| from < to)
}

fn total(spans: &[Span]) -> f64 {
    spans.iter().map(|[from, to]| to - from).sum()
}

/// In whole milliseconds.
pub(crate) fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests;
