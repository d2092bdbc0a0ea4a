"""What PyTorch prints for the hooks of tests/autograd/hooks_test.cpp: run it and compare."""

import torch


def text(grads):
    if isinstance(grads, tuple):
        return "(" + " ".join(text(g) for g in grads) + ")"
    return "none" if grads is None else "[" + " ".join(f"{v:g}" for v in grads.flatten().tolist()) + "]"


class Chain:
    def __init__(self):
        self.log = log = []
        self.a = a = torch.zeros(2, dtype=torch.double, requires_grad=True)
        self.b = b = a.exp()
        b.retain_grad()
        b.register_hook(lambda g: log.append("b " + text(g)))
        b.register_hook(lambda g: g * 10)
        b.grad_fn.register_prehook(lambda g: log.append("pre " + text(g)))
        b.grad_fn.register_hook(lambda i, o: log.append(f"post {text(i)} {text(o)}"))
        a.register_hook(lambda g: log.append("a " + text(g)))
        accumulate = b.grad_fn.next_functions[0][0]
        accumulate.register_prehook(lambda g: log.append("acc pre " + text(g)))
        accumulate.register_hook(lambda i, o: log.append(f"acc post {text(i)} {text(o)}"))
        a.register_post_accumulate_grad_hook(lambda t: log.append("leaf " + text(t.grad)))

    def show(self, title):
        print(title, self.log, text(self.b.grad))
        self.log.clear()


c = Chain()
c.b.sum().backward(retain_graph=True)
c.show("backward")
c = Chain()
c.b.sum().backward(inputs=[c.a], retain_graph=True)
c.show("backward, inputs=[a]")
print(text(torch.autograd.grad(c.b.sum(), [c.b], retain_graph=True)))
c.show("grad of b")
print(text(torch.autograd.grad(c.b.sum(), [c.a], retain_graph=True)))
c.show("grad of a")

x = torch.arange(1.0, 5.0, requires_grad=True)
first, second = x.view(2, 2).unbind(0)
second.grad_fn.register_prehook(lambda g: print("unbind", text(g)))
first.sum().backward()

for mode in ("all", "any"):
    t = [torch.tensor([float(i)], requires_grad=True) for i in range(1, 5)]
    show = (lambda gs: print(mode, text(tuple(gs)))) if mode == "all" else (lambda g: print(mode, text(g)))
    torch.autograd.graph.register_multi_grad_hook(t, show, mode=mode)
    (t[0] * t[1] * t[2]).sum().backward()
    (t[0] * t[3]).sum().backward()
