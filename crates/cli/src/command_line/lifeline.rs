//! The tie between a process and those that it starts: they end with it, however it ends.

use std::io::Read;

use inferometer_net::thread::spawn;

use crate::command_line::console::tell;

/// Ends this process when its standard input does, which the system closes even if the process at
/// the other end is killed.
pub fn end_with_stdin() {
    let tie = spawn(|| {
        // Whatever comes is thrown away; only the end counts.
        let mut buffer = [0; 64];
        while std::io::stdin().read(&mut buffer).is_ok_and(|count| count > 0) {}
        std::process::exit(0);
    });
    if let Err(error) = tie {
        tell(&format!("error: {error}"));
        std::process::exit(1);
    }
}
