//! A store as a website, with the state that pages share between requests. It never writes to the store.

use std::{collections::BTreeMap, path::Path};

use inferometer_store::{Store, StoreError};

use crate::{follow::Follow, report_cache::ReportCache};

/// The website of a store.
pub struct Site {
    pub(crate) store: Store,
    /// The logs of runs whose live view was requested, by run id. They stay open, so that each request
    /// reads only new entries.
    pub(crate) followed: BTreeMap<String, Follow>,
    pub(crate) reports: ReportCache,
}

impl Site {
    /// Opens the store in a file, for reading only.
    ///
    /// # Errors
    /// As [`Store::open_to_read`].
    pub fn open(store: &Path) -> Result<Self, StoreError> {
        let store = Store::open_to_read(store)?;
        Ok(Self { store, followed: BTreeMap::new(), reports: ReportCache::default() })
    }
}
