//! `engine`: serves the embedded engine over HTTP.

use clap::Args;

use crate::exit::Failure;

/// The flags of `engine`.
#[derive(Args)]
pub struct EngineArgs {}

/// Serves until it is stopped.
pub fn engine(_arguments: EngineArgs) -> Result<(), Failure> {
    Err(Failure::usage("being written"))
}
