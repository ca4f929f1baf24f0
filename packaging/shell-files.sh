# Sourced by the scripts that make packages: the manual pages of the command, and what shells complete it by.

# shell_files COMMAND SHARE ZSH: makes them by COMMAND, which has to run here, in the folder SHARE of a package, where manual
# pages are found in man/man1; those of zsh in ZSH below it, which is another folder for each kind of package.
shell_files() {
    local command=$1 share=$2 zsh=$3
    mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/$zsh" "$share/fish/vendor_completions.d"
    "$command" manual "$share/man/man1" 2> /dev/null
    "$command" completions bash > "$share/bash-completion/completions/inferometer"
    "$command" completions zsh > "$share/$zsh/_inferometer"
    "$command" completions fish > "$share/fish/vendor_completions.d/inferometer.fish"
}
