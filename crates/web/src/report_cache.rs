//! A cache of the latest reports. A report that needs a long log is made on another thread. This takes
//! seconds, and other pages must not wait.

use std::rc::Rc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use inferometer_analysis::Summary;
use inferometer_net::spawn;
use inferometer_store::StoredRun;

use crate::{PageError, run_report::RunReport};

/// The largest log, in bytes, that is read while the request waits. Longer logs are read on another
/// thread. About 20 MB are read per second.
const LONG_LOG_BYTES: u64 = 4 << 20;
/// The maximum number of reports in the cache.
const MAX_REPORTS: usize = 8;

/// The result of making a report.
type MadeReport = Result<RunReport, PageError>;

/// Reports of runs with results. The results of such a run do not change any more.
#[derive(Default)]
pub(crate) struct ReportCache {
    /// The ids of runs with their reports. The oldest report comes first.
    latest: Vec<(String, Rc<RunReport>)>,
    /// The run whose report a thread is making, and the channel on which the thread sends the report.
    making: Option<(String, Receiver<MadeReport>)>,
}

/// Whether making a report takes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cost {
    /// It does not take long, so the request waits for the report.
    Short,
    /// It takes long, so the response states that the report is not ready yet.
    Long,
}

impl ReportCache {
    /// The report of a stored run.
    ///
    /// # Errors
    /// [`PageError::NotReady`] if the log is long, and a thread is still making this report, or must first finish the
    /// report of another run.
    /// [`PageError::Failed`] if the thread cannot be started, or ended without a report. Otherwise the errors
    /// of [`RunReport::make`].
    pub(crate) fn of_run(
        &mut self,
        stored: &StoredRun,
        summary: &Summary,
    ) -> Result<Rc<RunReport>, PageError> {
        let is_long = stored.log.metadata().is_ok_and(|log| log.len() > LONG_LOG_BYTES);
        let cost = if is_long { Cost::Long } else { Cost::Short };
        let (id, stored, summary) = (stored.row.id.to_string(), stored.clone(), summary.clone());
        self.get(&id, cost, move || RunReport::make(&stored, &summary))
    }

    /// The report of a run: from the cache, or made by `make`.
    ///
    /// # Errors
    /// [`PageError::NotReady`] if the cost is [`Cost::Long`], and a thread is still making this report, or must first
    /// finish the report of another run.
    /// [`PageError::Failed`] if the thread cannot be started, or ended without a report. Otherwise the errors
    /// of `make`.
    fn get(
        &mut self,
        run: &str,
        cost: Cost,
        make: impl FnOnce() -> MadeReport + Send + 'static,
    ) -> Result<Rc<RunReport>, PageError> {
        self.collect(run)?;
        if let Some((_, report)) = self.latest.iter().find(|(id, _)| id == run) {
            return Ok(Rc::clone(report));
        }
        match cost {
            Cost::Short => make().map(|report| self.store(run, report)),
            Cost::Long => {
                if self.making.is_none() {
                    let (done, made) = channel();
                    // If the cache no longer exists, nobody receives the report.
                    spawn(move || drop(done.send(make())))
                        .map_err(|error| PageError::Failed(error.to_string()))?;
                    self.making = Some((run.to_owned(), made));
                }
                Err(PageError::NotReady)
            }
        }
    }

    /// Stores the report of the thread if it is complete. If the thread failed, the error is returned to
    /// a request for the same run (`wanted`). A request for another run discards the error, and the next
    /// request for the failed report makes it again.
    fn collect(&mut self, wanted: &str) -> Result<(), PageError> {
        let Some((run, made)) = self.making.take() else { return Ok(()) };
        match made.try_recv() {
            Ok(Ok(report)) => {
                self.store(&run, report);
                Ok(())
            }
            Ok(Err(error)) if run == wanted => Err(error),
            Err(TryRecvError::Disconnected) if run == wanted => {
                Err(PageError::Failed(format!("the report of run {run} could not be created")))
            }
            Ok(Err(_)) | Err(TryRecvError::Disconnected) => Ok(()),
            Err(TryRecvError::Empty) => {
                self.making = Some((run, made));
                Ok(())
            }
        }
    }

    fn store(&mut self, run: &str, report: RunReport) -> Rc<RunReport> {
        let report = Rc::new(report);
        if self.latest.len() >= MAX_REPORTS {
            self.latest.remove(0);
        }
        self.latest.push((run.to_owned(), Rc::clone(&report)));
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for(reports: &mut ReportCache, run: &str) -> Result<Rc<RunReport>, PageError> {
        loop {
            let never = || -> MadeReport { panic!("a thread is making it") };
            match reports.get(run, Cost::Long, never) {
                Err(PageError::NotReady) => std::thread::yield_now(),
                other => return other,
            }
        }
    }

    #[test]
    fn a_slow_report_is_generated_once_while_quick_reports_are_served() {
        let mut reports = ReportCache::default();
        let (go, may_go) = channel::<()>();
        let slow = move || {
            may_go.recv().expect("the test sends it");
            Ok(RunReport::empty())
        };
        assert!(matches!(reports.get("a", Cost::Long, slow), Err(PageError::NotReady)));
        let quick = reports.get("b", Cost::Short, || Ok(RunReport::empty())).unwrap();
        let other = || -> MadeReport { panic!("only one thread makes reports") };
        assert!(matches!(reports.get("c", Cost::Long, other), Err(PageError::NotReady)));
        go.send(()).unwrap();
        let made = wait_for(&mut reports, "a").unwrap();
        let again = reports.get("a", Cost::Long, || panic!("it is in the cache")).unwrap();
        assert!(Rc::ptr_eq(&made, &again) && !Rc::ptr_eq(&made, &quick));
    }

    #[test]
    fn a_failed_report_returns_its_error_once_and_is_then_generated_again() {
        let mut reports = ReportCache::default();
        let fails = || Err(PageError::Failed("no".to_owned()));
        assert!(matches!(reports.get("a", Cost::Long, fails), Err(PageError::NotReady)));
        assert!(matches!(wait_for(&mut reports, "a"), Err(PageError::Failed(_))));
        assert!(reports.get("a", Cost::Short, || Ok(RunReport::empty())).is_ok());
    }
}
