//! Several processes (ranks) that measure one plan together.
//!
//! [`launcher`] finds out which of them this process is. They meet at rank 0 ([`Lead`]), which the
//! others ([`Member`]) tell that they have the same plan and the token of the same run. Each member
//! compares its clock with that of rank 0 for as long as the run goes on ([`clock`]). Rank 0 gives
//! orders, one after the other; a pass starts at one instant at all ranks, and the members send
//! their records with instants on rank 0's axis. A member asks and rank 0 answers, so that one
//! connection and one thread at each end are enough, and each question holds the clocks against
//! each other.
//!
//! Nothing here knows how a pass is measured.

pub mod clock;
pub mod launcher;

mod host_list;
mod link;
mod message;
mod pace;
mod token;

mod meeting;

mod lead;
mod member;

pub use lead::{Lead, RankReport, Sink};
pub use meeting::{JoinError, Meeting, Rendezvous, default_port};
pub use member::{Member, Outgoing, Over};
pub use message::{ClockReport, Introduction, Order, PassReport, Sent};
pub use token::{Token, TokenError};

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
