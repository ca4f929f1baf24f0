"""Starts the server of llama.cpp from the Python package xllamacpp, with some of the flags of `llama-server`."""

import argparse
import threading

import xllamacpp

parser = argparse.ArgumentParser(prog="llama-server")
parser.add_argument("--model", required=True)
parser.add_argument("--host", default="127.0.0.1")
parser.add_argument("--port", type=int, default=8080)
parser.add_argument("--parallel", type=int, default=4)
parser.add_argument("--ctx-size", type=int, default=4096)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--metrics", action="store_true")
given = parser.parse_args()

params = xllamacpp.CommonParams()
params.model.path = given.model
params.hostnames = [given.host]
params.port = given.port
params.n_parallel = given.parallel
params.n_ctx = given.ctx_size
params.cpuparams.n_threads = given.threads
params.endpoint_metrics = given.metrics
params.warmup = False
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
threading.Event().wait()
