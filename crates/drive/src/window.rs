//! A queue whose items have numbers, and from which items can be taken in any order.

use std::collections::VecDeque;

/// Items by their numbers, from the first item that has not been taken.
pub(crate) struct Lookahead<T> {
    items: VecDeque<Option<T>>,
    /// The number of the first item.
    first: u32,
    len: usize,
}

impl<T> Default for Lookahead<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), first: 0, len: 0 }
    }
}

impl<T> Lookahead<T> {
    /// The number of items that were added and not taken.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of the next item that is added.
    pub fn end(&self) -> u32 {
        self.first + self.items.len() as u32
    }

    /// Adds an item after the last one.
    pub fn push(&mut self, item: T) {
        self.items.push_back(Some(item));
        self.len += 1;
    }

    /// Removes and returns the item with a number, if it has been added and not taken.
    pub fn take(&mut self, number: u32) -> Option<T> {
        let place = number.checked_sub(self.first)? as usize;
        let item = self.items.get_mut(place)?.take()?;
        self.len -= 1;
        while self.items.pop_front_if(|item| item.is_none()).is_some() {
            self.first += 1;
        }
        Some(item)
    }

    /// Removes and returns the item with the smallest number.
    pub fn take_first(&mut self) -> Option<T> {
        // The first entry of the queue is never empty.
        self.take(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_can_be_taken_by_number_in_any_order() {
        let mut window = Lookahead::default();
        assert!(window.is_empty() && window.take(0).is_none());
        for item in 'a'..='e' {
            window.push(item);
        }
        assert_eq!((window.take(1), window.take(1), window.take(9)), (Some('b'), None, None));
        assert_eq!((window.len(), window.end()), (4, 5));
        assert_eq!((window.take(0), window.take(3)), (Some('a'), Some('d')));
        assert_eq!((window.take_first(), window.take_first()), (Some('c'), Some('e')));
        window.push('f');
        assert_eq!((window.end(), window.take(5), window.take_first()), (6, Some('f'), None));
    }
}
