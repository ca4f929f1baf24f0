//! The hash over all requests of a run, and a file with these requests, from which they can be sent again.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use inferometer_model::load::{Due, LoadModel, Step};
use inferometer_model::{PassPlan, Request, load_model, request::WorkloadHasher};
use inferometer_plan::Plan;
use inferometer_store::PassBegin;
use inferometer_workload::replay::{DumpHeader, DumpLine};
use serde::Serialize;

use crate::RunError;

/// Collects the requests of every pass, in order.
pub struct WorkloadHash {
    hasher: WorkloadHasher,
    dump: Option<(PathBuf, BufWriter<File>)>,
}

impl WorkloadHash {
    /// A hash that is part of no result, for example for warm-ups.
    pub fn unused() -> Self {
        Self { hasher: WorkloadHasher::new(), dump: None }
    }

    /// The hash of a run; with a path, the requests are also written to that file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn of_run(plan: &Plan, salt: &str, path: Option<&Path>) -> Result<Self, RunError> {
        let mut whole = Self::unused();
        if let Some(path) = path {
            let file = File::create(path).map_err(|error| unwritable(path, error))?;
            whole.dump = Some((path.to_owned(), BufWriter::new(file)));
            whole.line(&DumpHeader::of(plan, salt))?;
        }
        Ok(whole)
    }

    /// The state of the hash, for [`WorkloadHash::reset`].
    pub fn hasher(&self) -> WorkloadHasher {
        self.hasher.clone()
    }

    /// Sets the hash back to a state of [`WorkloadHash::hasher`]. Lines that were written to the file of requests stay
    /// there.
    pub fn reset(&mut self, hasher: WorkloadHasher) {
        self.hasher = hasher;
    }

    /// Begins a pass with its sampling parameters; its requests are then added with `PassHash::add`.
    pub fn begin<'a>(&'a mut self, plan: &'a Plan, begin: &'a PassBegin) -> PassHash<'a> {
        self.hasher.pass(&plan.sampling);
        let offsets = Offsets::of(&begin.plan, begin.seed(plan.seed));
        PassHash { whole: self, plan, begin, offsets, load: begin.plan.prompt_label() }
    }

    /// Adds a pass of conversations: the text of each turn, the requested length of its answer, and the think time
    /// before each later turn. In an open loop, it also adds the offset at which each conversation begins.
    ///
    /// # Errors
    /// When the requests are written to a file: the file has no answers, so the conversations could not be sent
    /// again.
    pub fn conversations<'t>(
        &mut self,
        plan: &Plan,
        mut begins: Offsets,
        jobs: impl IntoIterator<Item = (Vec<Request>, &'t [Step])>,
    ) -> Result<(), RunError> {
        if self.dump.is_some() {
            return Err(RunError::plan(
                "dump_workload (--dump-workload): jobs and conversations cannot be written, because their \
                    requests wait for each other; repeat them with the same --seed and --salt",
            ));
        }
        self.hasher.pass(&plan.sampling);
        for (calls, steps) in jobs {
            self.hasher.conversation(calls.len() as u32);
            for (number, (request, step)) in calls.iter().zip(steps).enumerate() {
                let gap_ns = u64::try_from(step.gap.as_nanos()).unwrap_or(u64::MAX);
                let offset = if number == 0 { begins.next() } else { Some(gap_ns) };
                self.hasher.request(request, offset);
            }
        }
        Ok(())
    }

    /// The hash over all requests added so far.
    pub fn hash(&self) -> String {
        self.hasher.clone().finish()
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), RunError> {
        let Some((path, file)) = &mut self.dump else { return Ok(()) };
        serde_json::to_writer(&mut *file, line)
            .map_err(std::io::Error::from)
            .and_then(|()| file.write_all(b"\n"))
            .map_err(|error| unwritable(path, error))
    }
}

/// Collects the requests of one pass.
pub struct PassHash<'a> {
    whole: &'a mut WorkloadHash,
    plan: &'a Plan,
    begin: &'a PassBegin,
    offsets: Offsets,
    load: String,
}

impl PassHash<'_> {
    /// Adds the next requests of the pass, in order. In an open loop, their offsets are included.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, requests: &[Request]) -> Result<(), RunError> {
        let Self { whole, plan, begin, .. } = self;
        for request in requests {
            let due_ns = self.offsets.next();
            whole.hasher.request(request, due_ns);
            if whole.dump.is_some() {
                whole.line(&DumpLine {
                    pass: begin.pass,
                    repeat: begin.repeat,
                    cell: begin.cell,
                    load: self.load.clone(),
                    sampling: plan.sampling.clone(),
                    due_ns,
                    request: request.clone(),
                })?;
            }
        }
        match &mut whole.dump {
            Some((path, file)) => file.flush().map_err(|error| unwritable(path, error)),
            None => Ok(()),
        }
    }
}

/// The due times of the requests, as offsets from the start of the pass. There are none if due times depend on the
/// ends of other requests.
pub struct Offsets {
    load: Box<dyn LoadModel>,
    scheduled: bool,
}

impl Offsets {
    /// The offsets of the requests of a pass. The seed determines random arrivals.
    pub fn of(pass: &PassPlan, seed: u64) -> Self {
        Self { load: load_model(pass, seed), scheduled: pass.is_scheduled() }
    }

    fn next(&mut self) -> Option<u64> {
        match self.load.next_due() {
            Due::At(at) if self.scheduled => {
                self.load.take();
                Some(at.0)
            }
            _ => None,
        }
    }
}

fn unwritable(path: &Path, error: std::io::Error) -> RunError {
    RunError::Dump { path: path.to_owned(), source: error }
}
