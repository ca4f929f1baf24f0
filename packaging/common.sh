# Sourced by `container.sh` and `deb.sh`, which set `target` before. Defines the version of the packages, and the
# binary to pack: the file BINARY if it is given, otherwise a static binary that is built for `target`.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

# for_processor X86_64 AARCH64 WHAT: prints the argument for the processor of `target`. WHAT names what is built.
for_processor() {
    case $target in
        x86_64-*) echo "$1" ;;
        aarch64-*) echo "$2" ;;
        *) echo "error: $target: $3 are built for x86_64 and aarch64" >&2; return 2 ;;
    esac
}

static_binary() {
    if [ -n "${BINARY:-}" ]; then
        echo "$BINARY"
    else
        packaging/static.sh "$target" | tail -n 1
    fi
}

# needs_libraries FILE: whether a binary loads libraries of the system. For a static binary, ldd fails or reports this.
needs_libraries() {
    ldd "$1" 2> /dev/null | grep --quiet --invert-match -e "statically linked" -e "not a dynamic executable"
}
