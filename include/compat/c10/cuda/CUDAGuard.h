#pragma once
#include <c10/core/Stream.h>
#include <torch/detail/macros.h>
