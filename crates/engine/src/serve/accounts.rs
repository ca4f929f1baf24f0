//! The engine's own account of each finished request: the truth that clients are held against.

use std::collections::VecDeque;

use inferometer_model::time::Nanos;
use serde::Serialize;

/// One finished request. Instants are on the machine's monotonic clock, and those of tokens are
/// when the engine's step was over, not when a socket took the bytes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Account {
    /// The request's id, as its answer states it.
    pub(super) id: String,
    /// Prompt tokens.
    pub(super) prompt_tokens: u32,
    /// Output tokens.
    pub(super) output_tokens: u32,
    /// When the engine took it up.
    pub(super) arrived_ns: Nanos,
    /// When its first token was made; absent where none was.
    pub(super) first_token_ns: Option<Nanos>,
    /// When it ended.
    pub(super) finished_ns: Nanos,
}

/// The most accounts that are kept: those of the newest requests.
const KEPT: usize = 100_000;

/// The accounts of the newest finished requests, the oldest first.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Accounts(VecDeque<Account>);

impl Accounts {
    /// Adds one; the oldest goes where there are as many as are kept.
    pub(super) fn push(&mut self, account: Account) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(account);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_accounts_are_kept_and_no_more() {
        let mut accounts = Accounts::default();
        for number in 0..=KEPT as u32 {
            accounts.push(Account {
                id: String::new(),
                prompt_tokens: number,
                output_tokens: 1,
                arrived_ns: Nanos::ZERO,
                first_token_ns: None,
                finished_ns: Nanos::ZERO,
            });
        }
        assert_eq!(accounts.0.len(), KEPT);
        assert_eq!(accounts.0[0].prompt_tokens, 1);
    }
}
