//! `list cards`: the built-in cards (GPUs) of the embedded engine.

use std::fmt::Write;

use inferometer_engine::card::{Card, card_file, cards as all_cards};
use inferometer_engine::profile::profiles;

use super::named;
use crate::command_line::Failure;

/// The cards as text, one per line: memory, bandwidth, speed, and the basis of predictions. With names, the contents of
/// their TOML files, which a user can copy to describe another card.
pub fn cards(names: &[String]) -> Result<String, Failure> {
    let all = named("cards", all_cards(), |it| &it.name, names)?;
    if !names.is_empty() {
        return Ok(all.into_iter().filter_map(card_file).collect());
    }
    let mut text = String::new();
    for card in all {
        let _ = writeln!(
            text,
            "{:<16} {:>5.0} GB {:>5.0} GB/s {:>5.0} TFLOP/s in 16 bits  {}",
            card.name,
            card.memory_bytes as f64 * 1e-9,
            card.bandwidth_bytes_per_s * 1e-9,
            card.dense_flops_per_s * 1e-12,
            known(card)
        );
    }
    Ok(text)
}

/// The data on which predictions for a card are based.
fn known(card: &Card) -> String {
    let fitted = profiles().iter().filter(|it| it.card == card.name && !it.provenance.is_empty());
    let fitted: Vec<String> =
        fitted.map(|it| format!("{} {}", it.engine, it.engine_version)).collect();
    match (fitted.as_slice(), &card.operations) {
        ([], None) => "data sheet only: uncalibrated".to_owned(),
        ([], Some(_)) => "single operations measured: uncalibrated".to_owned(),
        (fitted, _) => format!("profiles of {}", fitted.join(", ")),
    }
}
