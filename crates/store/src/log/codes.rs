//! The numeric codes of instants, counts, strings and outcomes in the tables of a batch. Each code has a
//! decoder. A decoder refuses codes that no encoder makes.

use inferometer_model::{Nanos, Outcome, Phase};

use super::column::{Malformed, unzigzag, zigzag};
use super::resolution::{TICK_NS, ticks};

/// The code of a phase is its position in this list. Positions never change.
const PHASES: [Phase; 7] = [
    Phase::Connect,
    Phase::Tls,
    Phase::Send,
    Phase::Headers,
    Phase::FirstToken,
    Phase::BetweenEvents,
    Phase::Total,
];

/// The strings of a batch, each stored once. Code 0 means no string; code n means the n-th string.
#[derive(Default)]
pub(super) struct Strings {
    pub all: Vec<String>,
    pub bytes: usize,
}

impl Strings {
    pub fn code(&mut self, text: Option<&str>) -> u64 {
        let Some(text) = text else { return 0 };
        let known = self.all.iter().position(|other| other == text);
        let index = known.unwrap_or_else(|| {
            self.bytes += text.len();
            self.all.push(text.to_owned());
            self.all.len() - 1
        });
        index as u64 + 1
    }

    pub fn of(&self, code: u64) -> Result<Option<String>, Malformed> {
        let Some(index) = code.checked_sub(1) else { return Ok(None) };
        let text = usize::try_from(index).ok().and_then(|index| self.all.get(index));
        text.cloned().map(Some).ok_or_else(|| Malformed::new(format!("no string has code {code}")))
    }
}

/// A chain of instants. The value is the last instant in ticks, and the next instant is stored as its
/// difference to this value.
pub(super) struct Chain(pub u64);

impl Chain {
    pub fn put(&mut self, at: Nanos) -> u64 {
        let now = ticks(at);
        let before = std::mem::replace(&mut self.0, now);
        zigzag(now as i64 - before as i64)
    }

    pub fn put_some(&mut self, at: Option<Nanos>) -> u64 {
        at.map_or(0, |at| self.put(at) + 1)
    }

    pub fn take(&mut self, code: u64) -> Result<Nanos, Malformed> {
        self.0 = self.0.checked_add_signed(unzigzag(code)).ok_or_else(off_axis)?;
        instant(self.0)
    }

    pub fn take_some(&mut self, code: u64) -> Result<Option<Nanos>, Malformed> {
        code.checked_sub(1).map(|code| self.take(code)).transpose()
    }
}

fn off_axis() -> Malformed {
    Malformed::new("an instant is out of range")
}

pub(super) fn instant(ticks: u64) -> Result<Nanos, Malformed> {
    ticks.checked_mul(TICK_NS).map(Nanos).ok_or_else(off_axis)
}

pub(super) fn difference(value: u32, before: u32) -> u64 {
    zigzag(i64::from(value) - i64::from(before))
}

pub(super) fn undo_difference(code: u64, before: u32) -> Result<u32, Malformed> {
    let value = i64::from(before).checked_add(unzigzag(code));
    value
        .and_then(|value| u32::try_from(value).ok())
        .ok_or_else(|| Malformed::new("a difference leaves the range of its column"))
}

pub(super) fn small<T: TryFrom<u64>>(value: u64) -> Result<T, Malformed> {
    T::try_from(value).map_err(|_| Malformed::new(format!("{value} is too large for its column")))
}

pub(super) fn some(value: Option<u32>) -> u64 {
    value.map_or(0, |value| u64::from(value) + 1)
}

pub(super) fn undo_some<T: TryFrom<u64>>(code: u64) -> Result<Option<T>, Malformed> {
    code.checked_sub(1).map(small).transpose()
}

/// Returns the code of an outcome. The lowest four bits are the index of its name in `OutcomeKind::ALL`;
/// the bits above are its status or phase.
pub(super) fn outcome_code(outcome: Outcome) -> u64 {
    let phase_code = |phase| {
        PHASES
            .iter()
            .position(|&other| other == phase)
            .expect("invariant: PHASES contains every phase") as u64
    };
    match outcome {
        Outcome::Complete => 0,
        Outcome::Truncated => 1,
        Outcome::Rejected { status } => 2 | u64::from(status) << 4,
        Outcome::ServerError => 3,
        Outcome::Malformed => 4,
        Outcome::Connection { phase } => 5 | phase_code(phase) << 4,
        Outcome::TimedOut { phase } => 6 | phase_code(phase) << 4,
        Outcome::Cancelled => 7,
        Outcome::Dropped => 8,
        Outcome::Skipped => 9,
        Outcome::Abandoned { phase } => 10 | phase_code(phase) << 4,
    }
}

pub(super) fn outcome_of(code: u64) -> Result<Outcome, Malformed> {
    let unknown = || Malformed::new(format!("no outcome has code {code}"));
    let above = code >> 4;
    let phase = || {
        let index = usize::try_from(above).map_err(|_| unknown())?;
        PHASES.get(index).copied().ok_or_else(unknown)
    };
    let plain = |outcome| if above == 0 { Ok(outcome) } else { Err(unknown()) };
    match code & 15 {
        0 => plain(Outcome::Complete),
        1 => plain(Outcome::Truncated),
        2 => Ok(Outcome::Rejected { status: small(above)? }),
        3 => plain(Outcome::ServerError),
        4 => plain(Outcome::Malformed),
        5 => Ok(Outcome::Connection { phase: phase()? }),
        6 => Ok(Outcome::TimedOut { phase: phase()? }),
        7 => plain(Outcome::Cancelled),
        8 => plain(Outcome::Dropped),
        9 => plain(Outcome::Skipped),
        10 => Ok(Outcome::Abandoned { phase: phase()? }),
        _ => Err(unknown()),
    }
}
