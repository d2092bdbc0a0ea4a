"""Runs test programs on a device that a single bad kernel can take away: in several processes at a time, each of which
goes on in a new one behind the test that ended it. Called by gpu_check.py."""
import collections
import os
import queue
import re
import signal
import subprocess
import threading
import time

DEVICE_LOST = 86  # the status of tests/support/device_loss.h
MOST_ENDINGS = 40  # processes that a part may lose; what is left then has not run
MOST_LOG = 12_000_000  # characters; what comes back from a borrowed machine may be limited
CHUNK = 300  # tests of one process, whose names are one argument


def kill(process):
    """With all that it started. One that the driver holds is left behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        pass


class Run:
    """A process's lines as they come; then `end`: its status, or "hung" (silent for too long) or "late"."""

    def __init__(self, command, environment, silence, deadline):
        self.silence, self.deadline, self.end = silence, deadline, None
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True,
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with self.process.stdout:
            for line in self.process.stdout:
                self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def __iter__(self):
        while True:
            patience = min(self.silence, self.deadline - time.monotonic())
            try:
                line = self.lines.get(timeout=max(patience, 0.01))
            except queue.Empty:
                self.end = "hung" if time.monotonic() < self.deadline else "late"
                kill(self.process)
                return
            if line is None:
                try:
                    self.end = self.process.wait(self.silence)
                except subprocess.TimeoutExpired:
                    self.end = "hung"
                    kill(self.process)
                return
            yield line


def ending(end):
    """What to call a test in whose midst its process ended."""
    if end == "hung":
        return "hung"
    return "lost the device" if end == DEVICE_LOST else "crashed"


def how(end):
    if isinstance(end, int) and end < 0:
        try:
            return f"killed by {signal.Signals(-end).name}"
        except ValueError:
            return f"killed by signal {-end}"
    return f"ended with status {end}" if isinstance(end, int) else str(end)


class Part:
    """One program's outcome; shared by the threads that run it."""

    def __init__(self, name, log):
        self.name, self.log = name, log
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.failures = []
        self.seconds = 0.0
        self.endings = 0

    def count(self, kind, number=1):
        with self.lock:
            self.counts[kind] += number

    def fail(self, test, kind, text, number=1):
        with self.lock:
            self.counts[kind] += number
            self.endings += kind in ("crashed", "hung", "lost the device")
            self.failures.append({"test": test, "kind": kind, "text": text[-4000:]})
            self.log.write(f"== {self.name}: {test} {kind}\n")
            if self.log.tell() < MOST_LOG:
                self.log.write(f"{text[-20000:]}\n\n")
            self.log.flush()

    def gives_up(self):
        return self.endings >= MOST_ENDINGS

    def good(self):
        return self.counts["passed"] > 0 and not self.failures and not self.counts["not run"]

    def report(self):
        return {"name": self.name, "seconds": round(self.seconds, 1), "counts": dict(self.counts),
                "failures": self.failures[:300]}


def in_threads(count, work):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def tests_of(program, environment):
    """All names, from --gtest_list_tests."""
    listed = subprocess.run([program, "--gtest_list_tests"], env=environment, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, errors="replace", timeout=60)
    if listed.returncode != 0:
        raise RuntimeError(f"--gtest_list_tests {how(listed.returncode)}: {(listed.stdout + listed.stderr)[-2000:]}")
    names, suite = [], ""
    for line in listed.stdout.splitlines():
        word = line.split("#")[0].rstrip()
        if word.endswith(".") and not line.startswith(" "):
            suite = word
        elif line.startswith("  ") and suite:
            names.append(suite + word.strip())
    return names


class GtestRun:
    """One process of a gtest program, its output taken apart."""

    MARK = re.compile(r"\[( RUN      |       OK |  SKIPPED |  FAILED  )\] ([^\s,]+)")

    def __init__(self, part):
        self.part, self.done, self.current, self.text, self.outside = part, set(), None, [], []

    def line(self, line):
        found = self.MARK.search(line)  # a test's own last line may stand before it
        mark, name = (found.group(1).strip(), found.group(2)) if found else ("", "")
        if mark == "RUN":
            self.current, self.text = name, []
        elif self.current and name == self.current:
            self.text.append(line[: found.start()])
            if mark == "FAILED":
                self.part.fail(name, "failed", "\n".join(self.text))
            else:
                self.part.count("passed" if mark == "OK" else "skipped")
            self.done.add(name)
            self.current = None
        else:
            (self.text if self.current else self.outside).append(line)

    def finish(self, end):
        if self.current and end != "late":
            self.part.fail(self.current, ending(end), "\n".join(self.text + [how(end)]))
            self.done.add(self.current)


def run_gtest(part, program, environment, jobs, silence, deadline, every=1):
    """Every test of the program, or one of `every`."""
    names = tests_of(program, environment)[::every]
    jobs = max(1, min(jobs, len(names)))

    def shard(index):
        left = names[index::jobs]
        barren = 0  # processes in a row that ran no test
        while left and barren < 2 and not part.gives_up() and time.monotonic() < deadline:
            chunk = left[:CHUNK]
            command = [program, "--gtest_color=no", "--gtest_filter=" + ":".join(chunk)]
            run = Run(command, environment, silence, deadline)
            parsed = GtestRun(part)
            for line in run:
                parsed.line(line)
            parsed.finish(run.end)
            left = [n for n in left if n not in parsed.done]
            barren = 0 if parsed.done else barren + 1
            if barren == 2 and run.end != "late":
                part.fail(part.name, "failed", "\n".join(parsed.outside[-60:] + [f"ran no test; {how(run.end)}"]), 0)
        part.count("not run", len(left))

    in_threads(jobs, shard)


def run_replay(part, program, environment, files, jobs, silence, deadline):
    """tests/ops/replay_test.cpp, a file of references to a process."""
    waiting = queue.Queue()
    for file in files:
        waiting.put(file)

    def replay(file):
        first = 0
        while not part.gives_up() and time.monotonic() < deadline:
            own = {**environment, "GRADUS_REPLAY_FILE": file, "GRADUS_REPLAY_FROM": str(first),
                   "GRADUS_REPLAY_TRACE": "1"}
            run = Run([program, "--gtest_color=no", "--gtest_filter=Replay.AnswersAsPyTorch"], own, silence, deadline)
            call, calls, bad, text, summary = "", 0, set(), [], None
            for line in run:
                if line.startswith("> "):
                    call, calls, text = line[2:], calls + 1, []
                elif line.startswith("! "):
                    test, _, why = line[2:].partition(": ")
                    part.fail(test, "failed", why, 0)
                    bad.add(calls)
                elif line.startswith("all: "):
                    summary = [int(word) for word in line.split() if word.isdigit()]
                else:
                    text.append(line)
            if summary:
                _, passed, failed, skipped = summary
                for kind, number in (("passed", passed), ("failed", failed), ("skipped", skipped)):
                    part.count(kind, number)
                return
            # Which of the calls before were skipped is not known here.
            part.count("failed", len(bad - {calls}))
            part.count("passed", max(0, calls - 1 - len(bad - {calls})))
            if run.end == "late":
                break
            part.fail(call or file, ending(run.end) if calls else "failed", "\n".join(text[-60:] + [how(run.end)]))
            if calls == 0:
                return
            first += calls
        part.count("not run")
        part.fail(file, "failed", f"not run to its end (from call {first} on)", 0)

    def worker(_):
        while True:
            try:
                replay(waiting.get_nowait())
            except queue.Empty:
                return

    in_threads(max(1, min(jobs, len(files))), worker)


def run_part(description, folder, environment, log, deadline, silence=60, every=1, files=None):
    """`description` is a part of the pack's manifest.json."""
    part = Part(description["name"], log)
    program = os.path.join(folder, "bin", description["program"])
    begin = time.monotonic()
    try:
        if description["kind"] == "replay":
            own = {**environment, "GRADUS_REPLAY_DEVICE": "cuda:0",
                   "GRADUS_REPLAY_FOLDER": os.path.join(folder, "tests", "ops")}
            files = description["files"] if files is None else files
            run_replay(part, program, own, files, description["jobs"], silence, deadline)
        else:
            run_gtest(part, program, environment, description["jobs"], silence, deadline, every)
    except Exception as error:  # the other parts go on
        part.fail(part.name, "failed", f"{type(error).__name__}: {error}")
    part.seconds = time.monotonic() - begin
    return part
