//! The network of the load generator: sockets in real time, or in-memory pipes in virtual time. A run has the
//! same steps on both networks. The sockets are in [`super::event_loops`].

use std::{io, time::Duration};

use inferometer_model::Nanos;
use inferometer_net::virtual_net::{VirtualNet, run, run_until};
use inferometer_net::{Actor, LoopStats, Net, StampStats, Waker};

/// A network over which actors, such as the load generator, run.
pub trait Network {
    /// The sockets and the clock of the load generator.
    type Net: Net;

    /// The current time, on the clock that is used for all instants of the run.
    fn now(&self) -> Nanos;

    /// Runs an actor until it is done.
    ///
    /// # Errors
    /// When the system can no longer wait for sockets.
    fn play(&mut self, actor: &mut impl Actor<Self::Net>) -> io::Result<()>;

    /// How many actors can run at the same time.
    fn loops(&self) -> usize {
        self.wakers().len()
    }

    /// Runs several actors at the same time until all are done, each on a separate event loop. There must be
    /// at most [`Network::loops`] actors. If one of them fails, `give_up` is called: it must end the others.
    ///
    /// # Errors
    /// The errors of [`Network::play`], and an error when the system refuses a thread.
    fn play_all<A: Actor<Self::Net> + Send>(
        &mut self,
        actors: &mut [A],
        give_up: &(dyn Fn() + Sync),
    ) -> io::Result<()>;

    /// One waker for each event loop. It wakes the event loop from another thread.
    fn wakers(&self) -> Vec<Waker>;

    /// A waker that wakes all event loops from another thread.
    fn waker(&self) -> Waker {
        Waker::of_all(self.wakers())
    }

    /// Sets how long before a due instant an event loop stops sleeping and begins to poll.
    fn set_spin(&mut self, spin: Duration);

    /// Returns and resets the delays of the event loops since the last call.
    fn take_loop_stats(&mut self) -> LoopStats;

    /// Counts of clock steps and of unusable kernel timestamps so far.
    fn stamp_stats(&self) -> StampStats;
}

/// A network in memory with one server on it, in virtual time: no real time passes while a run waits, and every
/// instant is exact.
pub struct VirtualNetwork<S> {
    client: VirtualNet,
    /// The hosts of the other event loops.
    others: Vec<VirtualNet>,
    /// The server, and its host in the network.
    server: (S, VirtualNet),
}

impl<S: Actor<VirtualNet>> VirtualNetwork<S> {
    /// A network with a server that already listens on its host.
    pub fn new(client: VirtualNet, server: S, server_net: VirtualNet) -> Self {
        Self { client, others: Vec::new(), server: (server, server_net) }
    }

    /// The same network, for a client with several event loops. `others` are the hosts of the loops after the first.
    #[must_use]
    pub fn with_loops(self, others: Vec<VirtualNet>) -> Self {
        Self { others, ..self }
    }
}

impl<S: Actor<VirtualNet>> Network for VirtualNetwork<S> {
    type Net = VirtualNet;

    fn now(&self) -> Nanos {
        self.client.now()
    }

    fn play(&mut self, actor: &mut impl Actor<VirtualNet>) -> io::Result<()> {
        let (server, server_net) = &mut self.server;
        run(&mut [(actor, self.client.clone()), (server, server_net.clone())]);
        Ok(())
    }

    fn play_all<A: Actor<VirtualNet> + Send>(
        &mut self,
        actors: &mut [A],
        _give_up: &(dyn Fn() + Sync),
    ) -> io::Result<()> {
        let leading = actors.len();
        let nets = std::iter::once(&self.client).chain(&self.others).cloned();
        let (server, server_net) = &mut self.server;
        let mut all: Vec<(&mut dyn Actor<VirtualNet>, VirtualNet)> =
            actors.iter_mut().map(|actor| actor as &mut dyn Actor<VirtualNet>).zip(nets).collect();
        all.push((server, server_net.clone()));
        run_until(&mut all, leading);
        Ok(())
    }

    fn wakers(&self) -> Vec<Waker> {
        std::iter::once(&self.client).chain(&self.others).map(VirtualNet::waker).collect()
    }

    fn set_spin(&mut self, _: Duration) {}

    fn take_loop_stats(&mut self) -> LoopStats {
        LoopStats::default()
    }

    fn stamp_stats(&self) -> StampStats {
        StampStats::default()
    }
}
