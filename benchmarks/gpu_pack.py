"""Puts what gpu_check.sh --run needs into one folder: programs, libraries that a bare machine lacks, the tests' data.
Called by gpu_check.sh."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
LIMIT_MB = 60

# What runs of the suite, and in how many processes at a time. "device": linked with CUDA, so that a rehearsal leaves it
# out.
PARTS = (
    {"name": "record", "program": "ops_cuda_record_test", "folder": "tests/ops", "kind": "gtest", "jobs": 5},
    {"name": "replay", "program": "ops_replay_test", "folder": "tests/ops", "kind": "replay", "jobs": 5},
    {"name": "kernels", "program": "cuda_kernels_device_test", "folder": "tests/cuda/device", "kind": "gtest",
     "jobs": 4, "device": True},
    {"name": "cuda_api", "program": "cuda_api_test", "folder": "tests/cuda", "kind": "gtest", "jobs": 1},
    {"name": "cuda_loader", "program": "cuda_loader_test", "folder": "tests/cuda", "kind": "gtest", "jobs": 1},
)
NOT_REPLAYED = ("random", "init", "optim")  # as in replay_test.cpp

# Never packed: the C library goes with its machine's loader, CUDA's with its driver.
MACHINES_OWN = re.compile(r"^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libresolv)[.-]")
CUDAS = re.compile(r"^lib(cuda|cudart|cublas|cublasLt|cudnn|nvrtc|nvJitLink)[._-]")
BY_NAME = ["libcudnn.so.9"]  # of CUDA's, loaded with dlopen
# Packed apart, for a machine that has none or too old ones: PyTorch is built for those of its machine.
FALLBACK = re.compile(r"^lib(stdc\+\+|gcc_s)[.]")
OPENBLAS = ["/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0", "/usr/lib/x86_64-linux-gnu/libopenblas.so.0"]


def needed_by(files, folders):
    """{soname: path}, from ldd; what is not found is an error unless it is CUDA's."""
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(folders)}
    found = {}
    for file in files:
        listed = subprocess.run(["ldd", file], env=environment, capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            name, _, rest = line.strip().partition(" => ")
            path = rest.split(" (")[0]
            if not rest or MACHINES_OWN.match(name):
                continue
            if path == "not found" and not CUDAS.match(name):
                sys.exit(f"gpu_pack: {file} needs {name}, which is not there")
            found[name] = path
    return found


def install(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
    os.chmod(target, 0o755)
    subprocess.run(["strip", "--strip-unneeded", target], check=True)


def size_mb(folder):
    return sum(os.path.getsize(os.path.join(f, n)) for f, _, names in os.walk(folder) for n in names) / 1e6


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def stage(build, folder, without_cuda):
    """The pack's files as they are when unpacked."""
    parts = [dict(part) for part in PARTS if not (without_cuda and part.get("device"))]
    programs = {part["program"]: os.path.join(build, part["folder"], part["program"]) for part in parts}
    programs["gpu_ops"] = os.path.join(build, "benchmarks", "gpu_ops")
    libraries = [os.path.join(build, "libgradus.so.0")]
    if not without_cuda:
        libraries.append(os.path.join(build, "libgradus_cuda.so.0"))
    needed = needed_by([*programs.values(), *libraries], [build])
    cuda = sorted(name for name in needed if CUDAS.match(name))
    packed = {name: path for name, path in needed.items() if name not in cuda and "gradus" not in name}
    openblas = next((path for path in OPENBLAS if os.path.exists(path)), None)
    if openblas:  # loaded by name; without it large CPU products are slower
        packed["libopenblas.so.0"] = openblas
        packed.update((n, p) for n, p in needed_by([openblas], []).items() if n not in packed)
    for name, path in programs.items():
        install(path, os.path.join(folder, "bin", name))
    for path in libraries:
        install(path, os.path.join(folder, "lib", os.path.basename(path)))
    for name, path in packed.items():
        install(path, os.path.join(folder, "fallback" if FALLBACK.match(name) else "lib", name))
    references = os.path.join(ROOT, "tests", "references", "data")
    os.makedirs(os.path.join(folder, "tests", "ops"))
    shutil.copytree(references, os.path.join(folder, "tests", "references", "data"),
                    ignore=lambda _, names: [n for n in names if n.split(".")[0] in NOT_REPLAYED])
    for name in ("replay_skips.txt", "replay_skips_cuda.txt"):
        shutil.copy(os.path.join(ROOT, "tests", "ops", name), os.path.join(folder, "tests", "ops", name))
    data = os.path.join(folder, "tests", "references", "data")
    files = sorted(os.listdir(data), key=lambda n: -os.path.getsize(os.path.join(data, n)))  # the long ones first
    for part in parts:
        if part["kind"] == "replay":
            part["files"] = [n.split(".")[0] for n in files]
    manifest = {
        "commit": git("describe", "--always", "--dirty", "--abbrev=12"),
        "packed": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "openblas": bool(openblas),
        "cuda_libraries": [*cuda, *(n for n in BY_NAME if n not in cuda)],
        "parts": parts,
    }
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)
    return sorted(packed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--plain", action="store_true", help="leave the files unpacked")
    parser.add_argument("--without-cuda", action="store_true", help="for a rehearsal alone")
    parser.add_argument("pack")
    arguments = parser.parse_args()
    pack = os.path.abspath(arguments.pack)
    if os.path.exists(pack):
        files = os.listdir(pack)
        if files and not {"payload.tar.xz", "manifest.json"} & set(files):
            sys.exit(f"gpu_pack: {pack} is there and is no pack")
        shutil.rmtree(pack)
    folder = pack if arguments.plain else pack + ".stage"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    packed = stage(os.path.abspath(arguments.build), folder, arguments.without_cuda)
    if arguments.plain:
        return
    print(f"unpacked {size_mb(folder):.1f} MB, with " + ", ".join(packed))
    os.makedirs(pack)
    subprocess.run(["tar", "-C", folder, "-cJf", os.path.join(pack, "payload.tar.xz"), "--owner=0", "--group=0", "."],
                   check=True, env={**os.environ, "XZ_OPT": "-6 -T0"})
    shutil.rmtree(folder)
    for name in ("gpu_check.sh", "gpu_check.py", "gpu_machine.py", "gpu_ops.py", "gpu_rows.py", "gpu_suite.py"):
        shutil.copy(os.path.join(HERE, name), pack)
    size = size_mb(pack)
    print(f"{pack}: {size:.1f} MB")
    if size > LIMIT_MB:
        sys.exit(f"gpu_pack: more than {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
