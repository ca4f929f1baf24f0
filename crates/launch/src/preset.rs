//! Presets: what is known of engines, as `[server]` tables. Never starts anything.
