//! How far back the attention of the layers reads: all layers read the whole sequence, or some of them only a window.

use crate::ResolvedConfig;
use crate::model::layout::Part;

/// The largest number of different windows of a model.
const WINDOWS: usize = 4;
/// The sum of the weights of the parts of a model with a layout.
const WHOLE: f64 = 65_536.0;

/// A sum over the tokens of a sequence, in which tokens outside of windows do not count for the layers with windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    /// The weight of each token.
    whole: u64,
    /// The additional weight of each token inside of a window, with the number of its tokens.
    near: [(u32, u64); WINDOWS],
    /// The number of windows.
    windows: usize,
}

impl Span {
    fn of(whole: u64, near: &[(u32, u64)]) -> Self {
        let mut windows = [(u32::MAX, 0); WINDOWS];
        // Of more windows than there is room for, the last are counted with the window before them.
        for (at, (tokens, weight)) in near.iter().enumerate() {
            let known = &mut windows[at.min(WINDOWS - 1)];
            *known = (known.0.min(*tokens), known.1 + weight);
        }
        Self { whole, near: windows, windows: near.len().min(WINDOWS) }
    }

    /// The span of parts, with the amount that a weight of 1 stands for. The weights add up to [`WHOLE`], so that sums
    /// of squares of long sequences do not overflow.
    fn scaled(mut parts: Vec<Part>) -> (Self, f64) {
        let sum: f64 = parts.iter().map(|part| part.per_token).sum();
        if sum <= 0.0 {
            return (Self::of(1, &[]), 0.0);
        }
        parts.sort_by_key(|part| part.window);
        let weight = |part: &Part| (part.per_token / sum * WHOLE).round() as u64;
        let is_whole = |part: &&Part| part.window == u32::MAX;
        let whole = parts.iter().filter(is_whole).map(weight).sum();
        let near: Vec<_> =
            parts.iter().filter(|part| !is_whole(part)).map(|it| (it.window, weight(it))).collect();
        (Self::of(whole, &near), sum / WHOLE)
    }

    fn near(&self) -> &[(u32, u64)] {
        &self.near[..self.windows]
    }

    #[inline]
    fn context(&self, tokens: u32) -> u64 {
        if self.windows == 0 {
            return self.whole * u64::from(tokens);
        }
        let near =
            self.near().iter().map(|&(window, weight)| weight * u64::from(tokens.min(window)));
        self.whole * u64::from(tokens) + near.sum::<u64>()
    }

    #[inline]
    fn square(&self, tokens: u32) -> u64 {
        let all = u64::from(tokens);
        if self.windows == 0 {
            return self.whole * all * all;
        }
        let of = |&(window, weight): &(u32, u64)| {
            let near = u64::from(tokens.min(window));
            weight * (near * near + 2 * near * (all - near))
        };
        self.whole * all * all + self.near().iter().map(of).sum::<u64>()
    }
}

/// The tokens that attention reads, summed over layers. If there is no window, all layers are alike and count as one
/// layer, so all sums are numbers of tokens. For models with a layout, the sums are weighted with what the layers read
/// and compute ([`Reach::units`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// What is read from the cache.
    reads: Span,
    /// What is computed for prompts.
    pairs: Span,
}

impl Reach {
    pub fn of(config: &ResolvedConfig) -> Self {
        if let Some(layout) = &config.model.layout {
            let (number, cards) = (config.kv_bytes_per_number, config.tensor_parallel_size);
            let (reads, _) = Span::scaled(layout.reads(number, cards));
            let (pairs, _) = Span::scaled(layout.pairs(cards));
            return Self { reads, pairs };
        }
        let span = match config.windows {
            None => Span::of(1, &[]),
            Some(windows) => Span::of(
                u64::from(config.model.layers - windows.layers),
                &[(windows.tokens, u64::from(windows.layers))],
            ),
        };
        Self { reads: span, pairs: span }
    }

    /// For a model with a layout: the bytes and the operations on one card that a weight of 1 in [`Self::context`] and
    /// in half of [`Self::square`] stands for. `None` for other models.
    pub fn units(config: &ResolvedConfig) -> Option<(f64, f64)> {
        let layout = config.model.layout.as_ref()?;
        let (number, cards) = (config.kv_bytes_per_number, config.tensor_parallel_size);
        let (_, bytes) = Span::scaled(layout.reads(number, cards));
        let (_, operations) = Span::scaled(layout.pairs(cards));
        Some((bytes, operations))
    }

    /// The number of layers in the sums; 1 if there is no window.
    pub fn layers(&self) -> u64 {
        self.reads.whole + self.reads.near().iter().map(|(_, weight)| weight).sum::<u64>()
    }

    /// The tokens that the layers read of a context of `tokens` tokens.
    #[inline]
    pub fn context(&self, tokens: u32) -> u64 {
        self.reads.context(tokens)
    }

    /// Twice the tokens that the layers read for the first `tokens` tokens of a prompt, each of which reads the tokens
    /// before it: the square of `tokens` without a window.
    #[inline]
    pub fn square(&self, tokens: u32) -> u64 {
        self.pairs.square(tokens)
    }

    /// The increase of [`Self::context`] with the next token of a sequence that has `tokens` tokens.
    #[inline]
    pub fn growth(&self, tokens: u32) -> u64 {
        if self.reads.windows == 0 {
            return self.reads.whole;
        }
        let grows = self.reads.near().iter().filter(|(window, _)| tokens < *window);
        self.reads.whole + grows.map(|(_, weight)| weight).sum::<u64>()
    }

    /// The number of further tokens for which [`Self::growth`] of a sequence of `tokens` tokens stays the same;
    /// `u32::MAX` if it never changes.
    #[inline]
    pub fn steady(&self, tokens: u32) -> u32 {
        if self.reads.windows == 0 {
            return u32::MAX;
        }
        let until = self.reads.near().iter().filter(|(window, _)| tokens < *window);
        until.map(|(window, _)| window - tokens).min().unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_over_layers_equal_sums_token_by_token() {
        type Windows = &'static [(u32, u64)];
        let cases: [(u64, Windows); 5] = [
            (1, &[]),
            (1, &[(10, 5)]),
            (0, &[(10, 3)]),
            (2, &[(1000, 4)]),
            (3, &[(5, 1), (20, 7)]),
        ];
        for (whole, near) in cases {
            let span = Span::of(whole, near);
            let reach = Reach { reads: span, pairs: span };
            for tokens in 0..40_u32 {
                let of_windows =
                    near.iter().map(|(window, weight)| weight * u64::from(tokens.min(*window)));
                let context = whole * u64::from(tokens) + of_windows.sum::<u64>();
                assert_eq!(reach.context(tokens), context);
                let grown = reach.context(tokens + 1) - reach.context(tokens);
                assert_eq!(reach.growth(tokens), grown, "{tokens}");
                // The integral of twice the tokens that are read, from 0 to `tokens`, by the trapezium rule.
                let read = (0..tokens).map(|at| reach.context(at) + reach.context(at + 1));
                assert_eq!(reach.square(tokens), read.sum::<u64>(), "{tokens}");
            }
            assert_eq!(reach.steady(4) == u32::MAX, near.is_empty());
        }
    }

    #[test]
    fn scaled_weights_stand_for_the_amounts_of_the_parts() {
        let parts = vec![
            Part { window: u32::MAX, per_token: 300.0 },
            Part { window: 128, per_token: 700.0 },
        ];
        let (span, unit) = Span::scaled(parts);
        for tokens in [1, 128, 5000] {
            let expected = 300.0 * f64::from(tokens) + 700.0 * f64::from(tokens.min(128));
            let found = span.context(tokens) as f64 * unit;
            assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
        }
    }
}
