//! Reports that were made lately, and the one that is being made: to read a long log takes long, and
//! whoever asks for something else meanwhile is not to wait for it. It makes no report itself.

use std::rc::Rc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use crate::answer::Trouble;
use crate::page::run::Written;

/// The most that are kept.
const MOST_KEPT: usize = 8;

/// What a report is made by.
type Made = Result<Written, Trouble>;

/// Reports by their runs, of which the results do not change any more.
#[derive(Default)]
pub(crate) struct Reports {
    kept: Vec<(String, Rc<Written>)>,
    /// The run whose report a thread of its own makes, and where it comes out.
    making: Option<(String, Receiver<Made>)>,
}

/// How long it takes to make a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// A moment: whoever asks waits.
    AMoment,
    /// Longer: whoever asks comes again.
    Longer,
}

impl Reports {
    /// The report of a run, made anew where it was not made lately.
    ///
    /// # Errors
    /// [`Trouble::NotYet`] while it is being made, or another one that takes long; what `make` says.
    pub(crate) fn of(
        &mut self,
        run: &str,
        takes: Takes,
        make: impl FnOnce() -> Made + Send + 'static,
    ) -> Result<Rc<Written>, Trouble> {
        self.take_what_was_made(run)?;
        if let Some((_, kept)) = self.kept.iter().find(|(kept, _)| kept == run) {
            return Ok(Rc::clone(kept));
        }
        match takes {
            Takes::AMoment => make().map(|written| self.keep(run, written)),
            Takes::Longer => {
                if self.making.is_none() {
                    let (done, made) = channel();
                    // Nobody may be there any more to take it.
                    thread::spawn(move || drop(done.send(make())));
                    self.making = Some((run.to_owned(), made));
                }
                Err(Trouble::NotYet)
            }
        }
    }

    /// Keeps the report that a thread has made, if it has; what went wrong with that of `asked` is
    /// told, and that of another run when it is asked for.
    fn take_what_was_made(&mut self, asked: &str) -> Result<(), Trouble> {
        let Some((run, made)) = self.making.take() else { return Ok(()) };
        match made.try_recv() {
            Ok(Ok(written)) => {
                self.keep(&run, written);
                Ok(())
            }
            Ok(Err(trouble)) if run == asked => Err(trouble),
            Err(TryRecvError::Disconnected) if run == asked => {
                Err(Trouble::Broken(format!("the report of run {run} could not be made")))
            }
            Ok(Err(_)) | Err(TryRecvError::Disconnected) => Ok(()),
            Err(TryRecvError::Empty) => {
                self.making = Some((run, made));
                Ok(())
            }
        }
    }

    fn keep(&mut self, run: &str, written: Written) -> Rc<Written> {
        let written = Rc::new(written);
        if self.kept.len() >= MOST_KEPT {
            self.kept.remove(0);
        }
        self.kept.push((run.to_owned(), Rc::clone(&written)));
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waited_for(reports: &mut Reports, run: &str) -> Result<Rc<Written>, Trouble> {
        loop {
            let never = || -> Made { panic!("it is being made already") };
            match reports.of(run, Takes::Longer, never) {
                Err(Trouble::NotYet) => thread::yield_now(),
                other => return other,
            }
        }
    }

    #[test]
    fn a_report_that_takes_long_is_made_beside_the_others_once() {
        let mut reports = Reports::default();
        let (go, may_go) = channel::<()>();
        let slow = move || {
            may_go.recv().expect("it is told to go on");
            Ok(Written::empty())
        };
        assert!(matches!(reports.of("a", Takes::Longer, slow), Err(Trouble::NotYet)));
        let quick = reports.of("b", Takes::AMoment, || Ok(Written::empty())).unwrap();
        let other = || -> Made { panic!("one at a time") };
        assert!(matches!(reports.of("c", Takes::Longer, other), Err(Trouble::NotYet)));
        go.send(()).unwrap();
        let made = waited_for(&mut reports, "a").unwrap();
        let again = reports.of("a", Takes::Longer, || panic!("it is kept")).unwrap();
        assert!(Rc::ptr_eq(&made, &again) && !Rc::ptr_eq(&made, &quick));
    }

    #[test]
    fn what_goes_wrong_is_told_to_whoever_asked_and_tried_again_afterwards() {
        let mut reports = Reports::default();
        let fails = || Err(Trouble::Broken("no".to_owned()));
        assert!(matches!(reports.of("a", Takes::Longer, fails), Err(Trouble::NotYet)));
        assert!(matches!(waited_for(&mut reports, "a"), Err(Trouble::Broken(_))));
        assert!(reports.of("a", Takes::AMoment, || Ok(Written::empty())).is_ok());
    }
}
