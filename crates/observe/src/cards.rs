//! The cards of a machine: what they are, and what they do. A source that is not there is no
//! error; one that stops to answer is.

mod dcgm;
mod nvml;
mod sysfs;

use std::collections::BTreeSet;
use std::path::Path;

use inferometer_model::sample::CardSample;
use inferometer_model::target::Card;

pub use dcgm::Dcgm;

/// A source of what cards do.
pub trait Cards: Send {
    /// What the cards are.
    fn cards(&self) -> Vec<Card>;

    /// What each of them does now, or in words why nothing can be said. What a card does not say
    /// is absent.
    fn sample(&mut self) -> Vec<Result<CardSample, String>>;
}

/// A source whose cards have other numbers than it gives them.
struct Renumbered {
    source: Box<dyn Cards>,
    first: u32,
}

impl Cards for Renumbered {
    fn cards(&self) -> Vec<Card> {
        let cards = self.source.cards().into_iter();
        cards.map(|card| Card { index: self.first + card.index, ..card }).collect()
    }

    fn sample(&mut self) -> Vec<Result<CardSample, String>> {
        let renumbered = |card: CardSample| CardSample { index: self.first + card.index, ..card };
        self.source.sample().into_iter().map(|said| said.map(renumbered)).collect()
    }
}

/// Sources that each number their cards from 0, so that no two cards have one number: those of the
/// first keep theirs, the next ones go on from there.
fn side_by_side(sources: Vec<Box<dyn Cards>>) -> Vec<Box<dyn Cards>> {
    let mut first = 0;
    let mut numbered: Vec<Box<dyn Cards>> = Vec::new();
    for source in sources {
        let next = source.cards().iter().map(|card| card.index + 1).max().unwrap_or(0);
        numbered.push(Box::new(Renumbered { source, first }));
        first += next;
    }
    numbered
}

/// A source of whose cards only some are asked for.
struct Chosen {
    source: Box<dyn Cards>,
    numbers: BTreeSet<u32>,
}

impl Cards for Chosen {
    fn cards(&self) -> Vec<Card> {
        let cards = self.source.cards().into_iter();
        cards.filter(|card| self.numbers.contains(&card.index)).collect()
    }

    fn sample(&mut self) -> Vec<Result<CardSample, String>> {
        let is_chosen = |said: &Result<CardSample, String>| {
            said.as_ref().map_or(true, |card| self.numbers.contains(&card.index))
        };
        self.source.sample().into_iter().filter(is_chosen).collect()
    }
}

/// The cards with these numbers alone.
///
/// # Errors
/// When one of them is not seen, in words.
pub fn chosen(
    sources: Vec<Box<dyn Cards>>,
    numbers: &BTreeSet<u32>,
) -> Result<Vec<Box<dyn Cards>>, String> {
    let seen: BTreeSet<u32> =
        sources.iter().flat_map(|it| it.cards()).map(|card| card.index).collect();
    if let Some(number) = numbers.iter().find(|number| !seen.contains(number)) {
        let listed: Vec<String> = seen.iter().map(u32::to_string).collect();
        let seen = if seen.is_empty() { "none".to_owned() } else { listed.join(", ") };
        return Err(format!("card {number} is not seen; there is: {seen}"));
    }
    let any = |cards: Vec<Card>| cards.iter().any(|card| numbers.contains(&card.index));
    let used = sources.into_iter().filter(|it| any(it.cards()));
    Ok(used.map(|source| Box::new(Chosen { source, numbers: numbers.clone() }) as _).collect())
}

/// The cards of this machine: NVIDIA's by NVML, AMD's by the system's own files.
#[must_use]
pub fn of_this_machine() -> Vec<Box<dyn Cards>> {
    let mut sources: Vec<Box<dyn Cards>> = Vec::new();
    if let Some(nvml) = nvml::NvmlCards::find() {
        sources.push(Box::new(nvml));
    }
    if let Some(amd) = sysfs::AmdCards::find(Path::new("/sys/class/drm")) {
        sources.push(Box::new(amd));
    }
    side_by_side(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cards of one maker, by their numbers.
    struct Maker(&'static str, Vec<u32>);

    impl Cards for Maker {
        fn cards(&self) -> Vec<Card> {
            let card = |&index| Card { index, source: self.0.to_owned(), ..Card::default() };
            self.1.iter().map(card).collect()
        }

        fn sample(&mut self) -> Vec<Result<CardSample, String>> {
            let card = |&index| Ok(CardSample { index, ..CardSample::default() });
            self.1.iter().map(card).chain([Err(format!("{}: gone", self.0))]).collect()
        }
    }

    #[test]
    fn cards_of_several_makers_keep_apart_though_each_begins_with_0() {
        let makers = [Maker("a", vec![0, 1]), Maker("b", vec![0]), Maker("c", vec![0])];
        let mut sources = side_by_side(makers.into_iter().map(|it| Box::new(it) as _).collect());
        let known: Vec<u32> =
            sources.iter().flat_map(|it| it.cards()).map(|card| card.index).collect();
        let said: Vec<u32> = sources
            .iter_mut()
            .flat_map(|it| it.sample())
            .filter_map(|said| Some(said.ok()?.index))
            .collect();
        assert_eq!((known, said), (vec![0, 1, 2, 3], vec![0, 1, 2, 3]));
    }

    #[test]
    fn only_cards_that_are_named_are_asked_and_one_that_is_not_there_is_told() {
        let sources = || -> Vec<Box<dyn Cards>> {
            side_by_side(vec![Box::new(Maker("a", vec![0, 1])), Box::new(Maker("b", vec![0]))])
        };
        let mut one = chosen(sources(), &BTreeSet::from([1])).unwrap();
        assert_eq!((one.len(), one[0].cards()[0].index), (1, 1));
        let said: Vec<u32> =
            one[0].sample().into_iter().filter_map(|said| Some(said.ok()?.index)).collect();
        assert_eq!(said, [1]);
        let told = |sources| chosen(sources, &BTreeSet::from([1, 9])).err().unwrap();
        assert!(told(sources()).contains("card 9 is not seen; there is: 0, 1, 2"));
        assert!(told(Vec::new()).contains("there is: none"));
    }
}
