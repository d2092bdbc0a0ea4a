"""What a machine with a GPU has: its driver, CUDA's libraries, PyTorch; and the pack that is brought there. Called by
gpu_check.py."""
import glob
import json
import os
import shutil
import subprocess
import tarfile

DRIVER_FOLDERS = ("/usr/local/nvidia/lib64", "/usr/lib/wsl/lib")


def output_of(command, timeout=20, environment=None):
    """What it prints, or why it could not."""
    try:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    return (done.stdout.strip(), "") if done.returncode == 0 else (None, (done.stdout + done.stderr).strip())


def nvidia_smi(fields):
    """The first device's fields, by name; {} where there is no nvidia-smi."""
    text, _ = output_of(["nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader"])
    return dict(zip(fields, (v.strip() for v in text.splitlines()[0].split(",")))) if text else {}


def clocks():
    return nvidia_smi(["clocks.sm", "clocks.mem", "temperature.gpu", "power.draw", "utilization.gpu", "memory.used"])


def describe():
    about = {"nvidia_smi": nvidia_smi(["name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.mem",
                                       "power.limit", "compute_mode", "mig.mode.current"]), "clocks": clocks()}
    about["nvcc"] = (output_of(["nvcc", "--version"])[0] or "").splitlines()[-2:]
    about["kernel"] = " ".join(os.uname())
    about["processors"] = len(os.sched_getaffinity(0))
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as cpuinfo:
        models = [line.split(":", 1)[1].strip() for line in cpuinfo if line.startswith("model name")]
    about["processor"] = models[0] if models else ""
    return about


def toolkit_folders():
    nvcc = shutil.which("nvcc")
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"),
             os.path.dirname(os.path.dirname(os.path.realpath(nvcc))) if nvcc else None, "/usr/local/cuda",
             *sorted(glob.glob("/usr/local/cuda-*"), reverse=True), "/opt/cuda"]
    for root in filter(None, roots):
        yield from (os.path.join(root, sub) for sub in ("lib64", "targets/x86_64-linux/lib", "lib"))


def wheel_folders(python):
    """Those of NVIDIA's wheels, which PyTorch's needs."""
    paths, _ = output_of([python, "-c", "import sys; print('\\n'.join(sys.path))"]) if python else (None, "")
    for path in (paths or "").splitlines():
        yield from sorted(glob.glob(os.path.join(path, "nvidia", "*", "lib")))


def warm(python):
    """Begins to read PyTorch from the disk, which takes a fresh machine long, while the suite runs."""
    return subprocess.Popen([python, "-c", "import torch"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True)


def find_libraries(sonames, python):
    """Where each library is taken from (None: nowhere), and the folders for the loader's path, in order. The toolkit's
    come before the wheels'; a wheel's follow even if nothing is wanted of them, since cuDNN loads others by name."""
    folders = []
    for folder in [*toolkit_folders(), *wheel_folders(python)]:
        if os.path.isdir(folder) and os.path.realpath(folder) not in map(os.path.realpath, folders):
            folders.append(folder)
    taken = {}
    for soname in sonames:
        holders = [f for f in folders if os.path.exists(os.path.join(f, soname))]
        taken[soname] = os.path.realpath(os.path.join(holders[0], soname)) if holders else None
    wanted = [f for f in folders if any(os.path.exists(os.path.join(f, s)) for s in sonames) or "/nvidia/" in f]
    return taken, wanted


def environment_for(pack, folders, fallback=False):
    """For programs of the pack. PyTorch gets none of it: it has libraries of its own."""
    path = [os.path.join(pack, "lib"), *([os.path.join(pack, "fallback")] if fallback else []), *folders]
    path += [p for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    path += [p for p in DRIVER_FOLDERS if os.path.isdir(p)]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(path)}


def open_pack(pack, scratch):
    """The folder of its files, unpacked if need be, and its manifest."""
    payload = os.path.join(pack, "payload.tar.xz")
    if os.path.exists(payload):
        try:
            with tarfile.open(payload, "r:xz") as archive:
                archive.extractall(scratch, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))
        except tarfile.CompressionError:  # a Python without lzma
            subprocess.run(["tar", "-C", scratch, "-xJf", payload], check=True)
        pack = scratch
    with open(os.path.join(pack, "manifest.json"), encoding="utf-8") as file:
        return pack, json.load(file)
