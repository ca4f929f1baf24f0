//! The steps of a measurement in order: resolve a plan, start the server or identify a running one, run
//! and record the passes, write the results.
//!
//! [`resolve()`] makes a plan. [`carry_out()`] measures it. [`Group`] measures it on several servers.
//! [`summarise_log()`] computes the results of a stored run again from its log. A run reports its progress as
//! [`Event`]s. This crate prints nothing and knows no exit codes. It reads no environment variables, except those for
//! downloaded data sets and tokenizers. The same code runs over sockets and over a [`VirtualNetwork`].

mod error;
mod target_error;

mod interrupt;
mod network;

mod event;
mod events;
mod live_state;

pub mod prompts;

pub mod event_loops;
pub mod grid;
pub mod header;
pub mod pass;
pub mod pass_figures;
mod precision;
mod process_watch;
mod ready_target;
pub mod record_queue;
pub mod recording;
pub mod summarise;

pub mod log_summary;
mod resumed_cell;

pub mod outputs;
pub mod resume;

mod context;
mod credentials;
mod resolve;

pub mod estimate;
mod search_bound;

mod access;
mod connect;
mod embedded_noise;
mod embedded_server;
mod observers;
mod prefix_cache;
mod servers;
mod spread;
mod target;

mod dataset_exhausted;
mod ignore_eos;
mod messages;
mod model_limit;
mod overhead;
mod prompt_findings;
mod server_speed;

mod judged_answers;
mod session;
mod slow;
mod verdict;

pub mod team;

mod ab;
mod ab_again;
mod ab_settings;
mod dry_run;
mod group;
mod group_estimate;
mod group_names;
mod plan_memory;
mod variants;

pub use ab::{AB, AbRun, FinishedAb, order_salt};
pub use ab_again::{AnsweredAgain, answered_again, write as write_ab};
pub use context::{Confirm, Context, DurationEstimate, Host, ReportFiles};
pub use credentials::Variables;
pub use dry_run::{Clock, PlanFormat, dry_run};
pub use embedded_noise::noise_of;
pub use embedded_server::{EmbeddedServer, ServerProcess};
pub use error::{EngineStartError, PlanError, RunError, Shortfall};
pub use event::{
    Event, PassEnded, PassStarted, PromptsStarted, RunStarted, Subscriber, WarmUpStarted,
};
pub use events::Events;
pub use group::{FinishedGroup, Group, Measure, Member};
pub use interrupt::Interrupt;
pub use live_state::{LivePass, LiveState, Snapshot, Totals, left};
pub use log_summary::{FromLog, summarise_log};
pub use network::{Network, VirtualNetwork};
pub use prompts::EarlierWork;
pub use ready_target::{OtherServer, ReadyTarget};
pub use resolve::{CellChoice, PlanInputs, resolve, resolve_with, spelled_out};
pub use resumed_cell::ResumedCell;
pub use servers::{SERVER_GUARD, Servers, Start};
pub use session::{Finished, RunRequest, carry_out, carry_out_over, follow};
pub use spread::ServerSpread;
pub use target_error::{ProcessError, TargetError};
pub use team::{Team, check_ranks};
pub use variants::variants;
pub use verdict::{Strictness, judge, judge_results};
