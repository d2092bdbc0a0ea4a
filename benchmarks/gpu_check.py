"""Runs a pack on a machine with a GPU, or rehearses that without one. Called by gpu_check.sh, which says how."""
import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time

import gpu_machine
import gpu_rows
import gpu_suite

HERE = os.path.dirname(os.path.abspath(__file__))
SUITE_SHARE = 0.55  # of the time; what it does not use the benchmark gets
RESERVE = 12  # seconds for what comes after the benchmark
SLOWNESS = 6  # of the emulation, on a busy machine
SHOWN_FAILURES = 25


def parse(argv):
    parser = argparse.ArgumentParser(prog="gpu_check.sh")
    parser.add_argument("--run", dest="mode", action="store_const", const="run")
    parser.add_argument("--rehearse", dest="mode", action="store_const", const="rehearse")
    parser.add_argument("pack", nargs="?", default=os.path.join(os.path.dirname(HERE), "build-gpu", "pack"))
    parser.add_argument("--cuda-library", help="what to rehearse on: libgradus_cuda.so of tests/cuda_emulation")
    parser.add_argument("--out", default=os.environ.get("OUT") or "gpu_results", help="the folder for results ($OUT)")
    parser.add_argument("--seconds", type=float, default=345, help="for all of it (%(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="of the benchmark, if the time suffices (%(default)s)")
    parser.add_argument("--python", help="the Python that has PyTorch (this one; in a rehearsal none)")
    parser.add_argument("--only", choices=("suite", "benchmark"))
    parser.add_argument("--short", action="store_true", help="a part of the suite")
    parser.add_argument("--stand-in", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if not arguments.mode and not arguments.stand_in:
        parser.error("say --run or --rehearse")
    return arguments


def stand_in(path):
    """Answers for gpu_ops.py where there is no PyTorch."""
    rows = gpu_rows.rows_of_python(path)
    for line in sys.stdin:
        row = line.strip()
        if row == "about":
            answer = {"row": row, "torch": "none: a stand-in"}
        elif row in rows:
            answer = {"row": row, "us": 1.0}
        else:
            answer = {"row": row, "error": "there is no such row"}
        print(json.dumps(answer), flush=True)


class Results:
    """Written anew whenever something is known, so that an end from outside loses nothing."""

    def __init__(self, folder, mode):
        self.folder, self.data, self.parts, self.table, self.notes = folder, {"mode": mode}, [], None, []
        os.makedirs(folder, exist_ok=True)
        self.begin = time.monotonic()

    def note(self, text):
        """Something wrong beside the parts and rows."""
        self.notes.append(text)
        print(f"gpu_check: {text}", flush=True)

    def good(self):
        rows_good = self.table is None or not (self.table.failed() or self.table.unmeasured())
        return not self.notes and rows_good and all(part.good() for part in self.parts)

    def text(self):
        device = self.data.get("gradus", {})
        manifest = self.data.get("manifest", {})
        yield (f"Gradus {manifest.get('commit', '')} on {device.get('device', 'no device')}"
               f"{'' if self.data['mode'] == 'run' else ' (a rehearsal)'}")
        smi = self.data.get("machine", {}).get("nvidia_smi", {})
        yield (f"driver {smi.get('driver_version', '-')} (CUDA {device.get('driver', '-')}), built with CUDA "
               f"{device.get('runtime', '-')}; PyTorch {self.data.get('pytorch', {}).get('torch', '-')}")
        for soname, path in self.data.get("libraries", {}).items():
            yield f"  {soname}: {path}"
        for note in self.notes:
            yield f"! {note}"
        if self.parts:
            yield ""
        for part in self.parts:
            counts = ", ".join(f"{number} {kind}" for kind, number in sorted(part.counts.items()) if number)
            yield f"{part.name:12} {counts or 'nothing ran'} ({part.seconds:.1f} s)"
        failures = [(part.name, failure) for part in self.parts for failure in part.failures]
        for name, failure in failures[:SHOWN_FAILURES]:
            line = " ".join(failure["text"].split())
            yield f"  {name}: {failure['test']} {failure['kind']}: {line[:300]}"
        if len(failures) > SHOWN_FAILURES:
            yield f"  ... and {len(failures) - SHOWN_FAILURES} more: suite.log"
        if self.table is not None:
            yield ""
            rehearsal = self.data["mode"] == "rehearse"
            if not rehearsal:
                yield f"PyTorch's time / ours, medians of {self.table.rounds} whole rounds and one begun"
            yield from self.table.text(rehearsal)
        if "overhead" in self.data:
            yield self.data["overhead"]
        yield ""
        yield f"{'all good' if self.good() else 'NOT all good'}, {time.monotonic() - self.begin:.0f} s"

    def save(self):
        self.data["suite"] = [part.report() for part in self.parts]
        self.data["benchmark"] = self.table.report() if self.table is not None else []
        self.data["notes"] = self.notes
        self.data["seconds"] = round(time.monotonic() - self.begin, 1)
        for name, text in (("results.json", json.dumps(self.data, indent=1)), ("summary.txt", "\n".join(self.text()))):
            path = os.path.join(self.folder, name)
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(text + "\n")
            os.replace(path + ".new", path)


def first_contact(results, pack, folders):
    """The environment in which the pack's programs run, and what they say of the device; None if there is none."""
    program = os.path.join(pack, "bin", "gpu_ops")
    why = ""
    for fallback in (False, True):
        environment = gpu_machine.environment_for(pack, folders, fallback)
        listed, why = gpu_machine.output_of([program, "--list"], 60, environment)
        if listed is None:
            continue
        if fallback:
            results.data["fallback"] = "the pack's own libstdc++"
        about, why = gpu_machine.output_of([program, "--about"], 120, environment)
        results.data["rows"] = listed.split()
        if about is None:
            break
        results.data["gradus"] = json.loads(about)
        mapped = [p for p in results.data["gradus"].pop("libraries")
                  if any(part in os.path.basename(p) for part in ("cud", "cublas", "gradus", "dnnl", "stdc++"))]
        results.data["libraries_in_use"] = mapped
        return environment
    results.note(f"the programs do not run, or find no device: {why}")
    return None


def run_suite(results, pack, manifest, environment, log, deadline, short):
    environment = {**environment, "OMP_NUM_THREADS": "3"}  # several processes at a time, and small tensors
    rehearsal = results.data["mode"] == "rehearse"
    parts = [part for part in manifest["parts"] if not (rehearsal and part.get("device"))]
    for i, part in enumerate(parts):
        left = deadline - time.monotonic()
        if left <= 0:
            results.note(f"no time was left for {part['name']}")
            continue
        own = deadline if i + 1 == len(parts) else time.monotonic() + left * 0.6
        print(f"running {part['name']}", flush=True)
        files = part.get("files", [])[:2] if short else None
        done = gpu_suite.run_part(part, pack, environment, log, own, every=25 if short else 1, files=files)
        results.parts.append(done)
        results.save()


class OnEmptyLaunches:
    """In a rehearsal the host's work is measured on launches that cost nothing."""

    def __init__(self, command, environment, log):
        self.plain = gpu_rows.Worker("Gradus", [*command, "--small", "--serve"], environment, log, SLOWNESS)
        self.empty = gpu_rows.Worker("Gradus", [*command, "--serve"],
                                     {**environment, "GRADUS_EMULATION_LAUNCHES": "empty"}, log, SLOWNESS)

    def ask(self, row, deadline):
        return (self.empty if row.startswith("overhead") else self.plain).ask(row, deadline)

    def close(self):
        self.plain.close()
        self.empty.close()


def run_benchmark(results, pack, environment, arguments, log, deadline):
    rehearsal = arguments.mode == "rehearse"
    program, peer_program = os.path.join(pack, "bin", "gpu_ops"), os.path.join(HERE, "gpu_ops.py")
    rows, peer_rows = results.data["rows"], gpu_rows.rows_of_python(peer_program)
    if rows != peer_rows or rows != [row for row, *_ in gpu_rows.ROWS]:
        results.note(f"gpu_ops has the rows {rows}, gpu_ops.py {peer_rows}, gpu_rows.py others or in another order")
    if rehearsal:
        ours = OnEmptyLaunches([program], environment, log)
    else:
        ours = gpu_rows.Worker("Gradus", [program, "--serve"], environment, log)
    if rehearsal and not arguments.python:
        command = [sys.executable, os.path.join(HERE, "gpu_check.py"), "--stand-in", peer_program]
    else:
        command = [arguments.python or sys.executable, peer_program, "--serve"]
        command += ["--small", "--cpu"] if rehearsal else []
    peer = gpu_rows.Worker("PyTorch", command, dict(os.environ), log, SLOWNESS if rehearsal else 1)
    results.table = gpu_rows.Table(rows)
    results.data["clocks"] = []
    results.data["pytorch"] = peer.ask("about", deadline)
    if "error" in results.data["pytorch"]:
        results.note(f"PyTorch does not run: {results.data['pytorch']['error']} (benchmark.log)")
        peer.close()
        peer = None

    def after_round():
        results.data["clocks"].append(gpu_machine.clocks())
        results.save()

    print("running the benchmark", flush=True)
    try:
        gpu_rows.measure(results.table, ours, peer, arguments.rounds, deadline, after_round)
    finally:
        ours.close()
        if peer:
            peer.close()
    recording = next((line for line in results.table.report() if line["row"] == "overhead_add_recording"), {})
    if rehearsal and "ours_us" in recording:
        reached = recording["ours_us"] <= gpu_rows.MOST_RECORDING_US
        results.data["overhead"] = (
            f"an addition that is recorded, its launch costing nothing: {recording['ours_us']:.3f} us "
            f"(<= {gpu_rows.MOST_RECORDING_US}: {'reached' if reached else 'MISSED'})")


def main():
    arguments = parse(sys.argv[1:])
    if arguments.stand_in:
        stand_in(arguments.stand_in)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results = Results(arguments.out, arguments.mode)
    deadline = time.monotonic() + arguments.seconds
    python = arguments.python or (sys.executable if arguments.mode == "run" else None)
    scratch = tempfile.mkdtemp(prefix="gpu_check-")
    try:
        with contextlib.ExitStack() as stack:
            logs = [stack.enter_context(open(os.path.join(arguments.out, name), "w", encoding="utf-8", buffering=1))
                    for name in ("suite.log", "benchmark.log")]
            pack, manifest = gpu_machine.open_pack(arguments.pack, scratch)
            results.data["manifest"] = {k: v for k, v in manifest.items() if k != "parts"}
            results.data["machine"] = gpu_machine.describe()
            folders = []
            if arguments.mode == "rehearse":
                if not arguments.cuda_library:
                    raise SystemExit("gpu_check: a rehearsal needs --cuda-library")
                os.environ["GRADUS_CUDA_LIBRARY"] = os.path.abspath(arguments.cuda_library)
            else:
                results.data["libraries"], folders = gpu_machine.find_libraries(manifest["cuda_libraries"], python)
                for soname, path in results.data["libraries"].items():
                    print(f"{soname}: {path or 'not found'}", flush=True)
                if arguments.only != "suite":
                    stack.callback(gpu_suite.kill, gpu_machine.warm(python))
            results.save()
            environment = first_contact(results, pack, folders)
            results.save()
            if environment is not None:
                if arguments.only != "benchmark":
                    run_suite(results, pack, manifest, environment, logs[0],
                              time.monotonic() + (deadline - time.monotonic()) * SUITE_SHARE, arguments.short)
                if arguments.only != "suite":
                    run_benchmark(results, pack, environment, arguments, logs[1], deadline - RESERVE)
    except Exception as error:  # what is known so far is kept
        results.note(f"{type(error).__name__}: {error}")
        raise
    finally:
        results.data["machine_after"] = gpu_machine.clocks()
        results.save()
        print("\n".join(results.text()), flush=True)
        shutil.rmtree(scratch, ignore_errors=True)
    return 0 if results.good() else 1


if __name__ == "__main__":
    sys.exit(main())
