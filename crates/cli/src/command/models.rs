//! `models`: what the embedded engine can play.

use std::fmt::Write;

use inferometer_engine::model::models as all_models;
use inferometer_engine::profile::{default_profile, profiles};

use crate::exit::{Failure, print};

/// Prints models and profiles.
pub fn models() -> Result<(), Failure> {
    let mut text = String::from("models:\n");
    for model in all_models() {
        let profile = default_profile(model).map_or_else(|_| "none".to_owned(), |p| p.name);
        let _ = writeln!(text, "  {:<28} profile {profile}", model.name);
    }
    text.push_str("\nprofiles:\n");
    for profile in profiles() {
        let _ = writeln!(text, "  {}", profile.name);
    }
    print(&text)
}
