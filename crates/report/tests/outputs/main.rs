//! What people and machines get to read, checked as text. Never checks how it looks: the example
//! `gallery` writes plots for eyes.

#[path = "../support/mod.rs"]
mod support;

mod documents;
mod pages;
mod plots;
mod tables;
