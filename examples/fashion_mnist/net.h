// The network: two convolutions, two linear layers.
#pragma once

#include <gradus/gradus.h>

struct NetImpl : gradus::nn::Module {
  NetImpl()
      : conv1(register_module("conv1", gradus::nn::Conv2d(gradus::nn::Conv2dOptions(1, 32, 3).padding(1)))),
        norm1(register_module("norm1", gradus::nn::BatchNorm2d(32))),
        conv2(register_module("conv2", gradus::nn::Conv2d(gradus::nn::Conv2dOptions(32, 64, 3).padding(1)))),
        norm2(register_module("norm2", gradus::nn::BatchNorm2d(64))),
        linear1(register_module("linear1", gradus::nn::Linear(3136, 128))),
        dropout(register_module("dropout", gradus::nn::Dropout(0.25))),
        linear2(register_module("linear2", gradus::nn::Linear(128, 10))) {}

  // [N, 1, 28, 28] images to [N, 10] scores.
  gradus::Tensor forward(gradus::Tensor x) {
    x = gradus::max_pool2d(gradus::relu(norm1(conv1(x))), 2);
    x = gradus::max_pool2d(gradus::relu(norm2(conv2(x))), 2);
    x = dropout(gradus::relu(linear1(x.flatten(1))));
    return linear2(x);
  }

  gradus::nn::Conv2d conv1;
  gradus::nn::BatchNorm2d norm1;
  gradus::nn::Conv2d conv2;
  gradus::nn::BatchNorm2d norm2;
  gradus::nn::Linear linear1;
  gradus::nn::Dropout dropout;
  gradus::nn::Linear linear2;
};
GRADUS_MODULE(Net);
