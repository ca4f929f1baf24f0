//! The engine's own record of each finished request, for comparison with a client's figures.

use std::collections::VecDeque;

use inferometer_model::Nanos;
use serde::Serialize;

/// One finished request. Instants are on the machine's monotonic clock. The instants of tokens are the ends of engine
/// steps, not the instants at which a socket accepted the bytes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Account {
    /// The id of the request, as in its response.
    pub(super) id: String,
    /// Prompt tokens.
    pub(super) prompt_tokens: u32,
    /// Output tokens.
    pub(super) output_tokens: u32,
    /// When the server received the request.
    pub(super) arrived_ns: Nanos,
    /// When the first token was ready; absent if there was none.
    pub(super) first_token_ns: Option<Nanos>,
    /// When the request ended.
    pub(super) finished_ns: Nanos,
}

/// The maximum number of stored accounts; the newest are kept.
const MAX_ACCOUNTS: usize = 100_000;

/// The accounts of the newest finished requests, oldest first.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Accounts(VecDeque<Account>);

impl Accounts {
    /// Adds an account; drops the oldest if there are already [`MAX_ACCOUNTS`].
    pub(super) fn push(&mut self, account: Account) {
        if self.0.len() == MAX_ACCOUNTS {
            self.0.pop_front();
        }
        self.0.push_back(account);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_accounts_are_stored() {
        let mut accounts = Accounts::default();
        for number in 0..=MAX_ACCOUNTS as u32 {
            accounts.push(Account {
                id: String::new(),
                prompt_tokens: number,
                output_tokens: 1,
                arrived_ns: Nanos::ZERO,
                first_token_ns: None,
                finished_ns: Nanos::ZERO,
            });
        }
        assert_eq!(accounts.0.len(), MAX_ACCOUNTS);
        assert_eq!(accounts.0[0].prompt_tokens, 1);
    }
}
