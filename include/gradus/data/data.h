// All of data.
#pragma once

#include <gradus/data/dataloader.h>
#include <gradus/data/datasets.h>
#include <gradus/data/samplers.h>
#include <gradus/data/transforms.h>

namespace gradus {
inline namespace v0 {
namespace data {
using datasets::BatchDataset;
using datasets::Dataset;
}  // namespace data
}  // namespace v0
}  // namespace gradus
