"""What benchmarks/gpu_check.sh does on a machine that one cannot try it on: tests that crash, hang or lose the device,
rows that do, libraries in several places. The programs are scripts that behave like ours."""
import io
import os
import stat
import sys
import tempfile
import time
import unittest
from unittest import mock

BENCHMARKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchmarks")
sys.path.insert(0, BENCHMARKS)
import gpu_machine  # noqa: E402
import gpu_rows  # noqa: E402
import gpu_suite  # noqa: E402

GTEST = """
import os, signal, sys, time
tests = ["Good", "Fails", "Crashes", "Loses", "Hangs", "Skips", "Prints", "Last"]
if "--gtest_list_tests" in sys.argv:
    print("Ops/A.")
    for t in tests: print(f"  {t}/add  # GetParam() = \\"add\\"")
    sys.exit(0)
chosen = [a for a in sys.argv if a.startswith("--gtest_filter=")][0].split("=")[1].split(":")
for name in chosen:
    print(f"[ RUN      ] {name}", flush=True)
    t = name.split(".")[1].split("/")[0]
    end = "       OK "
    if t == "Fails":
        print("1 is not 2")
        end = "  FAILED  "
    if t == "Crashes":
        print("near the end", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if t == "Loses":
        print("the device is lost: illegal address", flush=True)
        os._exit(86)
    if t == "Hangs": time.sleep(60)
    if t == "Skips": end = "  SKIPPED "
    if t == "Prints": print("without an end", end="")
    where = ", where GetParam() = 3" if t == "Fails" else ""
    print(f"[{end}] {name}{where} (0 ms)", flush=True)
print("[  FAILED  ] Ops/A.Fails/add, where GetParam() = 3")
"""

REPLAY = """
import os, signal, sys
first = int(os.environ["GRADUS_REPLAY_FROM"])
file = os.environ["GRADUS_REPLAY_FILE"]
failed = 0
for i in range(first, 10):
    print(f"> {file} op{i} s", flush=True)
    if i == 3:
        print(f"! {file} op{i} s forward: 1 instead of 2", flush=True)
        failed += 1
    if i == 5 and file == "bad": os.kill(os.getpid(), signal.SIGABRT)
print(f"{file}: {10 - first} calls")
print(f"all: {10 - first} calls, {10 - first - failed - 1} as PyTorch, {failed} failed, 1 skipped")
"""

ROWS = """
import json, os, sys, time
print("a library says hello", flush=True)
for line in sys.stdin:
    row = line.strip()
    if row == "dies": os._exit(9)
    if row == "hangs": time.sleep(60)
    if row == "fails": print(json.dumps({"row": row, "error": "no memory"}), flush=True)
    else: print(json.dumps({"row": row, "us": 4.0}), flush=True)
"""


class WithPrograms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(os.path.join(self.folder, "bin"))
        self.log = io.StringIO()

    def program(self, text):
        path = os.path.join(self.folder, "bin", "program")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\n{text}")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def run_part(self, text, kind="gtest", seconds=30, **more):
        self.program(text)
        description = {"name": "part", "program": "program", "kind": kind, "jobs": 2, "files": ["good", "bad"]}
        until = time.monotonic() + seconds
        return gpu_suite.run_part(description, self.folder, dict(os.environ), self.log, until, **more)


class Suite(WithPrograms):
    def test_one_test_costs_no_other(self):
        part = self.run_part(GTEST, silence=4)
        self.assertEqual(dict(part.counts), {"passed": 3, "failed": 1, "crashed": 1, "lost the device": 1, "hung": 1,
                                             "skipped": 1, "not run": 0})
        self.assertFalse(part.good())
        texts = {failure["test"].split(".")[1]: failure["text"] for failure in part.failures}
        self.assertEqual(texts["Fails/add"].strip(), "1 is not 2")
        self.assertIn("near the end\nkilled by SIGSEGV", texts["Crashes/add"])
        self.assertIn("illegal address", texts["Loses/add"])
        self.assertIn("Ops/A.Hangs/add hung", self.log.getvalue())

    def test_the_time_is_up(self):
        part = self.run_part(GTEST.replace('"Good", ', '"Good", "Hangs", '),
                             seconds=2)
        self.assertGreater(part.counts["not run"], 0)
        self.assertFalse(part.good())
        self.assertLess(part.seconds, 20)

    def test_a_program_that_does_not_start(self):
        part = self.run_part("import sys\nprint('cannot load libx.so')\nsys.exit(127)")
        self.assertFalse(part.good())
        self.assertIn("libx.so", part.failures[0]["text"])
        part = self.run_part(GTEST.replace("chosen = ", "print('no device'); sys.exit(1)\nchosen = "))
        self.assertEqual(part.counts["not run"], 8)
        self.assertIn("no device\nran no test; ended with status 1", part.failures[0]["text"])
        part = self.run_part("import sys\nsys.exit(0)")
        self.assertFalse(part.good())

    def test_all_is_well(self):
        part = self.run_part(GTEST.replace('"Fails", "Crashes", "Loses", "Hangs", ', ""))
        self.assertTrue(part.good(), part.failures)
        part = self.run_part(GTEST.replace('"Fails", "Crashes", "Loses", "Hangs", ', ""), every=2)
        self.assertEqual(sum(part.counts.values()), 2)

    def test_replay_goes_on_behind_a_crash(self):
        part = self.run_part(REPLAY, kind="replay")
        # "good": 10 calls, one fails and one is skipped. "bad": 5 before the crash, one of them fails; 4 behind it.
        self.assertEqual(dict(part.counts), {"passed": 8 + 4 + 3, "failed": 2, "skipped": 2, "crashed": 1})
        self.assertEqual(sorted(f["test"] for f in part.failures),
                         ["bad op3 s forward", "bad op5 s", "good op3 s forward"])


class Rows(WithPrograms):
    def worker(self):
        log = open(os.path.join(self.folder, "log"), "w+", encoding="utf-8")
        self.addCleanup(log.close)
        worker = gpu_rows.Worker("Gradus", [self.program(ROWS)], dict(os.environ), log)
        self.addCleanup(worker.close)
        return worker, log

    def test_a_row_costs_no_other(self):
        worker, log = self.worker()
        with mock.patch.multiple(gpu_rows, FIRST_ANSWER=20, NEXT_ANSWER=4):
            until = time.monotonic() + 60
            answers = [worker.ask(row, until) for row in ("a", "dies", "b", "hangs", "fails", "c")]
        self.assertEqual([a.get("us") for a in answers], [4.0, None, 4.0, None, None, 4.0])
        self.assertEqual([a["error"] for a in answers if "error" in a],
                         ["ended with status 9", "no answer in 4 s", "no memory"])
        log.seek(0)
        self.assertIn("hello", log.read())
        self.assertEqual(worker.ask("hangs", time.monotonic() + 0.5)["error"], "the time was up")

    def test_the_table(self):
        class Fixed:
            def __init__(self, us):
                self.us, self.asked = us, []

            def ask(self, row, _):
                self.asked.append(row)
                return {"row": row, "error": "bad"} if row == "overhead_add" else {"row": row, "us": self.us}

        ours, peer = Fixed(2.0), Fixed(3.0)
        table = gpu_rows.Table([row for row, *_ in gpu_rows.ROWS])
        gpu_rows.measure(table, ours, peer, 3, time.monotonic() + 60, lambda: None)
        lines = {line["row"]: line for line in table.report()}
        self.assertEqual(lines["add_64mb"]["ratio"], 1.5)
        self.assertTrue(lines["add_64mb"]["reached"])
        self.assertFalse(lines["mlp_step"]["reached"])
        self.assertAlmostEqual(lines["add_64mb"]["per_second"], 3 * 4 * (16 << 20) / 2e-6 / 1e9)
        self.assertEqual(table.failed(), ["overhead_add"])
        self.assertEqual(ours.asked.count("overhead_add"), 2)
        text = "\n".join(table.text())
        self.assertIn("BELOW", text)
        self.assertIn("    ours: bad", text)
        self.assertEqual(gpu_rows.Table(["x"]).unmeasured(), ["x"])

    def test_pytorchs_rows_are_ours(self):
        rows = gpu_rows.rows_of_python(os.path.join(BENCHMARKS, "gpu_ops.py"))
        self.assertEqual(rows, [row for row, *_ in gpu_rows.ROWS])


class Machine(unittest.TestCase):
    def test_the_toolkit_comes_first(self):
        with tempfile.TemporaryDirectory() as folder:
            def holding(name, *files):
                path = os.path.join(folder, name)
                os.makedirs(path)
                for file in files:
                    open(os.path.join(path, file), "w", encoding="utf-8").close()
                return path

            toolkit = holding("cuda/lib64", "libcudart.so.13", "libcublasLt.so.13")
            wheel = holding("nvidia/cublas/lib", "libcublasLt.so.13")
            cudnn = holding("nvidia/cudnn/lib", "libcudnn.so.9")
            with mock.patch.object(gpu_machine, "toolkit_folders", lambda: [toolkit, os.path.join(folder, "absent")]), \
                 mock.patch.object(gpu_machine, "wheel_folders", lambda _: [wheel, cudnn]):
                taken, folders = gpu_machine.find_libraries(
                    ["libcudart.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libother.so.1"], None)
            self.assertEqual(taken["libcublasLt.so.13"], os.path.join(os.path.realpath(toolkit), "libcublasLt.so.13"))
            self.assertEqual(taken["libcudnn.so.9"], os.path.join(os.path.realpath(cudnn), "libcudnn.so.9"))
            self.assertIsNone(taken["libother.so.1"])
            self.assertEqual(folders, [toolkit, wheel, cudnn])
            path = gpu_machine.environment_for("/pack", folders)["LD_LIBRARY_PATH"].split(":")
            self.assertEqual(path[:4], ["/pack/lib", toolkit, wheel, cudnn])

    def test_a_bare_machine(self):
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            self.assertEqual(gpu_machine.nvidia_smi(["name"]), {})
            self.assertIn("processors", gpu_machine.describe())


if __name__ == "__main__":
    unittest.main()
