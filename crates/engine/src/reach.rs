//! How far back the attention of the layers reads: all layers read the whole sequence, or some of them only a window.

use crate::ResolvedConfig;

/// The tokens that attention reads, summed over layers. If there is no window, all layers are alike and count as one
/// layer, so all sums are numbers of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    window: u32,
    /// The number of layers that read the whole sequence.
    whole: u64,
    /// The number of layers that read a window.
    windowed: u64,
}

impl Reach {
    pub fn of(config: &ResolvedConfig) -> Self {
        match config.windows {
            None => Self { window: u32::MAX, whole: 1, windowed: 0 },
            Some(windows) => Self {
                window: windows.tokens,
                whole: u64::from(config.model.layers - windows.layers),
                windowed: u64::from(windows.layers),
            },
        }
    }

    /// The number of layers in the sums; 1 if there is no window.
    pub fn layers(self) -> u64 {
        self.whole + self.windowed
    }

    /// The tokens that the layers read of a context of `tokens` tokens.
    pub fn context(self, tokens: u32) -> u64 {
        self.whole * u64::from(tokens) + self.windowed * u64::from(tokens.min(self.window))
    }

    /// Twice the tokens that the layers read for the first `tokens` tokens of a prompt, each of which reads the tokens
    /// before it: the square of `tokens` without a window.
    pub fn square(self, tokens: u32) -> u64 {
        let (all, near) = (u64::from(tokens), u64::from(tokens.min(self.window)));
        self.whole * all * all + self.windowed * (near * near + 2 * near * (all - near))
    }

    /// The increase of [`Self::context`] with the next token of a sequence that has `tokens` tokens.
    pub fn growth(self, tokens: u32) -> u64 {
        self.whole + if tokens < self.window { self.windowed } else { 0 }
    }

    /// The number of further tokens for which [`Self::growth`] of a sequence of `tokens` tokens stays the same;
    /// `u32::MAX` if it never changes.
    pub fn steady(self, tokens: u32) -> u32 {
        if self.windowed == 0 || tokens >= self.window { u32::MAX } else { self.window - tokens }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_over_layers_equal_sums_token_by_token() {
        for (window, whole, windowed) in [(u32::MAX, 1, 0), (10, 1, 5), (10, 0, 3), (1000, 2, 4)] {
            let reach = Reach { window, whole, windowed };
            for tokens in 0..40_u32 {
                let near = u64::from(tokens.min(window));
                assert_eq!(reach.context(tokens), whole * u64::from(tokens) + windowed * near);
                let grown = reach.context(tokens + 1) - reach.context(tokens);
                assert_eq!(reach.growth(tokens), grown, "{tokens}");
                // The integral of twice the tokens that are read, from 0 to `tokens`, by the trapezium rule.
                let read = (0..tokens).map(|at| reach.context(at) + reach.context(at + 1));
                assert_eq!(reach.square(tokens), read.sum::<u64>(), "{tokens}");
            }
            assert_eq!(reach.steady(4) == u32::MAX, windowed == 0);
        }
    }
}
