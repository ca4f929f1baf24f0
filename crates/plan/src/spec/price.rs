//! The keys about money: what the server's hardware costs, and how a bill is split into input and output tokens. The
//! user states every price; none is built in. A price is no part of a measurement, so a plan has it only in its spec.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::Mistakes;

/// The highest price and the largest weight that are accepted; higher ones are slips.
const MOST: f64 = 1e6;
/// The maximum number of cards. No server has as many.
pub const MAX_GPUS: u32 = 65_536;
const FORM: &str = "is not a price; write 2.5/gpu-hour (each GPU) or 12/hour (the whole server), a note behind it if \
                    you like, or the name of a file with lines such as `h200 = 2.5/gpu-hour, quote of 2026-11-02`";

/// The keys about money.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PriceKeys {
    /// Price of the hardware, such as 2.5/gpu-hour (each GPU) or 12/hour (the whole server), or a file with
    /// a price per card, in lines such as `h200 = 2.5/gpu-hour, quote of 2026-11-02`. The results then
    /// have $ per million tokens, per request and per job, and with --goodput also of what was served
    /// within the objectives. `report` and `compare` take a price afterwards, too
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "PRICE|FILE", help_heading = "Cost")]
    pub price: Option<String>,
    /// Number of GPUs (cards) of the server, for --price and, in a sweep, for tokens per second per
    /// card [default: from the parallelism that the server states or with which it was started; then
    /// the number of --cards]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", help_heading = "Cost")]
    pub gpus: Option<u32>,
    /// How the price is split into input and output tokens [default: tokens]:
    ///   tokens: by their number
    ///   output: all to the output tokens
    ///   N: an output token costs N times as much as an input token, such as 4
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, verbatim_doc_comment, value_name = "tokens|output|N", help_heading = "Cost")]
    pub price_split: Option<String>,
}

/// The prices that a user gave, and how they are split.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// What each card costs. A price without a card is that of every other card.
    pub of_cards: Vec<CardPrice>,
    /// How many times as much as an input token an output token costs, at least 1; infinite if the output tokens pay
    /// everything.
    pub output_weight: f64,
}

/// What a card costs.
#[derive(Clone, Debug, PartialEq)]
pub struct CardPrice {
    /// The card; absent for every card that has no price of its own.
    pub card: Option<String>,
    /// The price in dollars per hour.
    pub per_hour: f64,
    /// Whether it is the price of one GPU, and not that of the whole server.
    pub is_per_gpu: bool,
    /// The price as the user wrote it, with its note.
    pub text: String,
}

impl PriceKeys {
    /// The prices; `None` if none is given.
    ///
    /// # Errors
    /// The first key whose value cannot be used, and why.
    pub fn price(&self) -> Result<Option<Price>, (&'static str, String)> {
        if self.gpus.is_some_and(|gpus| gpus == 0 || gpus > MAX_GPUS) {
            return Err(("gpus", format!("is not a number of cards from 1 to {MAX_GPUS}")));
        }
        let split = self.price_split.as_deref().unwrap_or("tokens");
        let output_weight = match split {
            "tokens" => 1.0,
            "output" => f64::INFINITY,
            number => {
                number.parse().ok().filter(|weight| (1.0..=MOST).contains(weight)).ok_or_else(
                    || {
                        let problem = format!(
                            "`{number}` is not one of tokens, output, or a number of at least 1"
                        );
                        ("price_split", problem)
                    },
                )?
            }
        };
        let Some(text) = &self.price else {
            return match self.price_split {
                Some(_) => Err(("price_split", "has no effect without --price".to_owned())),
                None => Ok(None),
            };
        };
        let lines = text.split(['\n', ';']).map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let read = |line| card_price(line).ok_or_else(|| ("price", format!("`{line}` {FORM}")));
        let of_cards = lines.map(read).collect::<Result<Vec<_>, _>>()?;
        match of_cards.is_empty() {
            true => Err(("price", format!("`{text}` {FORM}"))),
            false => Ok(Some(Price { of_cards, output_weight })),
        }
    }

    /// Whether the text of a price names a file instead.
    pub fn is_file(text: &str) -> bool {
        card_price(text.split([';', '\n']).next().unwrap_or_default().trim()).is_none()
    }

    /// Adds the mistakes of the keys. `gpus_are_used`: whether something else than a price uses the number of cards.
    pub(crate) fn check(&self, gpus_are_used: bool, mistakes: &mut Mistakes) {
        match self.price() {
            Err((key, problem)) => mistakes.add(key, problem),
            Ok(None) if self.gpus.is_some() && !gpus_are_used => {
                mistakes.add("gpus", "has no effect without --price");
            }
            Ok(_) => {}
        }
    }
}

/// `[CARD =] [$]AMOUNT/gpu-hour [NOTE]`, or with `/hour` for the whole server.
fn card_price(line: &str) -> Option<CardPrice> {
    let (before, rest) = line.split_once('/')?;
    let (card, amount) = match before.rsplit_once('=') {
        Some((card, amount)) => (Some(card.trim().to_owned()), amount),
        None => (None, before),
    };
    if card.as_ref().is_some_and(String::is_empty) {
        return None;
    }
    let per_hour: f64 = amount.trim().trim_start_matches('$').parse().ok()?;
    let end = rest.find(|c: char| !(c.is_ascii_alphabetic() || c == '-')).unwrap_or(rest.len());
    let is_per_gpu = match &rest[..end] {
        "gpu-hour" | "gpu-h" => true,
        "hour" | "h" => false,
        _ => return None,
    };
    let text = line[before.len() - amount.len()..].trim().to_owned();
    (per_hour > 0.0 && per_hour <= MOST).then_some(CardPrice { card, per_hour, is_per_gpu, text })
}

impl Price {
    /// The price of a card. Letters, digits and their order must be equal; `NVIDIA` and `AMD` in front do not count.
    ///
    /// # Errors
    /// Why no price applies.
    pub fn of_card(&self, card: Option<&str>) -> Result<&CardPrice, String> {
        let plain = |name: &str| -> String {
            let name = name.to_ascii_lowercase();
            let name = name.trim_start_matches("nvidia").trim_start_matches("amd");
            name.chars().filter(char::is_ascii_alphanumeric).collect()
        };
        let is_its = |price: &&CardPrice| match (&price.card, card) {
            (Some(own), Some(card)) => plain(own) == plain(card),
            _ => false,
        };
        let of_others = || self.of_cards.iter().find(|price| price.card.is_none());
        self.of_cards.iter().find(is_its).or_else(of_others).ok_or_else(|| {
            let names: Vec<&str> =
                self.of_cards.iter().filter_map(|price| price.card.as_deref()).collect();
            let names = names.join(", ");
            match card {
                Some(card) => format!("no price is given for the card {card}, only for {names}"),
                None => format!("the card is not known, but prices are given by card: {names}"),
            }
        })
    }

    /// How the price is split into input and output tokens, in words.
    pub fn split(&self) -> String {
        match self.output_weight {
            1.0 => "by token count".to_owned(),
            weight if weight.is_infinite() => "all to output tokens".to_owned(),
            weight => format!("an output token counts {weight} times as much as an input token"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(price: &str, split: Option<&str>) -> PriceKeys {
        PriceKeys { price: Some(price.into()), price_split: split.map(str::to_owned), gpus: None }
    }

    #[test]
    fn prices_are_read_per_gpu_or_per_server_and_by_card() {
        let file = "# quotes\nh200 = 2.5/gpu-hour, quote of 2026-11-02\n$12/hour";
        let price = keys(file, Some("4")).price().unwrap().unwrap();
        let of = |card| {
            let found = price.of_card(card).unwrap();
            (found.per_hour, found.is_per_gpu, found.text.as_str())
        };
        assert_eq!(of(Some("NVIDIA H200")), (2.5, true, "2.5/gpu-hour, quote of 2026-11-02"));
        assert_eq!(of(Some("NVIDIA H200 NVL")), (12.0, false, "$12/hour"));
        assert_eq!((of(None).0, price.output_weight), (12.0, 4.0));
        let only = keys("h200=2/gpu-h; l4=0.8/gpu-h", None).price().unwrap().unwrap();
        assert!(only.of_card(Some("A100")).unwrap_err().contains("A100, only for h200, l4"));
        assert!(only.of_card(None).unwrap_err().contains("the card is not known"));
        assert_eq!(only.of_card(Some("L4")).unwrap().per_hour, 0.8);
    }

    #[test]
    fn what_is_not_a_price_is_refused_with_its_key() {
        for (keys, key) in [
            (keys("2.5", None), "price"),
            (keys("-1/gpu-hour", None), "price"),
            (keys("2.5/gpu-day", None), "price"),
            (keys("=2.5/gpu-hour", None), "price"),
            (keys("# nothing", None), "price"),
            (keys("2/hour", Some("0.5")), "price_split"),
            (PriceKeys { gpus: Some(0), ..keys("2/hour", None) }, "gpus"),
            (PriceKeys { price_split: Some("4".into()), ..PriceKeys::default() }, "price_split"),
        ] {
            assert_eq!(keys.price().unwrap_err().0, key, "{keys:?}");
        }
        assert!(PriceKeys::is_file("prices.txt") && PriceKeys::is_file("a/b.txt"));
        assert!(
            !PriceKeys::is_file("2.5/gpu-hour") && !PriceKeys::is_file("h200=2/hour; l4=1/hour")
        );
    }
}
