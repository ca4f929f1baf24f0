//! The program `inferometer`. Its code is in the module `command_line` of the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(inferometer::command_line::main(std::env::args_os().collect(), None))
}
