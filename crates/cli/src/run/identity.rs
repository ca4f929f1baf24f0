//! The identity of a run's workload, and the same requests as a file that sends them again.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use inferometer_core::load::{Due, load_model};
use inferometer_core::plan::Plan;
use inferometer_core::request::{Request, WorkloadHasher};
use inferometer_core::seed::of_repeat;
use inferometer_store::PassBegin;
use inferometer_workload::replay::{DumpHeader, DumpLine};
use serde::Serialize;

use crate::exit::Failure;

/// Takes in the requests of every pass in order.
pub struct Identity {
    hasher: WorkloadHasher,
    dump: Option<(PathBuf, BufWriter<File>)>,
}

impl Identity {
    /// An identity that nobody asks for: a warm-up's.
    pub fn unused() -> Self {
        Self { hasher: WorkloadHasher::new(), dump: None }
    }

    /// The identity of a run; with a path, its requests are written there too.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn of_run(plan: &Plan, salt: &str, path: Option<&Path>) -> Result<Self, Failure> {
        let mut identity = Self::unused();
        if let Some(path) = path {
            let file = File::create(path).map_err(|error| unwritable(path, &error))?;
            identity.dump = Some((path.to_owned(), BufWriter::new(file)));
            identity.line(&DumpHeader::of(plan, salt))?;
        }
        Ok(identity)
    }

    /// A pass: its sampling, its requests in order, and in an open loop their offsets.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn pass(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
        requests: &[Request],
    ) -> Result<(), Failure> {
        let pass = &begin.plan;
        self.hasher.pass(&plan.sampling);
        let scheduled = pass.load().is_scheduled();
        let load_label = pass.to_string();
        let mut load = load_model(pass, of_repeat(plan.seed, begin.repeat));
        for request in requests {
            let due_ns = match load.next_due() {
                Due::At(at) if scheduled => {
                    load.take();
                    Some(at.0)
                }
                _ => None,
            };
            self.hasher.request(request, due_ns);
            if self.dump.is_some() {
                self.line(&DumpLine {
                    pass: begin.pass,
                    repeat: begin.repeat,
                    cell: begin.cell,
                    load: load_label.clone(),
                    sampling: plan.sampling.clone(),
                    due_ns,
                    request: request.clone(),
                })?;
            }
        }
        match &mut self.dump {
            Some((path, file)) => file.flush().map_err(|error| unwritable(path, &error)),
            None => Ok(()),
        }
    }

    /// The hash over all that was taken in.
    pub fn hash(&self) -> String {
        self.hasher.clone().finish()
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.dump else { return Ok(()) };
        serde_json::to_writer(&mut *file, line)
            .map_err(std::io::Error::from)
            .and_then(|()| file.write_all(b"\n"))
            .map_err(|error| unwritable(path, &error))
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::not_carried_out(format!(
        "dump_workload (--dump-workload): {}: {error}",
        path.display()
    ))
}
