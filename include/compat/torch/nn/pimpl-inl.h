// Part of pimpl.h.
#pragma once
#include <torch/nn/pimpl.h>
