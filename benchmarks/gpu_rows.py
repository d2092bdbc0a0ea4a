"""The benchmark table: the same rows in Gradus and in PyTorch, in turn. Called by gpu_check.py."""
import ast
import contextlib
import json
import queue
import statistics
import subprocess
import threading
import time

from gpu_suite import how, kill

GB, TFLOP = 1e9, 1e12
# Row, the least that PyTorch's time / ours shall be, and what it moves or computes, with the unit a second: each input
# read once, each output written once.
ROWS = (
    ("add_64mb", 1.0, 3 * 4 * (16 << 20), GB),
    ("softmax_8192x4096", 1.2, 5 * 4 * 8192 * 4096, GB),
    ("layer_norm_8192x4096", 1.2, 5 * 4 * 8192 * 4096, GB),
    ("adamw_1e9", 1.0, 7 * 4 * 60 * 4096 * 4096, GB),
    ("matmul_8192_f32", 1.0, 2 * 8192**3, TFLOP),
    ("matmul_8192_bf16", 1.0, 2 * 8192**3, TFLOP),
    ("cross_entropy_8192x50000", 1.2, 3 * 4 * 8192 * 50000, GB),
    ("resnet50_step", 1.0, None, None),
    ("mlp_step", 4.0, None, None),
    ("mlp_graph_step", 1.0, None, None),
    ("overhead_add", None, None, None),
    ("overhead_add_recording", None, None, None),
)
MOST_RECORDING_US = 0.5  # overhead_add_recording, with launches that cost nothing
FIRST_ANSWER, NEXT_ANSWER = 90, 45  # seconds; the first one loads libraries


def rows_of_python(path):
    """The rows of gpu_ops.py, which need not be able to run here; a SyntaxError if it cannot run anywhere."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "ROWS":
            return [key.value for key in node.value.keys]
    raise ValueError(f"{path} has no ROWS")


class Worker:
    """A program that answers rows. One that dies or does not answer is started again for the next row."""

    def __init__(self, name, command, environment, log, slowness=1):
        self.name, self.command, self.environment, self.log = name, command, environment, log
        self.slowness = slowness  # how many times the usual wait for an answer
        self.process, self.lines = None, None

    def _start(self):
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
            errors="replace", start_new_session=True,
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._read, args=(self.process, self.lines), daemon=True).start()

    @staticmethod
    def _read(process, lines):
        with process.stdout:
            for line in process.stdout:
                lines.put(line)
        lines.put(None)

    def ask(self, row, deadline):
        """{"row": ..., "us": ...} or {"row": ..., "error": ...}"""
        patience = NEXT_ANSWER * self.slowness
        if self.process is None:
            self._start()
            patience = FIRST_ANSWER * self.slowness
        until = min(deadline, time.monotonic() + patience)
        try:
            self.process.stdin.write(row + "\n")
            self.process.stdin.flush()
        except OSError:
            return self._failed(row, "could not be asked")
        while True:
            try:
                line = self.lines.get(timeout=max(until - time.monotonic(), 0.01))
            except queue.Empty:
                late = time.monotonic() >= deadline
                return self._failed(row, "the time was up" if late else f"no answer in {patience} s")
            if line is None:
                try:
                    return self._failed(row, how(self.process.wait(5)))
                except subprocess.TimeoutExpired:
                    return self._failed(row, "closed its output")
            try:
                answer = json.loads(line)
                if answer["row"] == row:
                    return answer
            except (ValueError, TypeError, KeyError):
                self.log.write(line)
                self.log.flush()

    def _failed(self, row, why):
        self.close()
        return {"row": row, "error": why}

    def close(self):
        if self.process is not None:
            kill(self.process)
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        self.process = None


class Table:
    """What was measured, row by row: a list of microseconds for each side."""

    def __init__(self, rows):
        self.rows = {row: {"ours": [], "peer": [], "errors": []} for row in rows}
        self.rounds = 0

    def add(self, row, side, answer):
        entry = self.rows[row]
        if "us" in answer:
            entry[side].append(answer["us"])
        elif answer["error"] != "the time was up":
            entry["errors"].append(f"{side}: {answer['error']}")

    def failed(self):
        return [row for row, entry in self.rows.items() if entry["errors"]]

    def unmeasured(self):
        return [row for row, entry in self.rows.items() if not entry["ours"] and not entry["errors"]]

    def report(self):
        known = {name: rest for name, *rest in ROWS}
        result = []
        for row, entry in self.rows.items():
            gate, work, unit = known.get(row, (None, None, None))
            line = {"row": row, **entry, "gate": gate}
            if entry["ours"]:
                ours = statistics.median(entry["ours"])
                line["ours_us"] = ours
                if work:
                    line["per_second"] = work / ours * 1e6 / unit
                    line["unit"] = "GB/s" if unit == GB else "TFLOP/s"
            if entry["peer"]:
                line["peer_us"] = statistics.median(entry["peer"])
            if entry["ours"] and entry["peer"]:
                ratios = [p / o for p, o in zip(entry["peer"], entry["ours"])]
                line.update(ratio=line["peer_us"] / line["ours_us"], lowest=min(ratios), highest=max(ratios))
                if gate:
                    line["reached"] = line["ratio"] >= gate
            result.append(line)
        return result

    def text(self, rehearsal=False):
        if rehearsal:  # numbers of the emulation would mislead
            for row, entry in self.rows.items():
                yield f"{row:26}" + (f"{len(entry['ours'])} times" if entry["ours"] else "not measured")
                for error in sorted(set(entry["errors"])):
                    yield f"    {error}"
            return
        yield f"{'row':26}{'ours us':>12}{'PyTorch us':>12}{'ratio':>8}  {'of rounds':13}{'gate':>6}         rate"
        for line in self.report():
            def number(key, digits=2):
                return f"{line[key]:.{digits}f}" if key in line else "-"

            spread = f"{number('lowest')}-{number('highest')}" if "lowest" in line else "-"
            gate = f">={line['gate']:g}" if line["gate"] else ""
            verdict = {True: "reached", False: "BELOW", None: ""}[line.get("reached")]
            rate = f"{line['per_second']:.0f} {line['unit']}" if "per_second" in line else ""
            yield (f"{line['row']:26}{number('ours_us'):>12}{number('peer_us'):>12}{number('ratio'):>8}  {spread:13}"
                   f"{gate:>6} {verdict:7} {rate}").rstrip()
            for error in sorted(set(line["errors"])):
                yield f"    {error}"


def measure(table, ours, peer, rounds, deadline, after_round):
    """Row by row, both sides in turn, until the rounds or the time are over. A side that fails at a row twice is not
    asked for it again."""
    slowest = {}
    failures = {}
    for _ in range(rounds):
        for row in table.rows:
            if time.monotonic() + slowest.get(row, 0) > deadline:
                return
            begin = time.monotonic()
            sides = [("ours", ours), ("peer", peer)]
            for side, worker in sides if table.rounds % 2 == 0 else reversed(sides):
                if worker is None or failures.get((row, side), 0) == 2:
                    continue
                answer = worker.ask(row, deadline)
                table.add(row, side, answer)
                if "us" not in answer:
                    failures[row, side] = failures.get((row, side), 0) + 1
            slowest[row] = max(slowest.get(row, 0), time.monotonic() - begin)
        table.rounds += 1
        after_round()
