//! Reads a trace of agents, and decides how its calls can be sent.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use inferometer_model::Tokenizer;
use inferometer_plan::{AgentsPlan, Answers};

use super::shape::Shape;
use super::shared::shared;
use super::words::Order;
use super::{Recorded, messages};
use crate::jobs::{self, Content, Trace};
use crate::{WorkloadError, fetch};

/// The trace that was read last: a plan is completed before its workload is opened, and a trace may be large.
static LAST: Mutex<Option<(AgentsPlan, Arc<Recorded>)>> = Mutex::new(None);

fn wrong(why: impl ToString) -> WorkloadError {
    // `trace` calls its key `--format`.
    WorkloadError::Agents(why.to_string().replace("set --format", "set --trace-format"))
}

/// The trace of a plan with its jobs, without the lengths of answers.
///
/// # Errors
/// If the trace cannot be read or played.
pub fn shaped(plan: &AgentsPlan) -> Result<Arc<Recorded>, WorkloadError> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, recorded)) = &*last
        && of == plan
    {
        return Ok(Arc::clone(recorded));
    }
    let path: PathBuf = fetch::data_file(&plan.dataset)?;
    let trace = jobs::read(&files(path)?, plan.format.as_deref()).map_err(wrong)?;
    let shape = Shape::of(&trace, plan.max_gap);
    let prompts = trace.calls.iter().map(|call| call.prompt.get().unwrap_or(0)).collect();
    let mut recorded = Recorded { trace, shape, prompts, ..Recorded::default() };
    recorded.has_messages = has_messages(&recorded.trace)?;
    if recorded.has_messages && plan.answers != Answers::Recorded {
        return Err(wrong(
            "it does not state the lengths of its prompts, so its messages are sent as they were; leave out --answers",
        ));
    }
    recorded.order = Order::of(&recorded);
    let recorded = Arc::new(recorded);
    *last = Some((plan.clone(), Arc::clone(&recorded)));
    Ok(recorded)
}

/// The files of a trace: those of a folder, in the order of their names, or one file.
fn files(path: PathBuf) -> Result<Vec<PathBuf>, WorkloadError> {
    if !path.is_dir() {
        return Ok(vec![path]);
    }
    let unreadable = |error: std::io::Error| WorkloadError::unreadable(&path, error);
    let entries = std::fs::read_dir(&path).map_err(unreadable)?;
    let mut files = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<PathBuf>, _>>()
        .map_err(unreadable)?;
    files.retain(|file| file.is_file());
    files.sort_unstable();
    Ok(files)
}

/// The trace of a plan, with all lengths.
///
/// # Errors
/// As [`shaped`]; and if the length of an answer is not known.
pub fn open(plan: &AgentsPlan, tokenizer: &dyn Tokenizer) -> Result<Recorded, WorkloadError> {
    let shaped = shaped(plan)?;
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = None;
    // Nobody else has the trace now, unless another thread opens the same plan: then it is read again.
    let mut recorded = match Arc::try_unwrap(shaped) {
        Ok(recorded) => recorded,
        Err(_) => return open(plan, tokenizer),
    };
    if recorded.has_messages {
        for at in 0..recorded.prompts.len() {
            recorded.prompts[at] = messages::count_prompt(&recorded, at as u32, tokenizer)?;
        }
    }
    let answers = messages::answers(&recorded.trace, tokenizer)?;
    let mut unknown = 0;
    let output = |(call, answer): (&jobs::Call, Option<u32>)| {
        let known = call.output.get().or(answer).or(plan.output_length);
        unknown += u32::from(known.is_none());
        known.unwrap_or(1).max(1)
    };
    recorded.outputs = recorded.trace.calls.iter().zip(answers).map(output).collect();
    match unknown {
        0 => {
            if !recorded.has_messages {
                recorded.shared = shared(&recorded);
            }
            Ok(recorded)
        }
        count => Err(wrong(format!(
            "{count} of {} calls do not say how long their answers are; give --output-length",
            recorded.outputs.len()
        ))),
    }
}

/// Whether prompts are the recorded messages: if not every call states the length of its prompt.
fn has_messages(trace: &Trace) -> Result<bool, WorkloadError> {
    let calls = &trace.calls;
    if calls.iter().all(|call| call.prompt.get().is_some()) {
        return Ok(false);
    }
    let has_text = |call: &jobs::Call| matches!(call.content.get(), Some(Content::Messages(_)));
    match calls.iter().find(|call| !has_text(call)) {
        None => Ok(true),
        Some(call) => Err(wrong(format!(
            "{}, line {}: call `{}` has neither the length of its prompt nor its messages, so it cannot be sent",
            trace.files[call.file as usize].display(),
            call.line,
            call.id
        ))),
    }
}
