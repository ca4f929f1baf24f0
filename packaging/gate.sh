#!/usr/bin/env bash
# A gate in CI: measures two builds of a server in turn, and compares the second with the first. It takes no
# arguments. It reads these variables; an empty variable counts as absent. Defaults are in brackets:
#   PLAN                         plan file with two [[target]]s, `base` and `head`, and `rounds`.
#                                Without PLAN, give the next three variables:
#   BASE_COMMAND, HEAD_COMMAND   lines for `sh -c` that start the servers; {port} is replaced by the port
#   ROUNDS                       how often each server is measured [6]
#   INPUT_LENGTHS, OUTPUT_LENGTHS, CONCURRENCY, RATE, REQUESTS
#                                the flags of `inferometer run` with these names; they override the plan
#   GATE                         conditions, such as output_tokens_per_s>-5%,ttft_p50<+10%; required
#   MARGIN                       differences within this share do not matter, in percent [5]
#   STRICT                       true: an undecided condition counts as missed [false]
#   JUNIT                        file for JUnit XML [OUT/gate.xml]
#   OUT                          folder for results and the database [inferometer-gate]
#   INFEROMETER                  the command [inferometer]
# The Markdown page is written to the file that GITHUB_STEP_SUMMARY names, otherwise to OUT/gate.md. The exit code and
# the last line of standard error are those of `inferometer compare`. If nothing was compared, the last line begins with
# `error:`.
set -euo pipefail

# fail MESSAGE [CODE]: prints one line and ends the script. The default exit code is 2 (wrong usage).
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
# The measured servers do not inherit these variables.
export -n PLAN BASE_COMMAND HEAD_COMMAND ROUNDS INPUT_LENGTHS OUTPUT_LENGTHS CONCURRENCY RATE REQUESTS \
    GATE MARGIN STRICT JUNIT OUT INFEROMETER

plan=${PLAN:-}
out=${OUT:-inferometer-gate}
inferometer=${INFEROMETER:-inferometer}
command -v -- "$inferometer" > /dev/null \
    || fail "$inferometer: no such command; install it (pip install inferometer), or set INFEROMETER to its path"
# The flags that are used below. If the command is older and lacks one, the script ends before anything is measured.
usage=$("$inferometer" compare --help 2>&1) || true
for needed in GROUP/SERVER --gate --margin --strict --junit --markdown; do
    [[ $usage == *"$needed"* ]] || fail "$inferometer ($("$inferometer" --version 2>&1 | head -n 1)) is older than \
gate.sh: its \`compare\` has no $needed; install the version of this script, or set INFEROMETER to the path of that version"
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
        || fail "PLAN already states what is measured: leave out BASE_COMMAND, HEAD_COMMAND and ROUNDS"
    [ -f "$plan" ] || fail "PLAN: $plan is not a file; give a plan with two [[target]]s, base and head"
else
    for name in BASE_COMMAND HEAD_COMMAND; do
        [ -n "${!name:-}" ] || fail "$name is missing: give PLAN, or BASE_COMMAND and HEAD_COMMAND"
        [[ ${!name} == *'{port}'* ]] || fail "$name has no {port}: write {port} instead of the server's port number"
    done
    [[ ${ROUNDS:-6} =~ ^([1-9][0-9]{0,2}|1000)$ ]] || fail "ROUNDS is \`$ROUNDS\`: give a number from 1 to 1000"
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

# Wrong conditions are reported before anything is measured. The runs `base` and `head` do not exist, so this comparison
# always ends with an error. If the conditions are wrong, the error is about them.
problem=$("$inferometer" compare base head "${judge[@]}" 2>&1 > /dev/null) || true
case $problem in
    "error: --gate"* | "error: invalid value "*" for '--margin "*)
        fail "$(sed -n 's/^error: //p;q' <<< "$problem") (GATE, MARGIN)"
        ;;
esac
# With this variable, --dry-run would print JSON.
unset INFEROMETER_JSON
code=0
planned=$("$inferometer" run --dry-run ${load[@]+"${load[@]}"} -- "$plan" 2> "$out/gate.log") || code=$?
[ $code = 0 ] || { grep '^error: ' "$out/gate.log" >&2 || cat "$out/gate.log" >&2; exit $code; }
for name in base head; do
    grep -q "^# $name; rounds: " <<< "$planned" || fail "$plan has no [[target]] with the name $name"
done

# The group of an earlier call must not be used for this call.
rm -f "$out/comparison.json"
"$inferometer" run "--store=$out/inferometer.db" "--out=$out" ${load[@]+"${load[@]}"} -- "$plan" || code=$?
[ $code = 0 ] || fail "inferometer run ended with exit code $code (see above): nothing was compared" $code
group=$(sed -n '/^ *"group": "group-[0-9a-f]*",*$/{s/^[^:]*: "\([^"]*\)".*/\1/p;q;}' "$out/comparison.json")
[ -n "$group" ] || fail "$out/comparison.json has no name of a group: nothing was compared" 1

junit=${JUNIT:-$out/gate.xml}
mkdir -p "$(dirname -- "$junit")"
"$inferometer" compare "$group/base" "$group/head" "${judge[@]}" "--junit=$junit" \
    "--markdown=${GITHUB_STEP_SUMMARY:-$out/gate.md}" 2> "$out/gate.log" || code=$?
[ -z "${GITHUB_OUTPUT:-}" ] || sed -n '$s/^\([A-Za-z]*\):.*/answer=\1/p' "$out/gate.log" >> "$GITHUB_OUTPUT"
cat "$out/gate.log" >&2
exit $code
