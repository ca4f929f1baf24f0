//! `list profiles`: the profiles of the embedded engine. A profile has the constants of an engine version on a card.
//! Except for uncalibrated profiles, the constants were fitted to measured rows.

use std::fmt::Write;

use inferometer_engine::Profile;
use inferometer_engine::profile::{Role, profiles as all_profiles};
use inferometer_model::visible;

use super::named;
use crate::command_line::Failure;
use crate::command_line::command::own_profiles::{ProfileFile, profile_files};

/// A profile to list: a built-in one, or a file of the user's own profiles.
enum Listed<'a> {
    BuiltIn(&'a Profile),
    Own(Box<ProfileFile>),
}

impl Listed<'_> {
    /// The name of the profile; the path of a file that cannot be used.
    fn name(&self) -> &str {
        match self {
            Self::BuiltIn(profile) => &profile.name,
            Self::Own(file) => file.profile.as_ref().map_or(&file.path, |own| &own.profile.name),
        }
    }
}

/// The profiles as text, each with the rows that it was fitted to or compared with. The user's own profiles follow the
/// built-in ones. Files that cannot be used are listed with the reason.
pub fn profiles(names: &[String]) -> Result<String, Failure> {
    let own = profile_files().into_iter().map(|file| Listed::Own(Box::new(file)));
    let all = all_profiles().iter().map(Listed::BuiltIn).chain(own);
    let mut text = String::new();
    for listed in named("profiles", all, |it| it.name(), names)? {
        match &listed {
            Listed::BuiltIn(profile) => add(&mut text, profile),
            Listed::Own(file) => add_own(&mut text, file),
        }
    }
    Ok(text)
}

fn add_own(text: &mut String, ProfileFile { path, date, profile, .. }: &ProfileFile) {
    let path = visible::line(path);
    let _ = match profile {
        Ok(own) => {
            add(text, &own.profile);
            writeln!(text, "    your own profile, changed on {date}: {path}")
        }
        Err(why) => writeln!(text, "{path}\n    cannot be used: {why}"),
    };
}

fn add(text: &mut String, profile: &Profile) {
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
