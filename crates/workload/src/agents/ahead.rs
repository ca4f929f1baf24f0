//! Makes the requests of calls on another thread while the calls that they wait for are in flight, so that long prompts
//! delay no send.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inferometer_model::Request;

use super::player::{Memory, Player};

type Made = Arc<Mutex<HashMap<(u32, u32), Request>>>;

/// A thread that makes requests.
pub struct Ahead {
    wanted: Sender<Wanted>,
    made: Made,
}

enum Wanted {
    /// The call with this place in the job with this number.
    Call(u32, u32),
    /// No more calls of this job are needed.
    Over(u32),
}

impl Ahead {
    /// Starts the thread; `None` if the system refuses it, or if requests cannot be made before the calls that they wait
    /// for have ended.
    pub fn start(player: &Arc<Player>) -> Option<Self> {
        if !player.knows_prompts() {
            return None;
        }
        let (wanted, asked) = channel();
        let made = Made::default();
        let (player, to) = (Arc::clone(player), Arc::clone(&made));
        std::thread::Builder::new().spawn(move || make(&player, &asked, &to)).ok()?;
        Some(Self { wanted, made })
    }

    /// Asks for a request.
    pub fn ask(&self, number: u32, call: u32) {
        // If the thread has ended, the request is made when it is needed.
        let _ = self.wanted.send(Wanted::Call(number, call));
    }

    /// The request, if it is made. It will not be needed again.
    pub fn take(&self, number: u32, call: u32) -> Option<Request> {
        lock(&self.made).remove(&(number, call))
    }

    /// No more calls of a job are needed.
    pub fn over(&self, number: u32) {
        let _ = self.wanted.send(Wanted::Over(number));
    }
}

fn lock(made: &Made) -> MutexGuard<'_, HashMap<(u32, u32), Request>> {
    made.lock().unwrap_or_else(PoisonError::into_inner)
}

fn make(player: &Player, asked: &Receiver<Wanted>, made: &Made) {
    let mut memories: HashMap<u32, Memory> = HashMap::new();
    for wanted in asked {
        match wanted {
            Wanted::Call(number, call) => {
                let memory = memories.entry(number).or_default();
                // An error is told when the request is needed.
                if let Ok(request) = player.request(number, call, memory) {
                    lock(made).insert((number, call), request);
                }
            }
            Wanted::Over(number) => {
                memories.remove(&number);
                lock(made).retain(|(of, _), _| *of != number);
            }
        }
    }
}
