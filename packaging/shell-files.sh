# Sourced by the scripts that make packages. Writes the manual pages and the shell completions of the command.

# shell_files COMMAND SHARE ZSH: calls COMMAND, which must run on this machine, to write the files into the folder SHARE
# of a package. ZSH is the folder of zsh's completions below SHARE; it differs between kinds of packages.
shell_files() {
    local command=$1 share=$2 zsh=$3
    mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/$zsh" "$share/fish/vendor_completions.d"
    "$command" manual "$share/man/man1" 2> /dev/null
    "$command" completions bash > "$share/bash-completion/completions/inferometer"
    "$command" completions zsh > "$share/$zsh/_inferometer"
    "$command" completions fish > "$share/fish/vendor_completions.d/inferometer.fish"
}
