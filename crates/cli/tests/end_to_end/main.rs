//! The binary as its users meet it: over real sockets, with files and exit codes.

mod bad_input;
mod outcomes;
mod run;
mod secrets;
mod support;
