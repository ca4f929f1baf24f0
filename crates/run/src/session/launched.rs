//! Handles the death of a server that the plan starts. The first start is not in this module.

use inferometer_model::{CellPlan, Finding, PassPlan, code};
use inferometer_report::progress::Notice;

use super::{RunRequest, Session};
use crate::target::servers::{Death, Failures};
use crate::{Network, RunError, Start};

impl<N: Network> Session<'_, N> {
    /// Starts the server again if it died in the previous cell.
    pub(super) fn revive_server(&mut self) -> Result<(), RunError> {
        let stop = std::sync::Arc::clone(&self.runner.stop);
        let folder = self.outputs.folder();
        let RunRequest { context, events, .. } = self.request;
        let (program, headers) = (context.host.program.as_deref(), &context.headers[..]);
        self.servers.revive(Start { folder, stop: &stop, events, program, headers })
    }

    /// Returns how the server died, if it died before the end of a pass, and adds a finding. The caller must then skip
    /// the rest of the cell. Returns `None` if the server still runs, or if the plan starts no server.
    pub(super) fn server_died(&mut self, cell: CellPlan, pass: &PassPlan) -> Option<String> {
        let outcomes = self.grid.passes_of(cell).last().map(|pass| pass.outcomes);
        let failed = outcomes.is_some_and(|outcomes| outcomes.failed() > 0);
        let failed = if failed { Failures::Some } else { Failures::None };
        let Death { in_short, last_lines } = self.servers.died(failed)?;
        let (pass_name, events) = (pass.to_string(), self.request.events);
        events.say(&Notice::ServerEnded { cell, pass: pass_name, last_lines });
        let message = format!("the server ended: {in_short}");
        self.found(Finding::of(code::SERVER_DIED, &message).at(format!("{cell}, {pass}")));
        Some(message)
    }

    /// Adds the server's use of the machine to the facts of the target.
    pub(super) fn add_server_usage(&mut self) {
        // A server that ended before it was first observed has no usage.
        let Some(usage) = self.servers.usage().filter(|usage| usage.processes > 0) else { return };
        let facts = [
            ("server_cpu_s", format!("{:.2}", usage.cpu_s)),
            ("server_peak_rss_bytes", usage.peak_rss_bytes.to_string()),
            ("server_processes", usage.processes.to_string()),
        ];
        let facts = facts.map(|(name, value)| (name.to_owned(), value));
        self.header.target.facts.others.extend(facts);
    }
}
