//! The program `inferometer`. What it does is in the library's `command_line`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(inferometer::command_line::main(std::env::args_os().collect(), None))
}
