#!/usr/bin/env bash
# A gate in CI: measures two builds of a server in turn, and compares the second with the first. It takes
# no arguments. These variables say what to do; one that is empty counts as absent:
#   PLAN                         plan file with two [[target]]s, `base` and `head`, and `rounds`; or instead
#   BASE_COMMAND, HEAD_COMMAND   lines for `sh -c` that start the servers, with {port} in them, and
#   ROUNDS                       how often each is measured [6]
#   INPUT_LENGTHS, OUTPUT_LENGTHS, CONCURRENCY, RATE, REQUESTS
#                                as the flags of `inferometer run`; they override the plan
#   GATE                         conditions, such as output_tokens_per_s>-5%,ttft_p50<+10%
#   MARGIN                       differences within this share do not matter, in percent [5]
#   STRICT                       true: a condition that is undecided counts as missed [false]
#   JUNIT                        where JUnit XML goes [OUT/gate.xml]
#   OUT                          folder for results and the database [inferometer-gate]
#   INFEROMETER                  the command [inferometer]
# Markdown goes to the file that GITHUB_STEP_SUMMARY names, else to OUT/gate.md. The exit code and the last
# line of standard error are those of `inferometer compare`; an `error:` where nothing was compared.
set -euo pipefail

# Ends with one line; the code is 2, that of wrong usage, where none is given.
fail() {
    echo "error: $1" >&2
    exit "${2:-2}"
}

# A text as a string of TOML.
quoted() {
    local text=${1//\\/\\\\}
    text=${text//\"/\\\"}
    text=${text//$'\n'/\\n}
    text=${text//$'\r'/\\r}
    text=${text//$'\t'/\\t}
    printf '"%s"' "$text"
}

[ $# = 0 ] || fail "$1: gate.sh takes no arguments; its first lines name the variables that it reads"
# The servers that are measured see none of these.
export -n PLAN BASE_COMMAND HEAD_COMMAND ROUNDS INPUT_LENGTHS OUTPUT_LENGTHS CONCURRENCY RATE REQUESTS \
    GATE MARGIN STRICT JUNIT OUT INFEROMETER

plan=${PLAN:-}
out=${OUT:-inferometer-gate}
inferometer=${INFEROMETER:-inferometer}
command -v -- "$inferometer" > /dev/null \
    || fail "$inferometer: no such command; install it (pip install inferometer), or name it (INFEROMETER)"
# What is compared and written below, so that an older command is told of before anything is measured.
usage=$("$inferometer" compare --help 2>&1) || true
for needed in GROUP/SERVER --gate --margin --strict --junit --markdown; do
    [[ $usage == *"$needed"* ]] || fail "$inferometer ($("$inferometer" --version 2>&1 | head -n 1)) is older than \
gate.sh: its \`compare\` has no $needed; install the version that the script belongs to, or name another command (INFEROMETER)"
done
[ -n "${GATE:-}" ] || fail "GATE is missing: give conditions, such as output_tokens_per_s>-5%,ttft_p50<+10%"
judge=("--gate=$GATE" "--store=$out/inferometer.db")
[ -z "${MARGIN:-}" ] || judge+=("--margin=$MARGIN")
case ${STRICT:-false} in
    true) judge+=(--strict) ;;
    false) ;;
    *) fail "STRICT is \`$STRICT\`: give true or false" ;;
esac
load=()
[ -z "${INPUT_LENGTHS:-}" ] || load+=("--input-lengths=$INPUT_LENGTHS")
[ -z "${OUTPUT_LENGTHS:-}" ] || load+=("--output-lengths=$OUTPUT_LENGTHS")
[ -z "${CONCURRENCY:-}" ] || load+=("--concurrency=$CONCURRENCY")
[ -z "${RATE:-}" ] || load+=("--rate=$RATE")
[ -z "${REQUESTS:-}" ] || load+=("--requests=$REQUESTS")

if [ -n "$plan" ]; then
    [ -z "${BASE_COMMAND:-}${HEAD_COMMAND:-}${ROUNDS:-}" ] \
        || fail "PLAN says what is measured: give BASE_COMMAND, HEAD_COMMAND and ROUNDS only without it"
    [ -f "$plan" ] || fail "PLAN: $plan is no file; give a plan with two [[target]]s, base and head"
else
    for name in BASE_COMMAND HEAD_COMMAND; do
        [ -n "${!name:-}" ] || fail "$name is missing: give PLAN, or BASE_COMMAND and HEAD_COMMAND"
        [[ ${!name} == *'{port}'* ]] || fail "$name has no {port}: write it where the server's port belongs"
    done
    [[ ${ROUNDS:-6} =~ ^[1-9][0-9]{0,3}$ ]] || fail "ROUNDS is \`$ROUNDS\`: give a number from 1 to 9999"
fi

mkdir -p "$out"
if [ -z "$plan" ]; then
    plan=$out/plan.toml
    {
        echo "rounds = ${ROUNDS:-6}"
        [ -n "${CONCURRENCY:-}${RATE:-}" ] || echo 'passes = ["saturated"]'
        printf '[[target]]\nname = "base"\nserver = { command = %s }\n' "$(quoted "$BASE_COMMAND")"
        printf '[[target]]\nname = "head"\nserver = { command = %s }\n' "$(quoted "$HEAD_COMMAND")"
    } > "$plan"
fi

# What is wrong is told before anything is measured. Neither of these two runs exists, so that the
# comparison ends with an error in any case; it is about the conditions if they are wrong.
problem=$("$inferometer" compare base head "${judge[@]}" 2>&1 > /dev/null) || true
case $problem in
    "error: --gate"* | "error: invalid value "*" for '--margin "*)
        fail "$(sed -n 's/^error: //p;q' <<< "$problem") (GATE, MARGIN)"
        ;;
esac
# With it the plans would be documents.
unset INFEROMETER_JSON
code=0
planned=$("$inferometer" run --dry-run ${load[@]+"${load[@]}"} -- "$plan" 2> "$out/gate.log") || code=$?
[ $code = 0 ] || { grep '^error: ' "$out/gate.log" >&2 || cat "$out/gate.log" >&2; exit $code; }
for name in base head; do
    grep -q "^# $name; rounds: " <<< "$planned" || fail "$plan has no [[target]] with the name $name"
done

# A group of an earlier call must not be taken for this one's.
rm -f "$out/comparison.json"
"$inferometer" run "--store=$out/inferometer.db" "--out=$out" ${load[@]+"${load[@]}"} -- "$plan" || code=$?
[ $code = 0 ] || fail "inferometer run ended with $code (above): nothing was compared" $code
group=$(sed -n '/^ *"group": "group-[0-9a-f]*",*$/{s/^[^:]*: "\([^"]*\)".*/\1/p;q;}' "$out/comparison.json")
[ -n "$group" ] || fail "$out/comparison.json names no group: nothing was compared" 1

junit=${JUNIT:-$out/gate.xml}
mkdir -p "$(dirname -- "$junit")"
"$inferometer" compare "$group/base" "$group/head" "${judge[@]}" "--junit=$junit" \
    "--markdown=${GITHUB_STEP_SUMMARY:-$out/gate.md}" 2> "$out/gate.log" || code=$?
[ -z "${GITHUB_OUTPUT:-}" ] || sed -n '$s/^\([A-Za-z]*\):.*/answer=\1/p' "$out/gate.log" >> "$GITHUB_OUTPUT"
cat "$out/gate.log" >&2
exit $code
