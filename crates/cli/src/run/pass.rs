//! One pass: the driver on this thread, its records to a writer, its progress to whoever looks.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use inferometer_core::load::load_model;
use inferometer_core::plan::{PassPlan, Plan};
use inferometer_core::traits::Source;
use inferometer_drive::{Driver, Encoder, Endpoint, Job, Live, Recorder};
use inferometer_net::EpollNet;

/// What all passes of a run share.
pub struct Passes {
    /// The sockets and the clock.
    pub net: EpollNet,
    /// Set when the user interrupts.
    pub stop: Arc<AtomicBool>,
    /// Where the server listens.
    pub address: SocketAddr,
    /// How it is spoken to.
    pub endpoint: Endpoint,
    /// Keep output texts for the recorder.
    pub keep_text: bool,
    /// Connections carry one request after the other, until the server shows that it closes them.
    pub reuse_connections: bool,
}

/// The most connections that are opened before a pass starts.
const MOST_AHEAD: u32 = 8_192;

impl Passes {
    /// Plays a pass to its end. Returns the identity of its bodies, and the recorder.
    ///
    /// # Errors
    /// When the system cannot wait for sockets any more.
    pub fn play<R: Recorder>(
        &mut self,
        plan: &Plan,
        number: u32,
        pass: &PassPlan,
        source: Box<dyn Source>,
        recorder: R,
        live: Arc<Live>,
    ) -> io::Result<(String, R)> {
        let sampling = plan.sampling.clone();
        let job = Job {
            pass: number,
            load: load_model(pass, plan.seed),
            encoder: Encoder::new(source, self.endpoint.clone(), sampling, self.keep_text),
            address: self.address,
            timeouts: plan.timeouts,
            planned: pass.requests(),
            max_in_flight: max_in_flight(pass),
            connections_ahead: connections_ahead(pass) as usize,
            // Where each request needs a connection of its own, the next one waits open.
            spare_connections: spare_connections(pass).max(usize::from(!self.reuse_connections)),
            reuse_connections: self.reuse_connections,
        };
        let mut driver = Driver::new(job, recorder, live, Arc::clone(&self.stop));
        self.net.play(&mut driver)?;
        self.reuse_connections = driver.reuses_connections();
        Ok(driver.into_parts())
    }

    /// Whether the user has interrupted.
    pub fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn max_in_flight(pass: &PassPlan) -> Option<u32> {
    match pass {
        PassPlan::Open { max_in_flight, .. } => *max_in_flight,
        _ => None,
    }
}

/// As many connections as can be in flight at the start.
fn connections_ahead(pass: &PassPlan) -> u32 {
    let wanted = match pass {
        PassPlan::OneByOne { .. } => 1,
        PassPlan::Saturated { requests } => *requests,
        PassPlan::Closed { concurrency, .. } => {
            (*concurrency).min(pass.requests().unwrap_or(u32::MAX))
        }
        PassPlan::Open { rate, bound, .. } if rate.is_infinite() => {
            bound.requests.unwrap_or(1).min(max_in_flight(pass).unwrap_or(u32::MAX))
        }
        PassPlan::Open { .. } => spare_connections(pass) as u32,
    };
    wanted.min(MOST_AHEAD)
}

/// Enough for the arrivals of the time that opening a connection takes, and some for bursts.
fn spare_connections(pass: &PassPlan) -> usize {
    match pass {
        PassPlan::Open { rate, .. } if rate.is_finite() => 8 + (rate * 0.02).ceil() as usize,
        _ => 0,
    }
}
