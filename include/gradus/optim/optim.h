// All of optim.
#pragma once

#include <gradus/optim/adam.h>
#include <gradus/optim/optimizer.h>
#include <gradus/optim/schedulers.h>
#include <gradus/optim/sgd.h>
