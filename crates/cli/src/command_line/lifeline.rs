//! Ends child processes together with their parent process, even if the parent is killed.

use std::io::Read;

use inferometer_net::spawn;

use crate::command_line::tell;

/// Ends this process when its standard input is closed. The operating system closes standard input even if the parent
/// process is killed.
pub fn end_with_stdin() {
    let tie = spawn(|| {
        // The content is ignored; only the end matters.
        let mut buffer = [0; 64];
        while std::io::stdin().read(&mut buffer).is_ok_and(|count| count > 0) {}
        std::process::exit(0);
    });
    if let Err(error) = tie {
        tell(&format!("error: {error}"));
        std::process::exit(1);
    }
}
