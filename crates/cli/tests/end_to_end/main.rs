//! The binary as its users meet it: over real sockets, with files and exit codes.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod bad_input;
mod bench;
mod bundle;
mod compare;
mod discovery;
mod exchange;
mod exposed;
mod failures;
mod faults;
mod hostile;
mod instrument;
mod junit;
mod launch;
mod loads;
mod manual;
mod observe;
mod outcomes;
mod predict;
mod proxy;
mod reach;
mod reproduce;
mod run;
mod search;
mod secrets;
mod settings;
mod several;
mod shelf;
mod sockets;
mod support;
mod tiny_server;
mod tls;
mod web;
mod workloads;
