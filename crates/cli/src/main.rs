//! The program `inferometer`. Its code is in the library's module `command_line`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(inferometer::command_line::main(std::env::args_os().collect(), None))
}
