//! How long a thread was ready to run and had no processor, as the kernel counts it in `schedstat`.

use std::{fs::File, os::unix::fs::FileExt, time::Duration};

/// The kernel's account of a thread: its scheduling statistics over an interval of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// How long the thread was ready to run and had no processor.
    pub waited: Duration,
    /// How often the thread received a processor: after a sleep, a stop or a preemption.
    pub turns: u64,
}

/// Reads the kernel's account of one thread.
pub struct RunDelay {
    file: Option<File>,
    last_ns: u64,
    last_turns: u64,
    /// The value of `last_ns` at the last call of [`RunDelay::take_total`].
    total_from_ns: u64,
}

impl RunDelay {
    /// Opens the account of the calling thread. If the kernel keeps no account, the other functions return
    /// `None`.
    pub fn of_this_thread() -> Self {
        let file = File::open("/proc/thread-self/schedstat").ok();
        let mut delay = Self { file, last_ns: 0, last_turns: 0, total_from_ns: 0 };
        delay.since_last();
        delay.take_total();
        delay
    }

    /// The account since the last call; `None` if the kernel keeps no account.
    pub fn since_last(&mut self) -> Option<Account> {
        let mut buffer = [0; 96];
        let count = self.file.as_ref()?.read_at(&mut buffer, 0).ok()?;
        let (now_ns, turns) = parse(&buffer[..count])?;
        let waited = Duration::from_nanos(now_ns.saturating_sub(self.last_ns));
        let account = Account { waited, turns: turns.saturating_sub(self.last_turns) };
        (self.last_ns, self.last_turns) = (now_ns, turns);
        Some(account)
    }

    /// How long the thread waited for a processor, from the previous call of this function to the last call
    /// of [`RunDelay::since_last`]; `None` if the kernel keeps no account.
    pub fn take_total(&mut self) -> Option<Duration> {
        self.file.as_ref()?;
        let from_ns = std::mem::replace(&mut self.total_from_ns, self.last_ns);
        Some(Duration::from_nanos(self.last_ns.saturating_sub(from_ns)))
    }
}

/// Parses `schedstat`: time on a processor (ns), time waiting for a processor (ns), and how often the thread
/// received a processor. Returns the second and the third number. This runs twice for each long wait, so it reads the
/// digits itself.
fn parse(text: &[u8]) -> Option<(u64, u64)> {
    let first = text.iter().position(|byte| *byte == b' ')?;
    let (waited_ns, rest) = number(&text[first + 1..])?;
    let (turns, _) = number(rest.strip_prefix(b" ")?)?;
    Some((waited_ns, turns))
}

/// The number at the beginning of a text, and the rest of the text.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    let mut digits = 0;
    while let Some(digit) = text.get(digits).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        number = number.wrapping_mul(10).wrapping_add(digit.into());
        digits += 1;
    }
    (digits > 0).then(|| (number, &text[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_field_of_schedstat_is_the_delay_and_the_third_is_the_number_of_turns() {
        assert_eq!(parse(b"5012345 2704161 17\n"), Some((2_704_161, 17)));
        for other in ["5012345", "5012345  17\n", "5012345 x 17\n", ""] {
            assert_eq!(parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn the_run_delay_agrees_with_the_kernel_account_of_this_thread() {
        let of_the_kernel = || parse(&std::fs::read("/proc/thread-self/schedstat").ok()?);
        let Some((before_ns, _)) = of_the_kernel() else {
            assert_eq!(RunDelay::of_this_thread().since_last(), None, "there is no account");
            return;
        };
        let mut delay = RunDelay { last_ns: before_ns, ..RunDelay::of_this_thread() };
        delay.total_from_ns = before_ns;
        // A busy machine may let this thread wait at any point, which increases all of these numbers.
        let since_ns = delay.since_last().expect("an account").waited.as_nanos();
        let total_ns = delay.take_total().expect("an account").as_nanos();
        let (after_ns, _) = of_the_kernel().expect("an account");
        assert!(since_ns <= u128::from(after_ns - before_ns), "{since_ns} ns");
        assert_eq!(total_ns, since_ns);
        assert!((before_ns..=after_ns).contains(&delay.last_ns), "{} ns", delay.last_ns);
        assert_eq!(delay.take_total(), Some(Duration::ZERO), "it was taken");
    }
}
