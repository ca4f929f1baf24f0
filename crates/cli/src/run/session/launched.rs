//! A run on a server that it started itself: what it does when that dies. Never starts the first.

use inferometer_load::PassPlan;
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, Severity};

use super::Session;
use crate::exit::Failure;
use crate::run::servers::{Failures, Start};

/// The finding of a cell in which the server died.
pub const SERVER_DIED: &str = "server_died";

impl Session<'_> {
    /// A server that died in the cell before is started again.
    pub(super) fn revive_server(&mut self) -> Result<(), Failure> {
        let stop = std::sync::Arc::clone(&self.passes.stop);
        let folder = self.outputs.folder();
        self.servers.revive(Start { folder, stop: &stop, progress: self.progress })
    }

    /// Whether the server is dead after a pass, which is told, and is a finding of the cell. What
    /// is left of the cell is not measured.
    pub(super) fn server_died(&mut self, cell: CellPlan, pass: &PassPlan) -> bool {
        let outcomes = self.grid.passes_of(cell).last().map(|pass| pass.outcomes);
        let failed = outcomes.is_some_and(|outcomes| outcomes.failed() > 0);
        let failed = if failed { Failures::Some } else { Failures::None };
        let Some(last_words) = self.servers.died(failed) else { return false };
        self.progress.say(&format!("error: {cell}, {pass}: the server ended: {last_words}"));
        let message = format!("the server ended: {}", one_line(&last_words));
        let finding = Finding::new(SERVER_DIED, Severity::Warning, message).advise(
            "server.log holds all that it wrote; what is left of this cell was not measured",
        );
        self.findings.push(finding.at(format!("{cell}, {pass}")));
        true
    }

    /// What the server used of the machine, beside what it said of itself.
    pub(super) fn note_server_usage(&mut self) {
        // One that lived for less than a look at it has none.
        let Some(usage) = self.servers.usage().filter(|usage| usage.processes > 0) else { return };
        let facts = [
            ("server_cpu_s", format!("{:.2}", usage.cpu_s)),
            ("server_peak_rss_bytes", usage.peak_rss_bytes.to_string()),
            ("server_processes", usage.processes.to_string()),
        ];
        let facts = facts.map(|(name, value)| (name.to_owned(), value));
        self.header.target.facts.extend(facts);
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
