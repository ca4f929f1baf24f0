//! The steps of a measurement in order: resolve a plan, start the server or identify a running one, run
//! and record the passes, write the results.
//!
//! [`resolve()`] makes a plan. [`carry_out()`] measures it. [`Group`] measures it on several servers.
//! [`summarise_log()`] computes the results of a stored run again from its log. A run reports its progress as
//! [`Event`]s. This crate prints nothing and knows no exit codes. It reads no environment variables, except those for
//! downloaded data sets and tokenizers. The same code runs over sockets and over a [`VirtualNetwork`].

mod ab;
mod context;
mod error;
pub mod estimate;
mod events;
mod group;
mod inputs;
mod interrupt;
pub mod pass;
pub mod prompts;
pub mod recording;
pub mod results;
pub mod resume;
mod session;
mod target;
mod target_error;
pub mod team;
mod trend;
mod verdict;

pub use ab::again::{AnsweredAgain, answered_again, write as write_ab};
pub use ab::measure::{AB, AbRun, FinishedAb, order_salt};
pub use context::{Confirm, Context, DurationEstimate, Host, ReportFiles};
pub use error::{EngineStartError, PlanError, RunError, Shortfall};
pub use events::event::{
    Event, ExpectedPass, PassEnded, PassStarted, PromptsStarted, RunStarted, Subscriber,
    WarmUpStarted,
};
pub use events::live_state::{LivePass, LiveState, Snapshot, Totals};
pub use events::sender::Events;
pub use events::time_left::left;
pub use group::measure::{FinishedGroup, Group, Measure, Member};
pub use inputs::dry_run::{Clock, PlanFormat, dry_run};
pub use inputs::resolve::{CellChoice, PlanInputs, resolve, resolve_with, spelled_out};
pub use inputs::{access::server_access, credentials::Variables, variants::variants};
pub use interrupt::Interrupt;
pub use pass::network::{Network, VirtualNetwork};
pub use prompts::EarlierWork;
pub use recording::resumed_cell::ResumedCell;
pub use results::log_summary::{FromLog, summarise_log};
pub use results::outputs::Outputs;
pub use session::{
    ChosenLengths, Finished, RunRequest, carry_out, carry_out_in_memory, carry_out_over,
    choose_lengths, follow,
};
pub use target::embedded::{EmbeddedServer, ServerProcess};
pub use target::ready::{OtherServer, ReadyTarget};
pub use target::servers::{SERVER_GUARD, Servers, Start};
pub use target::{noise::noise_of, spread::ServerSpread};
pub use target_error::{ProcessError, TargetError};
pub use team::{Team, check_ranks};
pub use trend::trend;
pub use verdict::{Strictness, judge, judge_results};
