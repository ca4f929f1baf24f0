#!/usr/bin/env bash
# Builds a Debian package of the command, with its manual pages and shell completions.
# Usage: packaging/deb.sh [TARGET] [FOLDER]. With BINARY=FILE, it packs this file and compiles nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/shell-files.sh
target=${1:-$(uname -m)-unknown-linux-gnu}
out=${2:-target/packages}
source packaging/common.sh
architecture=$(for_processor amd64 arm64 packages)
binary=$(static_binary)
root=$(mktemp -d)
chmod 755 "$root"
trap 'rm -rf "$root"' EXIT

# The command itself writes its pages and completions. If it is for another processor, INFEROMETER must name a command
# that runs on this machine and writes them.
runs=${INFEROMETER:-$binary}
install -D -m 755 "$binary" "$root/usr/bin/inferometer"
shell_files "$runs" "$root/usr/share" zsh/vendor-completions
gzip --best --no-name "$root"/usr/share/man/man1/*.1
mkdir -p "$root/usr/share/doc/inferometer" "$root/DEBIAN"
cp LICENSE "$root/usr/share/doc/inferometer/copyright"
# A binary that is not static needs the C library of the system.
depends=
if needs_libraries "$binary"; then depends=$'\nDepends: libc6'; fi
cat > "$root/DEBIAN/control" <<END
Package: inferometer
Version: $version
Architecture: $architecture
Section: utils
Priority: optional
Maintainer: The Inferometer developers <inferometer@localhost>
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Suggests: nvidia-smi$depends
Description: measures how fast LLM serving engines are
 It starts servers, sends requests at planned times, records every request, states how wrong its
 own figures can be, compares results with statistical methods, and predicts results without a server.
END
mkdir -p "$out"
dpkg-deb --root-owner-group --build "$root" "$out/inferometer_${version}_$architecture.deb"
