//! Sums up the work of a step over the sequences of the step. This module changes no sequence.

use crate::{Finish, StepOutput, cost::StepShape, policy::Sequence, reach::Reach};

/// The work of a decode step in which every running sequence takes part.
pub(super) struct DecodeLoad {
    pub sequences: u32,
    /// The tokens that attention reads ([`Reach::context`]).
    pub context: u64,
    /// The increase of the context per step.
    pub growth: u64,
    pub generated: u64,
    /// The number of steps until the first sequence ends or the growth changes; `u32::MAX` if no sequence runs.
    pub remaining: u32,
}

impl DecodeLoad {
    pub fn of(running: &[Sequence], max_sequence_tokens: u32, reach: &Reach) -> Self {
        let sequences = running.len() as u32;
        let none = Self { sequences, context: 0, growth: 0, generated: 0, remaining: u32::MAX };
        running.iter().fold(none, |load, sequence| {
            let tokens = sequence.tokens();
            let remaining = sequence.remaining(max_sequence_tokens).min(reach.steady(tokens));
            Self {
                sequences,
                context: load.context + reach.context(tokens),
                growth: load.growth + reach.growth(tokens),
                generated: load.generated + u64::from(sequence.generated),
                remaining: load.remaining.min(remaining),
            }
        })
    }
}

/// The outputs of ignored requests, which end because they can never run.
pub(super) fn ignored_outputs(ignored: &[Sequence]) -> Vec<StepOutput> {
    let ending = |sequence: &Sequence| StepOutput {
        id: sequence.id,
        tokens_so_far: sequence.generated,
        cached: sequence.cached,
        finished: Some(Finish::Ignored),
    };
    ignored.iter().map(ending).collect()
}

/// The work of the scheduled tokens of a step.
pub(super) struct StepWork<'a> {
    reach: &'a Reach,
    sequences: u32,
    prompts: u32,
    rows: u32,
    sampled: u32,
    context: u64,
    squares: u64,
    generated: u64,
}

impl<'a> StepWork<'a> {
    /// No work yet.
    pub fn none(reach: &'a Reach) -> Self {
        let (sequences, prompts, rows, sampled) = (0, 0, 0, 0);
        let (context, squares, generated) = (0, 0, 0);
        Self { reach, sequences, prompts, rows, sampled, context, squares, generated }
    }

    /// Adds the tokens of a sequence that are scheduled and not computed yet.
    #[inline]
    pub fn add(&mut self, sequence: &Sequence) {
        if sequence.scheduled == 0 {
            return;
        }
        let until = sequence.computed + sequence.scheduled;
        self.sequences += 1;
        self.rows += sequence.scheduled;
        self.sampled += u32::from(until == sequence.tokens());
        self.generated += u64::from(sequence.generated);
        if sequence.scheduled == 1 {
            self.context += self.reach.context(until);
        } else {
            self.prompts += 1;
            self.context += self.reach.context(sequence.computed);
            self.squares += self.reach.square(until) - self.reach.square(sequence.computed);
        }
    }

    /// Returns the shape of the step: a decode step if each scheduled sequence computes one token. `None` if no
    /// sequence is scheduled.
    pub fn shape(self) -> Option<StepShape> {
        let Self { sequences, prompts, rows, sampled, context, squares, generated, .. } = self;
        match sequences {
            0 => None,
            _ if rows == sequences => Some(StepShape::Decode { sequences, context, generated }),
            _ => Some(StepShape::Mixed { sequences, prompts, rows, sampled, context, squares }),
        }
    }
}

pub(super) fn prompt_shape(prompts: &[Sequence]) -> Option<StepShape> {
    let longest = prompts.iter().map(Sequence::tokens).max()?;
    let squares = prompts.iter().map(|sequence| u64::from(sequence.tokens()).pow(2)).sum();
    Some(StepShape::Prompt { sequences: prompts.len() as u32, longest, squares })
}
