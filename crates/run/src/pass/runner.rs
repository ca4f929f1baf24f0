//! Runs one pass: runs the load generator on this thread or on several threads, and sends its records to a recorder.
//! Computes and stores nothing itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, sync::Arc, time::Duration};

use inferometer_analysis::stop::StopWatch;
use inferometer_drive::{
    Driver, Encoder, Endpoint, Job, Live, LoopPart, Order, Recorder, StartGate, Watcher,
};
use inferometer_model::load::{Leavers, Share};
use inferometer_model::{Nanos, PassPlan, Process, Sampling, Source};
use inferometer_net::http::proxy::{Proxy, Tunnelled};
use inferometer_net::tls::{Secured, TlsClient};
use inferometer_net::{Actor, Address, Net, Ready, Wake, Waker};
use inferometer_plan::{Plan, Procedure, spec::limits::MAX_IN_FLIGHT, stop::StopPlan};
use inferometer_store::PassBegin;
use inferometer_wire::dialect::FieldChange;

use super::{network::Network, process_watch::ProcessWatch};
use crate::ServerSpread;

/// Runs the passes of a run, one after the other.
pub struct PassRunner<N> {
    /// The sockets and the clock.
    pub net: N,
    /// Set when the user interrupts the run, and when the run cannot continue: for example, if records cannot be
    /// written or a rank is lost.
    pub stop: Arc<AtomicBool>,
    /// The server's address.
    pub address: Address,
    /// The TLS settings for the server, if it uses TLS.
    pub tls: Option<TlsClient>,
    /// The proxy with a tunnel to the server, and the server's `host:port`; absent without a tunnel.
    pub tunnel: Option<(Proxy, String)>,
    /// The dialect, path, headers and model of requests to the server.
    pub endpoint: Endpoint,
    /// The other servers, and how requests are spread over all servers.
    pub spread: ServerSpread,
    /// The fields that the server rejects, and what is sent instead.
    pub changes: Vec<FieldChange>,
    /// Whether output texts are collected and passed to the recorder.
    pub keep_text: bool,
    /// Whether a connection is used for several requests, one after the other, until the server closes it.
    pub reuse_connections: bool,
    /// Whether trials of a search end early as soon as their result is certain.
    pub cut_off: bool,
    /// The instant at which passes, pauses and requests outside of passes must end; absent without a time limit. At
    /// this instant, requests in flight are cancelled.
    pub ends: Option<Nanos>,
}

/// The result of a pass that has ended.
pub struct PlayedPass<R> {
    /// The hash over the bodies of the requests, in order.
    pub body_hash: String,
    /// The recorder that received the records.
    pub recorder: R,
    /// CPU time, event loop delays and clock steps of this process during the pass.
    pub process: Process,
}

/// In an open loop, an event loop stops sleeping and begins to poll this long before each arrival. A sleep ends about
/// 50 us late. Polling hides this delay, and costs at most 6 % of a CPU core for each thousand requests per second.
const SPIN: Duration = Duration::from_micros(60);

/// This process's part of a pass, and its start.
pub struct PassPart {
    /// The share of the requests that this process sends.
    pub share: Share,
    /// Decides when the pass starts; absent: it starts as soon as everything is prepared.
    pub gate: Option<Box<dyn StartGate>>,
}

impl PassPart {
    /// The whole pass, started as soon as everything is prepared.
    pub fn whole() -> Self {
        Self { share: Share::WHOLE, gate: None }
    }
}

impl<N: Network> PassRunner<N> {
    /// Runs a pass that is not measured to its end: it does not end early, and no client leaves.
    ///
    /// # Errors
    /// When the system can no longer wait for sockets, or refuses a thread.
    pub fn play<R: Recorder + Send>(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
        source: Box<dyn Source>,
        recorder: R,
        live: Arc<Live>,
    ) -> io::Result<PlayedPass<R>> {
        let plan = Plan { stop: StopPlan::default(), abandon: None, ..plan.clone() };
        self.play_part(&plan, begin, PassPart::whole(), source, recorder, live)
    }

    /// Runs this process's part of a pass to its end.
    ///
    /// # Errors
    /// The errors of [`PassRunner::play`].
    pub fn play_part<R: Recorder + Send>(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
        PassPart { share, gate }: PassPart,
        source: Box<dyn Source>,
        recorder: R,
        live: Arc<Live>,
    ) -> io::Result<PlayedPass<R>> {
        // In some dialects, this field is inside another one.
        let leaves_out = |field| self.changes.iter().any(|change| change.field == field);
        let ignore_eos = plan.sampling.ignore_eos && !leaves_out("ignore_eos");
        let sampling = Sampling { ignore_eos, ..plan.sampling.clone() };
        let pass = &begin.plan;
        let job = Job {
            pass: begin.pass,
            load: share.load_model(pass, begin.seed(plan.seed)),
            stages: pass.stages(),
            encoder: Encoder::new(source, self.endpoint.clone(), sampling, self.keep_text)
                .with_field_changes(self.changes.clone())
                .with_split_think(plan.split_think)
                .with_other_servers(self.spread.endpoints())
                .with_session_headers(
                    self.spread.sessions(begin),
                    matches!(pass, PassPlan::Conversations(_)),
                ),
            servers: self.spread.servers(&self.address),
            timeouts: plan.timeouts,
            leavers: plan.abandon.map(|it| Leavers { abandon: it, seed: begin.seed(plan.seed) }),
            planned: share.requests(pass),
            max_in_flight: pass.limit().0.map(|most| share.share_of(most)),
            over_limit: pass.limit().1,
            max_in_prefill: plan.max_in_prefill.map(|most| share.share_of(most)),
            connections_ahead: connections_ahead(pass, share) as usize,
            spare_connections: self.spare_connections(pass, share),
            reuse_connections: self.reuse_connections,
            watcher: self.watcher(plan, pass),
            most_time: self.most_time(),
        };
        let peak_rate = pass.peak_rate();
        let parts = self.loop_parts(begin, plan.seed, share);
        let mut driver = Driver::new(job, recorder, live, Arc::clone(&self.stop));
        if !share.is_whole() {
            // A source of conversations contains only the conversations of this share.
            let is_in_source = matches!(pass, PassPlan::Conversations(_));
            driver = driver.of_share(share, is_in_source);
        }
        if let Some(gate) = gate {
            driver = driver.starting_at(gate);
        }
        let drivers = match parts.len() {
            0 | 1 => vec![driver],
            _ => driver.on_loops(Order::of(pass), parts),
        };
        // An open loop must send requests on time. With other loads, requests are due at the start of the pass or when
        // another request has ended.
        self.net.set_spin(if peak_rate > 0.0 { SPIN } else { Duration::ZERO });
        let watch = ProcessWatch::begin(&mut self.net);
        let played = self.play_drivers(drivers);
        self.net.set_spin(Duration::ZERO);
        let mut drivers = played?;
        let driver = drivers.swap_remove(0);
        drop(drivers);
        let process = watch.end(&mut self.net, driver.waits());
        self.reuse_connections = driver.reuses_connections();
        let (body_hash, recorder) = driver.into_parts();
        Ok(PlayedPass { body_hash, recorder, process })
    }

    /// The parts of the event loops of a pass.
    fn loop_parts(&self, begin: &PassBegin, seed: u64, share: Share) -> Vec<LoopPart> {
        let pass = &begin.plan;
        let loops = share.loops(pass, self.net.loops() as u32);
        let part = |(which, waker): (u32, Waker)| {
            let part = share.of_loop(pass, which, loops);
            LoopPart {
                part,
                load: part.load_model_of_loop(pass, begin.seed(seed)),
                connections_ahead: connections_ahead(pass, part) as usize,
                spare_connections: self.spare_connections(pass, part),
                waker: Some(waker),
            }
        };
        (0..loops).zip(self.net.wakers()).map(part).collect()
    }

    /// Runs drivers until they are done, each on a separate event loop.
    fn play_drivers<R: Recorder + Send>(
        &mut self,
        drivers: Vec<Driver<R>>,
    ) -> io::Result<Vec<Driver<R>>> {
        let Some(tls) = &self.tls else { return self.play_actors(drivers) };
        let secured = drivers
            .into_iter()
            .map(|driver| Secured::new(driver, tls.clone()).with_others(self.spread.tls.clone()));
        let secured = match self.tunnel.clone() {
            None => self.play_actors(secured.collect())?,
            Some((proxy, server)) => {
                let tunnelled = secured.map(|actor| Tunnelled::new(actor, &proxy, &server));
                let played = self.play_actors(tunnelled.collect())?;
                played.into_iter().map(Tunnelled::into_inner).collect()
            }
        };
        Ok(secured.into_iter().map(Secured::into_inner).collect())
    }

    fn play_actors<A: Actor<N::Net> + Send>(&mut self, mut actors: Vec<A>) -> io::Result<Vec<A>> {
        if let [actor] = &mut actors[..] {
            self.net.play(actor)?;
            return Ok(actors);
        }
        let (stop, waker) = (Arc::clone(&self.stop), self.net.waker());
        self.net.play_all(&mut actors, &move || {
            stop.store(true, Ordering::Relaxed);
            waker.wake();
        })?;
        Ok(actors)
    }

    /// How many idle connections to keep open. If connections are not reused, at least one connection is opened in
    /// advance.
    fn spare_connections(&self, pass: &PassPlan, share: Share) -> usize {
        spare_connections(pass, share).max(usize::from(!self.reuse_connections))
    }

    /// The watcher that ends a pass early, if there is one. A trial of a search has a watcher only with
    /// `cut_off`.
    fn watcher(&self, plan: &Plan, pass: &PassPlan) -> Option<Watcher> {
        let of_trial = |it| inferometer_analysis::search::watcher(it, pass).map(Watcher::Trial);
        match &plan.procedure {
            Procedure::Search(search) => Some(search).filter(|_| self.cut_off).and_then(of_trial),
            Procedure::Passes | Procedure::Sweep(_) | Procedure::Ab(_) => {
                StopWatch::of(plan.stop, pass).map(Watcher::Stop)
            }
        }
    }

    /// The time until the time limit; absent without a limit.
    pub fn most_time(&self) -> Option<Duration> {
        self.ends.map(|ends| ends.since(self.net.now()))
    }

    /// Whether the time limit is reached.
    pub fn is_late(&self) -> bool {
        self.most_time() == Some(Duration::ZERO)
    }

    /// Waits for the time `span`. Ends earlier at the time limit, or when the user interrupts the run.
    ///
    /// # Errors
    /// When the system can no longer wait for sockets.
    pub fn rest(&mut self, span: Duration) -> io::Result<()> {
        let span = self.most_time().map_or(span, |most| span.min(most));
        let stop = Arc::clone(&self.stop);
        self.net.play(&mut Rest { span, until: None, stop })
    }

    /// Whether the run must end: see [`PassRunner::stop`].
    pub fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// An actor that waits for a time.
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

/// How many connections to open before the pass: enough for the requests in flight at its start.
pub(crate) fn connections_ahead(pass: &PassPlan, share: Share) -> u32 {
    let (most, _) = pass.limit();
    let most = most.map(|most| share.share_of(most));
    let at_start = share.share_of(pass.at_start().unwrap_or(0));
    let wanted = at_start.max(spare_connections(pass, share) as u32);
    wanted.min(most.unwrap_or(u32::MAX)).min(MAX_IN_FLIGHT)
}

/// How many idle connections an open loop needs: enough for the requests that arrive while a connection is
/// opened, and some for bursts; never more than requests, because some servers keep a thread busy for each.
fn spare_connections(pass: &PassPlan, share: Share) -> usize {
    let most = pass.requests().map_or(MAX_IN_FLIGHT, |all| share.share_of(all).min(MAX_IN_FLIGHT));
    match pass.peak_rate() / f64::from(share.ranks()) {
        rate if rate > 0.0 && rate.is_finite() => {
            (8 + (rate * 0.02).ceil() as usize).min(most as usize)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use inferometer_model::Bound;

    use super::*;

    #[test]
    fn a_pass_opens_no_more_connections_ahead_than_it_has_requests() {
        for (requests, ahead) in [(1, 1), (12, 12), (1_000, 28)] {
            let pass = PassPlan::open(1_000.0, Bound::requests(requests));
            assert_eq!(connections_ahead(&pass, Share::WHOLE), ahead, "{requests} requests");
        }
    }
}
