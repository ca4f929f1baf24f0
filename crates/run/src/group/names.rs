//! The salts of the rounds of a plan with several servers, and the names of the folders of its runs.

use std::path::Path;

/// The salt of a round: within a round all servers get the same prompts, and each round has different
/// prompts. A server that was not restarted between two rounds would answer repeated prompts from its cache.
pub fn salt_of_round(salt: &str, round: u32) -> String {
    if round == 1 { salt.to_owned() } else { format!("{salt}-{round}") }
}

/// The name of a run as the name of a folder.
pub fn file_name(name: &str) -> String {
    let clean: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '.' | '_' | '=') { c } else { '-' })
        .collect();
    let parts: Vec<&str> = clean.split('-').filter(|part| !part.is_empty()).collect();
    Path::new(&parts.join("-")).display().to_string()
}
