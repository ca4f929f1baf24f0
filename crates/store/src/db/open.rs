//! Opens a database: checks that this program created it, and that this program supports its version.
//! Migrates a database of an older version.

use std::{fs::File, path::Path, time::Duration};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::views;
use crate::StoreError;

/// The steps from an empty file to the current schema. The file's `user_version` is the number of completed
/// steps. New steps are added at the end. Existing steps never change.
const MIGRATIONS: [&str; 5] = [
    include_str!("../schema/0001_runs.sql"),
    include_str!("../schema/0002_classes.sql"),
    include_str!("../schema/0003_labels_and_views.sql"),
    include_str!("../schema/0004_loads_listed.sql"),
    include_str!("../schema/0005_servers_and_ranks.sql"),
];

/// Marks a file as a database of this program (`PRAGMA application_id`): "INFR".
const APPLICATION_ID: i64 = 0x494e_4652;

/// The longest time for which a writer waits for another writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// The behaviour if there is no database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IfMissing {
    Create,
    Refuse,
}

/// Opens the database and migrates it. If there is none, creates it or returns an error, as `if_missing` says.
pub(super) fn open(path: &Path, if_missing: IfMissing) -> Result<Connection, StoreError> {
    if if_missing == IfMissing::Refuse && !path.exists() {
        return Err(StoreError::NoStore { path: path.to_owned() });
    }
    // A lock on the folder lets only one process at a time open the database. Without the lock, two processes
    // could switch a new file to WAL at the same time. SQLite then returns an error instead of waiting. If
    // the folder cannot be locked, this error is possible.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let turn = File::open(folder.unwrap_or(Path::new("."))).ok();
    let _locked = turn.as_ref().map(File::lock);
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, if_missing == IfMissing::Create);
    let mut connection = Connection::open_with_flags(path, flags).map_err(database(path))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(database(path))?;
    check_identity(&connection, path)?;
    configure(&connection).map_err(database(path))?;
    migrate(&mut connection, path)?;
    views::update(&mut connection).map_err(database(path))?;
    Ok(connection)
}

/// Opens the database read-only: no database is created or migrated.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    if !path.exists() {
        return Err(StoreError::NoStore { path: path.to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(database(path))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(database(path))?;
    let (found, known) = (check_identity(&connection, path)?, MIGRATIONS.len());
    if found < known {
        return Err(StoreError::OlderStore { path: path.to_owned(), found, known });
    }
    Ok(connection)
}

/// Returns a function that converts an error of SQLite. `path` is the database.
pub(super) fn database(path: &Path) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotAStore {
            path: path.clone(),
            what: "it is not an SQLite database".to_owned(),
        },
        _ => StoreError::Database { path: path.clone(), source },
    }
}

/// Returns the schema version in the file. Refuses a newer database, and a database of another program.
/// Writes nothing.
fn check_identity(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    // One statement reads all three values, because another process may write between two statements.
    let query = "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
                 FROM pragma_user_version, pragma_application_id";
    let (found, owner, objects): (i64, i64, i64) = connection
        .query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .map_err(database(path))?;
    let not_ours =
        |what: &str| StoreError::NotAStore { path: path.to_owned(), what: what.to_owned() };
    if owner != APPLICATION_ID && (objects > 0 || owner != 0) {
        return Err(not_ours("it is a database of another program"));
    }
    let known = MIGRATIONS.len() as i64;
    if found > known {
        return Err(StoreError::NewerStore { path: path.to_owned(), found, known });
    }
    usize::try_from(found).map_err(|_| not_ours("its schema version is negative"))
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" {
        connection.pragma_update(None, "journal_mode", "wal")?;
    }
    // With `full`, a committed run survives a crash of the machine. This setting costs little time, because
    // commits are rare.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Runs the missing migration steps in one transaction. Another process that opens the file at the same time
/// waits, and then finds the steps completed.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    if check_identity(connection, path)? == MIGRATIONS.len() {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(database(path))?;
    let done = check_identity(&transaction, path)?;
    let result = MIGRATIONS[done..]
        .iter()
        .try_for_each(|step| transaction.execute_batch(step))
        .and_then(|()| transaction.pragma_update(None, "application_id", APPLICATION_ID))
        .and_then(|()| transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64))
        .and_then(|()| transaction.commit());
    result.map_err(database(path))
}
