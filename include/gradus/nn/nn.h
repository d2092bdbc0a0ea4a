// All of nn.
#pragma once

#include <gradus/nn/activation.h>
#include <gradus/nn/any_module.h>
#include <gradus/nn/checkpoint.h>
#include <gradus/nn/containers.h>
#include <gradus/nn/conv.h>
#include <gradus/nn/embedding.h>
#include <gradus/nn/enum.h>
#include <gradus/nn/functional.h>
#include <gradus/nn/init.h>
#include <gradus/nn/linear.h>
#include <gradus/nn/loss.h>
#include <gradus/nn/module.h>
#include <gradus/nn/normalization.h>
#include <gradus/nn/pooling.h>
#include <gradus/nn/utils.h>
