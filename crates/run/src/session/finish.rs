//! The end of a run: its report, the end of its log, its results in the store.

use inferometer_cluster::Lead;
use inferometer_store::{Ending, RunState};

use super::{Finished, Session};
use crate::{Event, Network, ReportFiles, RunError, team};

impl<N: Network> Session<'_, N> {
    /// Ends a run. If the run could not continue, returns an error with the reason. An interruption by the user is not
    /// an error.
    pub(super) fn finish(self) -> Result<Finished, RunError> {
        let events = self.request.events;
        match self.finish_as_far() {
            Ok((finished, None)) => {
                events.emit(Event::RunEnded(&finished.summary));
                Ok(finished)
            }
            Ok((_, Some(broken))) => Err(broken),
            Err(error) => Err(error),
        }
    }

    /// Ends a run with the results so far, and with the reason if it could not continue.
    ///
    /// # Errors
    /// When its report or its results cannot be written.
    pub(super) fn finish_as_far(mut self) -> Result<(Finished, Option<RunError>), RunError> {
        // A rank that is lost between two passes also stops the run.
        if self.broken.is_none() {
            self.broken = self.request.context.team.lead().and_then(Lead::trouble);
        }
        let interrupted = self.runner.interrupted() && self.broken.is_none();
        let is_missing_cells = self.find_what_is_missing();
        self.add_server_usage();
        let (_, ranks) = self.request.context.team.place();
        if let Some(finding) = team::finding(ranks, &self.reports) {
            self.found(finding);
        }
        let summary = self.summary();
        let (ending, state) = match (interrupted, &self.broken) {
            (_, Some(_)) => (Ending::Interrupted, RunState::Failed),
            (true, None) => (Ending::Interrupted, RunState::Interrupted),
            // Every pass that could begin has ended, but cells of the plan are missing.
            (false, None) if is_missing_cells => (Ending::Complete, RunState::Failed),
            (false, None) => (Ending::Complete, RunState::Complete),
        };
        let (run, log) = (self.recording.run().clone(), self.recording.log_path());
        let files = match self.request.context.host.interrupt.is_urgent() {
            true => ReportFiles::Figures,
            false => self.request.context.files,
        };
        // The end is stored first, because the plots may take the last free space of the disk. A report that cannot be
        // written can be made again from the stored run.
        let ended = self.recording.finish(&summary, ending, state);
        if ended.is_ok() {
            self.request.events.emit(Event::RunStored(&summary));
        }
        let written = match files {
            ReportFiles::Figures => self.outputs.write_figures(&summary, &run),
            ReportFiles::All => {
                let (plan, traces) = (&self.header.plan, &self.grid.traces);
                let plots = self.request.context.plots;
                self.outputs.write_all(&summary, plan, &run, traces, plots)
            }
        };
        let store = &self.request.context.store;
        let folder = match (written, &ended) {
            (Ok(folder), _) => folder,
            (Err(error), Ok(_)) => return Err(RunError::report(&run, store, error, self.broken)),
            (Err(error), Err(end)) => {
                let broken = self.broken.map_or_else(String::new, |why| format!("{why}; "));
                let why = format!(
                    "run {run}: {broken}its report cannot be written: {error}; its end cannot be \
                        stored: {end}"
                );
                return Err(RunError::BrokenOff { why, place: log });
            }
        };
        let broken = self.broken.map(|why| RunError::BrokenOff { why, place: folder.clone() });
        if broken.is_none() {
            ended?;
        }
        Ok((Finished { summary, run, folder: Some(folder), interrupted }, broken))
    }
}
