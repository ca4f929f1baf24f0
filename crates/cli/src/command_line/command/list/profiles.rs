//! `list profiles`: the profiles of the embedded engine. A profile has the constants of an engine version on a card,
//! fitted to measured rows.

use std::fmt::Write;

use inferometer_engine::profile::{Profile, Role, profiles as all_profiles};

use super::named;
use crate::command_line::exit::Failure;

/// The profiles as text, each with the rows that it was fitted to.
pub fn profiles(names: &[String]) -> Result<String, Failure> {
    let mut text = String::new();
    for profile in named("profiles", all_profiles(), |it| &it.name, names)? {
        let cards = if profile.cards > 1 { format!("{} x ", profile.cards) } else { String::new() };
        let _ = writeln!(
            text,
            "{:<24} {} {} on {cards}{}\n    {}",
            profile.name,
            profile.engine,
            profile.engine_version,
            profile.card,
            rows(profile)
        );
    }
    Ok(text)
}

/// The rows that a profile was fitted to or compared with, in words.
fn rows(profile: &Profile) -> String {
    let known = profile.provenance.iter();
    let rows: Vec<String> = known
        .map(|known| match known.role {
            Role::HeldOut => format!("compared with {}", known.table),
            _ => format!("{} rows of {}", known.rows, known.table),
        })
        .collect();
    if rows.is_empty() { "uncalibrated".to_owned() } else { rows.join(", ") }
}
