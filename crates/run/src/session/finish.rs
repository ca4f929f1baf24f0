//! The end of a run: its report, the end of its log, its results in the store.

use inferometer_report::plot::Theme;
use inferometer_store::{Ending, RunState};

use super::{Finished, Session};
use crate::context::ReportFiles;
use crate::error::RunError;
use crate::event::Event;
use crate::network::Network;

impl<N: Network> Session<'_, N> {
    pub(super) fn finish(mut self) -> Result<Finished, RunError> {
        let interrupted = self.runner.interrupted() && self.broken.is_none();
        let is_missing_cells = self.find_what_is_missing();
        self.add_server_usage();
        let summary = self.summary();
        let (ending, state) = match (interrupted, &self.broken) {
            (_, Some(_)) => (Ending::Interrupted, RunState::Failed),
            (true, None) => (Ending::Interrupted, RunState::Interrupted),
            // All was begun that could be: what is missing is not what the plan asked for.
            (false, None) if is_missing_cells => (Ending::Complete, RunState::Failed),
            (false, None) => (Ending::Complete, RunState::Complete),
        };
        let run = self.recording.run().clone();
        let files = match self.request.context.host.interrupt.is_urgent() {
            true => ReportFiles::Figures,
            false => self.request.context.files,
        };
        let written = match files {
            ReportFiles::Figures => self.outputs.write_figures(&summary, &run),
            ReportFiles::All => {
                let (plan, traces) = (&self.header.plan, &self.grid.traces);
                self.outputs.write_all(&summary, plan, &run, traces, Theme::Light)
            }
        };
        // A report that cannot be written can be made again from what is stored.
        let ended = self.recording.finish(&summary, ending, state);
        let store = &self.request.context.store;
        let folder = match (written, &ended) {
            (Ok(folder), _) => folder,
            (Err(error), Ok(_)) => return Err(RunError::report(&run, store, error, self.broken)),
            (Err(error), Err(_)) => {
                let why = self.broken.unwrap_or_else(|| error.to_string());
                return Err(RunError::BrokenOff { why, folder: self.outputs.folder().to_owned() });
            }
        };
        if let Some(why) = self.broken {
            return Err(RunError::BrokenOff { why, folder });
        }
        ended?;
        self.request.events.emit(Event::RunEnded(&summary));
        Ok(Finished { summary, run, folder: Some(folder), interrupted })
    }
}
