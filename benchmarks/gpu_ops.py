"""The rows of gpu_ops.cpp in PyTorch: one line of JSON each, microseconds a call. Called by gpu_check.py.

    gpu_ops.py [--small] [--cpu] [row ...]     --small, --cpu: a rehearsal without a GPU
    gpu_ops.py [--small] [--cpu] --serve       rows named on the standard input, one a line; "about" names the versions
"""
import contextlib
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

SMALL = "--small" in sys.argv
DEVICE = "cpu" if "--cpu" in sys.argv else "cuda"


def size(full, rehearsal):
    return rehearsal if SMALL else full


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def time_of(call):
    def run(calls):
        synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        synchronize()
        return (time.perf_counter() - begin) * 1e6 / calls

    run(2)
    calls = 1 if SMALL else min(max(int(100000 / max(run(1), 1.0)), 1), 1000)
    return statistics.median(run(calls) for _ in range(size(7, 1)))


def host_time_of(call):
    """What the host does for one call, while the device is given no more than it takes without waiting."""
    times = []
    for _ in range(size(400, 20)):
        synchronize()
        begin = time.perf_counter()
        for _ in range(256):
            call()
        times.append((time.perf_counter() - begin) * 1e6 / 256)
    return statistics.median(times)


def leaf(*sizes):
    return torch.randn(*sizes, device=DEVICE).requires_grad_()


def add_64mb():
    with torch.no_grad():
        a, b = (torch.randn(size(16 << 20, 1 << 10), device=DEVICE) for _ in range(2))
        c = torch.empty_like(a)
        return time_of(lambda: torch.add(a, b, out=c))


def softmax_step():
    x = leaf(size(8192, 8), size(4096, 64))
    g = torch.randn_like(x)

    def step():
        torch.softmax(x, 1).backward(g)
        x.grad = None

    return time_of(step)


def layer_norm_step():
    width = size(4096, 64)
    x, w, b = leaf(size(8192, 8), width), leaf(width), leaf(width)
    g = torch.randn_like(x)

    def step():
        F.layer_norm(x, (width,), w, b).backward(g)
        x.grad = w.grad = b.grad = None

    return time_of(step)


def adamw_step():
    parameters = [leaf(size(4096 * 4096, 64)) for _ in range(size(60, 3))]
    for p in parameters:
        p.grad = torch.randn_like(p)
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, fused=True)
    return time_of(optimizer.step)


def matmul_of(dtype):
    with torch.no_grad():
        n = size(8192, 32)
        a, b = (torch.randn(n, n, device=DEVICE, dtype=dtype) for _ in range(2))
        c = torch.empty_like(a)
        return time_of(lambda: torch.mm(a, b, out=c))


def cross_entropy_step():
    rows, classes = size(8192, 4), size(50000, 50)
    x, target = leaf(rows, classes), torch.randint(classes, (rows,), device=DEVICE)

    def step():
        F.cross_entropy(x, target).backward()
        x.grad = None

    return time_of(step)


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        out = 4 * width
        self.c1, self.b1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.c2, self.b2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.c3, self.b3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.side = None
        if stride != 1 or inputs != out:
            self.side = nn.Sequential(nn.Conv2d(inputs, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.b1(self.c1(x)).relu_()
        y = self.b2(self.c2(y)).relu_()
        y = self.b3(self.c3(y))
        return y.add_(self.side(x) if self.side else x).relu_()


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        first = size(64, 8)
        self.stem, self.norm = nn.Conv2d(3, first, 7, 2, 3, bias=False), nn.BatchNorm2d(first)
        layers, inputs = [], first
        for stage, blocks in enumerate((3, 4, 6, 3)):
            for i in range(size(blocks, 1)):
                layers.append(Bottleneck(inputs, first << stage, 2 if i == 0 and stage > 0 else 1))
                inputs = 4 * (first << stage)
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(inputs, 1000)

    def forward(self, images):
        x = F.max_pool2d(self.norm(self.stem(images)).relu_(), 3, 2, 1)
        return self.head(self.layers(x).mean((2, 3)))


def resnet50_step():
    net = ResNet50().to(DEVICE).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    batch, side = size(64, 2), size(224, 32)
    images = torch.randn(batch, 3, side, side, device=DEVICE).to(memory_format=torch.channels_last)
    target = torch.randint(1000, (batch,), device=DEVICE)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(net(images), target).backward()
        optimizer.step()

    return time_of(step)


def mlp():
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)).to(DEVICE)
    return net, torch.randn(32, 16, device=DEVICE), torch.randn(32, 4, device=DEVICE)


def mlp_step():
    net, x, y = mlp()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()

    return time_of(step)


def mlp_graph_step():
    net, x, y = mlp()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)

    def step():
        F.mse_loss(net(x), y).backward()
        optimizer.step()

    on_gpu = DEVICE == "cuda"
    side = torch.cuda.Stream() if on_gpu else None
    if on_gpu:
        side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side) if on_gpu else contextlib.nullcontext():
        for _ in range(3):
            optimizer.zero_grad()
            step()
    optimizer.zero_grad()
    if not on_gpu:
        return time_of(step)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return time_of(graph.replay)


def add_overhead(recording):
    a, b = torch.randn(64, device=DEVICE, requires_grad=recording), torch.randn(64, device=DEVICE)
    return host_time_of(lambda: torch.add(a, b))


ROWS = {
    "add_64mb": add_64mb,
    "softmax_8192x4096": softmax_step,
    "layer_norm_8192x4096": layer_norm_step,
    "adamw_1e9": adamw_step,
    "matmul_8192_f32": lambda: matmul_of(torch.float32),
    "matmul_8192_bf16": lambda: matmul_of(torch.bfloat16),
    "cross_entropy_8192x50000": cross_entropy_step,
    "resnet50_step": resnet50_step,
    "mlp_step": mlp_step,
    "mlp_graph_step": mlp_graph_step,
    "overhead_add": lambda: add_overhead(False),
    "overhead_add_recording": lambda: add_overhead(True),
}


def about():
    backends = torch.backends
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": backends.cudnn.version() if DEVICE == "cuda" else None,
        "device": torch.cuda.get_device_name() if DEVICE == "cuda" else DEVICE,
        "matmul_tf32": backends.cuda.matmul.allow_tf32,
        "cudnn_tf32": backends.cudnn.allow_tf32,
        "cudnn_benchmark": backends.cudnn.benchmark,
    }


def answer(name):
    """Prints the row's line; a row that fails must not hide the others."""
    line = {"row": name}
    torch.manual_seed(0)
    try:
        if name == "about":
            line.update(about())
        else:
            line["us"] = round(ROWS[name](), 3)
        synchronize()
    except Exception as error:
        line.pop("us", None)
        line["error"] = f"{type(error).__name__}: {error}"
    print(json.dumps(line), flush=True)
    if DEVICE == "cuda":
        with contextlib.suppress(Exception):  # a lost device: the next row says so
            torch.cuda.empty_cache()


def main():
    if "--serve" in sys.argv:
        for line in sys.stdin:
            answer(line.strip())
        return
    for name in [a for a in sys.argv[1:] if not a.startswith("--")] or ROWS:
        answer(name)


if __name__ == "__main__":
    main()
