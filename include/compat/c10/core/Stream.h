#pragma once
#include <torch/detail/macros.h>
