//! The user's own profiles: the TOML files in one folder. `calibrate` can write there. `run` and `check --predictions`
//! use these profiles for their predictions.

use std::time::{SystemTime, UNIX_EPOCH};
use std::{io::ErrorKind, path::Path};

use inferometer_engine::{OwnProfile, profile::profile};
use inferometer_model::calendar::rfc3339;

use super::settings::{named_profiles_folder, profiles_folder};
use crate::command_line::tell;

/// A file of the folder.
pub struct ProfileFile {
    /// The path.
    pub path: String,
    /// The date on which the file was last changed, such as `2026-11-20`.
    pub date: String,
    /// The profile, or why the file cannot be used.
    pub profile: Result<OwnProfile, String>,
    changed: SystemTime,
}

/// The files of the user's own profiles. The file that was changed last comes last. Prints a warning if the folder
/// cannot be read.
pub fn profile_files() -> Vec<ProfileFile> {
    let Some(folder) = profiles_folder() else { return Vec::new() };
    files_in(&folder).unwrap_or_else(|error| {
        let warning = warning(&folder, named_profiles_folder().is_some(), &error);
        warning.iter().for_each(|line| tell(line));
        Vec::new()
    })
}

/// The warning that the folder cannot be read. None if it is the default folder, and it does not exist.
fn warning(folder: &Path, is_named: bool, error: &std::io::Error) -> Option<String> {
    let (variable, folder) = ("INFEROMETER_PROFILES", folder.display());
    match (error.kind(), is_named) {
        (ErrorKind::NotFound, false) => None,
        (ErrorKind::NotFound, true) => Some(format!(
            "warning: {variable}: the folder {folder} does not exist; correct the path, or write a profile into this \
                folder with `calibrate --out`, which creates the folder"
        )),
        (_, true) => Some(format!(
            "warning: {variable}: {folder} cannot be read, so no profile of your own is used: \
                {error}; name a folder that you can read"
        )),
        (_, false) => Some(format!(
            "warning: {folder} cannot be read, so no profile of your own is used: {error}; make it \
                a folder that you can read, or name another folder with {variable}"
        )),
    }
}

/// The user's own profiles, the newest last. Prints a warning for each file that cannot be used.
pub fn own_profiles() -> Vec<OwnProfile> {
    let usable = profile_files().into_iter().filter_map(|file| match file.profile {
        Ok(profile) => Some(profile),
        Err(why) => {
            tell(&format!("warning: a profile of your own is not used: {why}"));
            None
        }
    });
    usable.collect()
}

fn files_in(folder: &Path) -> std::io::Result<Vec<ProfileFile>> {
    let found: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    let mut files: Vec<ProfileFile> = found
        .into_iter()
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "toml"))
        .map(|entry| {
            let path = entry.path().display().to_string();
            let changed = entry.metadata().and_then(|data| data.modified()).unwrap_or(UNIX_EPOCH);
            let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
            let date = rfc3339(i64::try_from(since.as_nanos()).unwrap_or(0))[..10].to_owned();
            let profile = profile(&path).map_err(|error| error.to_string());
            let profile = profile.map(|profile| OwnProfile { file: path.clone(), profile });
            ProfileFile { path, date, profile, changed }
        })
        .collect();
    files.sort_by(|one, other| (one.changed, &one.path).cmp(&(other.changed, &other.path)));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn files_are_sorted_by_modification_time_and_an_invalid_file_has_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = include_str!("../../../../engine/data/profiles/vllm-0.8-l40s.toml");
        for (name, text, days) in
            [("a.toml", text, 2), ("b.toml", "name = 1", 3), ("c.toml", text, 1), ("d.txt", "", 4)]
        {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            let at = UNIX_EPOCH + Duration::from_secs(days * 86_400);
            let file = std::fs::File::options().write(true).open(&path).expect("a file");
            file.set_modified(at).expect("a date");
        }
        let files = files_in(folder.path()).expect("files");
        let dates: Vec<&str> = files.iter().map(|file| file.date.as_str()).collect();
        assert_eq!(dates, ["1970-01-02", "1970-01-03", "1970-01-04"]);
        let paths: Vec<&str> = files.iter().map(|file| &file.path[file.path.len() - 6..]).collect();
        assert_eq!(paths, ["c.toml", "a.toml", "b.toml"]);
        assert!(files[0].profile.is_ok() && files[1].profile.is_ok());
        let why = files[2].profile.as_ref().expect_err("a wrong file");
        assert!(why.contains("b.toml"), "{why}");
    }

    #[test]
    fn a_folder_that_cannot_be_read_causes_a_warning_but_a_missing_default_folder_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("file"), "").expect("written");
        for (name, is_named, says) in [
            ("none", false, None),
            ("none", true, Some("INFEROMETER_PROFILES: the folder ")),
            ("none", true, Some("/none does not exist; ")),
            ("file", true, Some("INFEROMETER_PROFILES: ")),
            ("file", true, Some("/file cannot be read")),
            ("file", false, Some("/file cannot be read")),
        ] {
            let path = folder.path().join(name);
            let Err(error) = files_in(&path) else { panic!("{name} is read") };
            let found = warning(&path, is_named, &error);
            match says {
                Some(says) => assert!(found.is_some_and(|line| line.contains(says)), "{says}"),
                None => assert_eq!(found, None),
            }
        }
    }
}
