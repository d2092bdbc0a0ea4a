// All data sets.
#pragma once

#include <gradus/data/datasets/base.h>
#include <gradus/data/datasets/map.h>
#include <gradus/data/datasets/mnist.h>
#include <gradus/data/datasets/stateful.h>
#include <gradus/data/datasets/tensor.h>
