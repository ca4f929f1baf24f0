//! Plays one pass: the load generator on this thread, its records to a recorder. It measures and
//! stores nothing itself.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inferometer_drive::{Driver, Encoder, Endpoint, Job, Live, Recorder};
use inferometer_http::proxy::{Proxy, Tunnelled};
use inferometer_load::{PassPlan, load_model};
use inferometer_model::process::Process;
use inferometer_model::request::Sampling;
use inferometer_model::source::Source;
use inferometer_model::time::Nanos;
use inferometer_net::tls::{Secured, TlsClient};
use inferometer_net::{Actor, Address, Net, Ready, Wake};
use inferometer_plan::Plan;
use inferometer_plan::spec::limits::MAX_IN_FLIGHT;
use inferometer_store::PassBegin;

use crate::network::Network;
use crate::process_watch::ProcessWatch;

/// Plays the passes of a run, one after the other.
pub struct PassRunner<N> {
    /// The sockets and the clock.
    pub net: N,
    /// Set when the user interrupts.
    pub stop: Arc<AtomicBool>,
    /// Where the server listens.
    pub address: Address,
    /// How TLS is spoken to it, if it is.
    pub tls: Option<TlsClient>,
    /// The proxy that leads to it by a tunnel, and the server's `host:port`.
    pub tunnel: Option<(Proxy, String)>,
    /// How it is spoken to.
    pub endpoint: Endpoint,
    /// Whether `ignore_eos` is sent where the plan asks for it.
    pub sends_ignore_eos: bool,
    /// Keep output texts for the recorder.
    pub keep_text: bool,
    /// Connections carry one request after the other, until the server shows that it closes them.
    pub reuse_connections: bool,
    /// Trials of a search are cut off as soon as their claim is certain.
    pub cut_off: bool,
}

/// A pass that was played.
pub struct PlayedPass<R> {
    /// Hash over the bodies of its requests, in order.
    pub body_hash: String,
    /// What took its records.
    pub recorder: R,
    /// CPU time, event loop and clocks of this process meanwhile.
    pub process: Process,
}

/// How long before an arrival of an open loop to stay awake. A sleep ends some 50 us late, which
/// this hides; it costs at most 6 % of a processor for each thousand requests per second.
const SPIN: Duration = Duration::from_micros(60);

impl<N: Network> PassRunner<N> {
    /// Plays a pass to its end.
    ///
    /// # Errors
    /// When the system cannot wait for sockets any more.
    pub fn play<R: Recorder>(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
        source: Box<dyn Source>,
        recorder: R,
        live: Arc<Live>,
    ) -> io::Result<PlayedPass<R>> {
        let ignore_eos = plan.sampling.ignore_eos && self.sends_ignore_eos;
        let sampling = Sampling { ignore_eos, ..plan.sampling.clone() };
        let pass = &begin.plan;
        let job = Job {
            pass: begin.pass,
            load: load_model(pass, begin.seed(plan.seed)),
            stages: pass.stages(),
            encoder: Encoder::new(source, self.endpoint.clone(), sampling, self.keep_text),
            address: self.address.clone(),
            timeouts: plan.timeouts,
            planned: pass.requests(),
            max_in_flight: pass.limit().0,
            over_limit: pass.limit().1,
            connections_ahead: connections_ahead(pass) as usize,
            // Where each request needs a connection of its own, the next one waits open.
            spare_connections: spare_connections(pass).max(usize::from(!self.reuse_connections)),
            reuse_connections: self.reuse_connections,
            watcher: plan
                .search
                .as_ref()
                .filter(|_| self.cut_off)
                .and_then(|it| inferometer_analysis::search::watcher(it, pass)),
        };
        let mut driver = Driver::new(job, recorder, live, Arc::clone(&self.stop));
        // Open loops are punctual; elsewhere nothing is due but what has just ended.
        let punctual = pass.load().peak_rate() > 0.0;
        self.net.set_spin(if punctual { SPIN } else { Duration::ZERO });
        let watch = ProcessWatch::begin(&mut self.net);
        let played = match &self.tls {
            None => self.net.play(&mut driver),
            Some(tls) => {
                let mut secured = Secured::new(driver, tls.clone());
                let played = match &self.tunnel {
                    None => self.net.play(&mut secured),
                    Some((proxy, server)) => {
                        let mut tunnelled = Tunnelled::new(secured, proxy, server);
                        let played = self.net.play(&mut tunnelled);
                        secured = tunnelled.into_inner();
                        played
                    }
                };
                driver = secured.into_inner();
                played
            }
        };
        self.net.set_spin(Duration::ZERO);
        played?;
        let process = watch.end(&mut self.net, driver.waits());
        self.reuse_connections = driver.reuses_connections();
        let (body_hash, recorder) = driver.into_parts();
        Ok(PlayedPass { body_hash, recorder, process })
    }

    /// Does nothing for a time, or until the user interrupts.
    ///
    /// # Errors
    /// When the system cannot wait for sockets any more.
    pub fn rest(&mut self, span: Duration) -> io::Result<()> {
        let stop = Arc::clone(&self.stop);
        self.net.play(&mut Rest { span, until: None, stop })
    }

    /// Whether the user has interrupted.
    pub fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// An actor that lets a time pass.
struct Rest {
    span: Duration,
    until: Option<Nanos>,
    stop: Arc<AtomicBool>,
}

impl<N: Net> Actor<N> for Rest {
    fn turn(&mut self, net: &mut N, _ready: &[Ready]) -> Wake {
        let now = net.now();
        let until = *self.until.get_or_insert(now + self.span);
        if now >= until || self.stop.load(Ordering::Relaxed) { Wake::Done } else { Wake::At(until) }
    }
}

/// As many connections as can be in flight at the start.
fn connections_ahead(pass: &PassPlan) -> u32 {
    let (most, _) = pass.limit();
    let wanted = pass.load().at_start().unwrap_or(0).max(spare_connections(pass) as u32);
    wanted.min(most.unwrap_or(u32::MAX)).min(MAX_IN_FLIGHT)
}

/// Enough for the arrivals of the time that opening a connection takes, and some for bursts.
fn spare_connections(pass: &PassPlan) -> usize {
    match pass.load().peak_rate() {
        rate if rate > 0.0 && rate.is_finite() => {
            (8 + (rate * 0.02).ceil() as usize).min(MAX_IN_FLIGHT as usize)
        }
        _ => 0,
    }
}
