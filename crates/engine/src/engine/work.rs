//! The work of the next step, counted over sequences. It changes nothing.

use crate::cost::StepShape;
use crate::policy::Sequence;
use crate::request::Finish;
use crate::step::StepOutput;

/// The work of a decode step over all running sequences.
pub(super) struct DecodeLoad {
    pub sequences: u32,
    pub context: u64,
    pub generated: u64,
    /// Steps until the first of them ends; `u32::MAX` where none runs.
    pub remaining: u32,
}

impl DecodeLoad {
    pub fn of(running: &[Sequence], max_sequence_tokens: u32) -> Self {
        let sequences = running.len() as u32;
        let none = Self { sequences, context: 0, generated: 0, remaining: u32::MAX };
        running.iter().fold(none, |load, sequence| Self {
            sequences,
            context: load.context + u64::from(sequence.tokens()),
            generated: load.generated + u64::from(sequence.generated),
            remaining: load.remaining.min(sequence.remaining(max_sequence_tokens)),
        })
    }
}

/// The outputs of requests that can never run.
pub(super) fn ignored_outputs(ignored: &[Sequence]) -> Vec<StepOutput> {
    let ending = |sequence: &Sequence| StepOutput {
        id: sequence.id,
        tokens_so_far: sequence.generated,
        finished: Some(Finish::Ignored),
    };
    ignored.iter().map(ending).collect()
}

/// The step of the scheduled tokens: a decode step where each scheduled sequence computes one.
pub(super) fn mixed_shape(running: &[Sequence]) -> Option<StepShape> {
    let (mut sequences, mut prompts, mut rows, mut sampled) = (0, 0, 0, 0);
    let (mut context, mut squares, mut generated) = (0_u64, 0_u64, 0_u64);
    for sequence in running.iter().filter(|sequence| sequence.scheduled > 0) {
        let until = sequence.computed + sequence.scheduled;
        sequences += 1;
        rows += sequence.scheduled;
        sampled += u32::from(until == sequence.tokens());
        generated += u64::from(sequence.generated);
        if sequence.scheduled == 1 {
            context += u64::from(until);
        } else {
            prompts += 1;
            context += u64::from(sequence.computed);
            squares += u64::from(until).pow(2) - u64::from(sequence.computed).pow(2);
        }
    }
    match sequences {
        0 => None,
        _ if rows == sequences => Some(StepShape::Decode { sequences, context, generated }),
        _ => Some(StepShape::Mixed { sequences, prompts, rows, sampled, context, squares }),
    }
}

pub(super) fn prompt_shape(prompts: &[Sequence]) -> Option<StepShape> {
    let longest = prompts.iter().map(Sequence::tokens).max()?;
    let squares = prompts.iter().map(|sequence| u64::from(sequence.tokens()).pow(2)).sum();
    Some(StepShape::Prompt { sequences: prompts.len() as u32, longest, squares })
}
