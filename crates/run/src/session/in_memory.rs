//! A run over a network in memory, in virtual time: all instants are the same each time.

use inferometer_drive::Endpoint;
use inferometer_model::target::{Facts, Target};
use inferometer_net::virtual_net::{VirtualNet, hosts};
use inferometer_net::{Actor, Net};
use inferometer_wire::dialect::dialect;

use super::{Finished, RunRequest, carry_out_over};
use crate::{ReadyTarget, RunError, Servers, VirtualNetwork};

/// Carries out a plan with a client of `loops` event loops, against a server with this model.
///
/// # Errors
/// The errors of [`carry_out_over`].
pub fn carry_out_in_memory(
    request: RunRequest<'_>,
    loops: usize,
    model: &str,
    server: impl Actor<VirtualNet>,
) -> Result<Finished, RunError> {
    let RunRequest { plan, context, .. } = request;
    let mut clients = hosts(1 + loops);
    let mut server_net = clients.remove(loops);
    let dialect = dialect("openai-completions").expect("invariant: this dialect exists");
    let endpoint = Endpoint {
        dialect,
        authority: "engine".to_owned(),
        path: dialect.path(plan.sampling.stream).to_owned(),
        headers: Vec::new(),
        model: model.to_owned(),
    };
    let target = Target {
        dialect: dialect.name.to_owned(),
        model: model.to_owned(),
        simulated: true,
        facts: Facts { origin: context.origin.clone(), ..Facts::default() },
        ..Target::default()
    };
    let listening = server_net.listen(([127, 0, 0, 1], 0).into()).map_err(RunError::Sockets)?;
    let ready = ReadyTarget {
        address: listening.into(),
        tls: None,
        tunnel: None,
        server: None,
        endpoint,
        target,
        findings: Vec::new(),
        embedded: None,
        others: Vec::new(),
    };
    let network = VirtualNetwork::new(clients.remove(0), server, server_net).with_loops(clients);
    carry_out_over(network, request, &mut Servers::default(), |_, _| Ok(ready))
}
