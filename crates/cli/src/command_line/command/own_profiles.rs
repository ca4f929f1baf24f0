//! The user's own profiles: the TOML files in one folder, in which `calibrate` writes and from which predictions
//! choose.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use inferometer_engine::OwnProfile;
use inferometer_engine::profile::profile;
use inferometer_model::calendar::rfc3339;

use super::settings::profiles_folder;
use crate::command_line::console::tell;

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

/// The files of the user's own profiles. The file that was changed last comes last.
pub fn profile_files() -> Vec<ProfileFile> {
    profiles_folder().map_or_else(Vec::new, |folder| files_in(&folder))
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

fn files_in(folder: &Path) -> Vec<ProfileFile> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<ProfileFile> = found
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
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_files_of_a_folder_are_read_in_the_order_of_their_changes_and_a_wrong_file_says_why() {
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
        let files = files_in(folder.path());
        let dates: Vec<&str> = files.iter().map(|file| file.date.as_str()).collect();
        assert_eq!(dates, ["1970-01-02", "1970-01-03", "1970-01-04"]);
        let paths: Vec<&str> = files.iter().map(|file| &file.path[file.path.len() - 6..]).collect();
        assert_eq!(paths, ["c.toml", "a.toml", "b.toml"]);
        assert!(files[0].profile.is_ok() && files[1].profile.is_ok());
        let why = files[2].profile.as_ref().expect_err("a wrong file");
        assert!(why.contains("b.toml"), "{why}");
        assert!(files_in(&folder.path().join("none")).is_empty());
    }
}
