//! Measures how late the event loop wakes up, and how much processor time a wait takes. The waits last 250 us
//! or 2 ms. Prints a line for each length: the length, p50 and p99 of the delay, and the processor time per
//! wait, all in us.

use std::time::Duration;

use inferometer_net::{Actor, EpollNet, Nanos, Net, Ready, Wake, thread_cpu_time};

/// How long all waits of one length take together.
const TOTAL: Duration = Duration::from_secs(3);

struct Waits {
    span: Duration,
    left: u32,
    due: Option<Nanos>,
    late_ns: Vec<u64>,
}

impl<N: Net> Actor<N> for Waits {
    fn turn(&mut self, net: &mut N, _: &[Ready]) -> Wake {
        let now = net.now();
        match self.due {
            Some(due) if now < due => return Wake::At(due),
            Some(due) => self.late_ns.push(now.since(due).as_nanos() as u64),
            None => {}
        }
        if self.left == 0 {
            return Wake::Done;
        }
        self.left -= 1;
        let due = net.now() + self.span;
        self.due = Some(due);
        Wake::At(due)
    }
}

fn main() -> std::io::Result<()> {
    let mut net = EpollNet::new()?;
    for span in [Duration::from_micros(250), Duration::from_millis(2)] {
        let count = (TOTAL.as_nanos() / span.as_nanos()) as u32;
        let mut waits = Waits { span, left: count, due: None, late_ns: Vec::new() };
        let before = thread_cpu_time();
        net.run(&mut waits)?;
        let cpu_us = (thread_cpu_time() - before).as_secs_f64() * 1e6 / f64::from(count);
        waits.late_ns.sort_unstable();
        let late_us =
            |share: usize| waits.late_ns[(waits.late_ns.len() - 1) * share / 100] as f64 / 1e3;
        println!("{} {:.2} {:.2} {cpu_us:.2}", span.as_micros(), late_us(50), late_us(99));
    }
    Ok(())
}
