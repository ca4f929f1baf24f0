"""Records the store of a comparison: small runs of all kinds. Each run is tagged with its name.

The embedded engine runs many times faster than real time, so the figures do not describe any real engine.
"""
import os
import pathlib
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CRATES = HERE.parent.parent / "crates"

# Each line has a tag and a command. {engine FLAGS} starts an embedded engine with these flags, and is replaced by the
# address of this engine. {canned FLAGS} does the same with speaking_server.py. [TAG] is replaced by the id of the run
# with this tag. `! INT` and `! KILL` before a command send this signal to it when the log has records.
GRID = "--input-lengths 32 --output-lengths 12"
FAST = "--speed 50"
ONE = f"run {FAST} {GRID}"
RUNS = f"""
table               run {FAST} --input-lengths 32,64 --output-lengths 8,16 --one-by-one 3 --requests 12
one-by-one          {ONE} --passes one_by_one --one-by-one 10
saturated           {ONE} --passes saturated --requests 24
closed              {ONE} --concurrency 1,2,8 --requests 16
closed-ramp         {ONE} --concurrency 300ms@1..6
closed-held         {ONE} --concurrency 150ms@2+150ms@5
duration            run --speed 10 {GRID} --concurrency 4 --duration 250ms
poisson             {ONE} --rate 60,200,inf --requests 16
bursts              {ONE} --rate 100 --burstiness 0.25 --requests 24
equal-gaps          {ONE} --rate 100 --burstiness inf --requests 16
rate-ramp           {ONE} --rate 400ms@20..100,400ms@20..100:exp
stages              {ONE} --stages 200ms@40,200ms@120
rate-duration       {ONE} --rate 80 --duration 300ms
limit-queue         {ONE} --rate inf --max-in-flight 3 --requests 12
limit-drop          {ONE} --rate inf --max-in-flight 2 --over-limit drop --requests 12 --goodput e2e<10s
replay              {ONE} --replay data/instants.txt --replay-speed 2
mixed-loads         run plans/mixed.toml
repeats-a           run {FAST} --input-lengths 32,64 --output-lengths 12 --concurrency 4 --requests 12 --repeat 5
repeats-b           run {FAST} --input-lengths 32,64 --output-lengths 12 --concurrency 4 --requests 12 --repeat 5
repeats-slow        run --speed 25 --input-lengths 32,64 --output-lengths 12 --concurrency 4 --requests 12 --repeat 5
repeats-two         {ONE} --concurrency 2,4 --requests 8 --repeat 2
until               {ONE} --concurrency 2 --requests 6 --until requests_per_s±30%,ttft_p50±40% --max-repeats 5
until-never         {ONE} --concurrency 2 --requests 4 --until requests_per_s±0.000001% --max-repeats 3
warm                {ONE} --concurrency 2 --requests 6 --warmup 20ms --cooldown 30ms --repeat 2
slo-met             {ONE} --concurrency 4 --requests 12 --slo ttft_p99<9s,e2e_mean<9s,failures<1%,requests_per_s>1 --goodput ttft<9s,tpot<9s
slo-missed          {ONE} --concurrency 4 --requests 12 --slo ttft_p50<1us,output_tokens_per_s>1000000 --goodput e2e<2ms,ttft<1s
strict              {ONE} --passes saturated --requests 8 --strict
distribution        run {FAST} --passes saturated --requests 16 --input-distribution lognormal:40,20 --output-distribution normal:12,4 --prefix-length 8
histogram           run {FAST} --passes saturated --requests 12 --input-distribution histogram:data/lengths.txt --output-distribution uniform:4..9
range-ratio         {ONE} --passes saturated --requests 12 --range-ratio 0.5 --prefix-length 8
prefix              run --target {{engine --model qwen2.5-7b --profile a100-40g-vllm-0.32 --speed 50}} --workload prefix --prefix-groups 3 --prompts-per-group 5 --prefix-length 64 --input-lengths 96 --output-lengths 8 --passes saturated --reset-prefix-cache --repeat 2
prefix-zipf         {ONE} --workload prefix --input-lengths 48 --prefix-length 24 --prefix-zipf 1.2 --warm-share 0.6 --concurrency 3 --requests 16
sharegpt            run {FAST} --workload sharegpt --dataset data/sharegpt.json --input-lengths 16,32 --output-lengths 8 --passes table --one-by-one 3 --requests 8
serving             run {FAST} --workload sharegpt --dataset data/sharegpt.json --requests 12 --rate 200 --seed 1
serving-eos         run {FAST} --workload sharegpt --dataset data/sharegpt.json --requests 10 --rate inf --no-ignore-eos --max-total-tokens 900
blocks              run {FAST} --workload blocks --block-sizes 60,30 --wanted-lengths 20,40 --block-concurrency 2,3 --requests 4 --max-output-tokens 32
blocks-own          run {FAST} --workload blocks --dataset data/blocks --template data/template.txt --block-sizes 20 --wanted-lengths 10 --requests 3 --max-output-tokens 24
blocks-english      run {FAST} --workload blocks --template summarise-en --block-sizes 80 --wanted-lengths 30 --requests 3 --max-output-tokens 24
jsonl               run {FAST} --workload jsonl --dataset data/questions.jsonl --columns prompt=question,output_tokens=n --passes saturated --requests 3
csv                 run {FAST} --workload csv --dataset data/prompts.csv --columns output_tokens=n --passes table --one-by-one 2 --requests 4
jsonl-rows          run {FAST} --workload jsonl --dataset data/chats.jsonl --dialect openai-chat --passes saturated --requests 4 --output-length 8
rows-timed          run {FAST} --workload jsonl --dataset data/timed.jsonl --replay-rows
rows-timed-parquet  run {FAST} --workload parquet --dataset data/rows-timed.parquet --replay-rows --replay-speed 4 --output-length 6
dumped              {ONE} --rate 150 --requests 8 --dump-workload dumped.jsonl
dumped-again        run {FAST} --workload replay --dataset dumped.jsonl
trace               run {FAST} --workload trace --dataset data/burst.csv --replay-speed 2
trace-scaled        run {FAST} --workload trace --dataset data/burst.csv --trace-scale 0.5 --trace-window ..400ms --trace-max-tokens 60
trace-mooncake      run {FAST} --workload trace --dataset data/trace-mooncake.jsonl --replay-speed 4
trace-azure         run {FAST} --workload trace --dataset data/trace-azure-2023.csv --replay-speed 50
trace-azure-2024    run {FAST} --workload trace --dataset data/trace-azure-2024.csv --concurrency 2 --requests 9
trace-burstgpt      run --speed 200 --workload trace --dataset data/trace-burstgpt.csv --trace-format burstgpt --rate 40 --requests 12
conversation        run {FAST} --workload conversation --conversations 5 --turns uniform:2..4 --think-time exponential:10ms --first-turn-input 24 --turn-input 8 --turn-output 6 --concurrency 3
conversation-chat   run {FAST} --dialect openai-chat --workload conversation --conversations 4 --turns 3 --think-time 5ms --first-turn-input normal:24,4 --turn-input 8 --turn-output 6 --concurrency 3 --concurrency-of requests
conversation-rate   run {FAST} --workload conversation --conversations 6 --turns geometric:2 --think-time uniform:1ms..9ms --first-turn-input 24 --turn-input 8 --turn-output 6 --rate 60
conversation-people run {FAST} --workload conversation --dataset data/sharegpt.json --conversations 4 --turns 2 --think-time 2ms --turn-output 6 --concurrency 2
scenario-classifier run --speed 200 --scenario classifier --concurrency 4 --requests 8
scenario-rewriting  run --speed 200 --scenario rewriting --rate 100 --requests 8
scenario-chat       run --speed 200 --scenario chat --conversations 3 --think-time 5ms --concurrency 3
chat                {ONE} --dialect openai-chat --passes table --one-by-one 2 --requests 8
chat-counted        {ONE} --dialect openai-chat --count-template --passes saturated --requests 8
chat-whole          {ONE} --dialect openai-chat --no-stream --passes saturated --requests 8
whole               {ONE} --no-stream --passes table --one-by-one 2 --requests 8
token-ids           {ONE} --token-ids --passes saturated --requests 8
vllm                {ONE} --dialect vllm --passes saturated --requests 8
vllm-whole          {ONE} --dialect vllm --no-stream --passes saturated --requests 8
tgi                 {ONE} --dialect tgi --passes saturated --requests 8
tgi-whole           {ONE} --dialect tgi --no-stream --passes saturated --requests 8
extra               run --target {{engine --speed 50}} {GRID} --passes saturated --requests 6 --temperature 0.5 --extra-body {{"top_k":3}} --header X-Test:1 --no-server-metrics
responses           run --target {{canned}} --dialect openai-responses {GRID} --concurrency 2 --requests 8
anthropic           run --target {{canned}} --dialect anthropic {GRID} --concurrency 2 --requests 8
sglang              run --target {{canned}} --dialect sglang {GRID} --concurrency 2 --requests 8
llama-cpp           run --target {{canned}} --dialect llama-cpp {GRID} --concurrency 2 --requests 8
triton              run --target {{canned}} --dialect triton {GRID} --concurrency 2 --requests 8
cards               run --target {{canned}} --dialect openai-completions {GRID} --concurrency 4 --duration 1300ms --dcgm-url {{canned}}/dcgm --cards 0,1 --metrics-period 100ms
faults              run --target {{engine --speed 50 --fault cut@5 --fault reset@7 --fault status=429@9 --fault malformed@11 --fault garbage@13 --fault error-event@15 --fault stall@17 --fault status=500@19}} {GRID} --concurrency 1,4 --requests 24 --warmup 0 --event-timeout 200ms --max-failures 50%
faults-slow         run --target {{engine --speed 50 --fault slow-headers=60000@5 --fault stall@7}} {GRID} --concurrency 2 --requests 8 --warmup 0 --first-token-timeout 150ms --timeout 400ms
faults-whole        run --target {{engine --speed 50 --fault cut@5 --fault status=429@7 --fault error-event@9}} {GRID} --no-stream --concurrency 2 --requests 10 --warmup 0
faults-all          run --target {{engine --speed 50 --fault status=400}} {GRID} --concurrency 2 --requests 4 --warmup 0
died                run --target {{engine --speed 20 --fault die@6}} {GRID} --concurrency 2,3 --requests 6 --warmup 0
refused             run --target {{engine --speed 50 --fault refuse@3}} {GRID} --concurrency 1 --requests 4 --warmup 0
bundles             run --target {{engine --speed 50 --fault bundle=5}} {GRID} --passes saturated --requests 8
halves              run --target {{engine --speed 50 --fault halves --fault comments}} {GRID} --passes saturated --requests 8
closing             run --target {{engine --speed 50 --fault close}} {GRID} --passes table --one-by-one 2 --requests 6
spikes              run --target {{engine --speed 50 --fault spike=30@6}} {GRID} --concurrency 2 --requests 8 --goodput e2e<20ms,tpot<9s
too-long            run --target {{engine --speed 50 --max-model-len 64}} --input-lengths 60 --output-lengths 8 --passes saturated --requests 4
ends-early          run --target {{engine --speed 50 --end-of-text-within 9}} {GRID} --no-ignore-eos --passes table --one-by-one 4 --requests 12
tensor-parallel     run --target {{engine --speed 50 --model qwen2.5-7b --profile a100-40g-vllm-0.32 --max-num-seqs 4 --block-size 32}} {GRID} --concurrency 8 --requests 16 --metrics-period 100ms
server-histograms   run --speed 5 {GRID} --concurrency 4,8 --requests 40 --metrics-period 100ms
killed              ! KILL run --speed 20 {GRID} --concurrency 4 --requests 1000
interrupted         ! INT run --speed 20 {GRID} --concurrency 2,300ms@2..3 --requests 60
resumed             run --resume [interrupted]
sweep               run plans/sweep.toml
targets             run plans/targets.toml
search-rate         search {FAST} {GRID} --slo ttft_p50<40ms --max-requests 2000 --precision 60% --start 200 --to 3000
search-concurrency  search {FAST} {GRID} --over concurrency --slo e2e_p50<20ms --goodput ttft<50ms --attainment 80% --start 2 --max-requests 900 --precision 40%
search-never        search {FAST} {GRID} --slo ttft_p90<1us --from 20 --to 40 --max-requests 900
predicted           predict --input-lengths 128,1024 --output-lengths 32,128 --one-by-one 2 --requests 16
predicted-rates     predict --model qwen-14b --input-lengths 128 --output-lengths 64 --rate 1,4,inf --concurrency 2,8 --requests 32 --slo ttft_p99<200ms,tpot_p99<30ms
predicted-against   predict --model qwen-14b --against data/published/qwen-14b.md --input-lengths 128,1024 --output-lengths 128 --requests 60
predicted-workload  predict --workload sharegpt --dataset data/sharegpt.json --rate 4 --requests 16 --seed 1
predicted-prefix    predict --profile a100-40g-vllm-0.32 --model qwen2.5-7b --workload prefix --prefix-length 64 --input-lengths 96 --output-lengths 16 --concurrency 4 --requests 24
predicted-search    search --predict {GRID} --slo tpot_p90<25ms --max-requests 2000 --precision 60% --start 16
real-speed          run --speed 1 --input-lengths 32 --output-lengths 4,8 --one-by-one 2 --requests 6
"""
IMPORTS = ("published/chatglm3-6b.md published/mistral-7b-openorca-awq.md published/qwen-14b.md "
           "published/baichuan2-13b-gptq.md published/sus-chat-34b.md tools/aiperf.json "
           "tools/aiperf-records.jsonl tools/guidellm.json tools/llama-bench.json tools/llama-bench.md "
           "tools/sglang.jsonl tools/sglang-detailed.jsonl tools/vllm.json tools/vllm-detailed.json").split()


class Recorder:
    def __init__(self, binary, folder):
        self.folder, self.binary = folder, binary
        shutil.copytree(HERE / "plans", folder / "plans")
        shutil.copytree(CRATES / "workload/fixtures", folder / "data")
        shutil.copytree(HERE / "data", folder / "data", dirs_exist_ok=True)
        shutil.copytree(CRATES / "analysis/src/table_import/fixtures", folder / "data/published")
        shutil.copytree(CRATES / "formats/fixtures", folder / "data/tools")
        self.servers, self.ids = [], {}
        self.environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC",
                            "HF_HUB_OFFLINE": "1", "TMPDIR": tempfile.gettempdir()}

    def serve(self, argv):
        child = subprocess.Popen(argv, cwd=self.folder, env=self.environment, text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.servers.append(child)
        return child.stdout.readline().strip().removeprefix("listening on ")

    def words(self, command):
        """The words of a command. Starts the servers that the command needs."""
        while "{" in command:
            begin = command.find("{engine"), command.find("{canned")
            begin = min((at for at in begin if at >= 0), default=-1)
            if begin < 0:
                break
            end = command.index("}", begin)
            kind, *flags = shlex.split(command[begin + 1:end])
            embedded = [self.binary, "engine", "--listen", "127.0.0.1:0", "--until-stdin-closes"]
            canned = [sys.executable, str(HERE / "speaking_server.py"), "--pace", "0.002"]
            url = self.serve((embedded if kind == "engine" else canned) + flags)
            command = command[:begin] + url + command[end + 1:]
        words = [w for w in command.split(" ") if w]
        return [self.ids.get(w[1:-1], w) if w.startswith("[") else w for w in words]

    def run(self, name, command):
        how = None
        if command.startswith("! "):
            how, command = command[2:].split(" ", 1)
        words = self.words(command)
        with sqlite3.connect(self.folder / "inferometer.db") as db:
            has = db.execute("SELECT count(*) FROM sqlite_master WHERE name='runs'").fetchone()[0]
            before = {row[0] for row in db.execute("SELECT id FROM runs")} if has else set()
        takes_salt = words[0] in ("run", "search", "predict") and "--resume" not in words
        more = ["--salt", "fixed"] if takes_salt and words[1].startswith("-") else []
        quiet = ["--quiet"] if words[0] in ("run", "search", "predict") else []
        out = ["--out", f"inferometer-out/{name}"] if quiet and "--resume" not in words else []
        child = subprocess.Popen([self.binary, *words, *more, *quiet, *out], cwd=self.folder,
                                 env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if how:
            self.stop(child, signal.SIGKILL if how == "KILL" else signal.SIGINT)
        text = child.communicate()[0].decode()
        for server in self.servers:
            server.kill()
            server.wait()
        self.servers = []
        with sqlite3.connect(self.folder / "inferometer.db") as db:
            new = [row[0] for row in db.execute("SELECT id FROM runs ORDER BY id")]
        new = [run for run in new if run not in before]
        if not new or child.returncode == 2:
            print(f"{name}: exit code {child.returncode}, {len(new)} runs\n{text}", file=sys.stderr)
        for number, run in enumerate(new, 1):
            tag = name if len(new) == 1 else f"{name}-{number}"
            self.ids[tag] = run
            subprocess.run([self.binary, "tag", run, f"+{tag}"], cwd=self.folder,
                           env=self.environment, check=True, stdout=subprocess.DEVNULL)
        time.sleep(0.02)

    def stop(self, child, sent):
        """Sends the signal when the log of the run has more than 1,000 bytes."""
        logs = self.folder / "inferometer.runs"
        old = set(logs.glob("*.log"))
        while not any(p.stat().st_size > 1_000 for p in set(logs.glob("*.log")) - old):
            time.sleep(0.01)
        child.send_signal(sent)


def record(binary, folder):
    """Records all runs in a new folder, which also gets the data and the plans that the commands read."""
    recorder = Recorder(binary, folder)
    for line in RUNS.strip().splitlines():
        name, command = line.split(None, 1)
        recorder.run(name, command)
    for name in IMPORTS:
        recorder.run("imported-" + pathlib.Path(name).name.replace(".", "-"), f"import data/{name}")
    # The reports of the measurement are written again by each binary.
    shutil.rmtree(folder / "inferometer-out")
    with sqlite3.connect(folder / "inferometer.db") as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
