//! `web`: serves a dashboard of the runs in a store.

use std::path::{Path, PathBuf};
use std::{net::SocketAddr, sync::atomic::Ordering};

use clap::Args;
use inferometer_net::http::pages::{ReaderAccess, ServeError, serve};
use inferometer_store::{Store, StoreError};
use inferometer_web::Site;

use crate::command_line::{Failure, interrupt, lifeline, print, tell};

/// The default store.
const DEFAULT_STORE: &str = "inferometer.db";

/// The flags of `web`.
#[derive(Args)]
pub struct WebArgs {
    /// Address to listen on; port 0 chooses a free port. On any address other than loopback,
    /// readers need a token: the one that you set (--token-env), or a random one, which is part of
    /// the printed URL
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878")]
    listen: SocketAddr,
    /// The database, which is only read. Exception: this command upgrades a database of an earlier
    /// version, and creates the default file if it does not exist
    #[arg(long, value_name = "FILE", default_value = DEFAULT_STORE)]
    store: PathBuf,
    /// Environment variable that contains a token of your own choice: at least 16 letters, digits,
    /// hyphens or underscores. If this variable is set, readers on loopback need the token too. If
    /// it is not set, loopback needs no token, and any other address needs the random token in the
    /// printed URL
    #[arg(long, value_name = "NAME", default_value = "INFEROMETER_WEB_TOKEN")]
    token_env: String,
    /// Exit when standard input is closed
    #[arg(long)]
    until_stdin_closes: bool,
}

/// Serves the dashboard until the process is interrupted, or until standard input is closed if this was requested.
pub fn web(arguments: &WebArgs) -> Result<(), Failure> {
    let site = match Site::open(&arguments.store) {
        Err(StoreError::OlderStore { .. }) => {
            drop(Store::open_existing(&arguments.store).map_err(Failure::usage)?);
            Site::open(&arguments.store)
        }
        // A store with another name is not created, because the name may be a mistake.
        Err(StoreError::NoStore { .. }) if arguments.store == Path::new(DEFAULT_STORE) => {
            drop(Store::open(&arguments.store).map_err(Failure::usage)?);
            tell(&format!(
                "{DEFAULT_STORE}: created, because it did not exist; runs appear on the page when \
                    they begin"
            ));
            Site::open(&arguments.store)
        }
        opened => opened,
    };
    let site = site.map_err(Failure::usage)?;
    let given = std::env::var(&arguments.token_env).ok().filter(|token| !token.is_empty());
    let given = given.map(|token| (arguments.token_env.as_str(), token));
    let was_given = given.is_some();
    let access = ReaderAccess::for_address(arguments.listen, given).map_err(Failure::usage)?;
    let token = match &access {
        ReaderAccess::Token(token) if !was_given => Some(token.clone()),
        _ => None,
    };
    if arguments.until_stdin_closes {
        lifeline::end_with_stdin();
    }
    let mut told = Ok(());
    serve(site, access, arguments.listen, |at, stop, waker| {
        let query = token.map_or(String::new(), |token| format!("?token={token}"));
        told = print(&format!("listening on http://{at}/{query}\n"));
        let end = move || {
            stop.store(true, Ordering::Relaxed);
            waker.wake();
        };
        if let Err(error) = ctrlc::set_handler(end) {
            interrupt::warn_that_signals_end(&error);
        }
    })
    .map_err(|error| match error {
        ServeError::Listen { .. } => Failure::usage(format!("--listen {error}")),
        _ => Failure::run_failed(error),
    })?;
    told
}
