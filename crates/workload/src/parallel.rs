//! Calls a function for many indices on several threads. The results are in the order of the indices, and
//! do not depend on the number of threads.

use std::{num::NonZero, panic::resume_unwind, thread};

use inferometer_model::Tokenizer;
use inferometer_net::spawn_scoped;

/// Returns the results of `work(0)` to `work(count - 1)`, or the error of the lowest index that failed.
/// The largest number of threads is [`Tokenizer::calls_at_once`], by default one per processor.
pub fn in_order<T, E>(
    tokenizer: &dyn Tokenizer,
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E>
where
    T: Send,
    E: Send,
{
    let processors = || thread::available_parallelism().map_or(1, NonZero::get);
    let threads = tokenizer.calls_at_once().unwrap_or_else(processors);
    on_threads(threads, count, work)
}

/// As [`in_order`], on at most `threads` threads.
pub fn on_threads<T, E>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E>
where
    T: Send,
    E: Send,
{
    // Starting a thread takes longer than making a few prompts.
    let threads = threads.min(count / 8).max(1);
    if threads == 1 {
        return (0..count).map(work).collect();
    }
    let chunk = count.div_ceil(threads);
    let parts: Vec<Result<Vec<T>, E>> = thread::scope(|scope| {
        let work = &work;
        let range = |part: usize| (part * chunk).min(count)..((part + 1) * chunk).min(count);
        let part_of = move |part| range(part).map(work).collect();
        let handles: Vec<_> =
            (0..threads).map(|part| (part, spawn_scoped(scope, move || part_of(part)))).collect();
        handles
            .into_iter()
            .map(|(part, handle)| match handle {
                Ok(handle) => handle.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // The operating system could not start the thread, so the current thread computes this
                // part.
                Err(_) => part_of(part),
            })
            .collect()
    });
    let mut all = Vec::with_capacity(count);
    for part in parts {
        all.extend(part?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        for count in [0, 1, 7, 8, 100, 1_001] {
            let expected: Vec<usize> = (0..count).map(|index| index * index).collect();
            for threads in [1, 2, 3, 64] {
                let found = on_threads(threads, count, |index| Ok::<_, ()>(index * index));
                assert_eq!(found, Ok(expected.clone()), "{count} on {threads}");
            }
        }
    }

    #[test]
    fn the_error_of_the_lowest_index_is_the_one_returned() {
        let work = |index| if index % 30 == 29 { Err(index) } else { Ok(index) };
        for threads in [1, 2, 5] {
            assert_eq!(on_threads(threads, 1_000, work), Err(29));
        }
    }
}
