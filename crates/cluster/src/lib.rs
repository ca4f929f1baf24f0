//! Lets several processes (ranks) measure one plan together.
//!
//! [`launcher`] finds the rank of this process. The ranks meet at rank 0 ([`Lead`]). The other ranks ([`Member`]) prove
//! that they have the token of the run, and send the hash of their plan. Rank 0 refuses a rank whose plan, version or
//! number of ranks differs. During the run, each member compares its clock with that of rank 0 ([`clock`]). Rank 0
//! gives orders, one after the other. A pass starts at the same instant at all ranks. The members send their records
//! with instants on rank 0's time axis.
//!
//! After a member has joined, it always sends a message first and rank 0 answers. So one connection and one thread at
//! each end are enough. The messages that state the progress of a member, and their answers, are also used to compare
//! the clocks.
//!
//! This crate does not contain the measurement of a pass itself.

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

pub use host_list::HostListError;
pub use lead::{Lead, RankLost, RankReport, Sink};
pub use meeting::{JoinError, Meeting, PlaceError, Rendezvous, default_port};
pub use member::{Member, NoMoreRecords, Outgoing, Rank0Lost};
pub use message::{ClockReport, Introduction, Order, PassReport, SentRecord};
pub use token::{Token, TokenError};

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
