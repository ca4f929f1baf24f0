//! A rank of the simulation: its clock, its connection to rank 0, and the actions of its main thread.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inferometer_model::fixture::steady;
use inferometer_model::{Nanos, Record};
use inferometer_net::monotonic_now;

use super::Scene;
use crate::member::{MemberState, Rank0Connection};
use crate::message::{Down, Up};
use crate::{NoMoreRecords, Order, PassReport, SentRecord};

/// A simulated clock of a rank, with an offset to rank 0's clock and a drift.
#[derive(Clone, Copy)]
pub struct LocalClock {
    pub offset: u64,
    pub ppm: i64,
}

impl LocalClock {
    pub fn local(self, at: u64) -> u64 {
        (at as i64 + at as i64 * self.ppm / 1_000_000) as u64 + self.offset
    }

    /// The time of rank 0's clock when this clock shows `local`.
    pub fn of_rank_0(self, local: u64) -> u64 {
        let since = i128::from(local - self.offset);
        (since * 1_000_000 / (1_000_000 + i128::from(self.ppm))) as u64
    }
}

/// A request of a rank's thread to the scheduler.
pub enum Wish {
    /// Sends a message of this many bytes.
    Say(Up, u64),
    Sleep(Duration),
    Over,
}

/// Lets the thread of a rank continue at an instant, with the reply if the thread waited for one.
pub struct Go {
    pub at: u64,
    pub down: Option<Down>,
}

pub struct VirtualLine {
    pub clock: LocalClock,
    pub at: u64,
    pub wishes: Sender<(u32, Wish)>,
    pub go: Receiver<Go>,
    pub rank: u32,
    pub script: Script,
    /// The total time for decoding messages on this machine, and the total size of these messages in bytes.
    pub coding: Arc<Mutex<(Duration, u64)>>,
}

impl VirtualLine {
    fn wish(&mut self, wish: Wish) -> io::Result<Option<Down>> {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        self.wishes.send((self.rank, wish)).map_err(|_| gone())?;
        let go = self.go.recv().map_err(|_| gone())?;
        self.at = go.at;
        Ok(go.down)
    }
}

impl Rank0Connection for VirtualLine {
    fn now(&self) -> Nanos {
        Nanos(self.clock.local(self.at))
    }

    fn ask(&mut self, up: &Up) -> io::Result<Down> {
        // As over a network, rank 0 receives a message that was decoded from bytes.
        let text = serde_json::to_vec(up)?;
        let began = monotonic_now();
        let up = serde_json::from_slice(&text)?;
        let mut coding = self.coding.lock().unwrap();
        (coding.0, coding.1) =
            (coding.0 + monotonic_now().since(began), coding.1 + text.len() as u64);
        drop(coding);
        self.wish(Wish::Say(up, text.len() as u64))?
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn wait(&mut self, shared: &MemberState, most: Duration) {
        if !self.script.act(shared, self.now()) {
            // If the scheduler has ended, the next message returns the error.
            let _ = self.wish(Wish::Sleep(most));
        }
    }
}

/// The actions of a rank's main thread: it takes orders, prepares passes, and creates records when requests are due.
pub struct Script {
    pub scene: Scene,
    pub rank: u32,
    pub clock: LocalClock,
    /// The number of the order of the current pass; None before the pass has begun.
    pub pass: Option<u64>,
    pub knows_start: bool,
    pub made: u64,
    pub outgoing: Arc<Mutex<Made>>,
    /// How long before the start each rank knew the start, in nanoseconds; negative if the start was already over.
    pub ahead: Arc<Mutex<Vec<i64>>>,
}

/// Records that have not been sent yet.
#[derive(Default)]
pub struct Made {
    records: VecDeque<SentRecord>,
    is_over: bool,
}

impl Made {
    fn next(&mut self) -> Result<Option<SentRecord>, NoMoreRecords> {
        match self.records.pop_front() {
            None if self.is_over => Err(NoMoreRecords),
            next => Ok(next),
        }
    }
}

impl Script {
    /// Executes the next step of the run. Returns false if the rank must wait before its next step. During a pass,
    /// returns true only once, after the last record was created.
    fn act(&mut self, shared: &MemberState, now: Nanos) -> bool {
        let (order, is_told) = {
            let state = shared.lock();
            (state.order, state.told)
        };
        let is_in_pass = self.pass.is_some_and(|pass| pass == order && !is_told);
        if !is_in_pass {
            let Some(taken) = shared.take_order() else { return false };
            if matches!(taken, Order::Pass { .. }) {
                self.pass = Some(order);
                let outgoing = Arc::clone(&self.outgoing);
                shared.begin_pass(Box::new(move || outgoing.lock().unwrap().next()), true);
                shared.start("hash");
            }
            return true;
        }
        let mut outgoing = self.outgoing.lock().unwrap();
        let Some(start) = shared.start("hash").filter(|_| !outgoing.is_over) else { return false };
        if !self.knows_start {
            self.knows_start = true;
            self.ahead.lock().unwrap().push(start.0 as i64 - now.0 as i64);
        }
        let gap = 1_000_000_000 / self.scene.rate;
        let all = self.scene.pass.as_nanos() as u64 / gap;
        while self.made < all && start.0 + self.made * gap <= now.0 {
            let sent = Nanos(start.0 + self.made * gap);
            let index = self.made as u32 * self.scene.ranks + self.rank;
            let record = Record { index, ..steady(0.0, 10.0, 1.0, self.scene.tokens).later(sent) };
            // The instant by the clock of rank 0.
            let text = Some(self.clock.of_rank_0(sent.0).to_string());
            outgoing.records.push_back(SentRecord { record, text });
            self.made += 1;
        }
        outgoing.is_over = self.made == all;
        if outgoing.is_over {
            shared.lock().played = Some(PassReport::default());
        }
        outgoing.is_over
    }
}
