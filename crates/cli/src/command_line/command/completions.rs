//! `completions`: what a shell needs to complete commands and flags.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::command_line::exit::{Failure, print};

/// The flags of `completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn completions(arguments: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut crate::command_line::command(), "inferometer", &mut script);
    print(&String::from_utf8_lossy(&script))
}
