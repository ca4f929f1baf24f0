# Sourced by the scripts that compile packages. Cargo.toml does not optimise these crates, so that a build from source
# takes less time. Packages are built once and used often, so they contain optimised code. The script that sources this
# may set `optimised_level`.
optimised=()
for crate in inferometer-plan inferometer-launch; do
    optimised+=(--config "profile.release.package.$crate.opt-level=${optimised_level:-1}")
done
