//! Restores the runs of a bundle into a store, with their original run ids.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use inferometer_store::{RestoredRun, Store};

use super::open::{Bundle, Bundled};
use crate::stored_error::StoredRunError;

/// A run of a bundle that is now in the store.
pub struct Restored {
    /// Whether the run was already in the store. If true, nothing was stored.
    pub was_there: bool,
}

/// Restores a run of a bundle with all its records, under the same run id.
///
/// # Errors
/// If the store has a different run with the same id, if the log in the bundle is incomplete or belongs to another run,
/// if the bundle cannot be read, or if the store cannot be read or written.
pub fn restore(
    store: &mut Store,
    bundle: &Bundle,
    run: &Bundled,
) -> Result<Restored, StoredRunError> {
    if store.has_run(&run.id)? {
        let known = store.run(run.id.as_str())?;
        // Equal plans, start times and results identify the same run. The results are compared after parsing, because
        // another version of this program may have stored them in another format.
        let is_same = known.plan_hash == run.about.plan_hash
            && known.started_unix_ns == run.about.started_unix_ns
            && known.summary.as_ref() == Some(&run.summary);
        return match is_same {
            true => Ok(Restored { was_there: true }),
            false => Err(StoredRunError::refused(format!(
                "{}: the store already has a different run {}; import the bundle into another store \
                 (--store)",
                bundle.path.display(),
                run.id
            ))),
        };
    }
    let log = store.path_to_restore(&run.id)?;
    let entered = copy(bundle, run, &log).and_then(|()| {
        let about = &run.about;
        let restored = RestoredRun {
            id: run.id.clone(),
            state: run.state,
            started_unix_ns: about.started_unix_ns,
            finished_unix_ns: about.finished_unix_ns,
            origin_unix_ns: about.origin_unix_ns,
            tool_version: about.tool.version.clone(),
            plan_json: run.plan_json.clone(),
            plan_hash: about.plan_hash.clone(),
            summary: run.summary.clone(),
        };
        Ok(store.restore_run(&restored, &log)?)
    });
    if entered.is_err() {
        // Remove the log, because the store has no entry for it.
        let _ = fs::remove_file(&log);
    }
    entered.map(|()| Restored { was_there: false })
}

fn copy(bundle: &Bundle, run: &Bundled, log: &Path) -> Result<(), StoredRunError> {
    let unwritable = StoredRunError::of_file(log);
    let mut file = BufWriter::new(File::create(log).map_err(&unwritable)?);
    bundle.copy_log(run, &mut file)?;
    file.flush().map_err(&unwritable)?;
    file.get_ref().sync_all().map_err(unwritable)
}
