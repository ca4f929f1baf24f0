//! The cards of a machine: their properties, and samples of their state. It is no error if a source does not
//! exist, but it is an error if a source stops answering. A new source needs a file in `cards` and a line
//! here.

mod dcgm;
mod nvidia_smi;
mod nvml;
mod sysfs;

use std::{collections::BTreeSet, path::Path};

use inferometer_model::{sample::CardSample, target::Card};

pub use dcgm::Dcgm;

use crate::observe::error::ObserveError;

/// A source of samples of cards.
pub trait CardSource: Send {
    /// The properties of the source's cards.
    fn cards(&self) -> Vec<Card>;

    /// Samples each card. An error states why a sample is missing. Values that a card does not report are
    /// `None`.
    fn sample(&mut self) -> Vec<Result<CardSample, ObserveError>>;
}

/// A source in which the number of each card is increased by `first`.
struct Renumbered {
    source: Box<dyn CardSource>,
    first: u32,
}

impl CardSource for Renumbered {
    fn cards(&self) -> Vec<Card> {
        let cards = self.source.cards().into_iter();
        cards.map(|card| Card { index: self.first + card.index, ..card }).collect()
    }

    fn sample(&mut self) -> Vec<Result<CardSample, ObserveError>> {
        let renumbered = |card: CardSample| CardSample { index: self.first + card.index, ..card };
        self.source.sample().into_iter().map(|sample| sample.map(renumbered)).collect()
    }
}

/// Changes the numbers of cards so that all sources together are numbered consecutively. Each source numbers
/// its own cards from 0.
fn number_consecutively(sources: Vec<Box<dyn CardSource>>) -> Vec<Box<dyn CardSource>> {
    let mut first = 0;
    let mut numbered: Vec<Box<dyn CardSource>> = Vec::new();
    for source in sources {
        let next = source.cards().iter().map(|card| card.index + 1).max().unwrap_or(0);
        numbered.push(Box::new(Renumbered { source, first }));
        first += next;
    }
    numbered
}

/// A source limited to some of its cards.
struct Selected {
    source: Box<dyn CardSource>,
    numbers: BTreeSet<u32>,
}

impl CardSource for Selected {
    fn cards(&self) -> Vec<Card> {
        let cards = self.source.cards().into_iter();
        cards.filter(|card| self.numbers.contains(&card.index)).collect()
    }

    fn sample(&mut self) -> Vec<Result<CardSample, ObserveError>> {
        let is_selected = |sample: &Result<CardSample, ObserveError>| {
            sample.as_ref().map_or(true, |card| self.numbers.contains(&card.index))
        };
        self.source.sample().into_iter().filter(is_selected).collect()
    }
}

/// Limits sources to the cards with these numbers. Sources without such a card are dropped.
///
/// # Errors
/// When a card with one of these numbers does not exist.
pub fn select_cards(
    sources: Vec<Box<dyn CardSource>>,
    numbers: &BTreeSet<u32>,
) -> Result<Vec<Box<dyn CardSource>>, ObserveError> {
    let seen: BTreeSet<u32> =
        sources.iter().flat_map(|it| it.cards()).map(|card| card.index).collect();
    if let Some(number) = numbers.iter().find(|number| !seen.contains(number)) {
        let found = seen.iter().copied().collect();
        return Err(ObserveError::NoSuchCard { number: *number, found });
    }
    let any = |cards: Vec<Card>| cards.iter().any(|card| numbers.contains(&card.index));
    let used = sources.into_iter().filter(|it| any(it.cards()));
    Ok(used.map(|source| Box::new(Selected { source, numbers: numbers.clone() }) as _).collect())
}

/// The cards of this machine. NVIDIA's cards are found through NVML, or through `nvidia-smi` in a static
/// binary. AMD's cards are found through the driver's files in `/sys`.
pub fn local_cards() -> Vec<Box<dyn CardSource>> {
    let mut sources: Vec<Box<dyn CardSource>> = Vec::new();
    // A static binary cannot load a library that needs the system's C library.
    if cfg!(target_feature = "crt-static") {
        let found = nvidia_smi::SmiCards::find(Path::new("nvidia-smi"));
        sources.extend(found.map(|cards| Box::new(cards) as Box<dyn CardSource>));
    } else if let Some(nvml) = nvml::NvmlCards::find() {
        sources.push(Box::new(nvml));
    }
    if let Some(amd) = sysfs::AmdCards::find(Path::new("/sys/class/drm")) {
        sources.push(Box::new(amd));
    }
    number_consecutively(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cards of one manufacturer, by their numbers.
    struct Maker(&'static str, Vec<u32>);

    impl CardSource for Maker {
        fn cards(&self) -> Vec<Card> {
            let card = |&index| Card { index, source: self.0.to_owned(), ..Card::default() };
            self.1.iter().map(card).collect()
        }

        fn sample(&mut self) -> Vec<Result<CardSample, ObserveError>> {
            let card = |&index| Ok(CardSample { index, ..CardSample::default() });
            self.1.iter().map(card).chain([Err(ObserveError::NoCards(self.0.to_owned()))]).collect()
        }
    }

    #[test]
    fn cards_of_several_vendors_are_numbered_consecutively_although_each_vendor_starts_at_0() {
        let makers = [Maker("a", vec![0, 1]), Maker("b", vec![0]), Maker("c", vec![0])];
        let mut sources =
            number_consecutively(makers.into_iter().map(|it| Box::new(it) as _).collect());
        let known: Vec<u32> =
            sources.iter().flat_map(|it| it.cards()).map(|card| card.index).collect();
        let sampled: Vec<u32> = sources
            .iter_mut()
            .flat_map(|it| it.sample())
            .filter_map(|sample| Some(sample.ok()?.index))
            .collect();
        assert_eq!((known, sampled), (vec![0, 1, 2, 3], vec![0, 1, 2, 3]));
    }

    #[test]
    fn only_selected_cards_are_sampled_and_a_missing_card_is_an_error() {
        let sources = || -> Vec<Box<dyn CardSource>> {
            number_consecutively(vec![
                Box::new(Maker("a", vec![0, 1])),
                Box::new(Maker("b", vec![0])),
            ])
        };
        let mut one = select_cards(sources(), &BTreeSet::from([1])).unwrap();
        assert_eq!((one.len(), one[0].cards()[0].index), (1, 1));
        let sampled: Vec<u32> =
            one[0].sample().into_iter().filter_map(|sample| Some(sample.ok()?.index)).collect();
        assert_eq!(sampled, [1]);
        let error =
            |sources| select_cards(sources, &BTreeSet::from([1, 9])).err().unwrap().to_string();
        assert!(error(sources()).contains("card 9 was not found; found: 0, 1, 2"));
        assert!(error(Vec::new()).contains("found: none"));
    }
}
